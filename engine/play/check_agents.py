"""Agents that the checks of executors play with: they play, wait, raise, crash or hang, as their payload says.

Importing this module registers their kind, so that workers that import it as a plug-in have it too.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from engine.game import PENDING, AgentKind, Game, Indices, Ints, Seeds, Views
from engine.play.match import AgentSpec, MatchResult
from engine.registry import KINDS
from engine.seeding import pick, purpose

NAME = "checks-agent"
CHOICE = purpose("checks.agent")
BEHAVIOURS = ("plays", "waits", "raises", "exits", "hangs")
FAILS_AT = 3  # the ply in which an agent fails


class CheckPilot:
    """Plays legal actions at random; see `BEHAVIOURS` for what else it does."""

    capacity = None

    def __init__(self, game: Game, slots: int) -> None:
        self._actions = game.info.actions
        self._behaviours: list[str] = []
        self._slots: dict[int, tuple[str, int]] = {}  # behaviour and seed, by slot

    def load(self, agent: AgentSpec) -> int:
        self._behaviours.append(agent.payload.decode())
        return len(self._behaviours) - 1

    def begin(self, slots: Indices, agents: Indices, seeds: Seeds) -> None:
        for slot, agent, seed in zip(slots.tolist(), agents.tolist(), seeds.tolist(), strict=True):
            self._slots[slot] = self._behaviours[agent], seed

    def act(self, views: Views) -> Ints:
        return np.array([self._answer(views, row) for row in range(len(views))], np.int64)

    def _answer(self, views: Views, row: int) -> int:
        behaviour, seed = self._slots[int(views.slots[row])]
        ply = int(views.plies[row])
        if behaviour == "waits":
            return PENDING
        if ply == FAILS_AT:
            if behaviour == "raises":
                raise ValueError("this agent raises an exception, as the check wants it")
            if behaviour == "exits":
                os._exit(3)
            while behaviour == "hangs":
                time.sleep(0.1)
        legal = range(self._actions) if views.legal is None else np.flatnonzero(views.legal[row]).tolist()
        return int(legal[pick(len(legal), seed, CHOICE, 0, ply)])

    def end(self, slots: Indices, results: Sequence[MatchResult] | None) -> None:
        for slot in slots.tolist():
            del self._slots[slot]

    def close(self) -> None:
        pass


KIND = AgentKind(NAME, 1, CheckPilot, lambda game: True, lambda game: [check_agent("plays")], thinking=math.inf)


def check_agent(behaviour: str, id: str = "") -> AgentSpec:
    """An agent with this behaviour; by default its id is the behaviour."""
    assert behaviour in BEHAVIOURS, f"{behaviour!r} is not one of {', '.join(BEHAVIOURS)}"
    return AgentSpec(id or behaviour, NAME, behaviour.encode())


@contextmanager
def registered() -> Iterator[None]:
    """Registers the kind within the `with` block only, so that it is not listed among the others."""
    KINDS.add(NAME, KIND)
    try:
        yield
    finally:
        KINDS.remove(NAME)


KINDS.add(NAME, KIND)  # for workers, which import this module
