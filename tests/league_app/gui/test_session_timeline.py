"""The Timeline tab of the Training page: when it is shown, what it reads, and the exported trace."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from engine.league.storage.sessions import SessionStore
from engine.league.storage.spans import SavedSpan
from league_app.cli.main import main
from league_app.core.changes import Change, ChangeKind
from league_app.core.queries import timelines
from league_app.core.state import LeagueState
from league_app.gui.context import AppContext
from league_app.gui.training.page import TrainingPage
from tests.league_app.gui.test_accessibility import ambiguous, nameless
from tests.league_app.gui.training_helpers import Notifications, page_of, recorded, until
from tests.query_counts import counted_queries

TAB = 2


def add_spans(state: LeagueState, number: int, count: int = 3, first: float = 1.0) -> list[SavedSpan]:
    """Spans of two tracks, one second each, from `first` seconds after the session began."""
    sessions = SessionStore(state.league)
    began = sessions.session(number).created + first
    spans = [SavedSpan(track, name, began + k, 0.5) for k in range(count)
             for track, name in (("actor", "collect"), ("learner 1", "learn"))]  # fmt: skip
    sessions.record_spans(number, spans)
    return spans


def opened(context: AppContext, qtbot: QtBot) -> TrainingPage:
    """The Training page, with the Timeline tab in front."""
    page = page_of(context, qtbot)
    until(qtbot, lambda: page.tabs.isTabVisible(TAB))
    page.tabs.setCurrentIndex(TAB)
    until(qtbot, lambda: page.timeline.timeline.spans.tracks and not context.read_queue.waiting)
    return page


def refresh(context: AppContext, number: int) -> None:
    context.league.notices.add(Change(ChangeKind.TRAINING, number))


def test_the_tab_is_there_only_if_the_session_has_spans(context: AppContext, qtbot: QtBot) -> None:
    without, number = recorded(context.league, "without"), recorded(context.league, "with")
    add_spans(context.league, number)
    page = opened(context, qtbot)
    assert page.tabs.tabText(TAB) == "Timeline"
    assert [track.name for track in page.timeline.timeline.spans.tracks] == ["actor", "learner 1"]
    assert page.timeline.count.text() == "6 spans"
    page.list.select(without)
    until(qtbot, lambda: not page.tabs.isTabVisible(TAB))
    assert page.tabs.currentIndex() == page.stack.currentIndex() == 0
    assert not page.timeline.timeline.spans.tracks
    page.list.select(number)
    until(qtbot, lambda: page.tabs.isTabVisible(TAB))


def test_times_begin_with_the_session(context: AppContext, qtbot: QtBot) -> None:
    number = recorded(context.league)
    add_spans(context.league, number, first=2.0)
    spans = opened(context, qtbot).timeline.timeline.spans
    assert spans.tracks[0].extent == pytest.approx((2.0, 4.5), abs=1e-5)


def test_only_new_spans_are_read_and_only_while_they_are_shown(context: AppContext, qtbot: QtBot) -> None:
    number = recorded(context.league)
    add_spans(context.league, number)
    page = opened(context, qtbot)
    own = page.timeline
    before = own._known.last
    add_spans(context.league, number, 2, first=10.0)
    with counted_queries(context.league.league) as queries:
        refresh(context, number)
        until(qtbot, lambda: own.timeline.spans.count == 10)
    reading = [query for query in queries if "FROM spans" in query]
    assert len(reading) == 1
    assert f"number > {before}" in reading[0]
    page.tabs.setCurrentIndex(0)
    with counted_queries(context.league.league) as queries:
        refresh(context, number)
        until(qtbot, lambda: queries and not page._refresh_timer.isActive() and not context.read_queue.waiting)
    assert not [query for query in queries if "FROM spans" in query], "it is known that there are spans"
    add_spans(context.league, number, 2, first=20.0)
    page.tabs.setCurrentIndex(TAB)
    until(qtbot, lambda: own.timeline.spans.count == 14)


def test_many_spans_are_read_in_parts(context: AppContext, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timelines, "PART", 10)
    number = recorded(context.league)
    for first in range(8):
        add_spans(context.league, number, 3, first=5.0 * first)
    page = opened(context, qtbot)
    until(qtbot, lambda: page.timeline.timeline.spans.count == 48 and not page.timeline._known.more)


def test_a_view_of_a_running_session_follows_until_the_user_moves_it(context: AppContext, qtbot: QtBot) -> None:
    number = recorded(context.league)
    add_spans(context.league, number, 50)
    own = opened(context, qtbot).timeline
    shown = own.timeline.visible_time
    assert not own.follow.isVisible(), "it does not run"
    own.follow.setChecked(True)
    own.timeline.zoom(10.0)
    add_spans(context.league, number, 1, first=100.0)
    refresh(context, number)
    until(qtbot, lambda: own.timeline.spans.count == 102)
    assert shown.right == pytest.approx(100.5, abs=1e-5)
    own.timeline.scroll_by(-1.0)
    assert not own.follow.isChecked()
    own.all_button.click()
    assert shown.whole


def test_the_window_exports_the_trace_of_the_command_line(context: AppContext, qtbot: QtBot, tmp_path: Path) -> None:
    number = recorded(context.league)
    add_spans(context.league, number)
    page, notes = opened(context, qtbot), Notifications(context)
    page.timeline.save(str(tmp_path / "window.json"))
    until(qtbot, lambda: "Saved window.json" in notes.text)
    league = str(context.league.league.path)
    main(["train", "export", league, str(number), "--to", str(tmp_path / "line.json")])
    assert (tmp_path / "window.json").read_bytes() == (tmp_path / "line.json").read_bytes()
    events = json.loads((tmp_path / "window.json").read_text())["traceEvents"]
    assert len([event for event in events if event["ph"] == "X"]) == 6


def test_a_damaged_timeline_is_reported_in_its_place(context: AppContext, qtbot: QtBot, played: Path) -> None:
    number = recorded(context.league)
    add_spans(context.league, number)
    with closing(sqlite3.connect(played)) as db, db:
        db.execute("UPDATE spans SET count = 7")
    page = page_of(context, qtbot)
    until(qtbot, lambda: page.tabs.isTabVisible(TAB))
    page.tabs.setCurrentIndex(TAB)
    sentence = page.timeline.timeline.empty.sentence
    until(qtbot, lambda: f"the timeline of training session {number} is damaged" in sentence.text())


def test_the_tab_is_accessible(context: AppContext, qtbot: QtBot) -> None:
    number = recorded(context.league)
    add_spans(context.league, number)
    page = opened(context, qtbot)
    assert nameless(page) == ambiguous(page) == []
    assert page.timeline.timeline.accessibleName() == "Timeline of the session"
    assert page.timeline.timeline.accessibleDescription() == "actor: collect 60 %; learner 1: learn 60 %"
