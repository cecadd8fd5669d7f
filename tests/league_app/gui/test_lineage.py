"""The lineage widget: places of dots, colours, highlighting, mouse and keyboard, zoom, and thousands of dots."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QImage, QWheelEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from league_app.gui import theme
from league_app.gui.widgets.lineage.dots import Lineage, LineageDot, layout
from league_app.gui.widgets.lineage.lineage import LineageWidget
from league_app.gui.widgets.lineage.picture import radii

TREE = (
    LineageDot(1, 0, (), 0.2),
    LineageDot(2, 0, (), 0.5),
    LineageDot(3, 0, (), None, failed=True),
    LineageDot(4, 1, (1, 2), 0.6, member=True),
    LineageDot(5, 1, (2, 3), 0.4),
    LineageDot(6, 2, (4, 4), 0.9, member=True),
    LineageDot(7, 2, (5,), None, member=True),
)


def described(number: int) -> tuple[tuple[str, str], ...]:
    return ("Fitness", f"{number} %"), ("Parents", "")


def tree(dots: tuple[LineageDot, ...] = TREE, best: int | None = 6) -> Lineage:
    return Lineage(dots, best, described)


def crowd(columns: int, size: int) -> Lineage:
    """Many dots, each with two parents of the column before."""
    draws = np.random.default_rng(1)
    dots = []
    for column in range(columns):
        first = column * size
        parents = draws.integers(max(first - size, 0), max(first, 1), (size, 2)) + 1
        values = draws.random(size) + column
        dots += [
            LineageDot(first + k + 1, column, tuple(parents[k].tolist()) if column else (), float(values[k]))
            for k in range(size)
        ]
    return Lineage(dots, columns * size)


@pytest.fixture
def widget(qtbot: QtBot) -> LineageWidget:
    theme.load_fonts()
    theme.apply("light")
    widget = LineageWidget()
    qtbot.addWidget(widget)
    widget.resize(600, 260)
    widget.show()
    return widget


def picture(widget: LineageWidget) -> QImage:
    QApplication.processEvents()
    return widget.viewport().grab().toImage()


# Places


def test_columns_run_from_left_to_right_and_the_best_is_at_the_top() -> None:
    places = layout(tree(), 0, 0, 50, 100)
    x, y = places.x.tolist(), places.y.tolist()
    assert x[0] == x[1] == x[2] < x[3] == x[4] < x[5] == x[6]
    assert y[1] < y[0] < y[2], "by value, and the one without a value last"
    assert y[3] < y[4]
    assert y[5] < y[6]


def test_columns_without_a_dot_take_no_space() -> None:
    lineage = tree((LineageDot(1, -5, (), 1.0), LineageDot(2, 10**12, (1,), 2.0)), 2)
    assert lineage.labels == [-5, 10**12]
    assert layout(lineage, 0, 0, 50, 100).x.tolist() == [25, 75]


@pytest.mark.parametrize(("columns", "size"), [(1, 1), (5, 1000), (100, 50), (500, 10), (1, 2000)])
def test_dots_do_not_overlap_as_long_as_there_is_room(columns: int, size: int) -> None:
    lineage = crowd(columns, size)
    places = layout(lineage, 0, 0, 800 / columns, 220)
    assert 0 <= places.x.min() <= places.x.max() <= 800
    assert 0 <= places.y.min() <= places.y.max() <= 220
    points = np.stack([places.x, places.y], 1)[lineage.columns == 0]
    distances = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    np.fill_diagonal(distances, np.inf)
    assert distances.min() >= min(2 * places.radius, 2.4) * 0.99


def test_value_is_shown_by_colour_and_by_size() -> None:
    lineage = tree()
    assert lineage.heat[5] == 1.0
    assert lineage.heat[1] < lineage.heat[3]
    assert np.isnan(lineage.heat[2])
    sizes = radii(lineage, layout(lineage, 0, 0, 50, 100))
    assert sizes[0] < sizes[1] < sizes[3] < sizes[5]
    assert lineage.scale is not None
    assert lineage.scale[1] == "0.9"


@pytest.mark.parametrize(
    "dots",
    [
        (),
        (LineageDot(1, 0, (1, 9), None),),
        (LineageDot(1, 0, (2,), 1.0), LineageDot(2, 0, (1,), 1.0)),
        (LineageDot(1, 3, (), -1e300), LineageDot(2, 1, (1,), 1e300)),
    ],
)
def test_odd_lineages_can_be_drawn(widget: LineageWidget, dots: tuple[LineageDot, ...]) -> None:
    widget.set_lineage(tree(dots, None))
    picture(widget)
    for dot in dots:
        widget.choose(dot.number)
        picture(widget)
        assert dot.number in widget.highlighted
    assert widget.empty.isVisible() == (not dots)


# Selection


def test_the_ancestors_of_the_chosen_dot_are_highlighted(widget: LineageWidget) -> None:
    widget.set_lineage(tree())
    assert widget.highlighted == set()
    before = picture(widget)
    widget.choose(6)
    assert widget.highlighted == {6, 4, 1, 2}
    assert picture(widget) != before
    assert widget.drawn == 1, "all dots are not drawn again"
    widget.choose(99)
    assert (widget.chosen, widget.highlighted) == (None, set())
    assert picture(widget) == before


def test_a_click_selects_and_a_choice_emits_nothing(widget: LineageWidget, qtbot: QtBot) -> None:
    widget.set_lineage(tree())
    found = list[int]()
    widget.selected.connect(found.append)
    widget.choose(4)
    assert found == []
    at = widget.point(5).toPoint()
    qtbot.mouseClick(widget.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert (found, widget.chosen) == ([5], 5)
    qtbot.mouseClick(widget.viewport(), Qt.MouseButton.LeftButton, pos=at)
    qtbot.mouseClick(widget.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(2, 2))
    assert found == [5], "it is chosen already, or there is no dot"


def test_arrow_keys_go_from_dot_to_dot(widget: LineageWidget, qtbot: QtBot) -> None:
    widget.set_lineage(tree())
    widget.choose(6)
    found = []
    for key in (Qt.Key.Key_Left, Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Left, Qt.Key.Key_Up, Qt.Key.Key_Left,
                Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Home):  # fmt: skip
        qtbot.keyClick(widget, key)
        found.append(widget.chosen)
    assert found == [4, 5, 5, 1, 2, 2, 4, 6, 6, 6]
    assert widget.accessibleDescription() == "6, Fitness 6 %", "what has no value is left out"


def test_the_first_key_selects_the_best(widget: LineageWidget, qtbot: QtBot) -> None:
    widget.set_lineage(tree())
    qtbot.keyClick(widget, Qt.Key.Key_Left)
    assert widget.chosen == 6


def test_the_dot_under_the_mouse_is_described(widget: LineageWidget, qtbot: QtBot) -> None:
    widget.set_lineage(tree())
    before = picture(widget)
    qtbot.mouseMove(widget.viewport(), widget.point(2).toPoint())
    assert picture(widget) != before
    assert widget.description(widget.lineage.places[2]) == "2, Fitness 2 %"
    assert widget.drawn == 1


def test_new_dots_leave_the_chosen_one_chosen(widget: LineageWidget) -> None:
    widget.set_lineage(tree())
    widget.choose(4)
    widget.set_lineage(tree((*TREE, LineageDot(8, 3, (6,), 0.7))))
    assert widget.chosen == 4
    widget.set_lineage(tree(TREE[:3], None))
    assert (widget.chosen, widget.highlighted) == (None, set())


# Zoom


def test_ctrl_and_the_wheel_zoom_and_a_wheel_alone_is_left_to_the_page(widget: LineageWidget) -> None:
    widget.set_lineage(crowd(100, 10))
    assert widget.visible_columns.whole
    assert not turn(widget, Qt.KeyboardModifier.NoModifier)
    assert widget.visible_columns.whole
    assert turn(widget, Qt.KeyboardModifier.ControlModifier)
    shown = widget.visible_columns
    assert shown.seconds == pytest.approx(80)
    assert widget.horizontalScrollBar().maximum() > 0
    left = shown.left
    assert turn(widget, Qt.KeyboardModifier.ShiftModifier, -120)
    assert shown.left > left
    widget.horizontalScrollBar().setValue(0)
    assert shown.left == 0
    widget.zoom(1e9)
    assert shown.seconds == pytest.approx(4), "some columns stay visible"
    widget.show_all()
    assert shown.whole


def turn(widget: LineageWidget, keys: Qt.KeyboardModifier, angle: int = 120) -> bool:
    """Turns the wheel; returns whether the widget has used it."""
    at = QPointF(widget.width() / 2, 100)
    phase, none = Qt.ScrollPhase.NoScrollPhase, Qt.MouseButton.NoButton
    event = QWheelEvent(at, widget.mapToGlobal(at), QPoint(), QPoint(0, angle), none, keys, phase, False)
    event.setAccepted(False)
    widget.wheelEvent(event)
    return event.isAccepted()


def test_keys_zoom_around_the_chosen_dot_and_bring_it_into_view(widget: LineageWidget, qtbot: QtBot) -> None:
    widget.set_lineage(crowd(100, 10))
    widget.choose(505)
    for _ in range(8):
        qtbot.keyClick(widget, Qt.Key.Key_Plus)
    shown = widget.visible_columns
    assert shown.left <= 50 <= shown.right
    for _ in range(20):
        qtbot.keyClick(widget, Qt.Key.Key_Right)
    assert shown.left <= 70 < shown.right
    qtbot.keyClick(widget, Qt.Key.Key_0)
    assert shown.whole


def test_a_view_of_the_newest_columns_follows_them_and_another_stays(widget: LineageWidget) -> None:
    widget.set_lineage(crowd(50, 4))
    shown = widget.visible_columns
    shown.show(40, 50)
    widget.set_lineage(crowd(60, 4))
    assert (shown.left, shown.right) == (50, 60)
    shown.show(20, 30)
    widget.set_lineage(crowd(70, 4))
    assert (shown.left, shown.right) == (20, 30)


# Pictures


@pytest.mark.parametrize("name", ["light", "dark"])
def test_it_is_drawn_in_the_colours_of_the_theme(widget: LineageWidget, name: str) -> None:
    widget.set_lineage(tree())
    widget.choose(6)
    light = picture(widget)
    theme.apply(name)
    image = picture(widget)
    assert image.pixelColor(3, 100) == theme.colour("surface")
    colours = {image.pixelColor(x, y).name() for x in range(image.width()) for y in range(24, image.height())}
    assert theme.colour("surface").name() in colours
    assert len(colours) > 50
    assert (image == light) == (name == "light")
    theme.apply("light")


def test_a_failed_one_is_a_cross_and_an_unknown_one_a_ring(widget: LineageWidget) -> None:
    widget.set_lineage(tree())
    failed, waiting = picture(widget), widget.point(7).toPoint()
    assert failed.pixelColor(widget.point(3).toPoint()) == theme.colour("bad")
    assert failed.pixelColor(waiting).lightnessF() > 0.9, "hollow"


def test_thousands_of_dots_are_drawn_once(widget: LineageWidget, qtbot: QtBot) -> None:
    lineage = crowd(100, 50)
    assert not len(lineage.links(most=1500)), "only the lines of a highlighted lineage"
    widget.set_lineage(lineage)
    picture(widget)
    for number in range(1, 5001, 250):
        widget.choose(number)
        qtbot.mouseMove(widget.viewport(), widget.point(number).toPoint())
        picture(widget)
    assert widget.drawn == 1
    assert len(lineage.links(lineage.lineage_of(4999))) > 2000


def test_a_high_resolution_is_used(widget: LineageWidget, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LineageWidget, "devicePixelRatioF", lambda self: 2.0)
    widget.set_lineage(tree())
    assert widget._content().width() == 2 * widget.viewport().width()
