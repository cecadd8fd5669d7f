"""The list of workers, two lines each: state and load, then figures; and the machines that they run on."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF, QSize
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem

from engine.telemetry import Machine, WorkerStatus
from league_app.core.formatting import byte_size, match_rate, plural
from league_app.gui import theme
from league_app.gui.widgets.basics import Card, label
from league_app.gui.widgets.meters import draw_area
from league_app.gui.widgets.table.delegates import draw_elided
from league_app.gui.widgets.table.model import VALUE, Column, TableModel
from league_app.gui.widgets.table.view import TableView

Index = QModelIndex | QPersistentModelIndex
ROW, SHOWN = 46, 6  # pixels; rows without scrolling
SAMPLES = 120  # of the load


@dataclass(frozen=True)
class WorkerRow:
    """A worker and its recent load, oldest first. Its node is named if there are several."""

    worker: WorkerStatus
    loads: tuple[float, ...]
    node: str = ""

    @property
    def title(self) -> str:
        return "live" if self.worker.id < 0 else str(self.worker.id + 1)

    @property
    def figures(self) -> str:
        one = self.worker
        pid = [f"pid {one.pid}"] if one.pid is not None else []
        place = [self.node] if self.node else []
        return ", ".join(
            [*place, *pid, byte_size(one.memory), plural(one.done, "match"), plural(one.restarts, "restart")]
        )


def _text(one: WorkerRow) -> str:
    return f"worker {one.title}, {one.worker.state}, {one.worker.cpu:.0f} %, {one.figures}"


def _tip(one: WorkerRow) -> str:
    return f"{one.worker.playing}\n{_text(one)}".strip()


def _itself(one: WorkerRow) -> WorkerRow:
    return one


def _key(one: WorkerRow) -> tuple[str, int]:
    return one.worker.node, one.worker.id


def node_text(node: Machine, workers: Sequence[WorkerStatus]) -> str:
    """A machine in one line: its load, memory, workers, rate and queue."""
    load = sum(node.cpu) / max(len(node.cpu), 1)
    count = sum(one.node == node.name and one.id >= 0 for one in workers)
    parts = [f"{load:.0f} % of {plural(len(node.cpu), 'core')}", f"{byte_size(node.memory)} of"]
    parts[1] += f" {byte_size(node.memory_total)}"
    parts += [plural(count, "worker"), *([match_rate(node.rate)] if node.rate else []), f"{node.waiting:,} waiting"]
    return f"{node.name}: {', '.join(parts)}"


class WorkersCard(Card):
    """All workers, including that of the live match. With several machines, a line for each of them comes first."""

    def __init__(self) -> None:
        super().__init__("Workers", margin=12)
        self.body.setSpacing(4)
        self._loads: dict[tuple[str, int], deque[float]] = {}
        self.nodes = label("", "caption", wrap=True)
        self.model = TableModel(
            [Column("worker", "Worker", _text, sort=_key, value=_itself, cell_tip=_tip, grow=1)], _key, self
        )
        self.table = TableView(self.model, "workers")
        self.table.setItemDelegateForColumn(0, _Painter(self.table))
        self.table.horizontalHeader().hide()
        self.table.verticalHeader().setDefaultSectionSize(ROW)
        self.empty = label("Workers start with the first match.", "caption", wrap=True)
        self.body.addWidget(self.nodes)
        self.body.addWidget(self.empty)
        self.body.addWidget(self.table)
        self.show_workers(())

    def show_workers(self, workers: Sequence[WorkerStatus], nodes: Sequence[Machine] = ()) -> None:
        """`nodes`: the machines that play, unless it is this one alone."""
        keys = [(one.node, one.id) for one in workers]
        self._loads = {key: self._loads.get(key, deque(maxlen=SAMPLES)) for key in keys}
        for key, one in zip(keys, workers, strict=True):
            self._loads[key].append(one.cpu)
        rows = zip(keys, workers, strict=True)
        self.model.set_rows([WorkerRow(one, tuple(self._loads[key]), one.node if nodes else "") for key, one in rows])
        self.nodes.setText("\n".join(node_text(node, workers) for node in nodes))
        self.nodes.setVisible(bool(nodes))
        self.empty.setVisible(not workers)
        self.table.setVisible(bool(workers))
        self.table.setFixedHeight(ROW * min(len(workers), SHOWN) + 2)


class _Painter(QStyledItemDelegate):
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        one = index.data(VALUE)
        if not isinstance(one, WorkerRow):
            return
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        rect = QRectF(option.rect)
        painter.setPen(theme.colour("hairline"))
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        painter.setFont(theme.font())
        top = QRectF(rect.left(), rect.top() + 4, rect.width(), 20)
        draw_elided(painter, QRectF(top.left(), top.top(), 26, 20), one.title, "muted")
        draw_elided(painter, top.adjusted(28, 0, -106, 0), one.worker.state)
        draw_elided(painter, QRectF(top.right() - 44, top.top(), 44, 20), f"{one.worker.cpu:.0f} %", right=True)
        plot = QRectF(top.right() - 104, top.top() + 2, 56, 16)
        painter.fillRect(plot, theme.colour("raised"))
        painter.save()
        painter.setClipRect(plot)
        draw_area(painter, plot, [load / 100.0 for load in one.loads], theme.colour("accent"), 0.25, SAMPLES)
        painter.restore()
        painter.setFont(theme.font("caption"))
        draw_elided(painter, QRectF(rect.left(), rect.top() + 24, rect.width(), 16), one.figures, "muted")
        painter.restore()

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        return QSize(200, ROW)
