"""The state of a PPO training between updates, which goes into checkpoints: safetensors with JSON, no pickle.

Random numbers need no state: each draw is a function of the seed and the number of the update or match.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from agents.nets import network as networks
from agents.nets.architecture import Architecture
from agents.nets.pilot import agent
from agents.training.events import Checkpoint, Event, Level, Log, Player
from agents.training.selfplay.config import PpoConfig
from agents.training.selfplay.learner import Learner
from agents.training.selfplay.opponents import LEAGUE, LEARNER, Opponent, OpponentPool, Retired
from engine import codec
from engine.errors import BadValue
from engine.game import Game
from engine.play.match import AgentSpec
from engine.processes.channel import MAX_FRAME

FORMAT, VERSION = "ringside-ppo-checkpoint", 1
LARGEST = 64 << 20  # bytes of JSON
LARGEST_CHECKPOINT = MAX_FRAME - (1 << 20)  # bytes, with its players; the rest of a message has less than 1 MiB
ABOUT, ROLLOUT, BEST, PAYLOAD = "about", "rollout", "best", "payload."


@dataclass(frozen=True)
class SavedOpponent:
    """An agent of the pool; its payload is a tensor of its own."""

    id: str
    kind: str
    version: int
    points: float
    games: float
    retired: bool
    streams: tuple[int, ...]


@dataclass(frozen=True)
class Best:
    """The network with the best validation so far."""

    update: int
    share: float
    about: str
    kind: str
    version: int
    payload: bytes

    def player(self) -> Player:
        return Player(self.kind, self.version, self.payload, self.about)


@dataclass(frozen=True)
class PpoCheckpoint:
    """What a checkpoint holds besides tensors. The payload of `best` is empty here: it is a tensor."""

    format: str
    version: int
    game: str
    architecture: Architecture
    update: int
    samples: int
    validated: int
    opponents: tuple[SavedOpponent, ...]
    bot_points: tuple[tuple[float, ...], ...]
    best: Best | None


class PpoRun:
    """A training in progress."""

    def __init__(self, learner: Learner, pool: OpponentPool) -> None:
        self.learner, self.pool = learner, pool
        self.update = 0  # completed
        self.first_update = 0  # of this session
        self.samples = 0  # turns learned from
        self.validated = 0  # the last update that was validated
        self.bot_points: tuple[tuple[float, ...], ...] = ()  # of the validating bots against each other
        self.best: Best | None = None
        self.rollout: bytes | None = None  # running matches, as saved
        self.saved: int | None = None  # the update of the last checkpoint

    @classmethod
    def start(cls, settings: PpoConfig, game: Game, ancestor: AgentSpec | None, league: Sequence[AgentSpec]) -> PpoRun:
        network = None if ancestor is None else networks.load(ancestor.payload)
        learner = Learner(settings, game, settings.architecture(game, network.architecture if network else None))
        if network is not None:
            learner.start_from(network)
        pool = OpponentPool()
        for entrant in league:
            pool.add(LEAGUE, entrant.id, entrant)
        return cls(learner, pool)

    def spec(self) -> AgentSpec:
        """The current network as the agent that plays training matches: it samples its actions."""
        return agent(LEARNER, self.learner.network(1.0))

    def player(self, temperature: float) -> Player:
        """The current network, to be watched."""
        spec = agent(LEARNER, self.learner.network(temperature))
        about = f"ppo, update {self.update}, {self.samples:,} turns; not validated"
        return Player(spec.kind, spec.version, spec.payload, about)

    def checkpoint(self, rollout: bytes) -> list[Event]:
        """A checkpoint from which the next update follows. If it would be too large for a message to the session, it
        goes without the running matches and the snapshots that only they need, and a warning says so."""
        events: list[Event] = []
        players = (self.best.player(),) if self.best else ()
        room = LARGEST_CHECKPOINT - sum(len(player.payload) for player in players)
        state = self.dump(rollout)
        if len(state) > room and rollout:
            text = f"the checkpoint of update {self.update} goes without its running matches: with them it would have "
            text += f"{len(state) / (1 << 20):,.0f} MiB. A session that is resumed from it begins new matches"
            events.append(Log(text, Level.WARNING))
            state = self.dump(b"")
        self.saved = self.update
        return [*events, Checkpoint(self.update, state, players)]

    def dump(self, rollout: bytes) -> bytes:
        """Without running matches, snapshots that have left the pool are left out too."""
        saved, tensors = [], self.learner.tensors()
        for member in self.pool.members.values():
            saved.append(_saved(member.agent, member.points, member.games, None))
        for gone in self.pool.retired.values() if rollout else ():
            saved.append(_saved(gone.agent, 0.0, 0.0, gone))
        for k, spec in enumerate(self.pool.agents[: len(saved)]):
            tensors[f"{PAYLOAD}{k}"] = np.frombuffer(spec.payload, np.uint8)
        about = PpoCheckpoint(
            FORMAT,
            VERSION,
            self.learner.game_name,
            self.learner.architecture,
            self.update,
            self.samples,
            self.validated,
            tuple(saved),
            self.bot_points,
            replace(self.best, payload=b"") if self.best else None,
        )
        if self.best:
            tensors[BEST] = np.frombuffer(self.best.payload, np.uint8)
        tensors[ABOUT] = np.frombuffer(codec.dump(about).encode(), np.uint8)
        tensors[ROLLOUT] = np.frombuffer(rollout, np.uint8)
        return save(tensors)

    @classmethod
    def from_checkpoint(cls, data: bytes, settings: PpoConfig, game: Game) -> PpoRun:
        """Restores a run; raises BadValue if the checkpoint is invalid."""
        try:
            tensors = load(data)
        except (SafetensorError, ValueError) as error:
            raise BadValue("checkpoint", str(error), "safetensors") from None
        about = codec.load(PpoCheckpoint, _bytes(tensors, ABOUT), LARGEST, format=FORMAT, version=VERSION)
        if about.game != game.spec.name:
            raise BadValue("checkpoint.game", about.game, game.spec.name)
        learner = Learner(settings, game, about.architecture)
        learner.set_tensors(tensors)
        run = cls(learner, OpponentPool())
        run.rollout = _bytes(tensors, ROLLOUT)
        for k, saved in enumerate(about.opponents):
            spec = AgentSpec(saved.id, saved.kind, _bytes(tensors, f"{PAYLOAD}{k}"), saved.version)
            if not saved.retired:
                run.pool.members[saved.id] = Opponent(spec, saved.points, saved.games)
            elif run.rollout:  # otherwise no match against it continues
                run.pool.retired[saved.id] = Retired(spec, set(saved.streams))
        run.update = run.first_update = run.saved = about.update
        run.samples, run.validated = about.samples, about.validated
        run.bot_points = about.bot_points
        run.best = replace(about.best, payload=_bytes(tensors, BEST)) if about.best else None
        return run


def _saved(spec: AgentSpec, points: float, games: float, gone: Retired | None) -> SavedOpponent:
    streams = tuple(sorted(gone.streams)) if gone else ()
    return SavedOpponent(spec.id, spec.kind, spec.version, points, games, gone is not None, streams)


def _bytes(tensors: dict[str, NDArray[np.uint8]], name: str) -> bytes:
    if name not in tensors or tensors[name].dtype != np.uint8:
        raise BadValue("checkpoint", name, "among its tensors, as bytes")
    return tensors[name].tobytes()
