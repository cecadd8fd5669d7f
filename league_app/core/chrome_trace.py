"""Writes spans of time as a Chrome trace (Trace Event Format, JSON), which Perfetto and chrome://tracing display.

A span is a complete event (`ph` = X) with its start and duration in microseconds. Each track is a thread of one
process, named by metadata events (`ph` = M).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from engine.files import write_file
from engine.league.storage.spans import SavedSpan

PROCESS = 1


def trace_events(spans: Sequence[SavedSpan], title: str) -> Iterator[dict[str, Any]]:
    """The events of a trace; times begin with the first span."""
    first = min((span.start for span in spans), default=0.0)
    tracks = {track: number for number, track in enumerate(dict.fromkeys(span.track for span in spans), 1)}
    yield {"ph": "M", "name": "process_name", "pid": PROCESS, "args": {"name": title}}
    for track, number in tracks.items():
        yield {"ph": "M", "name": "thread_name", "pid": PROCESS, "tid": number, "args": {"name": track}}
        yield {"ph": "M", "name": "thread_sort_index", "pid": PROCESS, "tid": number, "args": {"sort_index": number}}
    for span in spans:
        times = {"ts": (span.start - first) * 1e6, "dur": span.seconds * 1e6}
        yield {"ph": "X", "name": span.name, "pid": PROCESS, "tid": tracks[span.track], **times}


def write_trace(
    spans: Sequence[SavedSpan], title: str, path: Path | str, overwrite: bool = False, field: str = "file"
) -> Path:
    """Writes a trace file and returns its path."""
    text = json.dumps({"displayTimeUnit": "ms", "traceEvents": list(trace_events(spans, title))})
    return write_file(path, text.encode(), overwrite, field)
