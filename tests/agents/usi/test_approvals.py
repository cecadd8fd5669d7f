"""Engines run only if the user has confirmed them on this machine and they have not changed since."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from agents.usi import approvals
from agents.usi.approvals import admit, approve, approved
from agents.usi.engine_spec import EngineSpec, agent
from engine.errors import BadValue, NotConfirmed
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import AgentSpec, EndingKind, Limits, MatchSpec
from engine.registry import new_game
from tests.agents.usi.engines import FAULTY

GAME = new_game("shogi", opening="none")
DICE = AgentSpec("Dice", "dice")


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGSIDE_HOME", str(tmp_path / "home"))


def test_an_engine_runs_only_on_machines_where_it_is_confirmed(tmp_path: Path) -> None:
    program = tmp_path / "engine"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -I -S {FAULTY}\n")
    program.chmod(0o755)
    engine = EngineSpec(str(program), ("--fast mode",), nodes=1)
    spec = agent("Stranger", engine)
    match = MatchSpec("m", GAME.spec, (spec, DICE), 1, limits=Limits(1))
    with SequentialMatchExecutor() as executor:
        with pytest.raises(NotConfirmed, match=rf"It would run: {program} '--fast mode'"):
            executor.execute_match(match)
        approve(engine)
        admit(spec)
        assert not approved(replace(engine, arguments=()))
        assert not approved(replace(engine, options=(("Log File", "/etc/passwd"),)))
        assert not approved(replace(engine, memory=1 << 22))
        assert approved(replace(engine, nodes=7))
        assert executor.execute_match(match).ending.kind is EndingKind.STEP_LIMIT
        os.utime(program)
        admit(spec)  # the same content
        with program.open("a") as file:
            file.write("# changed\n")
        with pytest.raises(NotConfirmed, match="has changed"):
            executor.execute_match(match)


@pytest.mark.parametrize("how", ["engine.py", "{}/engine.py", "--book={}/engine.py", "--book=engine.py"])
def test_an_interpreters_script_is_confirmed_with_it(how: str, tmp_path: Path) -> None:
    program, script = tmp_path / "interpreter", tmp_path / "engine.py"
    for file in (program, script):
        file.write_text("as it was")
    engine = EngineSpec(str(program), (how.format(tmp_path), "--log=not-there-yet"), nodes=1)
    approve(engine)
    (tmp_path / "not-there-yet").write_text("what it writes itself is its own business")
    assert approved(engine)
    script.write_text("otherwise")
    assert not approved(engine)
    script.unlink()
    assert not approved(engine)


@pytest.mark.parametrize("what", ["pipe", "device", "folder"])
def test_devices_and_pipes_are_not_read(what: str, tmp_path: Path) -> None:
    """A foreign league could name an endless device, or a pipe without a writer."""
    path = {"pipe": tmp_path / "pipe", "device": Path("/dev/zero"), "folder": tmp_path}[what]
    if what == "pipe":
        os.mkfifo(path)
    engine = EngineSpec(str(path), nodes=1)
    with pytest.raises(NotConfirmed, match="It would run"):
        admit(agent("Stranger", engine))
    with pytest.raises(BadValue, match="it is not a file"):
        approve(engine)
    assert not approved(engine)


def test_no_file_of_an_unconfirmed_engine_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "program").write_text("secret")
    monkeypatch.setattr(approvals, "_digest", lambda path: pytest.fail(f"{path} was read"))
    assert not approved(EngineSpec(str(tmp_path / "program"), nodes=1))


def test_damaged_confirmations_confirm_nothing_and_are_not_overwritten(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("a program")
    engine = EngineSpec(str(program), nodes=1)
    approve(engine)
    kept = approvals.place().read_bytes()
    approvals.place().write_bytes(kept[:-9])
    assert not approved(engine)
    with pytest.raises(BadValue, match="damaged: delete it"):
        approve(engine)
    approvals.place().write_bytes(kept)
    assert approved(engine)
