"""How long a player may answer PENDING."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from engine.game import PENDING
from engine.play import thinking
from engine.play.clocks import Clocks
from engine.play.executors import SequentialMatchExecutor
from engine.play.lane_kernels import LANE, SLOT
from engine.play.match import Clock, EndingKind, MatchSpec
from engine.play.pilots import LoadedPilot
from engine.play.thinking import ThinkingTimes
from engine.registry import KINDS, new_game
from tests.plugins import pilots


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, in a list."""
    now = [1000.0]
    monkeypatch.setattr(thinking.time, "perf_counter", lambda: now[0])
    return now


class Lanes:
    """Three lanes of two seats, and the times of their players: of kinds that may think for 10 s, 60 s and for ever."""

    def __init__(self) -> None:
        self.lanes, self.slots = np.zeros(3, LANE), np.zeros(6, SLOT)
        self.held = np.full((3, 2), PENDING, np.int64)
        self.clocks = Clocks(2)
        self.times = ThinkingTimes(self.lanes, self.slots, self.held, self.clocks, 10.0)
        rows = np.zeros((5, 6), np.uint32)
        kind = KINDS.get("dice")
        kinds = [kind, dataclasses.replace(kind, thinking=60.0), dataclasses.replace(kind, thinking=math.inf)]
        self.pilots = [LoadedPilot(index, one, None, rows) for index, one in enumerate(kinds)]  # type: ignore[arg-type]

    def late(self) -> list[tuple[int, int]]:
        live, acting = np.arange(3, dtype=np.uint32), np.ones((3, 2), np.bool_)
        found = self.times.overdue(live, acting, self.pilots)
        for faults in found.values():
            assert {fault.kind for _, fault in faults} == {EndingKind.TIMEOUT}
        return [(lane, seat) for lane, faults in found.items() for seat, _ in faults]


def test_a_player_may_think_as_long_as_a_call_or_as_its_kind_says(clock: list[float]) -> None:
    game = Lanes()
    game.slots["pilot"] = [0, 1, 2, 2, 1, 1]
    found = {}
    for seconds in (0.0, 9.9, 10.2, 59.9, 60.2, 1e9):
        clock[0] = 1000.0 + seconds
        found[seconds] = game.late()
    mine, both = (0, 0), [(0, 1), (2, 0), (2, 1)]
    assert found == {0.0: [], 9.9: [], 10.2: [mine], 59.9: [mine], 60.2: [mine, *both], 1e9: [mine, *both]}


def test_the_time_begins_again_with_each_step_and_each_match(clock: list[float]) -> None:
    game = Lanes()
    assert game.late() == []
    clock[0] += 9.0
    game.held[0, 1] = 1  # has answered
    game.lanes["ply"][1] = 1  # has moved
    game.times.clear([2])  # another match
    assert game.late() == []
    clock[0] += 2.0
    assert game.late() == [(0, 0)]
    clock[0] += 9.0
    assert game.late() == [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1)]


def test_pauses_and_matches_with_clocks_do_not_count(clock: list[float]) -> None:
    game = Lanes()
    game.clocks.begin(0, Clock(base=3600.0))
    assert game.late() == []
    clock[0] += 600.0
    game.times.add_pause(595.0)
    assert game.late() == []
    clock[0] += 6.0
    assert game.late() == [(1, 0), (1, 1), (2, 0), (2, 1)]


def test_it_is_checked_only_a_few_times_a_second(clock: list[float]) -> None:
    game = Lanes()
    assert game.late() == []
    clock[0] += 11.0
    assert len(game.late()) == 6
    clock[0] += 0.05
    assert game.late() == []
    clock[0] += 0.06
    assert len(game.late()) == 6


def test_a_player_that_thinks_for_ever_forfeits_with_a_reason(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Played alone, after it was a suspect among other matches."""

    def ponder(state: dict[str, object], views: object, row: int) -> int:
        clock[0] += 1.0
        return PENDING

    monkeypatch.setitem(pilots.ANSWERS, "pondering", ponder)
    KINDS.add("pondering", pilots.row_kind("pondering"))
    KINDS.add("prompt", pilots.row_kind("prompt", answer="fast"))
    try:
        players = pilots.agent("pondering"), pilots.agent("prompt")
        game = new_game("pong", points=1, step_limit=60).spec
        specs = [MatchSpec(f"m{n}", game, players[:: 1 - 2 * n], n) for n in range(2)]
        specs.append(MatchSpec("well", game, (pilots.agent("prompt"), pilots.agent("prompt", "too")), 5))
        with SequentialMatchExecutor(8) as executor:
            *late, well = executor.execute_matches(specs)
    finally:
        KINDS.remove("pondering")
        KINDS.remove("prompt")
    for seat, result in enumerate(late):
        assert (result.ending.kind, result.ending.seats) == (EndingKind.TIMEOUT, (seat,))
        assert result.ending.reason == "answered PENDING for 10 s"
        assert (result.ranks, result.repeatable) == ((2, 1) if seat == 0 else (1, 2), False)
    assert well.ending.kind in (EndingKind.FINISHED, EndingKind.STEP_LIMIT)
