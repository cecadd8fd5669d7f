"""The actions of the players of a group: requested from pilots, checked, and held until their lane moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np

from engine.game import PENDING, RESIGN, Boards, Bools, GameInfo, Indices, Ints, NoAction, Views
from engine.play.clocks import Clocks
from engine.play.guarded_boards import GuardedBoards
from engine.play.heartbeat import Heartbeat, PilotCall
from engine.play.lane_kernels import FAILED, ILLEGAL, commit, commit_all, store_actions
from engine.play.lane_log import LaneLog
from engine.play.match import EndingKind
from engine.play.pilots import AGENT_ERRORS, LoadedPilot, describe_illegal

CLOCK_GRACE = 1.0  # seconds beyond its clock after which a call counts as hanging
OnFailure = Callable[[LoadedPilot, Indices, BaseException], None]  # (pilot, slots, error)


class PendingActions:
    """The actions of one group; if `alone`, each seat is called separately, with its clock if the match has one."""

    def __init__(
        self,
        info: GameInfo,
        guarded: GuardedBoards,
        lane_log: LaneLog,
        heartbeat: Heartbeat,
        clocks: Clocks,
        numbers: Indices,
        on_failure: OnFailure,
        *,
        alone: bool,
    ) -> None:
        """`numbers`: by lane, the number of its match in the heartbeat."""
        lanes, seats = len(numbers), info.seats
        self._info, self._guarded, self._boards = info, guarded, cast(Boards, guarded)
        self._lane_log, self._heartbeat, self._clocks, self._numbers = lane_log, heartbeat, clocks, numbers
        self._on_failure, self._alone = on_failure, alone
        self.held: Ints = np.full((lanes, seats), PENDING, np.int64)  # actions, until the lane moves
        self.played: Ints = np.zeros((lanes, seats), np.int64)  # the actions of the last move
        self._obs = np.zeros((lanes * seats, *info.observation), np.float32)
        self._legal: Bools = np.ones((lanes * seats if info.masked else 0, info.actions), np.bool_)
        self._moved: Indices = np.zeros(lanes, np.uint32)
        self._failing: Indices = np.zeros(lanes, np.uint32)

    def ask(self, loaded: LoadedPilot, repeated: bool) -> int:
        """Call a pilot for its rows; returns how many of its answers are actions. `repeated`: same rows as before."""
        if self._alone:
            return sum(self._ask_timed(loaded, loaded.rows[:, row : row + 1].copy()) for row in range(loaded.count))
        return self._ask(loaded, loaded.rows[:, : loaded.count], repeated) if loaded.count else 0

    def _ask_timed(self, loaded: LoadedPilot, rows: Indices) -> int:
        """Call a pilot for one row, with the clock if its match has one."""
        lane, seat = int(rows[1, 0]), int(rows[2, 0])
        clocks = self._clocks.of(lane)
        if clocks is None:
            return self._ask(loaded, rows)
        self._heartbeat.set_time_limit(clocks.start(seat) + CLOCK_GRACE)
        answered = self._ask(loaded, rows)
        self._heartbeat.set_time_limit(0.0)
        overrun = clocks.overrun(seat, self.held[lane, seat] != PENDING)
        if overrun and self.held[lane, seat] != FAILED:
            self._lane_log.record_fault(lane, seat, EndingKind.TIMEOUT, overrun)
            self.held[lane, seat] = FAILED
            return 0
        return answered

    def _ask(self, loaded: LoadedPilot, rows: Indices, repeated: bool = False) -> int:
        n = rows.shape[1]
        if self._alone:
            self._heartbeat.begin_call(PilotCall.ACT, self._numbers, rows[1], seat=int(rows[2, 0]))
        elif not (repeated and self._heartbeat.repeat_call(PilotCall.ACT, loaded)):
            self._heartbeat.begin_call(PilotCall.ACT, self._numbers, rows[1], owner=loaded)
        rows.flags.writeable = False  # the arena still uses it after the call
        legal = None
        if self._info.masked:
            self._boards.legal(rows[1], rows[2], self._legal[:n])
            legal = self._legal[:n]
            legal.flags.writeable = False
        try:
            views = Views(self._boards, rows, self._obs[:n], legal, self._heartbeat.turn, self._clocks.left)
            answers = loaded.pilot.act(views)
        except AGENT_ERRORS as error:  # see PilotPool.load_seating
            if error is self._guarded.failure:
                raise
            self._on_failure(loaded, rows[0], error)
            return 0
        finally:
            self._heartbeat.end_call()
        if not isinstance(answers, np.ndarray) or answers.shape != (n,) or answers.dtype.kind != "i":
            what = f"{answers.dtype} of shape {answers.shape}" if isinstance(answers, np.ndarray) else repr(answers)
            self._on_failure(
                loaded, rows[0], NoAction(f"act() must return a signed integer for each of {n} rows, not {what[:200]}")
            )
            return 0
        return self._store(rows[1], rows[2], answers.astype(np.int64, copy=False))

    def check(self, lane: int, seats: Indices) -> None:
        """Store the answers of these seats in a march, and record a fault for each that is not legal."""
        lanes = np.full(seats.size, lane, np.uint32)
        if self._info.masked:
            self._boards.legal(lanes, seats, self._legal[: seats.size])
        self._store(lanes, seats, self.played[lane, seats])

    def _store(self, lanes: Indices, seats: Indices, answers: Ints) -> int:
        """Store answers, and record a fault for each that is not legal by `_legal`; returns how many are actions."""
        info = self._info
        count = int(store_actions(lanes, seats, answers, self._legal, info.masked, info.actions, self.held))
        if count < len(answers):
            for row in np.flatnonzero(self.held[lanes, seats] == ILLEGAL).tolist():
                reason = describe_illegal(int(answers[row]), info.actions)
                self._lane_log.record_fault(int(lanes[row]), int(seats[row]), EndingKind.ILLEGAL_ACTION, reason)
        return count

    def commit(self, live: Indices, acting: Bools, all_answered: bool) -> tuple[Indices, list[int]]:
        """Log the actions of the lanes that can move; returns those lanes, and the lanes on which a seat forfeits.

        `all_answered`: every seat of these lanes has answered with an action, as nearly always in simultaneous games.
        """
        lane_log, n, failed = self._lane_log, live.size, 0
        lane_log.make_room()
        arrays = (live, acting, lane_log.lanes, self.held, lane_log.log, lane_log.bits, self._moved)
        if all_answered:
            longest = commit_all(*arrays)
        else:
            n, failed, longest = commit(*arrays, self._failing)
        lane_log.note_length(int(longest))
        moved, failing = self._moved[:n], self._failing[:failed].tolist()
        np.copyto(self.played, self.held)
        if all_answered:
            self.held.fill(PENDING)
        else:
            self.held[moved] = PENDING
        return moved, failing

    def forfeit(self, lane: int) -> None:
        """Record the resignations on a lane that ends; other faults are recorded already."""
        for seat in np.flatnonzero(self.held[lane] == RESIGN).tolist():
            self._lane_log.record_fault(lane, seat, EndingKind.RESIGNED)
        self.held[lane] = PENDING
