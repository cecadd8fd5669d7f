"""Chart axes with few, round ticks, for numbers, percentages, elapsed time, dates and logarithms."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pyqtgraph as pg

from engine.clock import local_text, local_time
from league_app.gui.widgets.chart.series import Axis, format_elapsed, nice_step, time_step


class ChartAxis(pg.AxisItem):  # type: ignore[misc] # pyqtgraph has no types
    """An axis with few, round ticks."""

    def __init__(self, side: str) -> None:
        super().__init__(side, maxTickLength=0)
        self.kind: Axis = "number"
        self.percent = False
        self.log = False
        self.setStyle(tickAlpha=0.15 if side == "left" else 0.0, hideOverlappingLabels=False)
        self.setGrid(255 if side == "left" else False)

    def tickValues(self, low: float, high: float, size: float) -> list[tuple[float, list[float]]]:  # noqa: N802
        span = high - low
        if not (math.isfinite(span) and span > 0):
            return []
        count = size / (36 if self.orientation == "left" else 64)
        if self.log:
            return _decades(low, high, count)
        shift, step = 0.0, nice_step(span, count)
        if self.kind in ("elapsed", "date"):
            step = time_step(span, count)
        if self.kind == "date":
            local = local_time(low)
            shift = -float(local.tm_gmtoff) if local is not None else 0.0  # days begin at local midnight
            step = max(step, 86400.0) if span > 2 * 86400 else step
        if self.kind == "step":
            step = max(step, 1.0)
        first = math.ceil((low - shift) / step)
        return [(step, [(first + n) * step + shift for n in range(int((high - shift) / step - first + 1.000001))])]

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:  # noqa: N802
        return [self._tick_text(value, spacing) for value in values]

    def _tick_text(self, value: float, spacing: float) -> str:
        if self.log:
            value = 10.0**value
        elif abs(value) < spacing * 1e-6:
            value = 0.0
        if self.percent:
            return f"{round(value * 100, 6):g} %"
        if self.kind == "elapsed":
            return format_elapsed(value)
        if self.kind == "date":
            at = local_time(value)
            day = spacing >= 86400 or (at is not None and at[3:6] == (0, 0, 0))
            return local_text(value, "%d %b" if day else "%H:%M" if spacing >= 60 else "%H:%M:%S")
        return f"{float(f'{value:.9g}'):,.10g}".replace("-", "\u2212")


def _decades(low: float, high: float, count: float) -> list[tuple[float, list[float]]]:
    """Ticks at powers of ten, with 2 and 5 between them if they fit."""
    span = high - low
    step = max(1, math.ceil(span / max(count, 1)))
    parts = (0.0,) if span > count / 2 or step > 1 else (0.0, math.log10(2), math.log10(5))
    ticks = [power + part for power in range(math.floor(low), math.ceil(high) + 1, step) for part in parts]
    shown = [tick for tick in ticks if low <= tick <= high]
    if len(shown) < 2:  # less than a decade: linear ticks
        left, right = 10.0**low, 10.0**high
        distance = nice_step(right - left, count)
        values = [n * distance for n in range(math.ceil(left / distance), int(right / distance) + 1)]
        shown = [math.log10(tick) for tick in values if tick > 0]
    return [(1.0, shown)]
