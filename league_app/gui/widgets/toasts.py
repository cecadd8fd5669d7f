"""Notifications in the lower right corner of the window that disappear by themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QAccessible, QAccessibleEvent, QEnterEvent
from PySide6.QtWidgets import QFrame, QGraphicsDropShadowEffect, QWidget

from league_app.gui import theme
from league_app.gui.widgets.basics import Icon, IconButton, breakable, button, column, label, row

SECONDS = {"info": 5, "good": 6, "warn": 9, "bad": 15}
ICONS = {"info": "info", "good": "check", "warn": "failure", "bad": "failure"}
MAX_TOASTS = 4  # at a time
WIDTH = 288  # no wider than the right dock, so that it covers no page


class Toast(QFrame):
    """One notification, with an optional action. Stays while the mouse is over it."""

    closed = Signal(object)

    def __init__(self, text: str, tone: str, action: tuple[str, Callable[[], Any]] | None, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("card", True)
        self.text, self._action = text, action
        self.label = label(breakable(text), wrap=True)
        self.label.setContentsMargins(0, 4, 0, 4)
        self.setAccessibleName(text)
        texts = column(self.label, gap=0)
        if action is not None:
            self.action_button = button(action[0], self._run_action, link=True)
            texts.addLayout(row(self.action_button, 1))
        inner = row(gap=8)
        top = Qt.AlignmentFlag.AlignTop
        inner.addWidget(Icon(ICONS[tone], 20, "accent" if tone == "info" else tone), 0, top)
        inner.addLayout(texts, 1)
        inner.addWidget(IconButton("cross", "Dismiss", self.dismiss), 0, top)
        inner.setContentsMargins(12, 8, 4, 8)
        self.setLayout(inner)
        shadow = QGraphicsDropShadowEffect(self)
        shadow.setBlurRadius(18)
        shadow.setOffset(0, 3)
        shadow.setColor(theme.colour("000000", 0.25))
        self.setGraphicsEffect(shadow)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(1000 * (SECONDS[tone] + (4 if action else 0)))
        self._timer.timeout.connect(self.dismiss)
        self._timer.start()

    def enterEvent(self, event: QEnterEvent) -> None:  # noqa: N802
        self._timer.stop()

    def leaveEvent(self, event: QEvent) -> None:  # noqa: N802
        self._timer.start()

    @Slot()
    def _run_action(self) -> None:
        assert self._action is not None
        self.dismiss()
        self._action[1]()

    @Slot()
    def dismiss(self) -> None:
        self.closed.emit(self)


class Toasts(QObject):
    """Stacks notifications in the lower right corner of a widget."""

    def __init__(self, over: QWidget) -> None:
        super().__init__(over)
        self._over = over
        self.shown: list[Toast] = []
        over.installEventFilter(self)

    @Slot(str, str, object)
    def show_message(self, text: str, tone: str = "info", action: object = None) -> None:
        if self.shown and self.shown[-1].text == text:
            self._remove(self.shown[-1])  # do not show the same text twice
        while len(self.shown) >= MAX_TOASTS:
            self._remove(self.shown[0])
        toast = Toast(text, tone if tone in SECONDS else "info", action, self._over)  # type: ignore[arg-type]
        toast.closed.connect(self._remove)
        self.shown.append(toast)
        self._arrange()  # before it is shown: at its first position it could get an enter event and never disappear
        toast.show()
        QAccessible.updateAccessibility(QAccessibleEvent(toast, QAccessible.Event.Alert))

    @Slot(object)
    def _remove(self, toast: Toast) -> None:
        if toast in self.shown:
            self.shown.remove(toast)
            toast.hide()
            toast.deleteLater()
            self._arrange()

    def _arrange(self) -> None:
        bottom = self._over.height() - 36
        for toast in reversed(self.shown):
            width = min(WIDTH, self._over.width() - 32)
            toast.setFixedWidth(width)
            toast.ensurePolished()
            height = max(toast.heightForWidth(width), toast.sizeHint().height())
            toast.setGeometry(self._over.width() - width - 6, bottom - height, width, height)
            toast.raise_()
            bottom -= height + 8

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802
        if event.type() == QEvent.Type.Resize:
            self._arrange()
        return False
