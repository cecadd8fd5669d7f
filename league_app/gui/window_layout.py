"""Theme, docks and window geometry, saved from one session to the next."""

from __future__ import annotations

import base64
import binascii
from contextlib import suppress

from PySide6.QtCore import QByteArray, QEvent, QObject, Qt, Slot
from PySide6.QtWidgets import QDockWidget, QMainWindow, QToolBar

from league_app.gui import theme
from league_app.gui.context import AppContext

SIZE = (1280, 720)
SIDES = {
    "agents": Qt.DockWidgetArea.LeftDockWidgetArea,
    "run": Qt.DockWidgetArea.RightDockWidgetArea,
    "log": Qt.DockWidgetArea.BottomDockWidgetArea,
}
PAGE = 726  # pixels: minimum width of every page, with a reserve for wider docks
MIN_WIDTH = 960  # of the window


class WindowLayout(QObject):
    """The actions of the View menu that arrange the window."""

    def __init__(self, context: AppContext, window: QMainWindow, docks: dict[str, QDockWidget]) -> None:
        super().__init__(window)
        self._context, self._window, self._docks = context, window, docks
        self._panels_shown = False
        self._restore("geometry")

    def place(self, name: str, dock: QDockWidget) -> None:
        """Adds a new dock at its saved position."""
        dock.setObjectName(name)
        self._window.addDockWidget(SIDES[name], dock)
        dock.setVisible(self._panels_shown and self._is_open(name))
        for moved in (dock.visibilityChanged, dock.topLevelChanged, dock.dockLocationChanged):
            moved.connect(self._update_minimum_width)
        dock.installEventFilter(self)
        dock.toggleViewAction().triggered.connect(self._on_toggled)
        if len(self._docks) == len(SIDES):
            self._size_docks()
            self._restore("state")
            self.show_panels(self._panels_shown)

    def conditions(self) -> dict[str, bool]:
        settings = self._context.settings
        chosen = settings.get("theme", "system")
        return {
            "still": not settings.get("motion", True),
            "full-screen": self._window.isFullScreen(),
            **{f"theme-{choice}": chosen == choice for choice in theme.CHOICES},
            **{f"dock-{name}": self._is_open(name) for name in SIDES},
        }

    # Colours and motion

    @Slot(str)
    def set_theme(self, choice: str) -> None:
        self._context.settings.set("theme", choice)
        theme.apply(choice)

    @Slot()
    def flip_theme(self) -> None:
        self.set_theme("light" if theme.current().name == "dark" else "dark")

    @Slot()
    def toggle_motion(self) -> None:
        self._context.settings.set("motion", not self._context.settings.get("motion", True))

    @Slot()
    def toggle_full_screen(self) -> None:
        self._window.setWindowState(self._window.windowState() ^ Qt.WindowState.WindowFullScreen)

    # Panels

    def show_panels(self, on: bool) -> None:
        """Hides docks, toolbar and status bar on the welcome page, and shows them again after it."""
        self._panels_shown = on
        for bar in (self._window.findChild(QToolBar), self._window.statusBar()):
            if bar is not None:
                bar.setVisible(on)
        for name, dock in self._docks.items():
            dock.setVisible(on and self._is_open(name))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        """Remembers that a dock was closed, by whichever control."""
        if event.type() == QEvent.Type.Close and self._window.isVisible():
            self._context.settings.set(f"dock/{watched.objectName()}", False)
        return False

    @Slot()
    def _on_toggled(self) -> None:
        for name, dock in self._docks.items():
            if dock.toggleViewAction() is self.sender():
                self._context.settings.set(f"dock/{name}", not dock.isHidden())

    @Slot()
    def _update_minimum_width(self) -> None:
        """Keeps the window wide enough that pages do not overlap the docks."""
        beside = {Qt.DockWidgetArea.LeftDockWidgetArea: 0, Qt.DockWidgetArea.RightDockWidgetArea: 0}
        for dock in self._docks.values():
            area = self._window.dockWidgetArea(dock)
            if area in beside and not dock.isHidden() and not dock.isFloating():
                beside[area] = max(beside[area], dock.minimumSizeHint().width() + 1)
        self._window.setMinimumWidth(max(PAGE + sum(beside.values()), MIN_WIDTH))

    def _is_open(self, name: str) -> bool:
        return bool(self._context.settings.get(f"dock/{name}", name != "log"))

    @Slot(str)
    def toggle_dock(self, name: str) -> None:
        self._context.settings.set(f"dock/{name}", not self._is_open(name))
        self.show_panels(self._panels_shown)

    @Slot()
    def reset_layout(self) -> None:
        for start in ("layout", "columns/", "dock/"):
            self._context.settings.remove_prefix(start)
        self._window.setWindowState(Qt.WindowState.WindowNoState)
        self._window.resize(*SIZE)
        for name, dock in self._docks.items():
            dock.setFloating(False)
            self._window.addDockWidget(SIDES[name], dock)
        self.show_panels(self._panels_shown)
        self._size_docks()
        self._context.notify("Layout reset; table columns are reset at the next start")

    def _size_docks(self) -> None:
        if len(self._docks) < len(SIDES):
            return
        self._window.resizeDocks([self._docks["agents"], self._docks["run"]], [240, 300], Qt.Orientation.Horizontal)

    # Saved state

    def _restore(self, name: str) -> None:
        text = self._context.settings.get("layout", {}).get(name)
        if isinstance(text, str):
            with suppress(binascii.Error, ValueError):  # the settings file may have been edited
                kept = QByteArray(base64.b64decode(text))
                self._window.restoreGeometry(kept) if name == "geometry" else self._window.restoreState(kept)

    def save(self) -> None:
        parts = {"geometry": self._window.saveGeometry()}
        if self._panels_shown:
            parts["state"] = self._window.saveState()
        before = self._context.settings.get("layout", {})
        kept = {name: base64.b64encode(part.data()).decode() for name, part in parts.items()}
        self._context.settings.set("layout", {**before, **kept})
