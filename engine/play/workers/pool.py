"""The worker processes of a dispatcher: starts, stops and releases them, and sends to them."""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable
from typing import Any

from engine.play.workers.entry import WorkerSettings
from engine.play.workers.handle import WorkerHandle, memory_for
from engine.processes.channel import ProtocolError
from engine.telemetry import Trace

STOP_TIMEOUT = 2.0  # seconds that an idle worker may take to exit


class WorkerPool:
    """Workers by slot. Slots from 0 up play the run; those from -2 down play one live match each. In the trace, -1
    stands for the run itself."""

    def __init__(self, settings: WorkerSettings, selector: selectors.BaseSelector, trace: Trace) -> None:
        self.workers: dict[int, WorkerHandle] = {}
        self.stopping: list[tuple[WorkerHandle, float]] = []  # with the time at which they are killed
        self._settings, self._selector, self._trace = settings, selector, trace
        self._free_memories: list[Any] = []  # of workers that have ended
        self._starts: dict[int, int] = {}  # by slot

    @property
    def players(self) -> list[WorkerHandle]:
        """The workers that play the run."""
        return [worker for slot, worker in self.workers.items() if slot >= 0]

    def all_workers(self) -> list[WorkerHandle]:
        return [*self.workers.values(), *(worker for worker, _ in self.stopping)]

    def is_active(self, worker: WorkerHandle) -> bool:
        """Whether it still has its slot: it is not stopping and not released."""
        return self.workers.get(worker.slot) is worker

    def free_live_slot(self) -> int:
        return min([-1, *(worker.slot for worker in self.all_workers())]) - 1

    def start(self, slot: int, libraries: tuple[str, ...] = (), restarts: int = 0) -> WorkerHandle:
        """Start a worker for this slot. `restarts`: how often that of a live match was started before."""
        if slot >= 0:
            restarts = self._starts.get(slot, -1) + 1
            self._starts[slot] = restarts
        memory = self._free_memories.pop() if self._free_memories else memory_for(self._settings)
        worker = self.workers[slot] = WorkerHandle(slot, self._settings, memory, restarts, libraries)
        self._selector.register(worker.channel.socket, selectors.EVENT_READ, (worker, False))
        self._selector.register(worker.child.output.socket, selectors.EVENT_READ, (worker, True))
        self._trace.add(slot, "start")
        return worker

    def send(self, worker: WorkerHandle, call: Callable[[], None]) -> None:
        """Call a function that sends to a worker. That the worker has died is detected when its socket is read."""
        try:
            call()
        except ProtocolError:
            return
        self.update_interest(worker)

    def update_interest(self, worker: WorkerHandle) -> None:
        """Select for writing while there is data left to send."""
        if worker.channel.socket.fileno() >= 0:
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if worker.channel.waiting else 0)
            key = self._selector.get_map().get(worker.channel.socket)
            if key is not None and key.events != events:
                self._selector.modify(worker.channel.socket, events, key.data)

    def retire(self, worker: WorkerHandle) -> None:
        """Stop an idle worker; its slot is free at once."""
        if self.is_active(worker):
            del self.workers[worker.slot]
            worker.stopping = True
            self.stopping.append((worker, time.monotonic() + STOP_TIMEOUT))
            self._trace.add(worker.slot, "dismissed")
            self.send(worker, lambda: worker.channel.put(["stop"]))

    def cancel(self, worker: WorkerHandle) -> None:
        """Kill a worker whose matches are cancelled."""
        worker.held.clear()
        self._trace.add(worker.slot, "broken off")
        self.release(worker)

    def release(self, worker: WorkerHandle) -> None:
        """Idempotent: kill the worker and free its slot, sockets and shared memory."""
        if worker.released:
            return
        worker.released = True
        if self.is_active(worker):
            del self.workers[worker.slot]
        self.stopping = [entry for entry in self.stopping if entry[0] is not worker]
        self.unregister(worker.channel.socket)
        self.unregister(worker.child.output.socket)
        worker.release()
        if worker.has_ended:
            self._free_memories.append(worker.memory)  # the process can no longer write to it

    def unregister(self, end: Any) -> None:
        if end.fileno() >= 0 and end in self._selector.get_map():
            self._selector.unregister(end)

    def release_stopped(self, now: float) -> None:
        """Release the stopping workers that have ended or exceeded their time."""
        for worker, deadline in list(self.stopping):
            if now > deadline or worker.has_ended:
                self.release(worker)
