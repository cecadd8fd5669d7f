"""Scripted Shogi players, from random moves to an alpha-beta search, evaluated in one compiled call.

Payload: JSON such as {"style": "search", "depth": 2}; missing parameters have their defaults.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import uint64
from numpy.typing import NDArray

from agents.scripted.base import BotFamily
from agents.scripted.shogi_search import DEEPEST, SWAP, gain_of, new_frames, search
from engine.bits import int64
from engine.game import Game, Indices, Ints, Seeds, Views
from engine.games.shogi.game import Shogi
from engine.games.shogi.moves import MAX_MOVES, can_move, list_moves
from engine.games.shogi.play import TARGET, copy_position, make_move
from engine.games.shogi.position import ShogiPosition
from engine.games.shogi.tables import CELLS, SETS
from engine.kernels import bare, inline, row
from engine.options import option
from engine.play.match import AgentSpec, MatchResult
from engine.seeding import draw, purpose

STYLES = ("random", "greedy", "material", "search")
RANDOM, GREEDY, MATERIAL, SEARCH = range(4)
CHOICE = purpose("shogi-bot.choice")
SPREAD = 12  # hundredths of a pawn: moves whose values differ by less are chosen at random


@dataclass(frozen=True)
class Bot:
    """A style and its parameters."""

    style: str = option(
        "search", choices=STYLES, help="random move, most valuable capture, best material after one move, or search"
    )
    depth: int = option(2, low=1, high=DEEPEST, help="search: depth in moves, before captures")


BOTS = BotFamily("shogi-bot", 1, Bot)
parse_bot, agent = BOTS.parse, BOTS.agent
SAMPLES = {
    "Pebble": Bot("random"),
    "Magpie": Bot("greedy"),
    "Merchant": Bot("material"),
    "Apprentice": Bot("search", depth=1),
    "Adept": Bot("search", depth=2),
    "Master": Bot("search", depth=3),
}
"""Ready-made bots, weakest first."""

PARAMETERS = np.dtype([("style", "u1"), ("depth", "i8")], align=True)


@inline
def _random_bits(seed, move):  # type: ignore[no-untyped-def]
    """31 random bits for a move."""
    return int64(draw(seed, CHOICE, 0, move & 0xFFF, 0) >> uint64(33))


@bare
def _one_move_ahead(style, seed, position, frames):  # type: ignore[no-untyped-def]
    """The move of a bot that looks at most one move ahead."""
    cells, sets, moves = position
    next_cells, next_sets = frames[0][1], frames[1][1]
    chosen, best = int64(moves[0]), int64(-1)
    for k in range(moves.size):
        move = int64(moves[k])
        value = int64(0)
        if style == GREEDY:
            value = SWAP[int64(cells[move >> TARGET & 127]) & 15]
        elif style == MATERIAL:
            value = gain_of(cells, move)
            copy_position(cells, sets, next_cells, next_sets)
            make_move(next_cells, next_sets, move)
            if not can_move(next_cells, next_sets):
                value = int64(1_000_000)
        value = value << 32 | _random_bits(seed, move)
        if value > best:
            chosen, best = move, value
    return chosen


@row
def act_row(arrays, slot, agent, ply, obs, legal, position):  # type: ignore[no-untyped-def]
    """The action of one bot; `position` is cells, sets and legal moves."""
    bots, seeds, frames, extras = arrays
    cells, sets, moves = position
    bot, seed = bots[agent], draw(seeds[slot], CHOICE, 0, ply, 0)
    if bot.style == SEARCH:
        for k in range(moves.size):
            extras[moves[k] & 0xFFF] = _random_bits(seed, moves[k]) * SPREAD >> 31
        copy_position(cells, sets, frames[0][0], frames[1][0])
        move = search(frames, bot.depth, extras)
    else:
        move = _one_move_ahead(bot.style, seed, position, frames)
    return move & 0xFFF


@bare
def _act(arrays, agents, slots, plies, cells, sets, moves, out):  # type: ignore[no-untyped-def]
    for i in range(out.size):
        count, _ = list_moves(cells[i], sets[i], moves, int64(0))
        position = cells[i], sets[i], moves[:count]
        out[i] = act_row(arrays, slots[i], agents[i], plies[i], None, None, position)


class ShogiPilot:
    """Plays every scripted Shogi agent of a group of lanes."""

    capacity = None
    act_row = staticmethod(act_row)
    observes = False

    def __init__(self, game: Game, slots: int) -> None:
        self._bots = np.zeros(0, PARAMETERS)
        self._seeds: Seeds = np.zeros(slots, np.uint64)
        self._out: Ints = np.zeros(slots, np.int64)
        self._cells: NDArray[np.uint8] = np.zeros((slots, CELLS), np.uint8)
        self._sets: NDArray[np.uint64] = np.zeros((slots, SETS), np.uint64)
        self._moves: NDArray[np.int32] = np.zeros(MAX_MOVES, np.int32)
        self._frames = new_frames()
        self._extras: Ints = np.zeros(game.info.actions, np.int64)

    @property
    def arrays(self) -> tuple[Any, ...]:
        return self._bots, self._seeds, self._frames, self._extras

    def load(self, agent: AgentSpec) -> int:
        bot = parse_bot(agent.payload)
        self._bots = np.append(self._bots, np.array([(STYLES.index(bot.style), bot.depth)], PARAMETERS))
        return len(self._bots) - 1

    def begin(self, slots: Indices, agents: Indices, seeds: Seeds) -> None:
        self._seeds[slots] = seeds

    def act(self, views: Views) -> Ints:
        for place in range(len(views)):
            position = views.position(place)
            assert isinstance(position, ShogiPosition), f"{position!r} is not a position of Shogi"
            self._cells[place], self._sets[place] = position.cells, position.sets
        out = self._out[: len(views)]
        _act(self.arrays, views.agents, views.slots, views.plies, self._cells, self._sets, self._moves, out)
        return out

    def end(self, slots: Indices, results: Sequence[MatchResult] | None) -> None:
        pass

    def close(self) -> None:
        pass


KIND = BOTS.kind(Shogi.name, ShogiPilot, SAMPLES)
