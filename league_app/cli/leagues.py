"""Commands for league files and their agents."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from rich.text import Text

from engine.clock import local_text
from engine.errors import BadValue
from engine.files import read_file
from engine.league import standings
from engine.league.records import LARGEST_PAYLOAD, Agent
from engine.league.storage import agent_file
from engine.league.storage.database import SUFFIX
from engine.league.storage.league import League
from engine.league.storage.new_database import create
from engine.play.match import GameSpec
from engine.registry import describe_agent, new_game
from league_app.cli import engines
from league_app.cli.common import add_overwrite_option, command, open_read_only, parse_pairs, topic
from league_app.cli.output import CommandResult, console, plural, print_line, safe_text, table
from league_app.core import agent_files
from league_app.core.export import (
    STANDING_COLUMNS,
    as_data,
    csv_lines,
    json_lines,
    match_lines,
    standing_lines,
    write_lines,
)
from league_app.core.state import LeagueState
from league_app.core.validation import unconfirmed


def add(commands: Any) -> None:
    parser = command(commands, "new", "create a league", new, ["new my.league --game pong", "new empty.league"])
    parser.add_argument("league", help="a file name that ends in .league")
    parser.add_argument(
        "--game", action="append", default=[], help="add the ready-made agents of this game; repeatable"
    )

    add_agents(topic(commands, "agents", "list, show, add, change, import, export and archive agents of a league"))

    parser = command(
        commands,
        "export",
        "export matches, standings or agents as CSV or JSON",
        export,
        ["export csv my.league --to matches.csv", "export json my.league --what standings"],
    )
    parser.add_argument("format", choices=("csv", "json"))
    parser.add_argument("league")
    parser.add_argument(
        "--what", choices=("matches", "standings", "agents"), default="matches", help="(default: matches)"
    )
    parser.add_argument("--tournament", help="number or name (default: all; for standings, all with the same rules)")
    parser.add_argument("--game", help="game of the standings, if the league has several games")
    parser.add_argument("--to", type=Path, metavar="FILE", help="file to write (default: standard output)")
    add_overwrite_option(parser)

    parser = command(
        commands, "backup", "copy a league, also while it is in use", backup, ["backup my.league copy.league"]
    )
    parser.add_argument("league")
    parser.add_argument("file", type=Path)


def add_agents(under: Any) -> None:
    parser = command(under, "list", "list the agents of a league", listing, ["agents list my.league --archived"])
    parser.add_argument("league")
    parser.add_argument("--game", help="only agents of this game")
    parser.add_argument("--archived", action="store_true", help="include archived agents")
    parser = command(under, "show", "show the details of an agent", show, ["agents show my.league Tracker"])
    add_agent_arguments(parser)
    parser = command(
        under,
        "add",
        "add a ready-made agent, or one with a kind and a payload",
        add_agent,
        [
            "agents add my.league Dice --game pong",
            """agents add my.league Sleepy --game pong --kind pong-bot --payload '{"style": "still"}'""",
            "agents add my.league Deep --game pong --kind net --payload @deep.safetensors --set temperature=0.5",
            "agents add my.league Guest --game pong --kind onnx --payload @policy.onnx",
            "agents add my.league Dice --game pettingzoo:pistonball_v6 -o n_pistons=5 -o continuous=false",
        ],
    )
    add_agent_arguments(parser)
    parser.add_argument(
        "--option", "-o", action="append", default=[], metavar="NAME=VALUE", help="an option of the game it must play"
    )
    parser.add_argument("--kind", help="agent kind (see `list`); without it, AGENT names a ready-made agent")
    parser.add_argument("--payload", default="", help="data that the kind builds the agent from: text, or @FILE")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of the kind, such as temperature=0.5 of a network; repeatable",
    )
    add_detail_arguments(parser)
    parser = command(
        under,
        "edit",
        "change an agent's name, notes, colour or tags",
        edit,
        ["agents edit my.league Tracker --name Old"],
    )
    add_agent_arguments(parser)
    parser.add_argument("--name", dest="new_name", metavar="NAME", help="new name")
    add_detail_arguments(parser)
    add_file_commands(under)
    parser = command(
        under, "archive", "archive an agent; its matches stay", archive, ["agents archive my.league Old --undo"]
    )
    add_agent_arguments(parser)
    parser.add_argument("--undo", action="store_true", help="restore an archived agent")
    engines.add(under)


def add_file_commands(under: Any) -> None:
    parser = command(
        under, "import", "add the agent of an .agent file", import_agent, ["agents import my.league champion.agent"]
    )
    parser.add_argument("league")
    parser.add_argument("file", type=Path)
    parser.add_argument("--name", help="name in the league (default: the name in the file)")
    parser = command(
        under,
        "export",
        "write an agent to an .agent file, or a network to an ONNX file",
        export_agent,
        ["agents export my.league Tracker tracker.agent", "agents export my.league Deep deep.onnx --onnx"],
    )
    add_agent_arguments(parser)
    parser.add_argument(
        "file", type=Path, nargs="?", help="file to write (default: the agent's name, with .agent or .onnx)"
    )
    parser.add_argument("--onnx", action="store_true", help="write a network for other programs, in ONNX")
    add_overwrite_option(parser)


def add_agent_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("league")
    parser.add_argument("agent")
    parser.add_argument("--game", help="game of the agent, if agents of several games have that name")


def add_detail_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--notes", help="text for the agent's page")
    parser.add_argument("--colour", metavar="RRGGBB", help="colour in charts")
    parser.add_argument("--tag", action="append", metavar="TAG", help="tag; repeatable; replaces the existing tags")


def given_details(options: argparse.Namespace) -> dict[str, Any]:
    given = {"notes": options.notes, "colour": options.colour and options.colour.upper(), "tags": options.tag}
    return {name: value for name, value in given.items() if value is not None}


def new(options: argparse.Namespace) -> CommandResult:
    if not options.league.endswith(SUFFIX):
        raise BadValue("league", options.league, f"a name that ends in {SUFFIX}")
    for game in options.game:
        new_game(game)  # an unknown game is reported before the file is created
    create(Path(options.league))
    with LeagueState(options.league) as state:
        added = [agent for game in dict.fromkeys(options.game) for agent in state.add_samples(game)]
        path = state.league.path
    agents_text = f" with {plural(len(added), 'agent')}: {', '.join(agent.name for agent in added)}" if added else ""
    return CommandResult(
        {"league": str(path), "agents": added}, lambda: print_line(f"created {options.league}{agents_text}")
    )


def listing(options: argparse.Namespace) -> CommandResult:
    with open_read_only(options.league) as league:
        agents = league.agents(options.game, options.archived)
        unconfirmed_agents = unconfirmed(league, agents)
    shown = table("agent", "game", "kind", "origin", "tags", *(["archived"] if options.archived else []))
    for agent in agents:
        cells: list[str | Text] = [safe_text(agent.name, "bold"), agent.game, agent.kind]
        cells += [safe_text(agent.origin), safe_text(", ".join(agent.tags))]
        shown.add_row(*cells, *(["yes" if agent.archived is not None else ""] if options.archived else []))
    no_agents = "no agents yet: `ringside agents add` adds one"

    def show() -> None:
        console.print(shown) if agents else print_line(no_agents)
        print_unconfirmed(options.league, unconfirmed_agents)

    return CommandResult(agents, show)


def print_unconfirmed(league: str, agents: Sequence[Agent]) -> None:
    for agent in agents:
        how = f"`ringside agents approve {league} {agent.name!r}`"
        print_line(f"{agent.name} cannot run yet: its program is not confirmed on this machine ({how})")


def show(options: argparse.Namespace) -> CommandResult:
    with open_read_only(options.league) as league:
        agent = league.agent(options.agent, options.game)
        payload, unconfirmed_agents = league.payload(agent.payload), unconfirmed(league, [agent])
        facts = describe_agent(league.spec(agent.id))
        pools = [standings.standings(league, game) for game in league.pools().values() if game.name == agent.game]
        rows = [(pool.game, row) for pool in pools for row in pool.rows if row.agent == agent.id and row.total.played]

    def shown() -> None:
        for name, value in as_data(agent).items():
            text = ", ".join(value) if isinstance(value, list) else value
            if name in ("created", "archived") and value:
                text = local_text(value, "%Y-%m-%d %H:%M:%S")
            if text not in ("", None):
                print_line(f"{name}: {text}")
        for name, fact in facts:
            print_line(f"{name.lower()}: {fact}")
        content = f": {repr(payload)[2:-1]}" if len(payload) < 400 and not facts else ""
        print_line(f"payload: {len(payload):,} bytes{content}")
        print_unconfirmed(options.league, unconfirmed_agents)
        for game, row in rows:
            settings = ", ".join(f"{name} {value}" for name, value in game.options)
            total = row.total
            print_line(
                f"{game.name} ({settings}): {row.rating:.0f} ±{row.error:.0f}, "
                f"{total.wins}-{total.draws}-{total.losses}"
            )

    data = {"agent": agent, "payload_bytes": len(payload), "facts": dict(facts)}
    return CommandResult(data | {"pools": [{"game": game, "row": row} for game, row in rows]}, shown)


def add_agent(options: argparse.Namespace) -> CommandResult:
    with LeagueState(options.league) as state:
        game: str | GameSpec = options.game or only_game(state)
        if options.option:
            game = new_game(str(game), parse_pairs(options.option, "--option")).spec
        if options.kind is None:
            if options.payload:
                raise BadValue("--payload", options.payload, "used with --kind")
            if options.set:
                raise BadValue("--set", options.set[0], "used with --kind")
            [agent] = state.add_samples(game, [options.agent])
            given = given_details(options)
            agent = state.league.change_agent(agent.id, **given) if given else agent
        else:
            payload, settings = read_payload(options.payload), parse_pairs(options.set, "--set")
            details = {"origin": "added by hand", **given_details(options)}
            try:
                agent = state.add_agent(options.agent, game, options.kind, payload, settings, **details)
            except BadValue as error:
                text = options.payload
                if error.field == "payload" and not text.startswith("@") and os.path.isfile(text):
                    raise BadValue("--payload", text, f"'@{text}' to read the file of this name") from None
                raise
    return CommandResult(agent, lambda: print_line(f"{agent.name} joined {options.league}"))


def only_game(state: LeagueState) -> str:
    games = list(dict.fromkeys(agent.game for agent in state.agents()))
    if len(games) != 1:
        raise BadValue("--game", None, "given, such as --game pong")
    return games[0]


def read_payload(text: str) -> bytes:
    if not text.startswith("@"):
        return text.encode(errors="surrogateescape")
    return read_file(text[1:], LARGEST_PAYLOAD, "--payload")


def edit(options: argparse.Namespace) -> CommandResult:
    given = given_details(options)
    if options.new_name is not None:
        given["name"] = options.new_name
    if not given:
        raise BadValue("changes", None, "given: --name, --notes, --colour or --tag")
    with League(options.league) as league:
        agent = league.change_agent(league.agent(options.agent, options.game).id, **given)
    return CommandResult(agent, lambda: print_line(f"{agent.name} changed"))


def import_agent(options: argparse.Namespace) -> CommandResult:
    loaded = agent_file.load(options.file)
    with League(options.league) as league:
        agent = agent_files.add_from_file(league, loaded, options.file, options.name or loaded.name)
        unconfirmed_agents = unconfirmed(league, [agent])

    def show() -> None:
        print_line(f"{agent.name} joined {options.league}")
        print_unconfirmed(options.league, unconfirmed_agents)

    return CommandResult(agent, show)


def export_agent(options: argparse.Namespace) -> CommandResult:
    with open_read_only(options.league) as league:
        agent = league.agent(options.agent, options.game)
        format = "onnx" if options.onnx else "agent"
        file = Path(options.file or f"{agent_files.file_name(agent.name)}.{format}")
        if options.onnx:
            target = agent_files.export_format(league, agent, format, file, options.overwrite)
        else:
            target = agent_files.export_agent(league, agent, file, options.overwrite)
    return CommandResult({"file": str(target), "agent": agent}, lambda: print_line(f"{agent.name} written to {target}"))


def archive(options: argparse.Namespace) -> CommandResult:
    with LeagueState(options.league) as state:
        agent = state.archive(options.agent, options.undo, options.game)
    hint = "restored" if options.undo else "archived; --undo restores it"
    return CommandResult(agent, lambda: print_line(f"{agent.name} {hint}"))


def backup(options: argparse.Namespace) -> CommandResult:
    with open_read_only(options.league) as league:
        league.backup(options.file)
    return CommandResult(
        {"backup": str(options.file)}, lambda: print_line(f"{options.league} copied to {options.file}")
    )


# Export


def export(options: argparse.Namespace) -> CommandResult:
    """Exports row by row: a league may be larger than memory."""
    if options.to is None:
        return CommandResult(None, lambda: sys.stdout.writelines(export_lines(options)), raw=True)
    write_lines(options.to, export_lines(options), options.overwrite, "--to")
    return CommandResult({"file": str(options.to)}, lambda: print_line(f"written to {options.to}"))


def export_lines(options: argparse.Namespace) -> Iterator[str]:
    with open_read_only(options.league) as league:
        number = league.tournament(options.tournament).number if options.tournament is not None else None
        if options.what == "matches":
            yield from match_lines(league, number, options.format)
            return
        columns = STANDING_COLUMNS if options.what == "standings" else [field.name for field in fields(Agent)]
        if options.what == "standings":
            rows = standing_rows(options, number or 0)
        else:
            rows = (as_data(agent) for agent in league.agents(archived=True))
        yield from csv_lines(columns, rows) if options.format == "csv" else json_lines(rows)


def standing_rows(options: argparse.Namespace, number: int) -> Iterator[dict[str, Any]]:
    with LeagueState(options.league, read_only=True) as state:
        yield from standing_lines(state.standings(options.game, number))
