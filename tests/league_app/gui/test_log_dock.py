"""The log panel: what it collects, and how it is limited and filtered."""

from __future__ import annotations

import pytest
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from agents.training.events import Level, Log
from engine.telemetry import Event
from league_app.gui.context import AppContext
from league_app.gui.docks.log import MAX_ENTRIES, LogCollector, LogDock
from tests.league_app.gui.conftest import BOTS, QUICK

SHORT = {"game": QUICK, "agents": BOTS[:4], "options": {"rounds": 1}, "seed": 9}


def test_the_log_covers_a_run_from_start_to_end(context: AppContext, qtbot: QtBot) -> None:
    log = LogDock(context)
    qtbot.addWidget(log)
    assert log.isHidden()
    context.notified.connect(log.add)
    context.league.start_tournament(**SHORT)  # type: ignore[arg-type]
    qtbot.waitUntil(lambda: not context.league.running)
    qtbot.waitUntil(lambda: any("finished: 12 of 12" in entry.text for entry in log.lines))
    context.notify("Something <b>bold</b>", "warn")
    texts = [entry.text for entry in log.lines]
    assert texts[0] == "Opened played.league"
    assert "Pong round robin 3 started" in texts
    assert texts[-1] == "Something <b>bold</b>"
    qtbot.waitUntil(lambda: len(log.model.rows) == len(log.lines))
    assert log.model.data(log.model.index(len(texts) - 1, 1)) == "warning"


def test_the_log_is_capped_filtered_and_cleared(context: AppContext, qtbot: QtBot) -> None:
    log = LogDock(context)
    qtbot.addWidget(log)
    QAbstractItemModelTester(log.model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    for number in range(MAX_ENTRIES + 20):
        log.add(f"line {number}")
    qtbot.waitUntil(lambda: len(log.model.all_rows) == MAX_ENTRIES)
    assert log.lines[0].text == "line 20"
    log.filtered.field.setText("line 77")
    assert "line 77" in [row.text for row in log.model.rows]
    found = sum("77" in str(number) for number in range(20, MAX_ENTRIES + 20))
    assert len(log.model.rows) == found
    log.add("line 77 again", "bad")
    log.add("line 77 again", "bad")
    qtbot.waitUntil(lambda: len(log.model.rows) == found + 1)  # notified twice, but logged once
    assert log.model.rows[-1].text == "line 77 again"
    log.clear_button.click()
    assert log.model.rows == []


def test_worker_deaths_and_restarts_are_logged_but_results_are_not() -> None:
    gatherer = LogCollector()
    events = [
        Event(0.0, 0, "start", ""),
        Event(0.0, 0, "results", "9"),
        Event(0.0, 0, "died", "killed by signal 9"),
        Event(0.0, 0, "start", ""),
        Event(0.0, 1, "suspects", "3"),
        Event(0.0, -2, "died", "gone"),
        Event(0.0, 0, "died", "gone", "node-2"),
        Event(0.0, -1, "failed", "no memory"),
    ]
    assert [entry for event in events if (entry := gatherer._entry(event)) is not None] == [
        ("warn", "Worker 1 died: killed by signal 9"),
        ("info", "Worker 1 was restarted"),
        ("warn", "Worker 2 lost 3 matches, to be played again one by one"),
        ("warn", "The worker of the live match died: gone"),
        ("warn", "Worker 1 on node-2 died: gone"),
        ("bad", "The run failed: no memory"),
    ]


def test_messages_of_a_trainer_are_logged_once(context: AppContext, monkeypatch: pytest.MonkeyPatch) -> None:
    class Session:
        name, end, error = "Runner", None, None
        logs = (Log("a remark"), Log("a warning", Level.WARNING))
        log_count = 2

    session = Session()
    monkeypatch.setattr(type(context.league.training), "jobs", property(lambda trainings: [session]))
    gatherer = LogCollector()
    found = [(tone, text) for _, tone, text in gatherer.collect(context.league, None)]
    assert sorted(found) == [
        ("info", "Runner: a remark"),
        ("info", "Training session Runner started"),
        ("warn", "Runner: a warning"),
    ]
    assert gatherer.collect(context.league, None) == []
