"""Comparable times: jobs alternate within one run, because the speed of a machine changes over time."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Figure:
    """One line of a benchmark."""

    what: str
    value: float
    unit: str
    ratio: float | None = None
    to: str = ""  # what the ratio refers to
    note: str = ""

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def in_turns(jobs: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Seconds for each job by round. Jobs alternate, so that a slow phase of the machine affects all of them."""
    taken: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            since = time.perf_counter()
            job()
            taken[name].append(time.perf_counter() - since)
    return taken


def ratio(taken: Mapping[str, list[float]], name: str, other: str) -> float:
    """How many times faster `one` is than `other`: the median over the rounds of their quotient in the same round."""
    return statistics.median(b / a for a, b in zip(taken[name], taken[other], strict=True))
