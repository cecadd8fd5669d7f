"""The settings of parallel experience collection: the game, the network and the workers.

Each of them is made from a mapping by `read`. Unknown keys are errors that suggest the nearest known one, and sizes
that contradict the game are refused with the right value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from agents.nets.architecture import MLP, Architecture
from engine.errors import BadValue, UnknownName
from engine.game import Game
from engine.options import Value, build, option, validate
from engine.play.rollout_columns import NO_CONTEST, TERMINATED, Trajectories
from engine.registry import GAMES, new_game

Settings = Mapping[str, Any]

LARGEST_BATCH = 1 << 24  # experiences
MOST_BOARDS = 16  # of a worker, unless the settings say more: torch evaluates 16 rows at once
FEWEST_BOARDS = 4  # of a worker, unless the settings say fewer: one alone plays several times slower
LENGTHS = ("move_limit", "step_limit", "turns")  # names of the option that limits the length of a match of a game


@dataclass(frozen=True)
class RewardStructure:
    """The reward of a seat for a step: `score` times the change of its score, plus `step`, plus one of the other three
    if the match has ended by the rules. The defaults are the game's own rewards."""

    score: float = option(1.0, help="factor of the change of a seat's score")
    step: float = option(0.0, help="added at every step")
    win: float = option(0.0, help="added at the end for the seat that is first alone")
    draw: float = option(0.0, help="added at the end for seats that share the first rank, and for no contest")
    loss: float = option(0.0, help="added at the end for all other seats")

    def __post_init__(self) -> None:
        validate(self)

    def apply(self, segment: Trajectories) -> None:
        """Change the rewards of a segment in place. A match that was truncated has no winner: its value follows."""
        if self == RewardStructure():
            return
        rewards, played = segment.rewards, iter([result for result in segment.results if result.steps])
        rewards *= np.float32(self.score)
        rewards += np.float32(self.step)
        for stream, step in np.argwhere(segment.ends != 0).tolist():  # in the order of the results
            result, end = next(played), segment.ends[stream, step]
            if end in (TERMINATED, NO_CONTEST):
                rewards[stream, step] += [self._final(rank, result.ranks) for rank in result.ranks]

    def _final(self, rank: int, ranks: tuple[int, ...]) -> float:
        if rank > 1:
            return self.loss
        return self.win if ranks.count(1) == 1 else self.draw


@dataclass(frozen=True)
class EnvConfig:
    """The game that is played; `read` makes it of a mapping."""

    game: Game
    reward_structure: RewardStructure

    @classmethod
    def read(cls, values: Settings) -> EnvConfig:
        """Keys: `game` (shogi), `options` of the game, `board_size`, `max_moves`, `reward_structure`."""
        values = _checked("env_config", values, {"game": "pong"})
        _check_names("env_config", values, ("game", "options", "board_size", "max_moves", "reward_structure"))
        name = values.get("game", "shogi")
        if not isinstance(name, str):
            raise BadValue("game", name, "the name of a game, such as 'shogi'")
        given = _mapping("options", values.get("options"))
        keys: dict[str, str] = {}  # by option of the game, the key that stands for it
        if "max_moves" in values:
            keys[_length_option(name, values["max_moves"])] = "max_moves"
        if "board_size" in values and {"width", "height"} <= set(_option_names(name)):
            keys |= {"width": "board_size", "height": "board_size"}
        for own, key in keys.items():
            given = _with_option(given, own, key, values[key])
        try:
            game = new_game(name, None, **given)
        except BadValue as error:
            if error.field not in keys:
                raise
            raise BadValue(keys[error.field], error.value, error.needed) from None  # the name that was given
        if "board_size" in values:
            _check_board_size(game, values["board_size"])
        rewards = _mapping("reward_structure", values.get("reward_structure"))
        return cls(game, build(RewardStructure, rewards, "option of reward_structure"))


@dataclass(frozen=True)
class ModelConfig:
    """The network; `read` makes it of a mapping."""

    architecture: Architecture
    seed: int  # of the first weights

    @classmethod
    def read(cls, values: Settings, game: Game) -> ModelConfig:
        """Keys: `hidden_dim` (64) and `num_layers` (2) of an MLP, or `architecture`; `seed` (0) of the first weights;
        `input_dim` and `action_dim`, which follow from the game, and are checked if they are given."""
        values = _checked("model_config", values, {"hidden_dim": 64})
        known = ("input_dim", "hidden_dim", "action_dim", "num_layers", "architecture", "seed")
        _check_names("model_config", values, known)
        info, name = game.info, game.spec.name
        shape = " x ".join(map(str, info.observation))
        inputs = f"the numbers in an observation of {name} ({shape})"
        _check_derived("input_dim", values, math.prod(info.observation), inputs)
        _check_derived("action_dim", values, info.actions, f"the actions of {name}")
        sizes = build(_Sizes, {key: values[key] for key in known if key in values and key not in _NOT_SIZES})
        architecture = values.get("architecture")
        if architecture is None:
            architecture = Architecture(MLP, (sizes.hidden_dim,) * sizes.num_layers)
        else:
            for key in ("hidden_dim", "num_layers"):
                if key in values:
                    raise BadValue(key, values[key], "left out, because `architecture` describes all layers")
            architecture = _read_architecture(architecture)
        architecture.shapes(info.observation, info.actions)  # raises if it does not fit
        return cls(architecture, sizes.seed)


@dataclass(frozen=True)
class _Sizes:
    hidden_dim: int = option(64, low=1, high=4096, help="outputs of each hidden layer")
    num_layers: int = option(2, low=1, high=8, help="number of hidden layers")
    seed: int = option(0, low=0, help="seed of the first weights")


_NOT_SIZES = ("input_dim", "action_dim", "architecture")


@dataclass(frozen=True)
class ParallelConfig:
    """The workers. An experience is one step of one board, with all its seats."""

    num_workers: int = option(4, low=1, high=256, help="number of worker processes")
    games_per_worker: int = option(
        10, low=0, help="games after which a worker sets up its players again; running games continue. 0: never"
    )
    max_game_length: int = option(
        200, low=0, high=2**32 - 1, help="steps after which a game is truncated, if its rules allow more. 0: no limit"
    )
    experience_batch_size: int = option(
        64, low=1, high=LARGEST_BATCH, help="experiences in a batch, a multiple of `boards`"
    )
    model_sync_interval: int = option(
        100, low=0, help="steps after which `collect_experiences` passes changed weights to the workers. 0: never"
    )
    worker_reset_interval: int = option(
        1000, low=0, help="steps after which `collect_experiences` resets the workers. 0: never"
    )
    timeout: float = option(30.0, low=0.01, high=1e6, help="seconds to wait for a batch, or for a worker's answer")
    compression_enabled: bool = option(True, help="compress weights that shrink to half their size or less")
    boards: int = option(0, low=0, high=1 << 16, help="games that a worker plays at once. 0: up to 16")
    queue_size: int = option(4, low=1, high=1024, help="batches of a worker that may wait to be collected")
    max_staleness: int = option(4, low=0, help="versions by which weights may be newer than those of a batch")
    max_restarts: int = option(5, low=0, help="starts of a worker in a row without a batch, after the first")
    seed: int = option(0, low=0, help="seed of all games")

    def __post_init__(self) -> None:
        validate(self)
        size = self.experience_batch_size
        if self.boards and size % self.boards:
            near = -(-size // self.boards) * self.boards
            raise BadValue("experience_batch_size", size, f"a multiple of boards ({self.boards}), such as {near}")
        if self.lanes < min(size, FEWEST_BOARDS) and not self.boards:
            near = MOST_BOARDS * max(round(size / MOST_BOARDS), 1)
            few = f"{self.lanes} board{'s' * (self.lanes > 1)}"
            raise BadValue(
                "experience_batch_size", size,
                f"a multiple of {MOST_BOARDS}, such as {near}: this size can only be divided among {few}. "
                f"Set boards = {self.lanes} if this is intended",
            )  # fmt: skip

    @classmethod
    def read(cls, values: Settings) -> ParallelConfig:
        values = _checked("parallel_config", values, {"num_workers": 2})
        return build(cls, values, "option of parallel_config")

    @property
    def lanes(self) -> int:
        """Boards of a worker: as given, or the largest divisor of the batch size that is at most 16."""
        size = self.experience_batch_size
        return self.boards or max(count for count in range(1, MOST_BOARDS + 1) if size % count == 0)

    @property
    def steps(self) -> int:
        """Steps of each board in a batch."""
        return self.experience_batch_size // self.lanes


def _checked(noun: str, values: object, example: dict[str, object]) -> Settings:
    if not isinstance(values, Mapping):
        raise BadValue(noun, values, f"a mapping of names to values, such as {example}")
    return values


def _check_names(noun: str, values: Settings, known: tuple[str, ...]) -> None:
    for name in values:
        if name not in known:
            raise UnknownName(f"option of {noun}", name, known)


def _mapping(name: str, value: object) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise BadValue(name, value, "a mapping of names to values")
    for key in value:
        if not isinstance(key, str):
            raise BadValue(f"a name in {name}", key, "text")
    return dict(value)


def _option_names(game: str) -> list[str]:
    return [field.name for field in fields(GAMES.get(game).Options)]


def _length_option(game: str, value: object) -> str:
    names = _option_names(game)
    for name in LENGTHS:
        if name in names:
            return name
    raise BadValue("max_moves", value, f"left out, because {game} has no such option: set max_game_length instead")


def _with_option(given: dict[str, Any], name: str, key: str, value: Value) -> dict[str, Any]:
    if name in given and given[name] != value:
        raise BadValue(key, value, f"{given[name]}, as `options` says with {name}")
    return {**given, name: value}


def _check_board_size(game: Game, size: object) -> None:
    """Games with `width` and `height` were made with this size; for others it follows from the observation."""
    options, shape = dict(game.spec.options), game.info.observation
    if "width" in options or (len(shape) == 3 and shape[1] == shape[2] == size and type(size) is int):
        return
    square = len(shape) == 3 and shape[1] == shape[2]
    needed = f"{shape[1]}, the size of the board of" if square else "left out: there is no board of squares in"
    raise BadValue("board_size", size, f"{needed} {game.spec.name}")


def _check_derived(key: str, values: Settings, right: int, what: str) -> None:
    if key in values and (type(values[key]) is not int or values[key] != right):
        raise BadValue(key, values[key], f"{right}, {what}; it may be left out")


def _read_architecture(given: object) -> Architecture:
    if isinstance(given, Architecture):
        return given
    values = _mapping("architecture", given)
    _check_names("architecture", values, tuple(field.name for field in fields(Architecture)))
    sizes: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    return Architecture(**sizes)
