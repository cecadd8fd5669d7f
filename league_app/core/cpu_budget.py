"""Shares the cores among tournaments and training sessions. Every job gets at least one core."""

from __future__ import annotations

import threading
from collections.abc import Callable

from engine.errors import BadValue
from engine.play.play_settings import MOST_WORKERS, default_workers


class CpuLease:
    """The cores that one job may use; `on_change` is called with the new number when it changes."""

    def __init__(self, budget: CpuBudget, most: int | None, on_change: Callable[[int], None]) -> None:
        self._budget, self.most, self.on_change = budget, most, on_change
        self.cores = 0

    def release(self) -> None:
        self._budget.release(self)


class CpuBudget:
    """Distributes cores evenly among leases; cores that a lease cannot use go to the others."""

    def __init__(self, cores: int | None = None) -> None:
        self._lock = threading.RLock()
        self._leases: list[CpuLease] = []
        self._cores = check_cores(default_workers() if cores is None else cores)

    @property
    def cores(self) -> int:
        return self._cores

    @cores.setter
    def cores(self, count: int) -> None:
        with self._lock:
            self._cores = check_cores(count)
            self._share()

    def lease(self, most: int | None = None, on_change: Callable[[int], None] = lambda cores: None) -> CpuLease:
        """A lease of at most `most` cores, and at least one, even if that exceeds the budget."""
        lease = CpuLease(self, most, on_change)
        with self._lock:
            self._leases.append(lease)
            self._share()
        return lease

    def release(self, lease: CpuLease) -> None:
        with self._lock:
            if lease in self._leases:
                self._leases.remove(lease)
                self._share()

    def _share(self) -> None:
        left = self._cores
        leases = sorted(self._leases, key=lambda lease: lease.most or self._cores)
        for place, lease in enumerate(leases):
            fair = left // (len(leases) - place)
            cores = max(1, min(fair, lease.most or fair))
            left = max(left - cores, 0)
            if cores != lease.cores:
                lease.cores = cores
                lease.on_change(cores)


def check_cores(count: int) -> int:
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_WORKERS:
        raise BadValue("workers", count, f"a whole number from 1 to {MOST_WORKERS}")
    return count
