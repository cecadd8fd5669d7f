"""One budget of cores for everything that runs: tournaments and training sessions share it, and nobody gets nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable

from engine.errors import BadValue
from engine.play.concurrent import MOST_WORKERS, default_workers


class Lease:
    """What one job may use; `changed` is told when that becomes another number."""

    def __init__(self, budget: Budget, most: int | None, changed: Callable[[int], None]) -> None:
        self._budget, self.most, self.changed = budget, most, changed
        self.cores = 0

    def release(self) -> None:
        self._budget.give_back(self)


class Budget:
    """So many cores, dealt evenly among those who ask; what one does not want goes to the others."""

    def __init__(self, cores: int | None = None) -> None:
        self._lock = threading.RLock()
        self._leases: list[Lease] = []
        self._cores = check_cores(default_workers() if cores is None else cores)

    @property
    def cores(self) -> int:
        return self._cores

    @cores.setter
    def cores(self, count: int) -> None:
        with self._lock:
            self._cores = check_cores(count)
            self._share()

    def lease(self, most: int | None = None, changed: Callable[[int], None] = lambda cores: None) -> Lease:
        """At most so many; at least one, even if that is one more than there are."""
        lease = Lease(self, most, changed)
        with self._lock:
            self._leases.append(lease)
            self._share()
        return lease

    def give_back(self, lease: Lease) -> None:
        with self._lock:
            if lease in self._leases:
                self._leases.remove(lease)
                self._share()

    def _share(self) -> None:
        left = self._cores
        modest = sorted(self._leases, key=lambda one: one.most or self._cores)
        for place, lease in enumerate(modest):
            fair = left // (len(modest) - place)
            cores = max(1, min(fair, lease.most or fair))
            left = max(left - cores, 0)
            if cores != lease.cores:
                lease.cores = cores
                lease.changed(cores)


def check_cores(count: int) -> int:
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_WORKERS:
        raise BadValue("workers", count, f"a whole number from 1 to {MOST_WORKERS}")
    return count
