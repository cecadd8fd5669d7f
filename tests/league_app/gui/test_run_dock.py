"""The run panel and the visual mode switch, during and after a run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester, QTest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from engine.league.records import RunState
from engine.telemetry import Machine, RunView, WorkerStatus
from league_app.core.run_monitor import MachineLoad, RunMonitor, RunSnapshot, TrainingView, TrainingWorker
from league_app.gui import theme
from league_app.gui.context import AppContext
from league_app.gui.docks.run import RunDock
from league_app.gui.widgets import meters
from league_app.gui.widgets.meters import Cores, TimeLine
from league_app.gui.widgets.switch import Switch
from tests.league_app.gui.conftest import BOTS, LASTING, QUICK

LONG = {"game": QUICK, "agents": BOTS, "options": LASTING, "seed": 9}
SHORT = {"game": QUICK, "agents": BOTS[:4], "options": {"rounds": 1}, "seed": 9}
Shown = Callable[[], RunDock]


@pytest.fixture
def shown(context: AppContext, qtbot: QtBot) -> Shown:
    def create() -> RunDock:
        dock = RunDock(context)
        qtbot.addWidget(dock)
        dock.resize(300, 700)
        dock.show()
        return dock

    return create


def stop(context: AppContext, qtbot: QtBot) -> None:
    if context.league.job is not None:
        context.league.job.stop()
    qtbot.waitUntil(lambda: not context.league.running)


def test_while_idle_only_system_load_is_shown(shown: Shown, qtbot: QtBot) -> None:
    dock = shown()
    qtbot.waitUntil(lambda: len(dock.cpu.samples) > 0)
    assert dock.run_card.name.text() == "Idle"
    assert dock.run_card.new_button.isVisible()
    assert not dock.run_card.pause_button.isVisible()
    assert not dock.queue_card.isVisible()
    assert dock.memory.samples[0][0] >= dock.memory.samples[0][1] > 0
    with qtbot.waitSignal(dock.new_requested):
        dock.run_card.new_button.click()


def test_the_load_is_measured_only_for_a_visible_panel(shown: Shown, context: AppContext, qtbot: QtBot) -> None:
    dock = shown()
    qtbot.waitUntil(lambda: len(dock.cpu.samples) > 0)
    dock.hide()
    qtbot.waitUntil(lambda: context.monitor.latest.load is None)
    measured = len(dock.cpu.samples)
    dock.show()
    qtbot.waitUntil(lambda: len(dock.cpu.samples) > measured)


def test_a_run_is_shown_paused_resumed_and_stopped_from_the_panel(
    shown: Shown, context: AppContext, qtbot: QtBot
) -> None:
    dock = shown()
    job = context.league.start_tournament(**LONG)  # type: ignore[arg-type]
    qtbot.waitUntil(lambda: dock.run_card.bar.value() > 0)
    assert dock.run_card.name.text() == job.name
    assert dock.run_card.count.text().endswith(" of 600,000")
    assert dock.run_card.rate.text().endswith((" a second", " a minute"))
    assert dock.run_card.left.text().endswith(" left")
    qtbot.waitUntil(lambda: [row.worker.id for row in dock.workers_card.model.rows] == [0, 1])
    assert all(row.worker.pid for row in dock.workers_card.model.rows)
    dock.run_card.pause_button.click()
    qtbot.waitUntil(lambda: dock.run_card.text.text() == "Paused")
    assert dock.run_card.pause_button.text() == "Resume"
    assert dock.run_card.rate.text() == ""
    dock.run_card.pause_button.click()
    qtbot.waitUntil(lambda: dock.run_card.text.text() == "Playing")
    dock.run_card.stop_button.click()
    qtbot.waitUntil(lambda: dock.summary is not None)
    assert dock.summary is not None
    assert dock.summary.state is RunState.STOPPED
    assert "stopped after" in dock.summary_card.figures.text()
    qtbot.waitUntil(lambda: bool(dock.unfinished_card.lines) and dock.unfinished_card.lines[0].button.isEnabled())
    dock.unfinished_card.lines[0].button.click()
    qtbot.waitUntil(lambda: context.league.job is not None and context.league.job.number == job.number)
    qtbot.waitUntil(lambda: not dock.summary_card.isVisible())
    dock.finish()
    qtbot.waitUntil(lambda: not context.league.running)


def test_the_number_of_workers_can_change_during_a_run(shown: Shown, context: AppContext, qtbot: QtBot) -> None:
    dock = shown()
    context.league.start_tournament(**LONG)  # type: ignore[arg-type]
    qtbot.waitUntil(lambda: len(dock.workers_card.model.rows) == 2)
    dock.run_card.cores.setValue(1)
    qtbot.waitUntil(lambda: context.league.budget.cores == 1)
    qtbot.waitUntil(lambda: len(dock.workers_card.model.rows) == 1)
    assert context.settings.get("workers") == 1
    stop(context, qtbot)


def test_the_figures_of_a_run_stay_after_its_end(shown: Shown, context: AppContext, qtbot: QtBot) -> None:
    dock, said, wanted = shown(), list[str](), list[tuple[str, object]]()
    context.notified.connect(lambda text, tone, offer: said.append(text))
    context.navigation_requested.connect(lambda page, what: wanted.append((page, what)))
    context.league.start_tournament(**SHORT)  # type: ignore[arg-type]
    qtbot.waitUntil(lambda: dock.summary is not None)
    assert dock.summary is not None
    assert (dock.summary.matches, dock.summary.watched) == (12, 0)
    assert dock.summary_card.isVisible()
    assert dock.summary_card.sentence.text() == dock.summary.sentence
    assert dock.summary_card.sentence.text().startswith("12 matches in ")
    assert said == [f"Pong round robin 3: {dock.summary.sentence}"]
    seen = len(dock.cpu.samples)
    qtbot.waitUntil(lambda: len(dock.cpu.samples) > seen)
    assert dock.summary_card.isVisible(), "it must not flash by"
    assert sum(row.worker.done for row in dock.workers_card.model.rows) == 12
    dock.summary_card.shown.click()
    assert wanted == [("standings", 3)]


def test_upsets_can_be_watched_and_failures_can_be_listed(shown: Shown, context: AppContext, qtbot: QtBot) -> None:
    from dataclasses import replace

    from league_app.core.queries import highlights
    from league_app.gui.docks.run_cards import UpsetLine

    dock, wanted = shown(), list[tuple[str, object]]()
    context.navigation_requested.connect(lambda page, what: wanted.append((page, what)))
    summary = highlights.summary(context.league.league, 1)
    assert summary.upsets
    dock.summary_card.show_summary(replace(summary, failures=2, failing=("Lazy",), overload="too busy"))
    line = dock.summary_card.findChildren(UpsetLine)[0]
    line.play.click()
    assert dock.summary_card.failed.text() == "2 failures"
    dock.summary_card.failed.click()
    assert dock.summary_card.notes.text() == "too busy"
    assert wanted == [("match", summary.upsets[0].match), ("history", {"failed": True, "tournament": 1})]


def test_unfinished_tournaments_are_offered_once(shown: Shown, context: AppContext, qtbot: QtBot) -> None:
    context.league.start_tournament(**LONG)  # type: ignore[arg-type]
    qtbot.waitUntil(lambda: context.league.league.tournament(3).played > 0)
    stop(context, qtbot)
    dock, said = shown(), list[tuple[str, object]]()
    context.notified.connect(lambda text, tone, offer: said.append((text, offer)))
    dock.offer_resume()

    def offers() -> list[tuple[str, object]]:
        return [command for command in said if command[0].startswith("Pong round robin 3 is unfinished: ")]

    qtbot.waitUntil(lambda: bool(offers()))
    [(_, offer)] = offers()
    assert isinstance(offer, tuple)
    assert offer[0] == "Resume"
    offer[1]()
    qtbot.waitUntil(lambda: context.league.running)
    stop(context, qtbot)
    assert len(offers()) == 1


def test_pressing_pause_does_not_wait_for_the_run(shown: Shown, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot) -> None:
    """A worker that does not answer must not block the GUI thread."""
    gate, paused, asked = threading.Event(), threading.Event(), list[threading.Thread]()

    class Stuck:
        def progress(self) -> object:
            asked.append(threading.current_thread())
            gate.wait(120)
            return SimpleNamespace(paused=False)

        def pause(self) -> None:
            paused.set()

    dock = shown()
    monkeypatch.setattr(dock, "_running", Stuck)
    dock.pause_resume()
    assert not paused.is_set()
    gate.set()
    qtbot.waitUntil(paused.is_set)
    assert threading.main_thread() not in asked


def test_training_is_shown_above_the_summary_of_an_earlier_run(shown: Shown) -> None:
    dock = shown()
    training = TrainingView(4, "Runner", False, None, "")
    dock._show_sample(RunSnapshot(training=(training,)))
    assert dock.run_card.name.text() == "No tournament running"
    cards = dock.training_card.parentWidget().layout()
    places = [cards.indexOf(card) for card in (dock.run_card, dock.training_card, dock.summary_card)]
    assert places == sorted(places)
    dock._show_sample(RunSnapshot())
    assert (dock.run_card.name.text(), dock.training_card.isHidden()) == ("Idle", True)


def test_the_rows_of_training_sessions_are_updated_in_place(shown: Shown, qtbot: QtBot) -> None:
    from agents.training.events import Progress, WorkerState

    dock = shown()
    card = dock.training_card
    card.show_training([TrainingView(4, "<b>Runner</b>", False, Progress(3, 10, "generation 3", 7.0), "")])
    line = card.lines[4]
    assert (line.name.text(), line.bar.value(), line.text.text()) == ("<b>Runner</b>", 300, "generation 3, 7.0 s left")
    card.show_training([TrainingView(4, "<b>Runner</b>", True, Progress(4, 10, "generation 4", 6.0), "")])
    assert card.lines[4] is line
    assert line.text.text() == "Paused: generation 4"
    card.show_training([TrainingView(4, "Runner", False, Progress(42, 0, "generation 42", 9.0, 0.85), "")])
    assert line.bar.value() == 850, "by time, whatever the number of generations"
    states = (WorkerState("learner", "learning", "batch 3", "12 updates", 1, 7), WorkerState("<b>actor</b>", "idle"))
    workers = (TrainingWorker(states[0], 97.0, 200 << 20), TrainingWorker(states[1], None, None))
    card.show_training([TrainingView(4, "Runner", False, None, "", workers)])
    assert [(worker.name.text(), worker.text.text()) for worker in line.workers] == [
        ("learner", "learning, 12 updates, 97 %, 200 MB, 1 restart"),
        ("<b>actor</b>", "idle"),
    ]
    assert not line.more.isVisibleTo(line)
    card.show_training([TrainingView(4, "Runner", False, None, "", workers * 500)])
    assert len(line.workers) == 16
    assert (line.more.isVisibleTo(line), line.more.text()) == (True, "and 984 more workers")
    with qtbot.waitSignal(card.stop) as stopped:
        line.halt.click()
    assert stopped.args == [4]
    card.show_training([])
    assert card.isHidden()


def look_of(workers: int = 2, cores: int = 2) -> RunSnapshot:
    machine = Machine((50.0,) * cores, 4 << 30, 8 << 30)
    rows = tuple(WorkerStatus(n, 100 + n, "playing", "A - B", 7, n, cpu=40.0, memory=80 << 20) for n in range(workers))
    queue = RunView(100, 20, failures=2, playing=6, waiting=8, suspects=1, quarantined=("x",))
    return RunSnapshot(load=MachineLoad(machine, 50.0, 20.0, 300 << 20, (), rows, queue, ("<i>Bad</i>",)))


def test_workers_of_several_machines_are_listed_with_their_machine(shown: Shown) -> None:
    dock = shown()
    look = look_of()
    assert look.load is not None
    nodes = tuple(
        replace(look.load.machine, name=f"node-{n}", cpu=(50.0, 100.0), rate=120.0 * n, waiting=3 * n) for n in (1, 2)
    )
    workers = tuple(replace(worker, node=node.name, pid=None) for node in nodes for worker in look.load.workers)
    dock._show_sample(replace(look, load=replace(look.load, nodes=nodes, workers=workers)))
    lines = dock.workers_card.nodes.text().splitlines()
    assert lines[0] == "node-1: 75 % of 2 cores, 4.0 GB of 8.0 GB, 2 workers, 120 a second, 3 waiting"
    assert lines[1].startswith("node-2: ")
    assert dock.workers_card.nodes.isVisibleTo(dock)
    assert [(row.worker.node, row.worker.id) for row in dock.workers_card.model.rows] == [
        ("node-1", 0),
        ("node-1", 1),
        ("node-2", 0),
        ("node-2", 1),
    ]
    assert dock.workers_card.model.rows[2].figures.startswith("node-2, ")
    dock._show_sample(look)
    assert not dock.workers_card.nodes.isVisibleTo(dock)
    assert dock.workers_card.model.rows[0].figures.startswith("pid 100, ")


def test_the_queue_names_quarantined_agents(shown: Shown) -> None:
    dock = shown()
    dock._show_sample(look_of())
    figures = [dock.queue_card.figure(name) for name in ("Playing", "Waiting", "Suspects", "Failures")]
    assert figures == ["6", "8", "1", "2"]
    assert dock.queue_card.quarantined.text() == "Quarantined: <i>Bad</i>"
    assert dock.queue_card.quarantined.textFormat() is Qt.TextFormat.PlainText


@pytest.mark.parametrize("theme_name", ["light", "dark"])
def test_the_panel_never_requires_more_width(shown: Shown, context: AppContext, theme_name: str) -> None:
    state, name = context.league, "<b>W</b>" * 15
    state.league.change_agent("Tracker", name=name)
    theme.apply(theme_name)
    dock = shown()
    from league_app.core.queries import highlights

    dock.summary_card.show_summary(highlights.summary(state.league, 1))
    dock._show_sample(look_of(workers=12, cores=64))
    dock.grab()
    inner = dock.run_card.parentWidget()
    assert inner is not None
    assert inner.width() <= dock.widget().width()
    assert all(label.textFormat() is not Qt.TextFormat.RichText for label in dock.findChildren(QLabel))
    theme.apply("light")


def test_the_worker_list_is_a_valid_qt_model(shown: Shown) -> None:
    dock = shown()
    QAbstractItemModelTester(dock.workers_card.model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    for count in (1, 3, 0, 2):
        load = look_of(count).load
        assert load is not None
        dock.workers_card.show_workers(load.workers)
    assert dock.workers_card.model.data(dock.workers_card.model.index(1, 0)) == (
        "worker 2, playing, 40 %, pid 101, 80 MB, 7 matches, 1 restart"
    )


def test_samples_separate_ringside_from_the_system(context: AppContext) -> None:
    pulse = RunMonitor()
    snapshot = pulse.sample(context.league)
    assert snapshot.run is None
    assert snapshot.toggle == context.league.toggle_text
    assert snapshot.load is not None
    assert 0 < snapshot.load.our_memory < snapshot.load.machine.memory_total
    assert len(snapshot.load.machine.cpu) >= 1
    assert pulse.sample(context.league, with_load=False).load is None
    without = pulse.sample(None)
    assert without.load is not None
    assert (without.run, without.load.workers) == (None, ())


def test_load_charts_keep_only_the_last_minutes(qtbot: QtBot) -> None:
    line, cores = TimeLine("CPU", lambda share: f"{share:.0f} %"), Cores()
    for widget in (line, cores):
        qtbot.addWidget(widget)
        widget.resize(260, 80)
    for number in range(meters.MAX_SAMPLES + 10):
        line.add(number, 1.0)
        cores.add([float(number % 100)] * 7)
    assert len(line.samples) == meters.MAX_SAMPLES
    assert line.samples[0][0] == 10
    assert line.accessibleDescription() == f"total {meters.MAX_SAMPLES + 9} %, Ringside 1 %"
    assert cores.heightForWidth(260) > cores.heightForWidth(1000)
    assert not line.grab().isNull()
    assert not cores.grab().isNull()


def test_the_switch_works_by_keyboard_and_has_an_accessible_state(qtbot: QtBot) -> None:
    switch = Switch("Visual")
    qtbot.addWidget(switch)
    switch.show()
    off = switch.grab().toImage()
    with qtbot.waitSignal(switch.toggled):
        QTest.keyClick(switch, Qt.Key.Key_Space)
    assert switch.isChecked()
    qtbot.waitUntil(lambda: switch._position == 1.0)
    assert switch.grab().toImage() != off
    assert switch.accessibleName() == "Visual"
    switch.setChecked(False)
    qtbot.waitUntil(lambda: switch._position == 0.0)
