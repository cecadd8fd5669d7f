"""From pairings to matches: pairs of games with sides swapped, which share a seed and a start."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from engine.play.match import AgentSpec, GameSpec, MatchSpec
from engine.seeding import derive


def swapped_pairs(
    game: GameSpec, pairings: Iterable[tuple[AgentSpec, AgentSpec]], pairs: int, seed: int
) -> Iterator[MatchSpec]:
    """`pairs` pairs of games for each pairing, all pairings in turn, so that a part of the plan is a fair sample of it;
    what favours a side favours both players once."""
    every = list(pairings)
    for pair in range(pairs):
        for first, second in every:
            shared = derive(seed, first.id, second.id, pair)
            for players, sides in (((first, second), "a"), ((second, first), "b")):
                yield MatchSpec(f"{first.id!r} - {second.id!r} {pair + 1}{sides}", game, players, shared)
