"""Estimates a tournament before it is played: matches, time, and the width of its rating intervals."""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from engine import codec
from engine.game import Floats
from engine.league.ratings import errors_to_expect, rate
from engine.league.records import content_hash
from engine.league.schedule import Schedule
from engine.league.standings import standings
from engine.league.storage.league import League
from engine.play.executors import DEFAULT, Executor, check_executor_name, new_executor
from engine.play.match import AgentSpec, EndingKind, GameSpec, MatchResult, MatchSpec
from engine.play.workers.compilation import compile_kernels
from engine.play.workers.warmup import must_compile
from engine.registry import is_person

SAMPLE, SAMPLE_SECONDS = 512, 2.0  # the most matches for a measurement, and its seconds
FIRST = 60.0  # the most seconds until the first match has ended
COMPILATION = 600.0  # the most seconds to compile kernels before that
WARM_UP_STEPS = 5
MOST_AGENTS = 1000  # with more the interval width is not computed


@dataclass(frozen=True)
class Estimate:
    """Times are for batches on workers; for formats that depend on results only the first step is counted."""

    rounds: int
    pairings: int
    matches: int
    whole: bool  # the format does not depend on results
    seconds: float | None  # None if it is unknown: no match of the test run ended in time
    rate: float  # matches a second, all workers together; 0 if it is unknown
    measured: bool  # by a test run just now, not in an earlier tournament
    seconds_shown: float | None  # in visual mode; None if the length of matches is unknown
    width: tuple[float, float] | None  # smallest and largest half-width of the 95 % intervals, in Elo
    judged_by: int = 0  # matches that show how strong the agents are; with 0, `width` is for equal ones
    with_people: int = 0  # matches with a person: always shown, and not part of `seconds`


def rate_name(game: GameSpec, on: str = DEFAULT) -> str:
    """The league setting that holds how many matches of this game a worker of this executor plays per second."""
    name = on.partition(":")[0]
    place = "" if name == DEFAULT else f" on {name}"
    return f"rate {content_hash(codec.dump(game).encode())}{place}"


def needs_measurement(league: League, game: GameSpec, on: str = DEFAULT) -> bool:
    """Whether an estimate plays a short test run, because the speed of this game is not recorded."""
    return not league.setting(rate_name(game, on))


def estimate(
    league: League,
    plan: Schedule,
    agents: Mapping[str, AgentSpec],
    workers: int,
    on: str = DEFAULT,
    played: list[MatchResult] | None = None,
) -> Estimate:
    """Estimates from the recorded speed of this game or, without one, from a short test run that is not recorded; its
    results are added to `played`, which may hold those of an earlier one. `on`: the executor."""
    workers = min(workers, check_executor_name(on)[0].most_workers)
    known = league.setting(rate_name(plan.settings.game, on))
    people = {id for id, agent in agents.items() if is_person(agent)}
    played = [] if played is None else played
    speed, steps = (known * workers, None) if known else _measure(plan, agents, people, workers, on, played)
    width, judged_by = _width(league, plan, played)
    pairings = list(plan.pairings())
    shown = _shown(league, plan, steps)
    with_people = sum(has_player(match.spec, people) for match in plan.matches(agents)) if people else 0
    headless = plan.length - with_people
    return Estimate(
        plan.rounds,
        len(pairings),
        plan.length,
        not plan.adaptive,
        headless / speed if speed else None if headless else 0.0,
        speed,
        not known,
        shown,
        width,
        judged_by,
        with_people,
    )


def has_player(spec: MatchSpec, agents: Collection[str]) -> bool:
    """Whether one of these agents plays in the match."""
    return any(player.id in agents for player in spec.players)


def _measure(
    plan: Schedule,
    agents: Mapping[str, AgentSpec],
    people: Collection[str],
    workers: int,
    on: str,
    played: list[MatchResult],
) -> tuple[float, float | None]:
    """Matches per second and steps per match, of matches without a person; 0 and None if there are none, or if none
    ended in time. The results are added to `played`."""
    stride = max(plan.length // SAMPLE, 1)
    chosen = itertools.islice(itertools.islice(plan.matches(agents), 0, None, stride), SAMPLE)
    specs = [planned.spec for planned in chosen if not has_player(planned.spec, people)]
    if not specs:
        return 0.0, None
    players, game = [player for spec in specs for player in spec.players], specs[0].game.name
    if must_compile(game, players, drivers=True) and not compile_kernels(game, players, COMPILATION):
        return 0.0, None
    done, steps = 0, 0
    with new_executor(on, workers=workers) as executor:
        if not _warm_up(executor, specs):  # such as engines that think for minutes
            return 0.0, None
        since = time.monotonic()

        def stopping() -> bool:
            return time.monotonic() - since > (SAMPLE_SECONDS if done else FIRST)

        for result in executor.run(specs, stopping):
            if result.ending.kind is not EndingKind.CANCELLED:
                done, steps = done + 1, steps + result.steps
                played.append(result)
        seconds = max(time.monotonic() - since, 1e-3)
    return (done / seconds, steps / done) if done else (0.0, None)


def _warm_up(executor: Executor, specs: Sequence[MatchSpec]) -> bool:
    """Plays a few steps with agents of every kind, so that processes have started and loaded kernels before anything is
    measured. Returns whether that ended in time."""
    seen, first = set[str](), list[MatchSpec]()
    for spec in specs:
        kinds = {player.kind for player in spec.players}
        if not kinds <= seen:
            steps = min(spec.limits.steps or WARM_UP_STEPS, WARM_UP_STEPS)
            first.append(dataclasses.replace(spec, limits=dataclasses.replace(spec.limits, steps=steps)))
            seen |= kinds
    until = time.monotonic() + FIRST
    return len(list(executor.run(first, lambda: time.monotonic() > until))) == len(first)


def _shown(league: League, plan: Schedule, steps: float | None) -> float | None:
    if steps is None:
        sql = "SELECT avg(steps) FROM (SELECT m.steps FROM matches m JOIN tournaments t ON t.number = m.number >> 32"
        sql += " WHERE t.pool = ? ORDER BY m.number DESC LIMIT 500)"
        steps = league.file.read(sql, league.pool(plan.settings.game))[0][0]
    return None if steps is None else plan.length * steps / plan.game.info.pace


def _width(league: League, plan: Schedule, played: Sequence[MatchResult]) -> tuple[tuple[float, float] | None, int]:
    """The intervals to expect if the agents are as strong as they were so far, and by how many matches that is judged;
    without any, if all are equally strong."""
    if plan.game.info.seats != 2:
        return None, 0
    groups = [group for _, group in plan.pairings()]
    places = {agent: place for place, agent in enumerate(dict.fromkeys(member for group in groups for member in group))}
    if len(places) > MOST_AGENTS:
        return None, 0
    games = np.zeros((len(places), len(places)))
    for a, b in groups:
        games[places[a], places[b]] += plan.per_meeting
        games[places[b], places[a]] += plan.per_meeting
    points = _points_so_far(league, plan.settings.game, places, played)
    judged_by = round(points.sum())
    elo = rate(list(places), points, points + points.T).elo if judged_by else np.zeros(len(places))
    errors = errors_to_expect(games, elo)
    return (float(errors.min()), float(errors.max())), judged_by


def _points_so_far(league: League, game: GameSpec, places: Mapping[str, int], played: Sequence[MatchResult]) -> Floats:
    """[i, j]: what i scored against j in the league and in the test run."""
    points: Floats = np.zeros((len(places), len(places)))
    for row in standings(league, game).rows if league.pool(game) is not None else ():
        for other, tally in row.against.items():
            if row.agent in places and other in places:
                points[places[row.agent], places[other]] += tally.points
    for result in (earlier for earlier in played if set(earlier.players) <= places.keys()):
        first, second = (places[player] for player in result.players)
        share = 0.5 if result.ranks[0] == result.ranks[1] else float(result.ranks[0] < result.ranks[1])
        points[first, second] += share
        points[second, first] += 1 - share
    np.fill_diagonal(points, 0.0)  # an agent against itself
    return points
