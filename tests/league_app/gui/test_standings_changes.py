"""The standings table while it changes: animated rows, marked ranks and tooltips."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from pytestqt.qtbot import QtBot

from engine.league.standings import Tally
from league_app.gui import theme
from league_app.gui.context import AppContext
from league_app.gui.models.standings import (
    RankChanges,
    StandingsRow,
    forfeits_tip,
    format_points,
    rating_tip,
)
from league_app.gui.pages.standings import StandingsPage
from league_app.gui.widgets.table.row_animation import MAX_ROWS, STILL_VARIABLE, animations_enabled
from tests.league_app.gui.test_standings import shown, texts

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")  # no screen, so no window manager either


def moved(page: StandingsPage) -> None:
    """Moves the last agent to the top."""
    view = page.view
    assert view is not None
    lines = [view.rows[5], *view.rows[:5], *view.rows[6:]]
    ranked = [dataclasses.replace(line, rank=n + 1 if n < 6 else None) for n, line in enumerate(lines)]
    page._show(dataclasses.replace(view, rows=tuple(ranked)))


def test_rows_are_animated_to_their_new_positions(context: AppContext, qtbot: QtBot) -> None:
    page = shown(context, qtbot)
    still = page.table.viewport().grab().toImage()
    moved(page)
    assert page.sliding.running
    assert page.sliding.isVisible()
    beginning = page.table.viewport().grab().toImage()
    qtbot.waitUntil(lambda: not page.sliding.running)
    assert not page.sliding.isVisible()
    end = page.table.viewport().grab().toImage()
    assert end != still
    assert end != beginning


def test_resizing_or_a_new_theme_ends_the_animation(context: AppContext, qtbot: QtBot) -> None:
    page = shown(context, qtbot)
    moved(page)
    page.resize(800, 500)
    assert not page.sliding.running
    moved(page)
    theme.apply("dark")
    assert not page.sliding.running


def test_animations_can_be_turned_off(context: AppContext, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    assert animations_enabled(context.settings)
    monkeypatch.setenv(STILL_VARIABLE, "1")
    assert not animations_enabled(context.settings)
    monkeypatch.delenv(STILL_VARIABLE)
    context.settings.set("motion", False)
    page = shown(context, qtbot)
    moved(page)
    assert not page.sliding.running
    assert texts(page, "#")[:2] == ["1", "2"]


def test_a_long_table_is_not_animated(context: AppContext, qtbot: QtBot) -> None:
    page = shown(context, qtbot)
    view = page.view
    assert view is not None
    many = [dataclasses.replace(view.rows[0], agent=str(n), rank=n + 1) for n in range(MAX_ROWS + 1)]
    page._show(dataclasses.replace(view, rows=tuple(many)))
    page._show(dataclasses.replace(view, rows=tuple(reversed(many))))
    assert not page.sliding.running
    page._show(dataclasses.replace(view, rows=tuple(many[:MAX_ROWS])))
    page._show(dataclasses.replace(view, rows=tuple(reversed(many[:MAX_ROWS]))))
    assert page.sliding.running


def line(agent: str, rank: int | None, **more: Any) -> StandingsRow:
    defaults = {
        "name": agent,
        "kind": "bot",
        "colour": "",
        "rating": 1200.0,
        "error": 40.0,
        "low": 1000.0,
        "high": 1400.0,
    }
    return StandingsRow(rank, agent, **{**defaults, "total": Tally(), "forfeits": (), **more})


def test_a_changed_rank_is_marked_for_a_while() -> None:
    now = [0.0]
    movements = RankChanges(lambda: now[0])
    movements.update([line("a", 1), line("b", 2), line("c", 3)], anew=True)
    movements.update([line("b", 1), line("c", 2), line("a", 3)], anew=False)
    assert [movements.places_gained(name) for name in "abc"] == [-2, 1, 1]
    now[0] = 5
    movements.update([line("c", 1), line("b", 2), line("a", 3)], anew=False)
    assert [movements.places_gained(name) for name in "abc"] == [-2, 0, 2], (
        "counted from the rank before the first mark"
    )
    now[0] = 9
    assert movements.expire()
    assert [movements.places_gained(name) for name in "abc"] == [0, 0, 2]
    movements.update([line("a", 1)], anew=True)
    assert not movements.active


def test_rank_changes_have_tooltips(context: AppContext, qtbot: QtBot) -> None:
    page = shown(context, qtbot)
    moved(page)
    tip = page.model.data(page.model.index(0, 0), Qt.ItemDataRole.ToolTipRole)
    assert "up 5 places" in tip
    assert "down 1 place" in page.model.data(page.model.index(1, 0), Qt.ItemDataRole.ToolTipRole)


def test_ratings_and_forfeits_have_tooltips() -> None:
    broken = (("illegal_action", 3), ("crash", 1))
    row = line("Tracker", 1, rating=1412.4, error=38.2, total=Tally(9), forfeits=broken)
    assert rating_tip(row) == "Tracker: rated 1412, between 1374 and 1451 with 95 % confidence"
    assert forfeits_tip(row) == "illegal action: 3\ncrash: 1"
    assert row.forfeited == 4
    assert (format_points(0.5), format_points(1234567.0), format_points(-3.25)) == ("0.5", "1,234,567", "-3.2")
    skill = line("Trio", 1, rating=27.31, error=3.2, low=10.0, high=40.0)
    assert rating_tip(skill) == "Trio: rated 27.3, between 24.1 and 30.5 with 95 % confidence"


def test_sorting_animates_the_rows(context: AppContext, qtbot: QtBot) -> None:
    page = shown(context, qtbot)
    header = page.table.horizontalHeader()
    at = QPoint(header.sectionViewportPosition(1) + 10, 10)
    qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert texts(page, "Agent") == sorted(texts(page, "Agent"))
    assert page.sliding.running
