"""Commands for external USI engines: query, add to a league, confirm on this machine."""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Sequence
from typing import Any

from agents.usi.engine_spec import LONGEST_MOVE, MOST_NODES, EngineSpec
from agents.usi.protocol import Identity
from engine.errors import BadValue, RingsideError
from league_app.cli.common import check_whole, command, open_read_only, parse_pairs
from league_app.cli.output import CommandResult, console, print_line, safe_text, table
from league_app.core import usi_engines
from league_app.core.state import LeagueState

FAIRY = "/usr/games/fairy-stockfish"


def add(under: Any) -> None:
    parser = command(
        under, "ask", "start an engine and print its name and options", print_identity, [f"agents ask {FAIRY}"]
    )
    _add_program_arguments(parser)
    parser = command(
        under,
        "engine",
        "add an external USI engine, and allow it to run on this machine",
        add_engine,
        [
            f"agents engine my.league {FAIRY} --nodes 500",
            f"agents engine my.league {FAIRY} --name Quick --movetime 0.5 --set 'Skill Level=5'",
        ],
    )
    parser.add_argument("league")
    _add_program_arguments(parser)
    parser.add_argument("--name", help="name in the league (default: the name that the engine reports)")
    parser.add_argument("--game", help="game that it plays (default: the first with USI engines)")
    parser.add_argument("--nodes", type=int, help="positions to search per move; matches are repeatable")
    parser.add_argument("--movetime", type=float, metavar="SECONDS", help="time per move; matches are not repeatable")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="an option of the engine")
    parser.add_argument(
        "--patience",
        type=float,
        default=30.0,
        metavar="SECONDS",
        help="an engine that does not answer for this long forfeits (default 30)",
    )
    parser.add_argument("--memory", type=int, default=4096, metavar="MB", help="memory limit (default 4096)")
    parser = command(
        under,
        "approve",
        "show the command of an imported engine, and allow it to run on this machine",
        approve,
        ["agents approve my.league Fairy", "agents approve my.league Fairy --yes"],
    )
    parser.add_argument("league")
    parser.add_argument("agent")
    parser.add_argument("--game", help="game of the agent, if agents of several games have that name")
    parser.add_argument("--yes", action="store_true", help="confirm that you have read the command and trust it")


def _add_program_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="the program: its path, or its name if it is on the PATH")
    parser.add_argument(
        "--argument",
        action="append",
        default=[],
        metavar="TEXT",
        help="argument for the program, such as --argument=-v; give files with their full path",
    )
    parser.add_argument(
        "--startup", type=float, default=30.0, metavar="SECONDS", help="time limit for its start (default 30)"
    )


def _program_path(name: str) -> str:
    """The full path of a program; a bare name is looked up on the PATH, as in a shell."""
    path = usi_engines.absolute_path(name)
    if os.path.exists(path):
        return path
    if os.path.basename(name) != name:
        raise BadValue("engine", path, "the path of an existing program")
    program = shutil.which(name)
    if program is None:
        raise BadValue("engine", name, "an existing file or a program on the PATH: give its path")
    return os.path.abspath(program)


def _identify(file: str, options: argparse.Namespace) -> Identity:
    try:
        return usi_engines.identify(file, tuple(options.argument), options.startup)
    except BadValue as error:
        hint = _path_hint(file, options.argument)
        raise RingsideError(f"{error}; {hint}") if hint else error from None


def _path_hint(file: str, arguments: Sequence[str]) -> str:
    """A hint about argument files that exist here, but not in the engine's working directory."""
    folder = os.path.dirname(file)
    named = [part for argument in arguments for part in (argument, argument.partition("=")[2]) if part]
    missing = [
        file_name
        for file_name in named
        if os.path.isfile(file_name) and not os.path.exists(os.path.join(folder, file_name))
    ]
    return f"the engine runs in {folder}: give the full path of {missing[0]!r}" if missing else ""


def print_identity(options: argparse.Namespace) -> CommandResult:
    identity = _identify(_program_path(options.file), options)
    shown = table("option", "type", "default", "from", "to", "choices")
    for option in identity.options:
        ends = ["" if end is None else str(end) for end in (option.low, option.high)]
        shown.add_row(
            safe_text(option.name, "bold"),
            option.kind,
            safe_text(option.default),
            *ends,
            safe_text(", ".join(option.choices)),
        )

    def show() -> None:
        print_line(f"{identity.name or 'unnamed engine'}{f', by {identity.author}' if identity.author else ''}")
        console.print(shown)

    return CommandResult(identity, show)


def add_engine(options: argparse.Namespace) -> CommandResult:
    file = _program_path(options.file)
    given = tuple(parse_pairs(options.set, "--set").items())
    limits: dict[str, Any] = {name: getattr(options, name) for name in ("startup", "patience", "memory")}
    engine = EngineSpec(file, tuple(options.argument), given, **_limit(options), **limits)
    with LeagueState(options.league) as state:
        game = options.game or next(iter(usi_engines.games()), "")
        identity = _identify(file, options)
        name = options.name or usi_engines.name_for(state.league, game, identity, file)
        agent = usi_engines.add_engine(state, name, game, engine, identity)
    plays = f"{agent.name} joined {options.league} to play {usi_engines.games()[game]}"
    hint = _path_hint(file, options.argument)

    def show() -> None:
        print_line(f"{plays}; it may run on this machine: {engine.line}")
        if hint:
            print_line(hint)

    return CommandResult({"agent": agent, "engine": engine}, show)


def _limit(options: argparse.Namespace) -> dict[str, Any]:
    """The limit per move: nodes or time; EngineSpec checks that only one is given."""
    nodes, seconds = options.nodes, options.movetime
    if nodes is None and seconds is None:
        raise BadValue("limit", None, "given: --nodes or --movetime")
    if nodes is not None:
        check_whole("--nodes", nodes, 1, MOST_NODES)
    if seconds is not None and not 0 < seconds <= LONGEST_MOVE:
        raise BadValue("--movetime", seconds, f"seconds above 0, and at most {LONGEST_MOVE:,.0f}")
    return {"nodes": nodes or 0, "movetime": seconds or 0.0}


def approve(options: argparse.Namespace) -> CommandResult:
    with open_read_only(options.league) as league:
        agent = league.agent(options.agent, options.game)
        engine = usi_engines.engine_in(league, agent)
        if options.yes:
            usi_engines.confirm(league, agent)
        confirmed = usi_engines.confirmed(league, agent)

    def show() -> None:
        print_line(f"{agent.name} runs: {engine.line}")
        for term in engine.terms:
            print_line(term)
        print_line(
            "Confirmed on this machine." if confirmed else "Not confirmed. If you trust this command, add --yes."
        )

    return CommandResult({"agent": agent, "engine": engine, "confirmed": confirmed}, show, 0 if confirmed else 1)
