"""How long the parts of an update take: for metrics, the timeline and the panels."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from agents.training.events import Event, Span, Spans, Workers, WorkerState

EVERY = 1.0  # seconds between two reports
PARTS = ("rollout", "learning", "sync")


class Timing:
    """The parts of one update after the other."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._began = self._reported = clock()
        self._parts: dict[str, float] = {}  # seconds in this update
        self._spans: list[Span] = []

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        start = self._clock()
        yield
        seconds = self._clock() - start
        self._parts[name] = self._parts.get(name, 0.0) + seconds
        self._spans.append(Span("rollout" if name == "rollout" else "learner", name, start, seconds))

    def metrics(self, samples: int) -> dict[str, float]:
        """Those of the update that ends now."""
        now = self._clock()
        spent = max(now - self._began, 1e-9)
        values = {f"speed/{name}": self._parts.get(name, 0.0) / spent for name in PARTS}
        self._began, self._parts = now, {}
        return {"speed/samples": samples / spent} | values

    def events(self, update: int, workers: Callable[[], Sequence[WorkerState]]) -> Iterator[Event]:
        """The spans, and the states of the learner and of the workers that play for it, about once a second."""
        if (now := self._clock()) - self._reported < EVERY:
            return
        self._reported = now
        spans, self._spans = self._spans, []
        yield Spans(tuple(spans))
        learner = WorkerState("learner", "learning", "", f"{update:,} updates", pid=os.getpid())
        yield Workers((learner, *workers()))
