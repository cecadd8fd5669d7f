"""A list of names with check boxes, a filter and links for all and none; some names may be disabled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap
from PySide6.QtWidgets import QLineEdit, QListWidget, QListWidgetItem, QWidget

from league_app.gui import theme
from league_app.gui.widgets.basics import button, column, label, row, tooltip_html

ID = Qt.ItemDataRole.UserRole


@dataclass(frozen=True)
class CheckItem:
    id: str
    name: str
    about: str = ""  # its kind
    colour: str = ""  # RRGGBB
    checked: bool = False
    disabled_reason: str = ""  # why it cannot be checked


def dot_icon(colour: str, size: int = 12) -> QIcon:
    """A filled circle."""
    icon = QIcon()
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
        icon.addPixmap(pixmap)
    return icon


class CheckList(QWidget):
    """`changed` is emitted when a check box or the list of choices changes."""

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
        self.message = label("", "muted", wrap=True)
        self.message.hide()
        self.message.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.list.setLayout(column(self.message, margin=16))
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.count = label("", "caption")
        every, none = button("All", self.check_all, link=True), button("None", self.check_none, link=True)
        self.setLayout(column(row(self.field, every, none, self.count), self.list))
        self.field.textChanged.connect(self._filter)
        self.list.itemChanged.connect(self._on_changed)
        self.list.itemActivated.connect(self._toggle)

    def set_choices(self, choices: Sequence[CheckItem]) -> None:
        blocked = self.list.blockSignals(True)
        self.list.clear()
        for choice in choices:
            item = QListWidgetItem(f"{choice.name}   {choice.about}" if choice.about else choice.name)
            item.setData(ID, choice.id)
            item.setToolTip(tooltip_html(f"{choice.name}\n{choice.disabled_reason or choice.about}".strip()))
            if choice.colour:
                item.setIcon(dot_icon(choice.colour))
            item.setCheckState(Qt.CheckState.Checked if choice.checked else Qt.CheckState.Unchecked)
            flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsUserCheckable
            item.setFlags(flags if not choice.disabled_reason else Qt.ItemFlag.NoItemFlags)
            if choice.disabled_reason:
                item.setForeground(theme.colour("muted"))
                item.setText(f"{choice.name}   {choice.disabled_reason}")
            self.list.addItem(item)
        self.list.blockSignals(blocked)
        self._filter(self.field.text())
        self._on_changed()

    def show_message(self, text: str) -> None:
        """Shows a text in the place of an empty list."""
        self.message.setText(text)
        self.message.setVisible(bool(text))  # an empty label would still cover the list

    def _items(self) -> list[QListWidgetItem]:
        return [self.list.item(index) for index in range(self.list.count())]

    @property
    def checked(self) -> list[str]:
        """Ids, in the order shown."""
        return [item.data(ID) for item in self._items() if item.checkState() == Qt.CheckState.Checked]

    @Slot()
    def check_all(self) -> None:
        self._set_state(Qt.CheckState.Checked)

    @Slot()
    def check_none(self) -> None:
        self._set_state(Qt.CheckState.Unchecked)

    def _set_state(self, state: Qt.CheckState) -> None:
        """Sets the visible items; filtered ones keep their state."""
        blocked = self.list.blockSignals(True)
        for item in self._items():
            if not item.isHidden() and item.flags() & Qt.ItemFlag.ItemIsEnabled:
                item.setCheckState(state)
        self.list.blockSignals(blocked)
        self._on_changed()

    @Slot(QListWidgetItem)
    def _toggle(self, item: QListWidgetItem) -> None:
        on = item.checkState() == Qt.CheckState.Checked
        item.setCheckState(Qt.CheckState.Unchecked if on else Qt.CheckState.Checked)

    @Slot(str)
    def _filter(self, text: str) -> None:
        words = text.casefold().split()
        for item in self._items():
            item.setHidden(not all(word in item.text().casefold() for word in words))

    @Slot()
    def _on_changed(self, *_: object) -> None:
        self.count.setText(f"{len(self.checked):,} of {self.list.count():,}")
        self.changed.emit()
