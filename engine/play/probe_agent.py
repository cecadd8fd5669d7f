"""An agent for checks: its actions depend on the whole observation, so that every difference shows in the result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from engine.game import AgentKind, Bools, Game, Indices, Ints, Seeds, Views
from engine.kernels import bare, row
from engine.play.match import AgentSpec, MatchResult
from engine.registry import KINDS
from engine.seeding import GOLDEN, draw, mix, purpose

NAME = "checks-witness"
CHOICE = purpose("checks.witness")


@row
def act_row(arrays, slot, agent, ply, obs, legal, position):  # type: ignore[no-untyped-def]
    """A legal action that depends on every bit of the observation, on the legal actions and on the ply."""
    (seeds,) = arrays
    flat = obs.reshape(obs.size).view(np.uint32)
    mixed = draw(seeds[slot], CHOICE, 0, ply, 0)
    for k in range(flat.size):  # each line is a bijection of `mixed`: one wrong number is never lost
        mixed = (mixed ^ np.uint64(flat[k])) * np.uint64(GOLDEN)
        mixed ^= mixed >> np.uint64(32)
    left = mix(mixed)
    count = np.int64(0)
    for action in range(legal.size):
        count += np.int64(legal[action] != 0)
    nth = np.int64(left % np.uint64(count))
    chosen = np.int64(0)
    for action in range(legal.size):
        if legal[action] != 0:
            if nth == 0:
                chosen = np.int64(action)
                break
            nth -= 1
    return chosen


@bare
def _act(arrays, slots, plies, obs, legal, masked, out):  # type: ignore[no-untyped-def]
    for i in range(out.size):
        out[i] = act_row(arrays, slots[i], 0, plies[i], obs[i], legal[i if masked else 0], None)


class ProbePilot:
    """The pilot of probe agents; all slots play alike."""

    capacity = None
    act_row = staticmethod(act_row)
    observes = True

    def __init__(self, game: Game, slots: int) -> None:
        self._seeds: Seeds = np.zeros(slots, np.uint64)
        self._all: Bools = np.ones((1, game.info.actions), np.bool_)

    @property
    def arrays(self) -> tuple[Seeds]:
        return (self._seeds,)

    def load(self, agent: AgentSpec) -> int:
        return 0

    def begin(self, slots: Indices, agents: Indices, seeds: Seeds) -> None:
        self._seeds[slots] = seeds

    def act(self, views: Views) -> Ints:
        out: Ints = np.zeros(len(views), np.int64)
        legal = self._all if views.legal is None else views.legal.copy()
        flags = legal.view(np.uint8)
        _act(self.arrays, views.slots, views.plies, views.obs, flags, views.legal is not None, out)
        return out

    def end(self, slots: Indices, results: Sequence[MatchResult] | None) -> None:
        pass

    def close(self) -> None:
        pass


@contextmanager
def probe_agent() -> Iterator[AgentSpec]:
    """Yields a probe agent; its kind is registered within the `with` block."""
    KINDS.add(NAME, AgentKind(NAME, 1, ProbePilot, lambda game: True, lambda game: []))
    try:
        yield AgentSpec("witness", NAME)
    finally:
        KINDS.remove(NAME)
