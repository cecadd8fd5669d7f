"""The rating of a network on the scale of the bots that validate it."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from agents.training.matchmaking import ready_bots
from agents.training.selfplay.rating import bot_table, elo_of
from engine.league.statistics import elo
from engine.play.match import Ending, EndingKind, MatchResult
from tests.agents.training.fake_context import GAME, FakeContext, stay_in_process


def test_a_network_that_equals_a_bot_has_its_rating() -> None:
    """The second bot takes 3 of 4 points from the first, and so does the network, which is even with the second."""
    table = ((0.0, 25.0), (75.0, 0.0))
    points = {"first": [1.0, 1.0, 1.0, 0.0] * 25, "second": [1.0, 0.0] * 50}
    assert elo_of(table, points) == pytest.approx(elo(0.75), abs=0.5)


def test_a_stronger_network_has_a_higher_rating_and_a_clean_sheet_a_finite_one() -> None:
    table = ((0.0, 2.0), (8.0, 0.0))
    weak = elo_of(table, {"first": [0.0] * 10, "second": [0.0] * 10})
    even = elo_of(table, {"first": [0.5] * 10, "second": [0.0, 1.0] * 5})
    best = elo_of(table, {"first": [1.0] * 10, "second": [1.0] * 10})
    assert -3000 < weak < even < best < 3000
    assert elo_of(((0.0,),), {"only": [1.0, 0.0]}) == pytest.approx(0.0)


def test_bots_meet_their_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    stay_in_process(monkeypatch)
    bots = ready_bots(GAME, "Still,Lazy,Tracker")
    with closing(FakeContext()) as context:
        table = bot_table(bots, 2, 1, GAME, context)
    assert table is not None
    assert [table[i][j] + table[j][i] for i, j in ((0, 1), (1, 2), (0, 2))] == [4.0, 4.0, 0.0]


@pytest.mark.parametrize("failing", ["Lazy", "Tracker"])
def test_a_bot_that_fails_loses_as_in_a_validation(failing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stay_in_process(monkeypatch)
    bots = ready_bots(GAME, "Lazy,Tracker")
    with closing(FakeContext()) as context:
        real = context.executor.play

        def play(*given: Any) -> list[MatchResult]:
            return [forfeited(result, result.players.index(failing)) for result in real(*given)]

        monkeypatch.setattr(context.executor, "play", play)
        table = bot_table(bots, 2, 1, GAME, context)
    assert table == (((0.0, 0.0), (4.0, 0.0)) if failing == "Lazy" else ((0.0, 4.0), (0.0, 0.0)))


def forfeited(result: MatchResult, seat: int) -> MatchResult:
    ranks = tuple(2 if place == seat else 1 for place in range(2))
    return replace(result, ranks=ranks, ending=Ending(EndingKind.EXCEPTION, (seat,)))
