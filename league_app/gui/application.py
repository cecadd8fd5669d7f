"""The application around the window: fonts, signals, what is opened first, and what happens when something breaks."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from pathlib import Path
from types import FrameType, TracebackType

from PySide6.QtCore import QObject, QSocketNotifier, QTimer, Slot
from PySide6.QtWidgets import QApplication

from league_app.core import paths as places
from league_app.gui import theme
from league_app.gui.garbage_collection import Collector
from league_app.gui.context import Desk
from league_app.core.preferences import Settings

NO_DISPLAY = "offscreen"
SWITCH = 0.002  # seconds that another thread may keep the window from being drawn


class Application(QObject):
    """One window, and what ends it."""

    def __init__(self, app: QApplication, first: Path | None) -> None:
        super().__init__()
        from league_app.gui.main_window import Window

        settings = Settings(places.settings_file())
        theme.load_fonts()
        theme.apply(settings.get("theme", "system"))
        app.styleHints().colorSchemeChanged.connect(self._system_changed)
        self.desk = Desk(settings)
        self.window = Window(self.desk)
        self._first = first
        self._hooks = sys.excepthook, threading.excepthook
        sys.excepthook = self._unexpected
        threading.excepthook = self._unexpected_elsewhere
        self._listen_to_signals()

    def start(self) -> None:
        self.window.show()
        QTimer.singleShot(0, self._open_first)  # the window is there before anything is read

    @Slot()
    def _open_first(self) -> None:
        leagues, recent = self.window.leagues, self.desk.settings.recent
        if self._first is not None:
            leagues.settled.connect(self._show_first)
            leagues.open_path(self._first)
        elif recent and recent[0] != places.sample_league():
            leagues.open_path(recent[0])
        else:
            leagues.sample()
        self.window.furnish()

    @Slot()
    def _show_first(self) -> None:
        self.window.leagues.settled.disconnect(self._show_first)
        if self.desk.state is not None:
            self.desk.show("dashboard")

    @Slot()
    def _system_changed(self) -> None:
        if self.desk.settings.get("theme", "system") == "system":
            theme.apply("system")

    # What nobody expected

    def _unexpected(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """Reported in the window, and on standard error for whoever looks there."""
        self._hooks[0](kind, error, trace)
        if not issubclass(kind, KeyboardInterrupt):
            self.desk.failed.emit(error)

    def _unexpected_elsewhere(self, told: threading.ExceptHookArgs) -> None:
        self._hooks[1](told)
        if told.exc_value is not None:
            self.desk.failed.emit(told.exc_value)

    # Ctrl-C and SIGTERM

    def _listen_to_signals(self) -> None:
        """Qt's loop runs no Python while it waits: a byte through a socket wakes it."""
        self._near, self._far = socket.socketpair()
        self._near.setblocking(False)
        self._far.setblocking(False)
        signal.set_wakeup_fd(self._far.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _noted)
        self._notifier = QSocketNotifier(self._near.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._signalled)
        self._came = 0

    @Slot()
    def _signalled(self) -> None:
        self._near.recv(64)
        self._came += 1
        if self._came > 1:
            os._exit(130)  # the second time now: what was acknowledged is on the disk
        self.window.close_unasked()

    def end(self) -> None:
        signal.set_wakeup_fd(-1)
        self._notifier.setEnabled(False)
        self._near.close()
        self._far.close()
        sys.excepthook, threading.excepthook = self._hooks


def _noted(number: int, frame: FrameType | None) -> None:
    """The byte that came with it is what counts."""


def make_application() -> QApplication | None:
    """None where there is no display: Qt by itself would abort the whole process."""
    asked = os.environ.get("QT_QPA_PLATFORM")
    if asked is None and sys.platform == "linux":
        first = "wayland;xcb" if os.environ.get("WAYLAND_DISPLAY") and not os.environ.get("DISPLAY") else "xcb;wayland"
        os.environ["QT_QPA_PLATFORM"] = f"{first};{NO_DISPLAY}"
    app = QApplication(sys.argv[:1])
    if asked is None and app.platformName() == NO_DISPLAY:
        return None
    app.setApplicationName("Ringside")
    app.setApplicationDisplayName("Ringside")
    app.setDesktopFileName("ringside")
    app.setWindowIcon(theme.app_icon())
    return app


def run(first: Path | None = None) -> int | None:
    """Until the window is closed; None if there is no display to open it on."""
    app = make_application()
    if app is None:
        return None
    sys.setswitchinterval(SWITCH)
    collector = Collector(app)
    application = Application(app, first)
    application.start()
    try:
        return app.exec()
    finally:
        application.end()
        collector.end()
