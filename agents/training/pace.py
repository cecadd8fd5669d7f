"""How far training is from its end, and how long that takes: whichever of its limits comes first."""

from __future__ import annotations

import math
from collections.abc import Callable

from agents.training.events import Progress
from agents.training.trainer import Trainer, metric_of


class Pace:
    """The limits of one run of a trainer: those of its settings that `ends` names."""

    def __init__(self, settings: Trainer, first: int, clock: Callable[[], float]) -> None:
        """`first`: steps completed before this run. `clock`: such as time.monotonic; the run begins now."""
        ends = settings.ends
        self._first, self._clock, self._began = first, clock, clock()
        self._count = int(getattr(settings, ends.count, 0) or 0)
        self._seconds = float(getattr(settings, ends.minutes, 0.0) or 0.0) * 60
        metric, _ = metric_of(ends.metric, settings.metrics)
        self._sign = -1.0 if metric is not None and metric.reading.lower_is_better else 1.0
        self._target = float(getattr(settings, ends.target, 0.0) or 0.0) * self._sign
        self._values: tuple[float, float] | None = None  # of the target's metric: the first and the best

    @property
    def seconds(self) -> float:
        """Since this run began."""
        return self._clock() - self._began

    @property
    def out_of_time(self) -> bool:
        return bool(self._seconds) and self.seconds >= self._seconds

    def progress(self, step: int, text: str, value: float | None = None) -> Progress:
        """`value` is the latest one of the metric that has a target."""
        spent, here = self.seconds, step - self._first
        if value is not None and math.isfinite(value):
            start, best = self._values or (value * self._sign, value * self._sign)
            self._values = start, max(best, value * self._sign)
        lefts: list[tuple[float, float, int]] = []  # of each limit: seconds left, share that is done, total
        if self._count and (here > 0 or step >= self._count):
            left = max(self._count - step, 0)
            lefts.append((left * spent / max(here, 1), step / max(self._count, step), self._count))
        if self._seconds:
            lefts.append((max(self._seconds - spent, 0.0), min(spent / self._seconds, 1.0), 0))
        if self._target and self._values is not None:
            start, best = self._values
            way = min((best - start) / (self._target - start), 1.0) if start < self._target else 1.0
            if way > 0:  # as if it rose evenly
                lefts.append((spent * (1 - way) / way, way, 0))
        if not lefts:
            return Progress(step, self._count, text)
        seconds, done, total = min(lefts)
        return Progress(step, total, text, seconds, done)
