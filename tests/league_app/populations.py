"""Sessions of the trainer `breeding` (`tests.plugins.breeding`) with a population, without running one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager

from agents.training.events import Player
from agents.training.population import Individual, Population
from engine.diagram import Block, Diagram
from engine.league.records import RunState
from engine.league.storage.league import League
from engine.league.storage.sessions import SessionStore
from engine.play.match import GameSpec
from engine.registry import TRAINERS, new_game
from tests.plugins.breeding import COLUMNS, Breeding, grown, population_of, write

PLUGINS = ("tests.plugins.breeding",)
GAME = new_game("pong", points=1, step_limit=200).spec
BEST = Player("dice", 1, b"best", "the best so far")

TRAINERS.remove(Breeding.name)  # the module registers it for other processes; here it is there for some tests alone


@contextmanager
def registered(trainer: type = Breeding) -> Iterator[None]:
    """The trainer is there for the block, in place of one of the same name."""
    name = trainer.name  # type: ignore[attr-defined]
    before = TRAINERS.get(name) if name in TRAINERS else None
    TRAINERS.add(name, trainer)
    try:
        yield
    finally:
        TRAINERS.remove(name)
        if before is not None:
            TRAINERS.add(name, before)


def population(generations: int = 5, size: int = 10, seed: int = 1) -> Population:
    return population_of(*grown(generations, size, seed))


def record(
    league: League, generations: int = 5, size: int = 10, *, name: str = "Architectures", game: GameSpec = GAME
) -> int:
    """A session that has ended after so many generations, with a checkpoint of the last one."""
    sessions = SessionStore(league)
    number = sessions.add(name, Breeding.name, game, [("generations", generations), ("size", size)]).number
    sessions.update(number, RunState.STOPPED, "for a test")
    if generations:
        add_checkpoint(league, number, generations, size)
    return number


def add_checkpoint(league: League, number: int, generations: int, size: int = 10) -> None:
    """The population after so many generations, as the newest checkpoint of a session."""
    state = write(*grown(generations, size))
    SessionStore(league).add_checkpoint(number, generations - 1, state, [BEST])


def individual(number: int, fitness: float | None = 0.5, **changed: object) -> Individual:
    """An individual with the columns of the trainer."""
    made = Individual(number, 0, (), fitness, ("8-8", 100, "relu", 0.001, False), True)
    return dataclasses.replace(made, **changed)  # type: ignore[arg-type]


def of(*individuals: Individual, best: int | None = None) -> Population:
    return Population(0, population(1).fitness, COLUMNS, individuals, best)


def drawn_outside() -> Diagram:
    """A drawing that cannot be drawn."""
    return Diagram(blocks=(Block(7.0, 0.5, "input"),))
