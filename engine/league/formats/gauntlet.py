"""Gauntlet: one or a few challengers meet all other entrants; the others do not meet each other."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.errors import BadValue
from engine.league.formats import Board, Format, Group, Round
from engine.league.formats.round_robin import MOST_GROUPS, turned
from engine.options import option


@dataclass(frozen=True)
class Options:
    challengers: int = option(1, low=1, high=1000, help="number of challengers: the first of the entrants")
    rounds: int = option(1, low=1, high=1_000_000, help="how often each challenger meets every other entrant")


def rounds(entrants: Sequence[str], played: Sequence[Round], board: Board, options: Options) -> Iterator[list[Group]]:
    """A round is one challenger against all other entrants."""
    seats = board.seats
    challengers, field = entrants[: options.challengers], entrants[options.challengers :]
    if len(field) < seats - 1:
        raise BadValue(
            "challengers", options.challengers, f"few enough to leave {seats - 1} of {len(entrants)} entrants"
        )
    if math.comb(len(field), seats - 1) > MOST_GROUPS[1]:
        raise BadValue(
            "entrants", f"{len(entrants)} agents at {seats} seats", f"at most {MOST_GROUPS[1]:,} boards a round"
        )
    if any(not set(meeting.group) & set(challengers) for meetings in played for meeting in meetings):
        raise BadValue("entrants", tuple(entrants), "a list with the same challengers; only other entrants may leave")
    met = Counter(frozenset(meeting.group) for meetings in played for meeting in meetings)
    boards = [
        [(challenger, *others) for others in itertools.combinations(field, seats - 1)] for challenger in challengers
    ]
    turns = [
        [[turned(group, turn + i + place) for place, group in enumerate(groups)] for i, groups in enumerate(boards)]
        for turn in range(seats)
    ]
    for cycle in range(options.rounds):
        for groups in turns[cycle % seats]:
            left = [group for group in groups if met[frozenset(group)] <= cycle]
            if left:
                yield left


FORMAT = Format("gauntlet", "each challenger plays all other entrants", Options, rounds)
