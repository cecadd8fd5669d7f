"""The action logs and forfeits of the lanes of a group, and the results made from them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.game import Boards, Bools, Floats, GameInfo, Indices, Seeds
from engine.play.heartbeat import Heartbeat
from engine.play.lane_kernels import LANE, begin_lanes, bits_for, end_lanes, unpack
from engine.play.match import Ending, EndingKind, MatchSpec
from engine.play.results import CODES, Columns, ResultBatch

RESULT_CAP = 16 << 20  # bytes of one match's actions: beyond that the match has no result
MACHINE_DEPENDENT = [CODES[kind] for kind in (EndingKind.MEMORY, EndingKind.TIMEOUT)]  # not repeatable
OVER = np.array(  # by the value of `Boards.over`
    [
        CODES[EndingKind.STEP_LIMIT],  # not over by the rules: the limit of the match is reached
        CODES[EndingKind.FINISHED],
        CODES[EndingKind.STEP_LIMIT],
        CODES[EndingKind.NO_CONTEST],
    ],
    np.uint8,
)


class LaneLog:
    """The state and action log of each lane; kernels fill `lanes` and `log`."""

    def __init__(self, info: GameInfo, lanes: int, *, record: bool, heartbeat: Heartbeat | None) -> None:
        self._info = info
        self.bits = np.uint32(bits_for(info.actions) if record else 0)
        if heartbeat is not None and heartbeat.log.size:  # shared, so that they survive the process
            self.lanes, self.log = heartbeat.lane, heartbeat.log
            self.lanes[:] = np.zeros(1, LANE)  # nothing is known of this match before it is dealt
        else:
            self.lanes = np.zeros(lanes, LANE)
            self.log = np.zeros((lanes, 513), "<u8")  # an odd width: rows a power of two apart evict each other
        self._full: dict[int, list[bytes]] = {}  # by lane, the part that did not fit into its row
        self._longest = 0  # bits in the longest row
        self._started = np.zeros(lanes)
        self._faults: dict[tuple[int, int], tuple[EndingKind, str]] = {}  # by lane and seat

    def begin(self, lanes: Indices, limits: Sequence[int], ways: Sequence[int], seeds: Seeds) -> tuple[Seeds, Indices]:
        """Start matches on these lanes; a limit of 0 means no limit. Returns the seeds and the slots of their seats."""
        own: Seeds = np.empty(lanes.size * self._info.seats, np.uint64)
        slots: Indices = np.empty(own.size, np.uint32)
        begin_lanes(self.lanes, lanes, np.array(limits, np.uint32), np.array(ways, np.uint8), seeds, own, slots)
        self._started[lanes] = time.perf_counter()
        return own, slots

    def make_room(self) -> None:
        """Make room for one more step of every lane: copy rows that are nearly full."""
        limit = self.log.shape[1] * 64 - 32 * self._info.seats
        if self._longest >= limit:
            for lane in np.flatnonzero(self.lanes["logged"] >= limit).tolist():
                words = int(self.lanes["logged"][lane]) >> 6
                self._full.setdefault(lane, []).append(self.log[lane, :words].tobytes())
                self.lanes["logged"][lane] &= 63
            self._longest = int(self.lanes["logged"].max())

    def note_length(self, longest: int) -> None:
        self._longest = max(self._longest, longest)

    def record_fault(self, lane: int, seat: int, kind: EndingKind, reason: str = "") -> None:
        """This seat forfeits."""
        self._faults[lane, seat] = (kind, reason)

    def actions_since(self, lane: int, count: int) -> list[int]:
        """The actions on a lane after the first `count`, for live matches."""
        bits, logged = int(self.bits), int(self.lanes["logged"][lane])
        earlier = b"".join(self._full.get(lane, ()))
        tail = self.log[lane, : logged >> 6].tobytes() + int(self.lanes["word"][lane]).to_bytes(8, "little")
        first, total = count * bits // 8, (len(earlier) * 8 + logged) // bits
        known = first * 8 // bits  # actions before that byte
        new = unpack((earlier + tail)[first : (total * bits + 7) // 8], bits)
        return [int(action) for action in new[count - known : total - known]]

    def has_faults(self, lanes: list[int]) -> bool:
        return any(lane in lanes for lane, _ in self._faults)

    def clear(self, lanes: list[int]) -> None:
        self.lanes["running"][lanes] = 0
        self.lanes["logged"][lanes] = 0  # else `make_room` would copy it
        for lane in lanes if self._full else ():
            self._full.pop(lane, None)
        if self._faults:
            gone = set(lanes)
            self._faults = {index: fault for index, fault in self._faults.items() if index[0] not in gone}

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
        endings = self._fault_endings(ended, kinds) if self._faults else {}
        pieces = self._actions(ended, sizes)
        if self._full:
            sizes = np.array([len(actions) for actions in pieces], np.uint32)
        if n and sizes.max() > RESULT_CAP:
            self._void(pieces, sizes, kinds, endings)
        steady = np.ones(n, np.bool_)
        if endings:
            steady = ~np.isin(kinds, MACHINE_DEPENDENT)
        if not all(repeatable.values()) or any([spec.limits.clock is not None for spec in specs]):  # noqa: C419
            steady &= [
                spec.limits.clock is None and all(repeatable[player.id] for player in spec.players) for spec in specs
            ]
        durations = time.perf_counter() - self._started[lanes]
        stats = np.asarray(boards.stats(lanes), np.float64)
        columns = Columns(steps, sizes, kinds, steady, ranks, durations, scores, stats)
        return ResultBatch(specs, columns, b"".join(pieces), endings)

    def _void(
        self,
        pieces: list[bytes | memoryview],
        sizes: NDArray[np.uint32],
        kinds: NDArray[np.uint8],
        endings: dict[int, Ending],
    ) -> None:
        """Void the matches that have more actions than a result may hold."""
        for index in np.flatnonzero(sizes > RESULT_CAP).tolist():
            reason = f"its actions take {int(sizes[index]) >> 20} MB; the limit is {RESULT_CAP >> 20} MB"
            pieces[index], endings[index] = b"", Ending(EndingKind.VOID, (), reason)
            sizes[index], kinds[index] = 0, CODES[EndingKind.VOID]

    def _actions(self, ended: list[int], sizes: Indices) -> list[bytes | memoryview]:
        """The packed actions of each lane, in place unless they are in several parts."""
        if not self.bits:
            return [b""] * len(ended)
        rows, width = memoryview(self.log.reshape(-1).view(np.uint8)), self.log.strides[0]  # type: ignore[arg-type]
        pieces: list[bytes | memoryview] = [
            rows[lane * width : lane * width + size] for lane, size in zip(ended, sizes.tolist(), strict=True)
        ]
        for lane in self._full.keys() & ended if self._full else ():
            index = ended.index(lane)
            pieces[index] = b"".join([*self._full[lane], pieces[index]])
        return pieces

    def _forfeits(self, ended: list[int], scores: Floats) -> Bools:
        """[matches, seats]: which seats forfeited."""
        forfeits = np.zeros(scores.shape, np.bool_)
        for lane, seat in self._faults:
            if lane in ended:
                forfeits[ended.index(lane), seat] = True
        return forfeits

    def _fault_endings(self, ended: list[int], kinds: NDArray[np.uint8]) -> dict[int, Ending]:
        """The endings of the lanes on which a seat forfeited, by index; also writes their kinds."""
        faults: dict[int, dict[int, tuple[EndingKind, str]]] = {}
        for lane, seat in sorted(self._faults):
            if lane in ended:
                faults.setdefault(ended.index(lane), {})[seat] = self._faults[lane, seat]
        endings = {}
        for index, seats in faults.items():
            kind, reason = next(iter(seats.values()))
            endings[index] = Ending(kind, tuple(seats), reason)
            kinds[index] = CODES[kind]
        return endings
