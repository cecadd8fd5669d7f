"""The timeline widget: arithmetic of spans, drawing of many, zoom, following, mouse and keyboard."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QImage, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from league_app.gui import theme
from league_app.gui.widgets.timeline import spans as spans_module
from league_app.gui.widgets.timeline.picture import AXIS
from league_app.gui.widgets.timeline.spans import (
    Span,
    TimelineSpans,
    describe_range,
    format_duration,
    format_time,
    ticks,
)
from league_app.gui.widgets.timeline.timeline import TimelineWidget
from league_app.gui.widgets.visible_time import VisibleTime

CYCLE = (("learn", 0.71), ("wait", 0.2), ("publish", 0.09))


@pytest.fixture(scope="module", autouse=True)
def themed(qapp: QApplication) -> None:
    theme.load_fonts()
    theme.apply("light")


def cycles(track: str, count: int, first: float = 0.0, seconds: float = 1.0) -> list[Span]:
    """Cycles of learning, waiting and publishing, without gaps."""
    found, start = list[Span](), first
    for _ in range(count):
        for name, share in CYCLE:
            found.append((track, name, start, share * seconds))
            start += share * seconds
    return found


def shown(qtbot: QtBot, spans: list[Span]) -> TimelineWidget:
    timeline = TimelineWidget()
    qtbot.addWidget(timeline)
    timeline.resize(624, 400)  # 600 pixels for bars
    timeline.show()
    timeline.set_spans(TimelineSpans().added(spans))
    return timeline


def hover(timeline: TimelineWidget, x: float, y: float) -> None:
    at = QPointF(x, y)
    none, button = Qt.KeyboardModifier.NoModifier, Qt.MouseButton.NoButton
    timeline.mouseMoveEvent(QMouseEvent(QEvent.Type.MouseMove, at, timeline.mapToGlobal(at), button, button, none))


def turn_wheel(timeline: TimelineWidget, x: float, steps: int, keys: Qt.KeyboardModifier) -> None:
    at, turned = QPointF(x, 100), QPoint(0, 120 * steps)
    phase, button = Qt.ScrollPhase.NoScrollPhase, Qt.MouseButton.NoButton
    timeline.wheelEvent(QWheelEvent(at, timeline.mapToGlobal(at), QPoint(), turned, button, keys, phase, False))


def colours(timeline: TimelineWidget, y: int) -> list[str]:
    image = timeline.viewport().grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    return [image.pixelColor(x, y).name()[1:].upper() for x in range(12, 612)]


# Arithmetic


def test_shares_are_those_of_the_visible_time_and_the_largest_is_first() -> None:
    spans = TimelineSpans().added(cycles("learner 1", 10))
    [track] = spans.tracks
    named = {spans.names[name]: round(share, 6) for name, share in track.shares(0.0, 10.0).items()}
    assert list(named.items()) == list(CYCLE)
    assert {spans.names[name]: share for name, share in track.shares(0.0, 0.5).items()} == {"learn": 1.0}
    late = {spans.names[name]: share for name, share in track.shares(9.5, 99.0).items()}
    assert late["wait"] == pytest.approx(0.4), "time after the last span does not count"


def test_pauses_between_runs_do_not_count() -> None:
    runs = [*cycles("learner 1", 10), *cycles("learner 1", 10, first=100.0)]
    [track] = TimelineSpans().added(runs).tracks
    assert [round(share, 6) for share in track.shares(0.0, 110.0).values()] == [0.71, 0.2, 0.09]
    assert track.shares(20.0, 90.0) == {}
    assert track.pauses.round(6).tolist() == [[10.0, 100.0]]
    learner, actor = TimelineSpans().added([*runs, ("trainer", "evaluate", 10.0, 90.0)]).tracks
    assert not len(learner.pauses), "another track has a span"
    assert round(sum(learner.shares(0.0, 110.0).values()), 6) == round(20 / 110, 6)
    assert len(actor.shares(0.0, 110.0)) == 1


def test_tracks_are_sorted_by_their_numbers_and_names_keep_their_colours() -> None:
    first = TimelineSpans().added([("learner 10", "learn", 1.0, 1.0), ("learner 9", "wait", 0.0, 1.0)])
    second = first.added([("actor", "act", 0.0, 1.0)])
    assert [track.name for track in second.tracks] == ["actor", "learner 9", "learner 10"]
    assert (first.names, second.names) == (("learn", "wait"), ("learn", "wait", "act"))
    assert second.tracks[1] is first.tracks[0], "a track without new spans is not made again"


def test_spans_that_are_added_later_are_sorted_by_start() -> None:
    spans = TimelineSpans().added([("a", "x", 5.0, 1.0)]).added([("a", "x", 1.0, 1.0), ("a", "x", 3.0, 1.0)])
    assert spans.tracks[0].lanes[0].starts.tolist() == [1.0, 3.0, 5.0]


def test_spans_within_others_are_in_lanes_below() -> None:
    inner = [("actor", "act", 1.0 + k, 0.5) for k in range(3)]
    spans = TimelineSpans().added([*inner, ("actor", "collect", 0.5, 4.0), ("actor", "publish", 4.5, 1.0)])
    lanes = spans.tracks[0].lanes
    assert [[spans.names[name] for name in lane.names] for lane in lanes] == [["collect", "publish"], ["act"] * 3]
    assert lanes[1].at(2.2) == 1
    assert lanes[1].at(2.7) is None


def test_the_oldest_spans_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spans_module, "MOST_SPANS", 100)
    spans = TimelineSpans().added([("old", "x", 0.0, 0.1)])
    for part in range(5):
        spans = spans.added([("new", "x", 1.0 + part * 30 + k, 0.5) for k in range(30)])
    assert spans.count == 100
    assert [track.name for track in spans.tracks] == ["new"]
    assert spans.extent == (51.0, 150.5)


def test_several_spans_in_one_place_are_described_by_their_shares() -> None:
    spans = TimelineSpans().added(cycles("learner 1", 10))
    lane = spans.tracks[0].lanes[0]
    found = describe_range(spans.names, lane, 2.0 + 1e-9, 4.0 - 1e-9)
    assert found is not None
    assert found.title == "6 spans"
    assert found.lines[2:] == ((0, "learn", "71 %"), (1, "wait", "20 %"), (2, "publish", "9 %"))
    single = describe_range(spans.names, lane, 2.1, 2.2)
    assert single is not None
    assert single.text == "learn, start 2.000 s, duration 710 ms"
    assert describe_range(spans.names, lane, 20.0, 21.0) is None


def test_times_are_readable_at_every_scale() -> None:
    assert [format_time(value) for value in (0.0, 12.3456, 62.25, 3723.5)] == [
        "0.000 s", "12.346 s", "1:02.250", "1:02:03.500"]  # fmt: skip
    assert [format_duration(value) for value in (2.5e-6, 0.0123, 1.5, 90.0)] == [
        "2.5 \u00b5s",
        "12.3 ms",
        "1.5 s",
        "1:30",
    ]
    assert [text for _, text in ticks(0.0, 130.0, 60.0)] == ["0 s", "1:00", "2:00"]
    assert [text for _, text in ticks(3600.1, 3600.4, 0.1)] == ["3,600.1 s", "3,600.2 s", "3,600.3 s", "3,600.4 s"]


# The visible range


def test_a_view_that_follows_stays_at_the_newest() -> None:
    time = VisibleTime()
    time.set_extent(0.0, 100.0)
    time.set_follow(True)
    time.set_extent(0.0, 110.0)
    assert (time.left, time.right, time.whole) == (0.0, 110.0, True)
    time.zoom(10.0, 5.0)
    assert (time.left, time.right) == pytest.approx((99.0, 110.0)), "the newest stays in its place"
    time.set_extent(0.0, 120.0)
    assert (time.left, time.right, time.follow) == (pytest.approx(109.0), 120.0, True)
    time.move(-1.0)
    assert not time.follow, "the newest is out of sight"
    time.set_extent(0.0, 500.0)
    assert (time.left, time.right) == pytest.approx((98.0, 109.0))


def test_no_zoom_leaves_the_time_that_there_is() -> None:
    time = VisibleTime()
    time.set_extent(10.0, 20.0)
    time.zoom(2.0, 10.0)
    assert (time.left, time.right) == (10.0, 15.0)
    time.move(9.0)
    assert (time.left, time.right) == (15.0, 20.0)
    time.zoom(1e-3)
    assert (time.left, time.right, time.whole) == (10.0, 20.0, True)
    time.zoom(1e12)
    assert time.seconds > 1e-6


# The widget


def test_bars_have_the_colours_of_their_names(qtbot: QtBot) -> None:
    timeline = shown(qtbot, [("actor", "collect", 0.0, 5.0), ("actor", "act", 5.0, 5.0)])
    row = colours(timeline, AXIS + 23)
    assert (row[10], row[-10]) == theme.LIGHT.series[:2]
    try:
        theme.apply("dark")
        row = colours(timeline, AXIS + 23)
        assert (row[10], row[-10]) == theme.DARK.series[:2]
    finally:
        theme.apply("light")


def test_waiting_is_grey(qtbot: QtBot) -> None:
    row = colours(shown(qtbot, [("actor", "collect", 0.0, 5.0), ("actor", "wait", 5.0, 5.0)]), AXIS + 23)
    assert (row[10], row[-10]) == (theme.LIGHT.series[0], theme.LIGHT.muted)


def test_bars_narrower_than_a_pixel_share_the_height_of_their_column(qtbot: QtBot) -> None:
    timeline = shown(qtbot, cycles("learner 1", 33_000, seconds=0.01))
    image = timeline.viewport().grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    [(top, height)] = timeline._rows[0].bars
    column = [image.pixelColor(300, AXIS + int(top) + y).name()[1:].upper() for y in range(int(height))]
    palette = theme.LIGHT.series[0], theme.LIGHT.muted, theme.LIGHT.series[2]
    shares = [column.count(colour) / height for colour in palette]
    assert shares == pytest.approx([0.71, 0.2, 0.09], abs=0.05)


def test_moving_the_mouse_over_many_spans_draws_no_bars_again(qtbot: QtBot) -> None:
    timeline = shown(qtbot, [span for track in range(10) for span in cycles(f"learner {track}", 3_400)])
    assert timeline.spans.count > 100_000
    timeline.viewport().grab()
    drawn = timeline.drawn
    for x in range(100, 400, 50):
        hover(timeline, x, AXIS + 30)
        timeline.viewport().grab()
    assert timeline.drawn == drawn
    timeline.zoom(2.0)
    timeline.viewport().grab()
    assert timeline.drawn == drawn + 1


def test_the_mouse_shows_name_start_and_duration(qtbot: QtBot) -> None:
    timeline = shown(qtbot, [("actor", "collect", 0.0, 5.0), ("actor", "act", 6.0, 4.0)])
    hover(timeline, 12 + 480, AXIS + 30)
    found = timeline.description()
    assert found is not None
    assert found.text == "act, start 6.000 s, duration 4 s"
    assert not timeline.viewport().grab().isNull()
    hover(timeline, 12 + 330, AXIS + 30)
    assert timeline.description() is None, "a gap"
    timeline.set_spans(timeline.spans.added([("actor", "act", 5.0, 1.0)]))
    found = timeline.description()
    assert found is not None
    assert found.lines[0] == (None, "start", "5.000 s"), "new spans appear under a mouse that rests"
    timeline.show_range(0.0, 2.0)
    found = timeline.description()
    assert found is not None
    assert found.title == "collect", "and others if the view moves below it"


def test_wheel_drag_and_double_click_zoom(qtbot: QtBot) -> None:
    timeline = shown(qtbot, cycles("learner 1", 100))
    time = timeline.visible_time
    turn_wheel(timeline, 12 + 150, 4, Qt.KeyboardModifier.NoModifier)
    assert time.seconds == pytest.approx(100 / 1.25**4)
    assert timeline.view.to_time(12 + 150) == pytest.approx(25.0), "the time under the mouse stays there"
    before = time.left
    turn_wheel(timeline, 12 + 150, -2, Qt.KeyboardModifier.ShiftModifier)
    assert time.left > before
    timeline.show_all()
    view, left = timeline.viewport(), Qt.MouseButton.LeftButton
    qtbot.mousePress(view, left, pos=QPoint(12 + 300, 200))
    qtbot.mouseMove(view, QPoint(12 + 360, 200))
    qtbot.mouseRelease(view, left, pos=QPoint(12 + 360, 200))
    assert (time.left, time.right) == pytest.approx((50.0, 60.0))
    assert timeline.horizontalScrollBar().maximum() > 0
    timeline.horizontalScrollBar().setValue(0)
    assert (time.left, time.right) == pytest.approx((0.0, 10.0))
    qtbot.mouseDClick(view, left, pos=QPoint(300, 200))
    assert time.whole


def test_the_keyboard_reaches_every_span(qtbot: QtBot) -> None:
    timeline = shown(qtbot, [*cycles("learner 1", 3), *cycles("learner 2", 3)])
    timeline.setFocus()
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Down):
        qtbot.keyClick(timeline, key)
    assert timeline.accessibleDescription() == "learner 2: wait, start 0.710 s, duration 200 ms"
    timeline.viewport().grab()
    qtbot.keyClick(timeline, Qt.Key.Key_Plus)
    assert not timeline.visible_time.whole
    for _ in range(20):
        qtbot.keyClick(timeline, Qt.Key.Key_Right)
    assert timeline.accessibleDescription() == "learner 2: publish, start 2.910 s, duration 90 ms"
    assert timeline.visible_time.right >= 2.9, "the chosen span is in view"
    qtbot.keyClick(timeline, Qt.Key.Key_Home)
    assert timeline.visible_time.whole
    qtbot.keyClick(timeline, Qt.Key.Key_Escape)
    assert timeline.description() is None


def test_screen_readers_get_the_shares(qtbot: QtBot) -> None:
    timeline = shown(qtbot, cycles("learner 1", 10))
    assert timeline.accessibleDescription() == "learner 1: learn 71 %, wait 20 %, publish 9 %"


def test_an_empty_timeline_says_so(qtbot: QtBot) -> None:
    timeline = shown(qtbot, [])
    assert timeline.empty.isVisible()
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Down, Qt.Key.Key_Plus, Qt.Key.Key_Home):
        qtbot.keyClick(timeline, key)
    turn_wheel(timeline, 100, 3, Qt.KeyboardModifier.NoModifier)
    hover(timeline, 100, 100)
    assert not timeline.viewport().grab().isNull()
    timeline.set_spans(timeline.spans.added(cycles("learner 1", 1)))
    assert not timeline.empty.isVisible()


def test_more_tracks_than_fit_are_scrolled(qtbot: QtBot) -> None:
    timeline = shown(qtbot, [span for track in range(20) for span in cycles(f"learner {track}", 5)])
    bar = timeline.verticalScrollBar()
    assert bar.maximum() > 0
    few = shown(qtbot, [span for track in range(6) for span in cycles(f"learner {track}", 5)])
    assert few.verticalScrollBar().maximum() == 0
    timeline.setFocus()
    qtbot.keyClick(timeline, Qt.Key.Key_Up)
    assert timeline.accessibleDescription().startswith("learner 19: "), "the last track"
    assert bar.value() > 0
    assert not timeline.viewport().grab().isNull()


def test_hostile_names_and_odd_spans_are_drawn(qtbot: QtBot) -> None:
    names = ["<b>bold</b>", "\u202e" + "W" * 118, "\U0001f3d3" * 40, *(f"name {number}" for number in range(20))]
    spans = [(name, other, float(k), 0.0 if k % 2 else 1.0) for name in names[:3] for k, other in enumerate(names)]
    timeline = shown(qtbot, [*spans, ("back", "x", -5.0, 1e-9)])
    assert not timeline.viewport().grab().isNull()
    for x in range(12, 612, 20):
        hover(timeline, x, AXIS + 30)
        assert not timeline.viewport().grab().isNull()


def test_merged_columns_of_the_seventh_name_are_hatched(qtbot: QtBot) -> None:
    spans = [("actor", f"name {k}", 0.0, 0.0) for k in range(6)]
    dense = [("actor", "name 6", k * 0.01, 0.01) for k in range(60_000)]
    timeline = shown(qtbot, [*spans, *dense])
    row = colours(timeline, AXIS + 30)
    assert {theme.LIGHT.series[0], theme.LIGHT.surface} <= set(row)
    assert np.mean([colour == theme.LIGHT.surface for colour in row]) == pytest.approx(1 / 3, abs=0.1)
