"""The README is true: what it shows is what the program prints, and what it says to write works."""

from __future__ import annotations

import importlib
import importlib.util
import re
import shlex
from pathlib import Path

import numpy as np
import pygame
import pytest

from engine.checks import check_game, check_kind
from engine.plain import plain_kind
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import AgentSpec, MatchSpec
from engine.registry import FORMATS, GAMES, KINDS, TRAINERS, new_game
from league_app.cli.main import main
from league_app.core.state import LeagueState
from league_app.rendering.painter import save_png
from tests import screens

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.M | re.S)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    main(arguments)
    lines = (line.rstrip() for line in capsys.readouterr().out.splitlines())
    return [line for line in lines if not line.startswith(("played", "playing"))]


@pytest.mark.usefixtures("only_ours")
def test_the_tables_it_shows_are_what_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    demo, standings, match = blocks("text")
    assert printed(capsys, "demo") == demo.splitlines()
    main(["new", "my.league", "--game", "pong"])
    main(["tournament", "run", "my.league", "--rounds", "20"])
    capsys.readouterr()
    assert printed(capsys, "standings", "my.league") == standings.splitlines()
    assert printed(capsys, "match", "pong", "Shaky", "Predictor", "--seed", "3") == match.splitlines()


@pytest.mark.usefixtures("only_ours")
def test_the_commands_it_shows_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):  # the first one opens a window where it can
        monkeypatch.delenv(name, raising=False)
    commands = [shlex.split(line, comments=True) for block in blocks("sh") for line in block.splitlines()]
    commands = [words[2:] for words in commands if words[:2] == ["python3", "launch.py"] and words[2:3] != ["test"]]
    assert len(commands) >= 10
    for words in commands:
        main(words)
    assert (tmp_path / "rally.png").exists()


def test_the_commands_for_a_plug_in_reach_ringside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Through launch.py, whose own words come first."""
    spec = importlib.util.spec_from_file_location("launch", ROOT / "launch.py")
    launch = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(launch)
    reached: list[list[str]] = []
    monkeypatch.setattr(launch, "WINDOWS", False)
    monkeypatch.setattr(launch.os, "execv", lambda python, words: reached.append(words[1:]))
    lines = [line[2:] for block in blocks("console") for line in block.splitlines() if "launch.py" in line]
    for line in lines:
        launch.start(Path("python"), shlex.split(line)[2:])
    assert [words[:3] for words in reached] == [["-P", "-m", "league_app"]] * len(lines)
    assert ["check", "chaser"] in [words[3:] for words in reached]


def test_the_agent_it_shows_keeps_its_promises() -> None:
    names: dict[str, object] = {}
    exec(next(block for block in blocks("python") if "Chaser" in block), names)
    KINDS.add("chaser", names["KIND"])
    try:
        check_kind(names["KIND"], new_game("pong", points=1))
    finally:
        KINDS.remove("chaser")


def test_the_searching_bot_it_shows_mates_in_one() -> None:
    names: dict[str, object] = {}
    exec(next(block for block in blocks("python") if "class Mater" in block), names)
    kind = plain_kind("mater", 1, lambda payload: names["Mater"](), games=["shogi"], samples={"Mater": b""})
    KINDS.add("mater", kind)
    try:
        game = new_game("shogi")
        check_kind(kind, new_game("shogi", move_limit=20), matches=2)
        players = (*kind.samples(game), AgentSpec("Dice", "dice"))
        spec = MatchSpec("m", game.spec, players, 1, start="sfen 4k4/9/4G4/9/9/9/9/9/4K4 b G 1")
        with SequentialMatchExecutor(1) as executor:
            result = executor.execute_match(spec)
    finally:
        KINDS.remove("mater")
    assert (result.steps, result.ranks) == (1, (1, 2))


def test_the_game_it_shows_keeps_its_promises() -> None:
    names: dict[str, object] = {"__name__": "tests.test_readme"}
    exec(next(block for block in blocks("python") if "Nim" in block), names)
    GAMES.add("nim", names["Nim"])
    try:
        check_game(new_game("nim", stones=13))
        check_kind(KINDS.get("fast"), new_game("nim"))
    finally:
        GAMES.remove("nim")


@pytest.mark.usefixtures("only_ours")
def test_the_format_it_shows_works(tmp_path: Path) -> None:
    names: dict[str, object] = {"__name__": "tests.test_readme"}
    exec(next(block for block in blocks("python") if "King of the hill" in block), names)
    FORMATS.add("hill", names["FORMAT"])
    try:
        with LeagueState.new(tmp_path / "hill.league") as state:
            state.add_samples("pong")
            game = new_game("pong", points=1).spec
            job = state.start_tournament(game=game, format="hill", options={"rounds": 8})
            assert job.wait().state.value == "finished"
            assert job.progress().played == 16
    finally:
        FORMATS.remove("hill")


@pytest.mark.usefixtures("only_ours")
def test_the_python_it_shows_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(next(block for block in blocks("python") if "LeagueState" in block), {})
    assert re.fullmatch(r"(\w+ \d+ \+- \d+\n){3}", capsys.readouterr().out)
    many, live, training = (
        next(block for block in blocks("python") if words in block)
        for words in ("won by Tracker", "playback", "ConcurrentTrainingExecutor")
    )
    exec(many, {})
    assert re.fullmatch(r"\d+ of 100 won by Tracker\n", capsys.readouterr().out)
    exec(live, {})
    assert re.fullmatch(r".+ - finished\n", capsys.readouterr().out)
    exec(next(block for block in blocks("python") if "engine.games.pettingzoo" in block), {})
    assert re.fullmatch(r"it wins \d+ of 10\n", capsys.readouterr().out)
    exec(training, {})
    assert re.fullmatch(r"(\(\d\.0, \d\.0\) \d+\.0 \d+\.0 None\n){3}", capsys.readouterr().out)


@pytest.mark.usefixtures("only_ours")
def test_the_trainer_it_shows_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = next(block for block in blocks("python") if "class DeadZone" in block)
    line = "from engine.registry import TRAINERS\nTRAINERS.add(DeadZone.name, DeadZone)\n"
    (tmp_path / "my_trainer.py").write_text(f"{shown}\n{line}")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.import_module("my_trainer")
    try:
        with LeagueState.new(tmp_path / "my.league", plugins=["my_trainer"]) as state:
            job = state.training.start("dead-zone", {"tries": 2}, game=new_game("pong", points=1).spec)
            ended = job.wait()
            assert ended.state.value == "finished"
            [champion] = job.champions
            assert re.fullmatch(r"won \d+ of 40", champion.notes)
            assert list(state.training.sessions.metrics(1)["search/won"].steps) == [0, 1]
    finally:
        TRAINERS.remove("dead-zone")


def test_every_command_is_in_its_table(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    commands = re.findall(r"^    (\w+)  ", capsys.readouterr().out, re.M)
    assert {"demo", "match", "compile"} <= set(commands)
    for command in commands:
        assert f"`ringside {command}" in README, command


@pytest.mark.parametrize("name", screens.STILLS)
def test_the_picture_of_a_match_is_what_the_program_draws_now(tmp_path: Path, name: str) -> None:
    made, height = screens.STILLS[name]
    save_png(made().scene(), tmp_path / f"{name}.png", height)
    kept, fresh = (pygame.image.load(str(folder / f"{name}.png")) for folder in (screens.README, tmp_path))
    assert kept.get_size() == fresh.get_size()
    pixels = [np.frombuffer(pygame.image.tostring(image, "RGB"), np.uint8).astype(int) for image in (kept, fresh)]
    assert np.abs(pixels[0] - pixels[1]).mean() < 0.5, "it is out of date: run `python3 launch.py screenshots`"


def test_the_pictures_it_shows_are_taken_by_the_script() -> None:
    shown = re.findall(r"\((assets/screens/[^)]+)\)", README)
    made = {f"assets/screens/{name}.png" for name in (*screens.IN_README, *screens.STILLS)}
    assert set(shown) <= made
    assert {f"assets/screens/{one.name}" for one in screens.README.iterdir()} == made
    for name, (_, size) in screens.IN_README.items():
        assert pygame.image.load(str(screens.README / f"{name}.png")).get_size() == size or name == "tournament"
