"""The charts of training sessions: a card for each metric, or for several of a group, in groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from league_app.gui.training.chart_specs import ChartSpec, SessionCurves, chart_lines, chart_specs, spaced
from league_app.gui.widgets.basics import Card, ElidedLabel, button, column, label, row, tooltip_html
from league_app.gui.widgets.chart.chart import Chart, Reference
from league_app.gui.widgets.chart.series import Axis, format_number

MIN_CHART_WIDTH = 330  # pixels
MAX_COLUMNS = 3
CHART_HEIGHT = 196
WIDE = 3  # metrics; the chart of more, if it is the only one of its group, has the whole width


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
        specs = chart_specs(names, declared, sessions[0].headline if sessions else "", len(sessions))
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
        wide = len(cards) == 1 and len(cards[0].spec.metrics) > WIDE
        for index, card in enumerate(cards):
            self._grid.addWidget(card, index // columns, index % columns, 1, columns if wide else 1)
            card.show()
        for index in range(MAX_COLUMNS):
            self._grid.setColumnStretch(index, 1 if index < columns else 0)
