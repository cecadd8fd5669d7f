"""A tree of an agent's ancestors and children."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtWidgets import QTreeWidget, QTreeWidgetItem

from league_app.gui import theme
from league_app.gui.widgets.agent_colours import colour_of
from league_app.gui.widgets.basics import tooltip_html
from league_app.gui.widgets.checklist import ID, dot_icon

ROW_HEIGHT, MAX_ROWS = 28, 12  # of a row; rows before it scrolls


class LineageNode(Protocol):
    """An agent in the tree, with its own parents in `parents`."""

    @property
    def name(self) -> str: ...
    @property
    def id(self) -> str: ...  # empty if it is not in this league
    @property
    def colour(self) -> str: ...
    @property
    def parents(self) -> Sequence[LineageNode]: ...


def _size(relative: LineageNode) -> int:
    return sum(1 + _size(parent) for parent in relative.parents)


class LineageTree(QTreeWidget):
    """`chosen` is emitted with the id of the agent that was clicked or activated with Enter."""

    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setHeaderHidden(True)
        self.setAccessibleName("Lineage")
        self.setIconSize(QSize(12, 12))
        self.setIndentation(16)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setUniformRowHeights(True)
        self.setExpandsOnDoubleClick(False)
        self.itemClicked.connect(self._choose)
        self.itemActivated.connect(self._choose)

    def show_lineage(self, parents: Sequence[LineageNode], children: Sequence[LineageNode]) -> None:
        self.clear()
        for title, relatives in (("Parents", parents), ("Children", children)):
            if not relatives:
                continue
            head = QTreeWidgetItem([title])
            head.setFlags(Qt.ItemFlag.ItemIsEnabled)
            head.setForeground(0, theme.colour("muted"))
            head.setSizeHint(0, QSize(0, ROW_HEIGHT))
            head.setFont(0, theme.font("caption"))
            self.addTopLevelItem(head)
            for relative in relatives:
                self._add(head, relative)
        self.expandAll()
        rows = sum(1 + _size(relative) for relative in (*parents, *children)) + bool(parents) + bool(children)
        self.setFixedHeight(min(rows, MAX_ROWS) * ROW_HEIGHT + 4)

    def _add(self, under: QTreeWidgetItem, relative: LineageNode) -> None:
        item = QTreeWidgetItem(under, [relative.name if relative.id else f"{relative.name}  (not in this league)"])
        item.setToolTip(0, tooltip_html(relative.name))
        item.setData(0, ID, relative.id)
        item.setSizeHint(0, QSize(0, ROW_HEIGHT))
        if relative.id:
            item.setIcon(0, dot_icon(colour_of(relative.id, relative.colour)))
        else:
            item.setForeground(0, theme.colour("muted"))
        for parent in relative.parents:
            self._add(item, parent)

    @Slot(QTreeWidgetItem)
    def _choose(self, item: QTreeWidgetItem, *_: object) -> None:
        if item.data(0, ID):
            self.chosen.emit(item.data(0, ID))
