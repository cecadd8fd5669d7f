"""Plays lanes of a rollout step by step with pilots of any kind, and records the learning agents.

It does what the compiled loop in `engine.play.rollout_driver` does, with one call of each pilot for all its rows.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from engine.game import (
    BROKEN,
    PENDING,
    RESIGN,
    Boards,
    Bools,
    Decisions,
    GameInfo,
    Indices,
    Ints,
    NoAction,
    Policy,
    Views,
)
from engine.play.guarded_boards import GuardedBoards
from engine.play.lane_kernels import finish_step, gather, slots_of
from engine.play.pilots import AGENT_ERRORS, LoadedPilot, describe_error, describe_illegal

if TYPE_CHECKING:
    from engine.play.rollout import Trajectories

LONGEST_PAUSE = 5e-3  # seconds between two calls while all lanes wait for players that are still thinking


class SlotFailed(Exception):  # noqa: N818
    """The agent of a slot cannot continue; the text is the rest of a sentence about it."""

    def __init__(self, slot: int, text: str) -> None:
        super().__init__(text)
        self.slot = slot


class Ticks:
    """Plays lanes tick by tick. The arrays are those of the rollout: `lanes` and `slots` as in a group of lanes,
    `learning` tells for each slot whether it is recorded."""

    def __init__(
        self, info: GameInfo, guarded: GuardedBoards, lanes: NDArray[Any], slots: NDArray[Any], learning: NDArray[Any]
    ) -> None:
        self._info, self._guarded, self._boards = info, guarded, cast(Boards, guarded)
        self._lanes, self._slots, self._learning = lanes, slots, learning
        self._held: Ints = np.full((len(lanes), info.seats), PENDING, np.int64)  # actions, until the lane moves
        self._all_acting: Bools = np.ones((len(lanes), info.seats), np.bool_)
        self._obs = np.zeros((len(slots), *info.observation), np.float32)
        self._legal: Bools = np.ones((len(slots) if info.masked else 0, info.actions), np.bool_)
        self._ended: Indices = np.zeros(len(lanes), np.uint32)
        self._turn = memoryview(bytearray(8)).cast("Q")  # see `Views.asking`

    def play(
        self, pilots: Iterable[LoadedPilot], live: Indices, steps: int, filled: Ints, segment: Trajectories
    ) -> tuple[list[int], SlotFailed | None]:
        """Play these lanes until a match ends, an agent fails or all segments are full.

        Returns the lanes whose matches have ended, and the failure.
        """
        idle = 0  # ticks in a row in which no lane moved
        ended: list[int] = []
        try:
            while live.size and not ended:
                acting = self._all_acting if self._info.simultaneous else self._boards.acting()
                for loaded in pilots:
                    loaded.count = gather(live, acting, self._lanes, self._slots, self._held, loaded.index, loaded.rows)
                    if loaded.count:
                        self._ask(loaded, filled, segment)
                moved = live[~(acting[live] & (self._held[live] == PENDING)).any(axis=1)]
                if moved.size:
                    ends = self._move(moved, filled, segment, ended)
                    bootstrapped = moved[(ends == 2) | ((ends == 0) & (filled[moved] == steps))]
                    self._bootstrap(pilots, bootstrapped, filled, segment)
                    live = live[filled[live] < steps]
                idle = 0 if moved.size else idle + 1
                if idle:
                    time.sleep(min(idle * 2e-5, LONGEST_PAUSE))
        except SlotFailed as failure:
            self._held.fill(PENDING)
            return ended, failure
        return ended, None

    def _ask(self, loaded: LoadedPilot, filled: Ints, segment: Trajectories) -> None:
        """Call a pilot for its rows, hold its actions and record those of learning agents."""
        n, rows, legal = loaded.count, loaded.rows[:, : loaded.count], None
        rows.flags.writeable = False
        if self._info.masked:
            legal = self._legal[:n]
            self._boards.legal(rows[1], rows[2], legal)
            legal.flags.writeable = False
        views = Views(self._boards, rows, self._obs[:n], legal, self._turn)
        self._turn[0] = 0
        try:
            decisions = _decided(loaded, views)
            learns = (self._learning[rows[0]] != 0) & (decisions.actions != PENDING)
            obs = views.obs if learns.any() else self._obs[:n]
        except AGENT_ERRORS as error:  # code of agents may raise anything
            if error is self._guarded.failure:
                raise
            raise self._failed(loaded, rows[0], error) from error
        self._check(rows[0], decisions, legal, learns)
        self._held[rows[1], rows[2]] = decisions.actions
        lanes, seats = rows[1][learns], rows[2][learns]
        at = (lanes, filled[lanes], seats)
        segment.obs[at] = obs[learns]
        if legal is not None and segment.legal is not None:
            segment.legal[at] = legal[learns]
        segment.actions[at], segment.acted[at] = decisions.actions[learns], True
        segment.log_probs[at], segment.values[at] = decisions.log_probs[learns], decisions.values[learns]

    def _check(self, slots: Indices, decisions: Decisions, legal: Bools | None, learns: Bools) -> None:
        actions, count = decisions.actions, self._info.actions
        valid = (actions >= 0) & (actions < count)
        if legal is not None:
            valid &= legal[np.arange(len(actions)), np.clip(actions, 0, count - 1)]
        for row in np.flatnonzero(~valid & (actions != PENDING)).tolist():
            raise SlotFailed(int(slots[row]), describe_answer(int(actions[row]), count))
        finite = np.isfinite(decisions.log_probs) & np.isfinite(decisions.values)
        for row in np.flatnonzero(learns & ~finite).tolist():
            numbers = f"log-probability {decisions.log_probs[row]} and value {decisions.values[row]}"
            raise SlotFailed(int(slots[row]), f"answered with {numbers}; both must be finite")

    def _move(self, moved: Indices, filled: Ints, segment: Trajectories, ended: list[int]) -> NDArray[np.int8]:
        """Apply the actions of lanes whose seats have all answered; returns how each of them has ended."""
        before = self._boards.scores().copy()
        self._boards.apply(moved, self._held)
        segment.rewards[moved, filled[moved]] = (self._boards.scores() - before)[moved]
        self._held[moved] = PENDING
        over = self._boards.over()
        count = finish_step(over, self._lanes, moved, self._ended)
        ended += self._ended[:count].tolist()
        ends: NDArray[np.int8] = over[moved]
        ends[(ends == 0) & (self._lanes["running"][moved] == 0)] = 2  # the limit of the match
        segment.ends[moved, filled[moved]] = ends
        filled[moved] += 1
        return ends

    def _bootstrap(self, pilots: Iterable[LoadedPilot], lanes: Indices, filled: Ints, segment: Trajectories) -> None:
        """Write the values of the learning agents' observations after the last step of these lanes."""
        slots = slots_of(lanes.tolist(), self._info.seats)
        slots = slots[self._learning[slots] != 0]
        for loaded in pilots if slots.size else ():
            mine = slots[self._slots["pilot"][slots] == loaded.index]
            if not mine.size:
                continue
            own, seats = np.divmod(mine, np.uint32(self._info.seats))
            obs = self._obs[: mine.size]
            self._boards.observe(own, seats, obs)
            self._turn[0] = 0
            try:
                values = cast(Policy, loaded.pilot).evaluate(self._slots["agent"][mine], obs)
                _check_floats("evaluate()", values, mine.size)
            except AGENT_ERRORS as error:  # as above
                raise self._failed(loaded, mine, error) from error
            for row in np.flatnonzero(~np.isfinite(values)).tolist():
                raise SlotFailed(int(mine[row]), f"valued an observation {values[row]}; a value must be finite")
            segment.bootstrap[own, filled[own] - 1, seats] = values

    def _failed(self, loaded: LoadedPilot, slots: Indices, error: BaseException) -> SlotFailed:
        """The failure of a call: of the agent that the pilot marked, or else of one of several."""
        row = self._turn[0] - 1 if 0 < self._turn[0] <= slots.size else 0
        several = not self._turn[0] and slots.size > 1
        who = f"or another of the {slots.size} agents of kind {loaded.kind.name!r} in this call " if several else ""
        return SlotFailed(int(slots[row]), f"{who}failed: {describe_error(error)}")


def _decided(loaded: LoadedPilot, views: Views) -> Decisions:
    """The checked answers of a pilot; those of one that is no Policy have log-probabilities and values of 0."""
    n = len(views)
    if hasattr(loaded.pilot, "decide"):
        name, decisions = "decide()", cast(Policy, loaded.pilot).decide(views)
        _check_floats("decide()", decisions.log_probs, n)
        _check_floats("decide()", decisions.values, n)
    else:
        nothing = np.zeros(n, np.float32)
        name, decisions = "act()", Decisions(loaded.pilot.act(views), nothing, nothing)
    actions = decisions.actions
    if not isinstance(actions, np.ndarray) or actions.shape != (n,) or actions.dtype.kind != "i":
        raise NoAction(f"{name} must return a signed integer for each of {n} rows, not {_described(actions)}")
    return decisions


def _check_floats(name: str, array: object, count: int) -> None:
    if not isinstance(array, np.ndarray) or array.shape != (count,) or array.dtype != np.float32:
        raise NoAction(f"{name} must return a float32 for each of {count} rows, not {_described(array)}")


def _described(answer: object) -> str:
    return f"{answer.dtype} of shape {answer.shape}" if isinstance(answer, np.ndarray) else repr(answer)[:200]


def describe_answer(answer: int, actions: int) -> str:
    """The rest of a sentence about an agent whose answer is not a legal action."""
    reasons = {BROKEN: "has no answer: its row function returned BROKEN", RESIGN: "resigned"}
    return reasons.get(answer) or describe_illegal(answer, actions)
