"""The real application with a probe, which reports positions and texts of widgets to a test.

`python -m tests.league_app.gui.probed_app [league]` reads one JSON request per line from standard input and answers
each with a line of JSON.
The probe presses nothing: the test uses a mouse and a keyboard on a screen.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QPoint, QSocketNotifier, Slot
from PySide6.QtWidgets import QAbstractButton, QAbstractSpinBox, QApplication, QLabel, QLineEdit, QTabBar, QWidget

from league_app.gui.application import Application, make_application


class Probe(QObject):
    def __init__(self, application: Application) -> None:
        super().__init__()
        self._application = application
        self._rest = b""
        self._notifier = QSocketNotifier(sys.stdin.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._read)

    @Slot()
    def _read(self) -> None:
        data = os.read(sys.stdin.fileno(), 65536)
        if not data:
            self._notifier.setEnabled(False)
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            request = json.loads(line)
            answer = getattr(self, f"report_{request.pop('ask')}")(**request)
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()

    def report_where(self, text: str) -> list[int] | None:
        """The screen position of the control with this text; None if none is visible and enabled."""
        for widget in reversed(QApplication.allWidgets()):
            if not widget.isVisible() or not widget.isEnabled():
                continue
            pressed = isinstance(widget, QAbstractButton | QLineEdit | QAbstractSpinBox)
            if pressed and text in (getattr(widget, "text", str)(), widget.accessibleName()):
                return _middle(widget, widget.rect().center())
            if isinstance(widget, QTabBar):
                for place in range(widget.count()):
                    if widget.tabText(place) == text:
                        return _middle(widget, widget.tabRect(place).center())
        return None

    def report_texts(self) -> list[str]:
        """The texts of visible labels and the accessible names of other visible widgets."""
        visible = [widget for widget in QApplication.allWidgets() if widget.isVisible()]
        return [widget.text() if isinstance(widget, QLabel) else widget.accessibleName() for widget in visible]

    def report_state(self) -> dict[str, Any]:
        context, window = self._application.context, self._application.window
        state = context.state
        job = state.job if state is not None else None
        active = QApplication.activeModalWidget()
        return {
            "league": state.league.name if state is not None else None,
            "page": type(window.stack.currentWidget()).__name__ if window.outer.currentIndex() else "WelcomePage",
            "dialog": type(active).__name__ if active is not None else None,
            "running": job is not None,
            "played": job.progress().played if job is not None else None,
            "text": state.toggle_text if state is not None else "",
            "visual": state.show_visuals if state is not None else None,
            "live": state is not None and state.live is not None,
            "training": [job.number for job in state.training.jobs] if state is not None else [],
            "trainers": [state.training.sessions.session(job.number).trainer for job in state.training.jobs]
            if state is not None
            else [],
            "steps": {
                session.number: state.training.sessions.steps(session.number)
                for session in state.training.sessions.all()
            }
            if state is not None
            else {},
            "tournaments": [
                [tournament.number, tournament.state.value, tournament.played]
                for tournament in state.league.tournaments()
            ]
            if state is not None
            else [],
        }


def _middle(widget: QWidget, at: QPoint) -> list[int]:
    place = widget.mapToGlobal(at)
    return [place.x(), place.y()]


def main() -> None:
    app = make_application()
    if app is None:
        sys.exit("there is no display")
    application = Application(app, Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    application.start()
    probe = Probe(application)
    status = app.exec()
    application.stop()
    del probe
    sys.exit(status)


if __name__ == "__main__":
    main()
