"""External engines: asked who they are, entered into a league, confirmed on this machine."""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Sequence
from typing import Any

from agents.usi.engine_spec import LONGEST_MOVE, MOST_NODES, Engine
from agents.usi.protocol import Identity
from engine.errors import BadValue, RingsideError
from league_app.core import usi_engines as engines
from league_app.cli.common import check_whole, command, looking, pairs_of
from league_app.core.state import LeagueState
from league_app.cli.output import Answer, console, line, table, words

FAIRY = "/usr/games/fairy-stockfish"


def add(under: Any) -> None:
    one = command(
        under, "ask", "start an engine, ask who it is and what it can be set to", ask, [f"agents ask {FAIRY}"]
    )
    _program(one)
    one = command(
        under,
        "engine",
        "enter an external engine that speaks USI; it may run on this machine from then on",
        enter,
        [
            f"agents engine my.league {FAIRY} --nodes 500",
            f"agents engine my.league {FAIRY} --name Quick --movetime 0.5 --set 'Skill Level=5'",
        ],
    )
    one.add_argument("league")
    _program(one)
    one.add_argument("--name", help="(what it calls itself)")
    one.add_argument("--game", help="(the one that engines play)")
    one.add_argument("--nodes", type=int, help="positions to search for a move: repeatable")
    one.add_argument("--movetime", type=float, metavar="SECONDS", help="time for a move: not repeatable")
    one.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="an option of the engine")
    one.add_argument("--patience", type=float, default=30.0, metavar="SECONDS", help="until it has stalled (30)")
    one.add_argument("--memory", type=int, default=4096, metavar="MB", help="that it may take (4096)")
    one = command(
        under,
        "approve",
        "let an engine that came from elsewhere run on this machine; shows its whole command first",
        approve,
        ["agents approve my.league Fairy", "agents approve my.league Fairy --yes"],
    )
    one.add_argument("league")
    one.add_argument("agent")
    one.add_argument("--game", help="if agents of several games have that name")
    one.add_argument("--yes", action="store_true", help="I have seen the command, and trust it")


def _program(one: argparse.ArgumentParser) -> None:
    one.add_argument("file", help="the program: its path, or its name if it is on the PATH")
    one.add_argument(
        "--argument",
        action="append",
        default=[],
        metavar="TEXT",
        help="given to it, as in --argument=-v; a file in it is looked up in the program's folder: give its whole path",
    )
    one.add_argument("--startup", type=float, default=30.0, metavar="SECONDS", help="until it must be ready (30)")


def _found(typed: str) -> str:
    """The whole path of a program; one named without its folder may be anywhere on the PATH, as in a shell."""
    path = engines.whole_path(typed)
    if os.path.exists(path):
        return path
    if os.path.basename(typed) != typed:
        raise BadValue("engine", path, "a program; there is no such file")
    elsewhere = shutil.which(typed)
    if elsewhere is None:
        told = "a program: there is no such file here, and none of that name on the PATH: give its path"
        raise BadValue("engine", typed, told)
    return os.path.abspath(elsewhere)


def _asked(file: str, options: argparse.Namespace) -> Identity:
    try:
        return engines.ask(file, tuple(options.argument), options.startup)
    except BadValue as error:
        hint = _elsewhere(file, options.argument)
        raise RingsideError(f"{error}; {hint}") if hint else error from None


def _elsewhere(file: str, arguments: Sequence[str]) -> str:
    """What to say about files that are here, where the program does not look for them."""
    folder = os.path.dirname(file)
    named = [part for one in arguments for part in (one, one.partition("=")[2]) if part]
    missed = [one for one in named if os.path.isfile(one) and not os.path.exists(os.path.join(folder, one))]
    return f"arguments are looked up in {folder}: give the whole path of {missed[0]!r}" if missed else ""


def ask(options: argparse.Namespace) -> Answer:
    found = _asked(_found(options.file), options)
    shown = table("option", "type", "default", "from", "to", "choices")
    for one in found.options:
        ends = ["" if end is None else str(end) for end in (one.low, one.high)]
        shown.add_row(words(one.name, "bold"), one.kind, words(one.default), *ends, words(", ".join(one.choices)))

    def show() -> None:
        line(f"{found.name or 'It does not say its name'}{f', by {found.author}' if found.author else ''}")
        console.print(shown)

    return Answer(found, show)


def enter(options: argparse.Namespace) -> Answer:
    file = _found(options.file)
    given = tuple(pairs_of(options.set, "--set").items())
    more: dict[str, Any] = {name: getattr(options, name) for name in ("startup", "patience", "memory")}
    engine = Engine(file, tuple(options.argument), given, **_limit(options), **more)
    with LeagueState(options.league) as state:
        game = options.game or next(iter(engines.games()), "")
        found = _asked(file, options)
        name = options.name or engines.name_for(state.league, game, found, file)
        agent = engines.enter(state, name, game, engine, found)
    plays = f"{agent.name} plays {engines.games()[game]} in {options.league}"
    hint = _elsewhere(file, options.argument)

    def show() -> None:
        line(f"{plays}, and may run on this machine: {engine.line}")
        if hint:
            line(hint)

    return Answer({"agent": agent, "engine": engine}, show)


def _limit(options: argparse.Namespace) -> dict[str, Any]:
    """How long it may think for a move: one of the two, as `Engine` makes sure."""
    nodes, seconds = options.nodes, options.movetime
    if nodes is None and seconds is None:
        raise BadValue("limit", None, "given: --nodes or --movetime")
    if nodes is not None:
        check_whole("--nodes", nodes, 1, MOST_NODES)
    if seconds is not None and not 0 < seconds <= LONGEST_MOVE:
        raise BadValue("--movetime", seconds, f"seconds above 0, and at most {LONGEST_MOVE:,.0f}")
    return {"nodes": nodes or 0, "movetime": seconds or 0.0}


def approve(options: argparse.Namespace) -> Answer:
    with looking(options.league) as league:
        agent = league.agent(options.agent, options.game)
        engine = engines.engine_in(league, agent)
        if options.yes:
            engines.confirm(league, agent)
        confirmed = engines.confirmed(league, agent)

    def show() -> None:
        line(f"{agent.name} runs: {engine.line}")
        for one in engine.terms:
            line(one)
        line("It is confirmed on this machine." if confirmed else "Not confirmed yet: if you trust it, add --yes.")

    return Answer({"agent": agent, "engine": engine, "confirmed": confirmed}, show, 0 if confirmed else 1)
