"""A list of names to tick: with a filter, all or none of them at once, and some that cannot be ticked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap
from PySide6.QtWidgets import QLineEdit, QListWidget, QListWidgetItem, QWidget

from league_app.gui import theme
from league_app.gui.widgets.basics import button, column, label, plain, row

ID = Qt.ItemDataRole.UserRole


@dataclass(frozen=True)
class Choice:
    id: str
    name: str
    about: str = ""  # its kind
    colour: str = ""  # RRGGBB
    ticked: bool = False
    barred: str = ""  # why it cannot be ticked


def dot(colour: str, size: int = 12) -> QIcon:
    """A spot of colour."""
    made = QIcon()
    for ratio in (1, 2):
        pixmap = QPixmap(size * ratio, size * ratio)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(f"#{colour}"))
        edge = size * ratio / 6
        painter.drawEllipse(int(edge), int(edge), int(size * ratio - 2 * edge), int(size * ratio - 2 * edge))
        painter.end()
        pixmap.setDevicePixelRatio(ratio)
        made.addPixmap(pixmap)
    return made


class CheckList(QWidget):
    """`changed` whenever somebody is ticked or no longer is."""

    changed = Signal()

    def __init__(self, name: str) -> None:
        super().__init__()
        self.field = QLineEdit()
        self.field.setPlaceholderText("Filter")
        self.field.setAccessibleName(f"Filter {name.lower()}")
        self.field.setClearButtonEnabled(True)
        self.list = QListWidget()
        self.list.setAccessibleName(name)
        self.list.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.list.setIconSize(QSize(12, 12))
        self.list.setUniformItemSizes(True)
        self.words = label("", "muted", wrap=True)
        self.words.hide()
        self.words.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.list.setLayout(column(self.words, margin=16))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.count = label("", "caption")
        every, none = button("All", self.tick_all, link=True), button("None", self.tick_none, link=True)
        self.setLayout(column(row(self.field, every, none, self.count), self.list))
        self.field.textChanged.connect(self._filter)
        self.list.itemChanged.connect(self._tell)
        self.list.itemActivated.connect(self._flip)

    def offer(self, choices: Sequence[Choice]) -> None:
        blocked = self.list.blockSignals(True)
        self.list.clear()
        for one in choices:
            item = QListWidgetItem(f"{one.name}   {one.about}" if one.about else one.name)
            item.setData(ID, one.id)
            item.setToolTip(plain(f"{one.name}\n{one.barred or one.about}".strip()))
            if one.colour:
                item.setIcon(dot(one.colour))
            item.setCheckState(Qt.CheckState.Checked if one.ticked else Qt.CheckState.Unchecked)
            flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsUserCheckable
            item.setFlags(flags if not one.barred else Qt.ItemFlag.NoItemFlags)
            if one.barred:
                item.setForeground(theme.colour("muted"))
                item.setText(f"{one.name}   {one.barred}")
            self.list.addItem(item)
        self.list.blockSignals(blocked)
        self._filter(self.field.text())
        self._tell()

    def say(self, words: str) -> None:
        """In the place of those who are not there."""
        self.words.setText(words)
        self.words.setVisible(bool(words))  # or it would lie over them

    def _items(self) -> list[QListWidgetItem]:
        return [self.list.item(place) for place in range(self.list.count())]

    @property
    def ticked(self) -> list[str]:
        """Ids, in the order shown."""
        return [one.data(ID) for one in self._items() if one.checkState() == Qt.CheckState.Checked]

    @Slot()
    def tick_all(self) -> None:
        self._tick(Qt.CheckState.Checked)

    @Slot()
    def tick_none(self) -> None:
        self._tick(Qt.CheckState.Unchecked)

    def _tick(self, state: Qt.CheckState) -> None:
        """Those that are shown; the others stay as they are."""
        blocked = self.list.blockSignals(True)
        for one in self._items():
            if not one.isHidden() and one.flags() & Qt.ItemFlag.ItemIsEnabled:
                one.setCheckState(state)
        self.list.blockSignals(blocked)
        self._tell()

    @Slot(QListWidgetItem)
    def _flip(self, item: QListWidgetItem) -> None:
        on = item.checkState() == Qt.CheckState.Checked
        item.setCheckState(Qt.CheckState.Unchecked if on else Qt.CheckState.Checked)

    @Slot(str)
    def _filter(self, text: str) -> None:
        words = text.casefold().split()
        for one in self._items():
            one.setHidden(not all(word in one.text().casefold() for word in words))

    @Slot()
    def _tell(self, *_: object) -> None:
        self.count.setText(f"{len(self.ticked):,} of {self.list.count():,}")
        self.changed.emit()
