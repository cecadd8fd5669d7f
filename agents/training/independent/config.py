"""The settings of the trainer `independent`: each field is an entry of its form and an option of its command."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

from agents.nets.architecture import parse_sizes
from agents.training.independent.experiment import LEARNING_KINDS, NONE, ExperimentSettings
from agents.training.independent.learner_settings import IQN, METHODS, LearnerSettings, check_game
from agents.training.independent.metrics import METRICS
from agents.training.independent.parallel import AUTO, MOST_INTERVAL, MOST_WORKERS, TRAINING_MODES, ParallelSettings
from agents.training.matchmaking import bot_names, split_names
from agents.training.trainer import Ends, Metric, Trainer
from engine.errors import BadValue
from engine.game import Game
from engine.options import Value, option
from engine.play.match import AgentSpec
from engine.processes.channel import MAX_FRAME

ROOM = 16 << 20  # bytes of a checkpoint for all but buffers and learners
TURN_BYTES = 9  # of a turn in a buffer, besides the observation
COPIES = 6  # of a network in a checkpoint: weights, targets, two moments of Adam, the player, and the best one


@dataclass(frozen=True)
class IndependentConfig(ExperimentSettings, Trainer):
    """Settings of the trainer `independent`."""

    name: ClassVar[str] = "independent"
    about: ClassVar[str] = (
        "Agents share a game, one at each seat; each has its own network and learns from its own turns"
    )
    metrics: ClassVar[Mapping[str, Metric]] = METRICS
    headline: ClassVar[str] = "evaluation/score"
    unit: ClassVar[str] = "epoch"
    ends: ClassVar[Ends] = Ends("epochs", "minutes", "target_score", "evaluation/score")
    fixed: ClassVar[tuple[str, ...]] = (
        "seed", "lanes", "buffer", "turns_per_update", "train_interval", "method", "hidden", "dueling", "opponents",
        "evaluate_matches", "references",
    )  # fmt: skip
    agent_settings: ClassVar[tuple[str, ...]] = ("opponents",)
    presets: ClassVar[Mapping[str, Mapping[str, Value]]] = {
        "Treasure Hunt": {
            "epochs": 600, "minutes": 9.0, "reward_scale": 0.1, "discount": 0.95, "epsilon_epochs": 150,
            "evaluate_every": 20, "references": "Dice,Magpie",
        },
    }  # fmt: skip
    preset_games: ClassVar[Mapping[str, tuple[str, ...]]] = {"Treasure Hunt": ("treasure-hunt",)}
    starts_from_agent: ClassVar[bool] = False
    guide: ClassVar[str] = "independent"
    shows_current: ClassVar[bool] = True
    loop: ClassVar[str] = "agents.training.independent.trainer:train"

    minutes: float = option(
        0.0, low=0.0, high=100_000.0, help="stop after this many minutes, when the epoch is complete; 0: no limit"
    )
    target_score: float = option(0.0, low=-1e9, high=1e9, help="stop when evaluation/score reaches this; 0: no limit")
    opponents: str = option(
        "", help="names of agents of the league that take the last seats and do not learn, separated by commas"
    )
    method: str = option(IQN, choices=METHODS, help="iqn: learns quantiles of the return; dqn: learns its mean")
    hidden: str = option("64,64", help="sizes of the layers of each network, such as 64,64")
    quantiles: int = option(12, low=1, high=256, help="iqn: quantiles of a prediction, and as many of its target")
    double: bool = option(True, help="double Q-learning: the network, not the target network, chooses the next action")
    dueling: bool = option(False, help="dqn: separate value and advantage heads")
    batch: int = option(256, low=32, high=65_536, help="turns in a minibatch, a multiple of 32")
    n_steps: int = option(3, low=1, high=1000, help="number of rewards before the bootstrap value")
    discount: float = option(0.97, low=0.0, high=1.0, help="discount of rewards per turn, gamma")
    learning_rate: float = option(1e-3, low=0.0, high=1.0, help="learning rate of Adam")
    tau: float = option(0.005, low=0.0, high=1.0, help="soft-update rate of the target network")
    gradient_norm: float = option(10.0, low=0.0, high=1e6, help="clip gradients to this norm; 0: no clipping")
    checkpoint_every: int = option(200, low=1, high=1_000_000, help="epochs between checkpoints")

    enabled: bool = option(
        True, help="whether the switches below have an effect; if not, agents act and learn one after the other"
    )
    parallel_actions: bool = option(True, help="observe and ask all agents in one call")
    parallel_training: bool = option(True, help="update all agents at once")
    async_learning: bool = option(
        False, help="learner processes learn while matches are played; the results differ from run to run"
    )
    train_interval: int = option(
        4, low=1, high=MOST_INTERVAL, help="epochs between two trainings; asynchronous: between two reports"
    )
    num_workers: int = option(
        0,
        low=0,
        high=MOST_WORKERS,
        help="processes or threads that learn; 0: one more than the session's workers, at most as many as cores",
    )
    use_threads: bool = option(False, help="whether workers are threads of one process")
    training_mode: str = option(
        AUTO, choices=TRAINING_MODES, help="how agents are updated at once; auto measures and chooses the fastest"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.parallel()
        self.learner()

    @property
    def title(self) -> str:
        return self.name

    def parallel(self) -> ParallelSettings:
        """The switches; raises BadValue if they contradict each other."""
        return ParallelSettings(
            self.enabled,
            self.parallel_actions,
            self.parallel_training,
            self.async_learning,
            self.train_interval,
            self.num_workers or None,
            self.use_threads,
            self.training_mode,
        )

    def experiment(self) -> dict[str, Any]:
        """The configuration of a `ParallelEnvironment`."""
        values: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(ExperimentSettings)}
        return values | {"parallel": self.parallel()}

    def learner(self, game: Game | None = None) -> LearnerSettings:
        """The settings of each learning agent; raises BadValue if they contradict each other."""
        return LearnerSettings(
            method=self.method,
            hidden=parse_sizes("hidden", self.hidden),
            quantiles=self.quantiles,
            double=self.double,
            dueling=self.dueling,
            batch=self.batch,
            n_steps=self.n_steps,
            discount=self.discount,
            frames=stacked_frames(game) if game is not None else 1,
            learning_rate=self.learning_rate,
            tau=self.tau,
            gradient_norm=self.gradient_norm,
        )

    def roles(self, game: Game) -> list[str]:
        """The names of the learning agents: they take the seats that opponents leave."""
        taken = len(split_names(self.opponents))
        if taken >= game.info.seats:
            needed = f"at most {game.info.seats - 1} names, so that one of {game.info.seats} seats is left to a learner"
            raise BadValue("opponents", self.opponents, needed)
        return [role_of(seat) for seat in range(game.info.seats - taken)]

    def check(self, game: Game, ancestor: AgentSpec | None, resuming: bool) -> None:
        check_game(game)
        if ancestor is not None:
            raise BadValue("ancestor", ancestor.id, "left out: these agents begin with new networks")
        roles = self.roles(game)
        if len(self.check_frozen(roles)) == len(roles):
            raise BadValue("frozen", self.frozen, f"fewer than all {len(roles)} learning agents")
        self.reward_weights(game)
        if not resuming:
            self.reference_bots(game)
        self.check_learner(self.learner(game))
        check_size(self, self.learner(game), game, len(roles))

    def resolved(self, game: Game) -> Self:
        """With the names of the bots: a plug-in that is installed later adds none to a session that is resumed."""
        if self.references.strip() == NONE:
            return self
        return replace(self, references=bot_names(game, self.references, LEARNING_KINDS))


def role_of(seat: int) -> str:
    """The name of the learning agent at this seat."""
    return f"agent {seat + 1}"


def stacked_frames(game: Game) -> int:
    """How many frames the game itself stacks in an observation, newest first: a buffer then stores each frame once."""
    frames, observation = dict(game.spec.options).get("frames", 1), game.info.observation
    fits = type(frames) is int and frames > 1 and len(observation) > 1 and observation[0] % frames == 0
    return int(frames) if fits else 1


def check_size(settings: ExperimentSettings, learner: LearnerSettings, game: Game, learners: int) -> None:
    """Raises BadValue if a checkpoint could be too large for a message to the session. Buffers are compressed, but how
    much they shrink depends on the game."""
    shapes = learner.architecture.shapes(game.info.observation, game.info.actions)
    weights = COPIES * 4 * (sum(map(math.prod, shapes.values())) + 128 * learner.hidden[-1])
    numbers = math.prod(game.info.observation) // learner.frames
    room, turn = MAX_FRAME - ROOM - learners * weights, learners * (4 * numbers + TURN_BYTES)
    most = room // turn // settings.lanes * settings.lanes
    reason = f"so that a checkpoint of {learners} learning agents has at most {MAX_FRAME >> 20} MiB"
    if room < 0 or most < 2 * settings.lanes:
        raise BadValue("hidden", learner.hidden, f"smaller layers, {reason}")
    if settings.buffer_rows * settings.lanes > most:
        raise BadValue("buffer", settings.buffer, f"at most {most:,}, {reason}")
