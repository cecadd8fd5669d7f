"""The theme: contrast, colour vision deficiencies, icons, fonts, and a change while the window is open."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from PySide6.QtGui import QColor, QFontDatabase, QFontInfo, QFontMetricsF
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

import league_app
from league_app.gui import theme
from league_app.gui.context import AppContext
from league_app.gui.pages.standings import StandingsPage
from league_app.gui.palette import DARK, LIGHT, Palette
from league_app.gui.stylesheet import TEMPLATE, stylesheet
from league_app.gui.widgets.matrix import heat_colours

Floats = npt.NDArray[np.float64]
both = pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
GROUNDS = ("window", "surface", "raised", "selection")

# The table that the look was decided by, row by row: light, then dark.
DECIDED = """
window surface raised       F4F5F7 FFFFFF F8F9FB    14171C 1B1F26 232831
hairline border             D5D9E0 8A93A3           343B47 5F6B7C
text muted                  1B1F27 5A6372           E6E9EF 9AA4B5
accent on_accent selection  2456C8 FFFFFF DCE7FF    7AA7FF 0B1220 24385F
good warn bad               0B7A55 8F5600 B3261E    4CC38A F0B429 FF7B72
"""
SERIES = {
    "light": "1F5FD6 B03A00 14966C 7A2A80 C18B00 14171C",
    "dark": "4A9BFF FF7A33 3CCFA0 E9A6F2 FFE14D FFFFFF",
}

# Machado, Oliveira and Fernandes 2009, "A physiologically-based model for simulation of color vision deficiency",
# severity 1.0; they apply to linear light.
DEFICIENCIES = {
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
TO_XYZ = np.array(
    ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041))
)
WHITE = np.array((0.95047, 1.0, 1.08883))


def linear(value: str) -> Floats:
    parts = np.array([int(value[at : at + 2], 16) for at in (0, 2, 4)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def contrast(color: str, other: str) -> float:
    """As WCAG 2 defines it."""
    dark, light = sorted(float(linear(value) @ (0.2126, 0.7152, 0.0722)) for value in (color, other))
    return (light + 0.05) / (dark + 0.05)


def lab(light: Floats) -> Floats:
    scaled = TO_XYZ @ np.clip(light, 0, 1) / WHITE
    bent = np.where(scaled > 216 / 24389, np.cbrt(scaled), (24389 / 27 * scaled + 16) / 116)
    return np.array((116 * bent[1] - 16, 500 * (bent[0] - bent[1]), 200 * (bent[1] - bent[2])))


def difference(color: str, other: str, seen: Floats) -> float:
    """Delta E of 1976: the distance in CIELAB."""
    return float(np.linalg.norm(lab(seen @ linear(color)) - lab(seen @ linear(other))))


def test_contrast_and_colour_distance_match_known_values() -> None:
    assert contrast("000000", "FFFFFF") == pytest.approx(21)
    assert contrast("777777", "FFFFFF") == pytest.approx(4.478, abs=1e-3)
    assert difference("000000", "FFFFFF", np.eye(3)) == pytest.approx(100, abs=1e-3)
    assert lab(linear("FF0000")) == pytest.approx((53.24, 80.09, 67.20), abs=0.02)


def test_both_palettes_have_the_specified_colours() -> None:
    for row in DECIDED.strip().splitlines():
        words = row.split()
        roles = words[: len(words) // 3]
        values = words[len(roles) :]
        assert [getattr(LIGHT, role) for role in roles] == values[: len(roles)]
        assert [getattr(DARK, role) for role in roles] == values[len(roles) :]
    assert {palette.name: " ".join(palette.series) for palette in (LIGHT, DARK)} == SERIES


@both
def test_text_has_enough_contrast_on_every_background(palette: Palette) -> None:
    low = {
        (role, ground): round(contrast(getattr(palette, role), getattr(palette, ground)), 2)
        for role in ("text", "muted")
        for ground in GROUNDS
        if contrast(getattr(palette, role), getattr(palette, ground)) < 4.5
    }
    assert low == {}


@both
@pytest.mark.parametrize("role", ["accent", "good", "warn", "bad"])
def test_status_colours_have_enough_contrast(palette: Palette, role: str) -> None:
    for ground in ("window", "surface", "raised"):
        assert contrast(getattr(palette, role), getattr(palette, ground)) >= 4.5, ground


@both
def test_text_on_the_accent_has_enough_contrast(palette: Palette) -> None:
    assert contrast(palette.on_accent, palette.accent) >= 4.5


@both
def test_borders_and_lines_stand_out_from_the_surface(palette: Palette) -> None:
    for value in (palette.border, palette.accent, *palette.series):
        assert contrast(value, palette.surface) >= 3, value


@both
@pytest.mark.parametrize("deficiency", [None, *DEFICIENCIES])
def test_series_differ_under_colour_vision_deficiencies(palette: Palette, deficiency: str | None) -> None:
    seen = np.array(DEFICIENCIES[deficiency]) if deficiency else np.eye(3)
    near = {
        (color, other): round(difference(color, other, seen), 1)
        for color, other in itertools.combinations(palette.series, 2)
        if difference(color, other, seen) < 20
    }
    assert near == {}


@both
def test_numbers_on_heat_map_colours_have_enough_contrast(
    palette: Palette, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(theme, "_current", palette)
    for strength in (0.45, 1.0):
        for red, green, blue in heat_colours(np.linspace(0, 1, 101), strength).tolist():
            tint = f"{red:02X}{green:02X}{blue:02X}"
            assert contrast(palette.text, tint) >= 4.5, tint


@both
@pytest.mark.parametrize("deficiency", [None, *DEFICIENCIES])
def test_the_ends_of_a_heat_map_differ_under_colour_vision_deficiencies(
    palette: Palette, deficiency: str | None
) -> None:
    seen = np.array(DEFICIENCIES[deficiency]) if deficiency else np.eye(3)
    for color, other in itertools.combinations((palette.cold, palette.surface, palette.hot), 2):
        assert difference(color, other, seen) >= 20, (color, other)


# Icons


def named_icons() -> Iterator[tuple[str, str]]:
    """Every icon name in the window's code, with its file and line."""
    folder = Path(league_app.__file__).parent
    first = {"Icon", "IconButton", "EmptyState", "icon", "pixmap", "set_icon", "_svg"}
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            given: list[ast.expr] = []
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                given += node.args[:1] if name in first else node.args[1:2] if name == "TintedButton" else []
                given += [keyword.value for keyword in node.keywords if keyword.arg == "icon"]
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if any(isinstance(node, ast.Name) and node.id == "icon" for node in targets) and node.value is not None:
                    given.append(node.value)
            for value in given:
                yield from ((name, f"{path.name}:{value.lineno}") for name in literals(value))


def literals(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.IfExp):
        yield from literals(node.body)
        yield from literals(node.orelse)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value:
        yield node.value


def test_every_icon_named_in_the_code_exists() -> None:
    known = {path.stem for path in (Path(league_app.__file__).parent.parent / "assets" / "icons").glob("*.svg")}
    named = list(named_icons())
    assert len(named) > 5
    assert [(name, where) for name, where in named if re.fullmatch("[a-z-]+", name) and name not in known] == []


def test_every_icon_is_drawn_in_the_given_colour(qtbot: QtBot) -> None:
    for path in (Path(league_app.__file__).parent.parent / "assets" / "icons").glob("*.svg"):
        if path.stem in ("app", "ringside"):
            continue  # they have colours of their own
        picture = theme.pixmap(path.stem, 20, "FF0000").toImage()
        inked = [
            colour
            for x, y in itertools.product(range(20), repeat=2)
            if (colour := picture.pixelColor(x, y)).alpha() > 100
        ]
        assert inked, path.stem
        assert all(colour.red() > 200 and colour.green() < 50 for colour in inked), path.stem


def test_the_error_for_a_missing_icon_names_it(qtbot: QtBot) -> None:
    with pytest.raises(LookupError, match="no-such-icon"):
        theme.icon("no-such-icon")


# Type and style


def test_the_bundled_font_is_used_with_tabular_figures(qtbot: QtBot) -> None:
    theme.load_fonts()
    assert theme.FAMILY in QFontDatabase.families()
    for role, size in theme.SIZES.items():
        font = theme.font(role)
        assert QFontInfo(font).family() == theme.FAMILY
        assert font.pixelSize() == size
        metrics = QFontMetricsF(font)
        assert metrics.horizontalAdvance("1111") == pytest.approx(metrics.horizontalAdvance("8888"))


def test_fonts_and_colours_are_returned_as_copies(qtbot: QtBot) -> None:
    font, colour = theme.font(), theme.colour("text")
    font.setPixelSize(99)
    colour.setAlpha(1)
    assert theme.font().pixelSize() == theme.SIZES["body"]
    assert theme.colour("text").alpha() == 255


@both
def test_the_style_sheet_is_filled_in(palette: Palette, qtbot: QtBot) -> None:
    assert TEMPLATE.is_valid()
    assert set(TEMPLATE.get_identifiers()) <= {*vars(palette), "icons"}
    sheet = stylesheet(palette, theme.drawn_icons(palette))
    assert "$" not in sheet
    assert sheet.count("{") == sheet.count("}")
    for path in re.findall(r'url\("([^"]+)"\)', sheet):
        assert Path(path).is_file()
    for value in re.findall(r"#(\w+)\b(?=[;\s])", sheet):
        assert QColor(f"#{value}").isValid(), value


# Live


def test_a_theme_change_updates_a_visible_page(context: AppContext, qtbot: QtBot) -> None:
    page = StandingsPage(context)
    qtbot.addWidget(page)
    page.resize(730, 560)
    page.show()
    qtbot.waitUntil(lambda: page.view is not None)
    for tab in range(3):
        page.tabs.setCurrentIndex(tab)
        QApplication.processEvents()  # its parts find their places
        pictures = {}
        for choice, palette in (("light", LIGHT), ("dark", DARK), ("light", LIGHT)):
            theme.apply(choice)
            picture = page.grab().toImage()
            assert picture.pixelColor(2, 2).name()[1:].upper() == palette.window
            seen = {picture.pixelColor(x, y).name()[1:].upper() for x in range(0, 730, 9) for y in range(60, 500, 9)}
            assert palette.surface in seen
            assert (DARK if palette is LIGHT else LIGHT).surface not in seen
            if choice in pictures:
                assert picture == pictures[choice], "and back again"
            pictures[choice] = picture


def test_a_label_has_the_colour_of_its_tone(bare: AppContext, qtbot: QtBot) -> None:
    from league_app.gui.widgets.basics import label, set_tone

    text: QLabel = label("x", tone="good")
    qtbot.addWidget(text)
    text.show()
    assert text.palette().color(text.foregroundRole()).name()[1:].upper() == LIGHT.good
    set_tone(text, "bad")
    assert text.palette().color(text.foregroundRole()).name()[1:].upper() == LIGHT.bad
