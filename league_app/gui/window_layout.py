"""How the window is arranged and coloured, kept from one time to the next."""

from __future__ import annotations

import base64
import binascii
from contextlib import suppress

from PySide6.QtCore import QByteArray, QEvent, QObject, Qt, Slot
from PySide6.QtWidgets import QDockWidget, QMainWindow, QToolBar

from league_app.gui import theme
from league_app.gui.context import Desk

SIZE = (1280, 720)
SIDES = {
    "agents": Qt.DockWidgetArea.LeftDockWidgetArea,
    "run": Qt.DockWidgetArea.RightDockWidgetArea,
    "log": Qt.DockWidgetArea.BottomDockWidgetArea,
}


PAGE = 726  # pixels that every page can be drawn in, and some for a panel that is wider than it need be
LEAST = 960  # for the window


class View(QObject):
    """Theme, panels, size."""

    def __init__(self, desk: Desk, window: QMainWindow, docks: dict[str, QDockWidget]) -> None:
        super().__init__(window)
        self._desk, self._window, self._docks = desk, window, docks
        self._sides = False
        self._restore("geometry")

    def place(self, name: str, dock: QDockWidget) -> None:
        """A panel that has just been made goes where it was the last time."""
        dock.setObjectName(name)
        self._window.addDockWidget(SIDES[name], dock)
        dock.setVisible(self._sides and self._wanted(name))
        for moved in (dock.visibilityChanged, dock.topLevelChanged, dock.dockLocationChanged):
            moved.connect(self._keep_room)
        dock.installEventFilter(self)
        dock.toggleViewAction().triggered.connect(self._toggle_by_hand)
        if len(self._docks) == len(SIDES):
            self._size_docks()
            self._restore("state")
            self.show_sides(self._sides)

    def conditions(self) -> dict[str, bool]:
        settings = self._desk.settings
        chosen = settings.get("theme", "system")
        return {
            "still": not settings.get("motion", True),
            "full-screen": self._window.isFullScreen(),
            **{f"theme-{one}": chosen == one for one in theme.CHOICES},
            **{f"dock-{name}": self._wanted(name) for name in SIDES},
        }

    # Colours and motion

    @Slot(str)
    def set_theme(self, choice: str) -> None:
        self._desk.settings.set("theme", choice)
        theme.apply(choice)

    @Slot()
    def flip_theme(self) -> None:
        self.set_theme("light" if theme.current().name == "dark" else "dark")

    @Slot()
    def toggle_motion(self) -> None:
        self._desk.settings.set("motion", not self._desk.settings.get("motion", True))

    @Slot()
    def toggle_full_screen(self) -> None:
        self._window.setWindowState(self._window.windowState() ^ Qt.WindowState.WindowFullScreen)

    # Panels

    def show_sides(self, on: bool) -> None:
        """At the welcome page there is nothing around it; the panels that were open come back after it."""
        self._sides = on
        for bar in (self._window.findChild(QToolBar), self._window.statusBar()):
            if bar is not None:
                bar.setVisible(on)
        for name, dock in self._docks.items():
            dock.setVisible(on and self._wanted(name))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """A panel that a person closes stays closed, whichever way it was done."""
        if event.type() == QEvent.Type.Close and self._window.isVisible():
            self._desk.settings.set(f"dock/{watched.objectName()}", False)
        return False

    @Slot()
    def _toggle_by_hand(self) -> None:
        for name, dock in self._docks.items():
            if dock.toggleViewAction() is self.sender():
                self._desk.settings.set(f"dock/{name}", not dock.isHidden())

    @Slot()
    def _keep_room(self) -> None:
        """The window is never so narrow that a page would be drawn over the panels at its sides."""
        beside = {Qt.DockWidgetArea.LeftDockWidgetArea: 0, Qt.DockWidgetArea.RightDockWidgetArea: 0}
        for dock in self._docks.values():
            area = self._window.dockWidgetArea(dock)
            if area in beside and not dock.isHidden() and not dock.isFloating():
                beside[area] = max(beside[area], dock.minimumSizeHint().width() + 1)
        self._window.setMinimumWidth(max(PAGE + sum(beside.values()), LEAST))

    def _wanted(self, name: str) -> bool:
        return bool(self._desk.settings.get(f"dock/{name}", name != "log"))

    @Slot(str)
    def toggle_dock(self, name: str) -> None:
        self._desk.settings.set(f"dock/{name}", not self._wanted(name))
        self.show_sides(self._sides)

    @Slot()
    def reset_layout(self) -> None:
        for start in ("layout", "columns/", "dock/"):
            self._desk.settings.forget(start)
        self._window.setWindowState(Qt.WindowState.WindowNoState)
        self._window.resize(*SIZE)
        for name, dock in self._docks.items():
            dock.setFloating(False)
            self._window.addDockWidget(SIDES[name], dock)
        self.show_sides(self._sides)
        self._size_docks()
        self._desk.say("The layout is as at the first start; columns follow when the window is opened anew")

    def _size_docks(self) -> None:
        if len(self._docks) < len(SIDES):
            return
        self._window.resizeDocks([self._docks["agents"], self._docks["run"]], [240, 300], Qt.Orientation.Horizontal)

    # From one time to the next

    def _restore(self, name: str) -> None:
        text = self._desk.settings.get("layout", {}).get(name)
        if isinstance(text, str):
            with suppress(binascii.Error, ValueError):  # somebody may have edited the file
                kept = QByteArray(base64.b64decode(text))
                self._window.restoreGeometry(kept) if name == "geometry" else self._window.restoreState(kept)

    def keep(self) -> None:
        parts = {"geometry": self._window.saveGeometry()}
        if self._sides:
            parts["state"] = self._window.saveState()
        before = self._desk.settings.get("layout", {})
        kept = {name: base64.b64encode(part.data()).decode() for name, part in parts.items()}
        self._desk.settings.set("layout", {**before, **kept})
