"""A combo box with the registered executors, and a caption that says where the chosen one plays."""

from __future__ import annotations

from PySide6.QtCore import Slot

from engine.errors import RingsideError
from engine.play.executors import check_executor_name
from engine.registry import EXECUTORS
from league_app.gui.widgets.basics import Combo, label


class ExecutorChoice(Combo):
    """`caption` is a label to be placed below it."""

    def __init__(self) -> None:
        super().__init__()
        self.caption = label("", "caption", wrap=True)
        for name in EXECUTORS.working():
            self.addItem(name.replace("-", " ").capitalize(), name)
        self.currentIndexChanged.connect(self._show_about)
        self._show_about()

    @property
    def value(self) -> str:
        return str(self.currentData())

    def set_value(self, name: str) -> None:
        """Choose an executor. It may have options, or its plug-in may be missing: then it is listed as it is."""
        if self.findData(name) < 0:
            self.addItem(name, name)
        self.setCurrentIndex(self.findData(name))

    @Slot()
    def _show_about(self) -> None:
        try:
            about = check_executor_name(self.value)[0].about
        except RingsideError as error:
            about = str(error)
        self.caption.setText(about[:1].upper() + about[1:])
