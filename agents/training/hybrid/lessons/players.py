"""Asks agents for their actions in positions that need not come from their own play."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from engine.closing import Closing
from engine.errors import BadValue, GameFailed
from engine.foreign_code import INTERRUPTS
from engine.game import (
    PENDING,
    RESIGN,
    AgentKind,
    Boards,
    Bools,
    Game,
    Indices,
    Ints,
    Observations,
    Pilot,
    Seeds,
    Views,
)
from engine.play.agent_errors import describe_error, describe_illegal
from engine.play.match import AgentSpec
from engine.registry import kind_of

CALL = 0.1  # seconds that a call may take: between two calls it is checked whether to stop
LONGEST_PAUSE = 5e-3  # seconds between two calls while an agent thinks
NO_ONE = -1

Stop = Callable[[], bool]


class Stopped(Exception):  # noqa: N818
    """The session was asked to stop."""


class StopWatch:
    """Calls `stop` several times a second."""

    def __init__(self, stop: Stop) -> None:
        self._stop, self._checked = stop, time.monotonic()

    def check(self) -> None:
        """Raises Stopped once `stop` returns True."""
        now = time.monotonic()
        if now - self._checked > CALL:
            self._checked = now
            if self._stop():
                raise Stopped


class Questions(NamedTuple):
    """Who must act where, one question in each row."""

    who: Ints  # index of the agent
    lanes: Indices
    seats: Indices
    plies: Ints
    legal: Bools | None  # [rows, actions]

    def at(self, rows: Ints | Bools) -> Questions:
        legal = None if self.legal is None else self.legal[rows]
        return Questions(self.who[rows], self.lanes[rows], self.seats[rows], self.plies[rows], legal)


@dataclass(eq=False)
class Loaded:
    """A pilot, and the agents that it plays."""

    kind: AgentKind
    pilot: Pilot
    agents: list[int] = field(default_factory=list)  # indices
    rows: int = 1  # in one call
    active: set[int] = field(default_factory=set)  # slots with a match


class Players(Closing):
    """Agents on the lanes of one game; each slot has one agent in a match."""

    def __init__(
        self, game: Game, lanes: int, agents: Sequence[AgentSpec], settings: Sequence[str], stop: Stop
    ) -> None:
        """Raises BadValue if one of them cannot play. `settings`: what names each agent, for errors. `stop` is called
        several times a second; once it returns True, `ask` raises Stopped."""
        self._game, self._info, self._settings, self._watch = game, game.info, tuple(settings), StopWatch(stop)
        self._agents = tuple(agents)
        self._pilots: dict[str, Loaded] = {}
        self._numbers: Ints = np.zeros(len(agents), np.int64)
        self._slot_agents: Ints = np.full(lanes * game.info.seats, NO_ONE, np.int64)
        self._obs: Observations = np.zeros((lanes * game.info.seats, *game.info.observation), np.float32)
        try:
            for index, agent in enumerate(agents):
                self._load(index, agent, lanes * game.info.seats)
        except BaseException:
            self.close()
            raise

    def _load(self, index: int, agent: AgentSpec, slots: int) -> None:
        kind = kind_of(agent)
        if kind.live:
            raise BadValue(self._settings[index], agent.id, "an agent that plays by itself, not a person")
        if not kind.plays(self._game):
            raise BadValue(self._settings[index], agent.id, f"able to play {self._game.spec.name}; {agent.kind} is not")
        if kind.admit is not None:
            kind.admit(agent)
        try:
            if kind.name not in self._pilots:
                self._pilots[kind.name] = Loaded(kind, kind.pilot(self._game, slots))
            loaded = self._pilots[kind.name]
            self._numbers[index] = loaded.pilot.load(agent)
        except INTERRUPTS:
            raise
        except BaseException as error:  # code of agents may raise anything
            raise self._failed(index, f"it cannot be loaded: {describe_error(error)}") from error
        loaded.agents.append(index)

    @property
    def capacity(self) -> int | None:
        """Most slots with a match at once; None if unlimited."""
        found = [loaded.pilot.capacity for loaded in self._pilots.values() if loaded.pilot.capacity is not None]
        return min(found, default=None)

    def begin(self, slots: Indices, who: Ints, seeds: Seeds) -> None:
        """New matches on these slots, after the end of earlier ones."""
        self.end(slots)
        self._slot_agents[slots] = who
        for loaded in self._pilots.values():
            mine = np.flatnonzero(np.isin(who, loaded.agents))
            if mine.size:
                loaded.active.update(slots[mine].tolist())
                numbers = self._numbers[who[mine]].astype(np.uint32)
                self._call(int(who[mine[0]]), partial(loaded.pilot.begin, slots[mine], numbers, seeds[mine]))

    def end(self, slots: Indices) -> None:
        """The matches on these slots are over."""
        for loaded in self._pilots.values():
            mine = [slot for slot in slots.tolist() if slot in loaded.active]
            if mine:
                loaded.active.difference_update(mine)
                self._call(int(self._slot_agents[mine[0]]), partial(loaded.pilot.end, np.array(mine, np.uint32), None))

    def ask(self, boards: Boards, questions: Questions) -> Ints:
        """Their answers: legal actions, or RESIGN. Raises BadValue if an agent fails, and Stopped."""
        answers: Ints = np.full(len(questions.who), PENDING, np.int64)
        for loaded in self._pilots.values():
            mine, at = np.flatnonzero(np.isin(questions.who, loaded.agents)), 0
            while at < mine.size:
                self._watch.check()
                some = mine[at : at + loaded.rows]
                self._ask(loaded, boards, questions.at(some), some, answers)
                at += some.size
        return answers

    def _ask(self, loaded: Loaded, boards: Boards, questions: Questions, rows: Ints, answers: Ints) -> None:
        """Ask a pilot until it has answered all of these questions, and adapt how many it is asked at once."""
        idle = 0
        since = time.monotonic()
        while True:
            waiting = np.flatnonzero(answers[rows] == PENDING)
            if not waiting.size:
                break
            if idle:
                time.sleep(min(idle * 2e-5, LONGEST_PAUSE))
                self._watch.check()
            answers[rows[waiting]] = self._answers(loaded, boards, questions.at(waiting))
            idle += 1
        spent = time.monotonic() - since
        if spent < CALL / 4 and len(rows) == loaded.rows:
            loaded.rows *= 2
        elif spent > CALL:
            loaded.rows = max(loaded.rows // 2, 1)

    def _answers(self, loaded: Loaded, boards: Boards, questions: Questions) -> Ints:
        who, lanes, seats, plies, legal = questions
        n = len(who)
        slots = lanes * np.uint32(self._info.seats) + seats
        given = (slots, lanes, seats, self._numbers[who].astype(np.uint32), plies.astype(np.uint32))
        rows: Indices = np.array(given, np.uint32)
        rows.flags.writeable = False
        mask = None if legal is None else legal.copy()
        if mask is not None:
            mask.flags.writeable = False
        views = Views(boards, rows, self._obs[:n], mask)
        actions = self._call(int(who[0]), partial(loaded.pilot.act, views), views)
        if not isinstance(actions, np.ndarray) or actions.shape != (n,) or actions.dtype.kind != "i":
            raise self._failed(int(who[0]), f"it answered {actions!r:.100} instead of an action for each position")
        valid = (actions >= 0) & (actions < self._info.actions)
        if legal is not None:
            valid &= legal[np.arange(n), np.clip(actions, 0, self._info.actions - 1)]
        for row in np.flatnonzero(~valid & (actions != PENDING) & (actions != RESIGN)).tolist():
            raise self._failed(int(who[row]), f"it {describe_illegal(int(actions[row]), self._info.actions)}")
        return actions.astype(np.int64)

    def _call(self, who: int, call: Callable[[], Any], views: Views | None = None) -> Any:
        """Call an agent's code; if it fails, the error names the agent that the pilot marked, or else `who`."""
        try:
            return call()
        except GameFailed:
            raise
        except INTERRUPTS:
            raise
        except BaseException as error:  # as above
            if views is not None and 0 < (row := views.turn[0]) <= len(views):
                who = int(self._slot_agents[int(views.slots[row - 1])])
            raise self._failed(who, describe_error(error)) from error

    def _failed(self, who: int, reason: str) -> BadValue:
        return BadValue(self._settings[who], self._agents[who].id, f"an agent that gives an answer: {reason}")

    def close(self) -> None:
        """Ends the matches, and releases the pilots."""
        pilots, self._pilots = self._pilots, {}
        for loaded in pilots.values():
            try:
                if loaded.active:
                    loaded.pilot.end(np.array(sorted(loaded.active), np.uint32), None)
                loaded.pilot.close()
            except INTERRUPTS:
                raise
            except BaseException:  # all that was asked has been answered
                continue
