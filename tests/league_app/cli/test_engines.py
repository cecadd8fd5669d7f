"""Commands for external engines: query, add, import, confirm, log."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from league_app.cli.main import main
from tests.agents.usi.engines import FAULTY
from tests.league_app.cli.commands import run_rejected

pytestmark = pytest.mark.usefixtures("only_ours")


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """The path of an engine in a folder with a league."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RINGSIDE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RINGSIDE_ENGINE_LOG", "")
    path = tmp_path / "engine"
    path.write_text(f"#!/bin/sh\nexec {sys.executable} -I -S {FAULTY}\n")
    path.chmod(0o755)
    main(["new", "my.league", "--game", "shogi"])
    capsys.readouterr()
    return "./engine"


def test_ask_prints_the_name_and_options_of_an_engine(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["agents", "ask", program])
    shown = capsys.readouterr().out
    assert shown.startswith("Faulty 1.0, by Test Author")
    assert "very wild" in shown
    main(["agents", "ask", program, "--json"])
    assert json.loads(capsys.readouterr().out)["options"][3]["choices"] == ["calm", "very wild"]
    assert "speaks USI" in run_rejected(capsys, "agents", "ask", "/bin/true")


def test_invalid_engines_are_rejected_before_they_are_added(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    add = ["agents", "engine", "my.league", program]
    assert "--nodes or --movetime" in run_rejected(capsys, *add)
    assert "--nodes = 0: must be from 1" in run_rejected(capsys, *add, "--nodes", "0")
    assert "--movetime = 0.0: must be seconds above 0" in run_rejected(capsys, *add, "--movetime", "0")
    assert "not both" in run_rejected(capsys, *add, "--nodes", "5", "--movetime", "1")
    assert "did you mean 'Style'" in run_rejected(capsys, *add, "--nodes", "5", "--set", "Stile=calm")
    assert "one of calm, very wild" in run_rejected(capsys, *add, "--nodes", "5", "--set", "Style=mad")
    assert "one that plays pong" in run_rejected(capsys, *add, "--nodes", "5", "--game", "pong")
    assert "an existing program" in run_rejected(capsys, "agents", "engine", "my.league", "./nothing"), (
        "before the limit"
    )
    assert not Path("home/engines.json").exists(), "none of them is confirmed"
    main(["agents", "list", "my.league", "--json"])
    assert all(agent["kind"] != "usi" for agent in json.loads(capsys.readouterr().out))


def test_a_bare_program_name_is_looked_up_on_the_path(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    text = run_rejected(capsys, "agents", "ask", "engine")
    assert "an existing file or a program on the PATH: give its path" in text
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    main(["agents", "ask", "engine"])
    assert capsys.readouterr().out.startswith("Faulty 1.0")
    main(["agents", "engine", "../my.league", "engine", "--nodes", "5"])
    text = " ".join(capsys.readouterr().out.split())
    assert text == f"Faulty 1.0 joined ../my.league to play Shogi; it may run on this machine: {tmp_path / 'engine'}"


def test_argument_files_need_a_full_path(program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "script.py").write_text(Path(FAULTY).read_text())
    shell = shutil.which("sh")
    assert shell is not None
    folder = os.path.dirname(shell)
    text = run_rejected(capsys, "agents", "ask", "sh", "--argument", "script.py")
    assert f"the engine runs in {folder}: give the full path of 'script.py'" in text
    assert "full path" not in run_rejected(capsys, "agents", "ask", "sh", "--argument", "nowhere.py")


def test_an_imported_engine_is_disabled_until_it_is_confirmed(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["agents", "engine", "my.league", program, "--nodes", "5", "--set", "Style=very wild"])
    assert f"may run on this machine: {tmp_path / 'engine'}" in " ".join(capsys.readouterr().out.split())
    match = ["match", "my.league", "Faulty 1.0", "Dice", "-o", "opening=none", "--steps", "1", "--on", "sequential"]
    main([*match, "--log", "logs"])
    shown = capsys.readouterr().out
    assert "step limit after 1 step" in shown
    [log] = Path("logs").iterdir()
    assert shown.endswith(f"engine log written to {log}\n")
    assert "> setoption name Style value very wild" in log.read_text()
    main(["agents", "export", "my.league", "Faulty 1.0", "it.agent"])

    monkeypatch.setenv("RINGSIDE_HOME", str(tmp_path / "elsewhere"))
    main(["new", "other.league", "--game", "shogi"])
    main(["agents", "import", "other.league", "it.agent"])
    not_confirmed = "Faulty 1.0 cannot run yet: its program is not confirmed on this machine"
    assert not_confirmed in " ".join(capsys.readouterr().out.split())
    for command in (["list", "other.league"], ["show", "other.league", "Faulty 1.0"]):
        main(["agents", *command])
        assert not_confirmed in " ".join(capsys.readouterr().out.split())
    match[1] = "other.league"
    error = run_rejected(capsys, *match)
    assert "the engine 'Faulty 1.0' is not confirmed " in error
    assert f"It would run: {tmp_path / 'engine'} (set Style = 'very wild', may use 4,096 MB of memory)" in error
    assert "not confirmed" in run_rejected(capsys, "tournament", "run", "other.league")
    with pytest.raises(SystemExit) as stopped:
        main(["agents", "approve", "other.league", "Faulty 1.0"])
    assert stopped.value.code == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert f"runs: {tmp_path / 'engine'} set Style = 'very wild' may use 4,096 MB of memory Not confirmed" in shown
    main(["agents", "approve", "other.league", "Faulty 1.0", "--yes"])
    main(["agents", "list", "other.league"])
    assert "cannot run yet" not in capsys.readouterr().out
    main(match)
    assert "step limit after 1 step" in capsys.readouterr().out
    assert "an external engine" in run_rejected(capsys, "agents", "approve", "other.league", "Dice")


def test_the_written_engine_logs_are_listed(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["agents", "engine", "my.league", program, "--nodes", "5", "--name", "Faulty"])
    capsys.readouterr()
    main(["match", "my.league", "Dice", "Pebble", "--steps", "1", "--log", "logs"])
    assert capsys.readouterr().out.endswith("no external engine played: no log in logs\n")
    assert not Path("logs").exists()
    run = ["tournament", "run", "my.league", "--agents", "Faulty", "Dice", "--rounds", "3", "--steps", "2"]
    main([*run, "--log", "logs"])
    assert capsys.readouterr().out.endswith("6 engine logs in logs\n")
    assert "--log = 'my.league': must be a folder" in run_rejected(capsys, *run, "--log", "my.league")
