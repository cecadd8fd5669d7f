"""What was played: standings, crosstables, history, and sequential tests."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from engine.errors import BadValue
from engine.league import standings as tables
from engine.league.formats.sprt import Options as TestOptions
from engine.league.formats.sprt import evaluate
from engine.league.statistics import Sprt, compare, sprt
from engine.options import build
from engine.play.concurrent import MOST_WORKERS
from engine.play.match import GameSpec
from engine.registry import game_of, new_game
from league_app.cli.common import check_whole, command, joint_name, log, looking, pairs_of, seeded
from league_app.cli.replays import result_data
from league_app.cli.tournaments import play
from league_app.core.state import LeagueState
from league_app.cli.output import Answer, compared_words, line, show_crosstable, show_history, show_standings


def add(commands: Any) -> None:
    for name, help, run_it in (
        ("standings", "ratings with intervals, of a game or of one tournament", standings),
        ("crosstable", "who did what against whom", crosstable),
    ):
        one = command(commands, name, help, run_it, [f"{name} my.league", f"{name} my.league --tournament 3"])
        one.add_argument("league")
        one.add_argument("--game", help="if the league has several: the one played last under that name")
        one.add_argument(
            "--option", "-o", action="append", default=[], metavar="NAME=VALUE", help="the rules with this"
        )
        one.add_argument("--tournament", help="by number or name; without it everything played under the same rules")
        one.add_argument("--anchor", metavar="AGENT", help="put this one at 1200, rather than the mean")

    one = command(commands, "history", "matches, newest first", history, ["history my.league --agent Lazy --failed"])
    one.add_argument("league")
    one.add_argument("--tournament", help="by number or name")
    one.add_argument("--agent")
    one.add_argument("--game", help="if agents of several games have that name")
    one.add_argument("--failed", action="store_true", help="only those in which somebody forfeited")
    one.add_argument("--limit", type=int, default=20, help="how many (20)")

    one = command(
        commands,
        "sprt",
        "play two agents until it is clear who is stronger, or evaluate results given as counts",
        test,
        ["sprt my.league New Old --elo0 0 --elo1 10", "sprt --counts 1,22,52,21,4 --elo0 -5 --elo1 0 --beta 0.1"],
    )
    one.add_argument("league", nargs="?")
    one.add_argument("agents", nargs="*", help="two of the league; the first one's point of view")
    one.add_argument("--counts", metavar="N,N,N[,N,N]", help="losses, draws, wins; or pairs LL, LD, DD+WL, WD, WW")
    one.add_argument("--elo0", type=float, default=0.0, help="the first is at most so much stronger (0)")
    one.add_argument("--elo1", type=float, default=10.0, help="or at least so much (10)")
    one.add_argument("--alpha", type=float, default=0.05, help="risk of accepting elo1 wrongly (0.05)")
    one.add_argument("--beta", type=float, default=0.05, help="risk of accepting elo0 wrongly (0.05)")
    scales = ("normalised", "logistic")
    one.add_argument("--model", choices=scales, default="normalised", help="the scale of both (normalised)")
    one.add_argument("--most", type=int, default=50_000, help="pairs after which it stays undecided (50000)")
    one.add_argument("--seed", type=int, help="another seed, other matches (the number of the tournament)")
    one.add_argument("--workers", type=int, help="worker processes")
    one.add_argument("--option", "-o", action="append", default=[], metavar="NAME=VALUE", help="an option of the game")
    log(one)


def standings(options: argparse.Namespace) -> Answer:
    told = table_of(options)
    return Answer(told, lambda: show_standings(told, against=False) if told.rows else line(nobody(told, options)))


def crosstable(options: argparse.Namespace) -> Answer:
    told = table_of(options)
    return Answer(told, lambda: show_crosstable(told) if told.rows else line(nobody(told, options)))


def nobody(told: tables.Standings, options: argparse.Namespace) -> str:
    return f"nobody in {options.league} plays {told.game.name}"


def table_of(options: argparse.Namespace) -> tables.Standings:
    with LeagueState(options.league, read_only=True) as state:
        number = state.league.tournament(options.tournament).number if options.tournament is not None else 0
        return state.standings(rules(state, options.game, options.option), number, options.anchor)


def rules(state: LeagueState, game: str | None, texts: Sequence[str]) -> GameSpec:
    """Which table is meant; without options the one that was played last."""
    spec = state.game_of(game)
    return new_game(spec.name, pairs_of(texts, "--option")).spec if texts else spec


def history(options: argparse.Namespace) -> Answer:
    check_whole("--limit", options.limit, 1, 100_000)
    with looking(options.league) as league:
        number = league.tournament(options.tournament).number if options.tournament is not None else None
        agent = None if options.agent is None else league.agent(options.agent, options.game).id
        found = tables.history(league, tournament=number, agent=agent, failed=options.failed, limit=options.limit)
        names = league.names()
    data = [{"match": one.reference, "at": one.at, **result_data(one.result)} for one in found]
    return Answer(data, lambda: show_history(found, names) if found else line("no matches"))


# Sequential tests


def test(options: argparse.Namespace) -> Answer:
    if options.counts is not None:
        if options.league is not None:
            raise BadValue("--counts", options.counts, "without a league: either play, or evaluate what is given")
        counts = counts_of(options.counts)
        told = sprt(counts, options.elo0, options.elo1, options.alpha, options.beta, options.model)
        return verdict(told, counts, "the first player")
    if options.league is None or len(options.agents) != 2:
        raise BadValue("agents", options.agents, "a league and two of its agents; or give --counts")
    chosen = {name: getattr(options, name) for name in ("elo0", "elo1", "alpha", "beta", "model", "most")}
    rule = build(TestOptions, chosen, "option of sequential-test")
    evaluate([0] * 5, rule)  # what is wrong with the claims is told before anything is played
    with LeagueState(options.league) as state:
        if options.workers is not None:
            check_whole("--workers", options.workers, 1, MOST_WORKERS)
            state.budget.cores = options.workers
        agents = [state.league.agent(name) for name in options.agents]
        game: Any = agents[0].game
        if options.option:
            game = new_game(game, pairs_of(options.option, "--option")).spec
        if (seats := game_of(state.game_of(game)).info.seats) != 2:
            raise BadValue(
                "seats", seats, "2, for a test of two agents: --option seats=2, if the game can be so played"
            )
        made = state.plan_tournament(
            joint_name(agents[0].name, agents[1].name),
            game=game,
            agents=options.agents,
            format="sequential-test",
            options=chosen,
            play=True,
            **seeded(options),
        )
        signals = play(state.start_tournament(made.number), options.json)
        table = state.standings(tournament=made.number)
        [row] = [one for one in table.rows if one.agent == agents[0].id]
        tally = row.against.get(agents[1].id, tables.Tally())
    answer = verdict(evaluate(tally.pairs, rule), tally.pairs, agents[0].name, agents[1].name, made.number)
    return Answer(answer.data, answer.show, 128 + signals[0] if signals and answer.status == 3 else answer.status)


def counts_of(text: str) -> list[int]:
    try:
        return [int(one) for one in text.split(",")]
    except ValueError:
        raise BadValue("--counts", text, "three or five whole numbers, such as 1,22,52,21,4") from None


def verdict(told: Sprt, counts: Sequence[int], first: str, second: str = "the second", number: int = 0) -> Answer:
    compared = compare(counts) if sum(counts) else None

    def show() -> None:
        names = "losses, draws, wins" if told.unit == "games" else "LL, LD, DD+WL, WD, WW"
        line(f"{first} against {second}, from {first}'s point of view; {told.unit} ({names}): {list(counts)}")
        if compared is not None:
            line(compared_words(compared))
        line(
            f"SPRT of {told.elo0:g} against {told.elo1:g} ({told.model} Elo): LLR {told.llr:.2f} "
            f"in ({told.lower:.2f}, {told.upper:.2f})"
        )
        accepted = {"elo1": f"accepted: at least {told.elo1:g}", "elo0": f"accepted: at most {told.elo0:g}"}
        line(accepted.get(told.verdict or "", "not decided yet"))
        if number:
            line(f"kept as tournament {number}", "dim")

    data = {"sprt": told, "verdict": told.verdict, "counts": list(counts), "comparison": compared, "tournament": number}
    return Answer(data, show, {"elo1": 0, "elo0": 1}.get(told.verdict or "", 3))
