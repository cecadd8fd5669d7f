"""Colours, type and icons: two complete palettes on Fusion, changed while the window is open.

Widgets ask `current()` when they paint, and paint anew on `PaletteChange`; nothing else needs to know of a change.
"""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from PySide6.QtCore import QByteArray, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication, QIcon, QPainter, QPalette, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication

from engine.files import asset

Choice = Literal["system", "light", "dark"]
CHOICES: tuple[Choice, ...] = ("system", "light", "dark")


@dataclass(frozen=True)
class Palette:
    """The roles that colours have, as RRGGBB."""

    name: str
    window: str
    surface: str
    raised: str
    hairline: str
    border: str  # of controls
    text: str
    muted: str
    accent: str
    on_accent: str
    selection: str
    good: str
    warn: str
    bad: str
    series: tuple[str, ...]
    cold: str  # heat maps go from cold over the surface to hot
    hot: str


LIGHT = Palette(
    name="light",
    window="F4F5F7",
    surface="FFFFFF",
    raised="F8F9FB",
    hairline="D5D9E0",
    border="8A93A3",
    text="1B1F27",
    muted="5A6372",
    accent="2456C8",
    on_accent="FFFFFF",
    selection="DCE7FF",
    good="0B7A55",
    warn="8F5600",
    bad="B3261E",
    series=("1F5FD6", "B03A00", "14966C", "7A2A80", "C18B00", "14171C"),
    cold="7FA8F0",
    hot="F0A36B",
)
DARK = Palette(
    name="dark",
    window="14171C",
    surface="1B1F26",
    raised="232831",
    hairline="343B47",
    border="5F6B7C",
    text="E6E9EF",
    muted="9AA4B5",
    accent="7AA7FF",
    on_accent="0B1220",
    selection="24385F",
    good="4CC38A",
    warn="F0B429",
    bad="FF7B72",
    series=("4A9BFF", "FF7A33", "3CCFA0", "E9A6F2", "FFE14D", "FFFFFF"),
    cold="2F5FA8",
    hot="9A511D",
)
SEATS = (0, 1, 2, 3, 5)  # series in the colours that seats have on the canvas, as far as a light ground allows
SIZES = {"caption": 11, "body": 13, "section": 15, "title": 20, "score": 32}
SPACE = (4, 8, 12, 16, 24)
FAMILY = "Inter"

_current = LIGHT


def current() -> Palette:
    """The palette in use."""
    return _current


def colour(role: str, alpha: float = 1.0) -> QColor:
    """Of a role by name, or of RRGGBB."""
    return QColor(_colour(getattr(_current, role, role), alpha))


@functools.lru_cache(maxsize=512)
def _colour(value: str, alpha: float) -> QColor:
    """Cells ask for thousands of these."""
    made = QColor(f"#{value}")
    made.setAlphaF(alpha)
    return made


def series(place: int) -> QColor:
    """Of the line with this number; beyond six `dashed` tells them apart."""
    return QColor(f"#{_current.series[place % len(_current.series)]}")


def seat(number: int) -> QColor:
    """What is drawn of a seat beside the canvas; from the sixth on it is hollow, as it is there."""
    return series(SEATS[number % len(SEATS)])


def dashed(place: int) -> Qt.PenStyle:
    styles = (Qt.PenStyle.SolidLine, Qt.PenStyle.DashLine, Qt.PenStyle.DotLine, Qt.PenStyle.DashDotLine)
    return styles[place // len(_current.series) % len(styles)]


def font(role: str = "body") -> QFont:
    """By the role that a text has; figures are of one width, so that columns of them line up."""
    return QFont(_font(role))


@functools.cache
def _font(role: str) -> QFont:
    made = QFont(FAMILY)
    made.setPixelSize(SIZES[role])
    made.setWeight(QFont.Weight.DemiBold if role in ("section", "title", "score") else QFont.Weight.Normal)
    made.setFeature(QFont.Tag("tnum"), 1)
    return made


def load_fonts() -> None:
    _font.cache_clear()  # what was asked for before now was another
    for name in ("Inter-Regular", "Inter-SemiBold"):
        for suffix in ("ttf", "otf"):
            path = asset(f"fonts/{name}.{suffix}")
            if path is not None:
                QFontDatabase.addApplicationFont(str(path))


def is_dark(choice: str) -> bool:
    """Whether this choice means the dark palette here and now."""
    if choice == "system":
        return QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark
    return choice == "dark"


def apply(choice: str) -> Palette:
    """Have the whole application look like this, from now on."""
    from league_app.gui.stylesheet import stylesheet

    global _current
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    _current = DARK if is_dark(choice) else LIGHT
    if not app.property("fusion"):  # each of these has every widget look at itself again: only what is another
        app.setStyle("Fusion")
        app.setProperty("fusion", True)
    app.setFont(font())
    app.setPalette(_qt_palette(_current))
    if app.styleSheet() != (wanted := stylesheet(_current)):
        app.setStyleSheet(wanted)
    return _current


def _qt_palette(palette: Palette) -> QPalette:
    made, role = QPalette(), QPalette.ColorRole
    for roles, value in {
        (role.Window, role.Button, role.ToolTipBase): palette.window,
        (role.Base,): palette.surface,
        (role.AlternateBase, role.Light, role.Midlight): palette.raised,
        (role.WindowText, role.Text, role.ButtonText, role.ToolTipText, role.BrightText): palette.text,
        (role.PlaceholderText,): palette.muted,
        (role.Mid, role.Dark, role.Shadow): palette.hairline,
        (role.Highlight, role.Accent): palette.accent,
        (role.HighlightedText,): palette.on_accent,
        (role.Link, role.LinkVisited): palette.accent,
    }.items():
        for one in roles:
            made.setColor(one, QColor(f"#{value}"))
    for one in (role.WindowText, role.Text, role.ButtonText):
        made.setColor(QPalette.ColorGroup.Disabled, one, QColor(f"#{palette.border}"))
    return made


@functools.lru_cache(maxsize=256)
def _svg(name: str) -> str:
    path = asset(f"icons/{name}.svg")
    if path is None:
        raise LookupError(f"there is no icon {name!r}")
    return path.read_text("utf-8")


@functools.lru_cache(maxsize=1024)
def _tinted(name: str, value: str, pixels: int) -> QPixmap:
    renderer = QSvgRenderer(QByteArray(_svg(name).replace("currentColor", f"#{value}").encode()))
    made = QPixmap(pixels, pixels)
    made.fill(Qt.GlobalColor.transparent)
    painter = QPainter(made)
    renderer.render(painter, QRectF(0, 0, pixels, pixels))
    painter.end()
    return made


def pixmap(name: str, size: int = 20, role: str = "text", ratio: float = 1.0) -> QPixmap:
    """An icon as a picture, tinted by a role."""
    made = QPixmap(_tinted(name, getattr(_current, role, role), round(size * ratio)))
    made.setDevicePixelRatio(ratio)
    return made


def icon(name: str, role: str = "text") -> QIcon:
    """In the colours of now: whoever shows it asks again on `PaletteChange`."""
    made = QIcon()
    for ratio in (1.0, 2.0):
        made.addPixmap(pixmap(name, 20, role, ratio), QIcon.Mode.Normal)
        made.addPixmap(pixmap(name, 20, "border", ratio), QIcon.Mode.Disabled)
    return made


def app_icon() -> QIcon:
    made = QIcon()
    for pixels in (16, 32, 64, 128, 256):
        made.addPixmap(_tinted("app", "FFFFFF", pixels))
    return made


ICON = QSize(20, 20)


@functools.lru_cache(maxsize=2)
def drawn_icons(palette: Palette) -> str:
    """A folder with the few icons that a style sheet needs as files, in the colours of this palette."""
    folder = Path(tempfile.mkdtemp(prefix="ringside-icons-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name, source, value in (
        ("down", "chevron-down", palette.muted),
        ("up", "chevron-up", palette.muted),
        ("check", "check", palette.on_accent),
        ("cross", "cross", palette.muted),
    ):
        drawn = _svg(source).replace("currentColor", f"#{value}")
        if name == "cross":  # Qt shows it at half of the size that the others have
            drawn = drawn.replace('viewBox="0 0 20 20"', 'viewBox="3 3 14 14"')
        (folder / f"{name}-{palette.name}.svg").write_text(drawn, "utf-8")
    return folder.as_posix()
