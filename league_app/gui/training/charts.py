"""The charts of training sessions: a card for each metric, by group; several sessions lie over each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from engine.game import Floats
from league_app.gui.training.sessions_model import Part
from league_app.gui.widgets.basics import Card, Elided, button, column, label, plain, row
from league_app.gui.widgets.chart.chart import Chart, Line, Reference
from league_app.gui.widgets.chart.series import Axis, number

TOGETHER = ({"best", "mean", "median", "worst", "max", "min"}, {"nodes", "connections"})  # metrics in one chart
BAND = ("low", "high")  # of the "share" beside them
NARROWEST = 330  # pixels of a chart, with more there are more of them side by side
MOST_COLUMNS = 3
HEIGHT = 196


@dataclass
class Curve:
    """One metric as far as it is known."""

    steps: Floats = field(default_factory=lambda: np.empty(0))
    at: Floats = field(default_factory=lambda: np.empty(0))
    values: Floats = field(default_factory=lambda: np.empty(0))

    def take(self, part: Part) -> None:
        new = part.series.steps.astype(np.float64), part.series.at, part.series.values
        if part.afresh:
            self.steps, self.at, self.values = new
        elif len(new[0]):
            old = self.steps, self.at, self.values
            self.steps, self.at, self.values = (np.concatenate(pair) for pair in zip(old, new, strict=True))

    @property
    def known(self) -> tuple[int, float]:
        """The last step, and when that was."""
        return (int(self.steps[-1]), float(self.at[-1])) if len(self.steps) else (-1, 0.0)


@dataclass(frozen=True, eq=False)
class Shown:
    """A session in the charts."""

    number: int
    name: str
    begun: float  # seconds since 1970
    curves: Mapping[str, Curve]
    explained: Mapping[str, str]  # what the trainer says of its metrics


@dataclass(frozen=True)
class Panel:
    """One chart: which metrics, and how they are read."""

    group: str
    title: str
    metrics: tuple[str, ...]
    help: str = ""
    percent: bool = False
    band: tuple[str, str] | None = None
    reference: str = ""  # what it means to be above one half


def explanation(name: str, explained: Mapping[str, str]) -> tuple[str, bool]:
    """What a metric means, and whether it is one of several of a kind."""
    if name in explained:
        return explained[name], False
    several = f"{name.partition('/')[0]}/*"
    return explained.get(several, ""), several in explained


def panels(names: Iterable[str], explained: Mapping[str, str]) -> list[Panel]:
    """The charts for these metrics: validation first, then as the trainer lists them, trouble last."""
    every = sorted(names, key=_order(explained))
    made: list[Panel] = []
    done: set[str] = set()
    for name in every:
        if name in done:
            continue
        group, _, short = name.partition("/")
        if short in BAND and f"{group}/share" in every:
            continue
        told, several = explanation(name, explained)
        alike = next((one for one in TOGETHER if short in one), set[str]())
        same = [one for one in every if one.partition("/")[0] == group and one.partition("/")[2] in alike]
        metrics = tuple(same) if len(same) > 1 else (name,)
        done.update(metrics)
        percent = group == "validation" or told.startswith("share")
        ends = f"{group}/low", f"{group}/high"
        title = f"Against {short}" if several and group == "validation" else readable(short).capitalize()
        reference = ""
        if percent and short == "share":
            title, reference = ("All opponents" if group == "validation" else "Share of points"), "even"
        elif several and group == "validation":
            reference = f"beats {short}"
        if len(metrics) > 1:
            title = " and ".join(readable(one.partition("/")[2]) for one in metrics).capitalize()
            told = "\n".join(f"{one.partition('/')[2]}: {explanation(one, explained)[0]}" for one in metrics)
        band = ends if short == "share" and all(one in every for one in ends) else None
        made.append(Panel(group, title, metrics, told, percent, band, reference))
    return made


class _order:  # noqa: N801 - a function with something to remember
    def __init__(self, explained: Mapping[str, str]) -> None:
        listed = list(explained)
        self._groups = list(dict.fromkeys(["validation", *(one.partition("/")[0] for one in listed)]))
        self._names = {name: place for place, name in enumerate(listed)}

    def __call__(self, name: str) -> tuple[bool, int, str, int, bool, str]:
        group, _, short = name.partition("/")
        known = self._groups.index(group) if group in self._groups else len(self._groups)
        place = self._names.get(name, len(self._names))
        return group == "trouble", known, group, place, short != "Random", name


def readable(name: str) -> str:
    return name.replace("_", " ")


def lines_of(panel: Panel, sessions: Sequence[Shown], axis: Axis) -> list[Line]:
    """One session: a colour for each metric. Several: a colour for each session, dashes for its other metrics."""
    made = []
    for place, session in enumerate(sessions):
        for number_of, name in enumerate(panel.metrics):
            curve = session.curves.get(name)
            if curve is None or not len(curve.steps):
                continue
            short = readable(name.partition("/")[2])
            single = len(panel.metrics) == 1
            text, colour = (short if not single else "", number_of) if len(sessions) == 1 else (
                session.name if single else f"{session.name}, {short}", place + 6 * number_of)  # fmt: skip
            ends = [_matching(session.curves.get(one), curve) for one in panel.band or ()]
            low, high = ends if len(ends) == 2 else (None, None)
            x = curve.steps if axis == "step" else curve.at - session.begun
            made.append(Line(text, x, curve.values, low, high, colour, smooth=True))
    return made


def _matching(end: Curve | None, curve: Curve) -> Floats | None:
    """The end of an interval, at the steps of what it is of."""
    if end is None or not len(end.steps):
        return None
    found = dict(zip(end.steps.tolist(), end.values.tolist(), strict=True))
    return np.array([found.get(step, np.nan) for step in curve.steps.tolist()])


class ChartCard(Card):
    """A chart with its title and the latest value. `seen` tells that it is painted while there is something new."""

    seen = Signal()

    def __init__(self, panel: Panel) -> None:
        super().__init__(margin=12)
        self.latest, self.heading = label("", "caption"), Elided(panel.title)
        top = row()
        top.addWidget(self.heading, 1)
        top.addWidget(self.latest)
        self.body.addLayout(top)
        self.body.setSpacing(4)
        self.heading.setToolTip(plain(f"{panel.title}\n{panel.help}"))
        self.heading.setStyleSheet("font-weight: 600;")
        self.panel = panel
        whole = f"{panel.group.capitalize()}: {panel.title}"
        self.chart = Chart(whole, percent=panel.percent)
        self.chart.setMinimumHeight(HEIGHT)
        self.chart.setAccessibleDescription(panel.help)
        self.body.addWidget(self.chart)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.stale, self.painted = True, False

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        super().paintEvent(event)
        if self.stale:
            self.painted = True
            self.seen.emit()

    def tell(self, sessions: Sequence[Shown], axis: Axis) -> None:
        self.stale = self.painted = False
        references = [Reference(0.5, self.panel.reference)] if self.panel.reference else []
        self.chart.set_axis(axis)
        self.chart.set_lines(lines_of(self.panel, sessions, axis), references)
        shown = self.chart.shown
        self.latest.setText("")
        if len(sessions) == 1 and len(shown) == 1:
            there = shown[0].value[np.isfinite(shown[0].value)]
            last = float(there[-1])
            self.latest.setText(f"{number(last * 100, 3)} %" if self.panel.percent else number(last))


class Curves(QScrollArea):
    """Cards in one to three columns, by group; only what is seen is drawn."""

    saved = Signal(str)
    failed = Signal(object)
    folded = Signal(object)  # names of groups

    def __init__(self) -> None:
        super().__init__()
        self.cards: dict[Panel, ChartCard] = {}
        self._sessions: list[Shown] = []
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
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(0)
        self._soon.timeout.connect(self._draw_seen)

    def show_sessions(self, sessions: Sequence[Shown]) -> None:
        self._sessions = list(sessions)
        names = {name for one in sessions for name, curve in one.curves.items() if len(curve.steps)}
        explained = {name: text for one in sessions for name, text in one.explained.items()}
        wanted = panels(names, explained)
        if list(self.cards) != wanted:
            self._rebuild(wanted)
        self._stale()

    def set_view(self, smoothing: float, log: bool, axis: Axis) -> None:
        self._smoothing, self._log, self._axis = smoothing, log, axis
        self._stale()

    def set_folded(self, groups: Iterable[str]) -> None:
        self._folded = set(groups)
        for name, group in self._groups.items():
            group.fold(name in self._folded)

    def _stale(self) -> None:
        """Drawn anew when Qt paints them: who is out of sight costs nothing."""
        for card in self.cards.values():
            card.stale = True
            card.update()

    def _rebuild(self, wanted: Sequence[Panel]) -> None:
        """Keeps the charts that stay: somebody may look closely at one."""
        kept = {panel: self.cards.get(panel) or self._new_card(panel) for panel in wanted}
        for panel, card in self.cards.items():
            if panel not in kept:
                card.hide()
                card.deleteLater()
        self.cards = kept
        for name in [one for one in self._groups if one not in {panel.group for panel in wanted}]:
            gone = self._groups.pop(name)
            self._stack.removeWidget(gone)
            gone.deleteLater()
        for place, name in enumerate(dict.fromkeys(panel.group for panel in wanted)):
            if name not in self._groups:
                self._groups[name] = made = _Group(name)
                made.fold(name in self._folded)
                made.toggled.connect(self._toggle)
            self._stack.removeWidget(self._groups[name])
            self._stack.insertWidget(place, self._groups[name])
        self._columns = 0
        self._arrange()

    def _new_card(self, panel: Panel) -> ChartCard:
        card = ChartCard(panel)
        card.chart.saved.connect(self.saved)
        card.chart.failed.connect(self.failed)
        card.seen.connect(self._soon.start)
        return card

    @Slot(str)
    def _toggle(self, name: str) -> None:
        self.set_folded(self._folded ^ {name})
        self.folded.emit(sorted(self._folded))

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        self._arrange()

    def _arrange(self) -> None:
        columns = max(1, min(MOST_COLUMNS, (self.viewport().width() - 8) // NARROWEST))
        if columns == self._columns:
            return
        self._columns = columns
        for name, group in self._groups.items():
            group.arrange([card for panel, card in self.cards.items() if panel.group == name], columns)

    @Slot()
    def _draw_seen(self) -> None:
        for card in self.cards.values():
            if card.stale and card.painted:
                card.chart.set_view(self._smoothing, self._log)
                card.tell(self._sessions, self._axis)


class _Group(QWidget):
    """A heading that folds what is below it."""

    toggled = Signal(str)

    def __init__(self, name: str, parent: QObject | None = None) -> None:
        super().__init__()
        self.name = name
        self.heading = button(readable(name).capitalize(), self._press, link=True, icon="chevron-down")
        self.heading.setStyleSheet("font-weight: 600;")
        self.body = QWidget()
        self._grid = QGridLayout(self.body)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(12)
        self.setLayout(column(row(self.heading, 1), self.body, gap=4))

    def _press(self) -> None:
        self.toggled.emit(self.name)

    def fold(self, on: bool) -> None:
        self.body.setVisible(not on)
        self.heading.set_icon("chevron-right" if on else "chevron-down")  # type: ignore[attr-defined]
        self.heading.setAccessibleDescription("folded" if on else "open")

    def arrange(self, cards: Sequence[ChartCard], columns: int) -> None:
        for card in cards:
            self._grid.removeWidget(card)
        for place, card in enumerate(cards):
            self._grid.addWidget(card, place // columns, place % columns)
            card.show()
        for place in range(MOST_COLUMNS):
            self._grid.setColumnStretch(place, 1 if place < columns else 0)
