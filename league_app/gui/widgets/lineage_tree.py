"""Where somebody comes from and who comes from it, as a tree that can be walked."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtWidgets import QTreeWidget, QTreeWidgetItem

from league_app.gui import theme
from league_app.core.queries.agent_profile import Kin
from league_app.gui.widgets.basics import plain
from league_app.gui.widgets.checklist import ID, dot
from league_app.gui.widgets.agent_colours import colour_of

HEIGHT, TALLEST = 28, 12  # of a row; rows before it scrolls


def _size(one: Kin) -> int:
    return sum(1 + _size(parent) for parent in one.above)


class Family(QTreeWidget):
    """`chosen` tells the id of the one that was clicked, or opened by Enter."""

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

    def show_kin(self, parents: Sequence[Kin], children: Sequence[Kin]) -> None:
        self.clear()
        for title, kin in (("Comes from", parents), ("Children", children)):
            if not kin:
                continue
            head = QTreeWidgetItem([title])
            head.setFlags(Qt.ItemFlag.ItemIsEnabled)
            head.setForeground(0, theme.colour("muted"))
            head.setSizeHint(0, QSize(0, HEIGHT))
            head.setFont(0, theme.font("caption"))
            self.addTopLevelItem(head)
            for one in kin:
                self._add(head, one)
        self.expandAll()
        rows = sum(1 + _size(one) for one in (*parents, *children)) + bool(parents) + bool(children)
        self.setFixedHeight(min(rows, TALLEST) * HEIGHT + 4)

    def _add(self, under: QTreeWidgetItem, one: Kin) -> None:
        item = QTreeWidgetItem(under, [one.name if one.id else f"{one.name}  (not in this league)"])
        item.setToolTip(0, plain(one.name))
        item.setData(0, ID, one.id)
        item.setSizeHint(0, QSize(0, HEIGHT))
        if one.id:
            item.setIcon(0, dot(colour_of(one.id, one.colour)))
        else:
            item.setForeground(0, theme.colour("muted"))
        for parent in one.above:
            self._add(item, parent)

    @Slot(QTreeWidgetItem)
    def _choose(self, item: QTreeWidgetItem, *_: object) -> None:
        if item.data(0, ID):
            self.chosen.emit(item.data(0, ID))
