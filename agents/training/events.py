"""The events that a trainer yields; `trainer` describes the trainer itself."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from engine.options import Value


@dataclass(frozen=True)
class Metrics:
    """Measurements at one step. A step is what the trainer counts, such as a generation."""

    step: int
    values: tuple[tuple[str, float], ...]  # by "group/name"; the trainer's `metrics` explain them


@dataclass(frozen=True)
class Progress:
    """Progress to display; not stored."""

    step: int
    total: int  # the last step; 0 if that is unknown, or if something else ends training first
    text: str
    seconds_left: float | None = None
    done: float | None = None  # from 0 to 1; None: as far as steps tell

    @property
    def fraction(self) -> float | None:
        """How much is done, from 0 to 1; None if the end is unknown."""
        done = self.done if self.done is not None else self.step / self.total if self.total else None
        return None if done is None else min(max(done, 0.0), 1.0)


@dataclass(frozen=True)
class Player:
    """A trained agent that can play in a league."""

    kind: str
    version: int
    payload: bytes
    about: str  # its origin, in one sentence
    role: str = ""  # among the players of a checkpoint; may be empty if it is the only one


@dataclass(frozen=True)
class Checkpoint:
    """State from which training resumes with identical results, and the players to show for it: the best so far, or
    several with different roles, such as learners that share a game."""

    step: int  # the last completed one
    state: bytes
    players: tuple[Player, ...] = ()


@dataclass(frozen=True)
class Champion:
    """A player that is to be added to the league."""

    step: int
    player: Player


@dataclass(frozen=True)
class Current:
    """The player as it is now, because the session has asked for it (`Context.player_wanted`); not stored."""

    step: int  # the last completed one
    player: Player


@dataclass(frozen=True)
class Resolved:
    """The settings that the session uses, if `Trainer.resolved` has changed them. Sent before all other events."""

    settings: tuple[tuple[str, Value], ...]


@dataclass(frozen=True)
class WorkerState:
    """A worker of the trainer, for the panels."""

    name: str  # such as "learner 1"
    state: str  # such as playing, learning or idle
    task: str = ""  # what it does at the moment, in words
    done: str = ""  # what it has done so far, such as "1,200 updates"
    restarts: int = 0
    pid: int | None = None  # of its process, if it has one: then the panel shows its load


@dataclass(frozen=True)
class Workers:
    """The states of all workers of the trainer, instead of those reported before; not stored. Those that play its
    matches on `Context.executor` are added."""

    workers: tuple[WorkerState, ...]


@dataclass(frozen=True)
class Span:
    """A span of time, for a timeline."""

    track: str  # a row of the timeline, such as "learner 1"
    name: str  # such as "collect"
    start: float  # seconds since 1970
    seconds: float


@dataclass(frozen=True)
class Spans:
    """Spans of time, in any order. A session keeps the latest ones. Yield many at once, about once a second."""

    spans: tuple[Span, ...]


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


Event = Resolved | Metrics | Progress | Checkpoint | Champion | Current | Workers | Spans | Log | Ended
