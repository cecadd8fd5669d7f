"""Charts: drawing, crosshair, zoom, export and hostile input."""

from __future__ import annotations

import csv
import io
import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QImage, QWheelEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from engine.errors import BadValue
from league_app.gui import theme
from league_app.gui.widgets.chart.chart import Chart, ChartLine, Reference
from league_app.gui.widgets.chart.series import (
    LABEL_HEIGHT,
    format_elapsed,
    format_number,
    isolated_points,
    nice_step,
    prepare_line,
    smoothed,
    spread_labels,
    time_step,
)

STEPS = np.arange(1.0, 51.0)


@pytest.fixture(scope="module", autouse=True)
def themed(qapp: QApplication) -> None:
    theme.load_fonts()
    theme.apply("light")


def shown(qtbot: QtBot, *lines: ChartLine, references: tuple[Reference, ...] = (), **more: Any) -> Chart:
    chart = Chart("Fitness", **more)
    qtbot.addWidget(chart)
    chart.resize(480, 280)
    chart.show()
    chart.set_lines(lines, references)
    return chart


def pixels(chart: Chart) -> QImage:
    return chart.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)


def has_colour(image: QImage, wanted: str, near: int = 30) -> bool:
    data = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), -1, 4)[:, : image.width(), 2::-1]
    colour = np.array([int(wanted[at : at + 2], 16) for at in (0, 2, 4)])
    return bool((np.abs(data.astype(int) - colour).max(axis=2) <= near).any())


# Drawing


def test_an_empty_chart_shows_a_sentence_and_no_axes(qtbot: QtBot) -> None:
    chart = shown(qtbot, empty="No matches yet")
    assert chart.plot is None
    assert chart.empty.isVisible()
    assert chart.empty.sentence.text() == "No matches yet"
    chart.set_lines([ChartLine("a", [1, 2], [np.nan, np.inf]), ChartLine("b", [], [])])
    assert chart.plot is None
    chart.set_lines([ChartLine("a", [1, 2], [3, 4])])
    assert chart.plot is not None
    assert not chart.empty.isVisible()
    chart.set_lines([])
    assert chart.plot is None
    assert chart.empty.isVisible()


def test_lines_have_series_colours_or_their_own(qtbot: QtBot) -> None:
    chart = shown(qtbot, ChartLine("a", STEPS, STEPS, colour=1), ChartLine("b", STEPS, -STEPS, colour="00AA00"))
    image = pixels(chart)
    assert has_colour(image, theme.LIGHT.series[1])
    assert has_colour(image, "00AA00")
    assert not has_colour(image, theme.LIGHT.series[3])


def test_a_single_point_is_visible(qtbot: QtBot) -> None:
    chart = shown(qtbot, ChartLine("", [7], [3.2], colour=3))
    assert has_colour(pixels(chart), theme.LIGHT.series[3])
    gaps = np.array([1.0, np.nan, 2.0, 3.0, np.nan])
    assert isolated_points(gaps).tolist() == [True, False, False, False, False]


def test_nan_and_infinities_are_gaps(qtbot: QtBot) -> None:
    y = STEPS.copy()
    y[[3, 7, 11]] = np.nan, np.inf, -np.inf
    chart = shown(qtbot, ChartLine("a", STEPS, y))
    assert chart.plot is not None
    (_, _), (low, high) = chart.plot.box.viewRange()
    assert -10 < low < 1
    assert 50 < high < 60
    assert np.isnan(chart.shown[0].y[[3, 7, 11]]).all()
    pixels(chart)


def test_points_are_sorted_by_x(qtbot: QtBot) -> None:
    chart = shown(qtbot, ChartLine("a", [3, 1, np.nan, 2], [30, 10, 99, 20], low=[29, 9, 0, 19], high=[31, 11, 0, 21]))
    line = chart.shown[0]
    assert line.x.tolist() == [1, 2, 3]
    assert line.y.tolist() == [10, 20, 30]
    assert line.low is not None
    assert line.low.tolist() == [9, 19, 29]


def test_smoothing_shows_both_lines(qtbot: QtBot) -> None:
    rng = np.random.default_rng(1)
    chart = shown(qtbot, ChartLine("a", STEPS, rng.normal(0, 1, 50), smooth=True))
    assert chart.shown[0].smooth is None
    chart.set_smoothing(0.9)
    smooth = chart.shown[0].smooth
    assert smooth is not None
    assert smooth.std() < chart.shown[0].y.std() / 2
    assert chart.plot is not None
    items = chart.plot._items[0]
    assert items.raw.opts["pen"].widthF() == 1
    assert items.raw.opts["pen"].color().alphaF() == pytest.approx(0.3, abs=0.01)
    assert items.smooth.opts["pen"].widthF() == 2
    assert items.smooth.curve.opts["segmentedLineMode"] == "on"
    assert items.smooth.opts["clipToView"]
    assert items.smooth.opts["downsampleMethod"] == "peak"


def test_smoothing_keeps_a_constant_across_gaps() -> None:
    y = np.full(40, 7.0)
    y[5:9] = np.nan
    smooth = smoothed(y, 0.95)
    assert np.allclose(smooth[np.isfinite(smooth)], 7.0)
    assert np.isnan(smooth[5:9]).all()


def test_an_interval_is_a_band(qtbot: QtBot) -> None:
    plain = pixels(shown(qtbot, ChartLine("", STEPS, np.full(50, 0.5)), percent=True))
    banded = pixels(
        shown(qtbot, ChartLine("", STEPS, np.full(50, 0.5), np.full(50, 0.1), np.full(50, 0.9)), percent=True)
    )
    middle = QPoint(banded.width() // 2, int(banded.height() * 0.3))
    assert plain.pixelColor(middle) != banded.pixelColor(middle)


def test_a_reference_line_is_in_view_with_its_label(qtbot: QtBot) -> None:
    chart = shown(qtbot, ChartLine("a", STEPS, STEPS), references=(Reference(80.0, "beats <b>Random</b>"),))
    without = shown(qtbot, ChartLine("a", STEPS, STEPS))
    assert chart.plot is not None
    assert without.plot is not None
    assert chart.plot.box.viewRange()[1][1] > 80 > without.plot.box.viewRange()[1][1]
    assert has_colour(pixels(chart), theme.LIGHT.muted)


def test_a_logarithmic_axis_skips_values_not_above_zero(qtbot: QtBot) -> None:
    chart = shown(qtbot, ChartLine("a", [1, 2, 3, 4], [0.0, -5.0, 10.0, 1000.0]))
    chart.set_log(True)
    assert np.isnan(chart.shown[0].y[:2]).all()
    assert chart.shown[0].y[2:].tolist() == [1, 3]
    assert chart.plot is not None
    assert chart.plot.left.log
    chart.set_lines([ChartLine("a", [1, 2], [-1.0, -2.0])])
    assert chart.shown[0].y.tolist() == [-1, -2], "no value has a logarithm"
    assert not chart.plot.left.log


def test_names_at_line_ends_do_not_overlap(qtbot: QtBot) -> None:
    line = prepare_line(ChartLine("a", [1], [1]), 0, False)
    for ends in ([50.0] * 5, [0.0, 1.0, 99.0, 100.0, 100.0], [100.0] * 30):
        places = [y for y, _ in spread_labels([(y, line) for y in ends], 0.0, 100.0)]
        assert all(b - a >= LABEL_HEIGHT - 1e-9 for a, b in itertools.pairwise(places))
        assert len(places) == min(len(ends), 8)
        assert places[0] > -LABEL_HEIGHT
        assert places[-1] <= 100


def test_a_hostile_name_leaves_room_for_the_lines(qtbot: QtBot) -> None:
    chart = shown(qtbot, ChartLine("<b>\u202e" + "W" * 118, STEPS, STEPS), ChartLine("\U0001f3d3" * 40, STEPS, -STEPS))
    pixels(chart)
    assert chart.plot is not None
    assert chart.plot.box.sceneBoundingRect().width() > 250


def test_the_theme_can_change_while_a_chart_is_shown(qtbot: QtBot) -> None:
    chart = shown(qtbot, ChartLine("a", STEPS, STEPS, colour=1))
    assert has_colour(pixels(chart), theme.LIGHT.surface, 2)
    try:
        theme.apply("dark")
        image = pixels(chart)
        assert has_colour(image, theme.DARK.series[1])
        assert has_colour(image, theme.DARK.surface, 2)
        assert not has_colour(image, theme.LIGHT.series[1])
    finally:
        theme.apply("light")


def test_ten_thousand_points_are_downsampled(qtbot: QtBot) -> None:
    x = np.arange(10_000.0)
    chart = shown(qtbot, ChartLine("a", x, np.sin(x), np.sin(x) - 1, np.sin(x) + 1, smooth=True))
    pixels(chart)
    assert chart.plot is not None
    items = chart.plot._items[0]
    assert len(items.raw.curve.xData) < 3_000
    assert items.band.path().elementCount() < 700
    chart.set_lines([ChartLine("a", x[:3], x[:3])])
    assert len(items.raw.curve.xData) == 3


# Crosshair and zoom


def test_the_crosshair_shows_all_values_at_the_nearest_step(qtbot: QtBot) -> None:
    chart = shown(qtbot, ChartLine("a", [1, 2, 3], [10, 20, 30]), ChartLine("b", [1, 3], [5, 7], [4, 6], [6, 8]))
    plot = chart.plot
    assert plot is not None
    at = plot.mapFromScene(plot.box.mapViewToScene(QPointF(2.1, 20.0)))
    qtbot.mouseMove(plot.viewport(), at)
    qtbot.waitUntil(lambda: plot.cursor_at == 2.0)
    where, found = plot.values_at_cursor()
    assert where == "step 2"
    assert [(line.line.name, float(line.value[index])) for line, index in found] == [("a", 20.0), ("b", 5.0)]
    assert plot._value_text(*found[1]) == "5 (4 to 6)"
    before = pixels(chart)
    plot.set_cursor(None)
    assert before != pixels(chart)


def test_arrow_keys_move_the_crosshair(qtbot: QtBot) -> None:
    chart = shown(qtbot, ChartLine("a", [1, 2, 3], [10, 20, 30]))
    plot = chart.plot
    assert plot is not None
    qtbot.keyClick(chart, Qt.Key.Key_Right)
    assert plot.cursor_at == 3
    qtbot.keyClick(chart, Qt.Key.Key_Left)
    assert plot.cursor_at == 2
    qtbot.keyClick(chart, Qt.Key.Key_Escape)
    assert plot.cursor_at is None
    assert chart.accessibleName() == "Fitness"
    assert chart.accessibleDescription() == "a: 30 at step 3"


def test_zoom_survives_new_values_and_a_double_click_resets_it(qtbot: QtBot) -> None:
    chart = shown(qtbot, ChartLine("a", STEPS, STEPS))
    plot = chart.plot
    assert plot is not None
    qtbot.keyClick(chart, Qt.Key.Key_Plus)
    seen = plot.box.viewRange()[0]
    assert seen[1] < 50
    chart.set_lines([ChartLine("a", np.arange(100.0), np.arange(100.0))])
    assert plot.box.viewRange()[0] == seen
    qtbot.mouseDClick(plot.viewport(), Qt.MouseButton.LeftButton)
    assert plot.box.viewRange()[0] == [0, 99]
    chart.set_lines([ChartLine("a", np.arange(200.0), np.arange(200.0))])
    assert plot.box.viewRange()[0] == [0, 199]


def test_the_wheel_scrolls_the_page_unless_control_is_held(qtbot: QtBot) -> None:
    chart = shown(qtbot, ChartLine("a", STEPS, STEPS))
    assert chart.plot is not None
    before = chart.plot.box.viewRange()
    assert not wheel(chart.plot, Qt.KeyboardModifier.NoModifier)
    assert chart.plot.box.viewRange() == before
    assert wheel(chart.plot, Qt.KeyboardModifier.ControlModifier)
    assert chart.plot.box.viewRange() != before
    assert chart.plot.zoomed


def wheel(plot: Any, keys: Qt.KeyboardModifier) -> bool:
    """Returns whether the plot accepted the event; otherwise it goes to the parent."""
    target = plot.viewport()
    at = plot.mapFromScene(plot.box.sceneBoundingRect().center())
    event = QWheelEvent(
        QPointF(at), QPointF(target.mapToGlobal(at)), QPoint(), QPoint(0, -120), Qt.MouseButton.NoButton, keys,
        Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(target, event)
    return event.isAccepted()


# Export


def test_the_saved_image_has_twice_the_size(qtbot: QtBot, tmp_path: Path) -> None:
    chart = shown(qtbot, ChartLine("a", STEPS, STEPS, colour=1))
    saved = QImage(str(chart.save(tmp_path / "chart.png")))
    assert saved.width() == 2 * chart.width()
    assert saved.height() > 2 * chart.height(), "with a title above"
    assert has_colour(saved.convertToFormat(QImage.Format.Format_RGB32), theme.LIGHT.series[1])


def test_hostile_names_cannot_break_the_csv_file(qtbot: QtBot, tmp_path: Path) -> None:
    chart = shown(qtbot, ChartLine('=cmd,"x"\n', [1, 2], [0.5, np.inf]), ChartLine("b", [1], [3.0], [2.0], [4.0]))
    rows = list(csv.DictReader(io.StringIO(chart.save(tmp_path / "chart.csv").read_text())))
    assert [row["value"] for row in rows] == ["0.5", "inf", "3.0"]
    assert rows[0]["line"][0] == "'"
    assert (rows[2]["step"], rows[2]["low"], rows[2]["high"]) == ("1.0", "2.0", "4.0")
    chart.copy()
    assert QGuiApplication.clipboard().text().splitlines()[-1] == "b\t1.0\t3.0\t2.0\t4.0"


def test_a_path_that_cannot_be_written_is_reported(qtbot: QtBot, tmp_path: Path) -> None:
    chart = shown(qtbot, ChartLine("a", STEPS, STEPS))
    for name in ("x.png", "x.csv"):
        with pytest.raises(BadValue):
            chart.save(tmp_path / "no such folder" / name)
    with qtbot.waitSignal(chart.failed):
        chart._save_to(str(tmp_path / "no such folder" / "x.csv"))
    with qtbot.waitSignal(chart.saved):
        chart._save_to(str(tmp_path / "x.csv"))


# Number formats


def test_numbers_have_about_four_digits() -> None:
    assert [format_number(value) for value in (0.0, 5.0, 1234567.0, 0.123456, 12.3456, -3.5)] == [
        "0", "5", "1,234,567", "0.1235", "12.35", "\u22123.500"]  # fmt: skip
    assert format_number(float("nan")) == "\u2013"
    assert [format_elapsed(value) for value in (0, 45, 90, 3600, 90_061)] == [
        "0 s",
        "45 s",
        "1:30",
        "1:00:00",
        "25:01:01",
    ]
    assert [nice_step(step, 5) for step in (1, 10, 47, 0.003)] == [0.2, 2, 10, 0.001]
    assert [time_step(step, 5) for step in (20, 300, 7200, 864_000)] == [5, 60, 1800, 172_800]


@pytest.mark.parametrize(("axis", "high"), [("step", 3.0), ("elapsed", 7000.0), ("date", 1.7e9), ("number", 0.001)])
def test_every_axis_has_a_few_distinct_ticks(axis: Any, high: float, qtbot: QtBot) -> None:
    low = high - 86_400 * 5 if axis == "date" else 0.0
    chart = shown(qtbot, ChartLine("a", np.linspace(low, high, 4), [1, 2, 3, 4]), axis=axis)
    pixels(chart)
    assert chart.plot is not None
    [(spacing, values)] = chart.plot.bottom.tickValues(low, high, 400)
    texts = chart.plot.bottom.tickStrings(values, 1.0, spacing)
    assert 2 <= len(texts) <= 12
    assert len(set(texts)) == len(texts)


def test_pyqtgraph_is_imported_only_to_draw() -> None:
    result = subprocess.run(
        [sys.executable, "-c", "import sys, league_app.gui.widgets.chart.chart; print('pyqtgraph' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.strip() == "False"
