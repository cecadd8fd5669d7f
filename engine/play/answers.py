"""What the players on a group's lanes answer: asked for, checked, and kept until their lane moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np

from engine.game import PENDING, RESIGN, Boards, Bools, GameInfo, Indices, Ints, NoAction, Views
from engine.play.clocks import Clocks
from engine.play.pilots import AGENT_ERRORS, Crew, illegal_words
from engine.play.guarded_boards import GuardedBoards
from engine.play.lane_kernels import FAILED, ILLEGAL, commit, commit_all, hold
from engine.play.heartbeat import Call, Marks
from engine.play.match import EndingKind
from engine.play.lane_log import Records

CLOCK_GRACE = 1.0  # seconds beyond its clock after which a call is taken to hang
Fail = Callable[[Crew, Indices, BaseException], None]  # what to do when a pilot fails on these slots


class Answers:
    """The answers of one group; `alone` asks each seat by itself, by the clock if its match has one."""

    def __init__(
        self,
        info: GameInfo,
        guarded: GuardedBoards,
        records: Records,
        marks: Marks,
        clocks: Clocks,
        numbers: Indices,
        fail: Fail,
        *,
        alone: bool,
    ) -> None:
        """`numbers`: by lane, how the marks name its match."""
        lanes, seats = len(numbers), info.seats
        self._info, self._guarded, self._boards = info, guarded, cast(Boards, guarded)
        self._records, self._marks, self._clocks, self._numbers = records, marks, clocks, numbers
        self._fail, self._alone = fail, alone
        self.held: Ints = np.full((lanes, seats), PENDING, np.int64)  # until the lane moves
        self.played: Ints = np.zeros((lanes, seats), np.int64)  # with which it moved last
        self._obs = np.zeros((lanes * seats, *info.observation), np.float32)
        self._legal: Bools = np.ones((lanes * seats if info.masked else 0, info.actions), np.bool_)
        self._moving: Indices = np.zeros(lanes, np.uint32)
        self._failing: Indices = np.zeros(lanes, np.uint32)

    def ask(self, crew: Crew, again: bool) -> int:
        """Have a pilot answer for its rows, the same as before if `again`; how many of its answers are actions."""
        if self._alone:
            return sum(self._ask_timed(crew, crew.rows[:, row : row + 1].copy()) for row in range(crew.count))
        return self._ask(crew, crew.rows[:, : crew.count], again) if crew.count else 0

    def _ask_timed(self, crew: Crew, rows: Indices) -> int:
        """One row, by the clock if its match has one."""
        lane, seat = int(rows[1, 0]), int(rows[2, 0])
        clocks = self._clocks.of(lane)
        if clocks is None:
            return self._ask(crew, rows)
        self._marks.allow(clocks.ask(seat) + CLOCK_GRACE)
        answered = self._ask(crew, rows)
        self._marks.allow(0.0)
        late = clocks.late(seat, self.held[lane, seat] != PENDING)
        if late and self.held[lane, seat] != FAILED:
            self._records.fault(lane, seat, EndingKind.TIMEOUT, late)
            self.held[lane, seat] = FAILED
            return 0
        return answered

    def _ask(self, crew: Crew, rows: Indices, again: bool = False) -> int:
        n = rows.shape[1]
        if self._alone:
            self._marks.enter(Call.ACT, self._numbers, rows[1], seat=int(rows[2, 0]))
        elif not (again and self._marks.again(Call.ACT, crew)):
            self._marks.enter(Call.ACT, self._numbers, rows[1], owner=crew)
        rows.flags.writeable = False  # what a pilot is shown is what the arena goes by
        legal = None
        if self._info.masked:
            self._boards.legal(rows[1], rows[2], self._legal[:n])
            legal = self._legal[:n]
            legal.flags.writeable = False
        try:
            views = Views(self._boards, rows, self._obs[:n], legal, self._marks.turn, self._clocks.left)
            answers = crew.pilot.act(views)
        except AGENT_ERRORS as error:  # see Crews.seat
            if error is self._guarded.failure:
                raise
            self._fail(crew, rows[0], error)
            return 0
        finally:
            self._marks.leave()
        if not isinstance(answers, np.ndarray) or answers.shape != (n,) or answers.dtype.kind != "i":
            what = f"{answers.dtype} of shape {answers.shape}" if isinstance(answers, np.ndarray) else repr(answers)
            self._fail(
                crew, rows[0], NoAction(f"act() must return a signed integer for each of {n} rows, not {what[:200]}")
            )
            return 0
        return self._hold(rows[1], rows[2], answers.astype(np.int64, copy=False))

    def check(self, lane: int, seats: Indices) -> None:
        """Hold what these seats answered in a march, with a fault for each answer that is not legal."""
        lanes = np.full(seats.size, lane, np.uint32)
        if self._info.masked:
            self._boards.legal(lanes, seats, self._legal[: seats.size])
        self._hold(lanes, seats, self.played[lane, seats])

    def _hold(self, lanes: Indices, seats: Indices, answers: Ints) -> int:
        """Note answers, and a fault for each that is not legal by `_legal`; how many are actions."""
        info = self._info
        count = int(hold(lanes, seats, answers, self._legal, info.masked, info.actions, self.held))
        if count < len(answers):
            for row in np.flatnonzero(self.held[lanes, seats] == ILLEGAL).tolist():
                told = illegal_words(int(answers[row]), info.actions)
                self._records.fault(int(lanes[row]), int(seats[row]), EndingKind.ILLEGAL_ACTION, told)
        return count

    def commit(self, live: Indices, acting: Bools, everyone: bool) -> tuple[Indices, list[int]]:
        """Log the answers of the lanes that can move; those lanes, and the lanes on which a seat forfeits.

        `everyone`: every seat of these lanes has answered with an action, as in simultaneous games nearly always.
        """
        book, n, failed = self._records, live.size, 0
        book.make_room()
        arrays = (live, acting, book.lanes, self.held, book.log, book.bits, self._moving)
        if everyone:
            longest = commit_all(*arrays)
        else:
            n, failed, longest = commit(*arrays, self._failing)
        book.grown(int(longest))
        moved, failing = self._moving[:n], self._failing[:failed].tolist()
        np.copyto(self.played, self.held)
        if everyone:
            self.held.fill(PENDING)
        else:
            self.held[moved] = PENDING
        return moved, failing

    def forfeit(self, lane: int) -> None:
        """Note who resigned on a lane that ends; the faults of others are noted already."""
        for seat in np.flatnonzero(self.held[lane] == RESIGN).tolist():
            self._records.fault(lane, seat, EndingKind.RESIGNED)
        self.held[lane] = PENDING
