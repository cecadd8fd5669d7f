"""The data of a timeline: spans of time by track, with the arithmetic that needs no Qt.

How much of a range each name takes is read from running totals at the two ends of the range, so a picture of any number
of spans costs two searches for each of its pixels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from league_app.core.formatting import chance, natural_key, plural
from league_app.gui.widgets.chart.series import format_elapsed

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Span = tuple[str, str, float, float]  # track, name, start and duration, in seconds
MOST_SPANS = 200_000  # the latest ones
MOST_LANES = 3  # of one track
PAUSE = 2.0  # seconds without a span of any track: longer ones do not count, such as those between two runs
TOUCH = 5e-6  # seconds by which spans may overlap and still follow each other: clocks are not exact


@dataclass(frozen=True, eq=False)
class Lane:
    """Spans of a track that follow each other, by start; those within another one are in the lane below."""

    starts: Floats
    ends: Floats
    names: Ints  # indexes of `TimelineSpans.names`

    @cached_property
    def totals(self) -> dict[int, tuple[Floats, Floats]]:
        """By name: times, and the seconds that it has taken until then."""
        return {int(name): self._total(name) for name in np.unique(self.names)}

    def _total(self, name: np.int64) -> tuple[Floats, Floats]:
        own = self.names == name
        starts, ends = self.starts[own], self.ends[own]
        taken = np.cumsum(ends - starts)
        times, totals = np.empty(2 * len(starts)), np.zeros(2 * len(starts))
        times[0::2], times[1::2] = starts, ends
        totals[1::2], totals[2::2] = taken, taken[:-1]
        return np.maximum.accumulate(times), totals

    def seconds(self, edges: Floats) -> dict[int, Floats]:
        """By name: the seconds that it takes between each two of these times."""
        return {name: np.diff(np.interp(edges, *total)) for name, total in self.totals.items()}

    @cached_property
    def _ended(self) -> Floats:
        """When all spans up to this one have ended."""
        latest: Floats = np.maximum.accumulate(self.ends)
        return latest

    def visible(self, left: float, right: float) -> slice:
        """The spans that begin before `right` and end after `left`."""
        return slice(int(np.searchsorted(self._ended, left, "left")), int(np.searchsorted(self.starts, right, "right")))

    def at(self, time: float) -> int | None:
        """The span at this time."""
        index = int(np.searchsorted(self.starts, time, "right")) - 1
        return index if index >= 0 and self.ends[index] >= time else None


@dataclass(frozen=True, eq=False)
class Track:
    """A row of the timeline."""

    name: str
    lanes: tuple[Lane, ...]
    pauses: Floats = field(default_factory=lambda: np.empty((0, 2)))  # start and end of each, of all tracks together

    @cached_property
    def extent(self) -> tuple[float, float]:
        return float(self.lanes[0].starts[0]), float(max(lane.ends.max() for lane in self.lanes))

    def shares(self, left: float, right: float) -> dict[int, float]:
        """By name: its share of the time from `left` to `right` in which the track has begun and not ended, without
        pauses. Names are ordered by their shares of the whole track, the largest first: the same in every range."""
        found = self._shares(max(left, self.extent[0]), min(right, self.extent[1]))
        return {name: found[name] for name in self._names if found.get(name, 0.0) > 0}

    @cached_property
    def _names(self) -> list[int]:
        found = self._shares(*self.extent)
        return sorted(found, key=lambda name: -found[name])

    def _shares(self, left: float, right: float) -> dict[int, float]:
        found: dict[int, float] = {}
        paused = np.minimum(self.pauses[:, 1], right) - np.maximum(self.pauses[:, 0], left)
        time = right - left - float(paused.clip(0.0).sum())
        if time > 0:
            for lane in self.lanes:
                for name, seconds in lane.seconds(np.array([left, right])).items():
                    found[name] = found.get(name, 0.0) + float(seconds[0]) / time
        return found


@dataclass(frozen=True, eq=False)
class TimelineSpans:
    """All spans of a timeline. It does not change, so another thread may prepare the next one."""

    names: tuple[str, ...] = ()  # in the order in which they were added, which gives them their colours
    tracks: tuple[Track, ...] = ()

    @cached_property
    def count(self) -> int:
        return sum(len(lane.starts) for track in self.tracks for lane in track.lanes)

    @cached_property
    def extent(self) -> tuple[float, float]:
        """From the first start to the last end; from 0 if the first start is near it."""
        if not self.tracks:
            return 0.0, 1.0
        first, last = min(track.extent[0] for track in self.tracks), max(track.extent[1] for track in self.tracks)
        first = 0.0 if 0 < first < last / 10 else first
        return first, max(last, first + TOUCH)

    def added(self, spans: Iterable[Span]) -> TimelineSpans:
        """These spans and new ones; beyond `MOST_SPANS` the oldest are dropped."""
        names = {name: index for index, name in enumerate(self.names)}
        columns: dict[str, list[tuple[float, float, int]]] = {}
        for track, name, start, seconds in spans:
            columns.setdefault(track, []).append((start, start + seconds, names.setdefault(name, len(names))))
        tracks = {track.name: track for track in self.tracks}
        for track, rows in columns.items():
            tracks[track] = Track(track, _lanes(tracks[track].lanes if track in tracks else (), rows))
        merged = TimelineSpans(tuple(names), tuple(tracks[name] for name in sorted(tracks, key=natural_key)))
        if merged.count > MOST_SPANS:
            merged = merged._latest(MOST_SPANS)
        pauses = _pauses(merged.tracks)
        same = [np.array_equal(track.pauses, pauses) for track in merged.tracks]
        if all(same):
            return merged
        return replace(merged, tracks=tuple(track if kept else replace(track, pauses=pauses)
                                            for track, kept in zip(merged.tracks, same, strict=True)))  # fmt: skip

    def prepare(self) -> TimelineSpans:
        """Computes the totals now instead of when they are drawn, because this thread has time for it."""
        for track in self.tracks:
            track.shares(*track.extent)
            for lane in track.lanes:
                lane.visible(*track.extent)
        return self

    def _latest(self, count: int) -> TimelineSpans:
        starts = np.concatenate([lane.starts for track in self.tracks for lane in track.lanes])
        first = float(np.partition(starts, len(starts) - count)[len(starts) - count])
        tracks = []
        for track in self.tracks:
            kept = [slice(int(np.searchsorted(lane.starts, first)), None) for lane in track.lanes]
            lanes = [Lane(lane.starts[part], lane.ends[part], lane.names[part])
                     for lane, part in zip(track.lanes, kept, strict=True)]  # fmt: skip
            if any(len(lane.starts) for lane in lanes):
                tracks.append(Track(track.name, _lanes(lanes, [])))
        return TimelineSpans(self.names, tuple(tracks))


def _lanes(known: Sequence[Lane], rows: Sequence[tuple[float, float, int]]) -> tuple[Lane, ...]:
    """Distributes spans over lanes: a span is as many lanes below the first as spans are open when it begins."""
    new = np.array(rows, np.float64).reshape(-1, 3)
    starts = np.concatenate([*(lane.starts for lane in known), new[:, 0]])
    ends = np.concatenate([*(lane.ends for lane in known), new[:, 1]])
    names = np.concatenate([*(lane.names for lane in known), new[:, 2].astype(np.int64)])
    order = np.lexsort((-ends, starts))
    starts, ends, names = starts[order], ends[order], names[order]
    depth = np.arange(len(starts)) - np.searchsorted(np.sort(ends), starts + TOUCH, "right")
    depth = np.clip(depth, 0, MOST_LANES - 1)
    lanes = (depth == level for level in range(int(depth.max(initial=0)) + 1))
    return tuple(Lane(starts[own], ends[own], names[own]) for own in lanes)


def _pauses(tracks: Sequence[Track]) -> Floats:
    """Start and end of each time in which no track has a span."""
    if not tracks:
        return np.empty((0, 2))
    starts = np.concatenate([lane.starts for track in tracks for lane in track.lanes])
    ends = np.concatenate([lane.ends for track in tracks for lane in track.lanes])
    order = np.argsort(starts)
    starts, ends = starts[order], np.maximum.accumulate(ends[order])
    long = starts[1:] - ends[:-1] > PAUSE
    return np.stack((ends[:-1][long], starts[1:][long]), axis=1)


# Text


@dataclass(frozen=True)
class Description:
    """What is at a place of the timeline."""

    title: str
    colour: int | None  # the index of its name; None if there are several
    lines: tuple[tuple[int | None, str, str], ...]  # colour, what it is, and its value

    @property
    def text(self) -> str:
        return ", ".join([self.title, *(f"{what} {value}" for _, what, value in self.lines)])


def describe_span(names: Sequence[str], lane: Lane, index: int) -> Description:
    start, end, name = float(lane.starts[index]), float(lane.ends[index]), int(lane.names[index])
    lines = ((None, "start", format_time(start)), (None, "duration", format_duration(end - start)))
    return Description(names[name], name, lines)


def describe_range(names: Sequence[str], lane: Lane, left: float, right: float) -> Description | None:
    """The only span in a range, or how long several take; None if there is none."""
    part = lane.visible(left, right)
    count = part.stop - part.start
    if count <= 1:
        return describe_span(names, lane, part.start) if count == 1 else None
    seconds = {name: float(taken[0]) for name, taken in lane.seconds(np.array([left, right])).items()}
    lines = [(None, "start", format_time(left)), (None, "duration", format_duration(right - left))]
    shown = [
        (name, names[name], chance(seconds[name] / (right - left))) for name in sorted(seconds) if seconds[name] > 0
    ]
    return Description(plural(count, "span"), None, (*lines, *shown))


def format_time(seconds: float) -> str:
    """A time to the millisecond, such as 12.345 s or 1:02:03.250."""
    whole, thousandths = divmod(round(abs(seconds) * 1000), 1000)
    if whole < 60:
        return f"{seconds:.3f} s".replace("-", "\u2212")
    return f"{format_elapsed(whole if seconds >= 0 else -whole)}.{thousandths:03}"


def format_duration(seconds: float) -> str:
    """With three digits, such as 12.3 ms."""
    if seconds >= 60:
        return format_elapsed(seconds)
    factor, unit = (1, "s") if seconds >= 1 else (1e3, "ms") if seconds >= 1e-3 else (1e6, "\u00b5s")
    return f"{float(f'{seconds * factor:.3g}'):g} {unit}"


def ticks(left: float, right: float, step: float) -> Iterator[tuple[float, str]]:
    """Times in a range at multiples of a step, and their labels."""
    places = max(0, -int(np.floor(np.log10(step)))) if step < 1 else 0
    for number in range(int(np.ceil(left / step)), int(np.floor(right / step)) + 1):
        time = number * step
        yield time, f"{time:,.{places}f} s".replace("-", "\u2212") if places else format_elapsed(time)
