"""Commands for saved training sessions: list, show, population, enter, export."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping
from typing import Any

from engine.errors import BadValue, RingsideError
from engine.league.storage.session_rows import SavedPlayer, Session
from engine.league.storage.sessions import SessionStore
from league_app.cli import population
from league_app.cli.common import add_overwrite_option, command, open_read_only
from league_app.cli.output import CommandResult, console, plural, print_line, safe_text, show_curves, table
from league_app.core.chrome_trace import write_trace
from league_app.core.export import write_csv
from league_app.core.state import LeagueState
from league_app.core.tensorboard import export
from league_app.core.trainers import SEED, trainer_facts


def add(under: Any) -> None:
    command(under, "list", "list the sessions of a league", listing, ["train list my.league"]).add_argument("league")
    parser = command(
        under,
        "show",
        "show a session: settings, metrics, checkpoints",
        show,
        ["train show my.league", "train show my.league 3"],
    )
    add_session_arguments(parser)
    population.add(under, add_session_arguments)
    parser = command(
        under,
        "enter",
        "add a player of a checkpoint to the league",
        add_player,
        ["train enter my.league 3", "train enter my.league 3 --step 40 --name Early"],
    )
    add_session_arguments(parser)
    parser.add_argument("--role", help="role of the player, if the checkpoint has several")
    parser.add_argument("--step", type=int, help="step of the checkpoint (default: the newest)")
    parser.add_argument("--name", help="name of the agent (default: the session's name)")
    parser = command(
        under,
        "export",
        "export the metrics of a session for TensorBoard, or as CSV if the name ends in .csv; its timeline as a Chrome "
        "trace if it ends in .json",
        export_session,
        [f"train export my.league 3 --to {target}" for target in ("runs/third", "third.csv", "third.json")],
    )
    add_session_arguments(parser)
    parser.add_argument("--to", required=True, metavar="FOLDER|FILE.csv|FILE.json", help="folder or file to write")
    add_overwrite_option(parser)


def add_session_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("league")
    parser.add_argument("session", nargs="?", help="number or name (default: the latest)")


def summary(sessions: SessionStore, session: Session) -> dict[str, Any]:
    return {
        "session": session,
        "metrics": sessions.metrics(session.number),
        "checkpoints": sessions.checkpoints(session.number),
        "spans": len(sessions.spans(session.number)),
    }


def listing(options: argparse.Namespace) -> CommandResult:
    with open_read_only(options.league) as league:
        sessions = SessionStore(league)
        all_sessions = sessions.all()
        facts = {session.number: trainer_facts(session.trainer) for session in all_sessions}
        headlines = {
            number: sessions.metrics(number, [known.headline]).get(known.headline) if known.headline else None
            for number, known in facts.items()
        }
        steps = {session.number: sessions.steps(session.number) for session in all_sessions}

    def show() -> None:
        shown = table(">number", "name", "trainer", "game", "done", "state", ">best")
        shown.expand = True  # `train show` has the whole note
        shown.add_column("note", ratio=1, no_wrap=True, overflow="ellipsis")
        for session in all_sessions:
            own, series = facts[session.number], headlines[session.number]
            value = own.best(series.values) if series is not None else None
            best = own.headline_text(value) if value is not None else "-"
            texts = (safe_text(session.name), safe_text(session.trainer), safe_text(session.game.name))
            shown.add_row(
                str(session.number),
                *texts,
                plural(steps[session.number], own.unit),
                "failed" if session.failed else session.state.value,
                best,
                safe_text(session.note),
            )
        console.print(shown)

    return CommandResult(all_sessions, show if all_sessions else lambda: print_line("no training sessions yet"))


def show(options: argparse.Namespace) -> CommandResult:
    with open_read_only(options.league) as league:
        sessions, names = SessionStore(league), league.names()
        session = sessions.session(options.session)
        report = summary(sessions, session)

    def shown() -> None:
        state = "failed" if session.failed else session.state.value
        print_line(f"{session.number}: {session.name}, {session.trainer} on {session.game.name}, {state}")
        if session.note:
            print_line(session.note, "yellow" if session.failed else "")
        facts = trainer_facts(session.trainer)
        kept = (*facts.fixed, SEED)  # shown even if they have their default
        changed = [
            (name, value)
            for name, value in session.config
            if (name in kept and value != "") or facts.defaults.get(name) != value
        ]
        print_line(
            f"settings: {', '.join(f'{name} {value}' for name, value in changed)} (others: default)",
            "dim",
        )
        show_curves(metric_names(session.trainer), report["metrics"])
        for checkpoint in report["checkpoints"]:
            state = f", {checkpoint.size / 1e6:.1f} MB to resume from" if checkpoint.resumable else ""
            players = [player_text(player, names) for player in checkpoint.players] or ["no player yet"]
            if len(players) == 1:
                print_line(f"checkpoint {checkpoint.step}: {players[0]}{state}")
                continue
            print_line(f"checkpoint {checkpoint.step}{state}:")
            for text in players:
                print_line(f"  {text}")
        if report["spans"]:
            print_line(f"a timeline of {plural(report['spans'], 'span')}: `train export ... --to FILE.json`", "dim")

    return CommandResult(report, shown)


def player_text(player: SavedPlayer, names: Mapping[str, str]) -> str:
    entered = f", in the league as {names.get(player.agent, player.agent)}" if player.agent else ""
    about = f"{player.role}: {player.about}" if player.role else player.about
    return f"{about or player.kind}{entered}"


def metric_names(trainer: str) -> list[str]:
    """The names of its metrics, in its order."""
    return list(trainer_facts(trainer).metrics)


def add_player(options: argparse.Namespace) -> CommandResult:
    with LeagueState(options.league) as state:
        roles = state.training.roles(options.session, options.step)
        if options.role is None and len(roles) > 1:
            raise RingsideError(
                f"the checkpoint has {len(roles)} players: say which one with --role: {', '.join(roles)}"
            )
        agent = state.training.enter(options.session, options.step, options.name, role=options.role)
    return CommandResult(agent, lambda: print_line(f"{agent.name} joined {options.league}: {agent.notes}"))


def export_session(options: argparse.Namespace) -> CommandResult:
    timeline = options.to.lower().endswith(".json")
    with open_read_only(options.league) as league:
        sessions = SessionStore(league)
        session = sessions.session(options.session)
        metrics = sessions.metrics(session.number) if not timeline else {}
        spans = sessions.spans(session.number) if timeline else []
    if timeline:
        if not spans:
            raise BadValue("session", session.number, "a session whose trainer reports spans of time")
        path = write_trace(spans, session.name, options.to, options.overwrite, "--to")
        text = f"{plural(len(spans), 'span')} written to {path}; https://ui.perfetto.dev shows them"
        return CommandResult({"file": str(path), "spans": len(spans)}, lambda: print_line(text))
    if not metrics:
        raise BadValue("session", session.number, "a session with metrics")
    table = options.to.lower().endswith(".csv")
    if table:
        target = write_csv(metrics, options.to, options.overwrite, "--to")
    else:
        target = export(metrics, session.created, options.to)
    count = sum(len(series.steps) for series in metrics.values())
    text = f"{plural(count, 'value')} of {plural(len(metrics), 'metric')} written to {target}"
    shows = "" if table else f"; `tensorboard --logdir {shlex.quote(options.to)}` (installed separately) shows them"
    return CommandResult({"file": str(target), "values": count}, lambda: print_line(text + shows))
