"""Commands that play without a tournament: the demo, and single matches."""

from __future__ import annotations

import argparse
import dataclasses
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from engine.errors import BadValue, NotNow
from engine.files import check_writable
from engine.league import failure_report, standings
from engine.league.records import RunState
from engine.league.statistics import compare
from engine.league.storage.database import SUFFIX
from engine.league.storage.league import League
from engine.play import replay
from engine.play.arena import DEFAULT_LANES, MOST_LANES
from engine.play.match import EndingKind, Limits, MatchSpec
from engine.play.play_settings import MOST_WORKERS, default_workers
from engine.registry import KINDS, is_person, new_game
from engine.temporary import private_folder
from league_app.cli import replays
from league_app.cli.common import (
    add_executor_option,
    add_log_option,
    add_overwrite_option,
    check_seed,
    check_whole,
    command,
    find_ready_made,
    joint_name,
    parse_pairs,
    seed_argument,
    to_play,
)
from league_app.cli.output import CommandResult, comparison_text, plural, print_line, show_failures, show_match
from league_app.cli.replays import is_league, last_caption, play_match, spec_data
from league_app.cli.tournaments import finish, play
from league_app.core.exhibitions import IN_WINDOW
from league_app.core.export import result_data
from league_app.core.state import LeagueState
from league_app.core.validation import check_admitted

MAX_PAIRS = 100_000  # in one `match`
REGULAR_ENDINGS = (EndingKind.FINISHED, EndingKind.STEP_LIMIT, EndingKind.RESIGNED, EndingKind.NO_CONTEST)


def add(commands: Any) -> None:
    parser = command(
        commands,
        "demo",
        "play a league of scripted Pong bots (the default without a command, if there is no display)",
        demo,
        ["demo", "demo --matches 30000 --workers 4", "demo --with Dice --keep first.league"],
    )
    parser.add_argument("--matches", type=int, default=3000, help="matches, rounded up to full rounds (default 3000)")
    parser.add_argument("--points", type=int, default=5, help="points that win a match (default 5)")
    parser.add_argument("--seed", type=int, default=1, help="random seed (default 1)")
    parser.add_argument("--workers", type=int, help=f"worker processes (default: cores - 1 = {default_workers()})")
    add_executor_option(parser)
    parser.add_argument(
        "--lanes",
        type=int,
        default=DEFAULT_LANES,
        help=f"matches that a worker plays at the same time (default {DEFAULT_LANES})",
    )
    parser.add_argument("--with", dest="entrants", action="append", default=[], metavar="AGENT", help="add this agent")
    parser.add_argument("--keep", metavar="LEAGUE", help="save the league in this file (default: it is deleted)")

    parser = command(
        commands,
        "match",
        "play one match, or several pairs of games, between agents of a game or a league",
        match,
        [
            "match pong Tracker Shaky --seed 3",
            "match pong Tracker Lazy -o points=2 --save short.replay",
            "match my.league Tracker Shaky --pairs 200 --record",
        ],
    )
    parser.add_argument("where", metavar="GAME|LEAGUE", help="a game, or a league whose agents play")
    parser.add_argument("agents", nargs="+", help="one agent per seat: its name or, with GAME, kind:payload")
    parser.add_argument("--seed", type=int, help="random seed (default 1)")
    parser.add_argument("--start", help="start position, if the game has several")
    parser.add_argument("--steps", type=int, help="step limit")
    parser.add_argument(
        "--option", "-o", action="append", default=[], metavar="NAME=VALUE", help="an option of the game"
    )
    parser.add_argument("--pairs", type=int, help="number of game pairs with swapped sides; prints a comparison")
    parser.add_argument("--record", action="store_true", help="record the games in the league, as a tournament")
    parser.add_argument(
        "--save", type=Path, metavar="FILE", help="save the match as a replay file (single matches only)"
    )
    add_overwrite_option(parser)
    add_executor_option(parser)
    add_log_option(parser)
    replays.add(commands)


def demo(options: argparse.Namespace) -> CommandResult:
    game = new_game("pong", points=options.points)
    agents = list(KINDS.get("pong-bot").samples(game))
    agents += [find_ready_made(game, name) for name in options.entrants if name not in {agent.id for agent in agents}]
    per_round = len(agents) * (len(agents) - 1)
    check_whole("--matches", options.matches, 1, 10**7)
    check_whole("--lanes", options.lanes, 1, MOST_LANES)
    check_seed(options.seed)
    if options.workers is not None:
        check_whole("--workers", options.workers, 1, MOST_WORKERS)
    rounds = -(-options.matches // per_round)
    with tempfile.TemporaryDirectory(dir=private_folder()) as folder:
        path = options.keep or Path(folder) / f"demo{SUFFIX}"
        with to_play(LeagueState.new(path, lanes=options.lanes, on=options.on)) as state:
            for agent in agents:
                state.league.add_agent(agent.id, "pong", agent, origin="ready-made")
            if options.workers is not None:
                state.budget.cores = options.workers
            tournament = state.plan_tournament(
                "Demo league", game=game.spec, options={"rounds": rounds}, seed=options.seed
            )
            if not options.json:
                print_line(
                    f"Demo league: {game.info.title} to {options.points}, {len(agents)} bots, "
                    f"{plural(rounds, 'side-swapped pair')} each: {plural(tournament.total or 0, 'match')}"
                )
            signals = play(state.start_tournament(tournament.number), options.json)
            return finish(state.league, tournament.number, signals, options.keep)


def match(options: argparse.Namespace) -> CommandResult:
    seed_argument(options)  # reject an invalid seed first
    league = League(options.where, read_only=not options.record) if is_league(options.where) else None
    with league or nullcontext():
        if league is None and options.record:
            raise BadValue("--record", options.where, "used with a league, not a game")
        if league is None:
            game = new_game(options.where, parse_pairs(options.option, "--option"))
            players = tuple(find_ready_made(game, name) for name in options.agents)
            names = {player.id: player.id for player in players}
        else:
            found = [league.agent(name) for name in options.agents]
            game = new_game(found[0].game, parse_pairs(options.option, "--option"))
            players = tuple(league.spec(agent.id) for agent in found)
            names = {agent.id: agent.name for agent in found}
            check_admitted(league, players)
        person = next(filter(is_person, players), None)
        if person is not None:
            raise NotNow(f"{names[person.id]!r} is a human player: {IN_WINDOW}")
        if options.pairs is None and not options.record:
            return single(options, game, players, names)
    if len(players) != 2:
        raise BadValue("--pairs", options.pairs, "for two agents")
    return several(options, game, players, names)


def single(options: argparse.Namespace, game: Any, players: Any, names: dict[str, str]) -> CommandResult:
    spec = MatchSpec(
        "match", game.spec, players, 1 if options.seed is None else options.seed, options.start, Limits(options.steps)
    )
    if options.save:
        check_writable(options.save, options.overwrite, "--save")
    result = play_match(spec, options.on, options.json)
    if options.save:
        replay.save(options.save, spec, result, options.overwrite, "--save")
    caption, informative = last_caption(spec, result)

    def show() -> None:
        show_match(game, result, [names[player] for player in result.players])
        if informative:
            print_line(f"At the end: {caption.removeprefix(f'{game.info.title}, ')}.")
        if options.save:
            print_line(f"saved as {options.save}")

    data = {"match": spec_data(spec), "result": result_data(result), "caption": caption or None}
    return CommandResult(data, show, 0 if result.ending.kind in REGULAR_ENDINGS else 1)


def several(options: argparse.Namespace, game: Any, players: Any, names: dict[str, str]) -> CommandResult:
    """Plays pairs of games as a tournament: in the league with --record, else in a temporary one."""
    pairs = 1 if options.pairs is None else options.pairs
    check_whole("--pairs", pairs, 1, MAX_PAIRS)
    if options.save:
        raise BadValue("--save", str(options.save), "used with a single match: remove --pairs and --record")
    with tempfile.TemporaryDirectory(dir=private_folder()) as folder:
        recorded_in = options.where if options.record else None
        if recorded_in:
            state = LeagueState(recorded_in, on=options.on)
        else:
            state = LeagueState.new(Path(folder) / f"match{SUFFIX}", on=options.on)
        with to_play(state):
            first, second = (names[player.id] for player in players)
            if not recorded_in:
                second = f"{second} (2)" if second == first else second
                for name, player in zip((first, second), players, strict=True):
                    state.league.add_agent(name, game.spec.name, player)
            plan: dict[str, Any] = {
                "options": {"rounds": pairs},
                "limits": Limits(options.steps),
                **seed_argument(options),
            }
            starts = (options.start,) if options.start else ()
            tournament = state.plan_tournament(
                joint_name(first, second), game=game.spec, agents=[first, second], starts=starts, play=True, **plan
            )
            signals = play(state.start_tournament(tournament.number), options.json)
            table = standings.standings(state.league, game.spec, tournament.number)
            [row] = [candidate for candidate in table.rows if candidate.name == first]
            pair_counts = next((tally.pairs for tally in row.against.values()), ())
            compared = compare(pair_counts) if any(pair_counts) else None
            failures = failure_report.failures(state.league, tournament.number)
            ended = state.league.tournament(tournament.number)

    def show() -> None:
        total = row.total
        print_line(f"{first} against {second}, from {first}'s point of view: {total.wins}-{total.draws}-{total.losses}")
        if compared is not None:
            print_line(f"pairs (LL, LD, DD+WL, WD, WW): {list(compared.counts)}")
            print_line(comparison_text(compared))
        show_failures(dataclasses.astuple(failure) for failure in failures)
        if recorded_in:
            print_line(f"recorded in {recorded_in} as tournament {tournament.number}")

    status = 128 + signals[0] if signals and ended.state is not RunState.FINISHED else 1 if failures else 0
    data = {"standings": table, "comparison": compared, "first": first, "second": second, "failures": failures}
    return CommandResult(data, show, status)
