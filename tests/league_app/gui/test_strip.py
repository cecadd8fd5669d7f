"""The pictures of growing series: adding a point gives the picture that drawing all points gives."""

from __future__ import annotations

import math

import numpy as np
import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtWidgets import QApplication

from engine.game import Floats
from league_app.gui.widgets.strip import Strip

WIDTH, HEIGHT, COUNT = 120, 44, 160
SHARES = [0.5 + 0.45 * math.sin(place / 3) for place in range(COUNT + 70)]


def drawn(strip: Strip, ratio: float, colour: str = "#3060c0") -> Floats:
    picture = QImage(round(WIDTH * ratio), round(HEIGHT * ratio), QImage.Format.Format_RGBA8888)
    picture.setDevicePixelRatio(ratio)
    picture.fill(Qt.GlobalColor.white)
    painter = QPainter(picture)
    strip.draw(painter, QRect(0, 0, WIDTH, HEIGHT), QColor(colour), ratio)
    painter.end()
    pixels = np.frombuffer(picture.constBits(), np.uint8).reshape(picture.height(), picture.width(), 4)
    return pixels.astype(np.float64)


@pytest.mark.parametrize("ratio", [1.0, 2.0])
@pytest.mark.parametrize("step", [1, 5])
def test_adding_points_gives_the_picture_of_all_points(qapp: QApplication, ratio: float, step: int) -> None:
    growing = Strip(COUNT)
    for place, share in enumerate(SHARES):
        growing.add(share)
        if place % step == 0 or place == len(SHARES) - 1:
            added = drawn(growing, ratio)
    assert growing.redrawn == 1
    whole = Strip(COUNT)
    for share in SHARES:
        whole.add(share)
    at_once = drawn(whole, ratio)
    inside = (slice(None), slice(round(6 * ratio), None))  # the oldest points have left the series, not the picture
    assert np.ptp(at_once[inside]) > 100
    assert np.abs(added[inside] - at_once[inside]).max() <= 8


def test_it_is_drawn_again_in_another_colour_only(qapp: QApplication) -> None:
    strip = Strip(COUNT)
    for share in SHARES[:20]:
        strip.add(share)
    first = drawn(strip, 1.0)
    assert np.array_equal(drawn(strip, 1.0), first)
    assert strip.redrawn == 1
    assert not np.array_equal(drawn(strip, 1.0, "#c03030"), first)
    assert strip.redrawn == 2
