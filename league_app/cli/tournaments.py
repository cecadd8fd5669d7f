"""Commands for tournaments: plan, run, resume, change, cancel, show."""

from __future__ import annotations

import argparse
import dataclasses
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

from engine.errors import BadValue
from engine.league import failure_report, played_matches, standings
from engine.league.records import RunState, Tournament
from engine.league.storage.league import League
from engine.league.tournament_runner import TournamentProgress
from engine.play.play_settings import MOST_WORKERS
from engine.registry import FORMATS
from league_app.cli.common import (
    add_executor_option,
    add_log_option,
    check_whole,
    command,
    open_read_only,
    to_play,
    topic,
)
from league_app.cli.output import (
    CommandResult,
    announce_compilation,
    plural,
    print_error,
    print_line,
    progress,
    show_failures,
    show_standings,
    show_tournaments,
)
from league_app.cli.tournament_plan import add_settings, arguments, plan
from league_app.core.state import LeagueState
from league_app.core.tournament_job import TournamentJob

REPEATABLE = "repeatable with any number of workers"


def add(commands: Any) -> None:
    under = topic(commands, "tournament", "plan, run, resume, list and show tournaments of a league")
    add_settings(
        command(
            under,
            "plan",
            "dry run: show pairings, number of matches, estimated time and intervals; saves nothing",
            plan,
            [
                "tournament plan my.league --rounds 10",
                "tournament plan my.league --format gauntlet --agents New Tracker Lazy",
            ],
        )
    )
    add_settings(
        command(
            under,
            "run",
            "create a tournament and play it; Ctrl-C finishes running matches, a second Ctrl-C stops at once",
            run,
            [
                "tournament run my.league --rounds 100",
                "tournament run my.league --agents Tracker Shaky --clock move=0.1",
            ],
        )
    )
    parser = command(
        under,
        "resume",
        "resume an unfinished tournament",
        resume,
        ["tournament resume my.league", "tournament resume my.league 3"],
    )
    add_tournament_arguments(parser)
    parser.add_argument("--workers", type=int, help="worker processes")
    add_executor_option(parser)
    parser.add_argument("--lift", action="store_true", help="also play matches again that were quarantined or void")
    add_log_option(parser)
    add_tournament_arguments(
        parser := command(
            under,
            "enter",
            "add or remove agents from the next round on",
            change_entrants,
            ["tournament enter my.league 3 --join New --leave Old"],
        )
    )
    parser.add_argument("--join", nargs="+", default=[], metavar="AGENT", help="agents to add")
    parser.add_argument("--leave", nargs="+", default=[], metavar="AGENT", help="agents to remove")
    add_tournament_arguments(
        command(under, "cancel", "cancel a tournament; its matches stay", cancel, ["tournament cancel my.league 3"])
    )
    add_tournament_arguments(
        command(under, "show", "show standings, forfeits and digest", show, ["tournament show my.league 3 --json"])
    )
    parser = command(under, "list", "list the tournaments of a league", listing, ["tournament list my.league"])
    parser.add_argument("league")


def add_tournament_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("league")
    parser.add_argument("tournament", nargs="?", help="number or name (default: the latest)")


# Playing


def run(options: argparse.Namespace) -> CommandResult:
    with to_play(LeagueState(options.league, on=options.on)) as state:
        given = arguments(options, state)
        if options.workers is not None:
            state.budget.cores = options.workers
        tournament = state.plan_tournament(options.name, play=True, **given)
        if not options.json:
            first = " in its first step" if FORMATS.get(tournament.settings.format).adaptive else ""
            agents, matches = plural(len(tournament.entrants), "agent"), plural(tournament.total or 0, "match")
            print_line(f"{tournament.number}: {tournament.name}, {agents}, {matches}{first}")
        signals = play(state.start_tournament(tournament.number), options.json)
        return finish(state.league, tournament.number, signals, options.league)


def resume(options: argparse.Namespace) -> CommandResult:
    with to_play(LeagueState(options.league, on=options.on)) as state:
        if options.workers is not None:
            check_whole("--workers", options.workers, 1, MOST_WORKERS)
            state.budget.cores = options.workers
        if options.lift and options.tournament is None and not state.unfinished():
            options.tournament = find(state.league, None).number
        job = state.resume_tournament(options.tournament, options.lift)
        if not options.json:
            now = job.progress()
            print_line(f"{job.number}: {job.name}, {now.played:,} of {plural(now.total, 'match')} already played")
        signals = play(job, options.json)
        return finish(state.league, job.number, signals, options.league)


def play(job: TournamentJob, quiet: bool) -> list[int]:
    """Waits for the end and returns the signals received: the first finishes running matches, the second stops now. So
    does the first while results cannot be saved, or a full disk would be waited for."""
    received: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        """Only records the signal: the handler may interrupt anything, even an earlier handler's action."""
        received.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        store = job.run.store
        announce_compilation(store.tournament.settings.game.name, store.agents().values(), quiet)
        with progress(quiet) as bar:
            task, trouble, handled = bar.add_task("playing", total=None), "", 0
            while job.wait(0.1) is None:
                now = job.progress()
                wanted = 2 if received and now.trouble else min(len(received), 2)  # what finishes could not be saved
                if wanted > handled:
                    handled = wanted
                    job.stop() if handled > 1 else job.finish()
                    now = job.progress()
                    if handled == 1 and not bar.console.is_terminal:  # a pipe shows no progress bar
                        print_error(finishing_text(now))
                if now.trouble and now.trouble != trouble:
                    print_error(now.text)  # a pipe shows no progress bar
                trouble = now.trouble
                text = finishing_text(now) if received else now.text
                bar.update(task, description=text, total=now.total, completed=now.played)
            now = job.progress()
            bar.update(task, description="played", total=now.total, completed=now.played)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return received


def finishing_text(now: TournamentProgress) -> str:
    return f"finishing {plural(now.finishing, 'match')}; press Ctrl-C again to stop now"


def finish(league: League, number: int, signals: Sequence[int], path: str | None) -> CommandResult:
    """The current standings and summary of a tournament."""
    report = summary(league, league.tournament(number))
    tournament: Tournament = report["tournament"]
    status = 0 if tournament.state is RunState.FINISHED else 128 + signals[0] if signals else 3

    def show() -> None:
        show_summary(report)
        if tournament.state is not RunState.FINISHED:
            what = f"stopped: standings after {tournament.played:,} of {tournament.total:,} matches"
            where = f"; `ringside tournament resume {path}` plays the rest" if path else ""
            sys.stdout.flush()
            print_error((what if tournament.played else "stopped before any match was played") + where)
        elif path:
            print_line(f"recorded in {path} as tournament {number}", "dim")

    return CommandResult(report, show, status)


def summary(league: League, tournament: Tournament) -> dict[str, Any]:
    fingerprint, not_repeatable = played_matches.digest(league, tournament.number)
    return {
        "tournament": tournament,
        "standings": standings.standings(league, tournament.settings.game, tournament.number),
        "digest": fingerprint,
        "not_repeatable": not_repeatable,
        "identical_games": played_matches.identical_games(league, tournament.number),
        "overload": failure_report.overload(league, tournament),
        "failures": failure_report.failures(league, tournament.number),
    }


def show_summary(report: dict[str, Any]) -> None:
    tournament: Tournament = report["tournament"]
    if tournament.played:
        show_standings(report["standings"])
    show_failures(dataclasses.astuple(failure) for failure in report["failures"])
    for sentence in (report["overload"], tournament.note):
        if sentence:
            print_line(sentence, "yellow")
    if report["identical_games"]:
        games = plural(report["identical_games"], "game")
        print_line(f"{games} identical to an earlier one, without new information")
    not_repeatable = report["not_repeatable"]
    same = (
        f"not repeatable: {plural(not_repeatable, 'match')} {'depends' if not_repeatable == 1 else 'depend'} on time, "
        "memory or the order of failures"
        if not_repeatable
        else REPEATABLE
    )
    if tournament.state is RunState.FINISHED:
        print_line(f"digest {report['digest']}, {same}", "dim")


# Showing


def find(league: League, tournament: str | None) -> Tournament:
    if tournament is not None:
        return league.tournament(tournament)
    tournaments = league.tournaments()
    if not tournaments:
        raise BadValue(
            "tournament", None, f"given: {league.path.name} has no tournaments yet (`ringside tournament run`)"
        )
    return tournaments[-1]


def show(options: argparse.Namespace) -> CommandResult:
    with open_read_only(options.league) as league:
        tournament = find(league, options.tournament)
        report = summary(league, tournament)
        if report["standings"].seats == 2:
            report["running_elo"] = standings.running(league, tournament.number)
        names = league.names()

    def shown() -> None:
        settings = tournament.settings
        rules = f"{settings.format}, {settings.game.name}, seed {settings.seed}"
        print_line(
            f"{tournament.number}: {tournament.name}, {rules}, {tournament.state.value}, "
            f"{tournament.played:,} of {plural(tournament.total or 0, 'match')}"
        )
        show_summary(report)
        if report.get("running_elo"):
            best = sorted(report["running_elo"].items(), key=lambda item: -item[1][0])
            label = "running Elo (K 32 from 1200, in the order of the plan, for charts)"
            print_line(f"{label}: {', '.join(f'{name} {elo:.0f} ({tier})' for name, (elo, tier) in best)}", "dim")
        for lineup in tournament.lineups[1:]:
            print_line(f"from round {lineup.first_round + 1}: {', '.join(names[id] for id in lineup.entrants)}")

    return CommandResult(report, shown)


def listing(options: argparse.Namespace) -> CommandResult:
    with open_read_only(options.league) as league:
        tournaments = league.tournaments()
    return CommandResult(
        tournaments, lambda: show_tournaments(tournaments) if tournaments else print_line("no tournaments yet")
    )


def change_entrants(options: argparse.Namespace) -> CommandResult:
    if not options.join and not options.leave:
        raise BadValue("--join, --leave", None, "given: agents to add or remove")
    with LeagueState(options.league) as state:
        changed = state.change_entrants(find(state.league, options.tournament).number, options.join, options.leave)
        names = state.league.names()
    last = changed.lineups[-1]
    text = f"from round {last.first_round + 1}: {', '.join(names[id] for id in last.entrants)}"
    return CommandResult(changed, lambda: print_line(text))


def cancel(options: argparse.Namespace) -> CommandResult:
    with League(options.league) as league:
        tournament = find(league, options.tournament)
        if not tournament.state.open:
            raise BadValue(
                "tournament", tournament.number, f"an unfinished tournament (this one is {tournament.state.value})"
            )
        league.update_tournament(tournament.number, RunState.CANCELLED)
    return CommandResult(
        {"cancelled": tournament.number},
        lambda: print_line(f"{tournament.number}: {tournament.name} cancelled; its matches stay"),
    )
