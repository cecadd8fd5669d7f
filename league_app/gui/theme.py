"""The current theme: palette, fonts and tinted icons, on Qt's Fusion style.

The theme can change while the window is open. Widgets read `current()` when they paint, and Qt repaints them after
`PaletteChange`.
"""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Literal

from PySide6.QtCore import QByteArray, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication, QIcon, QPainter, QPalette, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication

from engine.files import asset
from engine.temporary import private_folder
from league_app.gui.palette import DARK, LIGHT, Palette
from league_app.gui.stylesheet import stylesheet

ThemeName = Literal["system", "light", "dark"]
CHOICES: tuple[ThemeName, ...] = ("system", "light", "dark")


SEATS = (0, 1, 2, 3, 5)  # series whose colours are closest to those of the seats on the canvas
SIZES = {"caption": 11, "body": 13, "section": 15, "title": 20, "score": 32}
SPACE = (4, 8, 12, 16, 24)
FAMILY = "Inter"

_current = LIGHT


def current() -> Palette:
    """The palette in use."""
    return _current


def colour(role: str, alpha: float = 1.0) -> QColor:
    """The colour of a role, or of an RRGGBB value."""
    return QColor(_colour(getattr(_current, role, role), alpha))


@functools.lru_cache(maxsize=512)
def _colour(value: str, alpha: float) -> QColor:
    """Cached: table cells ask for thousands of these."""
    colour = QColor(f"#{value}")
    colour.setAlphaF(alpha)
    return colour


def series(place: int) -> QColor:
    """The colour of the line with this number; from the seventh on, `dashed` distinguishes lines."""
    return QColor(f"#{_current.series[place % len(_current.series)]}")


def seat(number: int) -> QColor:
    """The colour of a seat outside the canvas; from the sixth seat on, its marker is hollow."""
    return series(SEATS[number % len(SEATS)])


def dashed(place: int) -> Qt.PenStyle:
    styles = (Qt.PenStyle.SolidLine, Qt.PenStyle.DashLine, Qt.PenStyle.DotLine, Qt.PenStyle.DashDotLine)
    return styles[place // len(_current.series) % len(styles)]


def font(role: str = "body") -> QFont:
    """The font of a text role, with tabular figures."""
    return QFont(_font(role))


@functools.cache
def _font(role: str) -> QFont:
    made = QFont(FAMILY)
    made.setPixelSize(SIZES[role])
    made.setWeight(QFont.Weight.DemiBold if role in ("section", "title", "score") else QFont.Weight.Normal)
    made.setFeature(QFont.Tag("tnum"), 1)
    return made


def load_fonts() -> None:
    _font.cache_clear()  # fonts created before now used a fallback family
    for name in ("Inter-Regular", "Inter-SemiBold"):
        for suffix in ("ttf", "otf"):
            path = asset(f"fonts/{name}.{suffix}")
            if path is not None:
                QFontDatabase.addApplicationFont(str(path))


def is_dark(choice: str) -> bool:
    """Whether this choice currently means the dark palette."""
    if choice == "system":
        return QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark
    return choice == "dark"


def apply(choice: str) -> Palette:
    """Applies the theme to the whole application."""
    global _current
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    _current = DARK if is_dark(choice) else LIGHT
    if not app.property("fusion"):  # every call restyles all widgets, so each is made only if needed
        app.setStyle("Fusion")
        app.setProperty("fusion", True)
    app.setFont(font())
    app.setPalette(_qt_palette(_current))
    if app.styleSheet() != (sheet := stylesheet(_current, drawn_icons(_current))):
        app.setStyleSheet(sheet)
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
        for colour_role in roles:
            made.setColor(colour_role, QColor(f"#{value}"))
    for colour_role in (role.WindowText, role.Text, role.ButtonText):
        made.setColor(QPalette.ColorGroup.Disabled, colour_role, QColor(f"#{palette.border}"))
    return made


@functools.lru_cache(maxsize=256)
def _svg(name: str) -> str:
    path = asset(f"icons/{name}.svg")
    if path is None:
        raise LookupError(f"no icon named {name!r}")
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
    """An icon as a pixmap, in the colour of a role."""
    made = QPixmap(_tinted(name, getattr(_current, role, role), round(size * ratio)))
    made.setDevicePixelRatio(ratio)
    return made


def icon(name: str, role: str = "text") -> QIcon:
    """An icon in the current colours; callers request it again on `PaletteChange`."""
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
    """Writes the icons that the style sheet uses to a temporary folder, in the colours of this palette."""
    folder = Path(tempfile.mkdtemp(dir=private_folder(), prefix="icons-"))
    for name, source, value in (
        ("down", "chevron-down", palette.muted),
        ("up", "chevron-up", palette.muted),
        ("check", "check", palette.on_accent),
        ("cross", "cross", palette.muted),
    ):
        drawn = _svg(source).replace("currentColor", f"#{value}")
        if name == "cross":  # Qt shows it at half the size of the others
            drawn = drawn.replace('viewBox="0 0 20 20"', 'viewBox="3 3 14 14"')
        (folder / f"{name}-{palette.name}.svg").write_text(drawn, "utf-8")
    return folder.as_posix()
