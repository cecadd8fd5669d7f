"""How long the parts of an update take: for metrics, the timeline and the panels."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from agents.training.events import Event, Span, Spans, Workers, WorkerState
from engine.clock import now

EVERY = 1.0  # seconds between two reports
ROLLOUT, LEARNING, SYNC, VALIDATION, CHECKPOINT = PARTS = ("rollout", "learning", "sync", "validation", "checkpoint")
OTHER = "other"  # time in none of them: the start, pauses, and sending events to the session


class Timing:
    """The parts of one update after the other."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter, calendar: Callable[[], float] = now) -> None:
        """`calendar` tells the start; whether it jumps later makes no difference."""
        self._clock, self._offset = clock, calendar() - clock()
        self._began = self._reported = clock()
        self._parts: dict[str, float] = {}  # seconds in this update
        self._last: dict[str, float] = {}  # seconds that each part took when it ran last
        self._spans: list[Span] = []

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        start = self._clock()
        yield
        seconds = self._last[name] = self._clock() - start
        self._parts[name] = self._parts.get(name, 0.0) + seconds
        self._spans.append(Span(ROLLOUT if name == ROLLOUT else "learner", name, start + self._offset, seconds))

    def metrics(self, samples: int) -> dict[str, float]:
        """Those of the update that ends now. The shares of time add up to 1."""
        end = self._clock()
        spent = max(end - self._began, 1e-9)
        shares = {f"speed/{name}": self._parts.get(name, 0.0) / spent for name in PARTS}
        shares[f"speed/{OTHER}"] = max(1.0 - sum(shares.values()), 0.0)
        self._began, self._parts = end, {}
        return {"speed/samples": samples / spent} | shares

    def events(
        self, part: str, state: str, update: int, workers: Callable[[str], Sequence[WorkerState]]
    ) -> Iterator[Event]:
        """The spans, and the states of the learner and of the workers that play for it, in the part that begins now:
        about once a second, and before each part that takes so long."""
        begins = self._clock()
        if begins - self._reported < EVERY and self._last.get(part, 0.0) < EVERY:
            return
        self._reported = begins
        spans, self._spans = self._spans, []
        yield Spans(tuple(spans))
        learner = WorkerState("learner", state, "", f"{update:,} updates", pid=os.getpid())
        yield Workers((learner, *workers(part)))
