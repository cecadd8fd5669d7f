"""The settings of an experiment with independent learners, besides the learners and the switches of `parallel`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from agents.training.independent.learner_settings import LearnerSettings
from agents.training.independent.learner_specs import UpdateBounds
from agents.training.matchmaking import joined_names, ready_bots, split_names
from agents.training.schedules import LINEAR, SHAPES, Schedule
from agents.training.scoring import parse_rewards
from engine.errors import BadValue, UnknownName
from engine.game import Game
from engine.options import build, option, validate
from engine.play.match import SEED_LIMIT, AgentSpec, GameSpec
from engine.play.play_settings import MOST_WORKERS, check_number
from engine.play.rollout_rewards import reward_names

NONE = "none"
LEARNING_KINDS = ("net", "torch-net", "onnx")  # no bots to be compared with


@dataclass(frozen=True)
class ExperimentSettings:
    """An epoch plays one match on each lane to its end."""

    epochs: int = option(2000, low=1, high=10_000_000, help="number of epochs; each plays one match on every lane")
    lanes: int = option(16, low=1, high=4096, help="matches that are played at the same time")
    seed: int = option(1, low=0, high=SEED_LIMIT - 1, help="random seed of training")
    match_steps: int = option(0, low=0, high=100_000_000, help="step limit of training matches; 0: as in the game")
    reward_scale: float = option(1.0, low=1e-6, high=1e6, help="factor of rewards; they should be near 1")
    rewards: str = option(
        "",
        help="further rewards for changes of statistics or measures of the game, such as bumps=-1 in Treasure Hunt; "
        "empty: none",
    )
    buffer: int = option(50_000, low=1, high=100_000_000, help="turns that each agent keeps to learn from")
    learn_after: int = option(2000, low=0, high=100_000_000, help="turns of an agent before it begins to learn")
    turns_per_update: int = option(32, low=1, high=1_000_000, help="new turns of an agent for each of its updates")
    max_lag: int = option(
        256, low=1, high=1_000_000, help="asynchronous: updates by which learners may be behind before matches wait"
    )
    publish_every: int = option(
        50, low=1, high=1_000_000, help="asynchronous: updates after which an agent plays with new weights"
    )
    epsilon: float = option(1.0, low=0.0, high=1.0, help="share of random actions in the first epoch")
    last_epsilon: float = option(0.05, low=0.0, high=1.0, help="share of random actions after `epsilon_epochs`")
    epsilon_epochs: int = option(200, low=0, high=10_000_000, help="epochs until epsilon reaches its last value")
    epsilon_schedule: str = option(LINEAR, choices=SHAPES, help="how epsilon changes")
    frozen: str = option("", help="agents that do not learn, by role, such as agent 2; separated by commas")
    evaluate_every: int = option(
        50, low=0, high=1_000_000, help="epochs between evaluations without exploration; 0: none before the end"
    )
    evaluate_matches: int = option(32, low=2, high=4096, help="matches of an evaluation, always the same")
    references: str = option(
        "",
        help="names of bots whose score in these matches is shown for comparison; empty: all ready-made ones; or none",
    )
    calibrate: bool = option(
        True, help="whether the first training is made one agent after the other, to measure the speed-up"
    )

    def __post_init__(self) -> None:
        validate(self)
        if self.learn_after > self.buffer:
            raise BadValue("learn_after", self.learn_after, f"at most {self.buffer:,}, the turns that are kept")

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Self:
        """The settings that a mapping describes."""
        known = [field.name for field in fields(cls)]
        for name in values:
            if name not in known:
                raise UnknownName("option of config", name, [*known, "parallel"])
        return build(cls, values, "option of config")

    @property
    def buffer_rows(self) -> int:
        """Rows of a buffer, each of which has a turn of all lanes."""
        return max(-(-self.buffer // self.lanes), 2)

    def epsilon_at(self, epoch: int) -> float:
        """The share of random actions in epoch `epoch` + 1."""
        return Schedule(self.epsilon, self.last_epsilon, self.epsilon_epochs, self.epsilon_schedule).at(epoch)

    @property
    def first_update(self) -> str:
        """When agents begin to learn, in words."""
        turns = max(self.learn_after, self.turns_per_update)
        return f"they begin after {turns:,} turns, with enough of them for a minibatch"

    @property
    def bounds(self) -> UpdateBounds:
        """How many updates of each agent are due after how many turns."""
        return UpdateBounds(self.turns_per_update, self.learn_after, max_lag=self.max_lag)

    def check_learner(self, learner: LearnerSettings) -> None:
        """Raises BadValue if an agent with these settings would never have enough turns for a minibatch."""
        rows = -(-learner.batch // self.lanes) + learner.n_steps + learner.frames - 1
        if self.buffer_rows < rows:
            needed = f"for minibatches of {learner.batch:,} turns with {learner.n_steps} steps each"
            raise BadValue("buffer", self.buffer, f"at least {rows * self.lanes:,}, {needed}")
        if 0 < self.match_steps <= learner.n_steps:
            raise BadValue("match_steps", self.match_steps, f"0, or more than the {learner.n_steps} steps of a return")

    def reward_weights(self, game: Game) -> dict[str, float]:
        """The weights of `rewards`; raises an error if the game has no such statistic or measure."""
        what, known = f"statistic or measure of {game.spec.name}", reward_names(game.info)
        return parse_rewards(self.rewards, what, known, f"{known[0] if known else 'gems'}=0.1")

    def reference_bots(self, game: Game, known: Collection[str] = ()) -> list[AgentSpec]:
        """The bots that agents are compared with, without those that are `known`: they need not be installed."""
        names = split_names(self.references)
        if names == [NONE]:
            return []
        missing = [name for name in names if name not in known]
        if names and not missing:
            return []
        return [bot for bot in ready_bots(game, joined_names(missing), LEARNING_KINDS) if bot.id not in known]

    def check_frozen(self, roles: list[str]) -> set[str]:
        """The roles that do not learn; raises UnknownName for one that is not among `roles`."""
        names = split_names(self.frozen)
        for name in names:
            if name not in roles:
                raise UnknownName("learning agent", name, roles)
        return set(names)


def check_arguments(game: object, config: object, saved: object, stopping: object, cores: object) -> dict[str, Any]:
    """A copy of `config`; raises BadValue for an argument of the wrong type, where the caller can see it."""
    if not isinstance(game, GameSpec) and not (hasattr(game, "info") and hasattr(game, "spec")):
        raise BadValue("game", game, "a game, such as engine.registry.new_game returns, or its GameSpec")
    if config is not None and not isinstance(config, Mapping):
        raise BadValue("config", config, "a mapping of names to values")
    if saved is not None and not isinstance(saved, bytes):
        raise BadValue("saved", saved, "the bytes that save() returned, or None")
    if not callable(stopping):
        raise BadValue("stopping", stopping, "a function without arguments, which returns whether to stop")
    if cores is not None:
        check_number("cores", cores, 1, MOST_WORKERS)
    return dict(config or {})
