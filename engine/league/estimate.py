"""What a tournament would take and tell, before it is played: matches, time, and the width of its intervals."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import numpy as np

from engine import codec
from engine.league.schedule import Plan
from engine.league.ratings import errors_to_expect
from engine.league.records import content_hash
from engine.league.storage.league import League
from engine.play.concurrent import ConcurrentMatchExecutor
from engine.play.match import AgentSpec, EndingKind, GameSpec, MatchSpec
from engine.registry import is_person

SAMPLE, PATIENCE = 512, 2.0  # matches and seconds that finding out may take
FIRST = 60.0  # seconds for the first match of all
PAIRINGS = 1000  # beyond that the width is left out


@dataclass(frozen=True)
class Estimate:
    """A dry run. Times are for batches on workers; formats that depend on results show their first step only."""

    rounds: int
    pairings: int
    matches: int
    whole: bool  # nothing depends on results
    seconds: float
    rate: float  # matches a second, all workers together
    measured: bool  # just now, rather than in an earlier tournament
    seconds_shown: float | None  # one by one, at the pace for watching; None where nobody knows how long matches are
    width: tuple[float, float] | None  # smallest and largest half of a 95 % interval, in Elo
    with_people: int = 0  # matches in which a person sits: they are always shown, and not part of `seconds`


def rate_name(game: GameSpec) -> str:
    """Where a league keeps how many matches of this game a worker plays in a second."""
    return f"rate {content_hash(codec.dump(game).encode())}"


def estimate(league: League, plan: Plan, agents: Mapping[str, AgentSpec], workers: int) -> Estimate:
    """From how fast the game was played before; if it never was, from a short try that is not recorded."""
    known = league.setting(rate_name(plan.settings.game))
    people = {id for id, agent in agents.items() if is_person(agent)}
    rate, steps = (known * workers, None) if known else _try(plan, agents, people, workers)
    pairings = list(plan.pairings())
    shown = _shown(league, plan, steps)
    with_people = sum(seats(one.spec, people) for one in plan.matches(agents)) if people else 0
    return Estimate(
        plan.rounds,
        len(pairings),
        plan.length,
        not plan.adaptive,
        (plan.length - with_people) / rate if rate else 0.0,
        rate,
        not known,
        shown,
        _width(plan),
        with_people,
    )


def seats(spec: MatchSpec, agents: Collection[str]) -> bool:
    """Whether one of these agents plays in it."""
    return any(player.id in agents for player in spec.players)


def _try(
    plan: Plan, agents: Mapping[str, AgentSpec], people: Collection[str], workers: int
) -> tuple[float, float | None]:
    """Matches a second, and steps a match, of those that need nobody; 0 and None where there are none."""
    stride = max(plan.length // SAMPLE, 1)
    chosen = itertools.islice(itertools.islice(plan.matches(agents), 0, None, stride), SAMPLE)
    specs = [planned.spec for planned in chosen if not seats(planned.spec, people)]
    if not specs:
        return 0.0, None
    done, steps = 0, 0
    with ConcurrentMatchExecutor(workers) as executor:
        first = list(executor.run(specs[:1], _later(FIRST)))  # processes have to start, and kernels to be loaded
        since = time.monotonic()
        if not first:  # engines may think for minutes
            return 0.5 * workers / FIRST, None
        for result in executor.run(specs, _later(PATIENCE)):
            if result.ending.kind is not EndingKind.CANCELLED:
                done, steps = done + 1, steps + result.steps
        seconds = max(time.monotonic() - since, 1e-3)
    return max(done, 0.5) / seconds, steps / max(done, 1)


def _later(seconds: float) -> Callable[[], bool]:
    until = time.monotonic() + seconds
    return lambda: time.monotonic() > until


def _shown(league: League, plan: Plan, steps: float | None) -> float | None:
    if steps is None:
        sql = "SELECT avg(steps) FROM (SELECT m.steps FROM matches m JOIN tournaments t ON t.number = m.number >> 32"
        sql += " WHERE t.pool = ? ORDER BY m.number DESC LIMIT 500)"
        steps = league.file.read(sql, league.pool(plan.settings.game))[0][0]
    return None if steps is None else plan.length * steps / plan.game.info.pace


def _width(plan: Plan) -> tuple[float, float] | None:
    """From the plan alone, as if everybody were equally strong; strong differences make it wider."""
    if plan.game.info.seats != 2:
        return None
    groups = [group for _, group in plan.pairings()]
    places = {agent: place for place, agent in enumerate(dict.fromkeys(one for group in groups for one in group))}
    if len(places) > PAIRINGS:
        return None
    games = np.zeros((len(places), len(places)))
    for a, b in groups:
        games[places[a], places[b]] += plan.per_meeting
        games[places[b], places[a]] += plan.per_meeting
    errors = errors_to_expect(games)
    return float(errors.min()), float(errors.max())
