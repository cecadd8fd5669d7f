"""The arguments that define a tournament, and the command `tournament plan`."""

from __future__ import annotations

import argparse
from typing import Any

from engine.errors import BadValue
from engine.league.estimate import Estimate, estimate, needs_measurement
from engine.league.records import check_name
from engine.play.executors import check_executor_name
from engine.play.match import Clock, Limits
from engine.play.play_settings import MOST_WORKERS, default_workers
from engine.registry import FORMATS, new_game
from league_app.cli.common import add_executor_option, add_log_option, check_whole, parse_pairs, seed_argument
from league_app.cli.output import CommandResult, about_duration, announce_compilation, plural, print_line
from league_app.core.state import LeagueState
from league_app.core.validation import make_settings, resolve_game_name

SHOWN = 30  # pairings of a dry run


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments that define a tournament."""
    parser.add_argument("league")
    parser.add_argument("--name", help="name of the tournament")
    parser.add_argument("--game", help="game to play, if the league has several")
    parser.add_argument("--agents", nargs="+", metavar="AGENT", help="participants (default: all agents of the game)")
    parser.add_argument("--format", default="round-robin", help=f"{', '.join(FORMATS.names())} (default round-robin)")
    parser.add_argument(
        "--rounds", type=int, help="number of rounds; 2 in round-robin is a double round-robin (default 1)"
    )
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="an option of the format")
    parser.add_argument("--games", type=int, default=1, help="encounters per pairing (default 1)")
    parser.add_argument(
        "--no-swap", action="store_true", help="one game per encounter instead of one for each seat order"
    )
    parser.add_argument("--seed", type=int, help="random seed (default: the tournament number)")
    parser.add_argument(
        "--start", action="append", default=[], help="start position; repeatable: each encounter draws one"
    )
    parser.add_argument("--steps", type=int, help="step limit of a match")
    parser.add_argument("--clock", metavar="base=S,increment=S,move=S", help="time control of each player, in seconds")
    parser.add_argument(
        "--option", "-o", action="append", default=[], metavar="NAME=VALUE", help="an option of the game"
    )
    parser.add_argument("--workers", type=int, help=f"worker processes (default: cores - 1 = {default_workers()})")
    add_executor_option(parser)
    add_log_option(parser)


def arguments(options: argparse.Namespace, state: LeagueState) -> dict[str, Any]:
    """The arguments of `plan_tournament`, from the command line."""
    if options.workers is not None:
        check_whole("--workers", options.workers, 1, MOST_WORKERS)
    if options.name is not None:
        check_name("name", options.name)
    agents = [state.league.agent(name, options.game) for name in options.agents] if options.agents else None
    game: Any = options.game or (agents[0].game if agents else None)
    if options.option:
        game = new_game(game or resolve_game_name(state.league), parse_pairs(options.option, "--option")).spec
    chosen = parse_pairs(options.set, "--set")
    if options.rounds is not None:
        chosen["rounds"] = str(options.rounds)
    return {
        "game": game,
        "agents": [agent.name for agent in agents] if agents else None,
        "format": options.format,
        "options": chosen,
        **seed_argument(options),
        "games": options.games,
        "swap": not options.no_swap,
        "starts": tuple(options.start),
        "limits": Limits(options.steps, parse_clock(options.clock)),
    }


def parse_clock(text: str | None) -> Clock | None:
    if text is None:
        return None
    times = parse_pairs(text.split(","), "--clock")
    try:
        return Clock(**{name: float(value) for name, value in times.items()})
    except (TypeError, ValueError):
        raise BadValue("--clock", text, "base, increment and move with seconds, such as base=60,increment=1") from None


def plan(options: argparse.Namespace) -> CommandResult:
    with LeagueState(options.league, read_only=True, on=options.on) as state:
        given = arguments(options, state)
        game, agents, format = state.game_of(given.pop("game")), given.pop("agents"), given.pop("format")
        chosen = state.agents(game.name) if agents is None else [state.league.agent(name, game.name) for name in agents]
        entrants = [agent.id for agent in chosen]
        settings = make_settings(game, format, given.pop("options"), **given)
        drawn = state.league.plan(settings, entrants)
        specs = {id: state.league.spec(id) for id in entrants}
        workers = min(options.workers or state.budget.cores, check_executor_name(state.executor)[0].most_workers)
        if needs_measurement(state.league, game, state.executor):
            announce_compilation(game.name, specs.values(), options.json, drivers=True)
        forecast = estimate(state.league, drawn, specs, workers, state.executor)
        names = state.league.names()
    groups = [(number, [names[entrant] for entrant in group]) for number, group in drawn.pairings()]

    def show() -> None:
        for number, group in groups[:SHOWN]:
            print_line(f"round {number + 1}: {' - '.join(group)}")
        if len(groups) > SHOWN:
            print_line(f"... and {len(groups) - SHOWN:,} more pairings", "dim")
        print_line(estimate_text(forecast, len(entrants), workers))

    return CommandResult({"settings": settings, "estimate": forecast, "pairings": groups}, show)


def estimate_text(forecast: Estimate, agents: int, workers: int) -> str:
    """The estimate in a sentence or two."""
    shown = f", {about_duration(forecast.seconds_shown)} visual" if forecast.seconds_shown is not None else ""
    first = "" if forecast.whole else " in its first step"
    text = f"{plural(agents, 'agent')}, {plural(forecast.matches, 'match')}{first}: "
    if forecast.seconds is None:
        text += f"how long it takes is unknown, because no match ended in a test run{shown}"
    else:
        text += f"{about_duration(forecast.seconds)} headless on {plural(workers, 'worker')}{shown}"
    if forecast.width is not None:
        low, high = forecast.width
        wide = f"±{low:.0f}" if round(low) == round(high) else f"±{low:.0f} to ±{high:.0f}"
        judged = f", judging by {plural(forecast.judged_by, 'match')}" if forecast.judged_by else " among equals"
        text += f". Expect intervals of {wide} Elo{judged}"
    source = "measured just now" if forecast.measured else "as in earlier tournaments"
    text += f" ({forecast.rate:,.0f} matches per second, {source})." if forecast.rate else "."
    return (
        f"{text} {plural(forecast.with_people, 'match')} with human players, always shown."
        if forecast.with_people
        else text
    )
