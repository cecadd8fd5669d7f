"""The actions of the players of a group: requested from pilots, checked, and held until their lane moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np

from engine.foreign_code import INTERRUPTS
from engine.game import PENDING, RESIGN, Boards, Bools, GameInfo, Indices, Ints, NoAction, Views
from engine.play.agent_errors import describe_illegal
from engine.play.clocks import Clocks
from engine.play.guarded_boards import GuardedBoards
from engine.play.heartbeat import Heartbeat, PilotCall
from engine.play.lane_kernels import FAILED, ILLEGAL, commit, commit_all, store_actions
from engine.play.lane_log import LaneLog
from engine.play.match import EndingKind
from engine.play.pilots import LoadedPilot, SharedCall
from engine.play.process_state import ProcessState

INT64 = np.dtype(np.int64)
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
        state: ProcessState,
        *,
        alone: bool,
    ) -> None:
        """`numbers`: by lane, the number of its match in the heartbeat."""
        lanes, seats = len(numbers), info.seats
        self._info, self._guarded, self._boards = info, guarded, cast(Boards, guarded)
        self._lane_log, self._heartbeat, self._clocks, self._numbers = lane_log, heartbeat, clocks, numbers
        self._on_failure, self._state, self._alone = on_failure, state, alone
        self.held: Ints = np.full((lanes, seats), PENDING, np.int64)  # actions, until the lane moves
        self.played: Ints = np.zeros((lanes, seats), np.int64)  # the actions of the last move
        self._obs = np.zeros((lanes * seats, *info.observation), np.float32)
        self._legal: Bools = np.ones((lanes * seats if info.masked else 0, info.actions), np.bool_)
        self._moved: Indices = np.zeros(lanes, np.uint32)
        self._failing: Indices = np.zeros(lanes, np.uint32)

    def ask(self, loaded: LoadedPilot) -> int:
        """Call a pilot for its rows; returns how many of its answers are actions."""
        if self._alone:
            return sum(self._ask_alone(loaded, loaded.rows[:, row : row + 1].copy()) for row in range(loaded.count))
        return self._ask_shared(loaded) if loaded.count else 0

    def _ask_shared(self, loaded: LoadedPilot) -> int:
        """Call a pilot for all its rows together."""
        call = loaded.call
        if call is None:
            rows = loaded.rows[:, : loaded.count]
            call = loaded.call = SharedCall(self._views(rows.view()), rows[0], rows[1], rows[2], rows[4])
            self._heartbeat.begin_call(PilotCall.ACT, self._numbers, call.lanes, owner=loaded)
        else:  # making these objects again would take as long as ten plain bots do
            call.views.renew(self._obs[: loaded.count])
            if not self._heartbeat.repeat_call(PilotCall.ACT, loaded):
                self._heartbeat.begin_call(PilotCall.ACT, self._numbers, call.lanes, owner=loaded)
        return self._ask(loaded, call.views, call.slots, call.lanes, call.seats)

    def _ask_alone(self, loaded: LoadedPilot, rows: Indices) -> int:
        """Call a pilot for one row, with the clock if its match has one."""
        lane, seat = int(rows[1, 0]), int(rows[2, 0])
        clocks = self._clocks.of(lane)
        if clocks is not None:
            self._heartbeat.set_time_limit(clocks.start(seat) + CLOCK_GRACE)
        self._heartbeat.begin_call(PilotCall.ACT, self._numbers, rows[1], seat=seat)
        answered = self._ask(loaded, self._views(rows.view()), rows[0], rows[1], rows[2])
        if clocks is None:
            return answered
        self._heartbeat.set_time_limit(0.0)
        overrun = clocks.overrun(seat, self.held[lane, seat] != PENDING)
        if overrun and self.held[lane, seat] != FAILED:
            self._lane_log.record_fault(lane, seat, EndingKind.TIMEOUT, overrun)
            self.held[lane, seat] = FAILED
            return 0
        return answered

    def _views(self, rows: Indices) -> Views:
        """What a pilot gets for these rows, which become read-only: the arena still uses them after the call."""
        n, legal = rows.shape[1], None
        rows.flags.writeable = False
        if self._info.masked:
            legal = self._legal[:n]
            legal.flags.writeable = False
        return Views(self._boards, rows, self._obs[:n], legal, self._heartbeat.turn, self._clocks.left)

    def _ask(self, loaded: LoadedPilot, views: Views, slots: Indices, lanes: Indices, seats: Indices) -> int:
        """Call a pilot; the heartbeat has its call already."""
        n = len(slots)
        if self._info.masked:
            self._boards.legal(lanes, seats, self._legal[:n])
        try:
            answers = _checked(loaded.pilot.act(views), n)
            if loaded.foreign:
                self._state.check_mode()
                if self._alone:  # of other calls, a worker finds out soon enough
                    self._state.check_connection()
        except INTERRUPTS:
            raise
        except BaseException as error:  # see PilotPool.load_seating
            if error is self._guarded.failure:
                raise
            self._on_failure(loaded, slots, error)
            return 0
        finally:
            self._heartbeat.end_call()
        return self._store(lanes, seats, answers)

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
        lane_log = self._lane_log
        lane_log.make_room()
        arrays = (live, acting, lane_log.lanes, self.held, self.played, lane_log.log, lane_log.bits)
        if all_answered:
            lane_log.note_length(commit_all(*arrays))
            return live, []
        n, failed, longest = commit(*arrays, self._moved, self._failing)
        lane_log.note_length(longest)
        return self._moved[:n], self._failing[:failed].tolist()

    def forfeit(self, lane: int) -> None:
        """Record the resignations on a lane that ends; other faults are recorded already."""
        for seat in np.flatnonzero(self.held[lane] == RESIGN).tolist():
            self._lane_log.record_fault(lane, seat, EndingKind.RESIGNED)
        self.held[lane] = PENDING


def _checked(answers: object, count: int) -> Ints:
    """The answers of a pilot as numbers; raises NoAction unless it has answered for so many rows."""
    if type(answers) is not np.ndarray and isinstance(answers, np.ndarray):
        answers = np.asarray(answers)  # the methods of a subclass are foreign code
    if not isinstance(answers, np.ndarray) or answers.shape != (count,) or answers.dtype.kind != "i":
        what = f"{answers.dtype} of shape {answers.shape}" if isinstance(answers, np.ndarray) else repr(answers)
        raise NoAction(f"act() must return a signed integer for each of {count} rows, not {what[:200]}")
    return answers if answers.dtype is INT64 else answers.astype(np.int64)
