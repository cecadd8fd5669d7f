"""NEAT: the same genomes and matches through neat-python's own evaluator, whole generations, scaling with population
size, and the parts of a generation."""

from __future__ import annotations

import functools
import gc
import itertools
import random
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import neat

from agents.neat.config import advice, config_text, read_config
from agents.neat.evolution import Evolution
from agents.neat.genome import from_neat
from agents.neat.payload import dump
from agents.neat.pilot import KIND, NeatPilot
from agents.neat.species import DefaultSpeciesSet
from agents.scripted.pong import KIND as BOTS
from agents.scripted.pong import parse_bot
from agents.training.concurrent import ConcurrentTrainingExecutor
from agents.training.evaluator import MatchEvaluator
from agents.training.events import Metrics
from agents.training.matchmaking import matches
from agents.training.neat.config import NeatConfig
from agents.training.neat.modes import MODES, Mode
from agents.training.neat.state import EvolutionRun, GenerationEvaluation
from agents.training.scoring import merits_of
from engine.games.pong.game import Pong, PongOptions
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import AgentSpec, GameSpec, Limits, MatchResult, MatchSpec
from engine.seeding import derive
from tests.benchmarks import advancing, plain_neat
from tests.benchmarks.measure import Figure, in_turns, ratio
from tests.benchmarks.plain_neat import HIT, STEP, Trial

GAME = Pong(PongOptions())
TRACKER = next(agent for agent in BOTS.samples(GAME) if agent.id == "Tracker")
RIVAL = "rival"


def figures(quick: bool) -> Iterator[Figure]:
    yield from evaluating(quick)
    yield from first_call(quick)
    yield from generations(quick)
    yield from growth(quick)
    yield from advancing.figures(quick)
    yield from shares(quick)


# The same matches through both evaluators


def bred(population: int, count: int, feed_forward: bool = True) -> EvolutionRun:
    """A population that has evolved for some generations against the bots."""
    trainer = NeatConfig(mode="against-bots", population=population)
    text = re.sub(r"feed_forward +=.*", f"feed_forward = {feed_forward}", config_text("", GAME))
    run = EvolutionRun(Evolution(text, read_config(text, GAME, population), 1))
    with ConcurrentTrainingExecutor(max_workers=2, game=GAME.spec) as executor:
        for _ in range(count):
            run.advance(evaluated(run, trainer, executor), trainer)
    return run


def mode_of(trainer: NeatConfig, run: EvolutionRun) -> Mode:
    return MODES[trainer.mode](trainer, GAME, advice(run.evolution.text))


def evaluated(run: EvolutionRun, trainer: NeatConfig, executor: ConcurrentTrainingExecutor) -> GenerationEvaluation:
    mode = mode_of(trainer, run)
    encounters = mode.encounters(run)
    results = executor.play(matches(encounters, Limits(trainer.steps)))
    assert results is not None
    return mode.evaluate(run, encounters, results)


class Contest:
    """Generations of genomes, the matches that each of them plays, and both ways to find their fitness."""

    def __init__(self, run: EvolutionRun, rounds: int, seeds: int, steps: int) -> None:
        self.config = run.evolution.config
        trainer = NeatConfig(mode="against-bots")
        with ConcurrentTrainingExecutor(max_workers=2, game=GAME.spec) as executor:
            fitness = evaluated(run, trainer, executor).fitness
            rival = run.evolution.genomes[max(fitness, key=lambda key: (fitness[key], -key))]
            self.rounds = []
            for _ in range(rounds):  # a new generation each time, because workers cache genomes
                run.advance(evaluated(run, trainer, executor), trainer)
                self.rounds.append(list(run.evolution.genomes.items()))
        opponents = (parse_bot(TRACKER.payload), rival)
        self.trial = Trial(GAME.options, steps, opponents, tuple(derive("bench", n) for n in range(seeds)))
        self.rival = AgentSpec(RIVAL, KIND.name, self._payload(rival), KIND.version)
        self.steps = 0  # of the last generation played

    def _payload(self, genome: Any) -> bytes:
        return dump(from_neat(genome, self.config.genome_config))

    def theirs(self, evaluator: neat.ParallelEvaluator, generation: list[tuple[int, Any]]) -> list[float]:
        evaluator.evaluate(generation, self.config)
        return [genome.fitness for _, genome in generation]

    def ours(self, executor: ConcurrentTrainingExecutor, generation: list[tuple[int, Any]]) -> list[float]:
        specs = self.specs(generation)
        results = executor.play(specs)
        assert results is not None
        self.steps = int(results.columns.steps.sum())
        worths, each = [worth(result) for result in results], len(specs) // len(generation)
        return [sum(worths[at : at + each]) / each for at in range(0, len(worths), each)]

    def specs(self, generation: list[tuple[int, Any]]) -> list[MatchSpec]:
        limits, found = Limits(self.trial.steps), []
        for key, genome in generation:
            player = AgentSpec(str(key), KIND.name, self._payload(genome), KIND.version)
            for opponent, seed in itertools.product((TRACKER, self.rival), self.trial.seeds):
                for pair in ((player, opponent), (opponent, player)):
                    found.append(MatchSpec(str(len(found)), GAME.spec, pair, seed, None, limits))
        return found

    def check(self, generation: list[tuple[int, Any]]) -> None:
        """Some matches in full, besides the fitness that they lead to."""
        specs = self.specs(generation)
        with SequentialMatchExecutor(record=False) as executor:
            results = executor.execute_matches(specs)
        known = {str(key): genome for key, genome in generation} | dict(
            zip((TRACKER.id, RIVAL), self.trial.opponents, strict=True)
        )
        for spec, result in zip(specs, results, strict=True):
            minds = [plain_neat.mind(known[player.id], self.config) for player in spec.players]
            match = plain_neat.play(self.trial, spec.seed, minds)
            stats = tuple(tuple(match.stats(seat)) for seat in range(2))
            if (tuple(match.score), match.step, stats) != (result.scores, result.steps, result.stats):
                raise AssertionError(f"plain Python plays match {spec.id} differently: the figures would mean nothing")


def worth(result: MatchResult) -> float:
    """The fitness that a genome gets for a match."""
    seat = next(seat for seat, player in enumerate(result.players) if player not in (TRACKER.id, RIVAL))
    merit = merits_of(result)[seat]
    assert merit is not None, result
    return merit + (HIT * result.stats[seat][0] + STEP * result.steps)


def evaluating(quick: bool) -> Iterator[Figure]:
    """Every genome against a bot and against another genome, from both sides; workers run, kernels are compiled.
    Ours includes everything from neat-python's genomes to their fitness: encoding, sending, loading and playing."""
    size, rounds, steps = (20, 1, 300) if quick else (100, 3, 3000)
    before = 2 if quick else 8
    feed_forward = Contest(bred(size, before), rounds, 2, steps)
    recurrent = Contest(bred(size, before, feed_forward=False), rounds, 1, steps)
    yield from side_by_side("feed-forward", feed_forward, (1, 2))
    yield from side_by_side("recurrent", recurrent, (2,))


def side_by_side(what: str, contest: Contest, workers: Sequence[int]) -> Iterator[Figure]:
    contest.check(contest.rounds[0][:3])
    found: dict[str, list[float]] = {}
    taken: dict[str, list[float]] = {}
    steps = []
    with ExitStack() as stack:
        evaluate = functools.partial(plain_neat.evaluate, contest.trial)
        # theirs first: they fork, which is unsafe once threads are running
        evaluators = {n: stack.enter_context(neat.ParallelEvaluator(n, evaluate)) for n in workers}
        executors = {n: stack.enter_context(ConcurrentTrainingExecutor(max_workers=n, game=GAME.spec)) for n in workers}
        gc.collect()
        gc.freeze()  # as in a trainer's process: a full collection of all genomes here takes as long as a generation
        stack.callback(gc.unfreeze)
        for executor in executors.values():
            contest.ours(executor, [(-1 - key, genome) for key, genome in contest.rounds[0][::-1]])  # warm; ids differ
        for generation in contest.rounds:
            for n in workers:
                jobs: dict[str, Callable[[], list[float]]] = {
                    f"theirs {n}": lambda n=n: contest.theirs(evaluators[n], generation),  # noqa: B023
                    f"ours {n}": lambda n=n: contest.ours(executors[n], generation),  # noqa: B023
                }
                for name, job in jobs.items():
                    since = time.perf_counter()
                    found[name] = job()
                    taken.setdefault(name, []).append(time.perf_counter() - since)
            if any(fitness != found[f"ours {workers[0]}"] for fitness in found.values()):
                raise AssertionError("the fitness of some genome differs, so the figures would mean nothing")
            steps.append(contest.steps)
    nodes = statistics.mean(len(genome.nodes) for _, genome in contest.rounds[-1])
    links = statistics.mean(len(genome.connections) for _, genome in contest.rounds[-1])
    for n in workers:
        size = len(contest.rounds[0])
        rate = statistics.median(size / seconds for seconds in taken[f"ours {n}"])
        theirs = statistics.median(taken[f"theirs {n}"])
        note = f"{theirs:.1f} s there; fitness equal"
        yield Figure(
            f"{what}, {n} worker{'s' * (n > 1)}",
            rate,
            "genomes/s",
            ratio(taken, f"ours {n}", f"theirs {n}"),
            "ParallelEvaluator",
            note,
        )
    each = len(contest.trial.opponents) * len(contest.trial.seeds) * 2
    length = statistics.mean(steps) / len(contest.rounds[0]) / each
    yield Figure(
        f"{what}, a match",
        length,
        "steps",
        note=f"{size} x {each}; {nodes:.1f} nodes, {links:.0f} links",
    )


FIRST = """
import time
from tests.benchmarks.neat import GAME, ConcurrentTrainingExecutor, EvolutionRun, NeatConfig, evaluated
trainer = NeatConfig(population=100)
run = EvolutionRun.start(trainer, GAME, None)
since = time.perf_counter()
with ConcurrentTrainingExecutor(max_workers=2, game=GAME.spec) as executor:
    for _ in range(2):
        evaluated(run, trainer, executor)
        print(time.perf_counter() - since)
        since = time.perf_counter()
"""


def first_call(quick: bool) -> Iterator[Figure]:
    """A generation of 100 in a program that has just started: server, workers and kernels (compiled before) to load."""
    times = []
    for _ in range(1 if quick else 2):
        output = subprocess.run([sys.executable, "-c", FIRST], check=True, capture_output=True, text=True).stdout
        times.append([float(line) for line in output.split()])
    first, second = (statistics.median(column) for column in zip(*times, strict=True))
    yield Figure("first generation, 100 genomes", first, "s", second / first, "the same again", "2 workers to start")


# Whole generations


@dataclass
class Alone:
    """A trainer's context without a session."""

    game: GameSpec = GAME.spec
    workers: int = 2
    state: bytes | None = None
    ancestor: AgentSpec | None = None
    plugins: tuple[str, ...] = ()
    on: str = "local"

    @functools.cached_property
    def executor(self) -> MatchEvaluator:
        return MatchEvaluator(self.workers, game=self.game)

    def player_wanted(self) -> bool:
        return False

    def attend(self) -> bool:
        return False


@contextmanager
def clocked(owner: type, name: str) -> Iterator[list[float]]:
    """Records the duration of each call of a method."""
    method, taken = getattr(owner, name), list[float]()

    @functools.wraps(method)
    def timed(*args: Any, **more: Any) -> Any:
        since = time.perf_counter()
        try:
            return method(*args, **more)
        finally:
            taken.append(time.perf_counter() - since)

    setattr(owner, name, timed)
    try:
        yield taken
    finally:
        setattr(owner, name, method)


def generations(quick: bool) -> Iterator[Figure]:
    """The trainer with its defaults: ten generations with validations and a checkpoint."""
    warm, count = (1, 2) if quick else (2, 10)
    metrics: dict[str, list[dict[str, float]]] = {mode: [] for mode in MODES}
    seconds: dict[str, list[float]] = {mode: [] for mode in MODES}
    breeding: dict[str, list[float]] = {mode: [] for mode in MODES}
    contexts = [Alone() for _ in MODES]
    trainers = {
        mode: NeatConfig(mode=mode, generations=warm + count + 1).train(context)
        for mode, context in zip(MODES, contexts, strict=True)
    }
    with clocked(Evolution, "advance") as taken:
        for _ in range(warm + count):
            for mode, events in trainers.items():
                since = time.perf_counter()
                event = next(event for event in events if isinstance(event, Metrics))
                seconds[mode].append(time.perf_counter() - since)
                metrics[mode].append(dict(event.values))
                breeding[mode].append(taken[-1])
    for context in contexts:
        context.executor.close()
    for mode in MODES:
        total = sum(seconds[mode][warm:])
        bred = sum(breeding[mode][warm:]) / total
        own = statistics.mean(values["speed/reproduction"] for values in metrics[mode][warm:])
        note = f"reproduction {bred:.0%}, its metric {own:.0%}"
        yield Figure(f"{mode}, 150 genomes", count / total, "generations/s", None, "", note)


def growth(quick: bool) -> Iterator[Figure]:
    """Self-play by populations of many sizes, bred before with random fitness for the same number of generations,
    so that there are species. Small populations are measured several times."""
    sizes, before = ((50, 150), 2) if quick else ((50, 150, 500, 1000, 2000), 4)
    parts: dict[str, dict[int, list[float]]] = {"evaluating": {}, "reproduction": {}, "speciation": {}}
    species: dict[int, list[int]] = {size: [] for size in sizes}
    with (
        ConcurrentTrainingExecutor(max_workers=2, game=GAME.spec) as executor,
        clocked(DefaultSpeciesSet, "speciate") as speciation,
    ):
        plan = [(sizes[0], 0)] + [(size, seed) for size in sizes for seed in range(max(500 // size, 1))]
        for size, seed in plan:
            trainer = NeatConfig(population=size, seed=seed)
            run, draws = EvolutionRun.start(trainer, GAME, None), random.Random(seed)
            for _ in range(before):
                run.evolution.advance({key: draws.random() for key in run.evolution.genomes})
            since = time.perf_counter()
            evaluation = evaluated(run, trainer, executor)
            played = time.perf_counter()
            run.advance(evaluation, trainer)
            now = (played - since, time.perf_counter() - played, speciation[-1])
            for part, value in zip(parts.values(), now, strict=True):
                part.setdefault(size, []).append(value)
            species[size].append(run.evolution.species)
    for name, part in parts.items():
        part[sizes[0]].pop(0)  # the first one includes the start of the workers
        least = statistics.mean(part[sizes[0]]) / sizes[0]
        for size in sizes:
            mean = statistics.mean(part[size])
            note = f"{mean:.2f} s" + f", {statistics.mean(species[size]):.0f} species" * (name == "speciation")
            each = mean / size
            yield Figure(f"{name}, {size:,} genomes", each * 1e3, "ms/genome", each / least, f"at {sizes[0]}", note)


def shares(quick: bool) -> Iterator[Figure]:
    """The parts of a generation of self-play, each measured separately, with new genomes each time."""
    trainer = NeatConfig(population=20 if quick else 150)
    run = EvolutionRun.start(trainer, GAME, None)
    mode = mode_of(trainer, run)
    state: dict[str, Any] = {}

    def encode() -> None:
        state["encounters"] = mode.encounters(run)
        state["specs"] = matches(state["encounters"], Limits(trainer.steps))

    def load() -> None:
        pilot = NeatPilot(GAME, 2)
        for agent in run.specs().values():
            pilot.load(agent)

    def evaluate() -> None:
        state["evaluation"] = mode.evaluate(run, state["encounters"], state["results"])

    with (
        SequentialMatchExecutor(record=False) as here,
        ConcurrentTrainingExecutor(max_workers=1, game=GAME.spec) as executor,
        ConcurrentTrainingExecutor(max_workers=2, game=GAME.spec) as two,
    ):

        def play(with_whom: Callable[[Sequence[MatchSpec]], Sequence[MatchResult] | None]) -> Callable[[], None]:
            def job() -> None:
                state["results"] = with_whom(state["specs"])

            return job

        jobs = {
            "genomes and matches to data": encode,
            "loading each genome once": load,
            "playing, this process": play(here.execute_matches),
            "playing, 1 worker": play(executor.play),
            "playing, 2 workers": play(two.play),
            "evaluation": evaluate,
            "reproduction": lambda: run.advance(state["evaluation"], trainer),
        }
        in_turns(jobs, 2 if quick else 4)
        taken = in_turns(jobs, 1 if quick else 3)
    length = sum(result.steps for result in state["results"]) / len(state["results"])
    yield Figure("matches of a generation", len(state["specs"]), "", None, "", f"self-play, {length:,.0f} steps each")
    for name in jobs:
        share = None if name == "playing, this process" else 1 / ratio(taken, name, "playing, this process")
        yield Figure(name, 1e3 * statistics.median(taken[name]), "ms", share, "playing in this process")
