"""The data of a chart: lines, intervals and reference lines, with the arithmetic that needs no Qt."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from engine.clock import local_text

Floats = npt.NDArray[np.float64]
Axis = Literal["step", "elapsed", "date", "number"]
MAX_VALUE = 1e300  # larger values are treated as infinite
LABEL_HEIGHT = 14  # pixels, of a name at a line end
TIME_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)  # seconds


@dataclass(frozen=True, eq=False)
class ChartLine:
    """One line; `colour` is an index of the palette's series colours, or RRGGBB."""

    name: str
    x: npt.ArrayLike
    y: npt.ArrayLike
    low: npt.ArrayLike | None = None  # lower end of an interval, drawn as a band
    high: npt.ArrayLike | None = None
    colour: int | str = 0
    smooth: bool = False  # draw a smoothed line over a pale raw one


@dataclass(frozen=True)
class Reference:
    """A horizontal dashed line with a label."""

    value: float
    text: str


@dataclass(frozen=True, eq=False)
class PreparedLine:
    """A line as it is drawn: sorted by x, finite x only, on the scale of the axis."""

    line: ChartLine
    x: Floats
    y: Floats  # NaN in gaps
    value: Floats  # y before scaling
    smooth: Floats | None
    low: Floats | None
    high: Floats | None


def prepare_line(line: ChartLine, smoothing: float, log: bool) -> PreparedLine:
    x, y = _array(line.x), _array(line.y)
    if len(x) != len(y):
        raise ValueError(f"{len(x)} x values and {len(y)} y values")
    low = _array(line.low) if line.low is not None else None
    high = _array(line.high) if line.high is not None else None
    order = np.argsort(x, kind="stable") if np.any(np.diff(x) < 0) else None
    if order is not None:
        x, y = x[order], y[order]
        low, high = (values[order] if values is not None else None for values in (low, high))
    kept = np.isfinite(x)
    if not kept.all():
        x, y = x[kept], y[kept]
        low, high = (values[kept] if values is not None else None for values in (low, high))
    smooth = smoothed(y, smoothing) if line.smooth and smoothing > 0 and len(y) > 2 else None
    scaled = [scale(values, log) if values is not None else None for values in (y, smooth, low, high)]
    assert scaled[0] is not None
    return PreparedLine(line, x, scaled[0], y, *scaled[1:])


def _array(values: npt.ArrayLike) -> Floats:
    array = np.array(values, np.float64).ravel()
    array[~(np.abs(array) < MAX_VALUE)] = np.nan  # infinities too
    return array


def scale(values: Floats, log: bool) -> Floats:
    """Values for the axis; on a logarithmic one those not above 0 become NaN."""
    if not log:
        return values
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(values > 0, np.log10(np.where(values > 0, values, 1.0)), np.nan)


def smoothed(y: Floats, weight: float) -> Floats:
    """An exponential moving average without initial bias towards zero; it skips NaN."""
    weight = min(max(weight, 0.0), 0.999)
    size = min(len(y), max(1, math.ceil(math.log(1e-3) / math.log(weight)))) if weight > 0 else 1
    kernel, there = weight ** np.arange(size), np.isfinite(y).astype(np.float64)
    total = np.convolve(np.where(there > 0, y, 0.0), kernel)[: len(y)]
    count = np.convolve(there, kernel)[: len(y)]
    return np.where(there > 0, total / np.maximum(count, 1e-300), np.nan)


def isolated_points(y: Floats) -> npt.NDArray[np.bool_]:
    """Marks points without a neighbour to draw a line to."""
    finite = np.isfinite(y)
    before, after = np.append(False, finite[:-1]), np.append(finite[1:], False)
    isolated: npt.NDArray[np.bool_] = finite & ~before & ~after
    return isolated


def bounds(lines: Sequence[PreparedLine], extra: Sequence[float] = ()) -> tuple[float, float, float, float] | None:
    """Left, right, bottom and top of all finite points; None if there are none."""
    points = [(line.x[finite], line.y[finite]) for line in lines if (finite := np.isfinite(line.y)).any()]
    if not points:
        return None
    x = np.concatenate([x for x, _ in points])
    bands = [end[np.isfinite(end)] for line in lines for end in (line.low, line.high) if end is not None]
    y = np.concatenate([*(y for _, y in points), *bands, np.array(extra, np.float64)])
    return float(x.min()), float(x.max()), float(y.min()), float(y.max())


def band(line: PreparedLine, most: int = 300) -> list[tuple[Floats, Floats, Floats]]:
    """The interval of a line in pieces without gaps, each reduced to at most `most` points."""
    if line.low is None or line.high is None:
        return []
    finite = np.isfinite(line.low) & np.isfinite(line.high)
    edges = np.flatnonzero(np.diff(np.concatenate(([0], finite.astype(np.int8), [0]))))
    pieces = []
    for first, last in zip(edges[::2], edges[1::2], strict=True):
        x, low, high = line.x[first:last], line.low[first:last], line.high[first:last]
        if len(x) > most:
            starts = np.linspace(0, len(x), most, endpoint=False).astype(int)
            x, low, high = x[starts], np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
        pieces.append((x, low, high))
    return pieces


def spread_labels(
    ends: Sequence[tuple[float, PreparedLine]], top: float, bottom: float
) -> list[tuple[float, PreparedLine]]:
    """Moves overlapping names apart, and drops those that do not fit."""
    most = max(int((bottom - top) / LABEL_HEIGHT) + 1, 1)
    shown = sorted(ends[:most], key=lambda end: end[0])
    positions: list[float] = []
    for y, _ in shown:
        positions.append(max(y, positions[-1] + LABEL_HEIGHT) if positions else y)
    excess = positions[-1] - bottom if positions else 0.0
    for index in range(len(positions) - 1, -1, -1):
        limit = bottom if index == len(positions) - 1 else positions[index + 1] - LABEL_HEIGHT
        if excess > 0:
            positions[index] = min(positions[index], limit)
    return [(y, line) for y, (_, line) in zip(positions, shown, strict=True)]


# Ticks


def nice_step(span: float, count: float) -> float:
    """A round distance for about `count` ticks."""
    distance = span / max(count, 1.0)
    power = 10.0 ** math.floor(math.log10(distance))
    return float(next(factor * power for factor in (1, 2, 5, 10) if factor * power >= distance * 0.999))


def time_step(span: float, count: float) -> float:
    distance = span / max(count, 1.0)
    if distance < 1:
        return nice_step(span, count)
    return float(next((step for step in TIME_STEPS if step >= distance), 86400 * math.ceil(distance / 86400)))


def format_number(value: float, digits: int = 4) -> str:
    """A number with about four significant digits."""
    if not math.isfinite(value):
        return "\u2013"
    size = abs(value)
    if size >= 1e9 or 0 < size < 1e-4:
        return f"{value:.3g}"
    if value == int(value):
        return f"{int(value):,}".replace("-", "\u2212")
    places = max(0, digits - 1 - math.floor(math.log10(size)))
    return f"{value:,.{min(places, 6)}f}".replace("-", "\u2212")


def format_elapsed(seconds: float) -> str:
    """45 s, 1:30 for a minute and a half, 1:00:00 for an hour."""
    whole = round(seconds)
    sign, whole = ("\u2212" if whole < 0 else ""), abs(whole)
    if whole < 60:
        return f"{sign}{format_number(abs(seconds), 3)} s"
    hours, rest = divmod(whole, 3600)
    return f"{sign}{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{sign}{rest // 60}:{rest % 60:02}"


def format_position(value: float, axis: Axis, unit: str = "step") -> str:
    """A position on the x axis as text; `unit` is what steps are."""
    if axis == "elapsed":
        return format_elapsed(value)
    if axis == "date":
        return local_text(value, "%Y-%m-%d %H:%M")
    return f"{unit} {format_number(value, 6)}" if axis == "step" else format_number(value, 6)
