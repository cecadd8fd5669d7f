"""What a chart shows, as data: lines with their intervals, reference lines, and the arithmetic that needs no screen."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Axis = Literal["step", "elapsed", "date", "number"]
LARGEST = 1e300  # what is larger has no place on a screen
SPANS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)  # seconds


@dataclass(frozen=True, eq=False)
class Line:
    """One line; `colour` is a place in the palette's series, or RRGGBB."""

    name: str
    x: npt.ArrayLike
    y: npt.ArrayLike
    low: npt.ArrayLike | None = None  # of an interval, drawn as a band
    high: npt.ArrayLike | None = None
    colour: int | str = 0
    smooth: bool = False  # the raw line pale, and a smoothed one over it


@dataclass(frozen=True)
class Reference:
    """A dashed line across, with a few words."""

    value: float
    text: str


@dataclass(frozen=True, eq=False)
class Drawn:
    """A line as it is drawn: in order, without what is no number, on the scale of the axis."""

    line: Line
    x: Floats
    y: Floats  # NaN where there is nothing
    value: Floats  # as they were given, for people to read
    smooth: Floats | None
    low: Floats | None
    high: Floats | None


def drawn(line: Line, smoothing: float, log: bool) -> Drawn:
    x, y = _array(line.x), _array(line.y)
    if len(x) != len(y):
        raise ValueError(f"{len(x)} places and {len(y)} values")
    low = _array(line.low) if line.low is not None else None
    high = _array(line.high) if line.high is not None else None
    order = np.argsort(x, kind="stable") if np.any(np.diff(x) < 0) else None
    if order is not None:
        x, y = x[order], y[order]
        low, high = (one[order] if one is not None else None for one in (low, high))
    kept = np.isfinite(x)
    if not kept.all():
        x, y = x[kept], y[kept]
        low, high = (one[kept] if one is not None else None for one in (low, high))
    smooth = smoothed(y, smoothing) if line.smooth and smoothing > 0 and len(y) > 2 else None
    scaled = [scale(one, log) if one is not None else None for one in (y, smooth, low, high)]
    assert scaled[0] is not None
    return Drawn(line, x, scaled[0], y, *scaled[1:])


def _array(given: npt.ArrayLike) -> Floats:
    made = np.array(given, np.float64).ravel()
    made[~(np.abs(made) < LARGEST)] = np.nan  # infinities too
    return made


def scale(values: Floats, log: bool) -> Floats:
    """On a logarithmic axis there is no place for nothing, nor for less."""
    if not log:
        return values
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(values > 0, np.log10(np.where(values > 0, values, 1.0)), np.nan)


def smoothed(y: Floats, weight: float) -> Floats:
    """An exponential moving average that does not lean towards zero at first, and passes over what is no number."""
    weight = min(max(weight, 0.0), 0.999)
    size = min(len(y), max(1, math.ceil(math.log(1e-3) / math.log(weight)))) if weight > 0 else 1
    kernel, there = weight ** np.arange(size), np.isfinite(y).astype(np.float64)
    total = np.convolve(np.where(there > 0, y, 0.0), kernel)[: len(y)]
    count = np.convolve(there, kernel)[: len(y)]
    return np.where(there > 0, total / np.maximum(count, 1e-300), np.nan)


def alone(y: Floats) -> npt.NDArray[np.bool_]:
    """Points with no neighbour to draw a line to."""
    there = np.isfinite(y)
    before, after = np.append(False, there[:-1]), np.append(there[1:], False)
    found: npt.NDArray[np.bool_] = there & ~before & ~after
    return found


def bounds(lines: Sequence[Drawn], extra: Sequence[float] = ()) -> tuple[float, float, float, float] | None:
    """Left, right, bottom, top of all that can be seen; None if nothing can."""
    seen = [(one.x[there], one.y[there]) for one in lines if (there := np.isfinite(one.y)).any()]
    if not seen:
        return None
    x = np.concatenate([one for one, _ in seen])
    bands = [band[np.isfinite(band)] for one in lines for band in (one.low, one.high) if band is not None]
    y = np.concatenate([*(one for _, one in seen), *bands, np.array(extra, np.float64)])
    return float(x.min()), float(x.max()), float(y.min()), float(y.max())


def band(one: Drawn, most: int = 300) -> list[tuple[Floats, Floats, Floats]]:
    """Its interval in pieces without gaps, with no more points than a screen can show."""
    if one.low is None or one.high is None:
        return []
    good = np.isfinite(one.low) & np.isfinite(one.high)
    edges = np.flatnonzero(np.diff(np.concatenate(([0], good.astype(np.int8), [0]))))
    found = []
    for first, last in zip(edges[::2], edges[1::2], strict=True):
        x, low, high = one.x[first:last], one.low[first:last], one.high[first:last]
        if len(x) > most:
            starts = np.linspace(0, len(x), most, endpoint=False).astype(int)
            x, low, high = x[starts], np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
        found.append((x, low, high))
    return found


# Ticks


def nice(span: float, count: float) -> float:
    """A round distance between ticks, of which about so many fit."""
    rough = span / max(count, 1.0)
    power = 10.0 ** math.floor(math.log10(rough))
    return float(next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999))


def time_span(span: float, count: float) -> float:
    rough = span / max(count, 1.0)
    if rough < 1:
        return nice(span, count)
    return float(next((one for one in SPANS if one >= rough), 86400 * math.ceil(rough / 86400)))


def number(value: float, digits: int = 4) -> str:
    """For people: no more digits than say something."""
    if not math.isfinite(value):
        return "\u2013"
    size = abs(value)
    if size >= 1e9 or 0 < size < 1e-4:
        return f"{value:.3g}"
    if value == int(value):
        return f"{int(value):,}".replace("-", "\u2212")
    places = max(0, digits - 1 - math.floor(math.log10(size)))
    return f"{value:,.{min(places, 6)}f}".replace("-", "\u2212")


def elapsed(seconds: float) -> str:
    """1:30 is a minute and a half, 1:00:00 an hour."""
    whole = round(seconds)
    sign, whole = ("\u2212" if whole < 0 else ""), abs(whole)
    if whole < 60:
        return f"{sign}{number(abs(seconds), 3)} s"
    hours, rest = divmod(whole, 3600)
    return f"{sign}{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{sign}{rest // 60}:{rest % 60:02}"


def place(value: float, axis: Axis) -> str:
    """Where something is on an axis, in words."""
    if axis == "elapsed":
        return elapsed(value)
    if axis == "date":
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(value))
    return f"step {number(value, 6)}" if axis == "step" else number(value, 6)
