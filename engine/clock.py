"""The clock of the machine, for times that are recorded and shown. It may be wrong by millennia, and jump: durations
and limits use `time.monotonic`."""

from __future__ import annotations

import time

LATEST = 1e11  # seconds since 1970


def now() -> float:
    """Seconds since 1970, within what files may hold and functions of the system accept."""
    return min(max(time.time(), 0.0), LATEST)


def local_time(at: float) -> time.struct_time | None:
    """A time in the time zone of this machine; None if the system cannot convert it. Times come from files too."""
    try:
        return time.localtime(at)
    except (OverflowError, ValueError, OSError):
        return None


def local_text(at: float, format: str) -> str:
    """A time as text, as `time.strftime` formats it in the time zone of this machine."""
    found = local_time(at)
    try:
        return time.strftime(format, found) if found is not None else "unknown time"
    except ValueError:  # systems differ in the years that they format
        return "unknown time"
