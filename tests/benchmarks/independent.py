"""Independent learners in Treasure Hunt: each acceleration beside agents that act and learn one after the other."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from agents.training.events import Span
from agents.training.independent import iqn, networks
from agents.training.independent.buffer import Transitions
from agents.training.independent.environment import ParallelEnvironment
from agents.training.independent.learner import LearnerGroup
from agents.training.independent.learner_settings import LearnerSettings
from agents.training.independent.networks import draw_weights, product, shapes_of
from agents.training.independent.speedup import Costs, Resources, predicted
from agents.training.independent.timeline import ACTOR
from engine.games.treasure_hunt.game import TreasureHuntOptions
from engine.registry import new_game
from tests.agents.training.independent.loss_reference import Rows
from tests.agents.training.independent.plain_learner import Net, PlainLearner, fraction_seed
from tests.benchmarks import plain_hunt
from tests.benchmarks.func_learner import FuncLearner
from tests.benchmarks.measure import Figure, in_turns, ratio

AGENTS = (2, 5, 10)
SEQUENTIAL, ASYNCHRONOUS = "sequential", "asynchronous, stacked"
MODES: Mapping[str, Mapping[str, Any]] = {
    SEQUENTIAL: {"enabled": False},
    "parallel actions": {"parallel_training": False},
    "stacked updates": {"parallel_actions": False, "training_mode": "stacked"},
    "updates in threads": {"parallel_actions": False, "training_mode": "threads", "use_threads": True},
    "updates in processes": {"parallel_actions": False, "training_mode": "processes"},
    "parallel actions, stacked updates": {"training_mode": "stacked"},
    "parallel actions, updates in threads": {"training_mode": "threads", "use_threads": True},
    "parallel actions, updates in processes": {"training_mode": "processes"},
    "asynchronous": {"parallel_actions": False, "parallel_training": False, "async_learning": True},
    "asynchronous, parallel actions": {"parallel_training": False, "async_learning": True},
    "asynchronous, stacked, no parallel actions": {"parallel_actions": False, "async_learning": True},
    ASYNCHRONOUS: {"async_learning": True},
    "asynchronous, stacked, 1 learner": {"async_learning": True, "num_workers": 1},
}
LIMITS = {  # of what becomes faster without computing less
    "learning on 2 cores": Resources(workers=2, cores=2),
    "learning on 2 cores beside playing": Resources(workers=2, cores=2, asynchronous=True),
}
QUICK_MODES = (SEQUENTIAL, "parallel actions, stacked updates", ASYNCHRONOUS)
EQUAL = {name for name in MODES if not name.startswith("asynchronous")}  # the same results to the bit
PARTS = ("collect", "act", "learn", "wait", "publish")
LEARNER_PARTS = ("learn", "wait", "publish")
PLAIN, SINGLE = "plain torch, one after the other", "one after the other"
BY_AGENT = "all updates of one, then of the next"
LARGE = 1024  # rows and columns of matrices whose products reach the rate of the core
TOLERANCE = 1e-3  # relative, of losses after few updates by another order of sums
SHARE = 0.97  # of Magpie's score, which agents reach for the time to a score
LONGEST = 120.0  # seconds for that


def figures(quick: bool) -> Iterator[Figure]:
    yield from _turns(quick)
    yield from _updates(quick)
    for agents in AGENTS[:1] if quick else AGENTS:
        yield from _epochs(agents, quick)
    if not quick:
        for agents in AGENTS:
            yield from _time_to_score(agents, tuple(MODES))


def _environment(agents: int, mode: str, seed: int, saved: bytes | None = None, **more: Any) -> ParallelEnvironment:
    config = {
        "epochs": 1_000_000, "seed": seed, "lanes": 16, "reward_scale": 0.1, "epsilon_epochs": 50, "learn_after": 2000,
        "evaluate_every": 0, "references": "Magpie", "calibrate": False,
        "parallel": {"train_interval": 4, **MODES[mode]},
    }  # fmt: skip
    return ParallelEnvironment(new_game("treasure-hunt", seats=agents), agents, config | more, saved=saved)


def _updates(quick: bool) -> Iterator[Figure]:
    """Updates of ten agents on one core: as usually written in torch, one after the other here, stacked, and stacked by
    torch.func. `BY_AGENT` is the order in which they learn one after the other: a core's cache has room for the numbers
    of one agent, not of ten."""
    settings, agents, count = LearnerSettings(), range(10), 2 if quick else 40
    game = new_game("treasure-hunt", seats=10)
    observation, actions = game.info.observation, game.info.actions
    draws = np.random.default_rng(1)
    shape = (settings.batch, *observation)
    batch = Transitions(
        (draws.random(shape) < 0.2).astype(np.float32),
        draws.integers(0, actions, settings.batch),
        draws.standard_normal(settings.batch).astype(np.float32),
        np.full(settings.batch, 0.9, np.float32),
        (draws.random(shape) < 0.2).astype(np.float32),
    )
    torch.set_num_threads(1)
    stack = LearnerGroup(settings, observation, actions, agents, 1)
    singles = [LearnerGroup(settings, observation, actions, [agent], 1) for agent in agents]
    inputs = settings.inputs(observation)
    weights = {name: tensor.numpy() for name, tensor in Net(settings, inputs, actions).state_dict().items()}
    plain = [PlainLearner(settings, inputs, actions, weights) for _ in agents]
    rows = _rows(batch)
    func = _func_learner(settings, observation, actions, agents, batch)
    jobs: dict[str, Callable[[], object]] = {
        PLAIN: lambda: [[agent.update(rows, 1) for agent in plain] for _ in range(count)],
        SINGLE: lambda: [[group.update([batch]) for group in singles] for _ in range(count)],
        BY_AGENT: lambda: [[group.update([batch]) for _ in range(count)] for group in singles],
        "stacked": lambda: [stack.update([batch] * len(agents)) for _ in range(count)],
        "stacked by torch.func": lambda: [func.update([rows] * len(agents), agents) for _ in range(count)],
    }
    for job in jobs.values():
        job()
    taken = in_turns(jobs, 1 if quick else 5)
    for name in jobs:
        against = ratio(taken, name, PLAIN) if name != PLAIN else None
        value = 1e3 * statistics.median(taken[name]) / count / len(agents)
        yield Figure(f"an update of each of 10 agents, {name}", value, "ms an agent", against, PLAIN)
    yield _limit(stack, batch, statistics.median(taken[SINGLE]) / count / len(agents))


def _limit(stack: LearnerGroup, batch: Transitions, single: float) -> Figure:
    """What no way to write an update can be faster than on one core: its products of matrices, at the rate of large
    ones. `single`: seconds of an update of one agent alone."""
    operations = 0.0

    def counted(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        nonlocal operations
        operations += 2.0 * out.numel() * a.shape[-1] / len(stack.agents)
        return product(a, b, out)

    with patch.object(networks, "product", counted), patch.object(iqn, "product", counted):
        stack.update([batch] * len(stack.agents))
    a, b = torch.rand(2, LARGE, LARGE)
    rate = 2.0 * LARGE**3 / min(in_turns({"large": lambda: a @ b}, 15)["large"])
    seconds = operations / rate
    note = f"{operations / 1e6:.1f} million operations, {rate / 1e9:.0f} billion a second"
    what = "an update of an agent, its products of matrices alone at the rate of large ones"
    return Figure(what, 1e3 * seconds, "ms an agent", single / seconds, SINGLE, note)


def _func_learner(
    settings: LearnerSettings, observation: Sequence[int], actions: int, agents: Sequence[int], batch: Transitions
) -> FuncLearner:
    """The agents of a stack, updated by torch.func: their losses are the same up to rounding."""
    stack = LearnerGroup(settings, observation, actions, agents, 1)
    shapes = shapes_of(settings, observation, actions)
    func = FuncLearner(settings, [draw_weights(shapes, 1, agent) for agent in agents])
    rows = _rows(batch)
    for update in range(3):
        expected = stack.update([batch] * len(agents))
        losses = func.update([rows] * len(agents), [fraction_seed(1, agent, update) for agent in agents])
        if not np.allclose(losses, expected, rtol=TOLERANCE, atol=0.0):
            raise AssertionError(f"torch.func learns differently: {losses}, not {expected}")
    return func


def _rows(batch: Transitions) -> Rows:
    """A minibatch with flat observations."""
    columns = vars(batch).values()
    return Rows(*(column.reshape(len(column), -1) if column.ndim > 1 else column for column in columns))


def _epochs(agents: int, quick: bool) -> Iterator[Figure]:
    """Epochs a second, from the same saved experiment in every mode. Learners that run freely would disturb the other
    modes, so each mode has its environment for itself, and rounds alternate."""
    trainings, rounds = (1, 1) if quick else (2, 3)
    modes = QUICK_MODES if quick else tuple(MODES)
    with _environment(agents, SEQUENTIAL, seed=1) as first:
        first.advance()
        saved = first.save()
    taken: dict[str, list[float]] = {name: [] for name in modes}
    costs: dict[str, list[Costs]] = {name: [] for name in modes}
    learners: dict[str, list[Span]] = {name: [] for name in modes}  # asynchronous: while epochs are measured
    losses: dict[str, object] = {}
    for _ in range(rounds):
        for name in modes:
            with _environment(agents, name, 1, saved) as environment:
                environment.advance()  # starts processes
                environment.advance()  # waits until free learners learn: they are behind by `max_lag` from then on
                environment.take_spans()
                began, epoch = time.perf_counter(), environment.epoch
                reports = [environment.advance() for _ in range(trainings)]
                taken[name].append((time.perf_counter() - began) / (environment.epoch - epoch))
                if name not in EQUAL:
                    environment.close_learning()  # learners send their last spans
                    learners[name] += [span for span in environment.take_spans() if span.track != ACTOR]
            costs[name] += [report.costs for report in reports if report is not None and report.costs is not None]
            losses[name] = [report.losses for report in reports if report is not None]
    for name in EQUAL & set(modes):
        if losses[name] != losses[SEQUENTIAL]:
            raise AssertionError(f"{name} learns differently: the figures would mean nothing")
    parts = {
        name: {part: statistics.median(getattr(cost, part) for cost in costs[name]) for part in PARTS} for name in modes
    }
    for name in modes:
        against = ratio(taken, name, SEQUENTIAL) if name != SEQUENTIAL else None
        whole = max(sum(parts[name].values()), 1e-12)
        shares = ", ".join(f"{part} {100 * seconds / whole:.0f} %" for part, seconds in parts[name].items())
        if learners[name]:
            shares = f"actor: {shares}; learners: {_learner_shares(learners[name])}"
        yield Figure(
            f"{agents} agents, {name}", 1 / statistics.median(taken[name]), "epochs/s", against, SEQUENTIAL, shares
        )
    plain = Costs(**parts[SEQUENTIAL])
    for what, resources in LIMITS.items():
        limit = predicted(plain, resources)
        yield Figure(f"{agents} agents, Amdahl's limit: {what}", limit, "times", note=SEQUENTIAL)


def _learner_shares(spans: Sequence[Span]) -> str:
    """The shares of what learner processes do; all of it is beside the actor."""
    seconds = {part: sum(span.seconds for span in spans if span.name == part) for part in LEARNER_PARTS}
    whole = max(sum(seconds.values()), 1e-12)
    return ", ".join(f"{part} {100 * taken / whole:.0f} %" for part, taken in seconds.items())


def _time_to_score(agents: int, modes: Sequence[str]) -> Iterator[Figure]:
    """Seconds until the mean score of an evaluation reaches a share of Magpie's. Evaluations follow each training;
    asynchronous learners go on meanwhile."""
    taken: dict[str, list[float]] = {name: [] for name in modes}
    reached = dict.fromkeys(modes, 0)
    goal = 0.0
    for seed in (1, 2, 3):
        for name in modes:
            with _environment(agents, name, seed) as environment:
                environment.measure_references()
                goal = SHARE * environment.evaluator.references["Magpie"]
                began, spent, score = time.perf_counter(), 0.0, 0.0
                while score < goal and spent < LONGEST:
                    environment.advance()
                    found = environment.evaluate()
                    score = found.mean if found is not None else 0.0
                    spent = time.perf_counter() - began
            taken[name].append(spent)
            reached[name] += score >= goal
    for name in modes:
        against = ratio(taken, name, SEQUENTIAL) if name != SEQUENTIAL else None
        note = f"score {goal:.0f}; reached with {reached[name]} of 3 seeds"
        yield Figure(
            f"{agents} agents, time to a score, {name}", statistics.median(taken[name]), "s", against, SEQUENTIAL, note
        )


def _turns(quick: bool) -> Iterator[Figure]:
    """Turns a second of five agents that explore and store what they see, beside rules in plain Python."""
    matches = 1 if quick else 4
    with _environment(5, "parallel actions, stacked updates", 1, learn_after=50_000) as environment:
        environment.take_turn()  # compiles
        while environment.take_turn():
            pass
        began = time.perf_counter()
        while environment.take_turn():
            pass
        ours = 200 * environment.settings.lanes / (time.perf_counter() - began)
    began = time.perf_counter()
    for seed in range(matches):
        plain_hunt.play(TreasureHuntOptions(seats=5), seed)
    plain = 200 * matches / (time.perf_counter() - began)
    note = "with networks of 64-64, exploration and buffers"
    yield Figure("turns of five agents", ours / 1e3, "thousand turns/s", ours / plain, "plain Python", note)
    yield Figure("turns of five random agents, plain Python", plain / 1e3, "thousand turns/s", note="no networks")
