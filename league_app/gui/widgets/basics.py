"""Small widgets and layout helpers of every page. All texts are shown as plain text, never as markup."""

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
    QScrollArea,
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
LONG_WORD = re.compile(r"\S{25,}")


def tooltip_html(text: str) -> str:
    """Escapes a text for tooltips, where Qt would guess that it is markup."""
    return f"<p style='white-space: pre-wrap'>{html.escape(text)}</p>" if text else ""


def label(text: str = "", role: str = "", tone: str = "", wrap: bool = False) -> QLabel:
    """role: caption, muted, section, title, score; tone: good, warn, bad."""
    widget = QLabel(text)
    widget.setTextFormat(Qt.TextFormat.PlainText)
    widget.setWordWrap(wrap)
    widget.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignAbsolute)
    if role:
        widget.setProperty("role", role)
    if tone:
        widget.setProperty("tone", tone)
    return widget


def breakable(text: str) -> str:
    """Lets long words in a wrapping label break, so that they do not widen the page."""
    return LONG_WORD.sub(_broken, text)


def _broken(word: re.Match[str]) -> str:
    return "\N{ZERO WIDTH SPACE}".join(word[0][at : at + 12] for at in range(0, len(word[0]), 12))


def set_tone(widget: QWidget, tone: str) -> None:
    """Sets the `tone` property and applies its style: good, warn, bad or empty."""
    if widget.property("tone") != tone:
        widget.setProperty("tone", tone)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


class ElidedLabel(QLabel):
    """One line that is elided when it does not fit; the tooltip has the whole text."""

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
        self.setToolTip(tooltip_html(text))
        self.setAccessibleName(text)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(self.rect(), self.alignment() | Qt.AlignmentFlag.AlignVCenter, self.elided_text())

    def elided_text(self) -> str:
        """The text as it is painted."""
        return QFontMetrics(self.font()).elidedText(self.text(), Qt.TextElideMode.ElideRight, self.width())


class ElidedPairLabel(ElidedLabel):
    """A sentence with two names. Only the names are elided, the longer one first."""

    def __init__(self, template: str, first: str, second: str) -> None:
        super().__init__(template.format(first, second))
        self._template, self._names = template, (first, second)

    def elided_text(self) -> str:
        metrics, elided = QFontMetrics(self.font()), super().elided_text()
        room = self.width() - metrics.horizontalAdvance(self._template.format("", ""))
        if elided == self.text() or room < 2 * metrics.horizontalAdvance("M\u2026"):
            return elided
        needed = [metrics.horizontalAdvance(name) for name in self._names]
        rooms = [max(room // 2, room - other) for other in reversed(needed)]
        names = zip(self._names, rooms, strict=True)
        end = Qt.TextElideMode.ElideRight
        return self._template.format(*(metrics.elidedText(name, end, width) for name, width in names))


def button(text: str, pressed: Callable[[], object] | None = None, *, primary: bool = False, icon: str = "",
           link: bool = False, danger: bool = False, tip: str = "") -> TintedButton:  # fmt: skip
    """`pressed` is called without arguments when the button is clicked."""
    widget = TintedButton(text, icon, "on_accent" if primary else "bad" if danger else "accent" if link else "text")
    for name, on in (("primary", primary), ("link", link), ("danger", danger)):
        if on:
            widget.setProperty(name, True)
    if pressed is not None:
        widget.clicked.connect(_without_argument(pressed))
    if tip:
        widget.setToolTip(tooltip_html(tip))
    widget.setCursor(Qt.CursorShape.PointingHandCursor if link else Qt.CursorShape.ArrowCursor)
    widget.setAutoDefault(False)
    return widget


def _without_argument(pressed: Callable[[], object]) -> Callable[..., None]:
    """Drops the `checked` argument of `clicked`. A plain function is safe here: buttons emit in the GUI thread."""

    def on_clicked(_checked: bool = False) -> None:
        pressed()

    return on_clicked


class TintedButton(QPushButton):
    """A button whose icon has the colour of the current palette."""

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
        """Elides a text that is too long; Qt would cut it off."""
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
    """A combo box that elides a text that is too long; Qt would cut it off."""

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
    """A button with only an icon; its name is the tooltip and the accessible name."""

    def __init__(self, icon: str, name: str, pressed: Callable[[], object] | None = None, flat: bool = True) -> None:
        super().__init__()
        self._icon = icon
        self.setProperty("flat", flat)
        self.setToolTip(tooltip_html(name))
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
            self.setToolTip(tooltip_html(name))
            self.setAccessibleName(name)
            self._tint()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        if event.type() == QEvent.Type.PaletteChange:
            self._tint()
        super().changeEvent(event)

    def _tint(self) -> None:
        self.setIcon(theme.icon(self._icon))


class Icon(QLabel):
    """An icon in a colour of the current palette."""

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


def scroll_area(widget: QWidget | None = None, name: str = "") -> QScrollArea:
    """An area without a frame that scrolls vertically; the keyboard reaches it only if it has a name."""
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setAccessibleName(name)
    if not name:
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    if widget is not None:
        area.setWidget(widget)
    return area


def column(*parts: QWidget | QBoxLayout | int, margin: int = 0, gap: int = 8) -> QVBoxLayout:
    """A vertical layout; a number adds stretch."""
    return _filled(QVBoxLayout(), parts, margin, gap)


def row(*parts: QWidget | QBoxLayout | int, margin: int = 0, gap: int = 8) -> QHBoxLayout:
    """A horizontal layout; a number adds stretch."""
    return _filled(QHBoxLayout(), parts, margin, gap)


def _filled(layout: Layout, parts: tuple[QWidget | QBoxLayout | int, ...], margin: int, gap: int) -> Layout:
    layout.setContentsMargins(margin, margin, margin, margin)
    layout.setSpacing(gap)
    for part in parts:
        if isinstance(part, QWidget):
            layout.addWidget(part)
        elif isinstance(part, int):
            layout.addStretch(part)
        else:
            layout.addLayout(part)
    return layout


def clear(layout: QLayout) -> None:
    """Removes and deletes everything in a layout."""
    while (item := layout.takeAt(0)) is not None:
        inner, widget = item.layout(), item.widget()
        if widget is not None:
            widget.hide()  # deleteLater takes effect only in the event loop
            widget.deleteLater()
        elif inner is not None:
            clear(inner)


class Card(QFrame):
    """A surface with a border and an optional heading; its content goes into `body`."""

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
    widget = QFrame()
    widget.setProperty("line", True)
    return widget


class EmptyState(QWidget):
    """What a page shows while it has no content: an icon, a sentence and one button."""

    def __init__(self, icon: str, sentence: str, text: str = "", pressed: Callable[[], object] | None = None) -> None:
        super().__init__()
        self.sentence = label(sentence, "muted", wrap=True)
        self.sentence.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.sentence.setMinimumWidth(320)
        self.sentence.setMaximumWidth(440)
        inner = column(gap=12)
        inner.addWidget(Icon(icon, 40), 0, Qt.AlignmentFlag.AlignHCenter)
        middle = row(1, self.sentence, 1, gap=0)  # with an alignment, Qt would compute the height for another width
        middle.setStretch(1, 100)
        inner.addLayout(middle)
        if text:
            self.button = button(text, pressed, primary=True)
            inner.addWidget(self.button, 0, Qt.AlignmentFlag.AlignHCenter)
        across = row(1, inner, 1)
        across.setStretch(1, 8)
        self.setLayout(column(1, across, 1, margin=24))
