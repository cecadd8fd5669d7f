"""The settings of the trainer `ppo`. Each field is an entry of its form and an option of `train ppo`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from agents.nets.architecture import (
    CONV,
    HIGHEST_TEMPERATURE,
    MLP,
    RESNET,
    Architecture,
    check_temperature,
    has_action_planes,
    parse_sizes,
)
from agents.nets.facts import architecture_text
from agents.nets.network import load
from agents.training.matchmaking import bot_names, ready_bots
from agents.training.schedules import SHAPES
from agents.training.scoring import parse_rewards
from agents.training.selfplay.metrics import METRICS
from agents.training.selfplay.opponents import LEARNING_KINDS, SAMPLING
from agents.training.selfplay.parallel_config import LARGEST_BATCH
from agents.training.selfplay.slots import Slots
from agents.training.trainer import Ends, Metric, Trainer
from engine.errors import BadValue
from engine.game import Game
from engine.options import Value, option, validate
from engine.play.match import SEED_LIMIT, AgentSpec
from engine.play.rollout_rewards import reward_names
from engine.processes.channel import MAX_FRAME

SYNCHRONOUS, ASYNCHRONOUS = MODE_NAMES = ("synchronous", "asynchronous")
AUTO = "auto"
MARGIN, SCORE = REWARDS = ("margin", "score")
DEVICES = (AUTO, "cpu", "cuda")
SIZES = {MLP: Architecture(MLP, (64, 64)), CONV: Architecture(CONV, (64,), (16, 16))}
SIZES[RESNET] = Architecture(RESNET, (64,), (32,), 3)
NETWORKS = 5  # in a checkpoint, besides snapshots: the current one, two of Adam, the best one, and it as a player
# Snapshots that have left the pool while long matches against them continue. If there are more than fit, a checkpoint
# goes without running matches (`PpoRun.checkpoint`).
RETIRED = 4
ROOM = 16 << 20  # bytes of a checkpoint for all but networks


@dataclass(frozen=True)
class PpoConfig(Trainer):
    """Settings of the trainer `ppo`."""

    name: ClassVar[str] = "ppo"
    about: ClassVar[str] = "PPO: a network learns by gradient, in matches against itself, its past and bots"
    metrics: ClassVar[Mapping[str, Metric]] = METRICS
    headline: ClassVar[str] = "validation/share"
    unit: ClassVar[str] = "update"
    ends: ClassVar[Ends] = Ends("updates", "minutes", "target_share", "validation/share")
    fixed: ClassVar[tuple[str, ...]] = (
        "mode", "seed", "network", "hidden", "channels", "blocks", "streams", "bots", "opponents", "scale_observations",
        "validate_bots",
    )  # fmt: skip
    agent_settings: ClassVar[tuple[str, ...]] = ("opponents",)
    rollout_settings: ClassVar[tuple[str, ...]] = ("opponents",)
    presets: ClassVar[Mapping[str, Mapping[str, Value]]] = {
        "Pong": {
            "updates": 800, "minutes": 9.0, "streams": 128, "discount": 0.995, "trace": 0.98, "learning_rate": 2e-3,
            "last_learning_rate": 2e-4, "entropy": 5e-3, "last_entropy": 5e-4, "self_share": 0.4, "bot_share": 0.3,
            "bots": "Tracker,Predictor", "validate_bots": "Lazy,Tracker,Predictor", "validate_every": 50,
            "validate_pairs": 25,
        },
        "Treasure Hunt": {
            "updates": 400, "minutes": 9.0, "network": MLP, "streams": 128, "steps": 50, "reward": SCORE,
            "reward_scale": 0.1, "discount": 0.95, "learning_rate": 2e-3, "last_learning_rate": 2e-4, "entropy": 0.02,
            "last_entropy": 2e-3, "temperature": 0.3, "validate_bots": "Dice,Badger,Magpie", "validate_pairs": 5,
            "validate_every": 50,
        },
        "Shogi": {
            "updates": 400, "channels": "16", "blocks": 2, "steps": 64, "rewards": "material=0.03", "discount": 0.95,
            "epochs": 2, "minibatch": 256, "last_learning_rate": 2e-4, "last_entropy": 1e-3,
            "scale_observations": False, "self_share": 0.3, "bot_share": 0.7, "bots": "Pebble,Magpie", "snapshots": 0,
            "temperature": 1.0, "validate_bots": "Pebble,Magpie", "validate_pairs": 20,
        },
    }  # fmt: skip
    preset_games: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "Pong": ("pong",), "Treasure Hunt": ("treasure-hunt",), "Shogi": ("shogi",),
    }  # fmt: skip
    guide: ClassVar[str] = "training#train-by-ppo"
    shows_current: ClassVar[bool] = True
    loop: ClassVar[str] = "agents.training.selfplay.ppo:train"

    mode: str = option(
        SYNCHRONOUS,
        choices=MODE_NAMES,
        help="synchronous: first play, then learn; asynchronous: both at the same time, which cannot be repeated",
    )
    max_staleness: int = option(
        2, low=0, high=1000, help="asynchronous: updates by which weights may be newer than those that played"
    )
    updates: int = option(1000, low=1, high=10_000_000, help="number of updates; each learns from a new batch")
    minutes: float = option(
        0.0, low=0.0, high=100_000.0, help="stop after this many minutes, when the update is complete; 0: no limit"
    )
    target_share: float = option(
        0.0, low=0.0, high=1.0, help="stop when validation/share reaches this; 0: no such limit"
    )
    seed: int = option(1, low=0, high=SEED_LIMIT - 1, help="random seed of training")
    device: str = option(AUTO, choices=DEVICES, help="where the network learns; auto: cuda if there is one, else cpu")
    threads: int = option(1, low=1, high=256, help="threads of torch while it learns; another number, other bits")

    network: str = option(
        AUTO,
        choices=(AUTO, MLP, CONV, RESNET),
        help="layers of the network; auto: mlp for vectors, conv for images, resnet if actions are planes of the image",
    )
    hidden: str = option("", help="sizes of the fully connected layers, such as 64,64; empty: 64,64 (mlp) or 64")
    channels: str = option("", help="conv: channels of each convolution; resnet: one number; empty: 16,16 or 32")
    blocks: int = option(0, low=0, high=40, help="resnet: residual blocks; 0: 3")

    streams: int = option(64, low=1, high=65_536, help="matches that are played at the same time")
    steps: int = option(128, low=1, high=65_536, help="steps of each of them between two updates")
    match_steps: int = option(0, low=0, high=100_000_000, help="step limit of training matches; 0: as in the game")
    reward: str = option(
        MARGIN, choices=REWARDS, help="margin: own points less the mean of the others'; score: own points"
    )
    rewards: str = option(
        "",
        help="further rewards for changes of statistics or measures of the game, such as material=0.03 in Shogi; "
        "empty: none",
    )
    reward_scale: float = option(1.0, low=1e-6, high=1e6, help="factor of rewards; they should be near 1")
    discount: float = option(0.99, low=0.0, high=1.0, help="discount of rewards per turn, gamma")
    trace: float = option(0.95, low=0.0, high=1.0, help="decay of generalised advantage estimation, lambda")

    epochs: int = option(4, low=1, high=100, help="passes over each batch")
    minibatch: int = option(2048, low=1, high=10_000_000, help="turns in a minibatch")
    learning_rate: float = option(1e-3, low=0.0, high=1.0, help="learning rate of Adam, at the first update")
    last_learning_rate: float = option(
        1e-4, low=0.0, high=1.0, help="learning rate of Adam, after the last update of the schedule"
    )
    schedule: str = option("linear", choices=SHAPES, help="how learning rate and entropy weight change")
    schedule_updates: int = option(
        0, low=0, high=10_000_000, help="updates until they reach their last value; 0: all `updates`"
    )
    clip: float = option(0.2, low=0.001, high=10.0, help="the policy's ratio is clipped to 1 plus or minus this")
    value_weight: float = option(0.5, low=0.0, high=100.0, help="weight of the value loss")
    value_clip: float = option(0.0, low=0.0, high=1000.0, help="largest change of a value in an update; 0: no limit")
    entropy: float = option(0.01, low=0.0, high=10.0, help="weight of the policy's entropy, at the first update")
    last_entropy: float = option(
        0.0, low=0.0, high=10.0, help="weight of the policy's entropy, after the last update of the schedule"
    )
    gradient_norm: float = option(0.5, low=0.0, high=1e6, help="clip gradients to this norm; 0: no clipping")
    target_kl: float = option(
        0.0, low=0.0, high=100.0, help="an update ends early when its policy has moved this far (KL); 0: never"
    )
    normalise_advantages: bool = option(True, help="whether advantages have mean 0 and deviation 1 in each batch")
    scale_observations: bool = option(
        True, help="whether inputs are scaled by their mean and deviation so far (images: deviation only)"
    )

    self_share: float = option(0.5, low=0.0, high=1.0, help="share of opponents that are the current network")
    bot_share: float = option(0.0, low=0.0, high=1.0, help="share of opponents that are bots")
    bots: str = option("", help="names of the bots to train against; empty: all ready-made ones")
    opponents: str = option(
        "", help="names of agents of the league that join the pool permanently, separated by commas"
    )
    snapshot_every: int = option(20, low=1, high=1_000_000, help="updates between frozen snapshots for the pool")
    snapshots: int = option(16, low=0, high=1000, help="snapshots in the pool; the oldest leave")
    sampling: str = option(
        SAMPLING[0], choices=SAMPLING, help="how opponents are drawn from the pool, by the share of points won"
    )

    temperature: float = option(
        0.0, low=0.0, high=HIGHEST_TEMPERATURE, help="sampling temperature in matches; 0: always the best action"
    )
    validate_every: int = option(20, low=1, high=1_000_000, help="updates between validations")
    validate_pairs: int = option(10, low=1, high=10_000, help="side-swapped pairs against each bot in a validation")
    validate_bots: str = option("", help="names of the bots to validate against; empty: all ready-made ones")
    checkpoint_every: int = option(50, low=1, high=1_000_000, help="updates between checkpoints")

    def __post_init__(self) -> None:
        validate(self)
        if self.self_share + self.bot_share > 1.0:
            raise BadValue("bot_share", self.bot_share, f"at most 1 - self_share, which is {1 - self.self_share:g}")
        if self.streams * self.steps > LARGEST_BATCH:  # one process keeps the whole batch in memory
            needed = f"at most {LARGEST_BATCH // self.streams:,} with {self.streams:,} streams"
            raise BadValue("steps", self.steps, needed)
        check_temperature(self.temperature)
        parse_sizes("hidden", self.hidden)
        parse_sizes("channels", self.channels)

    @property
    def title(self) -> str:
        return self.name

    def architecture(self, game: Game, inherited: Architecture | None = None) -> Architecture:
        """The layers for this game; raises BadValue if they do not fit it. Those that are `inherited` from another
        network are used where the settings say nothing else."""
        observation, actions = game.info.observation, game.info.actions
        type = self.network
        if type == AUTO:
            image = len(observation) == 3
            usual = MLP if not image else RESNET if has_action_planes(observation, actions) else CONV
            type = inherited.type if inherited is not None else usual
        base = inherited if inherited is not None and inherited.type == type else SIZES[type]
        sizes: dict[str, Any] = {
            "hidden": parse_sizes("hidden", self.hidden) or base.hidden,
            "channels": parse_sizes("channels", self.channels) or base.channels,
            "blocks": self.blocks or base.blocks,
        }
        wanted: dict[str, Any] = {"type": type} | sizes
        if inherited is not None and wanted != {name: getattr(inherited, name) for name in wanted}:
            own = architecture_text(inherited, observation, actions)
            raise BadValue("network", wanted, f"that of the agent to start from, {own}, or left to it")
        found = replace(base, **sizes)
        found.shapes(observation, actions)
        return found

    def reward_weights(self, game: Game) -> dict[str, float]:
        """The weights of `rewards`; raises an error if the game has no such statistic or measure."""
        what, known = f"statistic or measure of {game.spec.name}", reward_names(game.info)
        return parse_rewards(self.rewards, what, known, f"{known[-1] if known else 'material'}=0.03")

    def check(self, game: Game, ancestor: AgentSpec | None, resuming: bool) -> None:
        if game.info.seats < 2:
            raise BadValue("game", game.spec.name, f"a game with two or more seats; it has {game.info.seats}")
        inherited = None
        if ancestor is not None:
            if ancestor.kind not in LEARNING_KINDS:
                needed = f"an agent of kind {' or '.join(LEARNING_KINDS)}, but it is a {ancestor.kind}"
                raise BadValue("ancestor", ancestor.id, needed)
            network = load(ancestor.payload)
            network.check_game(game)
            inherited = network.architecture
        shapes = self.architecture(game, inherited).shapes(game.info.observation, game.info.actions)
        self.check_size(sum(map(math.prod, shapes.values())))
        Slots.check_size(game.info, self.streams, self.steps, 1, {"steps": self.steps, "streams": self.streams})
        self.reward_weights(game)
        if self.bot_share or (self.bots and not resuming):  # a wrong name is an error before its share is raised
            ready_bots(game, self.bots, LEARNING_KINDS)
        ready_bots(game, self.validate_bots, LEARNING_KINDS)

    def check_size(self, weights: int, others: int = 0) -> None:
        """Raises BadValue if a checkpoint would be too large for a message to the session: with a network of so many
        weights, and other agents of so many bytes."""
        networks = (MAX_FRAME - ROOM - others) // (4 * weights) - NETWORKS
        reason = f"so that a checkpoint has at most {MAX_FRAME >> 20} MiB"
        if networks < 0:
            raise BadValue("weights", weights, f"fewer, {reason}: choose smaller layers")
        snapshots = min(self.snapshots, self.updates // self.snapshot_every)
        if snapshots and snapshots + RETIRED > networks:
            most = max(networks - RETIRED, 0)
            needed = f"at most {most} with {weights:,} weights, {reason}: lower snapshots, or choose smaller layers"
            raise BadValue("snapshots", self.snapshots, needed)

    def resolved(self, game: Game) -> Self:
        """With the names of the bots: a plug-in that is installed later adds none to a session that is resumed."""
        bots = bot_names(game, self.bots, LEARNING_KINDS) if self.bot_share else self.bots
        return replace(self, bots=bots, validate_bots=bot_names(game, self.validate_bots, LEARNING_KINDS))
