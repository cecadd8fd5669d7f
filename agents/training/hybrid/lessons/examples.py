"""Makes arrays of lessons: plays their matches again, and observes the positions of the examples."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from agents.training.hybrid.data import Examples
from agents.training.hybrid.lessons.format import Lesson
from agents.training.hybrid.lessons.replay import Moves, Replay
from engine.errors import BadValue
from engine.game import Game

MOST_BYTES = 512 << 20  # of observations of all examples


def most_examples(game: Game) -> int:
    """So that the observations of all examples fit into memory."""
    return max(MOST_BYTES // (4 * math.prod(game.info.observation)), 1)


def examples_of(game: Game, matches: Sequence[Lesson]) -> Examples:
    """Raises BadValue if these matches cannot have happened, as in a file that is damaged."""
    info = game.info
    first = np.cumsum([0, *[len(match.actions) for match in matches]])
    places = np.concatenate([first[at] + match.places for at, match in enumerate(matches)])
    labels = np.concatenate([match.labels for match in matches])
    weights = np.array([match.weights for match in matches])
    inputs = np.zeros((len(places), *info.observation), np.float32)
    chosen = np.zeros(len(places), np.float32)
    legal = np.ones((len(places), info.actions), np.uint8) if info.masked else None
    moves = [Moves(match.name, match.seed, match.start, match.actions, None) for match in matches]
    replay, seen = Replay(game, moves), 0
    for turns in replay.turns():
        at = first[turns.matches] + turns.places
        number = np.minimum(np.searchsorted(places, at), len(places) - 1)
        rows = np.flatnonzero(places[number] == at)
        if not rows.size:
            continue
        seen += rows.size
        number, lanes, seats = number[rows], turns.lanes[rows], turns.seats[rows]
        out = np.zeros((len(rows), *info.observation), np.float32)
        replay.boards.observe(lanes, seats, out)
        inputs[number], chosen[number] = out, weights[turns.matches[rows], seats]
        if legal is not None and turns.legal is not None:
            legal[number] = turns.legal[rows]
    if seen < len(places):
        raise BadValue("lessons", f"{seen:,} examples", f"{len(places):,}: matches end before")
    shape = inputs.shape if len(info.observation) == 3 else (len(inputs), -1)  # other shapes are learned as vectors
    return Examples(inputs.reshape(shape), labels, chosen, info.actions, legal)
