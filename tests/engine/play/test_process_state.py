"""What foreign code must leave as it is in the process that it shares."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import uint32

from engine import float_mode
from engine.float_mode import NORMAL, read_mode, write_mode
from engine.game import AgentFault, AgentKind, GameInfo
from engine.kernels import row
from engine.plain import PlainBoard, PlainGame
from engine.play import process_state
from engine.play.executors import SequentialMatchExecutor
from engine.play.guarded_boards import GuardedBoards
from engine.play.march import Marching
from engine.play.match import AgentSpec, EndingKind, Limits, MatchSpec
from engine.play.match_executor import NoOptions
from engine.play.probe_agent import ProbePilot, act_row
from engine.play.process_state import LOST_CONNECTION, ProcessState
from engine.registry import KINDS, new_game

UP = NORMAL | 0x4000
known = pytest.mark.skipif(not float_mode.KNOWN, reason="the floating-point mode of this processor cannot be read")
set_mode = float_mode._load_mxcsr


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    yield
    write_mode(NORMAL)


# The floating-point mode


@known
def test_a_call_that_changes_the_mode_is_a_fault_and_the_mode_is_restored() -> None:
    state = ProcessState()
    state.check_mode()
    write_mode(UP)
    with pytest.raises(AgentFault, match="changed how numbers are rounded in its process: it must undo that") as caught:
        state.check_mode()
    assert caught.value.kind is EndingKind.PROTOCOL
    assert read_mode() == NORMAL


@known
def test_the_mode_that_was_noted_is_the_right_one() -> None:
    """Of a script that has changed it for its own computations."""
    state = ProcessState()
    write_mode(UP)
    state.note()
    state.check_mode()
    assert state.restore() == ""
    write_mode(NORMAL)
    assert state.restore() == "how numbers are rounded"
    assert read_mode() == UP


class CarelessBoard(PlainBoard):
    def __init__(self) -> None:
        self._steps = 0

    def acting(self) -> list[int]:
        return [0, 1] if self._steps < 3 else []

    def play(self, actions: dict[int, int]) -> None:
        self._steps += 1
        write_mode(UP)

    def scores(self) -> list[float]:
        return [0.0, 1.0]

    def observe(self, seat: int) -> list[float]:
        return [self._steps]


class Careless(PlainGame):
    name, version, Options = "careless", 1, NoOptions
    info = GameInfo(title="Careless", seats=2, actions=3, observation=(1,), simultaneous=True)

    def new(self, seed: int, start: str | None) -> CarelessBoard:
        return CarelessBoard()


@known
def test_rules_that_change_the_mode_are_restored_to_that_of_their_call() -> None:
    boards: Any = GuardedBoards(Careless(Careless.Options()), 1)
    lanes = np.zeros(1, np.uint32)
    boards.deal(lanes, np.zeros(1, np.uint64), [None])
    boards.apply(lanes, np.zeros((1, 2), np.int64))
    assert read_mode() == NORMAL
    write_mode(NORMAL | 0x2000)
    boards.apply(lanes, np.zeros((1, 2), np.int64))
    assert read_mode() == NORMAL | 0x2000, "an agent may ask for an observation in a mode that it has changed"


@row
def careless_row(arrays, slot, agent, ply, obs, legal, position):  # type: ignore[no-untyped-def]
    if ply == 2:
        set_mode(uint32(UP))
    return act_row(arrays, slot, agent, ply, obs, legal, position)


class CarelessPilot(ProbePilot):
    """Its row function changes the mode; `act` does not."""

    act_row = staticmethod(careless_row)


@known
def test_matches_of_a_march_in_which_the_mode_changed_are_played_again() -> None:
    KINDS.add("careless", AgentKind("careless", 1, CarelessPilot, lambda game: True, lambda game: []))
    KINDS.add("careful", AgentKind("careful", 1, ProbePilot, lambda game: True, lambda game: []))
    game = new_game("pong", points=1)
    try:
        results = {}
        for kind in ("careful", "careless"):
            players = AgentSpec("a", kind), AgentSpec("b", kind)
            specs = [MatchSpec(f"m{n}", game.spec, players, n, None, Limits(200)) for n in range(6)]
            with SequentialMatchExecutor(4, marching=Marching.AT_ONCE) as executor:
                results[kind] = [(result.scores, result.steps) for result in executor.execute_matches(specs)]
            assert read_mode() == NORMAL
    finally:
        KINDS.remove("careless")
        KINDS.remove("careful")
    assert results["careless"] == results["careful"]


# Descriptors


def test_a_process_without_its_connection_exits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exits: list[int] = []
    monkeypatch.setattr(process_state.os, "_exit", exits.append)
    first, second = (os.open(tmp_path / name, os.O_CREAT | os.O_RDWR) for name in "ab")
    try:
        state = ProcessState(first)
        state.check_connection()
        assert (state.connected, exits) == (True, [])
        os.dup2(second, first)
        state.check_connection()
        assert (state.connected, exits) == (False, [LOST_CONNECTION])
    finally:
        os.close(first)
        os.close(second)
    assert not state.connected
    assert ProcessState().connected, "outside of a worker nothing is held"
