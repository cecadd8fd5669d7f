"""Scores of training matches: by seat of one result (`outcomes_of`, `merits_of`), or of a whole batch (`Merits`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.errors import BadValue, UnknownName
from engine.game import Floats
from engine.play.match import MatchResult
from engine.play.results import UNRATED_CODES, ResultBatch

NO_REWARDS = "none"
HEAVIEST = 1e6


def parse_rewards(text: str, what: str, known: Sequence[str], example: str) -> dict[str, float]:
    """Parses NAME=WEIGHT, separated by commas. `what` the names are, and an `example`, are for error messages."""
    rewards: dict[str, float] = {}
    if text.strip() == NO_REWARDS:
        return rewards
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, weight = (word.strip() for word in part.partition("="))
        if name not in known:
            raise UnknownName(what, name, known)
        if name in rewards:
            raise BadValue("rewards", text, f"one weight for each name; {name} has two")
        try:
            rewards[name] = float(weight)
        except ValueError:
            raise BadValue("rewards", part, f"NAME=WEIGHT, such as {example}") from None
        if not abs(rewards[name]) <= HEAVIEST:
            raise BadValue("rewards", part, f"a weight from {-HEAVIEST:g} to {HEAVIEST:g}")
    return rewards


def outcomes_of(result: MatchResult) -> list[float | None]:
    """By seat: the share of opponents that it beat, a tie counting half. None for a seat that failed, and for all seats
    if the match was not played: a failure is no evidence of weakness."""
    if not result.ending.kind.rated:
        return [None] * len(result.ranks)
    outcomes: list[float | None] = []
    for seat, rank in enumerate(result.ranks):
        if seat in result.ending.seats:
            outcomes.append(None)
            continue
        others = [other for place, other in enumerate(result.ranks) if place != seat]
        outcomes.append(sum((rank < other) + 0.5 * (rank == other) for other in others) / len(others))
    return outcomes


def merits_of(result: MatchResult) -> list[float | None]:
    """By seat, from 0 to 1: half for the outcome, half for the margin of the score, which guides a beginner that never
    wins."""
    merits = outcomes_of(result)
    for seat, outcome in enumerate(merits):
        if outcome is not None:
            own = result.scores[seat]
            rest = max(score for place, score in enumerate(result.scores) if place != seat)
            margin = (own - rest) / max(abs(own), abs(rest), 1.0)
            merits[seat] = 0.5 * outcome + 0.25 + 0.25 * min(max(margin, -1.0), 1.0)
    return merits


class Merits:
    """`outcomes_of` and `merits_of` for all matches of a batch, as arrays by match and seat. The numbers count only
    where `valid` is True."""

    def __init__(self, results: ResultBatch) -> None:
        ranks, scores = results.columns.ranks.astype(np.int64), results.columns.scores
        seats = ranks.shape[1]
        self.valid: NDArray[np.bool_] = np.repeat(
            ~np.isin(results.columns.kinds, UNRATED_CODES)[:, None], seats, axis=1
        )
        for place, ending in results.detailed_endings.items():
            self.valid[place, list(ending.seats)] = False
        self.complete: NDArray[np.bool_] = np.logical_and.reduce(self.valid, axis=1)  # by match: all seats are valid
        own, other = ranks[:, :, None], ranks[:, None, :]
        beaten, tied = (own < other).sum(axis=2), (own == other).sum(axis=2) - 1  # each seat ties with itself
        self.outcomes: Floats = (beaten + 0.5 * tied) / (seats - 1)
        rest = np.where(np.eye(seats, dtype=np.bool_), -np.inf, scores[:, None, :]).max(axis=2)
        margin = (scores - rest) / np.maximum(np.maximum(np.abs(scores), np.abs(rest)), 1.0)
        self.merits: Floats = 0.5 * self.outcomes + 0.25 + 0.25 * np.clip(margin, -1.0, 1.0)


def weighted_rewards(results: ResultBatch, names: tuple[str, ...], weights: Mapping[str, float]) -> Floats:
    """By match and seat: the weighted sum of statistics and, under the name "steps", of the length of the match."""
    total = np.zeros(results.columns.scores.shape)
    for name, weight in weights.items():
        steps = results.columns.steps[:, None].astype(np.float64)
        total = total + weight * (steps if name == "steps" else results.columns.stats[:, :, names.index(name)])
    return total
