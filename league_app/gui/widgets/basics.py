"""Small parts that every page is made of. Texts are shown as they are: a name with markup in it is just a name."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import TypeVar

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLayout,
    QPushButton,
    QSizePolicy,
    QStyle,
    QStyleOptionButton,
    QStyleOptionComboBox,
    QStylePainter,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from league_app.gui import theme

Layout = TypeVar("Layout", bound=QBoxLayout)
LONG = re.compile(r"\S{25,}")


def plain(text: str) -> str:
    """For tooltips and other places where Qt would guess that a text is markup."""
    return f"<p style='white-space: pre-wrap'>{html.escape(text)}</p>" if text else ""


def label(text: str = "", role: str = "", tone: str = "", wrap: bool = False) -> QLabel:
    """role: caption, muted, section, title, score; tone: good, warn, bad."""
    made = QLabel(text)
    made.setTextFormat(Qt.TextFormat.PlainText)
    made.setWordWrap(wrap)
    made.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignAbsolute)
    if role:
        made.setProperty("role", role)
    if tone:
        made.setProperty("tone", tone)
    return made


def breakable(text: str) -> str:
    """A text for a label that wraps: words without an end may be broken, so that none makes the page wider."""
    return LONG.sub(_broken, text)


def _broken(word: re.Match[str]) -> str:
    return "\N{ZERO WIDTH SPACE}".join(word[0][at : at + 12] for at in range(0, len(word[0]), 12))


def set_tone(widget: QWidget, tone: str) -> None:
    """Another meaning, so another colour."""
    if widget.property("tone") != tone:
        widget.setProperty("tone", tone)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


class Elided(QLabel):
    """One line that ends in an ellipsis where there is no room, and tells the rest when asked."""

    def __init__(self, text: str = "", role: str = "") -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        if role:
            self.setProperty("role", role)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setMinimumWidth(40)
        self.setText(text)

    def setText(self, text: str) -> None:  # noqa: N802 - Qt's name
        super().setText(text)
        self.setToolTip(plain(text))
        self.setAccessibleName(text)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(self.rect(), self.alignment() | Qt.AlignmentFlag.AlignVCenter, self.shown())

    def shown(self) -> str:
        """As much of it as there is room for."""
        return QFontMetrics(self.font()).elidedText(self.text(), Qt.TextElideMode.ElideRight, self.width())


class Telling(Elided):
    """A sentence of two names in which these give way, and not what it says: the longer one first."""

    def __init__(self, words: str, first: str, second: str) -> None:
        super().__init__(words.format(first, second))
        self._words, self._names = words, (first, second)

    def shown(self) -> str:
        metrics, told = QFontMetrics(self.font()), super().shown()
        room = self.width() - metrics.horizontalAdvance(self._words.format("", ""))
        if told == self.text() or room < 2 * metrics.horizontalAdvance("M\u2026"):
            return told
        needed = [metrics.horizontalAdvance(name) for name in self._names]
        rooms = [max(room // 2, room - other) for other in reversed(needed)]
        names = zip(self._names, rooms, strict=True)
        return self._words.format(*(metrics.elidedText(one, Qt.TextElideMode.ElideRight, wide) for one, wide in names))


def button(text: str, pressed: Callable[[], object] | None = None, *, primary: bool = False, icon: str = "",
           link: bool = False, danger: bool = False, tip: str = "") -> QPushButton:  # fmt: skip
    """`pressed` is a method of a widget."""
    made = TintedButton(text, icon, "on_accent" if primary else "bad" if danger else "accent" if link else "text")
    for name, on in (("primary", primary), ("link", link), ("danger", danger)):
        if on:
            made.setProperty(name, True)
    if pressed is not None:
        made.clicked.connect(_without_argument(pressed))
    if tip:
        made.setToolTip(plain(tip))
    made.setCursor(Qt.CursorShape.PointingHandCursor if link else Qt.CursorShape.ArrowCursor)
    made.setAutoDefault(False)
    return made


class _Without:
    def __init__(self, pressed: Callable[[], object]) -> None:
        self._pressed = pressed

    def __call__(self, _checked: bool = False) -> None:
        self._pressed()


def _without_argument(pressed: Callable[[], object]) -> Callable[..., None]:
    """Buttons live in the window's thread, so a plain callable is called there."""
    return _Without(pressed)


class TintedButton(QPushButton):
    """Its icon follows the palette."""

    def __init__(self, text: str, icon: str, role: str = "text") -> None:
        super().__init__(text)
        self._icon, self._role = icon, role
        self._tint()

    def set_icon(self, icon: str) -> None:
        self._icon = icon
        self._tint()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        if event.type() == QEvent.Type.PaletteChange:
            self._tint()
        super().changeEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        """Qt would cut a text that is too long; it ends in an ellipsis instead."""
        lacking = self.sizeHint().width() - self.width()
        if lacking <= 0:
            super().paintEvent(event)
            return
        option, metrics = QStyleOptionButton(), self.fontMetrics()
        self.initStyleOption(option)
        shown, end = Qt.TextFlag.TextShowMnemonic, Qt.TextElideMode.ElideRight
        room = metrics.size(shown, self.text()).width() - lacking
        option.text = metrics.elidedText(self.text(), end, room, shown.value)
        QStylePainter(self).drawControl(QStyle.ControlElement.CE_PushButton, option)

    def _tint(self) -> None:
        if self._icon:
            self.setIcon(theme.icon(self._icon, self._role))
            self.setIconSize(theme.ICON)


class Combo(QComboBox):
    """A choice whose name, where it is too long, ends in an ellipsis; Qt would just cut it."""

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        option, painter = QStyleOptionComboBox(), QStylePainter(self)
        self.initStyleOption(option)
        if self.currentIndex() < 0 and self.placeholderText():
            option.currentText = self.placeholderText()
        whole, part = QStyle.ComplexControl.CC_ComboBox, QStyle.SubControl.SC_ComboBoxEditField
        room = self.style().subControlRect(whole, option, part, self).width()
        option.currentText = self.fontMetrics().elidedText(option.currentText, Qt.TextElideMode.ElideRight, room)
        painter.drawComplexControl(whole, option)
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)


class IconButton(QToolButton):
    """Only an icon: its name is told to whoever asks, with the mouse or with a screen reader."""

    def __init__(self, icon: str, name: str, pressed: Callable[[], object] | None = None, flat: bool = True) -> None:
        super().__init__()
        self._icon = icon
        self.setProperty("flat", flat)
        self.setToolTip(plain(name))
        self.setAccessibleName(name)
        self.setIconSize(theme.ICON)
        self.setFixedSize(QSize(34, 30))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        if pressed is not None:
            self.clicked.connect(_without_argument(pressed))
        self._tint()

    def set_icon(self, icon: str, name: str) -> None:
        if (icon, name) != (self._icon, self.accessibleName()):
            self._icon = icon
            self.setToolTip(plain(name))
            self.setAccessibleName(name)
            self._tint()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        if event.type() == QEvent.Type.PaletteChange:
            self._tint()
        super().changeEvent(event)

    def _tint(self) -> None:
        self.setIcon(theme.icon(self._icon))


class Icon(QLabel):
    """A picture that follows the palette."""

    def __init__(self, name: str, size: int = 20, role: str = "muted") -> None:
        super().__init__()
        self._name, self._size, self._role = name, size, role
        self.setFixedSize(size, size)
        self._tint()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        if event.type() == QEvent.Type.PaletteChange:
            self._tint()
        super().changeEvent(event)

    def _tint(self) -> None:
        self.setPixmap(theme.pixmap(self._name, self._size, self._role, self.devicePixelRatioF()))


def column(*parts: QWidget | QBoxLayout | int, margin: int = 0, gap: int = 8) -> QVBoxLayout:
    """Parts below one another; a number is stretch."""
    return _filled(QVBoxLayout(), parts, margin, gap)


def row(*parts: QWidget | QBoxLayout | int, margin: int = 0, gap: int = 8) -> QHBoxLayout:
    """Parts beside one another; a number is stretch."""
    return _filled(QHBoxLayout(), parts, margin, gap)


def _filled(made: Layout, parts: tuple[QWidget | QBoxLayout | int, ...], margin: int, gap: int) -> Layout:
    made.setContentsMargins(margin, margin, margin, margin)
    made.setSpacing(gap)
    for part in parts:
        if isinstance(part, QWidget):
            made.addWidget(part)
        elif isinstance(part, int):
            made.addStretch(part)
        else:
            made.addLayout(part)
    return made


def clear(layout: QLayout) -> None:
    """Take everything out of it, at once."""
    while (item := layout.takeAt(0)) is not None:
        inner, widget = item.layout(), item.widget()
        if widget is not None:
            widget.hide()  # it goes when Qt comes round to it
            widget.deleteLater()
        elif inner is not None:
            clear(inner)


class Card(QFrame):
    """A surface with a hairline around, and a heading if it has a title; put parts into `body`."""

    def __init__(self, title: str = "", *aside: QWidget, margin: int = 16) -> None:
        super().__init__()
        self.setProperty("card", True)
        self.body = column(margin=margin, gap=12)
        if title or aside:
            self.heading = label(title, "section")
            self.heading.setMinimumHeight(30)
            self.body.addLayout(row(self.heading, 1, *aside))
        self.setLayout(self.body)


def line() -> QFrame:
    made = QFrame()
    made.setProperty("line", True)
    return made


class Empty(QWidget):
    """What a page shows while there is nothing: an icon, a sentence, one button."""

    def __init__(self, icon: str, sentence: str, text: str = "", pressed: Callable[[], object] | None = None) -> None:
        super().__init__()
        self.sentence = label(sentence, "muted", wrap=True)
        self.sentence.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.sentence.setMinimumWidth(320)
        self.sentence.setMaximumWidth(440)
        inner = column(gap=12)
        inner.addWidget(Icon(icon, 40), 0, Qt.AlignmentFlag.AlignHCenter)
        middle = row(1, self.sentence, 1, gap=0)  # an alignment would take the height of another width
        middle.setStretch(1, 100)
        inner.addLayout(middle)
        if text:
            self.button = button(text, pressed, primary=True)
            inner.addWidget(self.button, 0, Qt.AlignmentFlag.AlignHCenter)
        across = row(1, inner, 1)
        across.setStretch(1, 8)
        self.setLayout(column(1, across, 1, margin=24))
