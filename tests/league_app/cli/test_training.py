"""`ringside train`: output, recorded sessions, exit status and signals."""

from __future__ import annotations

import dataclasses
import json
import signal
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from agents.training.independent.config import IndependentConfig
from engine.league.storage.league import League
from engine.league.storage.sessions import SessionStore
from engine.options import items
from engine.play.match import AgentSpec
from engine.registry import TRAINERS, new_game
from league_app.cli import output
from league_app.cli.main import main
from league_app.cli.training import ProgressLines
from league_app.core.state import LeagueState
from tests.agents.training.session_helpers import OURS, runs
from tests.faults.league import within
from tests.league_app.cli.commands import Capture, run_json, run_rejected, run_text, run_until_exit, start_process
from tests.waiting import until

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


@pytest.fixture(name="league")
def copied_league(trained_league: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> str:
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


def test_the_next_command_names_an_opponent_for_each_other_seat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    run_text(capsys, "new", "hunt.league", "--game", "treasure-hunt")
    quick = ["--epochs", "1", "--lanes", "1", "--evaluate-matches", "2", "--references", "none", "-o", "turns=5"]
    output = run_text(capsys, "train", "independent", "hunt.league", "--name", "Trio", *quick)
    assert "--agents 'Trio agent " in output
    assert "' OPPONENT OPPONENT OPPONENT --rounds 10` tests its strength" in output


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


def test_a_changed_setting_is_checked_with_those_of_its_session(tmp_path: Path, capsys: Capture) -> None:
    """Not with the defaults of the others: `learn_after` may be at most `buffer`."""
    path = tmp_path / "hunt.league"
    config = items(IndependentConfig(buffer=100_000, learn_after=100))
    with LeagueState.new(path) as state:
        state.training.sessions.add("Hunt", "independent", new_game("treasure-hunt", seats=2).spec, config)
    resume = ["train", "resume", str(path), "1", "--set"]
    assert "learn_after = 200000: must be at most 100,000" in run_rejected(capsys, *resume, "learn_after=200000")
    assert "buffer = 500: must be 100000, as at its start" in run_rejected(capsys, *resume, "buffer=500")


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


@pytest.mark.parametrize("name", ["neat", "ppo", "independent", "hybrid"])
def test_help_says_which_seed_a_session_has_by_default(name: str, capsys: Capture) -> None:
    run_until_exit(0, "train", name, "--help")
    text = " ".join(capsys.readouterr().out.split())
    shown = text.partition("--seed VALUE ")[2].partition(" --")[0]
    assert shown.endswith("(default: the number of the session)")


def test_the_seed_of_a_session_is_its_number(league: str, capsys: Capture) -> None:
    main(["train", "neat", league, "--generations", "1", *SMALL, *GAME])
    with League(Path(league), read_only=True) as saved:
        seeds = {session.number: dict(session.config)["seed"] for session in SessionStore(saved).all()}
    assert seeds == {1: 1, 2: 2}


@pytest.mark.parametrize("name", TRAINERS.names())
def test_every_setting_of_a_trainer_is_an_option_with_its_help(name: str, capsys: Capture) -> None:
    run_until_exit(0, "train", name, "--help")
    text = " ".join(capsys.readouterr().out.split()).replace("- ", "-")  # a line may end after a hyphen
    kind: Any = TRAINERS.get(name)
    assert kind.about in text
    for field in dataclasses.fields(kind):
        help = " ".join(field.metadata["help"].split()).replace("- ", "-")
        value = "VALUE" if field.metadata.get("bare") is None else "[VALUE]"
        assert f"--{field.name.replace('_', '-')} {value} {help}" in text
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


def test_a_preset_of_another_game_is_rejected_and_that_of_the_game_is_named(league: str, capsys: Capture) -> None:
    text = run_rejected(capsys, "train", "ppo", league, "--preset", "Shogi")
    assert "--preset = 'Shogi'" in text
    assert "one for pong: 'Pong'" in text
    run_until_exit(2, "train", "ppo", league, "--bot-share", "0.5", "--bots", "Missing")
    captured = capsys.readouterr()
    assert "`--preset Pong` has settings for pong" in captured.out
    assert "Missing" in captured.err
    run_until_exit(0, "train", "ppo", "--help")
    assert "'Pong' (pong)" in " ".join(capsys.readouterr().out.split())
    assert len(run_json(capsys, "train", "list", league)) == 1


def test_compilation_is_announced_before_training(
    league: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    asked: list[tuple[str, set[str]]] = []

    def must_compile(game: str, agents: Iterable[AgentSpec], drivers: bool = False) -> bool:
        asked.append((game, {agent.kind for agent in agents}))
        return True

    monkeypatch.setattr(output, "must_compile", must_compile)
    main(["train", "neat", league, *SMALL, *GAME, "--generations", "1"])
    assert "compiling the kernels of pong first: a minute or two" in " ".join(capsys.readouterr().out.split())
    main(["train", "neat", league, *SMALL, *GAME, "--generations", "1", "--json"])
    captured = capsys.readouterr()
    assert "compiling the kernels of pong first" in " ".join(captured.err.split())
    json.loads(captured.out)
    assert len(asked) == 2
    assert all(game == "pong" and {"neat", "pong-bot"} <= kinds for game, kinds in asked)


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


def test_no_progress_line_is_printed_twice_in_a_row() -> None:
    now = [100.0]
    lines = ProgressLines(lambda: now[0])
    assert lines.due("update 1 of 3")
    assert not lines.due("update 2 of 3"), "too soon"
    now[0] += 11.0
    assert lines.due("update 3 of 3")
    now[0] += 11.0
    assert not lines.due("update 3 of 3"), "while it is validated"
