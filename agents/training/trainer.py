"""The interface of trainers: what a trainer declares and implements, and the context that it receives.

A trainer is a frozen dataclass of settings that inherits from `Trainer`. Its fields (made with `engine.options.option`)
become its form and its command line, its `metrics` become charts. The window and the command line read all of this
without running it, so the module of the settings imports no heavy library. The loop belongs in a module of its own,
which `loop` names; it is imported in the process of a session.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, Protocol, Self, cast

from agents.training.evaluator import MatchEvaluator
from agents.training.events import Event
from agents.training.population import Population
from agents.training.records import MatchRecord, RecordQuery
from agents.training.rollouts import RolloutPool
from engine.game import Game
from engine.options import Value
from engine.play.match import AgentSpec, GameSpec


class Reading(Enum):
    """How the values of a metric are read."""

    SHARE = "share"  # from 0 to 1, shown in percent; higher is better
    SCORE = "score"  # higher is better
    LOSS = "loss"  # lower is better

    @property
    def lower_is_better(self) -> bool:
        return self is Reading.LOSS


@dataclass(frozen=True)
class Metric:
    """What a metric means, and how it is shown. In `title` and `reference_label`, {name} is its name in the group."""

    about: str
    reading: Reading = Reading.SCORE
    title: str = ""  # of its chart; empty: made from its name
    reference: float | None = None  # a horizontal line in its chart
    reference_label: str = ""
    interval: tuple[str, str] | None = None  # metrics that are the ends of its interval: they get no chart
    together: bool = False  # all metrics of its group for which this is true share one chart
    exact: bool = False  # it has no noise, such as a count or a schedule: its line is not smoothed


@dataclass(frozen=True)
class Ends:
    """Names of the settings that end training, empty if there is none. The value 0 of a setting means no limit."""

    count: str = ""  # a number of steps
    minutes: str = ""
    target: str = ""  # a value of the metric `metric`
    metric: str = ""


class Context(Protocol):
    """What a trainer receives."""

    @property
    def game(self) -> GameSpec:
        """The game to learn."""

    @property
    def workers(self) -> int:
        """Number of worker processes it may use now; it may change during training. Any thread may read it."""

    @property
    def state(self) -> bytes | None:
        """State of the checkpoint to resume from; None to start from the beginning."""

    @property
    def ancestor(self) -> AgentSpec | None:
        """An agent to start from; None to start from scratch."""

    @property
    def agents(self) -> tuple[AgentSpec, ...]:
        """The agents that the settings in `Trainer.agent_settings` name, then those of `RecordQuery.players`, each once
        and with their names as ids. Empty when resuming: a checkpoint has the agents that it needs."""

    @property
    def records(self) -> tuple[MatchRecord, ...]:
        """The recorded matches of the league that `Trainer.records` asks for, newest first. Empty when resuming: a
        checkpoint has what it needs of them."""

    @property
    def plugins(self) -> tuple[str, ...]:
        """Modules that worker processes import, because they register games or agents."""

    @property
    def on(self) -> str:
        """The name of the executor that plays matches, such as `local`."""

    @property
    def executor(self) -> MatchEvaluator:
        """Plays matches on the executor `on`. Its workers start when it is first read, their number follows `workers`
        whenever it is read again, and they end with training. Their states are reported while it plays."""

    def rollouts(
        self,
        streams: Sequence[int],
        plan: str,
        agents: Iterable[AgentSpec],
        *,
        settings: Mapping[str, Any] | None = None,
        learners: Collection[str] | None = None,
        rewards: Mapping[str, float] | None = None,
        saved: bytes | None = None,
    ) -> RolloutPool:
        """A pool that collects trajectories on `workers` cores, until training ends; see
        `engine.play.rollout_process.RolloutProcess` for the arguments. Threads of this process play if all agents are
        compiled (`CompiledPilot`), else processes: the trajectories are the same. A checkpoint may contain `save()` of
        the pool; `saved` continues its matches. Close it earlier if another one follows."""

    def attend(self) -> bool:
        """Blocks while training is paused; returns True if training should stop. Call it several times a second."""

    def send(self, event: Event) -> None:
        """Sends an event from where the loop cannot yield it, such as while it waits for processes."""

    def player_wanted(self) -> bool:
        """Whether the session has asked for the current player since the last call. If so, yield `Current`."""


Loop = Callable[["Trainer", Context], Iterator[Event]]


class Trainer(Protocol):
    """What is registered: a frozen dataclass of settings."""

    name: ClassVar[str]
    about: ClassVar[str]  # one sentence
    metrics: ClassVar[Mapping[str, Metric]]  # by "group/name"; "group/*" for all others of a group
    headline: ClassVar[str]  # the metric that a session is judged by; "group/ROLE" is the one of a player with a role
    unit: ClassVar[str] = "step"  # what steps are, in the singular: generation, update, epoch
    ends: ClassVar[Ends] = Ends()
    fixed: ClassVar[tuple[str, ...]] = ()  # settings that cannot change when a session is resumed
    agent_settings: ClassVar[tuple[str, ...]] = ()  # settings with names of agents of the league, see Context.agents
    ready_settings: ClassVar[tuple[str, ...]] = ()  # those of them that may name ready-made agents of the game too
    rollout_settings: ClassVar[tuple[str, ...]] = ()  # those whose agents play in `Context.rollouts`: engines cannot
    presets: ClassVar[Mapping[str, Mapping[str, Value]]] = {}  # sets of settings, by name
    preset_games: ClassVar[
        Mapping[str, tuple[str, ...]]
    ] = {}  # the games of a preset; without them it is for every game
    starts_from_agent: ClassVar[bool] = True  # whether a session can start from an agent, see Context.ancestor
    guide: ClassVar[str] = "training"  # the page of the guide about it, with #heading if it is a part of one
    shows_current: ClassVar[bool] = False  # whether it asks `Context.player_wanted` after each step
    loop: ClassVar[str] = ""  # "module:function" of the training loop, called with the settings and the context

    @property
    def title(self) -> str:
        """The name of a session with these settings, if it is given no other."""
        return self.name

    def check(self, game: Game, ancestor: AgentSpec | None, resuming: bool) -> None:
        """Raises an error if this game cannot be learned with these settings, or from this agent if one is given. When
        resuming, the checkpoint has the contents of files that were read at the start. Runs in the window's process."""

    def resolved(self, game: Game) -> Self:
        """These settings with what depends on the installed plug-ins written out, so that a session that is resumed
        later uses the same. Called in the process of a session; the session saves what it returns."""
        return self

    def records(self) -> RecordQuery | None:
        """Which recorded matches of the league it learns from, see Context.records; None if it needs none."""
        return None

    @classmethod
    def population_of(cls, state: bytes) -> Population | None:
        """What the state of a checkpoint has of a population, for a table and a picture of its lineage; None if the
        trainer has none. Runs in the window's process, so it imports no heavy library."""
        return None

    def train(self, context: Context) -> Iterator[Event]:
        """Trains, yielding events. When it is done or asked to stop, it yields a last checkpoint and then Ended.
        Override it instead of naming a `loop` if it needs no heavy library."""
        module, _, function = self.loop.partition(":")
        loop = cast(Loop, getattr(importlib.import_module(module), function))
        return loop(self, context)


def presets_for(trainer: type[Trainer], game: str) -> dict[str, Mapping[str, Value]]:
    """The presets that can be used in this game, by name: first those that are made for it."""
    games = getattr(trainer, "preset_games", {})  # a plug-in need not inherit from `Trainer`
    fitting = [name for name in trainer.presets if not games.get(name) or game in games[name]]
    return {name: trainer.presets[name] for name in sorted(fitting, key=lambda name: not games.get(name))}


def metric_of(name: str, metrics: Mapping[str, Metric]) -> tuple[Metric | None, bool]:
    """The declaration of a metric, and whether it is that of a whole group, as `validation/*`."""
    if name in metrics:
        return metrics[name], False
    pattern = f"{name.partition('/')[0]}/*"
    return metrics.get(pattern), pattern in metrics
