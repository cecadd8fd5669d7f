"""The application: fonts, theme, the league opened at startup, unhandled exceptions, and signals."""

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

from league_app.core import paths
from league_app.core.preferences import Preferences
from league_app.gui import theme
from league_app.gui.context import AppContext
from league_app.gui.garbage_collection import GuiThreadCollector

NO_DISPLAY = "offscreen"
SWITCH_INTERVAL = 0.002  # seconds another thread may hold the GIL while the window waits to paint


class Application(QObject):
    """Owns the window, the exception hooks and the signal handlers."""

    def __init__(self, app: QApplication, first: Path | None) -> None:
        super().__init__()
        from league_app.gui.main_window import MainWindow

        settings = Preferences(paths.settings_file())
        theme.load_fonts()
        theme.apply(settings.get("theme", "system"))
        app.styleHints().colorSchemeChanged.connect(self._system_changed)
        self.context = AppContext(settings)
        self.window = MainWindow(self.context)
        self._first = first
        self._hooks = sys.excepthook, threading.excepthook
        sys.excepthook = self._on_exception
        threading.excepthook = self._on_thread_exception
        self._install_signal_handlers()

    def start(self) -> None:
        self.window.show()
        QTimer.singleShot(0, self._open_first)  # show the window before reading any file

    @Slot()
    def _open_first(self) -> None:
        leagues, recent = self.window.leagues, self.context.settings.recent
        if self._first is not None:
            leagues.load_finished.connect(self._show_first)
            leagues.open_path(self._first)
        elif recent and recent[0] != paths.sample_league():
            leagues.open_path(recent[0])
        else:
            leagues.sample()
        self.window.preload_pages()

    @Slot()
    def _show_first(self) -> None:
        self.window.leagues.load_finished.disconnect(self._show_first)
        if self.context.state is not None:
            self.context.navigate("dashboard")

    @Slot()
    def _system_changed(self) -> None:
        if self.context.settings.get("theme", "system") == "system":
            theme.apply("system")

    # Unhandled exceptions

    def _on_exception(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """Reports on standard error and in the window."""
        self._hooks[0](kind, error, trace)
        if not issubclass(kind, KeyboardInterrupt):
            self.context.failed.emit(error)

    def _on_thread_exception(self, args: threading.ExceptHookArgs) -> None:
        self._hooks[1](args)
        if args.exc_value is not None:
            self.context.failed.emit(args.exc_value)

    # Ctrl-C and SIGTERM

    def _install_signal_handlers(self) -> None:
        """Python runs no signal handler while Qt's event loop waits; a byte on a socket wakes the loop."""
        self._near, self._far = socket.socketpair()
        self._near.setblocking(False)
        self._far.setblocking(False)
        signal.set_wakeup_fd(self._far.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _ignore)
        self._notifier = QSocketNotifier(self._near.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._on_signal)
        self._signals = 0

    @Slot()
    def _on_signal(self) -> None:
        self._near.recv(64)
        self._signals += 1
        if self._signals > 1:
            os._exit(130)  # second signal: exit at once; committed data is on disk
        self.window.close_without_asking()

    def stop(self) -> None:
        signal.set_wakeup_fd(-1)
        self._notifier.setEnabled(False)
        self._near.close()
        self._far.close()
        sys.excepthook, threading.excepthook = self._hooks


def _ignore(number: int, frame: FrameType | None) -> None:
    """The wakeup socket delivers the signal; without a handler the process would be terminated."""


def make_application() -> QApplication | None:
    """Returns None if there is no display, where Qt itself would abort the process."""
    platform = os.environ.get("QT_QPA_PLATFORM")
    if platform is None and sys.platform == "linux":
        first = "wayland;xcb" if os.environ.get("WAYLAND_DISPLAY") and not os.environ.get("DISPLAY") else "xcb;wayland"
        os.environ["QT_QPA_PLATFORM"] = f"{first};{NO_DISPLAY}"
    app = QApplication(sys.argv[:1])
    if platform is None and app.platformName() == NO_DISPLAY:
        return None
    app.setApplicationName("Ringside")
    app.setApplicationDisplayName("Ringside")
    app.setDesktopFileName("ringside")
    app.setWindowIcon(theme.app_icon())
    return app


def run(first: Path | None = None) -> int | None:
    """Runs until the window is closed and returns the exit status, or None if there is no display."""
    app = make_application()
    if app is None:
        return None
    sys.setswitchinterval(SWITCH_INTERVAL)
    collector = GuiThreadCollector(app)
    application = Application(app, first)
    application.start()
    try:
        return app.exec()
    finally:
        application.stop()
        collector.stop()
