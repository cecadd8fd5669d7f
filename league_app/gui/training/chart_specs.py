"""Which charts the metrics of training sessions make, and their lines. Several sessions share each chart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from agents.training.trainer import Metric, Reading, metric_of
from engine.game import Floats
from league_app.core.formatting import natural_key
from league_app.core.queries.sessions import MetricUpdate
from league_app.gui.widgets.chart.series import Axis, ChartLine

SHARED_CHARTS = ({"best", "mean", "median", "worst", "max", "min"}, {"nodes", "connections"})  # metrics of one chart
DASHES = 4  # kinds of lines of one session, where its colour distinguishes it from other sessions


@dataclass
class MetricCurve:
    """All values of one metric that were read so far."""

    steps: Floats = field(default_factory=lambda: np.empty(0))
    at: Floats = field(default_factory=lambda: np.empty(0))
    values: Floats = field(default_factory=lambda: np.empty(0))

    def update(self, new: MetricUpdate) -> None:
        added = new.series.steps.astype(np.float64), new.series.at, new.series.values
        if new.replace:
            self.steps, self.at, self.values = added
        elif len(added[0]):
            old = self.steps, self.at, self.values
            self.steps, self.at, self.values = (np.concatenate(pair) for pair in zip(old, added, strict=True))

    @property
    def last_point(self) -> tuple[int, float]:
        """The last step and its time."""
        return (int(self.steps[-1]), float(self.at[-1])) if len(self.steps) else (-1, 0.0)


@dataclass(frozen=True, eq=False)
class SessionCurves:
    """A session in the charts."""

    number: int
    name: str
    started: float  # seconds since 1970
    curves: Mapping[str, MetricCurve]
    metrics: Mapping[str, Metric]  # as the trainer declares them
    headline: str = ""
    unit: str = "step"


@dataclass(frozen=True)
class ChartSpec:
    """One chart: its metrics, and how they are displayed."""

    group: str
    title: str
    metrics: tuple[str, ...]
    help: str = ""
    percent: bool = False
    bands: tuple[tuple[str, str] | None, ...] = ()  # of each metric: those that are the ends of its interval
    reference: float | None = None  # a horizontal line
    reference_label: str = ""


def chart_specs(
    names: Iterable[str], declared: Mapping[str, Metric], headline: str = "", sessions: int = 1
) -> list[ChartSpec]:
    """The charts of these metrics: the headline's group first, then in the trainer's order, trouble last."""
    ordered = sorted(names, key=sort_key(declared, headline))
    ends = {end for name in ordered if (metric := metric_of(name, declared)[0]) for end in metric.interval or ()}
    specs: list[ChartSpec] = []
    done: set[str] = set()
    for name in ordered:
        if name not in done and name not in ends:
            metrics = _metrics_of_chart(name, [other for other in ordered if other not in ends], declared, sessions)
            done.update(metrics)
            specs.append(_chart_spec(metrics, set(ordered), declared))
    return specs


def _metrics_of_chart(
    name: str, ordered: Sequence[str], declared: Mapping[str, Metric], sessions: int
) -> tuple[str, ...]:
    """The metrics that share a chart with this one, and itself."""
    group, _, short = name.partition("/")
    same = [other for other in ordered if other.partition("/")[0] == group]
    if _is_together(name, declared):
        joint = tuple(other for other in same if _is_together(other, declared))
        return joint if sessions == 1 or len(joint) <= DASHES else (name,)  # else some would look the same
    shared = next((names for names in SHARED_CHARTS if short in names), {short})
    return tuple(other for other in same if other.partition("/")[2] in shared and not _is_together(other, declared))


def _is_together(name: str, declared: Mapping[str, Metric]) -> bool:
    metric, _ = metric_of(name, declared)
    return metric is not None and metric.together


def _chart_spec(metrics: tuple[str, ...], known: set[str], declared: Mapping[str, Metric]) -> ChartSpec:
    group, _, short = metrics[0].partition("/")
    found = [metric_of(name, declared)[0] or Metric("") for name in metrics]
    first = found[0]
    bands = tuple(
        metric.interval if metric.interval and known.issuperset(metric.interval) else None for metric in found
    )
    return ChartSpec(
        group,
        _title(metrics, found),
        metrics,
        _help(metrics, found),
        first.reading is Reading.SHARE,
        bands,
        first.reference,
        first.reference_label.format(name=short),
    )


def _title(metrics: Sequence[str], declared: Sequence[Metric]) -> str:
    """Of several: the declared one unless it is that of a single metric, else the name of the group or all names."""
    group, title = metrics[0].partition("/")[0], declared[0].title
    names = [spaced(name.partition("/")[2]) for name in metrics]
    if len(metrics) == 1:
        return title.format(name=metrics[0].partition("/")[2]) or names[0].capitalize()
    if declared[0].together:
        return title if title and "{name}" not in title else spaced(group).capitalize()
    return " and ".join(names).capitalize()


def _help(metrics: Sequence[str], declared: Sequence[Metric]) -> str:
    if len({metric.about for metric in declared}) == 1:
        return declared[0].about
    names = (name.partition("/")[2] for name in metrics)
    return "\n".join(f"{name}: {metric.about}" for name, metric in zip(names, declared, strict=True))


def sort_key(declared: Mapping[str, Metric], headline: str) -> Callable[[str], tuple[bool, int, str, int, bool, str]]:
    """Orders metrics as the trainer declares them, with the headline's group first, the group `trouble` last,
    Random as first opponent and numbers in names by their value."""
    groups = list(dict.fromkeys(name.partition("/")[0] for name in (headline, *declared)))
    indexes = {name: index for index, name in enumerate(declared)}

    def key(name: str) -> tuple[bool, int, str, int, bool, str]:
        group, _, short = name.partition("/")
        group_index = groups.index(group) if group in groups else len(groups)
        return (
            group == "trouble",
            group_index,
            group,
            indexes.get(name, len(indexes)),
            short != "Random",
            natural_key(name),
        )

    return key


def spaced(name: str) -> str:
    return name.replace("_", " ")


def chart_lines(spec: ChartSpec, sessions: Sequence[SessionCurves], axis: Axis) -> list[ChartLine]:
    """One session: a colour for each metric. Several: a colour for each session, dashes for its other metrics."""
    lines = []
    for session_index, session in enumerate(sessions):
        for metric_index, name in enumerate(spec.metrics):
            curve = session.curves.get(name)
            if curve is None or not len(curve.steps):
                continue
            short = spaced(name.partition("/")[2])
            single = len(spec.metrics) == 1
            if len(sessions) == 1:
                text, colour = "" if single else short, metric_index
            else:
                text = session.name if single else f"{session.name}, {short}"
                colour = session_index + 6 * metric_index
            ends = [_values_at(session.curves.get(end), curve.steps) for end in spec.bands[metric_index] or ()]
            low, high = ends if len(ends) == 2 else (None, None)
            x = curve.steps if axis == "step" else curve.at - session.started
            metric, _ = metric_of(name, session.metrics)
            smooth = metric is None or not metric.exact
            lines.append(ChartLine(text, x, curve.values, low, high, colour, smooth=smooth))
    return lines


def _values_at(curve: MetricCurve | None, steps: Floats) -> Floats | None:
    """The values of a curve at these steps; NaN where it has none."""
    if curve is None or not len(curve.steps):
        return None
    values = dict(zip(curve.steps.tolist(), curve.values.tolist(), strict=True))
    return np.array([values.get(step, np.nan) for step in steps.tolist()])
