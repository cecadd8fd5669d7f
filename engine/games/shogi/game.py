"""Shogi as a game of the league: its options, how matches begin, and the boards."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from engine.errors import BadValue
from engine.game import Bools, Floats, GameInfo, Indices, Ints, Observations, Seeds
from engine.games.shogi import lanes as kernels
from engine.games.shogi.csa import ending_word, write_csa
from engine.games.shogi.lanes import LANE, MOST_BEFORE, PLANES, STATS
from engine.games.shogi.moves import MOST_MOVES
from engine.games.shogi.notation import START
from engine.games.shogi.openings import STARTS
from engine.games.shogi.position import ShogiPosition
from engine.games.shogi.scene import KANJI, SIDES, STYLES, board_scene, caption, ending_of
from engine.games.shogi.tables import ACTIONS, CELLS, SETS
from engine.options import option, validate
from engine.play.match import Ending
from engine.registry import spec_of
from engine.scene import Scene
from engine.seeding import pick, purpose

OPENING = purpose("shogi.opening")


@dataclass(frozen=True)
class ShogiOptions:
    opening: str = option(
        "set",
        choices=("set", "random", "none"),
        help="how a match without a start begins: from the opening set, with random moves, or from the usual position",
    )
    random_plies: int = option(8, low=1, high=60, help="random moves at the start, with opening=random")
    move_limit: int = option(512, low=2, high=4096, help="moves after which the match is a draw")
    declaration: bool = option(True, help="a side that fulfils the 27-point rule at its turn wins by its entered king")

    def __post_init__(self) -> None:
        validate(self)


class Shogi:
    """The rules with their options. Seat 0 is Black, who begins from the usual position."""

    name: ClassVar[str] = "shogi"
    version: ClassVar[int] = 1
    Options: ClassVar[type] = ShogiOptions
    usi_variant: ClassVar[str] = "shogi"  # its positions can be told to USI engines

    def __init__(self, options: ShogiOptions) -> None:
        self.options = options
        self.spec = spec_of(self.name, self.version, options)
        self.info = GameInfo(
            title="Shogi",
            seats=2,
            actions=ACTIONS,
            observation=(PLANES, 9, 9),
            bounds=(0.0, 1.0),
            stats=STATS,
            masked=True,
            seat_names=SIDES,
            pace=1.5,
            styles=STYLES,
            notations=("csa",),
        )

    def check_start(self, start: str | None) -> None:
        if start is None:
            return
        boards = self.boards(1)
        boards.deal(np.zeros(1, np.uint32), np.zeros(1, np.uint64), [start])
        [lane] = boards.lanes
        if lane["over"]:
            told = ending_of(int(lane["reason"]), bool(lane["checked"]))
            after = f" after move {lane['before']}" if lane["before"] else ""
            raise BadValue("start", start, f"one that is not over yet; this is, by {told}{after}")

    def boards(self, lanes: int) -> ShogiBoards:
        return ShogiBoards(self.options, lanes)


@functools.lru_cache(512)  # the starts of a tournament come again and again
def _read(start: str) -> tuple[ShogiPosition, tuple[int, ...]]:
    """A position, and the moves from there to where the match begins."""
    given = ShogiPosition.from_usi(start, "start", MOST_BEFORE)
    return ShogiPosition.from_sfen(given.start), given.packed


class ShogiBoards:
    """Matches in progress. Shapes depend on the options, types do not: nothing is compiled twice."""

    def __init__(self, options: ShogiOptions, lanes: int) -> None:
        self._options = options
        self.lanes = np.zeros(lanes, LANE)
        self.lanes["over"] = 1  # nothing is dealt yet
        self.cells: NDArray[np.uint8] = np.zeros((lanes, CELLS), np.uint8)
        self.sets: NDArray[np.uint64] = np.zeros((lanes, SETS), np.uint64)
        self.played: NDArray[np.int32] = np.zeros((lanes, MOST_BEFORE + options.move_limit), np.int32)
        self._scores: Floats = np.zeros((lanes, 2))
        self._acting: Bools = np.zeros((lanes, 2), np.bool_)
        self._keys: NDArray[np.uint64] = np.zeros((lanes, MOST_BEFORE + options.move_limit + 1), np.uint64)
        self.moves: NDArray[np.int32] = np.zeros((lanes, MOST_MOVES), np.int32)
        self._starts = [(START, 1)] * lanes  # SFEN, and the number of its next move; moves before the match follow
        self._all = (
            self.lanes, self._scores, self._acting, self._keys, self.cells, self.sets, self.moves, self.played
        )  # fmt: skip
        self._rules = (options.declaration, options.move_limit)

    def deal(self, lanes: Indices, seeds: Seeds, starts: Sequence[str | None]) -> None:
        for lane, seed, start in zip(lanes.tolist(), seeds.tolist(), starts, strict=True):
            self._place(lane, *_read(self._first(seed) if start is None else start))
            if start is None:
                self._scatter(lane, seed)
        kernels.begin(self._all, lanes, *self._rules)

    def _first(self, seed: int) -> str:
        return STARTS[pick(len(STARTS), seed, OPENING) if self._options.opening == "set" else 0]

    def _place(self, lane: int, position: ShogiPosition, before: tuple[int, ...]) -> None:
        self.cells[lane], self.sets[lane] = position.cells, position.sets
        self.lanes["before"][lane] = len(before)
        self.played[lane, : len(before)] = before
        self._starts[lane] = (position.start, position.number)

    def _scatter(self, lane: int, seed: int) -> None:
        """Also where there are no random moves: so it is compiled with the rest, and not at somebody's first click."""
        rows = self.cells[lane], self.sets[lane], self.moves[lane], self._keys[lane], self.played[lane]
        plies = self._options.random_plies if self._options.opening == "random" else 0
        self.lanes["before"][lane] += kernels.scatter(*rows, np.uint64(seed), plies)

    def acting(self) -> Bools:
        return self._acting

    def over(self) -> NDArray[np.int8]:
        return self.lanes["over"]

    def observe(self, lanes: Indices, seats: Indices, out: Observations) -> None:
        kernels.observe(self.lanes, self.cells, lanes, seats, out)

    def legal(self, lanes: Indices, seats: Indices, out: Bools) -> None:
        kernels.mask(self.lanes, self.moves, lanes, out)

    def apply(self, lanes: Indices, actions: Ints) -> None:
        kernels.advance(self._all, lanes, actions, *self._rules)

    def scores(self) -> Floats:
        return self._scores

    def stats(self, lanes: Indices) -> Floats:
        return self.lanes["stats"][lanes].astype(np.float64)

    def copy(self, source: int, target: int) -> None:
        for array in self._all:
            array[target] = array[source]
        self._starts[target] = self._starts[source]

    def position(self, lane: int, seat: int) -> ShogiPosition:
        start, number = self._starts[lane]
        packed = tuple(self.played[lane, : self._made(lane)].tolist())
        return ShogiPosition(start, packed, self.cells[lane].copy(), self.sets[lane].copy(), number + len(packed))

    def _made(self, lane: int) -> int:
        """How many moves were made in all, those before the match among them."""
        return int(self.lanes["before"][lane]) + int(self.lanes["plies"][lane])

    def written(self, lane: int, notation: str, names: Sequence[str], ending: Ending) -> str:
        """In CSA, the only one there is."""
        position, reason = self.position(lane, 0), int(self.lanes["reason"][lane])
        word = ending_word(ending, reason, position.seat, self._scores[lane].tolist())
        comment = f"{ending.kind.value}: {ending.reason}" if ending.reason else ""
        return write_csa(position.start, position.packed, names, word, comment)

    def scene(self, lane: int, style: str = KANJI) -> Scene:
        state, (_, number) = self.lanes[lane], self._starts[lane]
        made, reason, checked = self._made(lane), int(state["reason"]), bool(state["checked"])
        last = int(self.played[lane, made - 1]) if made else None
        ending = ending_of(reason, checked)
        told = caption(self.cells[lane], last, number + made, ending, checked, self._scores[lane].tolist())
        return board_scene(self.cells[lane], last, told, ending, checked, style)
