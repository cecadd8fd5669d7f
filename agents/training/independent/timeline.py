"""What the actor does at what time: spans for the timeline, and seconds for shares and speed-up.

A turn has several parts of some tenths of a millisecond each. They are added up over windows, so that recording them
costs little (0.8 us of a turn of five agents on 16 boards, which takes 160 us) and a timeline shows minutes instead of
seconds of a session.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from agents.training.events import Span
from engine.clock import now

ACTOR = "actor"
COLLECT, ACT, LEARN, WAIT, PUBLISH, EVALUATE = "collect", "act", "learn", "wait", "publish", "evaluate"
WINDOW = 0.05  # seconds of turns that become one span for each of their parts
MOST_WAITING = 20_000  # spans that are kept until they are taken


def learner_track(number: int) -> str:
    return f"learner {number + 1}"


class Timeline:
    """The spans since the last report, and the actor's seconds by name."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter, calendar: Callable[[], float] = now) -> None:
        """Spans begin at times of `calendar`, which is read once: it may be set back while `clock` goes on."""
        self.clock, self._offset = clock, calendar() - clock()
        self.totals: dict[str, float] = {}  # seconds of the actor so far, by name
        self._before: dict[str, float] = {}  # at the last `restart`
        self._spans: list[Span] = []
        self._turns: dict[str, float] = {}  # parts of turns that have no span yet
        self._began = 0.0  # when the first of these turns began

    def restart(self) -> dict[str, float]:
        """The actor's seconds by name since the last call."""
        before, self._before = self._before, dict(self.totals)
        return {name: seconds - before.get(name, 0.0) for name, seconds in self.totals.items()}

    def add_turn(self, began: float, acting: float, waiting: float = 0.0, publishing: float = 0.0) -> None:
        """A turn that ends now: `acting` seconds of it were spent on observing and asking agents, `waiting` seconds on
        waiting for learners, `publishing` ones on new weights, the rest on the rules and on writing to buffers."""
        now = self.clock()
        if not self._turns:
            self._began = began
        parts = {ACT: acting, WAIT: waiting, PUBLISH: publishing}
        for name, seconds in (*parts.items(), (COLLECT, max(now - began - sum(parts.values()), 0.0))):
            if seconds:
                self._turns[name] = self._turns.get(name, 0.0) + seconds
                self.totals[name] = self.totals.get(name, 0.0) + seconds
        if now - self._began >= WINDOW:
            self._end_turns()

    def _end_turns(self) -> None:
        """One span for each part of the turns so far, one after the other."""
        start = self._began
        for name, seconds in self._turns.items():
            self._append(name, start, seconds)
            start += seconds
        self._turns = {}

    @contextmanager
    def span(self, name: str) -> Iterator[None]:
        """The block is a span of this name."""
        self._end_turns()
        start = self.clock()
        try:
            yield
        finally:
            seconds = self.clock() - start
            self._append(name, start, seconds)
            self.totals[name] = self.totals.get(name, 0.0) + seconds

    def _append(self, name: str, start: float, seconds: float) -> None:
        if len(self._spans) < MOST_WAITING:
            self._spans.append(Span(ACTOR, name, start + self._offset, seconds))

    def take(self) -> tuple[Span, ...]:
        """The spans since the last call."""
        self._end_turns()
        found, self._spans = self._spans, []
        return tuple(found)
