"""A trainer with a population, as a plug-in of one file: a search by evolution for the best layers of a network, whose
fitness is a formula. Its state is JSON; some individuals fail."""

from __future__ import annotations

import itertools
import json
import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from agents.training.events import Champion, Checkpoint, Ended, How, Metrics, Player, Progress
from agents.training.population import Column, Individual, Population
from agents.training.trainer import Ends, Metric, Reading, Trainer
from engine.diagram import Block, Diagram
from engine.errors import BadValue
from engine.game import Game
from engine.options import Value, option, validate
from engine.play.match import AgentSpec
from engine.registry import TRAINERS
from engine.seeding import derive

ACTIVATIONS = ("relu", "tanh", "gelu")
COLUMNS = (
    Column("Layers", "Widths of its layers, from the inputs to the outputs"),
    Column("Parameters", "Weights and biases"),
    Column("Activation", "After each layer"),
    Column("Rate", "Learning rate"),
    Column("Dropout", "Whether units are left out while it learns"),
)


@dataclass(frozen=True)
class Candidate:
    """A genome and the outcome of its training."""

    number: int
    generation: int
    parents: tuple[int, ...]
    layers: tuple[int, ...]
    activation: str
    rate: float
    dropout: bool
    fitness: float | None = None
    error: str = ""

    @property
    def parameters(self) -> int:
        sizes = (6, *self.layers, 3)
        return sum((below + 1) * above for below, above in itertools.pairwise(sizes))


@dataclass(frozen=True)
class Breeding(Trainer):
    name: ClassVar[str] = "breeding"
    about: ClassVar[str] = "Breeds networks that nobody trains"
    metrics: ClassVar[Mapping[str, Metric]] = {
        "fitness/best": Metric("fitness of the best individual", Reading.SHARE, "Best", together=True),
        "fitness/mean": Metric("mean fitness of the population", Reading.SHARE, "Mean", together=True),
    }
    headline: ClassVar[str] = "fitness/best"
    unit: ClassVar[str] = "generation"
    ends: ClassVar[Ends] = Ends("generations")
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"quick": {"generations": 3}}

    generations: int = option(10, low=1, high=1_000_000, help="number of generations")
    size: int = option(10, low=2, high=10_000, help="individuals in a generation")
    nap: float = option(0.0, low=0.0, help="seconds per generation")
    seed: int = option(1, low=0, help="random seed")

    def __post_init__(self) -> None:
        validate(self)

    @classmethod
    def population_of(cls, state: bytes) -> Population | None:
        candidates, generation, members = read(state)
        return population_of(candidates, generation, members)

    def check(self, game: Game, ancestor: AgentSpec | None, resuming: bool) -> None:
        """Any game will do: none is played."""

    def train(self, context: Any) -> Iterator[Any]:
        candidates, step, members = read(context.state) if context.state is not None else ([], -1, set())
        while step < self.generations - 1:
            if context.attend():
                yield self._checkpoint(candidates, step, members)
                yield Ended(How.STOPPED, f"at {step}")
                return
            time.sleep(self.nap)
            step += 1
            members = self.advance(candidates, step, members)
            fitness = [candidates[number - 1].fitness or 0.0 for number in members]
            yield Metrics(step, (("fitness/best", max(fitness)), ("fitness/mean", sum(fitness) / len(fitness))))
            yield Progress(step, self.generations - 1, f"best {max(fitness):.0%}")
            yield self._checkpoint(candidates, step, members)
        yield Champion(step, self._player(candidates))
        yield Ended(How.FINISHED, f"{self.generations} generations")

    def advance(self, candidates: list[Candidate], step: int, members: set[int]) -> set[int]:
        """Adds the candidates of a generation, and returns its members: the fittest two stay."""
        draws = np.random.default_rng(derive(self.seed, step))
        fittest = sorted(
            (candidate for candidate in candidates if candidate.number in members and candidate.fitness is not None),
            key=lambda candidate: (-(candidate.fitness or 0.0), candidate.number),
        )
        elite = fittest[:2]
        new = set[int]()
        while len(elite) + len(new) < self.size:
            number = len(candidates) + 1
            if len(fittest) < 2:
                made = drawn(number, step, draws)
            else:
                two = [fittest[int(min(draws.integers(0, len(fittest), 3)))] for _ in range(2)]
                made = child(number, step, two, draws)
            candidates.append(evaluated(made, draws))
            new.add(number)
        return {candidate.number for candidate in elite} | new

    def _player(self, candidates: list[Candidate]) -> Player:
        return Player("dice", 1, b"\x00%d" % (best_of(candidates) or 0), "the best so far")

    def _checkpoint(self, candidates: list[Candidate], step: int, members: set[int]) -> Checkpoint:
        return Checkpoint(max(step, 0), write(candidates, step, members), (self._player(candidates),))


# Genomes


def drawn(number: int, step: int, draws: np.random.Generator) -> Candidate:
    widths = tuple(int(width) for width in draws.integers(4, 24, int(draws.integers(1, 3))))
    activation = ACTIVATIONS[draws.integers(3)]
    return Candidate(number, step, (), widths, activation, float(10 ** draws.uniform(-5, -1)), bool(draws.integers(2)))


def child(number: int, step: int, parents: list[Candidate], draws: np.random.Generator) -> Candidate:
    first, second = parents
    layers = [max(1, round(width * draws.uniform(0.7, 1.5))) for width in first.layers]
    if draws.random() < 0.2 and len(layers) < 5:
        layers.append(int(draws.integers(4, 48)))
    rate = min(max(second.rate * math.exp(draws.normal(0, 0.5)), 1e-6), 1.0)
    made = dict.fromkeys((first.number, second.number))
    return Candidate(number, step, tuple(made), tuple(layers), first.activation, rate, second.dropout)


def evaluated(candidate: Candidate, draws: np.random.Generator) -> Candidate:
    """Fitness is highest for about 3,000 parameters and a rate of 0.003; large networks may fail."""
    if candidate.rate > 0.03 and draws.random() < 0.5:
        return replace(candidate, error="loss is not finite after 12 steps: the learning rate is too high")
    size, rate = math.log(candidate.parameters / 3000), math.log(candidate.rate / 0.003)
    return replace(candidate, fitness=float(0.98 * math.exp(-0.05 * size**2 - 0.02 * rate**2) - 0.02 * draws.random()))


def best_of(candidates: list[Candidate]) -> int | None:
    known = [candidate for candidate in candidates if candidate.fitness is not None]
    return max(known, key=lambda candidate: (candidate.fitness or 0.0, -candidate.number)).number if known else None


# State


def write(candidates: list[Candidate], generation: int, members: set[int]) -> bytes:
    saved = {
        "generation": generation,
        "members": sorted(members),
        "candidates": [asdict(candidate) for candidate in candidates],
    }
    return json.dumps(saved).encode()


def read(state: bytes) -> tuple[list[Candidate], int, set[int]]:
    try:
        saved = json.loads(state)
        candidates = [
            Candidate(**{**candidate, "parents": tuple(candidate["parents"]), "layers": tuple(candidate["layers"])})
            for candidate in saved["candidates"]
        ]
    except (ValueError, KeyError, TypeError):
        raise BadValue("state", state[:40], "the JSON of a population") from None
    return candidates, saved["generation"], set(saved["members"])


def population_of(candidates: list[Candidate], generation: int, members: set[int]) -> Population:
    individuals = tuple(
        Individual(
            candidate.number,
            candidate.generation,
            candidate.parents,
            candidate.fitness,
            values_of(candidate),
            candidate.number in members,
            candidate.error,
            diagram_of(candidate.layers),
        )
        for candidate in candidates
    )
    about = Column("Accuracy", "Share of the answers that are right")
    return Population(generation, about, COLUMNS, individuals, best_of(candidates))


def values_of(candidate: Candidate) -> tuple[Value | None, ...]:
    return (
        "-".join(map(str, candidate.layers)),
        candidate.parameters,
        candidate.activation,
        candidate.rate,
        candidate.dropout,
    )


def diagram_of(layers: tuple[int, ...]) -> Diagram:
    """A bar for each layer, as high as its logarithm."""
    sizes = (6, *layers, 3)
    roles = ("input", *["hidden"] * len(layers), "output")
    top = math.log(max(sizes) + 1)
    return Diagram(
        blocks=tuple(
            Block((place + 0.5) / len(sizes), math.log(size + 1) / top, role, text=str(size))  # type: ignore[arg-type]
            for place, (size, role) in enumerate(zip(sizes, roles, strict=True))
        )
    )


def grown(generations: int, size: int = 10, seed: int = 1) -> tuple[list[Candidate], int, set[int]]:
    """The population after this many generations, without a session."""
    settings, candidates, members = Breeding(size=size, seed=seed), list[Candidate](), set[int]()
    for step in range(generations):
        members = settings.advance(candidates, step, members)
    return candidates, generations - 1, members


TRAINERS.add(Breeding.name, Breeding)
