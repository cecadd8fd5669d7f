"""The board: pygame draws into the memory of a QImage, which Qt shows pixel by pixel at any device pixel ratio."""

from __future__ import annotations

import math

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QImage, QPainter, QPainterPath, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from engine.scene import Scene
from league_app.gui import theme
from league_app.rendering import pygame
from league_app.rendering.painter import ScenePainter

NOTHING = Scene(4 / 3, "101826", ())
RADIUS = 6


class BoardCanvas(QWidget):
    """Shows one scene at a time; repaints only what changed since the last one."""

    focus_lost = Signal()

    def __init__(self, name: str = "Board") -> None:
        super().__init__()
        self._scene: Scene | None = None
        self._image = QImage()
        self._painter: ScenePainter | None = None
        self._corners = QPainterPath()  # outside the rounded board
        self.setAccessibleName(name)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(240, 160)

    def sizeHint(self) -> QSize:  # noqa: N802
        return QSize(800, 600)

    @property
    def scene(self) -> Scene | None:
        return self._scene

    @property
    def image(self) -> QImage:
        """The picture, in device pixels."""
        return self._image

    def show_scene(self, scene: Scene | None) -> None:
        if scene is self._scene or scene == self._scene:
            return
        self._scene = scene
        self.setAccessibleDescription(scene.caption if scene is not None else "")
        self._resize_image()
        self.update(self._draw())

    def _resize_image(self) -> bool:
        """Make the image as large as the widget; return whether it is a new one."""
        ratio = self.devicePixelRatioF()
        size = QSize(math.ceil(self.width() * ratio), math.ceil(self.height() * ratio))
        if size == self._image.size() and ratio == self._image.devicePixelRatio():
            return False
        self._painter = None
        self._image = QImage(size, QImage.Format.Format_RGB32)
        self._image.setDevicePixelRatio(ratio)
        if not size.isEmpty():
            surface = pygame.image.frombuffer(self._image.bits(), (size.width(), size.height()), "BGRA")
            self._painter = ScenePainter(surface)
        return True

    def _draw(self) -> QRect:
        """Draw the scene; return the part of the widget that changed.

        It is one rectangle on purpose: Qt copies whole rows of one rectangle, but goes span by span through several.
        """
        if self._painter is None:
            return self.rect()
        parts = self._painter.draw(self._scene or NOTHING)
        if not parts:
            return QRect()
        part, ratio = parts[0].unionall(parts[1:]), self._image.devicePixelRatio()
        left, top = math.floor(part.left / ratio), math.floor(part.top / ratio)
        return QRect(left, top, math.ceil(part.right / ratio) - left, math.ceil(part.bottom / ratio) - top)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        if self._resize_image():
            self._draw()
        whole, inner = QPainterPath(), QPainterPath()
        whole.addRect(QRectF(self.rect()))
        inner.addRoundedRect(QRectF(self.rect()), RADIUS, RADIUS)
        self._corners = whole.subtracted(inner)
        super().resizeEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802
        self.update()
        super().focusInEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:  # noqa: N802
        self.update()
        self.focus_lost.emit()
        super().focusOutEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
        if self._resize_image():  # moved to a screen with another pixel ratio
            self._draw()
        painter = QPainter(self)
        painter.drawImage(QPoint(0, 0), self._image)
        if event.rect().top() < RADIUS or event.rect().bottom() >= self.height() - RADIUS:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.fillPath(self._corners, theme.colour("window"))
            if self.hasFocus():
                painter.setPen(theme.colour("accent"))
                painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)
        elif self.hasFocus():  # away from the corners, only the straight sides need painting
            for x in (0, self.width() - 1):
                painter.fillRect(x, event.rect().top(), 1, event.rect().height(), theme.colour("accent"))
