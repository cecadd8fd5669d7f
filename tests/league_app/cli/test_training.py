"""`ringside train`: output, recorded sessions, exit status and signals."""

from __future__ import annotations

import csv
import dataclasses
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from agents.training.events import Player
from engine.league.records import RunState
from engine.league.storage.league import League
from engine.league.storage.session_rows import session_row
from engine.league.storage.sessions import SESSION, SessionStore
from engine.registry import TRAINERS, new_game
from league_app.cli.main import main
from league_app.core.state import LeagueState
from tests.agents.training.session_helpers import OURS, runs
from tests.faults.league import within
from tests.league_app.cli.commands import Capture, run_json, run_rejected, run_text, run_until_exit, start_process
from tests.league_app.core.test_state import until
from tests.league_app.core.test_tensorboard import records
from tests.league_app.test_hostile_names import ACCEPTED, REJECTED

pytestmark = pytest.mark.usefixtures("only_ours")
SMALL = ["--population", "20", "--steps", "300", "--validate-pairs", "1", "--checkpoint-every", "1"]
GAME = ["-o", "points=1", "-o", "step_limit=200"]


@pytest.fixture(autouse=True)
def time_limit() -> Iterator[None]:
    with within(150):
        yield


@pytest.fixture(scope="module")
def trained_league(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A league in which one session was trained to its end."""
    path = tmp_path_factory.mktemp("trained") / "my.league"
    with within(100), LeagueState.new(path) as state:
        state.add_samples("pong", ("Lazy", "Tracker"))
        state.budget.cores = 2
    main(["train", "neat", str(path), "--generations", "3", "--name", "First", *SMALL, *GAME])
    return path.read_bytes()


@pytest.fixture
def league(trained_league: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> str:
    monkeypatch.chdir(tmp_path)
    Path("my.league").write_bytes(trained_league)
    capsys.readouterr()
    return "my.league"


# Training


def test_training_adds_a_champion_and_prints_the_next_command(league: str, capsys: Capture) -> None:
    output = run_text(
        capsys, "train", "neat", league, "--generations", "2", "--name", "Second", "--seed", "2", *SMALL, *GAME
    )
    assert "2: Second" in output
    assert "fitness/best" in output
    assert "finished: 2 generations" in output
    assert "Second joined my.league: self-play, generation " in output
    assert "`ringside match my.league Second OPPONENT --pairs 100`" in output
    found = run_json(capsys, "train", "list", league)
    assert [(session["name"], session["state"]) for session in found] == [("First", "finished"), ("Second", "finished")]


def test_json_output_contains_nothing_else(league: str, capsys: Capture) -> None:
    arguments = [
        "train",
        "neat",
        league,
        "--generations",
        "1",
        "--mode",
        "competitive",
        "--from",
        "First",
        "--workers",
        "1",
    ]
    answer = run_json(capsys, *arguments, *SMALL, *GAME)
    assert answer["session"]["state"] == "finished"
    assert answer["session"]["name"] == "competitive 2"
    assert dict(answer["session"]["config"])["ancestor"] == "First"
    assert answer["metrics"]["fitness/mean"]["steps"] == [1]
    assert answer["checkpoints"][-1]["step"] == 1
    assert [agent["parents"] for agent in answer["champions"]] in ([["First"]], []), "none if it stays the best"


def test_a_session_is_resumed_with_a_changed_setting(league: str, capsys: Capture) -> None:
    assert "it is finished; change a setting, such as generations" in run_rejected(
        capsys, "train", "resume", league, "1"
    )
    assert "no training session to resume" in run_rejected(capsys, "train", "resume", league)
    before = run_json(capsys, "train", "show", league)["metrics"]["fitness/best"]["values"]
    after = run_json(capsys, "train", "resume", league, "--set", "generations=4", "--workers", "1")
    assert (after["session"]["note"], len(before)) == ("4 generations", 3)
    values = after["metrics"]["fitness/best"]
    assert (values["steps"], values["values"][:3]) == ([1, 2, 3, 4], before)
    for wrong, word in {
        "generations=0": "generations",
        "generatoins=5": "generations",
        "nothing": "NAME=VALUE",
    }.items():
        assert word in run_rejected(capsys, "train", "resume", league, "First", "--set", wrong)
    assert "--workers" in run_rejected(capsys, "train", "resume", league, "--workers", "0")
    assert "First" in run_rejected(capsys, "train", "resume", league, "Frist")


def test_the_default_league_is_created_with_opponents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "pogn" in run_rejected(capsys, "train", "neat", "--game", "pogn")
    assert "--population" in run_rejected(capsys, "train", "neat", "--population", "-1").replace(
        "population =", "--population"
    )
    assert list(tmp_path.iterdir()) == [], "an invalid request creates no file"
    for generations in ("1", "2"):
        main(["train", "neat", "--generations", generations, *SMALL, *GAME])
    assert [path.name for path in tmp_path.iterdir()] == ["training.league"]
    capsys.readouterr()
    with League("training.league", read_only=True) as league:
        assert {"Lazy", "Tracker", "Predictor", "self-play 1"} <= set(league.names())
        assert [session.note for session in SessionStore(league).all()] == ["1 generations", "2 generations"]


def test_a_named_league_must_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.chdir(tmp_path)
    for arguments in (["neat", "x.league", *SMALL], ["resume", "x.league"], ["list", "x.league"], ["show", "x.league"]):
        assert "x.league" in run_rejected(capsys, "train", *arguments)
    assert list(tmp_path.iterdir()) == []


# Help and errors


@pytest.mark.parametrize("name", TRAINERS.names())
def test_every_setting_of_a_trainer_is_an_option_with_its_help(name: str, capsys: Capture) -> None:
    run_until_exit(0, "train", name, "--help")
    text = " ".join(capsys.readouterr().out.split())
    kind: Any = TRAINERS.get(name)
    assert kind.about in text
    for field in dataclasses.fields(kind):
        assert f"--{field.name.replace('_', '-')} VALUE {' '.join(field.metadata['help'].split())}" in text
        for choice in field.metadata["choices"] or ():
            assert str(choice) in text
    for preset in kind.presets:
        assert repr(preset) in text


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--population", "many"], "population"),
        (["--generations", "0"], "generations"),
        (["--mode", "alone"], "self-play"),
        (["--hall-share", "1.5"], "hall_share"),
        (["--mode", "against-bots", "--bots", "Missing"], "Missing"),
        (["--neat-config", "nowhere.txt"], "nowhere.txt"),
        (["--preset", "an hour"], "'60 seconds', 'ten minutes'"),
        (["--workers", "0"], "--workers"),
        (["--workers", "x"], "--workers"),
        (["--frobnicate", "1"], "--frobnicate"),
        (["-o", "points"], "NAME=VALUE"),
        (["-o", "pionts=1"], "points"),
        (["--from", "Frist"], "First"),
        (["--game", "pogn"], "pong"),
    ],
)
def test_invalid_settings_are_rejected_by_name(league: str, arguments: list[str], named: str, capsys: Capture) -> None:
    assert named in run_rejected(capsys, "train", "neat", league, *arguments)
    assert len(run_json(capsys, "train", "list", league)) == 1


def test_an_ancestor_of_another_kind_is_rejected(league: str, capsys: Capture) -> None:
    assert "of kind neat" in run_rejected(capsys, "train", "neat", league, "--from", "Lazy", *SMALL, *GAME)


def test_a_failing_trainer_is_exit_status_one_with_the_reason(league: str, capsys: Capture) -> None:
    """It is registered in this process, but not in that of the session."""
    TRAINERS.add("counting", OURS["counting"])
    try:
        run_until_exit(1, "train", "counting", league, "--steps", "3")
    finally:
        TRAINERS.remove("counting")
    assert "ringside: failed: " in (text := capsys.readouterr().err)
    assert "counting" in text
    assert [session["state"] for session in run_json(capsys, "train", "list", league)] == ["finished", "stopped"]


# Showing


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


# Signals


def best_fitness(path: str) -> list[float]:
    with League(path, read_only=True) as league:
        sessions = SessionStore(league)
        series = sessions.metrics(1).get("fitness/best") if sessions.all() else None
        return [] if series is None else series.values.tolist()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_session_that_was_killed_and_interrupted_resumes_with_the_same_metrics(league: str, capsys: Capture) -> None:
    Path(league).unlink()
    LeagueState.new(league).close()
    small = [*SMALL, "--checkpoint-every", "3", "--validate-every", "10000", "--workers", "2", "--game", "pong", *GAME]
    with start_process("-m", "league_app", "train", "neat", league, "--generations", "9999", *small) as process:
        until(lambda: len(best_fitness(league)) >= 4 or process.poll() is not None)
        children = [child.pid for child in psutil.Process(process.pid).children(recursive=True)]
        assert len(children) >= 3, "the session and its workers"
        process.kill()
        process.communicate()
    until(lambda: not any(map(runs, children)))
    [session] = run_json(capsys, "train", "list", league)
    assert session["state"] == "stopped"
    resumable = [
        checkpoint["step"]
        for checkpoint in run_json(capsys, "train", "show", league)["checkpoints"]
        if checkpoint["state"]
    ]
    assert max(resumable) % 3 == 0
    before = len(best_fitness(league))
    with start_process("-m", "league_app", "train", "resume", league) as process:
        until(lambda: len(best_fitness(league)) > before or process.poll() is not None)
        children = [child.pid for child in psutil.Process(process.pid).children(recursive=True)]
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
    assert process.returncode == 130, errors
    until(lambda: not any(map(runs, children)))
    reached = len(best_fitness(league))
    assert (
        f"stopped after {reached} generations; `ringside train resume my.league 1` resumes from generation {reached}"
        in errors
    )
    assert "Traceback" not in errors
    assert not Path("my.league-lock").exists()
    done = run_json(capsys, "train", "resume", league, "--set", f"generations={reached + 2}")
    assert (done["session"]["state"], done["session"]["note"]) == ("finished", f"{reached + 2} generations")
    main(["new", "whole.league"])
    capsys.readouterr()
    whole = run_json(capsys, "train", "neat", "whole.league", "--generations", str(reached + 2), *small)
    assert deterministic_metrics(done) == deterministic_metrics(whole)
    assert len(deterministic_metrics(done)["fitness/best"][0]) == reached + 2


def deterministic_metrics(answer: dict[str, Any]) -> dict[str, Any]:
    """The metrics without speeds, and without validations: the last generation is always validated."""
    return {
        name: (series["steps"], series["values"])
        for name, series in answer["metrics"].items()
        if name.split("/")[0] not in ("speed", "validation")
    }
