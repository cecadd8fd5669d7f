"""Runs trainers in tests: with a fake context, and in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agents.neat.config import advice, config_text
from agents.training.evaluator import MatchEvaluator
from agents.training.events import Checkpoint, Ended, Event, Metrics
from agents.training.neat.config import NeatConfig
from agents.training.neat.modes import MODES
from agents.training.records import MatchRecord
from agents.training.rollouts import RolloutPool
from agents.training.trainer import Trainer
from engine.game import Game
from engine.play.executors import DEFAULT, SequentialMatchExecutor
from engine.play.match import AgentSpec, GameSpec, MatchResult, MatchSpec
from engine.play.results import ResultBatch
from engine.registry import game_of, new_game
from tests.agents.neat.sample_genomes import config_with

GAME = new_game("pong", points=1, step_limit=300)
QUICK = {"population": 10, "generations": 5, "steps": 90, "opponents": 3, "games": 1, "validate_every": 2}
QUICK |= {"bots": "Still,Lazy,Tracker", "validate_bots": "Lazy,Tracker", "validate_pairs": 2, "hall_every": 2}
CROWD = {"compatibility_threshold": 3.0, "min_species_size": 1, "elitism": 1}  # few genomes may be of many species


class FakeContext:
    """A context that never pauses, requests a stop after `stop_after` calls of `attend`, and always wants the current
    player if it is `watched`."""

    def __init__(
        self,
        game: GameSpec = GAME.spec,
        workers: int = 1,
        state: bytes | None = None,
        ancestor: AgentSpec | None = None,
        plugins: tuple[str, ...] = (),
        stop_after: int | None = None,
        on: str = DEFAULT,
        agents: tuple[AgentSpec, ...] = (),
        watched: bool = False,
        records: tuple[MatchRecord, ...] = (),
    ) -> None:
        self.game, self.workers, self.state, self.agents, self.records = game, workers, state, agents, records
        self.ancestor, self.plugins, self.on = ancestor, plugins, on
        self._stop_after, self.watched = stop_after, watched
        self.calls = 0
        self._executor: Any = None
        self.pools: list[RolloutPool] = []
        self.events: list[Event] = []  # that were sent

    evaluator: Any = MatchEvaluator  # `stay_in_process` replaces it

    @property
    def executor(self) -> Any:
        if self._executor is None:
            self._executor = self.evaluator(self.workers, game=self.game, plugins=self.plugins, on=self.on)
        return self._executor

    def rollouts(self, streams: Sequence[int], plan: str, agents: Iterable[AgentSpec], **rest: Any) -> RolloutPool:
        own, workers = game_of(self.game), lambda: self.workers
        self.pools.append(RolloutPool(own, streams, plan, agents, workers, plugins=self.plugins, **rest))
        return self.pools[-1]

    def close(self) -> None:
        for pool in self.pools:
            pool.close()
        if self._executor is not None:
            self._executor.close()

    def player_wanted(self) -> bool:
        return self.watched

    def stop(self) -> None:
        """As the session does."""
        self._stop_after = 0

    def attend(self) -> bool:
        self.calls += 1
        return self._stop_after is not None and self.calls > self._stop_after

    def send(self, event: Event) -> None:
        self.events.append(event)


class InProcessEvaluator:
    """Replaces the evaluator, whose worker processes take seconds to start."""

    def __init__(self, max_workers: int | None = None, **rest: Any) -> None:
        self.workers = max_workers
        self._executor = SequentialMatchExecutor(32, record=False, quarantine_after=None)

    def play(self, specs: Sequence[MatchSpec], stopping: Callable[[], bool]) -> ResultBatch | None:
        found: dict[str, MatchResult] = {}
        run = self._executor.run(specs)
        for result in run:
            found[result.id] = result
            if stopping():
                run.close()
                return None
        return ResultBatch.of(specs, [found[spec.id] for spec in specs])

    def close(self) -> None:
        self._executor.close()


def stay_in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeContext, "evaluator", InProcessEvaluator)


def write_config(place: Path, **options: object) -> str:
    """The path of a configuration for tiny populations."""
    place.write_text(config_with(**{**CROWD, **options}), encoding="utf-8")
    return str(place)


def mode_of(config: NeatConfig, game: Game = GAME) -> Any:
    """The mode of a trainer."""
    return MODES[config.mode](config, game, advice(config_text(config.neat_config, game)))


def trainer(config: str, **settings: object) -> NeatConfig:
    return NeatConfig(**{**QUICK, "neat_config": config, **settings})


def trained(config: Trainer, **context: Any) -> list[Event]:
    with closing(FakeContext(**context)) as own:
        for event in config.train(own):
            own.send(event)
        events = own.events
    assert [isinstance(event, Ended) for event in events] == [False] * (len(events) - 1) + [True]
    return events


def of(kind: type, events: Iterable[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def measured(events: Iterable[Event]) -> dict[int, dict[str, float]]:
    """Metrics by generation, without those of speed."""
    found = {}
    for event in of(Metrics, events):
        assert event.step not in found, "each generation once"
        found[event.step] = {name: value for name, value in event.values if not name.startswith("speed/")}
    return found


def last_state(events: Iterable[Event]) -> bytes:
    state: bytes = of(Checkpoint, events)[-1].state
    return state
