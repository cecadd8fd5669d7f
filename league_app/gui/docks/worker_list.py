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
from league_app.gui.widgets.table.model import VALUE, TableColumn, TableModel
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
        worker = self.worker
        pid = [f"pid {worker.pid}"] if worker.pid is not None else []
        place = [self.node] if self.node else []
        return ", ".join(
            [*place, *pid, byte_size(worker.memory), plural(worker.done, "match"), plural(worker.restarts, "restart")]
        )


def _text(row: WorkerRow) -> str:
    return f"worker {row.title}, {row.worker.state}, {row.worker.cpu:.0f} %, {row.figures}"


def _tip(row: WorkerRow) -> str:
    return f"{row.worker.playing}\n{_text(row)}".strip()


def _itself(row: WorkerRow) -> WorkerRow:
    return row


def _key(row: WorkerRow) -> tuple[str, int]:
    return row.worker.node, row.worker.id


def node_text(node: Machine, workers: Sequence[WorkerStatus]) -> str:
    """A machine in one line: its load, memory, workers, rate and queue."""
    load = sum(node.cpu) / max(len(node.cpu), 1)
    count = sum(worker.node == node.name and worker.id >= 0 for worker in workers)
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
            [TableColumn("worker", "Worker", _text, sort=_key, value=_itself, cell_tip=_tip, grow=1)], _key, self
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
        keys = [(worker.node, worker.id) for worker in workers]
        self._loads = {key: self._loads.get(key, deque(maxlen=SAMPLES)) for key in keys}
        for key, worker in zip(keys, workers, strict=True):
            self._loads[key].append(worker.cpu)
        rows = zip(keys, workers, strict=True)
        self.model.set_rows(
            [WorkerRow(worker, tuple(self._loads[key]), worker.node if nodes else "") for key, worker in rows]
        )
        self.nodes.setText("\n".join(node_text(node, workers) for node in nodes))
        self.nodes.setVisible(bool(nodes))
        self.empty.setVisible(not workers)
        self.table.setVisible(bool(workers))
        self.table.setFixedHeight(ROW * min(len(workers), SHOWN) + 2)


class _Painter(QStyledItemDelegate):
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row = index.data(VALUE)
        if not isinstance(row, WorkerRow):
            return
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        rect = QRectF(option.rect)
        painter.setPen(theme.colour("hairline"))
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        painter.setFont(theme.font())
        top = QRectF(rect.left(), rect.top() + 4, rect.width(), 20)
        draw_elided(painter, QRectF(top.left(), top.top(), 26, 20), row.title, "muted")
        draw_elided(painter, top.adjusted(28, 0, -106, 0), row.worker.state)
        draw_elided(painter, QRectF(top.right() - 44, top.top(), 44, 20), f"{row.worker.cpu:.0f} %", right=True)
        plot = QRectF(top.right() - 104, top.top() + 2, 56, 16)
        painter.fillRect(plot, theme.colour("raised"))
        painter.save()
        painter.setClipRect(plot)
        draw_area(painter, plot, [load / 100.0 for load in row.loads], theme.colour("accent"), 0.25, SAMPLES)
        painter.restore()
        painter.setFont(theme.font("caption"))
        draw_elided(painter, QRectF(rect.left(), rect.top() + 24, rect.width(), 16), row.figures, "muted")
        painter.restore()

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        return QSize(200, ROW)
