"""Scripted Shogi players, from dice to a search of some moves, all of them in one compiled call.

Payload: JSON such as {"style": "search", "depth": 2}; without it a parameter has its default.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import uint64
from numpy.typing import NDArray

from agents.scripted.bots import Bots
from agents.scripted.shogi_search import DEEPEST, SWAP, gain_of, new_frames, search
from engine.game import Game, Indices, Ints, Seeds, Views
from engine.games.shogi.bits import int64
from engine.games.shogi.game import Shogi
from engine.games.shogi.moves import list_moves
from engine.games.shogi.play import TARGET, make
from engine.games.shogi.position import ShogiPosition
from engine.games.shogi.tables import CELLS, SETS
from engine.kernels import kernel
from engine.options import option
from engine.play.match import AgentSpec, MatchResult
from engine.seeding import draw, purpose

STYLES = ("random", "greedy", "material", "search")
RANDOM, GREEDY, MATERIAL, SEARCH = range(4)
CHOICE = purpose("shogi-bot.choice")
SPREAD = 12  # hundredths of a pawn by which worths may differ and still be chosen between by chance


@dataclass(frozen=True)
class Bot:
    """A style and its parameters."""

    style: str = option(
        "search", choices=STYLES, help="any move; the dearest capture; the best material a move on; or a search"
    )
    depth: int = option(2, low=1, high=DEEPEST, help="moves that a search looks ahead, before captures")


BOTS = Bots("shogi-bot", 1, Bot)
parse_bot, agent = BOTS.parse, BOTS.agent
SAMPLES = {
    "Pebble": Bot("random"),
    "Magpie": Bot("greedy"),
    "Merchant": Bot("material"),
    "Apprentice": Bot("search", depth=1),
    "Adept": Bot("search", depth=2),
    "Master": Bot("search", depth=3),
}
"""The ready-made ones, weakest first."""

PARAMETERS = np.dtype([("style", "u1"), ("depth", "i8")], align=True)


@kernel
def _glance(style, frames, extras):  # type: ignore[no-untyped-def]
    """The players that look one move ahead at most."""
    cells, sets, moves = frames[0], frames[1], frames[2]
    count, _ = list_moves(cells[0], sets[0], moves[0], int64(0))
    chosen, best = int64(moves[0, 0]), int64(-1)
    for k in range(count):
        move = int64(moves[0, k])
        worth = int64(0)
        if style == GREEDY:
            worth = SWAP[int64(cells[0, move >> TARGET & 127]) & 15]
        elif style == MATERIAL:
            worth = gain_of(cells[0], move)
            cells[1] = cells[0]
            sets[1] = sets[0]
            make(cells[1], sets[1], move)
            if list_moves(cells[1], sets[1], moves[1], int64(0))[0] == 0:
                worth = int64(1_000_000)
        worth = worth << 32 | extras[move & 0xFFF]
        if worth > best:
            chosen, best = move, worth
    return chosen


@kernel
def _act(bots, agents, seeds, slots, plies, cells, sets, frames, extras, out):  # type: ignore[no-untyped-def]
    for i in range(out.size):
        bot, seed = bots[agents[i]], draw(seeds[slots[i]], CHOICE, 0, plies[i], 0)
        frames[0][0] = cells[i]
        frames[1][0] = sets[i]
        searches = bot.style == SEARCH
        for action in range(extras.size):
            bits = draw(seed, CHOICE, 0, action, 0) >> uint64(33)
            extras[action] = int64(bits) * SPREAD >> 31 if searches else int64(bits)
        move = search(frames, bot.depth, extras) if searches else _glance(bot.style, frames, extras)
        out[i] = move & 0xFFF


class ShogiPilot:
    """Plays every scripted Shogi agent of a group of lanes."""

    capacity = None

    def __init__(self, game: Game, slots: int) -> None:
        self._bots = np.zeros(0, PARAMETERS)
        self._seeds: Seeds = np.zeros(slots, np.uint64)
        self._out: Ints = np.zeros(slots, np.int64)
        self._cells: NDArray[np.uint8] = np.zeros((slots, CELLS), np.uint8)
        self._sets: NDArray[np.uint64] = np.zeros((slots, SETS), np.uint64)
        self._frames = new_frames()
        self._extras: Ints = np.zeros(game.info.actions, np.int64)

    def load(self, agent: AgentSpec) -> int:
        bot = parse_bot(agent.payload)
        self._bots = np.append(self._bots, np.array([(STYLES.index(bot.style), bot.depth)], PARAMETERS))
        return len(self._bots) - 1

    def begin(self, slots: Indices, agents: Indices, seeds: Seeds) -> None:
        self._seeds[slots] = seeds

    def act(self, views: Views) -> Ints:
        for row in range(len(views)):
            position = views.position(row)
            assert isinstance(position, ShogiPosition), f"{position!r} is no position of Shogi"
            self._cells[row], self._sets[row] = position.cells, position.sets
        out = self._out[: len(views)]
        _act(
            self._bots, views.agents, self._seeds, views.slots, views.plies,
            self._cells, self._sets, self._frames, self._extras, out,
        )  # fmt: skip
        return out

    def end(self, slots: Indices, results: Sequence[MatchResult] | None) -> None:
        pass

    def close(self) -> None:
        pass


KIND = BOTS.kind(Shogi.name, ShogiPilot, SAMPLES)
