"""What a trainer is, what it is given, and what it says as it goes on.

A trainer is a frozen dataclass of settings with `train(context)`, which yields events until it has ended. The fields of
the dataclass (made with `engine.options.option`) are its form and its command line, its `metrics` are its charts.
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
    """What was measured at one step; a step is what the trainer counts, such as a generation."""

    step: int
    values: tuple[tuple[str, float], ...]  # by "group/name", as the trainer's `metrics` explain them


@dataclass(frozen=True)
class Progress:
    """How far it is, for people; not kept."""

    step: int
    total: int  # 0 if nobody can tell
    text: str
    seconds_left: float | None = None


@dataclass(frozen=True)
class Player:
    """Somebody who can play in a league, as training made it."""

    kind: str
    version: int
    payload: bytes
    about: str  # how it came to be, in a sentence


@dataclass(frozen=True)
class Checkpoint:
    """All that is needed to go on from here to the bit, and the best player so far."""

    step: int  # the last one that is done
    state: bytes
    best: Player | None


@dataclass(frozen=True)
class Champion:
    """Somebody who should enter the league."""

    step: int
    player: Player


class Level(Enum):
    INFO = "info"
    WARNING = "warning"


@dataclass(frozen=True)
class Log:
    """Something worth a line."""

    text: str
    level: Level = Level.INFO


class How(Enum):
    """How training ended."""

    FINISHED = "finished"  # as planned, or early because it had what it was after
    STOPPED = "stopped"  # because it was told to: it can be resumed
    FAILED = "failed"  # by an error, or because its process died: it can be resumed from its last checkpoint


@dataclass(frozen=True)
class Ended:
    """The last event of every session."""

    how: How
    reason: str


Event = Metrics | Progress | Checkpoint | Champion | Log | Ended


class Context(Protocol):
    """What a trainer is given."""

    @property
    def game(self) -> GameSpec:
        """What is to be learned."""

    @property
    def workers(self) -> int:
        """Worker processes it may use now; the number may change while it trains."""

    @property
    def state(self) -> bytes | None:
        """Of the checkpoint to go on from; None to begin."""

    @property
    def ancestor(self) -> AgentSpec | None:
        """An agent to start from; None to start from scratch."""

    @property
    def plugins(self) -> tuple[str, ...]:
        """Modules that worker processes import, for games and agents that are registered but not installed."""

    def attend(self) -> bool:
        """Call it often, several times a second: it waits while training is paused, and says whether to stop."""


class Trainer(Protocol):
    """What is registered: a frozen dataclass of settings. It may have `fixed`, the names of settings that a session
    keeps when it is resumed."""

    name: ClassVar[str]
    about: ClassVar[str]  # in a sentence
    metrics: ClassVar[Mapping[str, str]]  # what each metric means; "group/*" for several of a kind
    presets: ClassVar[Mapping[str, Mapping[str, Value]]]  # settings that go well together, by name

    def check(self, game: Game, ancestor: AgentSpec | None, resuming: bool) -> None:
        """Raise an error that says why, unless this game can be learned with these settings, and from this agent if one
        is given. A session that is resumed has in its checkpoint what it once read from files."""

    def train(self, context: Context) -> Iterator[Event]:
        """Learn. Told to stop, it yields a last checkpoint and then Ended; so does it when it is done."""
