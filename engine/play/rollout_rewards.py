"""Rewards besides the score: the changes of statistics and measures of a game, each with a weight."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np

from engine.errors import UnknownName
from engine.game import Boards, Floats, Game, GameInfo, Indices, MeasuredBoards


def reward_names(info: GameInfo) -> tuple[str, ...]:
    """The names that may have a weight: of statistics, then of measures."""
    return info.stats + info.measures


def weights_of(game: Game, rewards: Mapping[str, float]) -> Floats:
    """The weight of each of `reward_names`; empty if there are no rewards besides the score."""
    names = reward_names(game.info)
    weights = np.zeros(len(names) if rewards else 0)
    for name, weight in rewards.items():
        if name not in names:
            raise UnknownName(f"statistic or measure of {game.spec.name}", name, names)
        weights[names.index(name)] = weight
    return weights


def weighted_scores(boards: Boards, info: GameInfo, weights: Floats, lanes: Indices) -> Floats:
    """[len(lanes), seats]: the scores, plus weighted statistics and measures. A reward is the change of it in one step.
    Adds in the same order as the loop of `engine.play.rollout_driver`, so the bits are the same."""
    totals: Floats = boards.scores()[lanes]
    if not weights.size:
        return totals
    parts = [boards.stats(lanes)]
    if info.measures:
        parts.append(cast(MeasuredBoards, boards).measures(lanes))
    values = np.concatenate(parts, axis=2)
    for place, weight in enumerate(weights.tolist()):
        totals = totals + weight * values[:, :, place]
    return totals
