"""External engines on the command line: asked, entered, sent elsewhere, confirmed there, and listened to."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from league_app.cli.main import main
from tests.agents.engines import FAULTY

pytestmark = pytest.mark.usefixtures("only_ours")


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """An engine, with a league beside it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RINGSIDE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RINGSIDE_ENGINE_LOG", "")
    made = tmp_path / "engine"
    made.write_text(f"#!/bin/sh\nexec {sys.executable} -I -S {FAULTY}\n")
    made.chmod(0o755)
    main(["new", "my.league", "--game", "shogi"])
    capsys.readouterr()
    return "./engine"


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        main(list(words))
    assert stopped.value.code == 2
    return capsys.readouterr().err


def test_an_engine_is_asked_who_it_is(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["agents", "ask", program])
    shown = capsys.readouterr().out
    assert shown.startswith("Faulty 1.0, by nobody")
    assert "very wild" in shown
    main(["agents", "ask", program, "--json"])
    assert json.loads(capsys.readouterr().out)["options"][3]["choices"] == ["calm", "very wild"]
    assert "speaks USI" in refused(capsys, "agents", "ask", "/bin/true")


def test_what_is_wrong_with_an_engine_is_told_before_it_is_entered(
    program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    entering = ["agents", "engine", "my.league", program]
    assert "--nodes or --movetime" in refused(capsys, *entering)
    assert "--nodes = 0: must be from 1" in refused(capsys, *entering, "--nodes", "0")
    assert "--movetime = 0.0: must be seconds above 0" in refused(capsys, *entering, "--movetime", "0")
    assert "one of the two" in refused(capsys, *entering, "--nodes", "5", "--movetime", "1")
    assert "did you mean 'Style'" in refused(capsys, *entering, "--nodes", "5", "--set", "Stile=calm")
    assert "one of calm, very wild" in refused(capsys, *entering, "--nodes", "5", "--set", "Style=mad")
    assert "one that plays pong" in refused(capsys, *entering, "--nodes", "5", "--game", "pong")
    assert "there is no such file" in refused(capsys, "agents", "engine", "my.league", "./nothing"), "before the limit"
    assert not Path("home/engines.json").exists(), "and none of them is confirmed by that"
    main(["agents", "list", "my.league", "--json"])
    assert all(one["kind"] != "usi" for one in json.loads(capsys.readouterr().out))


def test_a_program_named_without_its_folder_is_looked_for_on_the_path(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    told = refused(capsys, "agents", "ask", "engine")
    assert "no such file here, and none of that name on the PATH: give its path" in told
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    main(["agents", "ask", "engine"])
    assert capsys.readouterr().out.startswith("Faulty 1.0")
    main(["agents", "engine", "../my.league", "engine", "--nodes", "5"])
    told = " ".join(capsys.readouterr().out.split())
    assert told == f"Faulty 1.0 plays Shogi in ../my.league, and may run on this machine: {tmp_path / 'engine'}"


def test_arguments_that_the_program_does_not_find_are_told(
    program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "script.py").write_text(Path(FAULTY).read_text())
    shell = shutil.which("sh")
    assert shell is not None
    folder = os.path.dirname(shell)
    told = refused(capsys, "agents", "ask", "sh", "--argument", "script.py")
    assert f"arguments are looked up in {folder}: give the whole path of 'script.py'" in told
    assert "looked up" not in refused(capsys, "agents", "ask", "sh", "--argument", "nowhere.py")


def test_an_engine_from_elsewhere_is_disabled_until_it_is_confirmed_here(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["agents", "engine", "my.league", program, "--nodes", "5", "--set", "Style=very wild"])
    assert f"may run on this machine: {tmp_path / 'engine'}" in " ".join(capsys.readouterr().out.split())
    playing = ["match", "my.league", "Faulty 1.0", "Dice", "-o", "opening=none", "--steps", "1", "--here"]
    main([*playing, "--log", "logs"])
    shown = capsys.readouterr().out
    assert "step limit after 1 step" in shown
    [log] = Path("logs").iterdir()
    assert shown.endswith(f"conversation written to {log}\n")
    assert "> setoption name Style value very wild" in log.read_text()
    main(["agents", "export", "my.league", "Faulty 1.0", "it.agent"])

    monkeypatch.setenv("RINGSIDE_HOME", str(tmp_path / "elsewhere"))
    main(["new", "other.league", "--game", "shogi"])
    main(["agents", "import", "other.league", "it.agent"])
    waiting = "Faulty 1.0 does not run yet: it is a program that nobody has confirmed on this machine"
    assert waiting in " ".join(capsys.readouterr().out.split())
    for looking in (["list", "other.league"], ["show", "other.league", "Faulty 1.0"]):
        main(["agents", *looking])
        assert waiting in " ".join(capsys.readouterr().out.split())
    playing[1] = "other.league"
    error = refused(capsys, *playing)
    assert "the engine 'Faulty 1.0' is not confirmed " in error
    assert f"It would run: {tmp_path / 'engine'} (set Style = 'very wild', may take 4,096 MB of memory)" in error
    assert "not confirmed" in refused(capsys, "tournament", "run", "other.league")
    with pytest.raises(SystemExit) as stopped:
        main(["agents", "approve", "other.league", "Faulty 1.0"])
    assert stopped.value.code == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert f"runs: {tmp_path / 'engine'} set Style = 'very wild' may take 4,096 MB of memory Not confirmed" in shown
    main(["agents", "approve", "other.league", "Faulty 1.0", "--yes"])
    main(["agents", "list", "other.league"])
    assert "does not run yet" not in capsys.readouterr().out
    main(playing)
    assert "step limit after 1 step" in capsys.readouterr().out
    assert "an external engine" in refused(capsys, "agents", "approve", "other.league", "Dice")


def test_what_was_written_down_is_told(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["agents", "engine", "my.league", program, "--nodes", "5", "--name", "Faulty"])
    capsys.readouterr()
    main(["match", "my.league", "Dice", "Pebble", "--steps", "1", "--log", "logs"])
    assert capsys.readouterr().out.endswith("no engine took part: nothing is written to logs\n")
    assert not Path("logs").exists()
    run = ["tournament", "run", "my.league", "--agents", "Faulty", "Dice", "--rounds", "3", "--steps", "2"]
    main([*run, "--log", "logs"])
    assert capsys.readouterr().out.endswith("6 conversations in logs\n")
    assert "--log = 'my.league': must be a folder" in refused(capsys, *run, "--log", "my.league")
