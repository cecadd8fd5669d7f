"""Commands that show results: standings, crosstables, history, and sequential tests."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from engine.errors import BadValue
from engine.league import played_matches
from engine.league import standings as tables
from engine.league.formats.sprt import Options as TestOptions
from engine.league.formats.sprt import evaluate
from engine.league.statistics import Sprt, compare, sprt
from engine.options import build
from engine.play.match import GameSpec
from engine.play.play_settings import MOST_WORKERS
from engine.registry import game_of, new_game
from league_app.cli.common import (
    add_executor_option,
    add_log_option,
    check_whole,
    command,
    joint_name,
    open_read_only,
    parse_pairs,
    seed_argument,
    to_play,
)
from league_app.cli.output import (
    CommandResult,
    comparison_text,
    print_line,
    show_crosstable,
    show_history,
    show_standings,
)
from league_app.cli.tournaments import play
from league_app.core.export import result_data
from league_app.core.state import LeagueState
from league_app.core.validation import resolve_game_name


def add(commands: Any) -> None:
    for name, help, run_it in (
        ("standings", "show ratings with intervals, of a game or one tournament", standings),
        ("crosstable", "show the results between each pair of agents", crosstable),
    ):
        parser = command(commands, name, help, run_it, [f"{name} my.league", f"{name} my.league --tournament 3"])
        parser.add_argument("league")
        parser.add_argument("--game", help="game, if the league has several; shown for the options played last")
        parser.add_argument(
            "--option", "-o", action="append", default=[], metavar="NAME=VALUE", help="an option of the game"
        )
        parser.add_argument("--tournament", help="number or name (default: all matches with the same rules)")
        parser.add_argument("--anchor", metavar="AGENT", help="fix this agent's rating at 1200, instead of the mean")

    parser = command(
        commands, "history", "list the latest matches", history, ["history my.league --agent Lazy --failed"]
    )
    parser.add_argument("league")
    parser.add_argument("--tournament", help="only matches of this tournament: number or name")
    parser.add_argument("--agent", help="only matches of this agent")
    parser.add_argument("--game", help="game of the agent, if agents of several games have that name")
    parser.add_argument("--failed", action="store_true", help="only matches that ended in a forfeit")
    parser.add_argument("--limit", type=int, default=20, help="number of matches (default 20)")

    parser = command(
        commands,
        "sprt",
        "run a sequential probability ratio test between two agents, or evaluate given counts",
        run_sprt,
        ["sprt my.league New Old --elo0 0 --elo1 10", "sprt --counts 1,22,52,21,4 --elo0 -5 --elo1 0 --beta 0.1"],
    )
    parser.add_argument("league", nargs="?")
    parser.add_argument("agents", nargs="*", help="two agents of the league; results are for the first one")
    parser.add_argument("--counts", metavar="N,N,N[,N,N]", help="losses, draws, wins; or pairs LL, LD, DD+WL, WD, WW")
    parser.add_argument(
        "--elo0", type=float, default=0.0, help="null hypothesis: Elo lead of the first agent (default 0)"
    )
    parser.add_argument("--elo1", type=float, default=10.0, help="alternative hypothesis (default 10)")
    parser.add_argument(
        "--alpha", type=float, default=0.05, help="probability of wrongly accepting elo1 (default 0.05)"
    )
    parser.add_argument("--beta", type=float, default=0.05, help="probability of wrongly accepting elo0 (default 0.05)")
    scales = ("normalised", "logistic")
    parser.add_argument("--model", choices=scales, default="normalised", help="Elo scale (default normalised)")
    parser.add_argument("--most", type=int, default=50_000, help="maximum number of pairs (default 50000)")
    parser.add_argument("--seed", type=int, help="random seed (default: the tournament number)")
    parser.add_argument("--workers", type=int, help="worker processes")
    add_executor_option(parser)
    parser.add_argument(
        "--option", "-o", action="append", default=[], metavar="NAME=VALUE", help="an option of the game"
    )
    add_log_option(parser)


def standings(options: argparse.Namespace) -> CommandResult:
    table = load_table(options)
    return CommandResult(
        table, lambda: show_standings(table, against=False) if table.rows else print_line(no_agents(table, options))
    )


def crosstable(options: argparse.Namespace) -> CommandResult:
    table = load_table(options)
    return CommandResult(table, lambda: show_crosstable(table) if table.rows else print_line(no_agents(table, options)))


def no_agents(table: tables.Standings, options: argparse.Namespace) -> str:
    return f"{options.league} has no agents for {table.game.name}"


def load_table(options: argparse.Namespace) -> tables.Standings:
    with LeagueState(options.league, read_only=True) as state:
        number = state.league.tournament(options.tournament).number if options.tournament is not None else 0
        return state.standings(rules(state, options.game, options.option), number, options.anchor)


def rules(state: LeagueState, game: str | None, texts: Sequence[str]) -> GameSpec:
    """The game and options of the table; without options, those played last."""
    if not texts:
        return state.game_of(game)
    return new_game(game or resolve_game_name(state.league), parse_pairs(texts, "--option")).spec


def history(options: argparse.Namespace) -> CommandResult:
    check_whole("--limit", options.limit, 1, 100_000)
    with open_read_only(options.league) as league:
        number = league.tournament(options.tournament).number if options.tournament is not None else None
        agent = None if options.agent is None else league.agent(options.agent, options.game).id
        found = played_matches.history(
            league, tournament=number, agent=agent, failed=options.failed, limit=options.limit
        )
        names = league.names()
    data = [{"match": match.reference, "at": match.at, **result_data(match.result)} for match in found]
    return CommandResult(data, lambda: show_history(found, names) if found else print_line("no matches"))


# Sequential tests


def run_sprt(options: argparse.Namespace) -> CommandResult:
    if options.counts is not None:
        if options.league is not None:
            raise BadValue("--counts", options.counts, "used without a league: either play, or evaluate given counts")
        counts = parse_counts(options.counts)
        evaluation = sprt(counts, options.elo0, options.elo1, options.alpha, options.beta, options.model)
        return verdict(evaluation, counts, "the first player")
    if options.league is None or len(options.agents) != 2:
        raise BadValue("agents", options.agents, "a league and two of its agents; or give --counts")
    chosen = {name: getattr(options, name) for name in ("elo0", "elo1", "alpha", "beta", "model", "most")}
    rule = build(TestOptions, chosen, "option of sequential-test")
    evaluate([0] * 5, rule)  # invalid hypotheses are reported before any match is played
    with to_play(LeagueState(options.league, on=options.on)) as state:
        if options.workers is not None:
            check_whole("--workers", options.workers, 1, MOST_WORKERS)
            state.budget.cores = options.workers
        agents = [state.league.agent(name) for name in options.agents]
        game: Any = agents[0].game
        if options.option:
            game = new_game(game, parse_pairs(options.option, "--option")).spec
        if (seats := game_of(state.game_of(game)).info.seats) != 2:
            raise BadValue("seats", seats, "2 for a test of two agents: add --option seats=2, if the game allows it")
        tournament = state.plan_tournament(
            joint_name(agents[0].name, agents[1].name),
            game=game,
            agents=options.agents,
            format="sequential-test",
            options=chosen,
            play=True,
            **seed_argument(options),
        )
        signals = play(state.start_tournament(tournament.number), options.json)
        table = state.standings(tournament=tournament.number)
        [row] = [candidate for candidate in table.rows if candidate.agent == agents[0].id]
        tally = row.against.get(agents[1].id, tables.Tally())
    answer = verdict(evaluate(tally.pairs, rule), tally.pairs, agents[0].name, agents[1].name, tournament.number)
    return CommandResult(
        answer.data, answer.show, 128 + signals[0] if signals and answer.status == 3 else answer.status
    )


def parse_counts(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise BadValue("--counts", text, "three or five whole numbers, such as 1,22,52,21,4") from None


def verdict(
    evaluation: Sprt, counts: Sequence[int], first: str, second: str = "the second", number: int = 0
) -> CommandResult:
    compared = compare(counts) if sum(counts) else None

    def show() -> None:
        names = "losses, draws, wins" if evaluation.unit == "games" else "LL, LD, DD+WL, WD, WW"
        print_line(
            f"{first} against {second}, from {first}'s point of view; {evaluation.unit} ({names}): {list(counts)}"
        )
        if compared is not None:
            print_line(comparison_text(compared))
        print_line(
            f"SPRT of {evaluation.elo0:g} against {evaluation.elo1:g} ({evaluation.model} Elo): "
            f"LLR {evaluation.llr:.2f} in ({evaluation.lower:.2f}, {evaluation.upper:.2f})"
        )
        accepted = {"elo1": f"accepted: at least {evaluation.elo1:g}", "elo0": f"accepted: at most {evaluation.elo0:g}"}
        print_line(accepted.get(evaluation.verdict or "", "not decided yet"))
        if number:
            print_line(f"recorded as tournament {number}", "dim")

    data = {
        "sprt": evaluation,
        "verdict": evaluation.verdict,
        "counts": list(counts),
        "comparison": compared,
        "tournament": number,
    }
    return CommandResult(data, show, {"elo1": 0, "elo0": 1}.get(evaluation.verdict or "", 3))
