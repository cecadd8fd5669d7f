"""Sequential test: two agents meet until one of two hypotheses about their difference in Elo is accepted.

Wald's sequential probability ratio test (SPRT), evaluated after whole steps, so that workers need not wait for each
other after every pair; evaluating it less often than after every result only lowers the risks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.errors import BadValue
from engine.league.formats import Board, Format, Group, Round
from engine.league.statistics import Sprt, sprt
from engine.options import option


@dataclass(frozen=True)
class Options:
    elo0: float = option(0.0, low=-1000.0, high=1000.0, help="H0: the first agent is stronger by at most this Elo")
    elo1: float = option(10.0, low=-1000.0, high=1000.0, help="H1: the first agent is stronger by at least this Elo")
    alpha: float = option(0.05, low=1e-6, high=0.4999, help="risk of wrongly accepting elo1")
    beta: float = option(0.05, low=1e-6, high=0.4999, help="risk of wrongly accepting elo0")
    model: str = option("normalised", choices=("normalised", "logistic"), help="the scale of elo0 and elo1")
    step: int = option(16, low=1, high=100_000, help="encounters before the first evaluation; later steps are longer")
    most: int = option(50_000, low=1, high=10_000_000, help="encounters after which the test ends undecided")


def rounds(entrants: Sequence[str], played: Sequence[Round], board: Board, options: Options) -> Iterator[list[Group]]:
    """The next step, unless the test is decided."""
    if board.seats != 2:
        raise BadValue("seats", board.seats, "2: a sequential test compares two agents")
    if len(entrants) != 2:
        raise BadValue("entrants", tuple(entrants), "two agents")
    if board.games > 2:
        raise BadValue("games", board.games // 2, "1: every encounter is one result of the test")
    if any(set(meeting.group) != set(entrants) for meetings in played for meeting in meetings):
        raise BadValue("entrants", tuple(entrants), "the two that have met so far: start a new test")
    done = sum(map(len, played))
    if done < options.most and stand(played, options).verdict is None:
        size = min(max(options.step, done // 8), options.most - done)
        yield [(entrants[0], entrants[1])] * size


def stand(played: Sequence[Round], options: Options) -> Sprt:
    """The state of the test, from the first entrant's view; in pairs if sides were swapped."""
    meetings = [meeting for same_round in played for meeting in same_round]
    games = meetings[0].games if meetings else 2
    counts = [0] * (2 * games + 1)
    for meeting in meetings:
        counts[round(meeting.scores[0] * 2 * games)] += 1
    return evaluate(counts, options)


def evaluate(counts: Sequence[int], options: Options) -> Sprt:
    return sprt(counts, options.elo0, options.elo1, options.alpha, options.beta, options.model)  # type: ignore[arg-type]


FORMAT = Format(
    "sequential-test",
    "sequential probability ratio test (SPRT) of two agents",
    Options,
    rounds,
    True,
)
