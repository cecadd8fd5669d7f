"""The worker processes of a dispatcher as they come and go: by slot, with what is sent to them on its way."""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable
from typing import Any

from engine.processes.bootstrap import WorkerSettings
from engine.processes.channel import Broken
from engine.play.workers.handle import Worker, memory_for
from engine.telemetry import Trace

FAREWELL = 2.0  # seconds that a worker with nothing left may take to end


class Staff:
    """Slots from 0 on play a run; those from -2 down play a live match each (-1 is the run itself in the trace)."""

    def __init__(self, settings: WorkerSettings, selector: selectors.BaseSelector, trace: Trace) -> None:
        self.workers: dict[int, Worker] = {}
        self.leaving: list[tuple[Worker, float]] = []  # with the time at which patience ends
        self._settings, self._selector, self._trace = settings, selector, trace
        self._memories: list[Any] = []  # of workers that are gone
        self._starts: dict[int, int] = {}  # by slot

    @property
    def players(self) -> list[Worker]:
        """The workers that play the run."""
        return [worker for slot, worker in self.workers.items() if slot >= 0]

    def everybody(self) -> list[Worker]:
        return [*self.workers.values(), *(worker for worker, _ in self.leaving)]

    def employs(self, worker: Worker) -> bool:
        """Whether it is still counted on."""
        return self.workers.get(worker.slot) is worker

    def free_live_slot(self) -> int:
        return min([-1, *(worker.slot for worker in self.everybody())]) - 1

    def start(self, slot: int) -> Worker:
        restarts = self._starts.get(slot, -1) + 1 if slot >= 0 else 0
        if slot >= 0:
            self._starts[slot] = restarts
        memory = self._memories.pop() if self._memories else memory_for(self._settings)
        worker = self.workers[slot] = Worker(slot, self._settings, memory, restarts)
        self._selector.register(worker.channel.socket, selectors.EVENT_READ, (worker, False))
        self._selector.register(worker.output, selectors.EVENT_READ, (worker, True))
        self._trace.add(slot, "start")
        return worker

    def tell(self, worker: Worker, call: Callable[[], None]) -> None:
        """Whatever is sent: if the worker is gone, that is noticed when it is attended to."""
        try:
            call()
        except Broken:
            return
        self.mind(worker)

    def mind(self, worker: Worker) -> None:
        """Wait for a worker that cannot take more now."""
        if worker.channel.socket.fileno() >= 0:
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if worker.channel.waiting else 0)
            key = self._selector.get_map().get(worker.channel.socket)
            if key is not None and key.events != events:
                self._selector.modify(worker.channel.socket, events, key.data)

    def dismiss(self, worker: Worker) -> None:
        """It has nothing to do: let it end by itself, and take its slot away at once."""
        if self.employs(worker):
            del self.workers[worker.slot]
            worker.leaving = True
            self.leaving.append((worker, time.monotonic() + FAREWELL))
            self._trace.add(worker.slot, "dismissed")
            self.tell(worker, lambda: worker.channel.put(["stop"]))

    def break_off(self, worker: Worker) -> None:
        """It is in the middle of something that nobody wants any more."""
        worker.held.clear()
        self._trace.add(worker.slot, "broken off")
        self.bury(worker)

    def bury(self, worker: Worker) -> None:
        """Once: what it had may go to another one."""
        if worker.buried:
            return
        worker.buried = True
        if self.employs(worker):
            del self.workers[worker.slot]
        self.leaving = [one for one in self.leaving if one[0] is not worker]
        self.deaf_to(worker.channel.socket)
        self.deaf_to(worker.output)
        worker.bury()
        if worker.process is not None and not worker.process.is_alive():
            self._memories.append(worker.memory)  # nobody writes to it any more

    def deaf_to(self, end: Any) -> None:
        if end.fileno() >= 0 and end in self._selector.get_map():
            self._selector.unregister(end)

    def sweep(self, now: float) -> None:
        """Those that were told to end."""
        for worker, patience in list(self.leaving):
            if now > patience or worker.gone:
                self.bury(worker)
