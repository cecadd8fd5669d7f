"""Waits for the worker process of a live match."""

from __future__ import annotations

from collections.abc import Callable

from engine.play.concurrent import ConcurrentMatchExecutor
from engine.play.live import LiveMatch


def commands_handled(executor: ConcurrentMatchExecutor, live: LiveMatch) -> Callable[[], bool]:
    """A function that returns whether the worker has handled all commands sent so far, or its match is over.

    The worker is asked to return matches that it has not started. It has none, but it answers in order: every step that
    it has played up to then has arrived before the answer.
    """
    dispatcher = executor._dispatcher
    with dispatcher._lock:
        scheduler = dispatcher._scheduler
        slots = [slot for slot, match in scheduler.live_matches.items() if match is live]
        worker = scheduler.pool.workers.get(slots[0]) if slots else None
        if worker is None:
            return lambda: True
        scheduler.pool.send(worker, worker.recall)
    return lambda: not worker.recalling or worker.released
