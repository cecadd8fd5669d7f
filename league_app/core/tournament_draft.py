"""A tournament on the drawing board: what a person has chosen so far, what it would take, and what is wrong with it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.errors import NotConfirmed, NotNow, RingsideError
from engine.league import standings as tables
from engine.league.estimate import Estimate, estimate, rate_name
from engine.league.schedule import Plan, fingerprint
from engine.league.records import Lineup, Settings, check_name
from engine.options import Value, option
from engine.play.match import SEED_LIMIT, Clock, GameSpec, Limits
from engine.registry import game_of, new_game
from league_app.core.state import LeagueState
from league_app.core.validation import check_admitted, make_settings
from league_app.core.formatting import lasting, many

MANY_AGENTS = 40  # from here on one round is plenty to begin with


@dataclass(frozen=True)
class Terms:
    """What is agreed for every meeting, as a form asks for it."""

    games_per_meeting: int = option(1, low=1, high=100_000, help="encounters each time they meet")
    swap_sides: bool = option(True, help="play each encounter from every seat, with the same seed")
    most_steps: int = option(0, low=0, high=2**31 - 1, help="end matches after so many; 0 for the game's own rules")
    clock: float = option(0.0, low=0.0, high=1e6, help="seconds of real time that each player has; 0 for no clock")
    increment: float = option(0.0, low=0.0, high=1e6, help="seconds that are added after each answer")
    per_answer: float = option(0.0, low=0.0, high=1e6, help="seconds for each answer once the clock is used up")
    openings: str = option("", help="starts to draw from, with ; between them; nothing for the usual one")

    @property
    def limits(self) -> Limits:
        timed = self.clock or self.increment or self.per_answer
        clock = Clock(self.clock, self.increment, self.per_answer) if timed else None
        return Limits(self.most_steps or None, clock)

    @property
    def starts(self) -> tuple[str, ...]:
        return tuple(one.strip() for one in self.openings.split(";") if one.strip())


@dataclass(frozen=True)
class Draft:
    """Everything that a tournament is made of; without a seed the next free one is taken."""

    game: str
    rules: Mapping[str, Value]
    agents: tuple[str, ...]  # ids, in the order in which they are entered
    format: str = "round-robin"
    options: Mapping[str, Value] = field(default_factory=dict)
    terms: Terms = Terms()
    seed: int | None = None
    name: str | None = None
    workers: int = 1

    @property
    def spec(self) -> GameSpec:
        return new_game(self.game, **self.rules).spec

    def settings(self, seed: int) -> Settings:
        terms = self.terms
        more: dict[str, Any] = {"games": terms.games_per_meeting, "swap": terms.swap_sides, "starts": terms.starts}
        return make_settings(self.spec, self.format, self.options, seed=seed, limits=terms.limits, **more)


@dataclass(frozen=True)
class Count:
    """What can be told at once."""

    agents: int
    matches: int
    whole: bool  # nothing depends on results
    seed: int  # that it would have
    name: str  # that it would have, if it is given none
    free: int  # the next seed that makes it another tournament
    wrong: str = ""  # why it cannot be played
    field: str = ""  # what that is about: seed, name, agents, ...
    engine: str = ""  # the id of the one that a person has to confirm first

    @property
    def sentence(self) -> str:
        first = "" if self.whole else " in its first step"
        return f"{many(self.agents, 'agent')}, {many(self.matches, 'match')}{first}"


@dataclass(frozen=True)
class Weighed:
    """A draft and what it would take; `told` is None where that cannot be found out now."""

    count: Count
    told: Estimate | None
    workers: int

    @property
    def sentence(self) -> str:
        if self.told is None:
            return self.count.sentence
        people, shown = self.told.with_people, self.told.seconds_shown
        if people == self.told.matches:
            return f"{self.count.sentence}: as long as whoever plays at this keyboard takes"
        if people:
            rest = f"about {lasting(self.told.seconds)} headless, and {many(people, 'match')} as long as a person takes"
            return f"{self.count.sentence}: {rest}"
        visual = f", about {lasting(shown)} visual" if shown is not None else ""
        return f"{self.count.sentence}: about {lasting(self.told.seconds)} headless{visual}"

    @property
    def caption(self) -> str:
        if self.told is None:
            return "How long that takes is found out when nothing else is played."
        width, parts = self.told.width, list[str]()
        if width is not None:
            low, high = (f"±{one:.0f}" for one in width)
            wide = low if low == high else f"{low} to {high}"
            parts.append(f"Expect intervals of {wide} Elo among equals, wider where one wins nearly all.")
        source = "tried just now" if self.told.measured else "as played before"
        if self.told.with_people < self.told.matches:
            parts.append(f"{self.told.rate:,.0f} matches a second on {many(self.workers, 'worker')}, {source}.")
        return " ".join(parts)


class Drawing:
    """Weighs drafts of one league; it remembers what was tried, so that no edit is waited for twice."""

    def __init__(self) -> None:
        self._steps: dict[GameSpec, float] = {}  # of a match, as it was tried

    def count(self, state: LeagueState, draft: Draft) -> Count:
        """How many matches, and what is wrong, without playing any."""
        before = state.league.tournaments()
        made = Count(len(draft.agents), 0, True, 0, "", 0)
        try:
            if draft.name is not None:
                check_name("name", draft.name)
            spec = draft.spec
            info = game_of(spec).info
            made = dataclasses.replace(made, name=f"{info.title} {draft.format.replace('-', ' ')} {len(before) + 1}")
            if len(draft.agents) < info.seats:
                chosen = many(len(draft.agents), "agent")
                return dataclasses.replace(made, wrong=f"{chosen} chosen: {info.title} needs at least {info.seats}")
            taken = {fingerprint(one.settings, one.lineups[0].entrants) for one in before}
            free = len(before) + 1
            while fingerprint(draft.settings(free), draft.agents) in taken:
                free = (free + 1) % SEED_LIMIT
            seed = free if draft.seed is None else draft.seed
            made = dataclasses.replace(made, seed=seed, free=free)
            plan = self._plan(state, draft, seed)
            made = dataclasses.replace(made, matches=plan.length, whole=not plan.adaptive)
            if draft.seed is not None:
                state.check_new(plan.settings, draft.agents, before)
            check_admitted(state.league, map(state.league.spec, draft.agents))
        except NotConfirmed as error:
            return dataclasses.replace(made, wrong=str(error), engine=error.agent)
        except RingsideError as error:
            return dataclasses.replace(made, wrong=str(error), field=str(error).partition(" = ")[0])
        return made

    def weigh(self, state: LeagueState, draft: Draft) -> Weighed:
        """Also how long it takes; a game that was never played is tried for two seconds, unless something runs."""
        count = self.count(state, draft)
        if count.wrong:
            return Weighed(count, None, draft.workers)
        league, plan = state.league, self._plan(state, draft, count.seed)
        game = plan.settings.game
        if league.setting(rate_name(game)) is None and state.running:
            return Weighed(count, None, draft.workers)
        told = estimate(league, plan, {id: league.spec(id) for id in draft.agents}, draft.workers)
        pace = plan.game.info.pace
        if told.measured:
            if told.seconds_shown is not None and plan.length:
                self._steps[game] = told.seconds_shown * pace / plan.length
            if not league.read_only:
                league.remember(rate_name(game), told.rate / draft.workers)
        elif told.seconds_shown is None and game in self._steps:
            told = dataclasses.replace(told, seconds_shown=plan.length * self._steps[game] / pace)
        return Weighed(count, told, draft.workers)

    def _plan(self, state: LeagueState, draft: Draft, seed: int) -> Plan:
        settings = draft.settings(seed)
        plan = Plan(settings, [Lineup(1, 0, draft.agents)])
        state.league.check_agents(draft.agents, settings.game)
        plan.extend(lambda *_: ())
        return plan


def enter(state: LeagueState, draft: Draft, drawing: Drawing, play: bool) -> int:
    """Draw it up, and have it played if that is asked for; its number. Nothing is changed if something is wrong."""
    if state.league.read_only:
        raise NotNow(f"{state.league.path.name} was opened read-only: nothing can be played in it")
    if play and state.job is not None:
        raise NotNow(f"{state.job.name!r} is being played: pause it or stop it first")
    seed = drawing.count(state, draft).seed if draft.seed is None else draft.seed
    settings = draft.settings(seed)
    chosen: dict[str, Any] = {
        "game": settings.game,
        "agents": [state.league.by_id(one).name for one in draft.agents],  # a name goes before an id, so never by id
        "format": draft.format,
        "options": dict(draft.options),
        "seed": seed,
        "games": settings.games,
        "swap": settings.swap,
        "starts": settings.starts,
        "limits": settings.limits,
    }
    number = state.plan_tournament(draft.name, **chosen).number
    if play:
        if draft.workers != state.budget.cores:
            state.budget.cores = draft.workers
        state.start_tournament(number)
    return number


def ratings(state: LeagueState, draft: Draft) -> dict[str, tuple[float, float]]:
    """Rating and half of its interval, by id, of those who have played under these rules."""
    try:
        table = tables.standings(state.league, draft.spec)
    except RingsideError:  # such rules cannot be
        return {}
    return {row.agent: (row.rating, row.error) for row in table.rows if row.total.played}


def kept_of(draft: Draft, before: Mapping[str, Any], everybody: bool) -> dict[str, Any]:
    """What the next sheet for this game begins with; options are kept for each format by itself."""
    formats = before.get("options")
    return {
        **before,
        "rules": dict(draft.rules),
        "format": draft.format,
        "options": {**(formats if isinstance(formats, dict) else {}), draft.format: dict(draft.options)},
        "terms": dataclasses.asdict(draft.terms),
        "agents": None if everybody else list(draft.agents),
    }
