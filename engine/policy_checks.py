"""A conformance check of policies: their trajectories are those of their matches, alone and in any company."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from engine.game import Game
from engine.play.match import MatchResult, MatchSpec
from engine.play.rollout import Rollout, Trajectories

STEPS = 48  # of each stream


def check_policy(game: Game, specs: Sequence[MatchSpec], played: Sequence[MatchResult]) -> None:
    """Check that `decide` answers as `act` does in these matches, and that no row changes the numbers of another."""
    streams = range(len(specs))
    ticked = _collect(game, specs, streams, compiled=False)
    assert ticked.acted.any(), "no agent has acted"
    expected = {f"{stream}.0": result for stream, result in enumerate(played)}
    for result in ticked.results:
        other = expected.get(result.id)
        if other is not None:
            same = (result.scores, result.ranks, result.steps) == (other.scores, other.ranks, other.steps)
            assert same, f"{result.players}: decide() and act() answer differently (match {other.id})"
    for stream in streams:
        _compare(ticked, _collect(game, specs, [stream], compiled=False), stream, specs[stream])
    marched = _collect(game, specs, streams, compiled=True)
    for name in Trajectories._fields[:-1]:
        expected, other = getattr(ticked, name), getattr(marched, name)
        assert expected is other is None or np.array_equal(expected, other), f"`{name}`: policy_row and decide() differ"


def _compare(whole: Trajectories, alone: Trajectories, stream: int, spec: MatchSpec) -> None:
    own = whole.part(slice(stream, stream + 1))
    for name in Trajectories._fields[:-1]:
        expected, other = getattr(own, name), getattr(alone, name)
        if expected is not None and not np.array_equal(expected, other):
            names = tuple(player.id for player in spec.players)
            raise AssertionError(f"{names}: `{name}` depends on the other rows of a call, or on their order")


def _collect(game: Game, specs: Sequence[MatchSpec], streams: Sequence[int], compiled: bool) -> Trajectories:
    def plan(stream: int, k: int) -> MatchSpec:
        return replace(specs[stream], id=f"{stream}.{k}", seed=specs[stream].seed + k * len(specs))

    with Rollout(game, streams, plan, compiled=compiled) as rollout:
        return rollout.collect(STEPS)
