"""Tournaments of a league: drawing them up, playing them, resuming them, and their tables."""

from __future__ import annotations

import argparse
import dataclasses
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

from engine.errors import BadValue
from engine.league import standings as tables
from engine.league.estimate import Estimate, estimate
from engine.league.schedule import Plan
from engine.league.records import Lineup, State, Tournament, check_name
from engine.league.storage.league import League
from engine.play.concurrent import MOST_WORKERS, default_workers
from engine.play.match import Clock, Limits
from engine.registry import FORMATS, new_game
from league_app.cli.common import check_whole, command, log, looking, pairs_of, seeded, topic
from league_app.core.tournament_job import TournamentJob
from league_app.core.state import LeagueState
from league_app.cli.output import (Answer, lasting, line, many, progress, say, show_failures, show_standings, show_tournaments)
from league_app.core.validation import make_settings

SHOWN = 30  # pairings of a dry run
SAME = "the same however it is run"


def add(commands: Any) -> None:
    under = topic(commands, "tournament", "plan, run, resume, list and show tournaments of a league")
    drawn_up(
        command(
            under,
            "plan",
            "a dry run: pairings, matches, time, and the intervals to expect; nothing is kept",
            plan,
            [
                "tournament plan my.league --rounds 10",
                "tournament plan my.league --format gauntlet --agents New Tracker Lazy",
            ],
        )
    )
    drawn_up(
        command(
            under,
            "run",
            "draw a tournament up and play it; Ctrl-C finishes what is being played, twice stops now",
            run,
            [
                "tournament run my.league --rounds 100",
                "tournament run my.league --agents Tracker Shaky --clock move=0.1",
            ],
        )
    )
    one = command(
        under,
        "resume",
        "play what is missing",
        resume,
        ["tournament resume my.league", "tournament resume my.league 3"],
    )
    which(one)
    one.add_argument("--workers", type=int, help="worker processes")
    one.add_argument("--lift", action="store_true", help="play again what was quarantined or void")
    log(one)
    which(
        one := command(
            under,
            "enter",
            "let agents join or leave with the next round",
            enter,
            ["tournament enter my.league 3 --join New --leave Old"],
        )
    )
    one.add_argument("--join", nargs="+", default=[], metavar="AGENT")
    one.add_argument("--leave", nargs="+", default=[], metavar="AGENT")
    which(command(under, "cancel", "give one up for good; its matches stay", cancel, ["tournament cancel my.league 3"]))
    which(
        command(under, "show", "how one stands: table, forfeits, digest", show, ["tournament show my.league 3 --json"])
    )
    one = command(under, "list", "all of a league", listing, ["tournament list my.league"])
    one.add_argument("league")


def which(one: argparse.ArgumentParser) -> None:
    one.add_argument("league")
    one.add_argument("tournament", nargs="?", help="by number or name (the latest)")


def drawn_up(one: argparse.ArgumentParser) -> None:
    """What a tournament is made of."""
    one.add_argument("league")
    one.add_argument("--name")
    one.add_argument("--game", help="if the league has agents for several")
    one.add_argument("--agents", nargs="+", metavar="AGENT", help="who takes part (everybody who plays the game)")
    one.add_argument("--format", default="round-robin", help=f"{', '.join(FORMATS.names())} (round-robin)")
    one.add_argument("--rounds", type=int, help="how often everybody meets: 1 single, 2 double, ... (1)")
    one.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="another option of the format")
    one.add_argument("--games", type=int, default=1, help="encounters each time they meet (1)")
    one.add_argument("--no-swap", action="store_true", help="one game an encounter, rather than one from every seat")
    one.add_argument("--seed", type=int, help="another seed, other matches (the number of the tournament)")
    one.add_argument("--start", action="append", default=[], help="an opening; several are drawn from")
    one.add_argument("--steps", type=int, help="end matches after so many steps")
    one.add_argument("--clock", metavar="base=S,increment=S,move=S", help="real time for each player, in seconds")
    one.add_argument("--option", "-o", action="append", default=[], metavar="NAME=VALUE", help="an option of the game")
    one.add_argument("--workers", type=int, help=f"worker processes (one less than cores: {default_workers()})")
    log(one)


# Drawing up and playing


def arguments(options: argparse.Namespace, state: LeagueState) -> dict[str, Any]:
    """What `plan_tournament` needs, from what was typed."""
    if options.workers is not None:
        check_whole("--workers", options.workers, 1, MOST_WORKERS)
    if options.name is not None:
        check_name("name", options.name)
    agents = [state.league.agent(name, options.game) for name in options.agents] if options.agents else None
    game: Any = options.game or (agents[0].game if agents else None)
    if options.option:
        game = new_game(game or state.game_of().name, pairs_of(options.option, "--option")).spec
    chosen = pairs_of(options.set, "--set")
    if options.rounds is not None:
        chosen["rounds"] = str(options.rounds)
    return {
        "game": game,
        "agents": [agent.name for agent in agents] if agents else None,
        "format": options.format,
        "options": chosen,
        **seeded(options),
        "games": options.games,
        "swap": not options.no_swap,
        "starts": tuple(options.start),
        "limits": Limits(options.steps, clock_of(options.clock)),
    }


def clock_of(text: str | None) -> Clock | None:
    if text is None:
        return None
    times = pairs_of(text.split(","), "--clock")
    try:
        return Clock(**{name: float(value) for name, value in times.items()})
    except (TypeError, ValueError):
        raise BadValue("--clock", text, "base, increment and move with seconds, such as base=60,increment=1") from None


def plan(options: argparse.Namespace) -> Answer:
    with LeagueState(options.league, read_only=True) as state:
        given = arguments(options, state)
        game, agents, format = state.game_of(given.pop("game")), given.pop("agents"), given.pop("format")
        chosen = state.agents(game.name) if agents is None else [state.league.agent(one, game.name) for one in agents]
        entrants = [one.id for one in chosen]
        settings = make_settings(game, format, given.pop("options"), **given)
        state.league.check_agents(entrants, game)
        drawn = Plan(settings, [Lineup(1, 0, tuple(entrants))])
        drawn.extend(lambda *_: ())
        told = estimate(
            state.league, drawn, {id: state.league.spec(id) for id in entrants}, options.workers or state.budget.cores
        )
        names = state.league.names()
    groups = [(number, [names[one] for one in group]) for number, group in drawn.pairings()]

    def show() -> None:
        for number, group in groups[:SHOWN]:
            line(f"round {number + 1}: {' - '.join(group)}")
        if len(groups) > SHOWN:
            line(f"... and {len(groups) - SHOWN:,} more pairings", "dim")
        line(in_words(told, len(entrants), options.workers or default_workers()))

    return Answer({"settings": settings, "estimate": told, "pairings": groups}, show)


def in_words(told: Estimate, agents: int, workers: int) -> str:
    """The dry run in a sentence or two."""
    shown = f", about {lasting(told.seconds_shown)} visual" if told.seconds_shown is not None else ""
    first = "" if told.whole else " in its first step"
    text = f"{many(agents, 'agent')}, {many(told.matches, 'match')}{first}: "
    text += f"about {lasting(told.seconds)} headless on {many(workers, 'worker')}{shown}"
    if told.width is not None:
        low, high = told.width
        wide = f"±{low:.0f}" if round(low) == round(high) else f"±{low:.0f} to ±{high:.0f}"
        text += f". Expect intervals of {wide} Elo among equals, wider where one wins nearly all"
    source = "tried just now" if told.measured else "as in earlier tournaments"
    text += f" ({told.rate:,.0f} matches a second, {source})." if told.rate else "."
    return f"{text} A person plays in {many(told.with_people, 'match')}, always shown." if told.with_people else text


def run(options: argparse.Namespace) -> Answer:
    with LeagueState(options.league) as state:
        given = arguments(options, state)
        if options.workers is not None:
            state.budget.cores = options.workers
        made = state.plan_tournament(options.name, play=True, **given)
        if not options.json:
            first = " in its first step" if FORMATS.get(made.settings.format).adaptive else ""
            agents, matches = many(len(made.entrants), "agent"), many(made.total or 0, "match")
            line(f"{made.number}: {made.name}, {agents}, {matches}{first}")
        signals = play(state.start_tournament(made.number), options.json)
        return finish(state.league, made.number, signals, options.league)


def resume(options: argparse.Namespace) -> Answer:
    with LeagueState(options.league) as state:
        if options.workers is not None:
            check_whole("--workers", options.workers, 1, MOST_WORKERS)
            state.budget.cores = options.workers
        if options.lift and options.tournament is None and not state.unfinished():
            options.tournament = find(state.league, None).number
        job = state.resume_tournament(options.tournament, options.lift)
        if not options.json:
            now = job.progress()
            line(f"{job.number}: {job.name}, {now.played:,} of {many(now.total, 'match')} are there")
        signals = play(job, options.json)
        return finish(state.league, job.number, signals, options.league)


def play(job: TournamentJob, quiet: bool) -> list[int]:
    """Until it is over; the signals that came: the first finishes what is being played, the second stops now."""
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        """No more than that: it may interrupt anything, even what the one before it has begun."""
        came.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with progress(quiet) as bar:
            task, waiting, heeded = bar.add_task("playing", total=None), "", 0
            while job.wait(0.1) is None:
                if len(came) > heeded:
                    heeded = len(came)
                    job.stop() if heeded > 1 else job.finish()
                now = job.progress()
                if now.text.startswith("waiting:") and waiting != now.text:
                    say(now.text)  # a pipe shows no progress, and this must not pass unnoticed
                waiting = now.text
                text = "finishing, Ctrl-C again stops at once" if came else now.text
                bar.update(task, description=text, total=now.total, completed=now.played)
            now = job.progress()
            bar.update(task, description="played", total=now.total, completed=now.played)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return came


def finish(league: League, number: int, signals: Sequence[int], kept: str | None) -> Answer:
    """The table of a tournament as it stands, and what there is to say about it."""
    told = summary(league, league.tournament(number))
    ended: Tournament = told["tournament"]
    status = 0 if ended.state is State.FINISHED else 128 + signals[0] if signals else 3

    def show() -> None:
        show_summary(told)
        if ended.state is not State.FINISHED:
            what = f"stopped: this is the table of the {ended.played:,} matches of {ended.total:,} that were played"
            where = f"; `ringside tournament resume {kept}` plays the rest" if kept else ""
            sys.stdout.flush()
            say((what if ended.played else "stopped before anything was played") + where)
        elif kept:
            line(f"kept in {kept} as tournament {number}", "dim")

    return Answer(told, show, status)


def summary(league: League, one: Tournament) -> dict[str, Any]:
    fingerprint, odd = tables.digest(league, one.number)
    return {
        "tournament": one,
        "standings": tables.standings(league, one.settings.game, one.number),
        "digest": fingerprint,
        "not_repeatable": odd,
        "identical_games": tables.identical_games(league, one.number),
        "overload": tables.overload(league, one),
        "failures": tables.failures(league, one.number),
    }


def show_summary(told: dict[str, Any]) -> None:
    one: Tournament = told["tournament"]
    if one.played:
        show_standings(told["standings"])
    show_failures(dataclasses.astuple(failure) for failure in told["failures"])
    for sentence in (told["overload"], one.note):
        if sentence:
            line(sentence, "yellow")
    if told["identical_games"]:
        line(f"{told['identical_games']:,} games went exactly as an earlier one of the same two: they say nothing new")
    odd = told["not_repeatable"]
    same = f"not to be had again: {odd:,} matches depend on time, memory or who failed first" if odd else SAME
    if one.state is State.FINISHED:
        line(f"digest {told['digest']}, {same}", "dim")


# Looking at them


def find(league: League, which: str | None) -> Tournament:
    if which is not None:
        return league.tournament(which)
    every = league.tournaments()
    if not every:
        raise BadValue("tournament", None, f"one of {league.path.name}, which has none yet: `ringside tournament run`")
    return every[-1]


def show(options: argparse.Namespace) -> Answer:
    with looking(options.league) as league:
        one = find(league, options.tournament)
        told = summary(league, one)
        if told["standings"].seats == 2:
            told["running_elo"] = tables.running(league, one.number)
        names = league.names()

    def shown() -> None:
        settings = one.settings
        made = f"{settings.format}, {settings.game.name}, seed {settings.seed}"
        line(f"{one.number}: {one.name}, {made}, {one.state.value}, {one.played:,} of {many(one.total or 0, 'match')}")
        show_summary(told)
        if told.get("running_elo"):
            best = sorted(told["running_elo"].items(), key=lambda item: -item[1][0])
            told_as = "running Elo (K 32 from 1200, in the order of the plan, for charts)"
            line(f"{told_as}: {', '.join(f'{name} {elo:.0f} ({tier})' for name, (elo, tier) in best)}", "dim")
        for lineup in one.lineups[1:]:
            line(f"from round {lineup.first_round + 1}: {', '.join(names[id] for id in lineup.entrants)}")

    return Answer(told, shown)


def listing(options: argparse.Namespace) -> Answer:
    with looking(options.league) as league:
        every = league.tournaments()
    return Answer(every, lambda: show_tournaments(every) if every else line("no tournaments yet"))


def enter(options: argparse.Namespace) -> Answer:
    if not options.join and not options.leave:
        raise BadValue("--join, --leave", None, "given: who joins or leaves")
    with LeagueState(options.league) as state:
        changed = state.change_entrants(find(state.league, options.tournament).number, options.join, options.leave)
        names = state.league.names()
    last = changed.lineups[-1]
    told = f"from round {last.first_round + 1}: {', '.join(names[id] for id in last.entrants)}"
    return Answer(changed, lambda: line(told))


def cancel(options: argparse.Namespace) -> Answer:
    with League(options.league) as league:
        one = find(league, options.tournament)
        if not one.state.open:
            raise BadValue("tournament", one.number, f"one that is not over, and this is {one.state.value}")
        league.update_tournament(one.number, State.CANCELLED)
    return Answer({"cancelled": one.number}, lambda: line(f"{one.number}: {one.name} is cancelled; its matches stay"))
