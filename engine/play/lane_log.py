"""What is written down about the lanes of a group: logs of actions, forfeits, and in the end the results."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.game import Boards, Bools, Floats, GameInfo, Indices, Seeds
from engine.play.lane_kernels import LANE, begin_lanes, bits_for, end_lanes, unpack
from engine.play.heartbeat import Marks
from engine.play.match import Ending, EndingKind, MatchSpec
from engine.play.results import CODES, Columns, ResultBatch

RESULT_CAP = 16 << 20  # bytes of one match's actions: beyond that the match has no result
UNSTEADY = [CODES[kind] for kind in (EndingKind.MEMORY, EndingKind.TIMEOUT)]  # they depend on the machine
OVER = np.array(  # by what `Boards.over` says
    [
        CODES[EndingKind.STEP_LIMIT],  # the rules would go on, but the limit of the match is reached
        CODES[EndingKind.FINISHED],
        CODES[EndingKind.STEP_LIMIT],
        CODES[EndingKind.NO_CONTEST],
    ],
    np.uint8,
)


class Records:
    """The lanes of a group as they are written down: `lanes` and `log` are filled by kernels."""

    def __init__(self, info: GameInfo, lanes: int, *, record: bool, marks: Marks | None) -> None:
        self._info = info
        self.bits = np.uint32(bits_for(info.actions) if record else 0)
        if marks is not None and marks.log.size:  # how far a match came is to be known even if its process dies
            self.lanes, self.log = marks.lane, marks.log
        else:
            self.lanes = np.zeros(lanes, LANE)
            self.log = np.zeros((lanes, 513), "<u8")  # an odd width: rows a power of two apart evict each other
        self._full: dict[int, list[bytes]] = {}  # by lane, what did not fit into its row
        self._longest = 0  # bits in the longest row
        self._since = np.zeros(lanes)
        self._faults: dict[tuple[int, int], tuple[EndingKind, str]] = {}  # by lane and seat

    def begin(self, lanes: Indices, limits: Sequence[int], ways: Sequence[int], seeds: Seeds) -> tuple[Seeds, Indices]:
        """New matches on these lanes; a limit of 0 means no limit. Returns the seeds and the slots of their seats."""
        own: Seeds = np.empty(lanes.size * self._info.seats, np.uint64)
        slots: Indices = np.empty(own.size, np.uint32)
        begin_lanes(self.lanes, lanes, np.array(limits, np.uint32), np.array(ways, np.uint8), seeds, own, slots)
        self._since[lanes] = time.perf_counter()
        return own, slots

    def make_room(self) -> None:
        """For one more step of every lane: rows that are nearly full are put aside."""
        limit = self.log.shape[1] * 64 - 32 * self._info.seats
        if self._longest >= limit:
            for lane in np.flatnonzero(self.lanes["logged"] >= limit).tolist():
                words = int(self.lanes["logged"][lane]) >> 6
                self._full.setdefault(lane, []).append(self.log[lane, :words].tobytes())
                self.lanes["logged"][lane] &= 63
            self._longest = int(self.lanes["logged"].max())

    def grown(self, longest: int) -> None:
        self._longest = max(self._longest, longest)

    def fault(self, lane: int, seat: int, kind: EndingKind, reason: str = "") -> None:
        """This seat forfeits."""
        self._faults[lane, seat] = (kind, reason)

    def actions_since(self, lane: int, count: int) -> list[int]:
        """The actions on a lane after the first so many: how a live match is told."""
        bits, logged = int(self.bits), int(self.lanes["logged"][lane])
        aside = b"".join(self._full.get(lane, ()))
        tail = self.log[lane, : logged >> 6].tobytes() + int(self.lanes["word"][lane]).to_bytes(8, "little")
        first, total = count * bits // 8, (len(aside) * 8 + logged) // bits
        known = first * 8 // bits  # actions before that byte
        new = unpack((aside + tail)[first : (total * bits + 7) // 8], bits)
        return [int(action) for action in new[count - known : total - known]]

    def faulty(self, lanes: list[int]) -> bool:
        return any(lane in lanes for lane, _ in self._faults)

    def forget(self, lanes: list[int]) -> None:
        self.lanes["running"][lanes] = 0
        self.lanes["logged"][lanes] = 0  # or an empty lane with a full log would be put aside again
        for lane in lanes if self._full else ():
            self._full.pop(lane, None)
        if self._faults:
            gone = set(lanes)
            self._faults = {place: fault for place, fault in self._faults.items() if place[0] not in gone}

    def results(
        self, ended: list[int], matches: Sequence[MatchSpec | None], boards: Boards, repeatable: Mapping[str, bool]
    ) -> ResultBatch:
        """The results of these lanes, in this order; `matches` are the matches of all lanes."""
        specs = [spec for lane in ended if (spec := matches[lane])]
        lanes, n = np.array(ended, np.uint32), len(ended)
        scores = np.asarray(boards.scores()[lanes], np.float64)
        steps, sizes = np.empty(n, np.uint32), np.empty(n, np.uint32)
        ranks = np.empty(scores.shape, np.uint8)
        end_lanes(self.lanes, lanes, self.log, scores, self._forfeits(ended, scores), steps, sizes, ranks)
        kinds = OVER[boards.over()[lanes]]
        told = self._told(ended, kinds) if self._faults else {}
        pieces = self._actions(ended, lanes, sizes)
        if self._full:
            sizes = np.array([len(actions) for actions in pieces], np.uint32)
        if n and sizes.max() > RESULT_CAP:
            self._void(pieces, sizes, kinds, told)
        steady = np.ones(n, np.bool_)
        if told:
            steady = ~np.isin(kinds, UNSTEADY)
        if not all(repeatable.values()) or any([spec.limits.clock is not None for spec in specs]):  # noqa: C419
            steady &= [
                spec.limits.clock is None and all(repeatable[player.id] for player in spec.players) for spec in specs
            ]
        durations = time.perf_counter() - self._since[lanes]
        stats = np.asarray(boards.stats(lanes), np.float64)
        columns = Columns(steps, sizes, kinds, steady, ranks, durations, scores, stats)
        return ResultBatch(specs, columns, b"".join(pieces), told)

    def _void(
        self, pieces: list[bytes], sizes: NDArray[np.uint32], kinds: NDArray[np.uint8], told: dict[int, Ending]
    ) -> None:
        """Matches with more actions than a record may hold have no result."""
        for place in np.flatnonzero(sizes > RESULT_CAP).tolist():
            reason = f"its actions take {int(sizes[place]) >> 20} MB, {RESULT_CAP >> 20} are allowed"
            pieces[place], told[place] = b"", Ending(EndingKind.VOID, (), reason)
            sizes[place], kinds[place] = 0, CODES[EndingKind.VOID]

    def _actions(self, ended: list[int], lanes: Indices, sizes: Indices) -> list[bytes]:
        """What is logged of each lane."""
        if not self.bits:
            return [b""] * len(ended)
        width = int(sizes.max()) + 7 >> 3  # words
        rows, step = self.log[lanes, :width].tobytes(), 8 * width
        pieces = [rows[at * step : at * step + size] for at, size in enumerate(sizes.tolist())]
        for lane in self._full.keys() & ended if self._full else ():
            place = ended.index(lane)
            pieces[place] = b"".join([*self._full[lane], pieces[place]])
        return pieces

    def _forfeits(self, ended: list[int], scores: Floats) -> Bools:
        """[matches, seats]: who forfeited."""
        forfeits = np.zeros(scores.shape, np.bool_)
        for lane, seat in self._faults:
            if lane in ended:
                forfeits[ended.index(lane), seat] = True
        return forfeits

    def _told(self, ended: list[int], kinds: NDArray[np.uint8]) -> dict[int, Ending]:
        """The endings of the lanes on which a seat forfeited, by place; their kinds are set."""
        faults: dict[int, dict[int, tuple[EndingKind, str]]] = {}
        for lane, seat in sorted(self._faults):
            if lane in ended:
                faults.setdefault(ended.index(lane), {})[seat] = self._faults[lane, seat]
        told = {}
        for place, seats in faults.items():
            kind, reason = next(iter(seats.values()))
            told[place] = Ending(kind, tuple(seats), reason)
            kinds[place] = CODES[kind]
        return told
