"""A few words at the lower edge of the window that go by themselves."""

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
MOST = 4  # at a time
WIDTH = 288  # no wider than the panel at the right, so that it hides no page


class Toast(QFrame):
    """Stays while the mouse is over it."""

    gone = Signal(object)

    def __init__(self, text: str, tone: str, offer: tuple[str, Callable[[], Any]] | None, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("card", True)
        self.text, self._offer = text, offer
        self.words = label(breakable(text), wrap=True)
        self.words.setContentsMargins(0, 4, 0, 4)
        self.setAccessibleName(text)
        told = column(self.words, gap=0)
        if offer is not None:
            self.offered = button(offer[0], self._take, link=True)
            told.addLayout(row(self.offered, 1))
        inner = row(gap=8)
        top = Qt.AlignmentFlag.AlignTop
        inner.addWidget(Icon(ICONS[tone], 20, "accent" if tone == "info" else tone), 0, top)
        inner.addLayout(told, 1)
        inner.addWidget(IconButton("cross", "Dismiss", self.close_now), 0, top)
        inner.setContentsMargins(12, 8, 4, 8)
        self.setLayout(inner)
        shadow = QGraphicsDropShadowEffect(self)
        shadow.setBlurRadius(18)
        shadow.setOffset(0, 3)
        shadow.setColor(theme.colour("000000", 0.25))
        self.setGraphicsEffect(shadow)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(1000 * (SECONDS[tone] + (4 if offer else 0)))
        self._timer.timeout.connect(self.close_now)
        self._timer.start()

    def enterEvent(self, event: QEnterEvent) -> None:  # noqa: N802
        self._timer.stop()

    def leaveEvent(self, event: QEvent) -> None:  # noqa: N802
        self._timer.start()

    @Slot()
    def _take(self) -> None:
        assert self._offer is not None
        self.close_now()
        self._offer[1]()

    @Slot()
    def close_now(self) -> None:
        self.gone.emit(self)


class Toasts(QObject):
    """Keeps them above one another in the lower right corner of a widget."""

    def __init__(self, over: QWidget) -> None:
        super().__init__(over)
        self._over = over
        self.shown: list[Toast] = []
        over.installEventFilter(self)

    @Slot(str, str, object)
    def say(self, text: str, tone: str = "info", offer: object = None) -> None:
        if self.shown and self.shown[-1].text == text:
            self._drop(self.shown[-1])  # the same again: once is enough
        while len(self.shown) >= MOST:
            self._drop(self.shown[0])
        toast = Toast(text, tone if tone in SECONDS else "info", offer, self._over)  # type: ignore[arg-type]
        toast.gone.connect(self._drop)
        self.shown.append(toast)
        self._place()  # before it is seen: or the mouse may be where it only seems to be, and it would stay
        toast.show()
        QAccessible.updateAccessibility(QAccessibleEvent(toast, QAccessible.Event.Alert))

    @Slot(object)
    def _drop(self, toast: Toast) -> None:
        if toast in self.shown:
            self.shown.remove(toast)
            toast.hide()
            toast.deleteLater()
            self._place()

    def _place(self) -> None:
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
            self._place()
        return False
