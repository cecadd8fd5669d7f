"""A trainer in torch as a plug-in of one file (`tests.plugins.pair`): two players in each checkpoint, its own unit,
states of workers and spans of time, in the store, on the command line and in the window."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from engine.errors import BadValue
from engine.league.records import RunState
from engine.registry import KINDS, TRAINERS, new_game
from league_app.cli.main import main
from league_app.core.queries.sessions import SessionPreviews, load_sessions
from league_app.core.run_monitor import RunMonitor
from league_app.core.state import LeagueState
from league_app.gui.context import AppContext
from league_app.gui.dialogs.training_session import NewSessionDialog
from league_app.gui.docks.run_cards import TrainingCard
from tests.league_app.cli.commands import Capture, run_json, run_rejected, run_text
from tests.league_app.gui.training_helpers import chart_of, page_of, until
from tests.plugins.pair import KIND, ROLES, Pair

PLUGINS = ["tests.plugins.pair"]
GAME = new_game("pong", points=1, step_limit=200).spec

TRAINERS.remove(Pair.name)  # the module registers both for other processes; here they are there for these tests alone
KINDS.remove(KIND.name)


@pytest.fixture(autouse=True, scope="module")
def plugin() -> Iterator[None]:
    TRAINERS.add(Pair.name, Pair)
    KINDS.add(KIND.name, KIND)
    yield
    TRAINERS.remove(Pair.name)
    KINDS.remove(KIND.name)


@pytest.fixture(scope="module")
def trained(plugin: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A league with a finished session of three updates, trained once and copied for each test."""
    path = tmp_path_factory.mktemp("pair") / "pair.league"
    with LeagueState.new(path, plugins=PLUGINS) as state:
        state.budget.cores = 2
        state.add_samples("pong", ("Lazy", "Tracker"))
        job = state.training.start("pair", {"updates": 3}, game=GAME, name="Twins")
        ended = job.wait()
        assert ended is not None
        assert (ended.state, ended.note) == (RunState.FINISHED, "3 updates")
        assert [agent.name for agent in job.champions] == ["Twins Left", "Twins Right"]
        assert [(worker.name, worker.state, worker.done) for worker in job.workers] == [
            (role, "learning", "3 updates") for role in ROLES
        ]
    return path


@pytest.fixture
def path(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(trained, tmp_path / "pair.league"))


# The store


def test_both_players_of_each_checkpoint_are_saved_with_their_roles(path: Path) -> None:
    with LeagueState(path, plugins=PLUGINS) as state:
        sessions = state.training.sessions
        assert [[player.role for player in checkpoint.players] for checkpoint in sessions.checkpoints(1)] == [
            list(ROLES)
        ] * 3
        assert set(sessions.metrics(1)) == {"error/Left", "error/Right", "error/mean", "speed/steps"}
        with pytest.raises(BadValue, match="role = None: must be one of 'Left', 'Right'"):
            state.training.enter(1, 2)
        first, second = (state.training.enter(1, 2, role=role) for role in ROLES)
        assert (first.name, second.name) == ("Twins Left (2)", "Twins Right (2)")
        assert first.payload != second.payload
        assert sessions.audit() == []
        job = state.start_tournament(game=GAME, agents=[first.id, second.id, "Lazy"], options={"rounds": 1})
        assert job.wait().state is RunState.FINISHED, "both play"


def test_a_resumed_session_continues_with_both_players(path: Path) -> None:
    with LeagueState(path, plugins=PLUGINS) as state:
        with pytest.raises(BadValue, match="seed = 9: must be 1, as at its start"):
            state.training.resume(1, {"seed": 9})
        job = state.training.resume(1, {"updates": 4})
        assert job.wait().note == "4 updates"
        assert [agent.parents for agent in job.champions] == [("Twins Left",), ("Twins Right",)]


def test_spans_are_kept_and_exported_as_a_chrome_trace(path: Path, tmp_path: Path, capsys: Capture) -> None:
    with LeagueState(path, read_only=True) as state:
        spans = state.training.sessions.spans(1)
    assert [(span.track, span.name) for span in spans] == [
        ("actor", "collect"),
        *((role, "learn") for role in ROLES),
    ] * 3
    target = tmp_path / "trace.json"
    assert run_json(capsys, "train", "export", str(path), "--to", str(target)) == {"file": str(target), "spans": 9}
    events = json.loads(target.read_text())["traceEvents"]
    names = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
    shown = [event for event in events if event["ph"] == "X"]
    assert [(names[span["tid"]], span["name"]) for span in shown] == [(span.track, span.name) for span in spans]
    assert shown[0]["ts"] == 0
    for event, span in zip(shown, spans, strict=True):
        assert event["dur"] == pytest.approx(span.seconds * 1e6)
        assert event["ts"] == pytest.approx((span.start - spans[0].start) * 1e6)


# The command line


def test_the_command_line_uses_its_units_headline_and_roles(path: Path, capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        main(["train", "pair", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "--updates VALUE number of updates (default 10)" in text
    assert "--preset quick" in text
    assert "error/mean: error of the value estimates, both networks" in text
    with LeagueState(path, read_only=True) as state:
        best = state.training.sessions.metrics(1)["error/mean"].values.min()
    listed = run_text(capsys, "train", "list", str(path))
    assert "3 updates" in listed
    assert f"{best:.3g}" in listed, "the lowest error is the best"
    shown = run_text(capsys, "train", "show", str(path))
    assert "checkpoint 3, 0.0 MB to resume from:" in shown
    assert "Left: after 3 updates, in the league as Twins Left" in shown
    assert "Right: after 2 updates" in shown
    assert "a timeline of 9 spans" in shown
    assert "has 2 players: say which one with --role: Left, Right" in run_rejected(
        capsys, "train", "enter", str(path), "--step", "1"
    )
    entered = run_text(capsys, "train", "enter", str(path), "--step", "1", "--role", "Right", "--name", "Early")
    assert entered.startswith("Early joined ")


# The window


@pytest.fixture
def context(bare: AppContext, path: Path) -> AppContext:
    state = LeagueState(path, lanes=4, plugins=PLUGINS)
    state.budget.cores = 2
    bare.adopt(state)
    return bare


def test_the_form_charts_and_players_are_those_of_the_trainer(context: AppContext, qtbot: QtBot) -> None:
    dialog = NewSessionDialog(context)
    qtbot.addWidget(dialog)
    dialog.show()
    until(qtbot, dialog.start.isEnabled)
    dialog.trainer.setCurrentIndex(dialog.trainer.findData("pair"))
    dialog._on_trainer_chosen()
    assert dialog.about.text() == Pair.about
    assert dialog.form is not None
    assert set(dialog.form.values()) == {"updates", "minutes", "target", "steps", "rate", "seed"}
    page = page_of(context, qtbot)
    until(qtbot, lambda: page.charts.cards and page.players.view.cards)
    assert [spec.title for spec in page.charts.cards] == ["Both", "Error of Left", "Error of Right", "Steps"]
    until(qtbot, lambda: chart_of(page, "Both").shown)
    [line] = chart_of(page, "Both")._references
    assert (line.value, line.text) == (0.0, "exact")
    assert page.toolbar.axis.itemText(0) == "Updates"
    assert "3 updates" in page.header.progress.text()
    [summary] = load_sessions(SessionPreviews(), context.league)
    assert summary.best == min(summary.curve), "a loss: the lowest value"
    assert summary.best_text == f"{summary.best:.3g}"
    until(qtbot, lambda: "\u00b7" in page.players.view.cards[0].title.text())
    titles = [card.title.text() for card in page.players.view.cards]
    assert len(titles) == 6
    assert [title.split(" \u00b7 ")[:2] for title in titles[:3]] == [
        ["Left", "Update 3"],
        ["Right", "Update 3"],
        ["Left", "Update 2"],
    ]
    own = context.league.training.sessions.metrics(1)["error/Right"].values
    assert titles[1].endswith(f"{own[-1]:.3g}"), "its own error at that step, not that of both"
    assert page.players.view.cards[0].picture._diagram is not None, "as the kind draws it"


def test_each_player_joins_the_league_from_its_card(context: AppContext, qtbot: QtBot) -> None:
    page = page_of(context, qtbot)
    until(qtbot, lambda: len(page.players.view.cards) == 6 and page.players.view.cards[3].player is not None)
    for index, name in ((2, "Twins Left (2)"), (3, "Twins Right (2)")):
        card = page.players.view.cards[index]
        assert card.main_button.text() == "Add to league"
        page.players.enter(card.player)
        until(qtbot, lambda name=name: name in {agent.name for agent in context.league.agents("pong")})


def test_the_panels_show_the_states_of_its_workers(context: AppContext, qtbot: QtBot) -> None:
    job = context.league.training.start("pair", {"updates": 1_000_000}, game=GAME)
    monitor, card = RunMonitor(), TrainingCard()
    qtbot.addWidget(card)

    def loaded() -> bool:
        [view] = monitor.sample(context.league).training
        card.show_training([view])
        return bool(view.workers) and view.workers[0].memory is not None

    until(qtbot, loaded)
    lines = card.lines[job.number].workers
    assert [line.name.text() for line in lines] == list(ROLES)
    assert all(line.text.text().startswith("learning, ") and " MB" in line.text.text() for line in lines)
    job.stop()
    ended = job.wait()
    assert ended is not None
    assert ended.state is RunState.STOPPED


SCRIPT = """
import sys
from PySide6.QtWidgets import QApplication
from league_app.core.preferences import Preferences
from league_app.core.state import LeagueState
from league_app.gui import theme
from league_app.gui.context import AppContext
from league_app.gui.dialogs.training_session import NewSessionDialog
from league_app.gui.training.page import TrainingPage
import tests.plugins.pair
from pathlib import Path

path, home = map(Path, sys.argv[1:])
app = QApplication(["ringside", "-platform", "offscreen"])
theme.load_fonts()
theme.apply("light")
context = AppContext(Preferences(home / "window.json"))
context.adopt(LeagueState(path, plugins=["tests.plugins.pair"]))
page, dialog = TrainingPage(context), NewSessionDialog(context)
page.show()
dialog.show()
while not (dialog.start.isEnabled() and page.charts.cards and page.players.view.cards):
    app.processEvents()
dialog.trainer.setCurrentIndex(dialog.trainer.findData("pair"))
dialog._on_trainer_chosen()
app.processEvents()
print(sorted(dialog.form.values()), "torch" in sys.modules)
context.close()
"""


def test_the_window_shows_its_form_and_session_without_importing_torch(path: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(path), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "['minutes', 'rate', 'seed', 'steps', 'target', 'updates'] False\n"
