"""Treasure Hunt: turns per second compared with plain Python, and a whole tournament of greedy bots."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

import numpy as np

from agents.scripted.treasure_hunt import Bot, agent
from engine.game import Views
from engine.games.treasure_hunt.game import TreasureHunt, TreasureHuntOptions
from engine.league.records import Lineup, TournamentSettings
from engine.league.schedule import Schedule
from engine.play.executors import SequentialMatchExecutor
from engine.play.march import Marching
from engine.play.match import MatchResult, MatchSpec
from engine.registry import kind_of
from engine.seeding import derive
from tests.benchmarks import plain_hunt
from tests.benchmarks.measure import Figure, in_turns, ratio

GAME = TreasureHunt(TreasureHuntOptions(seats=5))
ANYONE = agent("Anyone", Bot("random", hold=1))
LANES = 256


def figures(quick: bool) -> Iterator[Figure]:
    yield from random_players(quick)
    yield from greedy_tournament(quick)


def random_players(quick: bool) -> Iterator[Figure]:
    """Five random players with full observations. Boards alone show the speed of the kernel; whole matches include
    dealing, recording and ranking."""
    turns, matches = GAME.options.turns, 200 if quick else 4000
    specs = [MatchSpec(str(n), GAME.spec, (ANYONE,) * 5, derive("bench", n)) for n in range(matches)]
    few = 1 if quick else 4
    results: list[MatchResult] = []
    plain: list[object] = []

    def ours() -> None:
        results[:] = whole(specs)

    def python() -> None:
        plain[:] = [plain_hunt.play(GAME.options, spec.seed) for spec in specs[:few]]

    jobs = {"plain Python": python, "whole matches": ours, "boards and players alone": alone(matches * turns)}
    whole(specs[:few])
    jobs["boards and players alone"]()  # compiles
    taken = in_turns(jobs, 1 if quick else 5)
    for result, record in zip(results[:few], plain, strict=True):
        if (result.scores, result.steps, result.stats, result.actions) != record:
            raise AssertionError(f"plain Python plays match {result.id} differently: the figures would mean nothing")
    slow = few * turns / statistics.median(taken["plain Python"])
    for name in ("boards and players alone", "whole matches"):
        rate = matches * turns / statistics.median(taken[name])
        note = f"{rate / slow:,.0f} times plain Python"
        against = ratio(taken, name, "boards and players alone") if name == "whole matches" else None
        yield Figure(
            f"Treasure Hunt, five random players, {name}", rate / 1e6, "million turns/s", against, "alone", note
        )
    yield Figure("Treasure Hunt, five random players, plain Python", slow / 1e6, "million turns/s")


def whole(specs: Sequence[MatchSpec], marching: Marching = Marching.AT_ONCE) -> list[MatchResult]:
    with SequentialMatchExecutor(LANES, marching=marching) as executor:
        return executor.execute_matches(specs)


def alone(turns: int):  # type: ignore[no-untyped-def]
    """A loop of observe, act and step: no dealing of single lanes, no records."""
    boards, pilot = GAME.boards(LANES), kind_of(ANYONE).pilot(GAME, 5 * LANES)
    lanes, slots = np.arange(LANES, dtype=np.uint32), np.arange(5 * LANES, dtype=np.uint32)
    agents = np.full(5 * LANES, pilot.load(ANYONE), np.uint32)
    pilot.begin(slots, agents, slots.astype(np.uint64))
    rows = np.stack([slots, slots // np.uint32(5), slots % np.uint32(5), agents, np.zeros_like(slots)])
    out = np.zeros((5 * LANES, *GAME.info.observation), np.float32)

    def job() -> None:
        for call in range(turns // LANES):
            if call % GAME.options.turns == 0:
                boards.deal(lanes, lanes.astype(np.uint64), [None] * LANES)
            rows[4] = call % GAME.options.turns
            actions = pilot.act(Views(boards, rows, out, None))
            boards.apply(lanes, actions.reshape(LANES, 5))

    return job


def greedy_tournament(quick: bool) -> Iterator[Figure]:
    """A round robin of six greedy hunters and hunters with a memory at five seats, from plan to results."""
    bots = {f"{style} {hold}": Bot(style, hold=hold) for style in ("greedy", "memory") for hold in (2, 6, 18)}
    agents = {name: agent(name, bot) for name, bot in bots.items()}
    plan = Schedule(
        TournamentSettings(GAME.spec, options=(("rounds", 2 if quick else 40),), seed=3), [Lineup(1, 0, tuple(agents))]
    )
    plan.extend(lambda *_: ())
    specs = [planned.spec for planned in plan.matches(agents)]
    random = [MatchSpec(spec.id, spec.game, (ANYONE,) * 5, spec.seed) for spec in specs]
    jobs = {
        "march": lambda: whole(specs),
        "ticks": lambda: whole(specs, Marching.NEVER),
        "random": lambda: whole(random),
    }
    for job in jobs.values():
        job()  # compiles
    taken = in_turns(jobs, 1 if quick else 5)
    what = f"Treasure Hunt, a tournament of {len(specs):,} matches of greedy bots"
    for name, title, against in (("march", what, "random"), ("ticks", f"{what}, by ticks", "march")):
        rate = len(specs) / statistics.median(taken[name])
        note = f"{rate * GAME.options.turns / 1e6:.2f} million turns/s"
        other = "random players" if against == "random" else "the march"
        yield Figure(title, rate, "matches/s", ratio(taken, name, against), other, note)
