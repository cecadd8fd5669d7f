"""The charts of training sessions: a card for each metric, in groups. Several sessions share each chart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from agents.training.trainer import Metric, Reading, metric_of
from engine.game import Floats
from league_app.core.queries.sessions import MetricUpdate
from league_app.gui.widgets.basics import Card, ElidedLabel, button, column, label, row, tooltip_html
from league_app.gui.widgets.chart.chart import Chart, ChartLine, Reference
from league_app.gui.widgets.chart.series import Axis, format_number

SHARED_CHARTS = ({"best", "mean", "median", "worst", "max", "min"}, {"nodes", "connections"})  # metrics of one chart
MIN_CHART_WIDTH = 330  # pixels
MAX_COLUMNS = 3
CHART_HEIGHT = 196


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
    band: tuple[str, str] | None = None
    reference: float | None = None  # a horizontal line
    reference_label: str = ""


def chart_specs(names: Iterable[str], declared: Mapping[str, Metric], headline: str = "") -> list[ChartSpec]:
    """The charts of these metrics: the headline's group first, then in the trainer's order, trouble last."""
    ordered = sorted(names, key=sort_key(declared, headline))
    ends = {end for name in ordered if (metric := metric_of(name, declared)[0]) for end in metric.interval or ()}
    specs: list[ChartSpec] = []
    done: set[str] = set()
    for name in ordered:
        group, _, short = name.partition("/")
        if name in done or name in ends:
            continue
        shared = next((names for names in SHARED_CHARTS if short in names), set[str]())
        same = [other for other in ordered if other.partition("/")[0] == group and other.partition("/")[2] in shared]
        metrics = tuple(same) if len(same) > 1 else (name,)
        done.update(metrics)
        specs.append(_chart_spec(name, metrics, set(ordered), declared))
    return specs


def _chart_spec(name: str, metrics: tuple[str, ...], known: set[str], declared: Mapping[str, Metric]) -> ChartSpec:
    group, _, short = name.partition("/")
    metric = metric_of(name, declared)[0] or Metric("")
    title, text = metric.title.format(name=short) or spaced(short).capitalize(), metric.about
    if len(metrics) > 1:
        title = " and ".join(spaced(one.partition("/")[2]) for one in metrics).capitalize()
        lines = ((one.partition("/")[2], (metric_of(one, declared)[0] or Metric("")).about) for one in metrics)
        text = "\n".join(f"{one}: {about}" for one, about in lines)
    band = metric.interval if metric.interval is not None and known.issuperset(metric.interval) else None
    share, label = metric.reading is Reading.SHARE, metric.reference_label.format(name=short)
    return ChartSpec(group, title, metrics, text, share, band, metric.reference, label)


def sort_key(declared: Mapping[str, Metric], headline: str) -> Callable[[str], tuple[bool, int, str, int, bool, str]]:
    """Orders metrics as the trainer declares them, with the headline's group first, the group `trouble` last and
    Random as first opponent."""
    groups = list(dict.fromkeys(name.partition("/")[0] for name in (headline, *declared)))
    indexes = {name: index for index, name in enumerate(declared)}

    def key(name: str) -> tuple[bool, int, str, int, bool, str]:
        group, _, short = name.partition("/")
        group_index = groups.index(group) if group in groups else len(groups)
        return group == "trouble", group_index, group, indexes.get(name, len(indexes)), short != "Random", name

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
            ends = [_values_at(session.curves.get(end), curve.steps) for end in spec.band or ()]
            low, high = ends if len(ends) == 2 else (None, None)
            x = curve.steps if axis == "step" else curve.at - session.started
            lines.append(ChartLine(text, x, curve.values, low, high, colour, smooth=True))
    return lines


def _values_at(curve: MetricCurve | None, steps: Floats) -> Floats | None:
    """The values of a curve at these steps; NaN where it has none."""
    if curve is None or not len(curve.steps):
        return None
    values = dict(zip(curve.steps.tolist(), curve.values.tolist(), strict=True))
    return np.array([values.get(step, np.nan) for step in steps.tolist()])


class ChartCard(Card):
    """A chart with its title and latest value. `needs_data` is emitted when it is painted with old data."""

    needs_data = Signal()

    def __init__(self, spec: ChartSpec) -> None:
        super().__init__(margin=12)
        self.latest, self.heading = label("", "caption"), ElidedLabel(spec.title)
        top = row()
        top.addWidget(self.heading, 1)
        top.addWidget(self.latest)
        self.body.addLayout(top)
        self.body.setSpacing(4)
        self.heading.setToolTip(tooltip_html(f"{spec.title}\n{spec.help}"))
        self.heading.setStyleSheet("font-weight: 600;")
        self.spec = spec
        self.chart = Chart(f"{spec.group.capitalize()}: {spec.title}", percent=spec.percent)
        self.chart.setMinimumHeight(CHART_HEIGHT)
        self.chart.setAccessibleDescription(spec.help)
        self.body.addWidget(self.chart)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.stale, self.painted = True, False

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        super().paintEvent(event)
        if self.stale:
            self.painted = True
            self.needs_data.emit()

    def show_sessions(self, sessions: Sequence[SessionCurves], axis: Axis) -> None:
        self.stale = self.painted = False
        line = self.spec.reference
        references = [Reference(line, self.spec.reference_label)] if line is not None else []
        units = {session.unit for session in sessions}
        self.chart.set_axis(axis, unit=units.pop() if len(units) == 1 else "step")
        self.chart.set_lines(chart_lines(self.spec, sessions, axis), references)
        shown = self.chart.shown
        self.latest.setText("")
        if len(sessions) == 1 and len(shown) == 1:
            finite = shown[0].value[np.isfinite(shown[0].value)]
            last = float(finite[-1])
            self.latest.setText(f"{format_number(last * 100, 3)} %" if self.spec.percent else format_number(last))


class MetricCharts(QScrollArea):
    """Chart cards in one to three columns, by group. Only visible charts are drawn."""

    saved = Signal(str)
    failed = Signal(object)
    folded = Signal(object)  # names of the folded groups

    def __init__(self) -> None:
        super().__init__()
        self.cards: dict[ChartSpec, ChartCard] = {}
        self._sessions: list[SessionCurves] = []
        self._axis: Axis = "step"
        self._smoothing, self._log = 0.0, False
        self._columns = 0
        self._groups: dict[str, _Group] = {}
        self._folded: set[str] = set()
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        inner = QWidget()
        self._stack = QVBoxLayout(inner)
        self._stack.setContentsMargins(0, 0, 8, 16)
        self._stack.setSpacing(12)
        self._stack.addStretch(1)
        self.setWidget(inner)
        self._draw_timer = QTimer(self)
        self._draw_timer.setSingleShot(True)
        self._draw_timer.setInterval(0)
        self._draw_timer.timeout.connect(self._draw_painted)

    def show_sessions(self, sessions: Sequence[SessionCurves]) -> None:
        self._sessions = list(sessions)
        names = {name for session in sessions for name, curve in session.curves.items() if len(curve.steps)}
        declared = {name: metric for session in sessions for name, metric in session.metrics.items()}
        specs = chart_specs(names, declared, sessions[0].headline if sessions else "")
        if list(self.cards) != specs:
            self._rebuild(specs)
        self._mark_stale()

    def set_view(self, smoothing: float, log: bool, axis: Axis) -> None:
        self._smoothing, self._log, self._axis = smoothing, log, axis
        self._mark_stale()

    def set_folded(self, groups: Iterable[str]) -> None:
        self._folded = set(groups)
        for name, group in self._groups.items():
            group.set_folded(name in self._folded)

    def _mark_stale(self) -> None:
        """Charts are drawn when Qt paints them, so those out of sight cost nothing."""
        for card in self.cards.values():
            card.stale = True
            card.update()

    def _rebuild(self, specs: Sequence[ChartSpec]) -> None:
        """Keeps the existing charts, because the user may have zoomed into one."""
        cards = {spec: self.cards.get(spec) or self._new_card(spec) for spec in specs}
        for spec, card in self.cards.items():
            if spec not in cards:
                card.hide()
                card.deleteLater()
        self.cards = cards
        for name in [name for name in self._groups if name not in {spec.group for spec in specs}]:
            group = self._groups.pop(name)
            self._stack.removeWidget(group)
            group.deleteLater()
        for index, name in enumerate(dict.fromkeys(spec.group for spec in specs)):
            if name not in self._groups:
                self._groups[name] = group = _Group(name)
                group.set_folded(name in self._folded)
                group.toggled.connect(self._toggle)
            self._stack.removeWidget(self._groups[name])
            self._stack.insertWidget(index, self._groups[name])
        self._columns = 0
        self._arrange()

    def _new_card(self, spec: ChartSpec) -> ChartCard:
        card = ChartCard(spec)
        card.chart.saved.connect(self.saved)
        card.chart.failed.connect(self.failed)
        card.needs_data.connect(self._draw_timer.start)
        return card

    @Slot(str)
    def _toggle(self, name: str) -> None:
        self.set_folded(self._folded ^ {name})
        self.folded.emit(sorted(self._folded))

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        columns = max(1, min(MAX_COLUMNS, (self.viewport().width() - 8) // MIN_CHART_WIDTH))
        if columns == self._columns:
            return
        self._columns = columns
        for name, group in self._groups.items():
            group.arrange([card for spec, card in self.cards.items() if spec.group == name], columns)

    @Slot()
    def _draw_painted(self) -> None:
        for card in self.cards.values():
            if card.stale and card.painted:
                card.chart.set_view(self._smoothing, self._log)
                card.show_sessions(self._sessions, self._axis)


class _Group(QWidget):
    """A heading that folds the charts below it."""

    toggled = Signal(str)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.heading = button(spaced(name).capitalize(), self._on_clicked, link=True, icon="chevron-down")
        self.heading.setStyleSheet("font-weight: 600;")
        self.body = QWidget()
        self._grid = QGridLayout(self.body)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(12)
        self.setLayout(column(row(self.heading, 1), self.body, gap=4))

    def _on_clicked(self) -> None:
        self.toggled.emit(self.name)

    def set_folded(self, folded: bool) -> None:
        self.body.setVisible(not folded)
        self.heading.set_icon("chevron-right" if folded else "chevron-down")
        self.heading.setAccessibleDescription("collapsed" if folded else "expanded")

    def arrange(self, cards: Sequence[ChartCard], columns: int) -> None:
        for card in cards:
            self._grid.removeWidget(card)
        for index, card in enumerate(cards):
            self._grid.addWidget(card, index // columns, index % columns)
            card.show()
        for index in range(MAX_COLUMNS):
            self._grid.setColumnStretch(index, 1 if index < columns else 0)
