"""The command palette: find any command, page or agent by typing a few letters of its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPersistentModelIndex, QRectF, QSize, Qt, Slot
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QDialog,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from league_app.gui import theme
from league_app.gui.widgets.basics import EmptyState, column
from league_app.gui.widgets.table.delegates import draw_elided

Index = QModelIndex | QPersistentModelIndex
LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
SHOWN = 60
HINT = Qt.ItemDataRole.UserRole + 1


@dataclass(frozen=True)
class Entry:
    """A command, or something to open."""

    text: str
    hint: str  # its menu and shortcut
    icon: str
    run: Callable[[], Any]


class _Row(QStyledItemDelegate):
    """Paints icon and text at the left, menu and shortcut at the right."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(option.rect, theme.colour("selection"))
        rect = QRectF(option.rect).adjusted(10, 0, -12, 0)
        index.data(Qt.ItemDataRole.DecorationRole).paint(painter, rect.toRect(), LEFT)
        painter.setFont(theme.font("caption"))
        room = draw_elided(painter, rect.adjusted(rect.width() / 2, 0, 0, 0), index.data(HINT), "muted", right=True)
        painter.setFont(theme.font())
        draw_elided(painter, rect.adjusted(30, 0, -room - 12, 0), index.data(Qt.ItemDataRole.DisplayRole))

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: N802
        return QSize(200, 32)


class CommandPalette(QDialog):
    def __init__(self, entries: Sequence[Entry], parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Command palette")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(560, 420)
        self._entries = list(entries)
        self.field = QLineEdit()
        self.field.setPlaceholderText("Type a command, a page or an agent")
        self.field.setAccessibleName("Search commands")
        self.list = QListWidget()
        self.list.setAccessibleName("Commands")
        self.list.setUniformItemSizes(True)
        self.list.setItemDelegate(_Row(self.list))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.nothing = EmptyState("search", "No matching commands")
        self.setLayout(column(self.field, self.list, self.nothing, margin=12))
        self.field.textChanged.connect(self.search)
        self.field.returnPressed.connect(self.choose)
        self.list.itemActivated.connect(self.choose)
        self.list.itemClicked.connect(self.choose)
        self.field.installEventFilter(self)
        self.search("")
        self.field.setFocus()

    @Slot(str)
    def search(self, text: str) -> None:
        ranked = sorted(
            (
                (found, place)
                for place, entry in enumerate(self._entries)
                if (found := rank(text, entry.text)) is not None
            )
        )
        self.list.clear()
        for _, place in ranked[:SHOWN]:
            entry = self._entries[place]
            item = QListWidgetItem(theme.icon(entry.icon or "chevron-right"), entry.text)
            item.setData(Qt.ItemDataRole.UserRole, place)
            item.setData(HINT, entry.hint)
            item.setData(Qt.ItemDataRole.AccessibleDescriptionRole, entry.hint)
            self.list.addItem(item)
        self.list.setCurrentRow(0)
        self.list.setVisible(bool(ranked))
        self.nothing.setVisible(not ranked)

    @Slot()
    def choose(self) -> None:
        item = self.list.currentItem()
        if item is not None:
            entry = self._entries[int(item.data(Qt.ItemDataRole.UserRole))]
            self.accept()
            entry.run()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Arrow keys in the field move the selection of the list."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            step = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: 10, Qt.Key.Key_PageUp: -10}
            if event.key() in step:
                row = self.list.currentRow() + step[Qt.Key(event.key())]
                self.list.setCurrentRow(min(max(row, 0), self.list.count() - 1))
                return True
        return False


def rank(typed: str, text: str) -> tuple[int, int] | None:
    """Return how well a text fits, smaller is better; None if it does not contain the letters in this order."""
    typed, text = typed.casefold().strip(), text.casefold()
    if not typed:
        return 0, 0
    at = text.find(typed)
    if at >= 0:
        return (0 if at == 0 or text[at - 1] == " " else 1), at
    place = first = -1
    for letter in typed.replace(" ", ""):
        place = text.find(letter, place + 1)
        if place < 0:
            return None
        first = place if first < 0 else first
    return 2, place - first
