"""Plays networks of any architecture by torch, for images and for networks that are too large for compiled code.

torch is imported when the first match begins, so that a payload can be checked without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from agents.nets.facts import configure, describe, draw, settings
from agents.nets.network import Network, load
from agents.nets.onnx.export import agent_to_onnx
from agents.nets.sampling import CHOICE, INVALID, answer_rows, choice_of
from engine.errors import BadValue
from engine.game import BROKEN, AgentKind, Decisions, Game, Indices, Ints, Observations, Seeds, Views
from engine.play.match import AgentSpec, MatchResult

if TYPE_CHECKING:
    from agents.nets.inference import Inference


class TorchPilot:
    """Plays every network of a group of lanes, one network after the other, in chunks of rows."""

    capacity = None

    def __init__(self, game: Game, slots: int) -> None:
        self._game, self._actions = game, game.info.actions
        self._networks: list[Network] = []
        self._inferences: dict[int, Inference] = {}  # of networks that have played
        self._choices = np.zeros(0, CHOICE)
        self._seeds: Seeds = np.zeros(slots, np.uint64)
        self._chances = np.zeros(self._actions)
        self._actions_out: Ints = np.zeros(slots, np.int64)
        self._log_probs = np.zeros(slots, np.float32)
        self._logits = np.zeros((slots, self._actions), np.float32)
        self._all = np.ones((1, self._actions), np.uint8)

    def load(self, agent: AgentSpec) -> int:
        network = self._read(agent)
        self._networks.append(network)
        self._choices = np.append(self._choices, np.array([choice_of(self._actions, network.temperature)], CHOICE))
        return len(self._networks) - 1

    def replace(self, number: int, agent: AgentSpec) -> None:
        """Sets new weights of a loaded agent, of the same architecture; running matches use them at once."""
        network, former = self._read(agent), self._networks[number]
        if network.architecture != former.architecture:
            needed = f"{former.architecture}, as in the network that it replaces"
            raise BadValue("architecture", network.architecture, needed)
        self._networks[number] = network
        self._choices[number] = choice_of(self._actions, network.temperature)
        self._inferences.pop(number, None)

    def _read(self, agent: AgentSpec) -> Network:
        network = load(agent.payload)
        network.check_game(self._game)
        return network

    def begin(self, slots: Indices, agents: Indices, seeds: Seeds) -> None:
        self._seeds[slots] = seeds

    def act(self, views: Views) -> Ints:
        return self.decide(views).actions

    def decide(self, views: Views) -> Decisions:
        logits, values = self._evaluate(views.agents, views.obs)
        actions, log_probs = self._actions_out[: len(views)], self._log_probs[: len(views)]
        legal = self._all if views.legal is None else views.legal.view(np.uint8)
        asked = views.agents, views.slots, views.plies
        answer_rows(
            self._choices, self._seeds, asked, logits, values, legal, views.legal is not None, self._chances,
            actions, log_probs,
        )  # fmt: skip
        broken = np.flatnonzero(actions == BROKEN)
        if broken.size:
            views.asking(int(broken[0]))
            raise FloatingPointError(INVALID)
        return Decisions(actions, log_probs, values)

    def evaluate(self, agents: Indices, obs: Observations) -> NDArray[np.float32]:
        return self._evaluate(agents, obs)[1]

    def _evaluate(self, agents: Indices, obs: Observations) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Logits and values of all rows, by network and in chunks."""
        from agents.nets.inference import CHUNK, evaluating

        if len(self._logits) < len(obs):
            self._logits = np.zeros((len(obs), self._actions), np.float32)
        logits, values = self._logits[: len(obs)], np.zeros(len(obs), np.float32)
        with evaluating():
            for number, rows in _by_agent(agents):
                inference = self._inference(number)
                for first in range(0, len(obs) if rows is None else len(rows), CHUNK):
                    at = slice(first, first + CHUNK)
                    inference.run(obs, logits, values, at if rows is None else rows[at])
        return logits, values

    def _inference(self, number: int) -> Inference:
        from agents.nets.inference import inference_of

        found = self._inferences.get(number)
        if found is None:
            found = self._inferences[number] = inference_of(self._networks[number])
        return found

    def end(self, slots: Indices, results: Sequence[MatchResult] | None) -> None:
        pass

    def close(self) -> None:
        pass


def _by_agent(agents: Indices) -> Iterator[tuple[int, NDArray[np.int64] | None]]:
    """The rows of each agent; None stands for all rows."""
    if len(agents) and (agents == agents[0]).all():
        yield int(agents[0]), None
        return
    order = np.argsort(agents, kind="stable")
    ends = np.flatnonzero(np.diff(agents[order].astype(np.int64), append=-1)) + 1
    first = 0
    for end in ends.tolist():
        yield int(agents[order[first]]), order[first:end]
        first = end


TORCH_NET = AgentKind(
    name="torch-net",
    version=1,
    pilot=TorchPilot,
    plays=lambda game: True,
    samples=lambda game: [],
    preload=("torch",),
    draw=draw,
    describe=describe,
    settings=settings,
    configure=configure,
    formats={"onnx": agent_to_onnx},
)
