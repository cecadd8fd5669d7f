"""The worker processes, one in two lines: what it does and how busy it was, then its figures."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF, QSize
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem

from engine.telemetry import WorkerStatus
from league_app.gui import theme
from league_app.gui.widgets.table.model import VALUE, Column, TableModel
from league_app.gui.widgets.basics import Card, label
from league_app.gui.widgets.table.delegates import elided
from league_app.gui.widgets.meters import area
from league_app.gui.widgets.table.view import Table
from league_app.core.formatting import many, weighing

Index = QModelIndex | QPersistentModelIndex
ROW, SHOWN = 46, 6  # pixels; rows without scrolling
KEPT = 120  # samples of its load


@dataclass(frozen=True)
class Busy:
    """A worker and how busy it was, oldest first."""

    worker: WorkerStatus
    loads: tuple[float, ...]

    @property
    def title(self) -> str:
        return "live" if self.worker.slot < 0 else str(self.worker.slot + 1)

    @property
    def figures(self) -> str:
        one = self.worker
        told = [f"pid {one.pid}"] if one.pid is not None else []
        return ", ".join([*told, weighing(one.memory), many(one.done, "match"), many(one.restarts, "restart")])


def _text(one: Busy) -> str:
    return f"worker {one.title}, {one.worker.state}, {one.worker.cpu:.0f} %, {one.figures}"


def _tip(one: Busy) -> str:
    return f"{one.worker.playing}\n{_text(one)}".strip()


def _itself(one: Busy) -> Busy:
    return one


def _slot(one: Busy) -> int:
    return one.worker.slot


class WorkersCard(Card):
    """All of them, those who play a live match too."""

    def __init__(self) -> None:
        super().__init__("Workers", margin=12)
        self.body.setSpacing(4)
        self._loads: dict[int, deque[float]] = {}
        self.model = TableModel(
            [Column("Worker", _text, sort=_slot, value=_itself, cell_tip=_tip, grow=1)], _slot, self
        )
        self.table = Table(self.model, "worker processes")
        self.table.setItemDelegateForColumn(0, _Painter(self.table))
        self.table.horizontalHeader().hide()
        self.table.verticalHeader().setDefaultSectionSize(ROW)
        self.none = label("They are started when there is something to play.", "caption", wrap=True)
        self.body.addWidget(self.none)
        self.body.addWidget(self.table)
        self.show_workers(())

    def show_workers(self, workers: Sequence[WorkerStatus]) -> None:
        self._loads = {one.slot: self._loads.get(one.slot, deque(maxlen=KEPT)) for one in workers}
        for one in workers:
            self._loads[one.slot].append(one.cpu)
        self.model.set_rows([Busy(one, tuple(self._loads[one.slot])) for one in workers])
        self.none.setVisible(not workers)
        self.table.setVisible(bool(workers))
        self.table.setFixedHeight(ROW * min(len(workers), SHOWN) + 2)


class _Painter(QStyledItemDelegate):
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        one = index.data(VALUE)
        if not isinstance(one, Busy):
            return
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        rect = QRectF(option.rect)
        painter.setPen(theme.colour("hairline"))
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        painter.setFont(theme.font())
        top = QRectF(rect.left(), rect.top() + 4, rect.width(), 20)
        elided(painter, QRectF(top.left(), top.top(), 26, 20), one.title, "muted")
        elided(painter, top.adjusted(28, 0, -106, 0), one.worker.state)
        elided(painter, QRectF(top.right() - 44, top.top(), 44, 20), f"{one.worker.cpu:.0f} %", right=True)
        plot = QRectF(top.right() - 104, top.top() + 2, 56, 16)
        painter.fillRect(plot, theme.colour("raised"))
        painter.save()
        painter.setClipRect(plot)
        area(painter, plot, [load / 100.0 for load in one.loads], theme.colour("accent"), 0.25, KEPT)
        painter.restore()
        painter.setFont(theme.font("caption"))
        elided(painter, QRectF(rect.left(), rect.top() + 24, rect.width(), 16), one.figures, "muted")
        painter.restore()

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        return QSize(200, ROW)
