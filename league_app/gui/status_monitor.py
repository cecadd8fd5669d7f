"""The one timer that observes running jobs: everything in the window that shows progress receives its snapshots."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal, Slot
from shiboken6 import isValid

from engine.errors import RingsideError
from league_app.core.run_monitor import RunMonitor, RunSnapshot
from league_app.core.state import LeagueState
from league_app.gui.background import TaskQueue

PERIOD = 500  # milliseconds, for progress that sends no notification
Collector = Callable[[LeagueState], Any]


class StatusMonitor(QObject):
    """Takes a snapshot twice a second, in the background: a run may have to wait for its workers."""

    sampled = Signal(object)  # RunSnapshot
    notified = Signal(str, str)  # text and tone of a toast
    failed = Signal(object)  # an Exception to show

    def __init__(self, queue: TaskQueue, parent: QObject) -> None:
        super().__init__(parent)
        self._queue, self.latest = queue, RunSnapshot()
        self._state: LeagueState | None = None
        self.with_load = False  # also measure machine and workers at each tick, for a visible panel
        self._monitor = RunMonitor()
        self._collectors: list[tuple[Collector, Callable[[Any], None]]] = []
        self._pending = False  # one sample at a time, so that nothing that was collected is dropped
        self._next: bool | None = None  # whether a sample that waits is that of a tick; None if none waits
        self._timer = QTimer(self)
        self._timer.setInterval(PERIOD)
        self._timer.timeout.connect(self.tick)
        self._timer.start()

    def watch(self, state: LeagueState | None) -> None:
        """Observes this league from now on; the queue was cleared, so that no answer about another one comes."""
        self._state, self._monitor, self._pending, self._next = state, RunMonitor(), False, None
        self.latest = RunSnapshot()
        self.tick()

    def collect(self, collector: Collector, receive: Callable[[Any], None]) -> None:
        """Calls `collector` at each tick, in the background, and `receive` with the result in this thread."""
        self._collectors.append((collector, receive))

    @Slot()
    def tick(self) -> None:
        """Takes a snapshot, with the load if a panel shows it, and calls the collectors."""
        self._submit(True)

    @Slot()
    def poll(self) -> None:
        """Takes a snapshot of the jobs only, now: a load is measured from tick to tick."""
        self._submit(False)

    def _submit(self, tick: bool) -> None:
        if self._pending:
            self._next = tick or bool(self._next)
            return
        self._pending, self._next = True, None
        self._collectors = [collector for collector in self._collectors if _is_alive(collector[1])]
        with_load, collectors = tick and self.with_load, self._collectors if tick else []
        task = partial(_sample, self._monitor, self._state, with_load, collectors)
        self._queue.submit("status", task, self._receive, self._fail)

    def _receive(self, answer: tuple[RunSnapshot, list[tuple[Callable[[Any], None], Any]]]) -> None:
        self._pending = False
        before, (self.latest, collected) = self.latest, answer
        now = self.latest
        for receive, result in collected:
            if _is_alive(receive):
                receive(result)
        if now.trouble and not before.trouble:
            self.notified.emit(f"Paused because results cannot be saved: {now.trouble}", "bad")
        elif before.trouble and now.run is not None and not now.trouble:
            self.notified.emit("Saving works again: the tournament continues", "good")
        self.sampled.emit(now)
        if self._next is not None:
            self._submit(self._next)

    def _fail(self, error: Exception) -> None:
        self._pending = False
        if not isinstance(error, RingsideError):  # expected while a league is being closed
            self.failed.emit(error)

    def stop(self) -> None:
        self._timer.stop()


def _is_alive(method: Callable[[Any], None]) -> bool:
    owner = getattr(method, "__self__", None)
    return not isinstance(owner, QObject) or isValid(owner)


def _sample(
    monitor: RunMonitor,
    state: LeagueState | None,
    with_load: bool,
    collectors: list[tuple[Collector, Callable[[Any], None]]],
) -> tuple[RunSnapshot, list[tuple[Callable[[Any], None], Any]]]:
    """First the load: a collector may measure too, and the next measurement begins with it."""
    snapshot = monitor.sample(state, with_load)
    return snapshot, [(receive, collector(state)) for collector, receive in collectors] if state is not None else []
