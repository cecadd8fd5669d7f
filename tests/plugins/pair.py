"""A trainer in torch as a plug-in of one file: two networks play each other, and each learns from its own trajectories.

The settings are read in the window, so torch is imported by the loop alone, in the process of a session.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from safetensors.numpy import load, save

from agents.nets.mlp import Mlp, MlpPilot
from agents.training.events import (
    Champion,
    Checkpoint,
    Ended,
    Event,
    How,
    Metrics,
    Player,
    Span,
    Spans,
    Workers,
    WorkerState,
)
from agents.training.pace import Pace
from agents.training.trainer import Context, Ends, Metric, Reading, Trainer
from engine.diagram import Diagram, Link, Node
from engine.errors import BadValue
from engine.game import AgentKind, Game
from engine.options import option, validate
from engine.play.match import AgentSpec, GameSpec, MatchSpec
from engine.play.rollout import Trajectories
from engine.registry import KINDS, TRAINERS, game_of
from engine.seeding import derive

if TYPE_CHECKING:
    import torch

ROLES = ("Left", "Right")
HIDDEN = 8


# The players


def read(payload: bytes) -> Mlp:
    arrays = load(payload)
    return Mlp((arrays["w0"], arrays["w1"]), (arrays["b0"], arrays["b1"]))


class PairPilot(MlpPilot):
    def __init__(self, game: Game, slots: int) -> None:
        super().__init__(game, slots, read)


def draw(agent: AgentSpec) -> Diagram:
    """A node for each layer."""
    sizes = [len(read(agent.payload).weights[0]), HIDDEN, 3]
    roles = ("input", "hidden", "output")
    nodes = tuple(Node(place / (len(sizes) - 1), 0.5, role) for place, role in enumerate(roles))
    return Diagram(nodes, (Link(0, 1, 1.0), Link(1, 2, 1.0)))


KIND = AgentKind(
    name="pair-net", version=1, pilot=PairPilot, plays=lambda game: True, samples=lambda game: [], draw=draw
)


# The settings


@dataclass(frozen=True)
class Pair(Trainer):
    name: ClassVar[str] = "pair"
    about: ClassVar[str] = "Two networks that learn from playing each other"
    metrics: ClassVar[Mapping[str, Metric]] = {
        "speed/steps": Metric("steps played per second"),
        "error/mean": Metric("error of the value estimates, both networks", Reading.LOSS, "Both", 0.0, "exact"),
        "error/*": Metric("error of the value estimates of this network", Reading.LOSS, "Error of {name}"),
    }
    headline: ClassVar[str] = "error/mean"
    unit: ClassVar[str] = "update"
    ends: ClassVar[Ends] = Ends("updates", "minutes", "target", "error/mean")
    fixed: ClassVar[tuple[str, ...]] = ("seed",)
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"quick": {"updates": 3}}
    loop: ClassVar[str] = "tests.plugins.pair:train"

    updates: int = option(10, low=1, high=1_000_000, help="number of updates")
    minutes: float = option(0.0, low=0.0, help="stop after this many minutes; 0: no limit")
    target: float = option(0.0, low=0.0, help="stop when the error is at most this; 0: no target")
    steps: int = option(32, low=1, high=10_000, help="steps of each match stream in an update")
    rate: float = option(0.02, low=0.0, high=1.0, help="learning rate")
    seed: int = option(1, low=0, help="random seed")

    def __post_init__(self) -> None:
        validate(self)

    def check(self, game: Game, ancestor: AgentSpec | None, resuming: bool) -> None:
        if game.info.seats != 2:
            raise BadValue("game", game.spec.name, "a game for two")


# The loop


class Learner:
    """One of the two networks."""

    def __init__(self, role: str, game: Game, settings: Pair, arrays: Mapping[str, Any] | None) -> None:
        import torch

        self.role, self.rate, self.updates = role, settings.rate, 0
        sizes = [math.prod(game.info.observation), HIDDEN, game.info.actions + 1]
        if arrays is None:
            draws = np.random.default_rng(derive(settings.seed, role))
            arrays = {f"b{k}": np.zeros(sizes[k + 1], np.float32) for k in range(2)}
            for k in range(2):
                arrays[f"w{k}"] = draws.standard_normal((sizes[k], sizes[k + 1])).astype(np.float32) / sizes[k]
        self.parameters = {name: torch.tensor(arrays[name], requires_grad=True) for name in sorted(arrays)}

    def payload(self) -> bytes:
        return save({name: tensor.detach().numpy().copy() for name, tensor in self.parameters.items()})

    def spec(self) -> AgentSpec:
        return AgentSpec(self.role, KIND.name, self.payload(), KIND.version)

    def player(self, step: int) -> Player:
        return Player(KIND.name, KIND.version, self.payload(), f"after {step} updates", self.role)

    def learn(self, played: Trajectories, seat: int) -> float:
        """One step of gradient descent on the squared error of its value estimates; returns that error."""
        import torch

        returns = np.cumsum(played.rewards[:, ::-1, seat], axis=1)[:, ::-1]
        own = np.nonzero(played.acted)[2] == seat
        values = self._values(torch.from_numpy(played.obs[own].reshape(np.count_nonzero(own), -1)))
        error = ((values - torch.from_numpy(returns[played.acted[:, :, seat]])) ** 2).mean()
        error.backward()  # type: ignore[no-untyped-call]
        with torch.no_grad():
            for tensor in self.parameters.values():
                if tensor.grad is not None:
                    tensor -= self.rate * tensor.grad
                    tensor.grad = None
        self.updates += 1
        return float(error)

    def _values(self, obs: torch.Tensor) -> torch.Tensor:
        own = self.parameters
        return ((obs @ own["w0"] + own["b0"]).tanh() @ own["w1"] + own["b1"])[..., -1]


def match(agents: Mapping[str, AgentSpec], stream: int, k: int, game: GameSpec, seed: int, first: int) -> MatchSpec:
    return MatchSpec(f"{stream}.{k}", game, tuple(agents[role] for role in ROLES), derive(seed, first, stream, k))


def train(settings: Pair, context: Context) -> Iterator[Event]:
    import torch

    torch.set_num_threads(1)
    game = game_of(context.game)
    saved = json.loads(context.state) if context.state is not None else {"step": 0}
    known = {role: load(bytes.fromhex(saved[role])) if role in saved else None for role in ROLES}
    learners = [Learner(role, game, settings, known[role]) for role in ROLES]
    first = step = saved["step"]
    pace = Pace(settings, first, time.monotonic)

    shared = {"game": game.spec, "seed": settings.seed, "first": first}
    specs = [learner.spec() for learner in learners]
    pool = context.rollouts(range(8), "tests.plugins.pair:match", specs, settings=shared)
    reason = ""
    while not reason:
        if context.attend():
            yield checkpoint(step, learners)
            yield Ended(How.STOPPED, f"stopped after {step} updates")
            return
        spans, since = [], time.time()
        played = pool.collect(settings.steps)
        spans.append(Span("actor", "collect", since, time.time() - since))
        errors = {}
        for seat, learner in enumerate(learners):
            start = time.time()
            errors[f"error/{learner.role}"] = learner.learn(played, seat)
            pool.replace(learner.spec())
            spans.append(Span(learner.role, "learn", start, time.time() - start))
        step += 1
        mean = sum(errors.values()) / len(errors)
        speed = 8 * settings.steps / (time.time() - since)
        yield Spans(tuple(spans))
        yield Workers(states(learners))
        yield Metrics(step, (*errors.items(), ("error/mean", mean), ("speed/steps", speed)))
        yield pace.progress(step, f"error {mean:.3g}", mean)
        yield checkpoint(step, learners)
        reached = f"error {mean:.3g}" if mean <= settings.target else ""
        late = f"{settings.minutes:g} min" if pace.out_of_time else ""
        reason = (f"{step} updates" if step >= settings.updates else "") or late or reached
    for learner in learners:
        yield Champion(step, learner.player(step))
    yield Ended(How.FINISHED, reason)


def checkpoint(step: int, learners: list[Learner]) -> Checkpoint:
    state = {"step": step, **{learner.role: learner.payload().hex() for learner in learners}}
    return Checkpoint(step, json.dumps(state).encode(), tuple(learner.player(step) for learner in learners))


def states(learners: list[Learner]) -> tuple[WorkerState, ...]:
    return tuple(
        WorkerState(learner.role, "learning", "its own trajectories", f"{learner.updates} updates", pid=os.getpid())
        for learner in learners
    )


KINDS.add(KIND.name, KIND)
TRAINERS.add(Pair.name, Pair)
