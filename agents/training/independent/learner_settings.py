"""The settings of one independent learner: its method, its network and how it is updated. Imports no torch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from agents.nets.architecture import MLP, Architecture
from engine.errors import BadValue, UnknownName
from engine.game import Game

IQN, DQN = METHODS = ("iqn", "dqn")
ROWS = 32  # the batch is a multiple of it, so that the rows of each agent begin at a cache line
LARGEST_BATCH, MOST_QUANTILES, MOST_FRAMES, MOST_STEPS = 65_536, 256, 64, 1000


@dataclass(frozen=True)
class LearnerSettings:
    """Agents with equal settings can be updated together."""

    method: str = IQN
    hidden: tuple[int, ...] = (64, 64)  # outputs of each layer
    quantiles: int = 12  # iqn: drawn for the prediction, and as many for the target
    double: bool = True  # the online network, not the target network, picks the next action
    dueling: bool = False  # dqn: a value and advantages instead of one output for each action
    batch: int = 256  # transitions in a minibatch
    n_steps: int = 3  # rewards that are summed before the next observation
    discount: float = 0.97
    frames: int = 1  # observations that are stacked
    learning_rate: float = 1e-3  # of Adam
    tau: float = 0.005  # share of the online weights in the soft update of the target network
    gradient_norm: float = 10.0  # largest norm of a gradient; 0: any

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise UnknownName("method", self.method, METHODS)
        self.architecture  # noqa: B018 - raises if the sizes are wrong
        for name in ("double", "dueling"):
            if type(getattr(self, name)) is not bool:
                raise BadValue(name, getattr(self, name), "True or False")
        _check_whole("quantiles", self.quantiles, 1, MOST_QUANTILES)
        _check_whole("batch", self.batch, ROWS, LARGEST_BATCH)
        _check_whole("n_steps", self.n_steps, 1, MOST_STEPS)
        _check_whole("frames", self.frames, 1, MOST_FRAMES)
        _check_range("discount", self.discount, 0.0, 1.0)
        _check_range("learning_rate", self.learning_rate, 0.0, 1.0)
        _check_range("tau", self.tau, 0.0, 1.0)
        _check_range("gradient_norm", self.gradient_norm, 0.0, 1e6)
        if self.batch % ROWS:
            raise BadValue("batch", self.batch, f"a multiple of {ROWS}")
        if self.dueling and self.method != DQN:
            raise BadValue("dueling", self.dueling, f"off: only the method {DQN} has dueling heads")

    @property
    def architecture(self) -> Architecture:
        """Of the network that plays."""
        return Architecture(MLP, self.hidden)

    def stacked(self, observation: Sequence[int]) -> tuple[int, ...]:
        """The shape of an observation in which `frames` observations of this shape are stacked."""
        return (self.frames * observation[0], *observation[1:])

    def inputs(self, observation: Sequence[int]) -> int:
        return math.prod(self.stacked(observation))


def check_game(game: Game) -> None:
    """Raises BadValue unless independent learners can play this game."""
    if not (game.info.simultaneous or game.info.together):
        raise BadValue("game", game.spec.name, "a game in which all players act at every step")


def _check_whole(field: str, value: int, low: int, high: int) -> None:
    if type(value) is not int or not low <= value <= high:
        raise BadValue(field, value, f"a whole number from {low} to {high:,}")


def _check_range(field: str, value: float, low: float, high: float) -> None:
    if type(value) not in (int, float) or not low <= value <= high:
        raise BadValue(field, value, f"a number from {low:g} to {high:g}")
