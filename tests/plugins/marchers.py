"""Compiled agents that misbehave: a payload such as `raise 7` selects the fault and the ply."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.game import BROKEN, PENDING, RESIGN, AgentKind, Game, Indices, Ints, Seeds, Views
from engine.kernels import bare, row
from engine.play.match import AgentSpec, MatchResult
from engine.seeding import draw, purpose

DEEDS = ("play", "resign", "illegal", "forbidden", "broken", "pending", "raise", "loop")
PLAY, RESIGNING, ILLEGAL, FORBIDDEN, BREAKING, THINKING, RAISING, LOOPING = range(len(DEEDS))
CHOICE = purpose("tests.marcher")
NAME = "marcher"


@row
def act_row(arrays, slot, agent, ply, obs, legal, position):  # type: ignore[no-untyped-def]
    agents, seeds = arrays
    deed = agents[agent, 0] if np.int64(ply) >= agents[agent, 1] else PLAY
    chosen = np.int64(draw(seeds[slot], CHOICE, 0, ply, 0) % np.uint64(legal.size))
    while legal[chosen] == 0:
        chosen = (chosen + 1) % legal.size
    if deed == RESIGNING:
        chosen = RESIGN
    elif deed == ILLEGAL:
        chosen = 1_000_000
    elif deed == FORBIDDEN:
        chosen = np.int64(legal.size - 1)  # whether it is legal or not
    elif deed == BREAKING:
        chosen = BROKEN
    elif deed == THINKING:
        chosen = PENDING
    elif deed == RAISING:
        raise ValueError("a row function gives up")
    elif deed == LOOPING:
        while agents[agent, 1] >= 0:
            seeds[slot] += np.uint64(1)
    return chosen


@bare
def _act(arrays, agents, slots, plies, legal, masked, out):  # type: ignore[no-untyped-def]
    for i in range(out.size):
        out[i] = act_row(arrays, slots[i], agents[i], plies[i], None, legal[i if masked else 0], None)


class MarcherPilot:
    """In ticks, acts row by row, so that a failure belongs to one row."""

    capacity = None
    act_row = staticmethod(act_row)
    observes = False

    def __init__(self, game: Game, slots: int) -> None:
        self._agents: Ints = np.zeros((0, 2), np.int64)
        self._seeds: Seeds = np.zeros(slots, np.uint64)
        self._all = np.ones((1, game.info.actions), np.bool_)
        self._thought: set[int] = set()

    @property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        return self._agents, self._seeds

    def load(self, agent: AgentSpec) -> int:
        deed, ply = agent.payload.decode().split()
        self._agents = np.append(self._agents, [[DEEDS.index(deed), int(ply)]], axis=0)
        return len(self._agents) - 1

    def begin(self, slots: Indices, agents: Indices, seeds: Seeds) -> None:
        self._seeds[slots] = seeds

    def act(self, views: Views) -> Ints:
        out: Ints = np.zeros(len(views), np.int64)
        for at in range(len(views)):
            views.asking(at)
            row = slice(at, at + 1)
            legal = self._all if views.legal is None else views.legal[row].copy()
            _act(
                self.arrays, views.agents[row], views.slots[row], views.plies[row],
                legal.view(np.uint8), views.legal is not None, out[row],
            )  # fmt: skip
            if out[at] == BROKEN:
                raise OverflowError("too large for a number")
            if out[at] == PENDING and int(views.slots[at]) in self._thought:  # it answers PENDING once, then plays
                out[at] = 0 if views.legal is None else int(np.flatnonzero(views.legal[at])[0])
            elif out[at] == PENDING:
                self._thought.add(int(views.slots[at]))
        return out

    def end(self, slots: Indices, results: Sequence[MatchResult] | None) -> None:
        self._thought.difference_update(slots.tolist())

    def close(self) -> None:
        pass


def marcher(deed: str = "play", ply: int = 0, name: str = "") -> AgentSpec:
    return AgentSpec(name or f"{deed} {ply}", NAME, f"{deed} {ply}".encode())


KIND = AgentKind(NAME, 1, MarcherPilot, lambda game: True, lambda game: [marcher()])
