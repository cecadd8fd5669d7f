"""Round robin: all entrants meet each other, once or more often, in rounds in which no entrant plays twice."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.errors import BadValue
from engine.league.formats import Board, Format, Group, Round
from engine.options import option

MOST_GROUPS = (1_000_000, 20_000)  # for two seats, and for more: 20 agents at 10 seats have 184,756 groups


@dataclass(frozen=True)
class Options:
    rounds: int = option(1, low=1, high=1_000_000, help="how often all entrants meet: 1 is single, 2 is double")


def rounds(entrants: Sequence[str], played: Sequence[Round], board: Board, options: Options) -> Iterator[list[Group]]:
    """The remaining rounds of all cycles; late entrants meet all others, withdrawn ones meet none."""
    seats = board.seats
    if math.comb(len(entrants), seats) > MOST_GROUPS[seats > 2]:
        count = f"{len(entrants)} agents at {seats} seats"
        raise BadValue(
            "entrants", count, f"few enough to meet in at most {MOST_GROUPS[seats > 2]:,} ways; try a gauntlet"
        )
    met = Counter(frozenset(meeting.group) for meetings in played for meeting in meetings)
    whole = list(circle(entrants) if seats == 2 else all_groups(entrants, seats))
    turns = [[[turned(group, turn) for group in groups] for groups in whole] for turn in range(seats)]
    for cycle in range(options.rounds):
        for groups in turns[cycle % seats]:
            left = groups if not played else [group for group in groups if met[frozenset(group)] <= cycle]
            if left:
                yield left  # cycles share their lists, so that a schedule of millions stays small


def circle(entrants: Sequence[str]) -> Iterator[list[Group]]:
    """The circle method: one entrant stays, the others move on by one place each round."""
    places: list[str | None] = [*entrants, None] if len(entrants) % 2 else [*entrants]
    half, others = len(places) // 2, len(places) - 1
    for turn in range(others):
        now = [places[0], *(places[1 + (k - turn) % others] for k in range(others))]
        pairs = list(zip(now[:half], reversed(now[half:]), strict=True))
        if turn % 2:
            pairs[0] = pairs[0][::-1]  # else the entrant that stays would always have the same side
        yield [(a, b) for a, b in pairs if a is not None and b is not None]


def all_groups(entrants: Sequence[str], seats: int) -> Iterator[list[Group]]:
    """For more than two seats: all combinations of entrants in one round; seats rotate from group to group."""
    yield [turned(group, place) for place, group in enumerate(itertools.combinations(entrants, seats))]


def turned(group: Group, by: int) -> Group:
    """The group, rotated by some seats."""
    by %= len(group)
    return (*group[by:], *group[:by])


FORMAT = Format("round-robin", "every entrant plays every other", Options, rounds)
