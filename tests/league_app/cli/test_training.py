"""`ringside train`, as a person would use it: what it says, what it leaves, and how it ends."""

from __future__ import annotations

import csv
import dataclasses
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from engine.league.records import State
from engine.league.storage.session_rows import session_row
from engine.league.storage.sessions import SESSION, Sessions
from engine.league.storage.league import League
from engine.play.match import AgentSpec
from engine.registry import TRAINERS, new_game
from league_app.cli.main import main
from league_app.core.state import LeagueState
from tests.agents.sessions import OURS, runs
from tests.faults.league import within
from tests.league_app.test_hostile_names import ACCEPTED, REFUSED
from tests.league_app.test_league_commands import refused, said, told
from tests.league_app.test_state import until
from tests.league_app.test_tensorboard import records

pytestmark = pytest.mark.usefixtures("only_ours")
Capture = pytest.CaptureFixture[str]
SMALL = ["--population", "20", "--steps", "300", "--validate-pairs", "1", "--checkpoint-every", "1"]
GAME = ["-o", "points=1", "-o", "step_limit=200"]


@pytest.fixture(autouse=True)
def in_time() -> Iterator[None]:
    with within(150):
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A league in which one session was trained to its end."""
    path = tmp_path_factory.mktemp("made") / "my.league"
    with within(100), LeagueState.new(path) as state:
        state.add_samples("pong", ("Lazy", "Tracker"))
        state.budget.cores = 2
    main(["train", "neat", str(path), "--generations", "3", "--name", "First", *SMALL, *GAME])
    return path.read_bytes()


@pytest.fixture
def league(made: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> str:
    monkeypatch.chdir(tmp_path)
    Path("my.league").write_bytes(made)
    capsys.readouterr()
    return "my.league"


def exits(status: int, *words: str) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(list(words))
    assert stopped.value.code == status


# Training


def test_training_ends_with_a_champion_and_says_how_to_see_it_play(league: str, capsys: Capture) -> None:
    words = said(
        capsys, "train", "neat", league, "--generations", "2", "--name", "Second", "--seed", "2", *SMALL, *GAME
    )
    assert "2: Second" in words
    assert "fitness/best" in words
    assert "finished: 2 generations" in words
    assert "Second has entered my.league: self-play, generation " in words
    assert "`ringside match my.league Second OPPONENT --pairs 100`" in words
    found = told(capsys, "train", "list", league)
    assert [(one["name"], one["state"]) for one in found] == [("First", "finished"), ("Second", "finished")]


def test_as_data_it_is_json_and_nothing_else(league: str, capsys: Capture) -> None:
    words = [
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
    answer = told(capsys, *words, *SMALL, *GAME)
    assert answer["session"]["state"] == "finished"
    assert answer["session"]["name"] == "competitive 2"
    assert dict(answer["session"]["config"])["ancestor"] == "First"
    assert answer["metrics"]["fitness/mean"]["steps"] == [1]
    assert answer["checkpoints"][-1]["step"] == 1
    assert [one["parents"] for one in answer["champions"]] in ([["First"]], []), "nobody, if it is the best itself"


def test_a_session_goes_on_with_another_setting(league: str, capsys: Capture) -> None:
    assert "it is finished; change a setting, such as generations" in refused(capsys, "train", "resume", league, "1")
    assert "no training session that could be resumed" in refused(capsys, "train", "resume", league)
    before = told(capsys, "train", "show", league)["metrics"]["fitness/best"]["values"]
    after = told(capsys, "train", "resume", league, "--set", "generations=4", "--workers", "1")
    assert (after["session"]["note"], len(before)) == ("4 generations", 3)
    values = after["metrics"]["fitness/best"]
    assert (values["steps"], values["values"][:3]) == ([1, 2, 3, 4], before)
    for wrong, word in {
        "generations=0": "generations",
        "generatoins=5": "generations",
        "nothing": "NAME=VALUE",
    }.items():
        assert word in refused(capsys, "train", "resume", league, "First", "--set", wrong)
    assert "--workers" in refused(capsys, "train", "resume", league, "--workers", "0")
    assert "First" in refused(capsys, "train", "resume", league, "Frist")


def test_without_a_league_one_is_made_with_somebody_to_beat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "pogn" in refused(capsys, "train", "neat", "--game", "pogn")
    assert "--population" in refused(capsys, "train", "neat", "--population", "-1").replace(
        "population =", "--population"
    )
    assert list(tmp_path.iterdir()) == [], "nothing is made for what is wrong"
    for generations in ("1", "2"):
        main(["train", "neat", "--generations", generations, *SMALL, *GAME])
    assert [one.name for one in tmp_path.iterdir()] == ["training.league"]
    capsys.readouterr()
    with League("training.league", read_only=True) as one:
        assert {"Lazy", "Tracker", "Predictor", "self-play 1"} <= set(one.names())
        assert [session.note for session in Sessions(one).every()] == ["1 generations", "2 generations"]


def test_a_league_that_does_not_exist_is_an_error_and_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (["neat", "x.league", *SMALL], ["resume", "x.league"], ["list", "x.league"], ["show", "x.league"]):
        assert "x.league" in refused(capsys, "train", *words)
    assert list(tmp_path.iterdir()) == []


# Describing


@pytest.mark.parametrize("name", TRAINERS.names())
def test_every_setting_of_a_trainer_is_an_option_with_its_help(name: str, capsys: Capture) -> None:
    exits(0, "train", name, "--help")
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
    ("words", "named"),
    [
        (["--population", "many"], "population"),
        (["--generations", "0"], "generations"),
        (["--mode", "alone"], "self-play"),
        (["--hall-share", "1.5"], "hall_share"),
        (["--mode", "against-bots", "--bots", "Nobody"], "Nobody"),
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
def test_what_is_wrong_is_named_and_nothing_is_kept(league: str, words: list[str], named: str, capsys: Capture) -> None:
    assert named in refused(capsys, "train", "neat", league, *words)
    assert len(told(capsys, "train", "list", league)) == 1


def test_an_ancestor_that_cannot_be_one_is_refused(league: str, capsys: Capture) -> None:
    assert "of kind neat" in refused(capsys, "train", "neat", league, "--from", "Lazy", *SMALL, *GAME)


def test_a_trainer_that_fails_is_status_one_and_the_reason_is_said(league: str, capsys: Capture) -> None:
    """It is registered here, and its process knows nothing of it."""
    TRAINERS.add("counting", OURS["counting"])
    try:
        exits(1, "train", "counting", league, "--steps", "3")
    finally:
        TRAINERS.remove("counting")
    assert "ringside: failed: " in (text := capsys.readouterr().err)
    assert "counting" in text
    assert [one["state"] for one in told(capsys, "train", "list", league)] == ["finished", "stopped"]


# Looking


def test_a_session_is_listed_and_shown(league: str, capsys: Capture) -> None:
    words = said(capsys, "train", "list", league)
    assert "1 First neat pong 3 finished" in words
    shown = said(capsys, "train", "show", league)
    assert "1: First, neat on pong, finished 3 generations" in shown
    assert "population 20" in shown
    assert "checkpoint 3: self-play, generation" in shown
    assert "in the league as First" in shown
    assert told(capsys, "train", "show", league, "First") == told(capsys, "train", "show", league, "1")
    assert "training session" in refused(capsys, "train", "show", league, "2")
    main(["new", "empty.league"])
    assert "no training sessions yet" in said(capsys, "train", "list", "empty.league")
    assert "has no training session yet" in refused(capsys, "train", "show", "empty.league")


def test_numbers_that_are_none_or_beyond_all_bounds_can_be_shown(league: str, capsys: Capture) -> None:
    with League(league) as one:
        for step, value in enumerate((float("nan"), float("inf"), -float("inf"), 1.0)):
            Sessions(one).record(1, step, [("odd/numbers", value), ("validation/share", value)])
    assert told(capsys, "train", "show", league)["metrics"]["odd/numbers"]["values"] == [None, None, None, 1.0]
    assert "odd/numbers" in said(capsys, "train", "show", league)
    assert "First" in said(capsys, "train", "list", league)


def test_numbers_that_are_far_apart_can_be_shown(league: str, capsys: Capture) -> None:
    with League(league) as one:
        for step, value in enumerate((1e308, -1e308)):
            Sessions(one).record(1, step, [("odd/numbers", value)])
    assert "odd/numbers" in said(capsys, "train", "show", league)


def test_the_steps_of_any_trainer_are_listed(league: str, capsys: Capture) -> None:
    with League(league) as one:
        Sessions(one).add("Other", "counting", new_game("pong").spec, ())
        Sessions(one).record(2, 41, [("count/value", 1.0)])
    assert "2 Other counting pong 41 stopped" in said(capsys, "train", "list", league)


def test_the_best_of_a_checkpoint_enters_once(league: str, capsys: Capture) -> None:
    steps = [one["step"] for one in told(capsys, "train", "show", league)["checkpoints"] if not one["agent"]]
    words = ["train", "enter", league, "First"]
    agent = told(capsys, *words, "--step", str(steps[0]), "--name", "Early")
    assert (agent["name"], agent["kind"]) == ("Early", "neat")
    assert agent["origin"] == f"trained by neat, step {steps[0]} of training session 1 (First)"
    assert "has entered the league already, as Early" in refused(capsys, *words, "--step", str(steps[0]))
    assert "has entered the league already, as First" in refused(capsys, *words)
    assert "`ringside train show` lists them" in refused(capsys, *words, "--step", "77")
    assert "Lazy" in refused(capsys, *words, "--step", str(steps[-1]), "--name", "Lazy")
    assert sorted(League(league, read_only=True).names().values()) == ["Early", "First", "Lazy", "Tracker"]


def test_metrics_are_exported_for_tensorboard_and_as_a_table(league: str, capsys: Capture) -> None:
    metrics = told(capsys, "train", "show", league)["metrics"]
    count = sum(len(series["steps"]) for series in metrics.values())
    answer = told(capsys, "train", "export", league, "--to", "runs/first")
    assert answer["values"] == count
    assert len(list(records(Path(answer["file"]).read_bytes()))) == count + 1
    words = said(capsys, "train", "export", league, "First", "--to", "first.csv")
    assert words == f"{count} values of {len(metrics)} metrics written to first.csv"
    with open("first.csv", newline="") as file:
        rows = [(row["metric"], int(row["step"]), float(row["value"])) for row in csv.DictReader(file)]
    assert rows == [
        (name, step, value)
        for name, series in metrics.items()
        for step, value in zip(series["steps"], series["values"], strict=True)
    ]
    assert "--to" in refused(capsys, "train", "export", league)
    for wrong in ("my.league/runs", "nowhere/first.csv"):
        assert wrong in refused(capsys, "train", "export", league, "--to", wrong)
    with League(league) as one:
        Sessions(one).add("Empty", "neat", new_game("pong").spec, ())
    assert "measured something" in refused(capsys, "train", "export", league, "2", "--to", "x.csv")
    assert not Path("x.csv").exists()


# Hostile names


def harmless(text: str) -> None:
    assert all(letter.isprintable() or letter in "\n\u200c\u200d" for letter in text)


def test_a_name_that_could_harm_is_refused_and_not_repeated_as_it_is(league: str, capsys: Capture) -> None:
    for name in REFUSED.values():
        harmless(refused(capsys, "train", "neat", league, "--name", name, *SMALL, *GAME))
    assert len(told(capsys, "train", "list", league)) == 1


def test_whatever_a_session_is_called_it_is_shown_harmlessly(league: str, capsys: Capture) -> None:
    game = new_game("pong").spec
    with League(league) as one:
        sessions = Sessions(one)
        for name in ACCEPTED.values():
            number = sessions.add(name, "neat", game, ()).number
            sessions.record(number, 0, [("a/" + name.replace("/", "|")[:118].strip(), 1.0)])
            sessions.add_checkpoint(number, 0, b"", AgentSpec("x", "dice", name.encode(), 1), name)
            sessions.update(number, State.STOPPED, name)
        evil = dataclasses.replace(
            sessions.session(1), number=99, name="\x1b[2J[/]", note="\x1b]0;x\x07", state=State.STOPPED
        )
        with one.file.transaction() as db:
            db.execute(f"INSERT INTO sessions ({SESSION}) VALUES (?,?,?,?,?,?,?,?,?,?)", session_row(evil))
    main(["train", "list", league])
    harmless(capsys.readouterr().out)
    for number in (*range(2, len(ACCEPTED) + 2), 99):
        main(["train", "show", league, str(number)])
        harmless(shown := capsys.readouterr().out)
        assert number == 99 or list(ACCEPTED.values())[number - 2] in shown
        told(capsys, "train", "show", league, str(number))


@pytest.mark.parametrize("trainer", ["[/]", "\x1b[2Jneat"])
def test_the_name_of_a_trainer_is_shown_harmlessly_too(league: str, trainer: str, capsys: Capture) -> None:
    """From a file that somebody else has made."""
    with League(league) as one, one.file.transaction() as db:
        evil = dataclasses.replace(Sessions(one).session(1), number=99, trainer=trainer)
        db.execute(f"INSERT INTO sessions ({SESSION}) VALUES (?,?,?,?,?,?,?,?,?,?)", session_row(evil))
    main(["train", "list", league])
    harmless(capsys.readouterr().out)


# Signals


def generations(path: str) -> list[float]:
    with League(path, read_only=True) as one:
        sessions = Sessions(one)
        series = sessions.metrics(1).get("fitness/best") if sessions.every() else None
        return [] if series is None else series.values.tolist()


def started(*words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "league_app", "train", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_killed_then_interrupted_a_session_goes_on_as_if_nothing_had_happened(league: str, capsys: Capture) -> None:
    Path(league).unlink()
    LeagueState.new(league).close()
    small = [*SMALL, "--checkpoint-every", "3", "--validate-every", "10000", "--workers", "2", "--game", "pong", *GAME]
    with started("neat", league, "--generations", "9999", *small) as process:
        until(lambda: len(generations(league)) >= 4 or process.poll() is not None)
        family = [one.pid for one in psutil.Process(process.pid).children(recursive=True)]
        assert len(family) >= 3, "the session and its workers"
        process.kill()
        process.communicate()
    until(lambda: not any(map(runs, family)))
    [session] = told(capsys, "train", "list", league)
    assert session["state"] == "stopped"
    kept = [one["step"] for one in told(capsys, "train", "show", league)["checkpoints"] if one["state"]]
    assert max(kept) % 3 == 0
    before = len(generations(league))
    with started("resume", league) as process:
        until(lambda: len(generations(league)) > before or process.poll() is not None)
        family = [one.pid for one in psutil.Process(process.pid).children(recursive=True)]
        process.send_signal(signal.SIGINT)
        _, words = process.communicate()
    assert process.returncode == 130, words
    until(lambda: not any(map(runs, family)))
    reached = len(generations(league))
    assert (
        f"stopped after {reached} generations; `ringside train resume my.league 1` goes on from step {reached}" in words
    )
    assert "Traceback" not in words
    assert not Path("my.league-lock").exists()
    done = told(capsys, "train", "resume", league, "--set", f"generations={reached + 2}")
    assert (done["session"]["state"], done["session"]["note"]) == ("finished", f"{reached + 2} generations")
    main(["new", "whole.league"])
    capsys.readouterr()
    whole = told(capsys, "train", "neat", "whole.league", "--generations", str(reached + 2), *small)
    assert measured(done) == measured(whole)
    assert len(measured(done)["fitness/best"][0]) == reached + 2


def measured(answer: dict[str, Any]) -> dict[str, Any]:
    """All that was measured, apart from how fast, and from validations: the last generation has one."""
    return {
        name: (one["steps"], one["values"])
        for name, one in answer["metrics"].items()
        if name.split("/")[0] not in ("speed", "validation")
    }
