"""The charts of training: grouping, comparison of sessions, incremental reading, export."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QRectF, Qt
from pytestqt.qtbot import QtBot

from engine.league.storage.sessions import SessionStore
from league_app.core.queries.sessions import latest_points, load_metric_updates
from league_app.gui.context import AppContext
from league_app.gui.training.chart_specs import MetricCurve, chart_specs
from league_app.gui.training.page import export
from league_app.gui.training.session_list import box_rect
from tests.agents.training.session_helpers import registered_trainers
from tests.league_app.gui.training_helpers import (
    Notifications,
    chart_of,
    page_of,
    recorded,
    until,
    with_trainers,
)


@pytest.fixture(autouse=True)
def trainers() -> Iterator[None]:
    with registered_trainers():
        yield


@pytest.fixture
def context(bare: AppContext, played: Path) -> AppContext:
    return with_trainers(bare, played)


# Charts


def test_charts_are_grouped_and_validation_comes_first(context: AppContext, qtbot: QtBot) -> None:
    recorded(context.league)
    page = page_of(context, qtbot)
    until(qtbot, lambda: page.charts.cards)
    titles = [spec.title for spec in page.charts.cards]
    assert titles == ["All opponents", "Against Random", "Best and mean", "Matches"]
    until(qtbot, lambda: chart_of(page, "Against Random").shown)
    assert [reference.text for reference in chart_of(page, "Against Random")._references] == ["beats Random"]
    whole = chart_of(page, "All opponents")
    assert whole._references[0].text == "even"
    assert whole.lines[0].low is not None
    assert [line.name for line in chart_of(page, "Best and mean").lines] == ["best", "mean"]
    page.toolbar.smoothing.setValue(0)
    until(qtbot, lambda: whole.shown[0].smooth is None)
    page.toolbar.smoothing.setValue(80)
    until(qtbot, lambda: whole.shown[0].smooth is not None)
    page.toolbar.log.setChecked(True)
    until(qtbot, lambda: whole.plot.left.log)
    page.toolbar.axis.setCurrentIndex(1)
    until(qtbot, lambda: whole.plot.bottom.kind == "elapsed")
    assert context.settings.get("training/axis") == "elapsed"


def test_metrics_without_descriptions_are_shown_too() -> None:
    specs = chart_specs(["train/loss", "train/value_loss", "odd/<b>", "trouble/failed"], {})
    assert [(spec.group, spec.title) for spec in specs] == [
        ("odd", "<b>"), ("train", "Loss"), ("train", "Value loss"), ("trouble", "Failed")]  # fmt: skip
    assert not any(spec.percent or spec.reference for spec in specs)


def test_checked_sessions_share_the_charts(context: AppContext, qtbot: QtBot) -> None:
    first, second = recorded(context.league, "one"), recorded(context.league, "two", 60)
    page = page_of(context, qtbot)
    until(qtbot, lambda: page.number == second)
    until(qtbot, lambda: page.charts.cards and chart_of(page, "Matches").shown)
    assert [line.name for line in chart_of(page, "Matches").lines] == [""]
    page.list.setFocus()
    qtbot.keyClick(page.list, Qt.Key.Key_Down)
    assert page.model.checked == [first], "selecting another session unchecks the first"
    page.model.toggle(second)
    until(qtbot, lambda: [line.name for line in chart_of(page, "Matches").lines] == ["one", "two"])
    colours = [line.colour for line in chart_of(page, "Best and mean").lines]
    assert [line.name for line in chart_of(page, "Best and mean").lines][:2] == ["one, best", "one, mean"]
    assert colours == [0, 6, 1, 7], "a colour for each session, dashes for its other metrics"
    assert page.toolbar.comparison.text() == "Comparing 2 sessions"
    qtbot.keyClick(page.list, Qt.Key.Key_Space)
    until(qtbot, lambda: [line.name for line in chart_of(page, "Matches").lines] == [""])


def test_a_click_on_a_check_box_toggles_only_that_box(context: AppContext, qtbot: QtBot) -> None:
    first, second = recorded(context.league, "one"), recorded(context.league, "two", 60)
    page = page_of(context, qtbot)

    def click(number: int, *, on_box: bool = True, ctrl: bool = False) -> None:
        area = page.list.visualRect(page.model.index(page.model.row_of(number)))
        at = box_rect(QRectF(area)).center().toPoint() if on_box else area.center()
        modifier = Qt.KeyboardModifier.ControlModifier if ctrl else Qt.KeyboardModifier.NoModifier
        qtbot.mouseClick(page.list.viewport(), Qt.MouseButton.LeftButton, modifier, at)

    def drawn() -> list[str]:
        return [line.name for line in chart_of(page, "Matches").lines] if page.charts.cards else []

    until(qtbot, lambda: page.number == second and drawn() == [""])
    click(first)
    assert (page.number, page.model.checked) == (second, [second, first])
    until(qtbot, lambda: drawn() == ["two", "one"])
    click(first)
    click(second)
    assert (page.number, page.model.checked) == (second, [])
    until(qtbot, lambda: drawn() == [""] and len(chart_of(page, "Matches").lines[0].x) == 60)
    click(second)
    click(first, on_box=False, ctrl=True)
    assert (page.number, page.model.checked) == (second, [second, first])
    click(first, ctrl=True)
    click(first, on_box=False)
    assert (page.number, page.model.checked) == (first, [first])
    until(qtbot, lambda: len(chart_of(page, "Matches").lines[0].x) == 30)


def test_sessions_are_compared_with_keys(context: AppContext, qtbot: QtBot) -> None:
    first, second = recorded(context.league, "one"), recorded(context.league, "two", 60)
    page = page_of(context, qtbot)
    until(qtbot, lambda: page.number == second)
    page.list.setFocus()
    qtbot.keyClick(page.list, Qt.Key.Key_Down, Qt.KeyboardModifier.ControlModifier)
    assert (page.number, page.model.checked) == (first, [second])
    qtbot.keyClick(page.list, Qt.Key.Key_Space)
    assert page.model.checked == [second, first]


def test_only_new_values_are_read_and_a_rewound_metric_is_read_again(context: AppContext) -> None:
    number, league, sessions = recorded(context.league), context.league.league, SessionStore(context.league.league)
    curves: dict[str, MetricCurve] = {}

    def update() -> dict[str, Any]:
        known = {name: curve.last_point for name, curve in curves.items()}
        updates = load_metric_updates(league, number, known, latest_points(league, [number])[number])
        for name, new in updates.items():
            if new is None:
                curves.pop(name)
            else:
                curves.setdefault(name, MetricCurve()).update(new)
        return updates

    assert all(new.replace for new in update().values())
    assert update() == {}
    sessions.record(number, 31, [("fitness/best", 5.0)])
    assert [(name, new.series.steps.tolist(), new.replace) for name, new in update().items()] == [
        ("fitness/best", [31], False)
    ]
    assert curves["fitness/best"].steps.tolist() == list(range(1, 32))
    sessions.forget_after(number, 10)
    sessions.record(number, 11, [("fitness/best", 7.0)], at=1.0)
    assert update()["fitness/best"].replace
    assert curves["fitness/best"].steps.tolist() == list(range(1, 12))
    assert curves["fitness/best"].values[-1] == 7.0
    sessions.forget_after(number, 0)
    assert set(update().values()) == {None}
    assert curves == {}


def test_a_chart_is_drawn_when_it_is_scrolled_into_view(context: AppContext, qtbot: QtBot) -> None:
    """Qt's first layout decides whether it was drawn before, so that is not checked."""
    recorded(context.league)
    page = page_of(context, qtbot)
    page.resize(560, 500)
    until(qtbot, lambda: page.charts.cards and chart_of(page, "All opponents").shown)
    bar = page.charts.verticalScrollBar()
    bar.setValue(bar.maximum())
    until(qtbot, lambda: chart_of(page, "Matches").shown)


def test_groups_fold_and_stay_folded(context: AppContext, qtbot: QtBot) -> None:
    recorded(context.league)
    page = page_of(context, qtbot)
    until(qtbot, lambda: page.charts.cards)
    page.charts._groups["validation"].heading.click()
    assert not chart_of(page, "All opponents").isVisible()
    assert context.settings.get("training/folded") == ["validation"]
    again = page_of(context, qtbot)
    until(qtbot, lambda: again.charts.cards and chart_of(again, "Matches").isVisible())
    assert not chart_of(again, "All opponents").isVisible()


def test_metrics_are_exported_as_csv_and_for_tensorboard(context: AppContext, qtbot: QtBot, tmp_path: Path) -> None:
    number = recorded(context.league)
    page, notes = page_of(context, qtbot), Notifications(context)
    until(qtbot, lambda: page.number == number)
    page._save_csv(str(tmp_path / "all.csv"))
    until(qtbot, lambda: "Saved all.csv" in notes.text)
    assert len((tmp_path / "all.csv").read_text().splitlines()) == 1 + 7 * 30
    page._save_events(str(tmp_path / "board"))
    until(qtbot, lambda: len(notes.messages) == 2)
    assert [path.name.startswith("events.out.tfevents") for path in (tmp_path / "board").iterdir()] == [True]
    assert export(context.league, number, str(tmp_path / "more.csv"), False) == str(tmp_path / "more.csv")
