"""Plays matches in an arena, for tests."""

from __future__ import annotations

from collections.abc import Sequence

from engine.game import Game
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import MatchResult, MatchSpec
from tests.plugins.pilots import agent

QUICK = {"points": 1, "step_limit": 300}


def specs_of(game: Game, cases: Sequence[tuple[str, str, int]]) -> list[MatchSpec]:
    return [MatchSpec(f"m{n}", game.spec, (agent(a), agent(b)), seed) for n, (a, b, seed) in enumerate(cases)]


def run(specs: Sequence[MatchSpec], lanes: int) -> dict[str, MatchResult]:
    with SequentialMatchExecutor(lanes, quarantine_after=None) as executor:
        results = list(executor.run(specs))
    assert sorted(result.id for result in results) == sorted(spec.id for spec in specs), "one result for each match"
    return {result.id: result for result in results}
