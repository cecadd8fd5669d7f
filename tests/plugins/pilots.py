"""Agents that test a shared arena: slow, stateful and misbehaving ones."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Sequence

import numpy as np

from engine.game import PENDING, RESIGN, AgentKind, Game, Indices, Ints, Seeds, Views
from engine.play.match import AgentSpec, MatchResult
from engine.seeding import pick, purpose

CHOICE = purpose("tests.choice")


class RowPilot:
    """Answers row by row; `answer(state, views, row)` receives the state of the slot."""

    capacity: int | None = None

    def __init__(self, answer: Callable[[dict, Views, int], int]) -> None:
        self._answer = answer
        self.states: dict[int, dict] = {}
        self.log: list[tuple[str, int]] = []  # every begin and end, by slot
        self._loaded: list[AgentSpec] = []

    def load(self, agent: AgentSpec) -> int:
        self._loaded.append(agent)
        return len(self._loaded) - 1

    def begin(self, slots: Indices, agents: Indices, seeds: Seeds) -> None:
        for slot, agent, seed in zip(slots.tolist(), agents.tolist(), seeds.tolist(), strict=True):
            assert slot not in self.states, f"slot {slot} begins twice"
            self.states[slot] = {"seed": seed, "agent": self._loaded[agent].id}
            self.log.append(("begin", slot))

    def act(self, views: Views) -> Ints:
        return np.array([self._answer(self.states[slot], views, row) for row, slot in enumerate(views.slots.tolist())])

    def end(self, slots: Indices, results: Sequence[MatchResult] | None) -> None:
        for slot in slots.tolist():
            del self.states[slot]
            self.log.append(("end", slot))

    def close(self) -> None:
        self.log.append(("close", len(self.states)))


def choose(state: dict, views: Views, row: int, k: int = 0) -> int:
    """A legal action that depends only on seed and ply."""
    choices = range(3) if views.legal is None else np.flatnonzero(views.legal[row]).tolist()
    return choices[pick(len(choices), state["seed"], CHOICE, 0, int(views.plies[row]), k)]


def slow(state: dict, views: Views, row: int) -> int:
    """Answers PENDING zero to four times, then plays as `choose` does."""
    ply = int(views.plies[row])
    if state.get("ply") != ply:
        state.update(ply=ply, polls=pick(5, state["seed"], CHOICE, 1, ply))
    state["polls"] -= 1
    return PENDING if state["polls"] >= 0 else choose(state, views, row)


def remembering(state: dict, views: Views, row: int) -> int:
    """Acts on all observations of the match so far, like a recurrent network."""
    state["seen"] = zlib.crc32(views.obs[row].tobytes(), state.get("seen", 0))
    return choose(state, views, row, state["seen"] % 1000)


def resigning(state: dict, views: Views, row: int) -> int:
    return RESIGN if views.plies[row] >= 3 else choose(state, views, row)


def vandal(state: dict, views: Views, row: int) -> int:
    random.seed(0)
    np.random.seed(0)
    return choose(state, views, row)


def raising(state: dict, views: Views, row: int) -> int:
    if views.plies[row] == 2:
        raise RuntimeError("I give up")
    return choose(state, views, row)


def illegal(state: dict, views: Views, row: int) -> int:
    return 3 + 7 * int(views.plies[row])


def left_only(state: dict, views: Views, row: int) -> int:
    if views.seats[row] == 0:
        raise RuntimeError("not on the left")
    return choose(state, views, row)


ANSWERS = {
    "fast": choose,
    "slow": slow,
    "remembering": remembering,
    "resigning": resigning,
    "vandal": vandal,
    "raising": raising,
    "illegal": illegal,
    "left-only": left_only,
}


def row_kind(
    name: str, created: list[RowPilot] | None = None, capacity: int | None = None, answer: str = ""
) -> AgentKind:
    """A kind for any game with at least three choices; `made` collects its pilots."""

    def pilot(game: Game, slots: int) -> RowPilot:
        made = RowPilot(ANSWERS[answer or name])
        made.capacity = capacity
        if created is not None:
            created.append(made)
        return made

    return AgentKind(name, 1, pilot, lambda game: True, lambda game: [agent(name)])


def agent(kind: str, name: str = "") -> AgentSpec:
    return AgentSpec(name or kind, kind)
