"""The waiting matches of a run, in order, by the heavy libraries that their process has imported."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from engine.play.workers.handle import Job

Libraries = tuple[str, ...]


class JobQueue:
    """One queue for each set of libraries: a worker takes matches only from the queue of its own."""

    def __init__(self) -> None:
        self._queues: dict[Libraries, deque[Job]] = {}

    def __len__(self) -> int:
        """May be called without the dispatcher's lock, because the copy of the values is atomic."""
        return sum(map(len, list(self._queues.values())))

    def __iter__(self) -> Iterator[Job]:
        for queue in self._queues.values():
            yield from queue

    def of(self, libraries: Libraries) -> deque[Job]:
        """The matches for workers with these libraries."""
        queue = self._queues.get(libraries)
        if queue is None:
            queue = self._queues[libraries] = deque()
        return queue

    def extend(self, jobs: Sequence[Job]) -> None:
        for libraries in {job.libraries for job in jobs}:
            self.of(libraries).extend([job for job in jobs if job.libraries == libraries])

    def put_back(self, jobs: Iterable[Job]) -> None:
        """Add these matches to the front of their queues, in this order."""
        for job in reversed(list(jobs)):
            self.of(job.libraries).appendleft(job)

    def counts(self) -> dict[Libraries, int]:
        """The number of matches by libraries; the match that was submitted first belongs to the first of them."""
        waiting = [(libraries, queue) for libraries, queue in self._queues.items() if queue]
        if len(waiting) > 1:
            waiting.sort(key=lambda entry: entry[1][0].number)
        return {libraries: len(queue) for libraries, queue in waiting}

    def clear(self) -> None:
        self._queues.clear()
