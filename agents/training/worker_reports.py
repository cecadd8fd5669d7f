"""Reports the workers that play a trainer's matches, together with those that the trainer reports itself."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from agents.training.events import Workers, WorkerState
from engine.telemetry import THIS_NODE, WorkerView

EVERY = 1.0  # seconds between two reports, at least


class WorkerReports:
    """Makes `Workers` events: at most one a second, and none while nothing changes."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next = clock()
        self._own: tuple[WorkerState, ...] = ()  # of the trainer, as it reported them last
        self._playing: tuple[WorkerState, ...] = ()  # that play its matches
        self.busy = False  # whether one of these was playing

    def due(self, sample: Callable[[], Iterable[WorkerView]]) -> Workers | None:
        """An event, if it is time for one; then `sample` returns the workers that play matches."""
        now = self._clock()
        if now < self._next:
            return None
        self._next = now + EVERY
        views = list(sample())
        self.busy = any(view.state != "idle" for view in views)
        before, self._playing = self._playing, tuple(map(state_of, views))
        return None if self._playing == before else Workers((*self._own, *self._playing))

    def joined(self, event: Workers) -> Workers:
        """The trainer's own event, completed by the workers that play matches."""
        self._own = event.workers
        return Workers((*self._own, *self._playing))


def state_of(view: WorkerView) -> WorkerState:
    place = "" if view.node == THIS_NODE else f"{view.node} "
    done = f"{view.done:,} match{'' if view.done == 1 else 'es'}"
    return WorkerState(f"{place}worker {view.id}", view.state, view.playing, done, view.restarts, view.pid)
