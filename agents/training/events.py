"""The interface of trainers: what a trainer implements, the context it receives, and the events it yields.

A trainer is a frozen dataclass of settings with `train(context)`, which yields events until it ends. The fields of the
dataclass (made with `engine.options.option`) become its form and its command line, its `metrics` become charts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, Protocol

from engine.game import Game
from engine.options import Value
from engine.play.match import AgentSpec, GameSpec


@dataclass(frozen=True)
class Metrics:
    """Measurements at one step. A step is what the trainer counts, such as a generation."""

    step: int
    values: tuple[tuple[str, float], ...]  # by "group/name"; the trainer's `metrics` explain them


@dataclass(frozen=True)
class Progress:
    """Progress to display; not stored."""

    step: int
    total: int  # 0 if unknown
    text: str
    seconds_left: float | None = None


@dataclass(frozen=True)
class Player:
    """A trained agent that can play in a league."""

    kind: str
    version: int
    payload: bytes
    about: str  # its origin, in one sentence


@dataclass(frozen=True)
class Checkpoint:
    """State from which training resumes with identical results, and the best player so far."""

    step: int  # the last completed one
    state: bytes
    best: Player | None


@dataclass(frozen=True)
class Champion:
    """A player that is to be added to the league."""

    step: int
    player: Player


class Level(Enum):
    INFO = "info"
    WARNING = "warning"


@dataclass(frozen=True)
class Log:
    """A line for the session's log."""

    text: str
    level: Level = Level.INFO


class How(Enum):
    """How training ended."""

    FINISHED = "finished"  # as planned, or early because it reached its target
    STOPPED = "stopped"  # on request: it can be resumed
    FAILED = "failed"  # by an error or a crash of its process: it can be resumed from its last checkpoint


@dataclass(frozen=True)
class Ended:
    """The last event of every session."""

    how: How
    reason: str


Event = Metrics | Progress | Checkpoint | Champion | Log | Ended


class Context(Protocol):
    """What a trainer receives."""

    @property
    def game(self) -> GameSpec:
        """The game to learn."""

    @property
    def workers(self) -> int:
        """Number of worker processes it may use now; it may change during training."""

    @property
    def state(self) -> bytes | None:
        """State of the checkpoint to resume from; None to start from the beginning."""

    @property
    def ancestor(self) -> AgentSpec | None:
        """An agent to start from; None to start from scratch."""

    @property
    def plugins(self) -> tuple[str, ...]:
        """Modules that worker processes import, because they register games or agents."""

    def attend(self) -> bool:
        """Blocks while training is paused; returns True if training should stop. Call it several times a second."""


class Trainer(Protocol):
    """What is registered: a frozen dataclass of settings. It may have `fixed`, the names of settings that cannot change
    when a session is resumed."""

    name: ClassVar[str]
    about: ClassVar[str]  # one sentence
    metrics: ClassVar[Mapping[str, str]]  # what each metric means; "group/*" for all others of a group
    presets: ClassVar[Mapping[str, Mapping[str, Value]]]  # sets of settings, by name

    def check(self, game: Game, ancestor: AgentSpec | None, resuming: bool) -> None:
        """Raises an error if this game cannot be learned with these settings, or from this agent if one is given. When
        resuming, the checkpoint has the contents of files that were read at the start."""

    def train(self, context: Context) -> Iterator[Event]:
        """Trains, yielding events. When it is done or asked to stop, it yields a last checkpoint and then Ended."""
