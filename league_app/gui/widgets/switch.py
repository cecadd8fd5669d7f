"""An on/off switch with a text beside it."""

from __future__ import annotations

from PySide6.QtCore import QEasingCurve, QEvent, QRectF, QSize, Qt, QVariantAnimation, Slot
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget

from league_app.gui import theme

TRACK = QSize(36, 20)
GAP, EDGE = 8, 3  # between track and text; around the track, for the focus ring
DURATION = 150  # milliseconds


class Switch(QAbstractButton):
    """Toggled by a click or by Space. The text says what is on."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setText(text)
        self.setAccessibleName(text)
        self.setCheckable(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._position = 0.0  # 0 off, 1 on
        self._animation = QVariantAnimation(self)
        self._animation.setDuration(DURATION)
        self._animation.setEasingCurve(QEasingCurve.Type.OutCubic)
        self._animation.valueChanged.connect(self._set_position)
        self.toggled.connect(self._animate)

    @Slot(bool)
    def _animate(self, on: bool) -> None:
        self._animation.stop()
        if not self.isVisible():
            self._set_position(float(on))
            return
        self._animation.setStartValue(self._position)
        self._animation.setEndValue(float(on))
        self._animation.start()

    @Slot(object)
    def _set_position(self, value: object) -> None:
        assert isinstance(value, float)
        self._position = value
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802
        text_width = QFontMetrics(self.font()).horizontalAdvance(self.text())
        return QSize(TRACK.width() + 2 * EDGE + (GAP + text_width + EDGE if text_width else 0), 30)

    def minimumSizeHint(self) -> QSize:  # noqa: N802
        return self.sizeHint()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange, QEvent.Type.EnabledChange):
            self.updateGeometry()
            self.update()
        super().changeEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        middle = self.height() / 2
        track = QRectF(EDGE, middle - TRACK.height() / 2, TRACK.width(), TRACK.height())
        on, enabled = self._position > 0.5, self.isEnabled()
        ground = "accent" if on else "border"
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour(ground if enabled else "hairline"))
        painter.drawRoundedRect(track, TRACK.height() / 2, TRACK.height() / 2)
        room = track.width() - track.height()
        knob = QRectF(track.left() + 3 + room * self._position, track.top() + 3, track.height() - 6, track.height() - 6)
        painter.setBrush(theme.colour("on_accent" if on and enabled else "surface"))
        painter.drawEllipse(knob)
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(theme.colour("text"), 1.5))
            painter.drawRoundedRect(track.adjusted(-2, -2, 2, 2), TRACK.height() / 2 + 2, TRACK.height() / 2 + 2)
        painter.setPen(theme.colour("text" if enabled else "border"))
        text_rect = QRectF(track.right() + GAP, 0, self.width() - track.right() - GAP, self.height())
        painter.drawText(text_rect, int(Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine), self.text())
