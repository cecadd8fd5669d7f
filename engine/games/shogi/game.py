"""Shogi as a game of the league: its options, how matches begin, and the boards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from engine.errors import BadValue
from engine.game import Bools, Floats, GameInfo, Indices, Ints, Observations, Seeds
from engine.games.shogi import lanes as kernels
from engine.games.shogi.attacks import threats
from engine.games.shogi.lanes import DECLARED, LANE, MATE, PERPETUAL, PLANES, STATS
from engine.games.shogi.moves import MOST_MOVES
from engine.games.shogi.notation import START, write_csa, write_sfen
from engine.games.shogi.openings import positions
from engine.games.shogi.position import ShogiPosition
from engine.games.shogi.scene import KANJI, STYLES, board_scene, caption
from engine.games.shogi.tables import ACTIONS, CELLS, SETS
from engine.options import option, validate
from engine.play.match import EndingKind
from engine.registry import spec_of
from engine.scene import Scene
from engine.seeding import pick, purpose

OPENING = purpose("shogi.opening")
CSA_ENDINGS = {MATE: "TSUMI", DECLARED: "KACHI", PERPETUAL: "ILLEGAL_MOVE"}


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
            stats=STATS,
            masked=True,
            pace=1.5,
            styles=STYLES,
            notations=("csa",),
        )

    def check_start(self, start: str | None) -> None:
        if start is None:
            return
        position = ShogiPosition.from_usi(start, "start")
        if not position.legal().size:
            raise BadValue("start", start, "a position with a legal move left")
        checks = threats(position.cells, position.sets, position.seat)[2]
        if self.options.declaration and not checks and kernels.declares(position.cells, position.sets, position.seat):
            raise BadValue("start", start, "a position that is not won yet by the entering king")

    def boards(self, lanes: int) -> ShogiBoards:
        return ShogiBoards(self.options, lanes)


class ShogiBoards:
    """Matches in progress. Shapes depend on the options, types do not: nothing is compiled twice."""

    def __init__(self, options: ShogiOptions, lanes: int) -> None:
        self._options = options
        self.lanes = np.zeros(lanes, LANE)
        self.lanes["over"] = 1  # nothing is dealt yet
        self.cells: NDArray[np.uint8] = np.zeros((lanes, CELLS), np.uint8)
        self.sets: NDArray[np.uint64] = np.zeros((lanes, SETS), np.uint64)
        self.played: NDArray[np.int32] = np.zeros((lanes, options.move_limit), np.int32)
        self._scores: Floats = np.zeros((lanes, 2))
        self._acting: Bools = np.zeros((lanes, 2), np.bool_)
        self._keys: NDArray[np.uint64] = np.zeros((lanes, options.move_limit + 1), np.uint64)
        self.moves: NDArray[np.int32] = np.zeros((lanes, MOST_MOVES), np.int32)
        self._starts = [(START, 1)] * lanes  # SFEN, and the number of its next move
        self._all = (
            self.lanes, self._scores, self._acting, self._keys, self.cells, self.sets, self.moves, self.played
        )  # fmt: skip
        self._rules = (options.declaration, options.move_limit)

    def deal(self, lanes: Indices, seeds: Seeds, starts: Sequence[str | None]) -> None:
        for lane, seed, start in zip(lanes.tolist(), seeds.tolist(), starts, strict=True):
            self._place(lane, self._first(seed) if start is None else ShogiPosition.from_usi(start, "start"))
            if start is None:
                self._scatter(lane, seed)
        kernels.begin(self._all, lanes, *self._rules)

    def _first(self, seed: int) -> ShogiPosition:
        known = positions()
        return known[pick(len(known), seed, OPENING)] if self._options.opening == "set" else known[0]

    def _place(self, lane: int, position: ShogiPosition) -> None:
        self.cells[lane], self.sets[lane] = position.cells, position.sets
        self._starts[lane] = (position.sfen if position.packed else position.start, position.number)

    def _scatter(self, lane: int, seed: int) -> None:
        """Also where there are no random moves: so it is compiled with the rest, and not at somebody's first click."""
        cells, sets, moves = self.cells[lane], self.sets[lane], self.moves[lane]
        plies = self._options.random_plies if self._options.opening == "random" else 0
        number = 1 + int(kernels.scatter(cells, sets, moves, np.uint64(seed), plies))
        if plies:
            self._starts[lane] = (write_sfen(cells, number), number)

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
        plies = int(self.lanes["plies"][lane])
        packed = tuple(self.played[lane, :plies].tolist())
        return ShogiPosition(start, packed, self.cells[lane].copy(), self.sets[lane].copy(), number + plies)

    def written(self, lane: int, notation: str, names: Sequence[str], ending: EndingKind) -> str:
        """In CSA, the only one there is."""
        words = {EndingKind.RESIGNED: "TORYO", EndingKind.FINISHED: CSA_ENDINGS.get(int(self.lanes["reason"][lane]))}
        words |= {EndingKind.NO_CONTEST: "SENNICHITE", EndingKind.STEP_LIMIT: "MAX_MOVES"}
        position = self.position(lane, 0)
        return write_csa(position.start, position.packed, (names[0], names[1]), words.get(ending) or "CHUDAN")

    def scene(self, lane: int, style: str = KANJI) -> Scene:
        state, (_, number) = self.lanes[lane], self._starts[lane]
        plies, reason, checked = int(state["plies"]), int(state["reason"]), bool(state["checked"])
        last = int(self.played[lane, plies - 1]) if plies else None
        told = caption(self.cells[lane], last, number + plies, reason, checked, self._scores[lane].tolist())
        return board_scene(self.cells[lane], last, told, not state["over"], checked, style)
