"""The game of Shogi: options, starts and boards."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from engine.errors import BadValue
from engine.game import BoardRows, Bools, Floats, GameInfo, Indices, Ints, Observations, Seeds
from engine.games.shogi import lanes as kernels
from engine.games.shogi.csa import ending_word, write_csa
from engine.games.shogi.lanes import LANE, MAX_START_MOVES, MEASURES, PLANES, RULES, STATS, Arrays
from engine.games.shogi.moves import MAX_MOVES
from engine.games.shogi.notation import START
from engine.games.shogi.openings import STARTS
from engine.games.shogi.position import ShogiPosition
from engine.games.shogi.scene import KANJI, SIDES, STYLES, board_scene, caption, ending_of
from engine.games.shogi.tables import ACTIONS, CELLS, SETS
from engine.options import option, validate
from engine.play.match import Ending
from engine.registry import spec_of
from engine.scene import Scene

DEFAULT_START = (START, 1)  # SFEN, and the number of its next move


@dataclass(frozen=True)
class ShogiOptions:
    opening: str = option(
        "set",
        choices=("set", "random", "none"),
        help="how a match without a given start begins: an opening of the set, random moves, or the standard position",
    )
    random_plies: int = option(8, low=1, high=60, help="number of random moves at the start if opening=random")
    move_limit: int = option(512, low=2, high=4096, help="moves after which the match is a draw")
    declaration: bool = option(True, help="a side to move that meets the 27-point rule wins by entering king")

    def __post_init__(self) -> None:
        validate(self)


class Shogi:
    """The rules with their options. Seat 0 is Black, who moves first in the standard position."""

    name: ClassVar[str] = "shogi"
    version: ClassVar[int] = 1
    Options: ClassVar[type] = ShogiOptions
    usi_variant: ClassVar[str] = "shogi"  # USI engines can play it

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
            measures=MEASURES,
            masked=True,
            seat_names=SIDES,
            pace=1.5,
            styles=STYLES,
            notations=("csa",),
        )

    def check_start(self, start: str | None) -> None:
        if start is None:
            return
        if ending := _ending_of_start(start, self.options.declaration):
            raise BadValue("start", start, f"a position in which the match is not over (it is over by {ending})")

    def boards(self, lanes: int) -> ShogiBoards:
        return ShogiBoards(self.options, lanes)


@functools.lru_cache(512)  # a tournament uses the same starts many times
def _read_start(start: str) -> tuple[ShogiPosition, tuple[int, ...]]:
    """A position, and the moves from it to the start of the match."""
    given = ShogiPosition.from_usi(start, "start", MAX_START_MOVES)
    return ShogiPosition.from_sfen(given.start), given.packed


@functools.lru_cache(512)
def _ending_of_start(start: str, declaration: bool) -> str:
    """How a match with this start is already over; empty if it is not."""
    boards = ShogiBoards(ShogiOptions(declaration=declaration), 1)
    boards.deal(np.zeros(1, np.uint32), np.zeros(1, np.uint64), [start])
    [lane] = boards.lanes
    after = f" after move {lane['before']}" if lane["before"] else ""
    return ending_of(int(lane["reason"]), bool(lane["checked"])) + after if lane["over"] else ""


@functools.cache
def _opening_arrays(count: int) -> tuple[NDArray[Any], ...]:
    """The first `count` openings as arrays: the standard position, and the moves from it."""
    position, _ = _read_start(STARTS[0])
    lines = [_read_start(start)[1] for start in STARTS[:count]]
    moves = np.zeros((count, max(1, *map(len, lines))), np.int32)
    for row, line in zip(moves, lines, strict=True):
        row[: len(line)] = line
    return position.cells, position.sets, np.array([len(line) for line in lines], np.uint32), moves


class ShogiBoards:
    """Matches in progress. Array types do not depend on the options, so kernels are compiled once."""

    rows = BoardRows(
        kernels.observe_row,
        kernels.apply_row,
        kernels.over_row,
        kernels.acting_row,
        kernels.legal_row,
        kernels.position_row,
        kernels.score_row,
        kernels.stats_row,
    )

    def __init__(self, options: ShogiOptions, lanes: int) -> None:
        o, longest = options, MAX_START_MOVES + options.move_limit
        plies = o.random_plies if o.opening == "random" else 0
        self.arrays = Arrays(
            lanes=np.zeros(lanes, LANE),
            scores=np.zeros((lanes, 2)),
            acting=np.zeros((lanes, 2), np.bool_),
            keys=np.zeros((lanes, longest + 1), np.uint64),
            cells=np.zeros((lanes, CELLS), np.uint8),
            sets=np.zeros((lanes, SETS), np.uint64),
            moves=np.zeros((lanes, MAX_MOVES), np.int32),
            played=np.zeros((lanes, longest), np.int32),
            rules=np.array([(o.move_limit, plies, o.declaration)], RULES),
        )
        self.lanes, self._scores, self._acting, _, self.cells, self.sets, self.moves, self.played, _ = self.arrays
        self.lanes["over"] = 1  # not dealt yet
        self._openings = len(STARTS) if o.opening == "set" else 1
        self._starts = [DEFAULT_START] * lanes

    def deal(self, lanes: Indices, seeds: Seeds, starts: Sequence[str | None]) -> None:
        given = np.zeros(len(starts), np.bool_)
        for row, (lane, start) in enumerate(zip(lanes.tolist(), starts, strict=True)):
            if start is None:
                self._starts[lane] = DEFAULT_START
            else:
                given[row] = True
                self._place(lane, *_read_start(start))
        kernels.deal(self.arrays, _opening_arrays(self._openings), lanes, seeds, given)

    def _place(self, lane: int, position: ShogiPosition, before: tuple[int, ...]) -> None:
        self.cells[lane], self.sets[lane] = position.cells, position.sets
        self.lanes["before"][lane] = len(before)
        self.played[lane, : len(before)] = before
        self._starts[lane] = (position.start, position.number)

    def acting(self) -> Bools:
        return self._acting

    def over(self) -> NDArray[np.int8]:
        return self.lanes["over"]

    def observe(self, lanes: Indices, seats: Indices, out: Observations) -> None:
        kernels.observe(self.arrays, lanes, seats, out)

    def legal(self, lanes: Indices, seats: Indices, out: Bools) -> None:
        kernels.legal(self.arrays, lanes, seats, out)

    def apply(self, lanes: Indices, actions: Ints) -> None:
        kernels.apply(self.arrays, lanes, actions)

    def scores(self) -> Floats:
        return self._scores

    def stats(self, lanes: Indices) -> Floats:
        return self.lanes["stats"][lanes].astype(np.float64)

    def measures(self, lanes: Indices) -> Floats:
        out = np.empty((len(lanes), 2, len(MEASURES)))
        kernels.measures(self.arrays, lanes, out)
        return out

    def copy(self, source: int, target: int) -> None:
        for array in self.arrays[:-1]:
            array[target] = array[source]
        self._starts[target] = self._starts[source]

    def position(self, lane: int, seat: int) -> ShogiPosition:
        start, number = self._starts[lane]
        packed = tuple(self.played[lane, : self._moves_made(lane)].tolist())
        return ShogiPosition(start, packed, self.cells[lane].copy(), self.sets[lane].copy(), number + len(packed))

    def _moves_made(self, lane: int) -> int:
        """The number of all moves, including those before the start of the match."""
        return int(self.lanes["before"][lane]) + int(self.lanes["plies"][lane])

    def written(self, lane: int, notation: str, names: Sequence[str], ending: Ending) -> str:
        """The match in CSA notation, the only one supported."""
        position, reason = self.position(lane, 0), int(self.lanes["reason"][lane])
        word = ending_word(ending, reason, position.seat, self._scores[lane].tolist())
        comment = f"{ending.kind.value}: {ending.reason}" if ending.reason else ""
        return write_csa(position.start, position.packed, names, word, comment)

    def scene(self, lane: int, style: str = KANJI) -> Scene:
        state, (_, number) = self.lanes[lane], self._starts[lane]
        count, reason, checked = self._moves_made(lane), int(state["reason"]), bool(state["checked"])
        last = int(self.played[lane, count - 1]) if count else None
        ending = ending_of(reason, checked)
        text = caption(self.cells[lane], last, number + count, ending, checked, self._scores[lane].tolist())
        return board_scene(self.cells[lane], last, text, ending, checked, style)
