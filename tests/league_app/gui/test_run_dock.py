"""The panel at the right, the log and the switch: live while something runs, and holding what came of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester, QTest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from agents.training.events import Level, Log
from engine.league.records import State
from engine.telemetry import Event, Machine, RunView, WorkerStatus
from league_app.gui import theme
from league_app.gui.context import Desk
from league_app.gui.docks.log import KEPT, Gatherer, LogDock
from league_app.gui.docks.run import RunDock
from league_app.core.run_monitor import Look, Pulse, TrainingView
from league_app.gui.widgets import meters
from league_app.gui.widgets.meters import Cores, TimeLine
from league_app.gui.widgets.switch import Switch
from tests.gui.conftest import BOTS, QUICK

LONG = {"game": QUICK, "agents": BOTS, "options": {"rounds": 400}, "seed": 9}
SHORT = {"game": QUICK, "agents": BOTS[:4], "options": {"rounds": 1}, "seed": 9}
Shown = Callable[[], RunDock]


@pytest.fixture
def shown(desk: Desk, qtbot: QtBot) -> Shown:
    def made() -> RunDock:
        dock = RunDock(desk)
        qtbot.addWidget(dock)
        dock.resize(300, 700)
        dock.show()
        return dock

    return made


def stop(desk: Desk, qtbot: QtBot) -> None:
    if desk.league.job is not None:
        desk.league.job.stop()
    qtbot.waitUntil(lambda: not desk.league.running, timeout=30_000)


def test_with_nothing_running_it_shows_the_machine_alone(shown: Shown, qtbot: QtBot) -> None:
    dock = shown()
    qtbot.waitUntil(lambda: len(dock.cpu.past) > 0)
    assert dock.run.name.text() == "Nothing is played"
    assert dock.run.begin.isVisible()
    assert not dock.run.flip.isVisible()
    assert not dock.queue.isVisible()
    assert dock.memory.past[0][0] >= dock.memory.past[0][1] > 0
    with qtbot.waitSignal(dock.asked_for_new):
        dock.run.begin.click()


def test_nothing_is_looked_at_while_it_is_hidden(shown: Shown, desk: Desk, qtbot: QtBot) -> None:
    dock = shown()
    qtbot.waitUntil(lambda: len(dock.cpu.past) > 0)
    dock.hide()
    assert not dock._timer.isActive()
    dock.show()
    assert dock._timer.isActive()


def test_a_run_is_shown_paused_resumed_and_stopped_from_the_panel(shown: Shown, desk: Desk, qtbot: QtBot) -> None:
    dock = shown()
    job = desk.league.start_tournament(**LONG)  # type: ignore[arg-type]
    qtbot.waitUntil(lambda: dock.run.bar.value() > 0, timeout=30_000)
    assert dock.run.name.text() == job.name
    assert dock.run.count.text().endswith(" of 12,000")
    assert dock.run.rate.text().endswith((" a second", " a minute"))
    assert dock.run.left.text().endswith(" left")
    qtbot.waitUntil(lambda: [one.worker.slot for one in dock.workers.model.rows] == [0, 1], timeout=20_000)
    assert all(one.worker.pid for one in dock.workers.model.rows)
    dock.run.flip.click()
    qtbot.waitUntil(lambda: dock.run.text.text() == "Paused", timeout=20_000)
    assert dock.run.flip.text() == "Go on"
    assert dock.run.rate.text() == ""
    dock.run.flip.click()
    qtbot.waitUntil(lambda: dock.run.text.text() == "Playing", timeout=20_000)
    dock.run.halt.click()
    qtbot.waitUntil(lambda: dock.summary is not None, timeout=20_000)
    assert dock.summary is not None
    assert dock.summary.state is State.STOPPED
    assert "stopped after" in dock.done.figures.text()
    qtbot.waitUntil(lambda: bool(dock.waiting.lines) and dock.waiting.lines[0].button.isEnabled())
    dock.waiting.lines[0].button.click()
    qtbot.waitUntil(lambda: desk.league.job is not None and desk.league.job.number == job.number, timeout=20_000)
    qtbot.waitUntil(lambda: not dock.done.isVisible(), timeout=20_000)
    dock.finish()
    qtbot.waitUntil(lambda: not desk.league.running, timeout=30_000)


def test_the_number_of_workers_changes_while_it_runs(shown: Shown, desk: Desk, qtbot: QtBot) -> None:
    dock = shown()
    desk.league.start_tournament(**LONG)  # type: ignore[arg-type]
    qtbot.waitUntil(lambda: len(dock.workers.model.rows) == 2, timeout=30_000)
    dock.run.cores.setValue(1)
    qtbot.waitUntil(lambda: desk.league.budget.cores == 1)
    qtbot.waitUntil(lambda: len(dock.workers.model.rows) == 1, timeout=30_000)
    assert desk.settings.get("workers") == 1
    stop(desk, qtbot)


def test_after_a_short_run_its_figures_stay(shown: Shown, desk: Desk, qtbot: QtBot) -> None:
    dock, said, wanted = shown(), list[str](), list[tuple[str, object]]()
    desk.said.connect(lambda text, tone, offer: said.append(text))
    desk.wanted.connect(lambda page, what: wanted.append((page, what)))
    desk.league.start_tournament(**SHORT)  # type: ignore[arg-type]
    qtbot.waitUntil(lambda: dock.summary is not None, timeout=30_000)
    assert dock.summary is not None
    assert (dock.summary.matches, dock.summary.watched) == (12, 0)
    assert dock.done.isVisible()
    assert dock.done.sentence.text() == dock.summary.sentence
    assert dock.done.sentence.text().startswith("12 matches in ")
    assert said == [f"Pong round robin 3: {dock.summary.sentence}"]
    seen = len(dock.cpu.past)
    qtbot.waitUntil(lambda: len(dock.cpu.past) > seen, timeout=10_000)
    assert dock.done.isVisible(), "it must not flash by"
    assert sum(one.worker.done for one in dock.workers.model.rows) == 12
    dock.done.shown.click()
    assert wanted == [("standings", 3)]


def test_an_upset_can_be_played_and_failures_can_be_looked_at(shown: Shown, desk: Desk, qtbot: QtBot) -> None:
    from dataclasses import replace

    from league_app.core.queries import highlights
    from league_app.gui.docks.run_cards import UpsetLine

    dock, wanted = shown(), list[tuple[str, object]]()
    desk.wanted.connect(lambda page, what: wanted.append((page, what)))
    one = highlights.summary(desk.league.league, 1)
    assert one.upsets
    dock.done.show_summary(replace(one, failures=2, failing=("Lazy",), overload="too busy"))
    line = dock.done.findChildren(UpsetLine)[0]
    line.play.click()
    assert dock.done.failed.text() == "2 failures"
    dock.done.failed.click()
    assert dock.done.notes.text() == "too busy"
    assert wanted == [("match", one.upsets[0].match), ("history", {"failed": True, "tournament": 1})]


def test_what_was_not_finished_is_offered_once(shown: Shown, desk: Desk, qtbot: QtBot) -> None:
    desk.league.start_tournament(**LONG)  # type: ignore[arg-type]
    qtbot.waitUntil(lambda: desk.league.league.tournament(3).played > 0, timeout=30_000)
    stop(desk, qtbot)
    dock, said = shown(), list[tuple[str, object]]()
    desk.said.connect(lambda text, tone, offer: said.append((text, offer)))
    dock.offer_resume()

    def offers() -> list[tuple[str, object]]:
        return [one for one in said if one[0].startswith("Pong round robin 3 was not finished: ")]

    qtbot.waitUntil(lambda: bool(offers()))
    [(_, offer)] = offers()
    assert isinstance(offer, tuple)
    assert offer[0] == "Resume"
    offer[1]()
    qtbot.waitUntil(lambda: desk.league.running, timeout=20_000)
    stop(desk, qtbot)
    assert len(offers()) == 1


def test_pressing_pause_does_not_wait_for_the_run(shown: Shown, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot) -> None:
    """A worker that does not answer holds up whoever asks: that must not be the window."""
    gate, paused, asked = threading.Event(), threading.Event(), list[threading.Thread]()

    class Stuck:
        def progress(self) -> object:
            asked.append(threading.current_thread())
            gate.wait(10)
            return SimpleNamespace(text="playing")

        def pause(self) -> None:
            paused.set()

    dock = shown()
    monkeypatch.setattr(dock, "_running", Stuck)
    dock.pause_resume()
    assert not paused.is_set()
    gate.set()
    qtbot.waitUntil(paused.is_set)
    assert threading.main_thread() not in asked


def test_training_sessions_have_lines_that_stay_under_the_finger(shown: Shown, qtbot: QtBot) -> None:
    from agents.training.events import Progress

    dock = shown()
    card = dock.training
    card.show_training([TrainingView(4, "<b>Runner</b>", False, Progress(3, 10, "generation 3", 7.0), "")])
    line = card.lines[4]
    assert (line.name.text(), line.bar.value(), line.text.text()) == ("<b>Runner</b>", 3, "generation 3, 7.0 s left")
    card.show_training([TrainingView(4, "<b>Runner</b>", True, Progress(4, 10, "generation 4", 6.0), "")])
    assert card.lines[4] is line
    assert line.text.text() == "Paused: generation 4"
    with qtbot.waitSignal(card.stop) as stopped:
        line.halt.click()
    assert stopped.args == [4]
    card.show_training([])
    assert card.isHidden()


def look_of(workers: int = 2, cores: int = 2) -> Look:
    machine = Machine((50.0,) * cores, 4 << 30, 8 << 30)
    rows = tuple(WorkerStatus(n, 100 + n, "playing", "A - B", 7, n, 40.0, 80 << 20) for n in range(workers))
    queue = RunView(100, 20, failures=2, playing=6, waiting=8, suspects=1, quarantined=("x",))
    return Look(0.0, machine, 50.0, 20.0, 300 << 20, rows, queue, ("<i>Bad</i>",), None, (), "")


def test_the_queue_names_who_is_quarantined(shown: Shown) -> None:
    dock = shown()
    dock._take(look_of())
    figures = [dock.queue.figure(name) for name in ("Playing", "Waiting", "Suspects", "Failures")]
    assert figures == ["6", "8", "1", "2"]
    assert dock.queue.quarantined.text() == "Quarantined: <i>Bad</i>"
    assert dock.queue.quarantined.textFormat() is Qt.TextFormat.PlainText


@pytest.mark.parametrize("theme_name", ["light", "dark"])
def test_it_never_gets_wider_than_it_is(shown: Shown, desk: Desk, theme_name: str) -> None:
    state, name = desk.league, "<b>W</b>" * 15
    state.league.change_agent("Tracker", name=name)
    theme.apply(theme_name)
    dock = shown()
    from league_app.core.queries import highlights

    dock.done.show_summary(highlights.summary(state.league, 1))
    dock._take(look_of(workers=12, cores=64))
    dock.grab()
    inner = dock.run.parentWidget()
    assert inner is not None
    assert inner.width() <= dock.widget().width()
    assert all(one.textFormat() is not Qt.TextFormat.RichText for one in dock.findChildren(QLabel))
    theme.apply("light")


def test_the_workers_are_a_sound_model(shown: Shown) -> None:
    dock = shown()
    QAbstractItemModelTester(dock.workers.model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    for count in (1, 3, 0, 2):
        dock.workers.show_workers(look_of(count).workers)
    assert dock.workers.model.data(dock.workers.model.index(1, 0)) == (
        "worker 2, playing, 40 %, pid 101, 80 MB, 7 matches, 1 restart"
    )


def test_the_pulse_knows_what_is_ours(desk: Desk) -> None:
    pulse = Pulse()
    one = pulse.look(desk.league)
    assert one.run is None
    assert one.toggle == desk.league.toggle_text
    assert 0 < one.our_memory < one.machine.memory_total
    assert len(one.machine.cpu) >= 1
    assert pulse.look(None).workers == ()


def test_lines_of_time_keep_the_last_minutes_only(qtbot: QtBot) -> None:
    line, cores = TimeLine("CPU", lambda share: f"{share:.0f} %"), Cores()
    for widget in (line, cores):
        qtbot.addWidget(widget)
        widget.resize(260, 80)
    for number in range(meters.KEPT + 10):
        line.add(number, 1.0)
        cores.add([float(number % 100)] * 7)
    assert len(line.past) == meters.KEPT
    assert line.past[0][0] == 10
    assert line.accessibleDescription() == f"system {meters.KEPT + 9} %, ours 1 %"
    assert cores.heightForWidth(260) > cores.heightForWidth(1000)
    assert not line.grab().isNull()
    assert not cores.grab().isNull()


def test_the_switch_is_toggled_by_the_keyboard_and_says_what_it_is(qtbot: QtBot) -> None:
    one = Switch("Visual")
    qtbot.addWidget(one)
    one.show()
    off = one.grab().toImage()
    with qtbot.waitSignal(one.toggled):
        QTest.keyClick(one, Qt.Key.Key_Space)
    assert one.isChecked()
    qtbot.waitUntil(lambda: one._at == 1.0)
    assert one.grab().toImage() != off
    assert one.accessibleName() == "Visual"
    one.setChecked(False)
    qtbot.waitUntil(lambda: one._at == 0.0)


def test_the_log_tells_of_a_run_from_begin_to_end(desk: Desk, qtbot: QtBot) -> None:
    log = LogDock(desk)
    qtbot.addWidget(log)
    assert log.isHidden()
    desk.said.connect(log.add)
    desk.league.start_tournament(**SHORT)  # type: ignore[arg-type]
    qtbot.waitUntil(lambda: not desk.league.running, timeout=30_000)
    qtbot.waitUntil(lambda: any("finished: 12 of 12" in one.text for one in log.lines), timeout=10_000)
    desk.say("Something <b>bold</b>", "warn")
    qtbot.waitUntil(lambda: not log._timer.isActive())
    texts = [one.text for one in log.lines]
    assert texts[0] == "Opened played.league"
    assert "Pong round robin 3 began" in texts
    assert texts[-1] == "Something <b>bold</b>"
    qtbot.waitUntil(lambda: len(log.model.rows) == len(log.lines))
    assert log.model.data(log.model.index(len(texts) - 1, 1)) == "warning"


def test_the_log_is_capped_filtered_and_cleared(desk: Desk, qtbot: QtBot) -> None:
    log = LogDock(desk)
    qtbot.addWidget(log)
    QAbstractItemModelTester(log.model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    for number in range(KEPT + 20):
        log.add(f"line {number}")
    qtbot.waitUntil(lambda: len(log.model.every) == KEPT)
    assert log.lines[0].text == "line 20"
    log.filtered.field.setText("line 77")
    assert "line 77" in [one.text for one in log.model.rows]
    found = sum("77" in str(number) for number in range(20, KEPT + 20))
    assert len(log.model.rows) == found
    log.add("line 77 again", "bad")
    log.add("line 77 again", "bad")
    qtbot.waitUntil(lambda: len(log.model.rows) == found + 1)  # told twice, but one piece of news
    assert log.model.rows[-1].text == "line 77 again"
    log.clearing.click()
    assert log.model.rows == []


def test_deaths_and_restarts_of_workers_are_worth_a_line_but_not_every_result() -> None:
    gatherer = Gatherer()
    events = [
        Event(0.0, 0, "start", ""),
        Event(0.0, 0, "results", "9"),
        Event(0.0, 0, "died", "killed by signal 9"),
        Event(0.0, 0, "start", ""),
        Event(0.0, 1, "suspects", "3"),
        Event(0.0, -2, "died", "gone"),
        Event(0.0, -1, "failed", "no memory"),
    ]
    assert [told for one in events if (told := gatherer._told(one)) is not None] == [
        ("warn", "Worker 1 died: killed by signal 9"),
        ("info", "Worker 1 is started again"),
        ("warn", "Worker 2 left 3 matches that are played again, one by one"),
        ("warn", "The worker of the live match died: gone"),
        ("bad", "The run failed: no memory"),
    ]


def test_what_a_trainer_remarks_is_told_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    class Session:
        name, end, error = "Runner", None, None
        logs = (Log("a remark"), Log("a warning", Level.WARNING))
        remarks = 2

    session = Session()
    monkeypatch.setattr(type(desk.league.training), "jobs", property(lambda trainings: [session]))
    gatherer = Gatherer()
    found = [(tone, text) for _, tone, text in gatherer.gather(desk.league, None)]
    assert sorted(found) == [
        ("info", "Runner: a remark"),
        ("info", "Training Runner began"),
        ("warn", "Runner: a warning"),
    ]
    assert gatherer.gather(desk.league, None) == []
