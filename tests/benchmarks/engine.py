"""The engine: boards alone, whole matches against plain Python and C, Treasure Hunt, and compile times."""

from __future__ import annotations

import ctypes
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence

import numpy as np

from agents.scripted.pong import KIND as BOTS
from agents.scripted.pong import parse_bot
from engine.games.pong.game import Pong, PongOptions
from engine.play.executors import SequentialMatchExecutor
from engine.play.march import Marching
from engine.play.match import AgentSpec, MatchResult, MatchSpec
from engine.seeding import derive
from tests.benchmarks import hunt, native, plain, reference, registered, rollout, shogi, zoo  # noqa: F401 - `registered` registers network players
from tests.benchmarks.measure import Figure, in_turns, ratio
from tests.benchmarks.players import SIX_NODES, network

LANES = (1, 16, 64, 1024)
GAME = Pong(PongOptions())


def figures(quick: bool) -> Iterator[Figure]:
    yield from boards_alone(quick)
    yield from zoo.figures(quick)
    lib = native.library()
    yield from whole_matches("network players", list(SIX_NODES.samples(GAME)), lib, quick)
    yield from whole_matches("scripted players", list(BOTS.samples(GAME)), lib, quick)
    yield from rollout.figures(quick)
    yield from plain.figures(quick)
    yield from hunt.figures(quick)
    yield from shogi.figures(quick)
    yield from compiling()


def boards_alone(quick: bool) -> Iterator[Figure]:
    """Steps of boards with random actions, and nothing else."""
    steps = 200_000 if quick else 2_000_000
    jobs = {}
    for lanes in (1, 64, 1024):
        boards = GAME.boards(lanes)
        every = np.arange(lanes, dtype=np.uint32)
        seeds = np.arange(lanes, dtype=np.uint64)
        plays = [np.random.default_rng(k).integers(0, 3, (lanes, 2)) for k in range(16)]

        def job(boards=boards, every=every, seeds=seeds, plays=plays, calls=steps // lanes) -> None:  # type: ignore[no-untyped-def]
            for call in range(calls):
                if call % 500 == 0:  # dealt again well before a match can end
                    boards.deal(every, seeds, [None] * len(every))
                boards.apply(every, plays[call & 15])

        job()
        jobs[f"{lanes} lanes"] = job
    taken = in_turns(jobs, 3 if quick else 7)
    for name in jobs:
        count = steps // int(name.split()[0]) * int(name.split()[0])
        speed = count / statistics.median(taken[name]) / 1e6
        yield Figure(f"Pong boards alone, {name}", speed, "million steps/s", ratio(taken, name, "1 lanes"), "1 lane")


def matches(agents: Sequence[AgentSpec], count: int) -> list[MatchSpec]:
    """Repeated double round robins until there are this many matches."""
    pairs = itertools.permutations(range(len(agents)), 2)
    return [
        MatchSpec(f"m{n}", GAME.spec, (agents[a], agents[b]), derive("bench", n))
        for n, (a, b) in enumerate(itertools.islice(itertools.cycle(pairs), count))
    ]


def whole_matches(what: str, agents: Sequence[AgentSpec], lib: ctypes.CDLL | None, quick: bool) -> Iterator[Figure]:
    """Time from spec to MatchResult, including dealing, playing, recording and statistics."""
    few, many = matches(agents, 30 if not quick else 6), matches(agents, 12_000 if not quick else 600)
    results: dict[str, list[MatchResult]] = {}

    def ours(lanes: int, specs: Sequence[MatchSpec], marching: Marching = Marching.AT_ONCE) -> None:
        with SequentialMatchExecutor(lanes, marching=marching) as executor:
            results[str(len(specs))] = executor.execute_matches(specs)

    ours(1024, few)
    players = {
        agent.id: parse_bot(agent.payload) if agent.kind == BOTS.name else network(int(agent.payload))
        for agent in agents
    }
    slow: list[object] = []

    def python() -> None:
        slow[:] = [reference.play(GAME.options, spec.seed, [players[p.id] for p in spec.players]) for spec in few]

    taken = in_turns({"python": python, "arena": lambda: ours(1024, few)}, 1)
    _check_equal("plain Python", results[str(len(few))], slow)
    few_steps = sum(result.steps for result in results[str(len(few))])
    python_rate = few_steps / taken["python"][0]

    jobs = {f"{lanes} lane{'s' * (lanes > 1)}": lambda lanes=lanes: ours(lanes, many) for lanes in LANES}
    jobs["1024 lanes by ticks"] = lambda: ours(1024, many, Marching.NEVER)
    if lib is not None:
        c = native.Native(lib, GAME.options, many)
        jobs["C"] = c.play
    taken = in_turns(jobs, 1 if quick else 3)
    if lib is not None:
        _check_equal("C", results[str(len(many))], [c.record(row) for row in range(len(many))])
    steps = sum(result.steps for result in results[str(len(many))])
    for name in jobs:
        rate = steps / statistics.median(taken[name])
        note = f"{rate / python_rate:,.0f} times plain Python"
        against = ratio(taken, name, "C") if lib is not None and name != "C" else None
        yield Figure(f"whole matches, {what}, {name}", rate / 1e6, "million steps/s", against, "C", note)
    yield Figure(f"whole matches, {what}, plain Python", python_rate / 1e6, "million steps/s")


def _check_equal(name: str, results: Sequence[MatchResult], other: Sequence[object]) -> None:
    for result, record in zip(results, other, strict=True):
        ours = (result.scores, result.steps, result.stats, result.actions)
        if ours != record:
            raise AssertionError(f"{name} plays match {result.id} differently: the figures would mean nothing")


def compiling() -> Iterator[Figure]:
    """Time until the first match in a new process, with an empty and with a full kernel cache."""
    with tempfile.TemporaryDirectory() as cache:
        times = []
        for _ in range(2):
            since = time.perf_counter()
            environment = {**os.environ, "RINGSIDE_CACHE": cache}
            command = [sys.executable, "-m", "league_app", "match", "pong", "Tracker", "Lazy", "--steps", "10"]
            subprocess.run(command, check=True, env=environment, capture_output=True)
            times.append(time.perf_counter() - since)
    yield Figure("first match of a process, nothing compiled yet", times[0], "s")
    yield Figure("first match of a process, compiled before", times[1], "s", times[0] / times[1], "nothing compiled")
