"""TournamentDraft: the values of the tournament form, their check, and an estimate of matches and time."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.errors import NotConfirmed, NotNow, RingsideError
from engine.league import standings
from engine.league.estimate import Estimate, estimate, needs_measurement, rate_name
from engine.league.records import Tournament, TournamentSettings, check_name
from engine.league.schedule import fingerprint
from engine.options import Value, option
from engine.play.executors import check_executor_name
from engine.play.match import SEED_LIMIT, Clock, GameSpec, Limits, MatchResult
from engine.play.workers.warmup import must_compile
from engine.registry import game_of, new_game
from league_app.core.formatting import about_duration, plural
from league_app.core.state import LeagueState
from league_app.core.validation import check_admitted, check_not_played, make_settings

MANY_AGENTS = 40  # from here on one round is the default


@dataclass(frozen=True)
class MatchTerms:
    """The fields of the form that apply to every pairing."""

    encounters: int = option(1, low=1, high=100_000, help="how often each pairing meets in a round")
    swap_sides: bool = option(True, help="play each encounter once per seat order, with the same seed")
    most_steps: int = option(0, low=0, high=2**31 - 1, help="end matches after this many steps; 0 for no limit")
    clock: float = option(0.0, low=0.0, high=1e6, help="seconds of real time for each player; 0 for no clock")
    increment: float = option(0.0, low=0.0, high=1e6, help="seconds added after each move")
    per_answer: float = option(0.0, low=0.0, high=1e6, help="seconds for each move once the clock has run out")
    openings: str = option("", help="openings to draw from, separated by ; (empty: the default start)")

    @property
    def limits(self) -> Limits:
        timed = self.clock or self.increment or self.per_answer
        clock = Clock(self.clock, self.increment, self.per_answer) if timed else None
        return Limits(self.most_steps or None, clock)

    @property
    def starts(self) -> tuple[str, ...]:
        return tuple(opening.strip() for opening in self.openings.split(";") if opening.strip())


@dataclass(frozen=True)
class TournamentDraft:
    """The settings of a new tournament; without a seed, the next unused one is chosen."""

    game: str
    rules: Mapping[str, Value]
    agents: tuple[str, ...]  # ids, in the order of entry
    format: str = "round-robin"
    options: Mapping[str, Value] = field(default_factory=dict)
    terms: MatchTerms = MatchTerms()
    seed: int | None = None
    name: str | None = None
    workers: int = 1
    executor: str = ""  # empty for that of the league

    @property
    def spec(self) -> GameSpec:
        return new_game(self.game, **self.rules).spec

    def settings(self, seed: int) -> TournamentSettings:
        terms = self.terms
        more: dict[str, Any] = {"games": terms.encounters, "swap": terms.swap_sides, "starts": terms.starts}
        return make_settings(self.spec, self.format, self.options, seed=seed, limits=terms.limits, **more)


@dataclass(frozen=True)
class DraftCheck:
    """What is known about a draft without playing: its size and errors."""

    agents: int
    matches: int
    whole: bool  # the format does not depend on results
    seed: int  # that it would get
    name: str  # the default name
    free_seed: int  # the next unused seed
    error: str = ""  # why it cannot be played
    field: str = ""  # that the error is about: seed, name, agents, ...
    engine: str = ""  # id of an engine that the user must confirm first
    compiles: bool = dataclasses.field(default=False, compare=False)  # kernels, before the time can be estimated

    @property
    def sentence(self) -> str:
        first = "" if self.whole else " in its first step"
        return f"{plural(self.agents, 'agent')}, {plural(self.matches, 'match')}{first}"


@dataclass(frozen=True)
class DraftEstimate:
    """A checked draft and its estimate, which is None if it cannot be measured now."""

    check: DraftCheck
    estimate: Estimate | None
    workers: int

    @property
    def sentence(self) -> str:
        if self.estimate is None:
            return self.check.sentence
        people, shown, seconds = self.estimate.with_people, self.estimate.seconds_shown, self.estimate.seconds
        if people == self.estimate.matches:
            return f"{self.check.sentence}: the duration depends on the human player"
        headless = f"{about_duration(seconds)} headless" if seconds is not None else "unknown duration"
        if people:
            return f"{self.check.sentence}: {headless}, plus {plural(people, 'match')} with human players"
        visual = f", {about_duration(shown)} visual" if shown is not None else ""
        return f"{self.check.sentence}: {headless}{visual}"

    @property
    def caption(self) -> str:
        if self.estimate is None:
            return "The duration is estimated when no tournament is running."
        width, parts = self.estimate.width, list[str]()
        if width is not None:
            low, high = (f"±{error:.0f}" for error in width)
            wide = low if low == high else f"{low} to {high}"
            judged_by = self.estimate.judged_by
            judged = f", judging by {plural(judged_by, 'match')}" if judged_by else " if the agents are equally strong"
            parts.append(f"Expect rating intervals of {wide} Elo{judged}.")
        source = "measured just now" if self.estimate.measured else "measured in earlier matches"
        if self.estimate.seconds is None:
            parts.append("No match ended in a test run.")
        elif self.estimate.with_people < self.estimate.matches:
            parts.append(f"{self.estimate.rate:,.0f} matches per second on {plural(self.workers, 'worker')}, {source}.")
        return " ".join(parts)


class DraftEstimator:
    """Checks and estimates drafts; it caches measurements, so that each game is measured once."""

    def __init__(self) -> None:
        self._steps: dict[GameSpec, float] = {}  # per match, as measured
        self._played: dict[GameSpec, list[MatchResult]] = {}  # for the measurements

    def check(self, state: LeagueState, draft: TournamentDraft) -> DraftCheck:
        """Counts the matches of a draft and finds errors, without playing any."""
        before = state.league.tournaments()
        result = DraftCheck(len(draft.agents), 0, True, 0, "", 0)
        try:
            if draft.name is not None:
                check_name("name", draft.name)
            spec = draft.spec
            info = game_of(spec).info
            result = dataclasses.replace(
                result, name=f"{info.title} {draft.format.replace('-', ' ')} {len(before) + 1}"
            )
            if len(draft.agents) < info.seats:
                chosen = plural(len(draft.agents), "agent")
                return dataclasses.replace(result, error=f"{chosen} chosen: {info.title} needs at least {info.seats}")
            free = free_seed(draft, before)
            seed = free if draft.seed is None else draft.seed
            result = dataclasses.replace(result, seed=seed, free_seed=free)
            plan = state.league.plan(draft.settings(seed), draft.agents)
            result = dataclasses.replace(result, matches=plan.length, whole=not plan.adaptive)
            if draft.seed is not None:
                check_not_played(plan.settings, draft.agents, before)
            players, on = list(map(state.league.spec, draft.agents)), draft.executor or state.executor
            check_admitted(state.league, players)
            check_executor_name(on)
            measures = needs_measurement(state.league, spec, on)
            compiles = measures and must_compile(spec.name, players, drivers=True)
            result = dataclasses.replace(result, compiles=compiles)
        except NotConfirmed as error:
            return dataclasses.replace(result, error=str(error), engine=error.agent)
        except RingsideError as error:
            return dataclasses.replace(result, error=str(error), field=error.field)
        return result

    def estimate(self, state: LeagueState, draft: TournamentDraft) -> DraftEstimate:
        """Also estimates the time; a game without matches is measured for two seconds, unless a tournament runs."""
        check = self.check(state, draft)
        if check.error:
            return DraftEstimate(check, None, draft.workers)
        league, plan = state.league, state.league.plan(draft.settings(check.seed), draft.agents)
        game = plan.settings.game
        on = draft.executor or state.executor
        if needs_measurement(league, game, on) and state.running:
            return DraftEstimate(check, None, draft.workers)
        workers = min(draft.workers, check_executor_name(on)[0].most_workers)
        played = self._played.setdefault(game, [])
        found = estimate(league, plan, {id: league.spec(id) for id in draft.agents}, workers, on, played)
        pace = plan.game.info.pace
        if found.measured:
            if found.seconds_shown is not None and plan.length:
                self._steps[game] = found.seconds_shown * pace / plan.length
            if found.rate and not league.read_only:
                league.save_setting(rate_name(game, on), found.rate / workers)
        elif found.seconds_shown is None and game in self._steps:
            found = dataclasses.replace(found, seconds_shown=plan.length * self._steps[game] / pace)
        return DraftEstimate(check, found, workers)


def free_seed(draft: TournamentDraft, before: Sequence[Tournament]) -> int:
    """The next seed with which the tournament was not played yet."""
    taken = {fingerprint(tournament.settings, tournament.lineups[0].entrants) for tournament in before}
    free = len(before) + 1
    while fingerprint(draft.settings(free), draft.agents) in taken:
        free = (free + 1) % SEED_LIMIT
    return free


def create_tournament(state: LeagueState, draft: TournamentDraft, play: bool) -> int:
    """Creates the tournament, starts it if `play` is set, and returns its number. An error creates nothing."""
    if state.league.read_only:
        raise NotNow(f"{state.league.path.name} was opened read-only: no tournament can be played in it")
    if play and state.job is not None:
        raise NotNow(f"{state.job.name!r} is running: stop it first")
    seed = free_seed(draft, state.league.tournaments()) if draft.seed is None else draft.seed
    settings = draft.settings(seed)
    chosen: dict[str, Any] = {
        "game": settings.game,
        "agents": [  # not by id: names take precedence over ids
            state.league.by_id(agent).name for agent in draft.agents
        ],
        "format": draft.format,
        "options": dict(draft.options),
        "seed": seed,
        "games": settings.games,
        "swap": settings.swap,
        "starts": settings.starts,
        "limits": settings.limits,
    }
    if play and draft.executor and draft.executor != state.executor:
        state.use_executor(draft.executor)  # first: it is refused during an exhibition
    number = state.plan_tournament(draft.name, **chosen).number
    if play:
        if draft.workers != state.budget.cores:
            state.budget.cores = draft.workers
        state.start_tournament(number)
    return number


def ratings(state: LeagueState, draft: TournamentDraft) -> dict[str, tuple[float, float]]:
    """Rating and half-width of its interval, by id, of agents with games under these rules."""
    try:
        table = standings.standings(state.league, draft.spec)
    except RingsideError:  # invalid rules
        return {}
    return {row.agent: (row.rating, row.error) for row in table.rows if row.total.played}


def form_values(draft: TournamentDraft, before: Mapping[str, Any], all_agents: bool) -> dict[str, Any]:
    """The initial values of the next form for this game; options are kept separately for each format."""
    formats = before.get("options")
    return {
        **before,
        "rules": dict(draft.rules),
        "format": draft.format,
        "options": {**(formats if isinstance(formats, dict) else {}), draft.format: dict(draft.options)},
        "terms": dataclasses.asdict(draft.terms),
        "agents": None if all_agents else list(draft.agents),
    }
