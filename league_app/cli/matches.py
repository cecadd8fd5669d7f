"""Playing without a league of your own: the demo, and single matches."""

from __future__ import annotations

import argparse
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from engine.errors import BadValue, NotNow
from engine.league import standings as tables
from engine.league.storage.database import SUFFIX
from engine.league.records import State
from engine.league.statistics import compare
from engine.league.storage.league import League
from engine.play.arena import DEFAULT_LANES, MOST_LANES
from engine.play.concurrent import MOST_WORKERS, default_workers
from engine.play.match import Limits, MatchSpec
from engine.registry import KINDS, is_person, new_game
from league_app.cli.common import check_seed, check_whole, command, joint_name, log, pairs_of, ready_made, seeded
from league_app.cli import replays
from league_app.cli.replays import is_league, last_caption, played, result_data, save, spec_data
from league_app.cli.tournaments import finish, play
from league_app.core.exhibitions import ELSEWHERE
from league_app.core.state import LeagueState
from league_app.cli.output import Answer, compared_words, line, many, show_match
from league_app.core.validation import check_admitted

SEVERAL = 100_000  # pairs in one `match`


def add(commands: Any) -> None:
    one = command(
        commands,
        "demo",
        "a league of scripted Pong bots (this is what runs without a command, where there is no display)",
        demo,
        ["demo", "demo --matches 30000 --workers 4", "demo --with Dice --keep first.league"],
    )
    one.add_argument("--matches", type=int, default=3000, help="how many, rounded up to whole rounds (3000)")
    one.add_argument("--points", type=int, default=5, help="points that win a match (5)")
    one.add_argument("--seed", type=int, default=1, help="another seed, another league (1)")
    one.add_argument("--workers", type=int, help=f"worker processes (one less than cores: {default_workers()})")
    one.add_argument("--lanes", type=int, default=DEFAULT_LANES, help=f"matches at once in a worker ({DEFAULT_LANES})")
    one.add_argument("--with", dest="entrants", action="append", default=[], metavar="AGENT", help="enter this one too")
    one.add_argument("--keep", metavar="LEAGUE", help="keep it as this file instead of throwing it away")

    one = command(
        commands,
        "match",
        "one match, or several pairs of games, between agents of a game or of a league",
        match,
        [
            "match pong Tracker Shaky --seed 3",
            "match pong Tracker Lazy -o points=2 --save short.replay",
            "match my.league Tracker Shaky --pairs 200 --record",
        ],
    )
    one.add_argument("where", metavar="GAME|LEAGUE", help="a game, or a league whose agents play")
    one.add_argument("agents", nargs="+", help="one for each seat, by name or, in a game, as kind:payload")
    one.add_argument("--seed", type=int, help="another seed, another match (1)")
    one.add_argument("--start", help="how it begins, if the game offers a choice")
    one.add_argument("--steps", type=int, help="end it after so many steps")
    one.add_argument("--option", "-o", action="append", default=[], metavar="NAME=VALUE", help="an option of the game")
    one.add_argument("--pairs", type=int, help="so many pairs of games with sides swapped, and how they compare")
    one.add_argument("--record", action="store_true", help="keep them in the league, as a tournament of the two")
    one.add_argument("--save", type=Path, metavar="FILE", help="keep a single match as a replay")
    one.add_argument("--here", action="store_true", help="in this process, unprotected: what a bot prints is seen")
    log(one)
    replays.add(commands)


def demo(options: argparse.Namespace) -> Answer:
    game = new_game("pong", points=options.points)
    agents = list(KINDS.get("pong-bot").samples(game))
    agents += [ready_made(game, name) for name in options.entrants if name not in {agent.id for agent in agents}]
    per_round = len(agents) * (len(agents) - 1)
    check_whole("--matches", options.matches, 1, 10**7)
    check_whole("--lanes", options.lanes, 1, MOST_LANES)
    check_seed(options.seed)
    if options.workers is not None:
        check_whole("--workers", options.workers, 1, MOST_WORKERS)
    rounds = -(-options.matches // per_round)
    with tempfile.TemporaryDirectory(prefix="ringside-") as folder:
        path = options.keep or Path(folder) / f"demo{SUFFIX}"
        with LeagueState.new(path, lanes=options.lanes) as state:
            for agent in agents:
                state.league.add_agent(agent.id, "pong", agent, origin="ready-made")
            if options.workers is not None:
                state.budget.cores = options.workers
            made = state.plan_tournament("Demo league", game=game.spec, options={"rounds": rounds}, seed=options.seed)
            if not options.json:
                line(
                    f"Demo league: {game.info.title} to {options.points}, {len(agents)} bots, "
                    f"{many(rounds, 'side-swapped pair')} each: {many(made.total or 0, 'match')}"
                )
            signals = play(state.start_tournament(made.number), options.json)
            return finish(state.league, made.number, signals, options.keep)


def match(options: argparse.Namespace) -> Answer:
    seeded(options)  # is it one at all?
    league = League(options.where, read_only=not options.record) if is_league(options.where) else None
    with league or nullcontext():
        if league is None and options.record:
            raise BadValue("--record", options.where, "with a league rather than a game")
        if league is None:
            game = new_game(options.where, pairs_of(options.option, "--option"))
            players = tuple(ready_made(game, name) for name in options.agents)
            names = {player.id: player.id for player in players}
        else:
            found = [league.agent(name) for name in options.agents]
            game = new_game(found[0].game, pairs_of(options.option, "--option"))
            players = tuple(league.spec(agent.id) for agent in found)
            names = {agent.id: agent.name for agent in found}
            check_admitted(league, players)
        person = next(filter(is_person, players), None)
        if person is not None:
            raise NotNow(f"{names[person.id]!r} is a person: {ELSEWHERE}")
        if options.pairs is None and not options.record:
            return single(options, game, players, names)
    if len(players) != 2:
        raise BadValue("--pairs", options.pairs, "for two agents")
    return several(options, game, players, names)


def single(options: argparse.Namespace, game: Any, players: Any, names: dict[str, str]) -> Answer:
    spec = MatchSpec(
        "match", game.spec, players, 1 if options.seed is None else options.seed, options.start, Limits(options.steps)
    )
    result = played(spec, options.here)
    if options.save:
        save(options.save, spec, result)
    caption, says_more = last_caption(spec, result)

    def show() -> None:
        show_match(game, result, [names[player] for player in result.players])
        if says_more:
            line(f"At the end: {caption.removeprefix(f'{game.info.title}, ')}.")
        if options.save:
            line(f"saved as {options.save}")

    return Answer({"match": spec_data(spec), "result": result_data(result), "caption": caption or None}, show)


def several(options: argparse.Namespace, game: Any, players: Any, names: dict[str, str]) -> Answer:
    """Pairs of games as a tournament of two: in the league if they are to be kept, else in one that is thrown away."""
    pairs = 1 if options.pairs is None else options.pairs
    check_whole("--pairs", pairs, 1, SEVERAL)
    if options.here:
        raise BadValue("--here", True, "with a single match: pairs are played on worker processes")
    if options.save:
        raise BadValue("--save", str(options.save), "with a single match: leave out --pairs and --record")
    with tempfile.TemporaryDirectory(prefix="ringside-") as folder:
        kept = options.where if options.record else None
        state = LeagueState(kept) if kept else LeagueState.new(Path(folder) / f"match{SUFFIX}")
        with state:
            first, second = (names[player.id] for player in players)
            if not kept:
                second = f"{second} (2)" if second == first else second
                for name, player in zip((first, second), players, strict=True):
                    state.league.add_agent(name, game.spec.name, player)
            plan: dict[str, Any] = {"options": {"rounds": pairs}, "limits": Limits(options.steps), **seeded(options)}
            starts = (options.start,) if options.start else ()
            made = state.plan_tournament(
                joint_name(first, second), game=game.spec, agents=[first, second], starts=starts, play=True, **plan
            )
            signals = play(state.start_tournament(made.number), options.json)
            table = tables.standings(state.league, game.spec, made.number)
            [row] = [one for one in table.rows if one.name == first]
            pairs_made = next((tally.pairs for tally in row.against.values()), ())
            compared = compare(pairs_made) if any(pairs_made) else None
            ended = state.league.tournament(made.number)

    def show() -> None:
        total = row.total
        line(f"{first} against {second}, from {first}'s point of view: {total.wins}-{total.draws}-{total.losses}")
        if compared is not None:
            line(f"pairs (LL, LD, DD+WL, WD, WW): {list(compared.counts)}")
            line(compared_words(compared))
        if kept:
            line(f"kept in {kept} as tournament {made.number}")

    status = 128 + signals[0] if signals and ended.state is not State.FINISHED else 0
    return Answer({"standings": table, "comparison": compared, "first": first, "second": second}, show, status)
