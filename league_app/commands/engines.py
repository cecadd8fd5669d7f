"""External engines: asked who they are, entered into a league, confirmed on this machine."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from agents.usi.payload import Engine
from agents.usi.protocol import Identity
from engine.errors import BadValue
from league_app import engines
from league_app.commands import command, looking, pairs_of
from league_app.state import LeagueState
from league_app.terminal import Answer, console, line, table, words

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
    one.add_argument("--nodes", type=int, default=0, help="positions to search for a move: repeatable")
    one.add_argument("--movetime", type=float, default=0.0, metavar="SECONDS", help="time for a move: not repeatable")
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
    one.add_argument("file", type=Path, help="the program")
    one.add_argument("--argument", action="append", default=[], metavar="TEXT", help="given to it, as in --argument=-v")
    one.add_argument("--startup", type=float, default=30.0, metavar="SECONDS", help="until it must be ready (30)")


def _asked(options: argparse.Namespace) -> Identity:
    return engines.ask(options.file, tuple(options.argument), options.startup)


def ask(options: argparse.Namespace) -> Answer:
    found = _asked(options)
    shown = table("option", "type", "default", "from", "to", "choices")
    for one in found.options:
        ends = ["" if end is None else str(end) for end in (one.low, one.high)]
        shown.add_row(words(one.name, "bold"), one.kind, words(one.default), *ends, words(", ".join(one.choices)))

    def show() -> None:
        line(f"{found.name or 'It does not say its name'}{f', by {found.author}' if found.author else ''}")
        console.print(shown)

    return Answer(found, show)


def enter(options: argparse.Namespace) -> Answer:
    given = tuple(pairs_of(options.set, "--set").items())
    limit: dict[str, Any] = {"nodes": options.nodes, "movetime": options.movetime}
    if not options.nodes and not options.movetime:
        raise BadValue("limit", None, "given: --nodes or --movetime")
    more: dict[str, Any] = {name: getattr(options, name) for name in ("startup", "patience", "memory")}
    engine = Engine(engines.whole_path(options.file), tuple(options.argument), given, **limit, **more)
    with LeagueState(options.league) as state:
        game = options.game or next(iter(engines.games()), "")
        found = _asked(options)
        name = options.name or engines.name_for(state.league, game, found, options.file)
        agent = engines.enter(state, name, game, engine, found)
    told = f"{agent.name} is in {options.league}, and may run on this machine: {engine.line}"
    return Answer({"agent": agent, "engine": engine}, lambda: line(told))


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
