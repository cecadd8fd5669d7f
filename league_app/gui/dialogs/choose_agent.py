"""A dialog to choose one agent, with a filter by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QDialog, QLineEdit, QListWidget, QListWidgetItem, QWidget

from league_app.core.queries.agents import AgentRow
from league_app.gui.widgets.agent_colours import colour_of
from league_app.gui.widgets.basics import ElidedLabel, button, column, row, tooltip_html
from league_app.gui.widgets.checklist import ID, dot_icon


class ChooseAgentDialog(QDialog):
    """Calls `on_chosen` with the id of the agent."""

    def __init__(
        self,
        title: str,
        accept: str,
        agents: Sequence[AgentRow],
        on_chosen: Callable[[str], object],
        parent: QWidget | None,
    ) -> None:
        super().__init__(parent)
        self._on_chosen = on_chosen
        self.setWindowTitle(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(420, 460)
        self.field = QLineEdit()
        self.field.setPlaceholderText("Filter")
        self.field.setAccessibleName("Filter agents")
        self.list = QListWidget()
        self.list.setAccessibleName("Agents")
        self.list.setIconSize(QSize(12, 12))
        self.list.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        for agent in agents:
            rating = f"   {agent.rating:z.0f}" if agent.rating is not None else ""
            item = QListWidgetItem(dot_icon(colour_of(agent.id, agent.colour)), f"{agent.name}   {agent.kind}{rating}")
            item.setData(ID, agent.id)
            item.setToolTip(tooltip_html(agent.name))
            self.list.addItem(item)
        self.list.setCurrentRow(0)
        self.yes = button(accept, self._accept, primary=True)
        self.yes.setDefault(True)
        buttons = row(1, button("Cancel", self.reject), self.yes)
        self.setLayout(column(ElidedLabel(title, "title"), self.field, self.list, buttons, margin=24, gap=12))
        self.field.textChanged.connect(self._filter)
        self.list.itemActivated.connect(self._accept)

    @Slot(str)
    def _filter(self, text: str) -> None:
        words = text.casefold().split()
        shown = None
        for place in range(self.list.count()):
            item = self.list.item(place)
            item.setHidden(not all(word in item.text().casefold() for word in words))
            shown = place if shown is None and not item.isHidden() else shown
        self.list.setCurrentRow(-1 if shown is None else shown)
        self.yes.setEnabled(shown is not None)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        if event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Up) and self.field.hasFocus():
            self.list.setFocus()
            return
        super().keyPressEvent(event)

    @Slot()
    def _accept(self, *_: object) -> None:
        item = self.list.currentItem()
        if item is not None:
            self.accept()
            self._on_chosen(str(item.data(ID)))
