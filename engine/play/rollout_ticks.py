"""Plays lanes of a rollout step by step with pilots of any kind, and records the learning agents.

It does what the compiled loop in `engine.play.rollout_driver` does, with one call of each pilot for all its rows.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from engine.foreign_code import INTERRUPTS
from engine.game import (
    BROKEN,
    PENDING,
    RESIGN,
    Boards,
    Bools,
    Decisions,
    Floats,
    GameInfo,
    Indices,
    Ints,
    NoAction,
    Observations,
    Policy,
    Views,
)
from engine.play.agent_errors import describe_error, describe_illegal
from engine.play.guarded_boards import GuardedBoards
from engine.play.lane_kernels import finish_step, gather, slots_of
from engine.play.pilots import LoadedPilot
from engine.play.process_state import ProcessState
from engine.play.rollout_calls import RolloutCalls
from engine.play.rollout_columns import Columns
from engine.play.rollout_log import ActionLog, log_actions
from engine.play.rollout_rewards import weighted_scores

LONGEST_PAUSE = 5e-3  # seconds between two calls while all lanes wait for players that are still thinking


class SlotFailed(Exception):  # noqa: N818
    """The agent of a slot cannot continue; the text is the rest of a sentence about it."""

    def __init__(self, slot: int, text: str) -> None:
        super().__init__(text)
        self.slot = slot


class SavedMatchFailed(Exception):  # noqa: N818
    """The saved match of a lane cannot be repeated; the text is the rest of a sentence about it."""

    def __init__(self, lane: int, text: str) -> None:
        super().__init__(text)
        self.lane = lane


class Asked(NamedTuple):
    """One call of a pilot: its rows as in `Views`, its answers, and which rows are recorded."""

    rows: Indices
    obs: Observations
    legal: Bools | None
    decisions: Decisions
    learns: Bools


class Ticks:
    """Plays lanes tick by tick. The arrays are those of the rollout: `lanes` and `slots` as in a group of lanes,
    `learning` tells for each slot whether it is recorded. `weights` as in `engine.play.rollout_rewards`."""

    def __init__(
        self,
        info: GameInfo,
        guarded: GuardedBoards,
        lanes: NDArray[Any],
        slots: NDArray[Any],
        learning: NDArray[Any],
        log: ActionLog,
        weights: Floats,
        calls: RolloutCalls,
        state: ProcessState,
    ) -> None:
        self._info, self._guarded, self._boards = info, guarded, cast(Boards, guarded)
        self._lanes, self._slots, self._learning, self._log = lanes, slots, learning, log
        self._weights = weights
        self._held: Ints = np.full((len(lanes), info.seats), PENDING, np.int64)  # actions, until the lane moves
        self._all_acting: Bools = np.ones((len(lanes), info.seats), np.bool_)
        self._obs = np.zeros((len(slots), *info.observation), np.float32)
        self._legal: Bools = np.ones((len(slots) if info.masked else 0, info.actions), np.bool_)
        self._ended: Indices = np.zeros(len(lanes), np.uint32)
        self._calls, self._turn = calls, calls.turn  # see `Views.asking`
        self._state = state

    def play(
        self, pilots: Iterable[LoadedPilot], live: Indices, steps: int, filled: Ints, columns: Columns
    ) -> tuple[list[int], SlotFailed | None]:
        """Play these lanes until a match ends, an agent fails or all segments are full.

        Returns the lanes whose matches have ended, and the failure.
        """
        idle = 0  # ticks in a row in which no lane moved
        ended: list[int] = []
        try:
            while live.size and not ended:
                acting = self._acting()
                places = self._places(live, acting, columns)
                for loaded in pilots:
                    if self._gather(loaded, live, acting):
                        self._record(self._ask(loaded), filled, places, columns)
                moved = live[~(acting[live] & (self._held[live] == PENDING)).any(axis=1)]
                if moved.size:
                    columns.rows[moved] = places[moved, -1]
                    log_actions(moved, acting, self._held, self._log.rows, self._log.counts)
                    ends = self._move(moved, filled, columns, ended)
                    bootstrapped = moved[(ends == 2) | ((ends == 0) & (filled[moved] == steps))]
                    self._bootstrap(pilots, bootstrapped, filled, columns)
                    live = live[filled[live] < steps]
                idle = 0 if moved.size else idle + 1
                _pause(idle)
        except SlotFailed as failure:
            self._held.fill(PENDING)
            return ended, failure
        return ended, None

    def _acting(self) -> Bools:
        return self._all_acting if self._info.simultaneous else self._boards.acting()

    def _gather(self, loaded: LoadedPilot, live: Indices, acting: Bools) -> int:
        """Find the rows for which a pilot must answer now; returns their number."""
        loaded.count = gather(live, acting, self._lanes, self._slots, self._held, loaded.index, loaded.rows)
        return loaded.count

    def _ask(self, loaded: LoadedPilot) -> Asked:
        """Call a pilot for its rows, check its answers and hold its actions."""
        n, rows, legal = loaded.count, loaded.rows[:, : loaded.count], None
        rows.flags.writeable = False
        if self._info.masked:
            legal = self._legal[:n]
            self._boards.legal(rows[1], rows[2], legal)
            legal.flags.writeable = False
        views = Views(self._boards, rows, self._obs[:n], legal, self._turn)
        self._calls.begin(rows[0])
        try:
            decisions = _decided(loaded, views)
            if loaded.foreign:
                self._state.check_mode()
            learns = (self._learning[rows[0]] != 0) & (decisions.actions != PENDING)
            obs = views.obs if learns.any() else self._obs[:n]
        except INTERRUPTS:
            raise
        except BaseException as error:  # code of agents may raise anything
            if error is self._guarded.failure:
                raise
            raise self._failed(loaded, rows[0], error) from error
        self._calls.end()
        asked = Asked(rows, obs, legal, decisions, learns)
        self._check(asked)
        self._held[rows[1], rows[2]] = decisions.actions
        return asked

    def _places(self, live: Indices, acting: Bools, columns: Columns) -> Ints:
        """[lanes, seats]: the first row after that of each seat, if rows follow for the learning seats that act now."""
        recorded = acting & (self._learning.reshape(acting.shape) != 0)
        places: Ints = columns.rows[:, None] + np.cumsum(recorded, axis=1)
        if places[live, -1].max() > columns.room:
            columns.widen()
        return places

    def _record(self, asked: Asked, filled: Ints, places: Ints, columns: Columns) -> None:
        """Record the answers of learning agents."""
        rows, obs, legal, decisions, learns = asked
        lanes, seats = rows[1][learns], rows[2][learns]
        row = places[lanes, seats] - 1
        columns.obs[lanes, row] = obs[learns]
        if legal is not None:
            columns.legal[lanes, row] = legal[learns]
        at = (lanes, filled[lanes], seats)
        columns.actions[at], columns.acted[at] = decisions.actions[learns], True
        columns.log_probs[at], columns.values[at] = decisions.log_probs[learns], decisions.values[learns]

    def _check(self, asked: Asked) -> None:
        rows, obs, legal, decisions, learns = asked
        slots, actions, count = rows[0], decisions.actions, self._info.actions
        valid = (actions >= 0) & (actions < count)
        if legal is not None:
            valid &= legal[np.arange(len(actions)), np.clip(actions, 0, count - 1)]
        for row in np.flatnonzero(~valid & (actions != PENDING)).tolist():
            raise SlotFailed(int(slots[row]), describe_answer(int(actions[row]), count))
        finite = np.isfinite(decisions.log_probs) & np.isfinite(decisions.values)
        for row in np.flatnonzero(learns & ~finite).tolist():
            numbers = f"log-probability {decisions.log_probs[row]} and value {decisions.values[row]}"
            raise SlotFailed(int(slots[row]), f"answered with {numbers}; both must be finite{_cause(obs[row])}")

    def _move(self, moved: Indices, filled: Ints, columns: Columns, ended: list[int]) -> NDArray[np.int8]:
        """Apply the actions of lanes whose seats have all answered; returns how each of them has ended."""
        before = self._weighted_scores(moved)
        self._boards.apply(moved, self._held)
        columns.rewards[moved, filled[moved]] = self._weighted_scores(moved) - before
        self._held[moved] = PENDING
        over = self._boards.over()
        count = finish_step(over, self._lanes, moved, self._ended)
        ended += self._ended[:count].tolist()
        ends: NDArray[np.int8] = over[moved]
        ends[(ends == 0) & (self._lanes["running"][moved] == 0)] = 2  # the limit of the match
        columns.ends[moved, filled[moved]] = ends
        filled[moved] += 1
        return ends

    def _weighted_scores(self, lanes: Indices) -> Floats:
        return weighted_scores(self._boards, self._info, self._weights, lanes)

    def _bootstrap(self, pilots: Iterable[LoadedPilot], lanes: Indices, filled: Ints, columns: Columns) -> None:
        """Write the values of the learning agents' observations after the last step of these lanes."""
        slots = slots_of(lanes.tolist(), self._info.seats)
        learns = self._learning[slots] != 0
        if self._info.together:
            learns &= self._still_in(lanes, filled, columns).reshape(-1)
        slots = slots[learns]
        for loaded in pilots if slots.size else ():
            mine = slots[self._slots["pilot"][slots] == loaded.index]
            if not mine.size:
                continue
            own, seats = np.divmod(mine, np.uint32(self._info.seats))
            obs = self._obs[: mine.size]
            self._boards.observe(own, seats, obs)
            self._calls.begin(mine)
            try:
                values = cast(Policy, loaded.pilot).evaluate(self._slots["agent"][mine], obs)
                _check_floats("evaluate()", values, mine.size)
                if loaded.foreign:
                    self._state.check_mode()
            except INTERRUPTS:
                raise
            except BaseException as error:  # as above
                raise self._failed(loaded, mine, error) from error
            self._calls.end()
            for row in np.flatnonzero(~np.isfinite(values)).tolist():
                text = f"valued an observation {values[row]}; a value must be finite{_cause(obs[row])}"
                raise SlotFailed(int(mine[row]), text)
            columns.bootstrap[own, filled[own] - 1, seats] = values

    def _still_in(self, lanes: Indices, filled: Ints, columns: Columns) -> Bools:
        """[lanes, seats]: see `_skip_left` in `engine.play.rollout_driver`."""
        over = self._boards.over()[lanes, None] != 0
        found: Bools = np.where(over, columns.acted[lanes, filled[lanes] - 1], self._boards.acting()[lanes])
        return found

    # Matches that were saved

    def repeat(self, pilots: Iterable[LoadedPilot], lanes: Indices) -> None:
        """Play logged actions again on lanes that were just dealt. A player that is no Policy may have a memory, so it
        is asked too; raises SlotFailed if it answers differently. Raises SavedMatchFailed if an action is wrong."""
        asked = [loaded for loaded in pilots if not hasattr(loaded.pilot, "decide")]
        counts, at = self._log.counts, np.zeros(len(self._lanes), np.int64)
        played: Ints = np.zeros_like(self._held)
        for lane in lanes[self._boards.over()[lanes] != 0].tolist():
            raise SavedMatchFailed(lane, "is over at its start")
        live = lanes[counts[lanes] > 0]
        try:
            while live.size:
                acting = self._acting()
                order: Ints = np.cumsum(acting[live], axis=1, dtype=np.int64)
                places = at[live][:, None] + order - 1
                self._check_length(live, at[live] + order[:, -1], order[:, -1])
                played[live] = self._log.rows[live[:, None], np.maximum(places, 0)]
                self._check_actions(live, acting, played)
                for loaded in asked:
                    self._ask_again(loaded, live, acting, played)
                self._boards.apply(live, played)
                self._held[live] = PENDING
                at[live] += order[:, -1]
                self._lanes["ply"][live] += 1
                ended = (self._boards.over()[live] != 0) | (self._lanes["ply"][live] == self._lanes["limit"][live])
                for lane in live[ended].tolist():
                    raise SavedMatchFailed(lane, "has ended, but it was saved as a running match")
                live = live[at[live] < counts[live]]
        finally:
            self._held.fill(PENDING)

    def _check_length(self, live: Indices, needed: Ints, acting: Ints) -> None:
        for lane in live[(needed > self._log.counts[live]) | (acting == 0)].tolist():
            raise SavedMatchFailed(lane, "lacks actions of its last step")

    def _check_actions(self, live: Indices, acting: Bools, played: Ints) -> None:
        """Actions of a file may be anything, and rules are only safe with legal ones."""
        rows, seats = (index.astype(np.uint32) for index in np.nonzero(acting[live]))
        lanes = live[rows]
        actions = played[lanes, seats]
        valid = actions < self._info.actions
        if self._info.masked:
            legal = self._legal[: len(lanes)]
            legal.flags.writeable = True
            self._boards.legal(lanes, seats, legal)
            valid &= legal[np.arange(len(lanes)), np.minimum(actions, self._info.actions - 1)]
        for row in np.flatnonzero(~valid).tolist():
            raise SavedMatchFailed(int(lanes[row]), f"has the action {actions[row]}, which is not legal")

    def _ask_again(self, loaded: LoadedPilot, live: Indices, acting: Bools, played: Ints) -> None:
        idle = 0
        while self._gather(loaded, live, acting):
            slots, lanes, seats = self._ask(loaded).rows[:3]
            answers, recorded = self._held[lanes, seats], played[lanes, seats]
            for row in np.flatnonzero((answers != PENDING) & (answers != recorded)).tolist():
                text = f"answers {answers[row]}, but answered {recorded[row]} before the matches were saved"
                raise SlotFailed(int(slots[row]), f"{text}: it has changed, or is not repeatable")
            idle += 1
            _pause(idle if (answers == PENDING).any() else 0)

    def _failed(self, loaded: LoadedPilot, slots: Indices, error: BaseException) -> SlotFailed:
        """The failure of a call: of the agent that the pilot marked, or else of one of several."""
        row = self._turn[0] - 1 if 0 < self._turn[0] <= slots.size else 0
        several = not self._turn[0] and slots.size > 1
        loaded.settle()
        who = f"or another of the {slots.size} agents of kind {loaded.kind.name!r} in this call " if several else ""
        return SlotFailed(int(slots[row]), f"{who}failed: {describe_error(error)}")


def _pause(idle: int) -> None:
    """Sleep briefly after some ticks in a row in which no lane moved."""
    if idle:
        time.sleep(min(idle * 2e-5, LONGEST_PAUSE))


def _cause(obs: Observations) -> str:
    return "" if np.isfinite(obs).all() else ", but the observation has nan or inf: check the game"


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
