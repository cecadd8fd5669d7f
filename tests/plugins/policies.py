"""Policies in plain Python, for tests of rollouts by ticks.

The payload of `python-policy` names how it fails at step 3: `hang`, `raise`, `illegal`, `resign`, `nan` or `shape`; if
it is empty, it does not fail. `once FILE` hangs if there is no such file, and makes it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.game import PENDING, RESIGN, AgentKind, Decisions, Game, Indices, Ints, Observations, Seeds, Views
from engine.play.match import AgentSpec, MatchResult
from engine.registry import GAMES, KINDS
from engine.seeding import chance, purpose
from tests.plugins import nets, stones

SAMPLE = purpose("test.policy")


class PythonPilot:
    """Chooses legal actions at random. The value of an observation is its mean."""

    capacity = None

    def __init__(self, game: Game, slots: int) -> None:
        self._actions, self._seeds = game.info.actions, np.zeros(slots, np.uint64)
        self._payloads: list[bytes] = []

    def load(self, agent: AgentSpec) -> int:
        if agent.payload == b"broken":
            raise ValueError("the file is broken")
        self._payloads.append(agent.payload)
        return len(self._payloads) - 1

    def replace(self, number: int, agent: AgentSpec) -> None:
        self._payloads[number] = agent.payload

    def begin(self, slots: Indices, agents: Indices, seeds: Seeds) -> None:
        self._seeds[slots] = seeds

    def act(self, views: Views) -> Ints:
        return self.decide(views).actions

    def decide(self, views: Views) -> Decisions:
        actions, log_probs = np.zeros(len(views), np.int64), np.zeros(len(views), np.float32)
        values = self.evaluate(views.agents, views.obs)
        for row in range(len(views)):
            views.asking(row)
            legal = np.arange(self._actions) if views.legal is None else np.flatnonzero(views.legal[row])
            mark = chance(int(self._seeds[views.slots[row]]), SAMPLE, 0, int(views.plies[row]))
            actions[row], log_probs[row] = legal[int(mark * len(legal))], -np.log(len(legal))
            if views.plies[row] == 3 and (payload := self._payloads[views.agents[row]]):
                actions[row], values[row] = self._fail(payload, actions[row], values[row])
        return Decisions(actions, log_probs, values[:-1] if b"shape" in self._payloads else values)

    def _fail(self, payload: bytes, action: int, value: float) -> tuple[int, float]:
        match payload:
            case b"hang":
                threading.Event().wait()
            case _ if payload.startswith(b"once ") and not (mark := Path(payload[5:].decode())).exists():
                mark.touch()
                threading.Event().wait()
            case b"raise":
                raise ZeroDivisionError("no way on")
            case b"illegal":
                action = 99
            case b"resign":
                action = RESIGN
            case b"nan":
                value = np.nan
        return action, value

    def evaluate(self, agents: Indices, obs: Observations) -> NDArray[np.float32]:
        return obs.reshape(len(obs), -1).mean(axis=1, dtype=np.float64).astype(np.float32)

    def end(self, slots: Indices, results: Sequence[MatchResult] | None) -> None:
        pass

    def close(self) -> None:
        pass


class SlowPilot(PythonPilot):
    """Answers PENDING at every second call, for a part of its rows."""

    _calls = 0

    def decide(self, views: Views) -> Decisions:
        decided = super().decide(views)
        self._calls += 1
        decided.actions[self._calls % 2 :: 2] = PENDING
        return decided


def kind_of(name: str, pilot: Any) -> AgentKind:
    return AgentKind(name, 1, pilot, lambda game: True, lambda game: [])


PYTHON, SLOW = kind_of("python-policy", PythonPilot), kind_of("slow-policy", SlowPilot)
ALL = (PYTHON, SLOW, nets.KIND)

GAMES.add("stones", stones.Stones)
for kind in ALL:
    KINDS.add(kind.name, kind)
