"""`ringside train list`, `show`, `enter` and `export`, also for hostile names."""

from __future__ import annotations

import csv
import dataclasses
from pathlib import Path

import pytest

from agents.training.events import Player
from engine.league.records import RunState
from engine.league.storage.league import League
from engine.league.storage.session_rows import session_row
from engine.league.storage.sessions import SESSION, SessionStore
from engine.registry import new_game
from league_app.cli import output
from league_app.cli.main import main
from tests.league_app.cli.commands import Capture, run_json, run_rejected, run_text
from tests.league_app.cli.test_training import (  # noqa: F401 - fixtures
    GAME,
    SMALL,
    copied_league,
    time_limit,
    trained_league,
)
from tests.league_app.core.test_tensorboard import records
from tests.league_app.test_hostile_names import ACCEPTED, REJECTED

pytestmark = pytest.mark.usefixtures("only_ours")


@pytest.mark.parametrize("width", [80, 200])
def test_each_session_is_one_row_of_the_list(
    league: str, width: int, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    with League(league) as opened:
        SessionStore(opened).update(1, note="the target was reached after 23 generations " * 3)
    monkeypatch.setattr(output.console, "width", width)
    main(["train", "list", league])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2, lines
    assert all(len(line.rstrip()) <= width for line in lines)
    assert lines[1].split()[:2] == ["1", "First"]
    assert lines[1].rstrip().endswith("\N{HORIZONTAL ELLIPSIS}") == (width == 80)


def test_a_session_is_listed_and_shown(league: str, capsys: Capture) -> None:
    output = run_text(capsys, "train", "list", league)
    assert "1 First neat pong 3 generations finished" in output
    shown = run_text(capsys, "train", "show", league)
    assert "1: First, neat on pong, finished 3 generations" in shown
    assert "population 20" in shown
    assert "checkpoint 3: self-play, generation" in shown
    assert "in the league as First" in shown
    assert run_json(capsys, "train", "show", league, "First") == run_json(capsys, "train", "show", league, "1")
    assert "training session" in run_rejected(capsys, "train", "show", league, "2")
    main(["new", "empty.league"])
    assert "no training sessions yet" in run_text(capsys, "train", "list", "empty.league")
    assert "has no training session yet" in run_rejected(capsys, "train", "show", "empty.league")


def test_a_session_that_failed_is_listed_and_shown_as_failed(league: str, capsys: Capture) -> None:
    with League(league) as league_file:
        SessionStore(league_file).update(1, RunState.STOPPED, "the disk is full", failed=True)
    assert "3 generations failed" in run_text(capsys, "train", "list", league)
    assert "1: First, neat on pong, failed the disk is full" in run_text(capsys, "train", "show", league)


def test_infinities_and_nan_can_be_shown(league: str, capsys: Capture) -> None:
    with League(league) as league_file:
        for step, value in enumerate((float("nan"), float("inf"), -float("inf"), 1.0)):
            SessionStore(league_file).record(1, step, [("odd/numbers", value), ("validation/share", value)])
    assert run_json(capsys, "train", "show", league)["metrics"]["odd/numbers"]["values"] == [None, None, None, 1.0]
    assert "odd/numbers" in run_text(capsys, "train", "show", league)
    assert "First" in run_text(capsys, "train", "list", league)


def test_metrics_with_a_huge_range_can_be_shown(league: str, capsys: Capture) -> None:
    with League(league) as league_file:
        for step, value in enumerate((1e308, -1e308)):
            SessionStore(league_file).record(1, step, [("odd/numbers", value)])
    assert "odd/numbers" in run_text(capsys, "train", "show", league)


def test_the_steps_of_any_trainer_are_listed(league: str, capsys: Capture) -> None:
    with League(league) as league_file:
        SessionStore(league_file).add("Other", "counting", new_game("pong").spec, ())
        SessionStore(league_file).record(2, 41, [("count/value", 1.0)])
    assert "2 Other counting pong 41 steps stopped" in run_text(capsys, "train", "list", league)


def test_the_best_player_of_a_checkpoint_joins_once(league: str, capsys: Capture) -> None:
    steps = [
        checkpoint["step"]
        for checkpoint in run_json(capsys, "train", "show", league)["checkpoints"]
        if not checkpoint["players"][0]["agent"]
    ]
    arguments = ["train", "enter", league, "First"]
    agent = run_json(capsys, *arguments, "--step", str(steps[0]), "--name", "Early")
    assert (agent["name"], agent["kind"]) == ("Early", "neat")
    assert agent["origin"] == f"trained by neat, step {steps[0]} of training session 1 (First)"
    assert "has joined the league already, as Early" in run_rejected(capsys, *arguments, "--step", str(steps[0]))
    assert "has joined the league already, as First" in run_rejected(capsys, *arguments)
    assert "`ringside train show` lists them" in run_rejected(capsys, *arguments, "--step", "77")
    assert "Lazy" in run_rejected(capsys, *arguments, "--step", str(steps[-1]), "--name", "Lazy")
    assert sorted(League(league, read_only=True).names().values()) == ["Early", "First", "Lazy", "Tracker"]


def test_the_roles_of_a_checkpoint_are_named_if_none_is_given(tmp_path: Path, capsys: Capture) -> None:
    path = str(tmp_path / "roles.league")
    with League.new(path) as league:
        sessions = SessionStore(league)
        sessions.add("Hunters", "independent", new_game("treasure-hunt").spec, ())
        players = [Player("dice", 1, role.encode(), "", role) for role in ("agent 1", "agent 2")]
        sessions.add_checkpoint(1, 2, b"", players)
    error = run_rejected(capsys, "train", "enter", path)
    assert error.endswith("the checkpoint has 2 players: say which one with --role: agent 1, agent 2\n")
    assert "role = 'agent 3': must be one of 'agent 1', 'agent 2'" in run_rejected(
        capsys, "train", "enter", path, "--role", "agent 3"
    )


def test_metrics_are_exported_for_tensorboard_and_as_a_table(league: str, capsys: Capture) -> None:
    metrics = run_json(capsys, "train", "show", league)["metrics"]
    count = sum(len(series["steps"]) for series in metrics.values())
    answer = run_json(capsys, "train", "export", league, "--to", "runs/first")
    assert answer["values"] == count
    assert len(list(records(Path(answer["file"]).read_bytes()))) == count + 1
    output = run_text(capsys, "train", "export", league, "First", "--to", "first.csv")
    assert output == f"{count} values of {len(metrics)} metrics written to first.csv"
    with open("first.csv", newline="") as file:
        rows = [(row["metric"], int(row["step"]), float(row["value"])) for row in csv.DictReader(file)]
    assert rows == [
        (name, step, value)
        for name, series in metrics.items()
        for step, value in zip(series["steps"], series["values"], strict=True)
    ]
    assert "--to" in run_rejected(capsys, "train", "export", league)
    for wrong in ("my.league/runs", "nowhere/first.csv"):
        assert wrong in run_rejected(capsys, "train", "export", league, "--to", wrong)
    with League(league) as league_file:
        SessionStore(league_file).add("Empty", "neat", new_game("pong").spec, ())
    assert "a session with metrics" in run_rejected(capsys, "train", "export", league, "2", "--to", "x.csv")
    assert not Path("x.csv").exists()


# Hostile names


def assert_printable(text: str) -> None:
    assert all(letter.isprintable() or letter in "\n\u200c\u200d" for letter in text)


def test_unsafe_session_names_are_rejected_without_control_characters(league: str, capsys: Capture) -> None:
    for name in REJECTED.values():
        assert_printable(run_rejected(capsys, "train", "neat", league, "--name", name, *SMALL, *GAME))
    assert len(run_json(capsys, "train", "list", league)) == 1


def test_any_session_name_is_shown_without_control_characters(league: str, capsys: Capture) -> None:
    game = new_game("pong").spec
    with League(league) as league_file:
        sessions = SessionStore(league_file)
        for name in ACCEPTED.values():
            number = sessions.add(name, "neat", game, ()).number
            sessions.record(number, 0, [("a/" + name.replace("/", "|")[:118].strip(), 1.0)])
            sessions.add_checkpoint(number, 0, b"", [Player("dice", 1, name.encode(), name)])
            sessions.update(number, RunState.STOPPED, name)
        evil = dataclasses.replace(
            sessions.session(1), number=99, name="\x1b[2J[/]", note="\x1b]0;x\x07", state=RunState.STOPPED
        )
        with league_file.file.transaction() as db:
            db.execute(f"INSERT INTO sessions ({SESSION}) VALUES (?,?,?,?,?,?,?,?,?,?)", session_row(evil))
    main(["train", "list", league])
    assert_printable(capsys.readouterr().out)
    for number in (*range(2, len(ACCEPTED) + 2), 99):
        main(["train", "show", league, str(number)])
        assert_printable(shown := capsys.readouterr().out)
        assert number == 99 or list(ACCEPTED.values())[number - 2] in shown
        run_json(capsys, "train", "show", league, str(number))


@pytest.mark.parametrize("trainer", ["[/]", "\x1b[2Jneat"])
def test_any_trainer_name_is_shown_without_control_characters(league: str, trainer: str, capsys: Capture) -> None:
    """Such a name can only come from a manipulated file."""
    with League(league) as league_file, league_file.file.transaction() as db:
        evil = dataclasses.replace(SessionStore(league_file).session(1), number=99, trainer=trainer)
        db.execute(f"INSERT INTO sessions ({SESSION}) VALUES (?,?,?,?,?,?,?,?,?,?)", session_row(evil))
    main(["train", "list", league])
    assert_printable(capsys.readouterr().out)
