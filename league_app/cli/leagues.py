"""League files and the agents in them."""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from engine.errors import BadValue
from engine.files import check_path, settle
from engine.league.storage import agent_file as bundles
from engine.league import standings as tables
from engine.league.storage.database import create
from engine.league.records import Agent
from engine.league.storage.league import League
from engine.play.match import GameSpec
from league_app.core import agent_files as travel
from league_app.cli.common import command, looking, topic
from league_app.cli import engines
from league_app.cli.replays import result_data
from league_app.core.state import LeagueState
from league_app.cli.output import Answer, as_data, console, line, many, table, words
from league_app.core.validation import unconfirmed, usual_info

RISKY = "=+-@\t\r"  # a spreadsheet would take what begins with one of these for a formula


def add(commands: Any) -> None:
    one = command(commands, "new", "a new league", new, ["new my.league --game pong", "new empty.league"])
    one.add_argument("league", help="a file name that ends in .league")
    one.add_argument("--game", action="append", default=[], help="enter the ready-made agents of this game")

    add_agents(topic(commands, "agents", "list, show, add, change, import, export and archive agents of a league"))

    one = command(
        commands,
        "export",
        "matches, standings or agents as a file for other programs",
        export,
        ["export csv my.league --to matches.csv", "export json my.league --what standings"],
    )
    one.add_argument("format", choices=("csv", "json"))
    one.add_argument("league")
    one.add_argument("--what", choices=("matches", "standings", "agents"), default="matches")
    one.add_argument("--tournament", help="by number or name (all; standings: of everything under the same rules)")
    one.add_argument("--game", help="for standings, if the league has several")
    one.add_argument("--to", type=Path, metavar="FILE", help="(standard output)")

    one = command(
        commands, "backup", "a copy of a league, also while it is in use", backup, ["backup my.league copy.league"]
    )
    one.add_argument("league")
    one.add_argument("file", type=Path)


def add_agents(under: Any) -> None:
    one = command(under, "list", "who is in a league", listing, ["agents list my.league --archived"])
    one.add_argument("league")
    one.add_argument("--game")
    one.add_argument("--archived", action="store_true", help="those that were put away too")
    one = command(under, "show", "all that is known about one", show, ["agents show my.league Tracker"])
    which(one)
    one = command(
        under,
        "add",
        "enter a ready-made agent, or one made of a payload",
        enter,
        [
            "agents add my.league Dice --game pong",
            """agents add my.league Sleepy --game pong --kind pong-bot --payload '{"style": "still"}'""",
        ],
    )
    which(one)
    one.add_argument("--kind", help="which kind plays it (see `list`); without it a ready-made one is entered")
    one.add_argument("--payload", default="", help="what it is made of: text, or @FILE")
    said(one)
    one = command(under, "edit", "change what is said about one", edit, ["agents edit my.league Tracker --name Old"])
    which(one)
    one.add_argument("--name", dest="new_name")
    said(one)
    one = command(
        under, "import", "enter the agent of an .agent file", bring, ["agents import my.league champion.agent"]
    )
    one.add_argument("league")
    one.add_argument("file", type=Path)
    one.add_argument("--name", help="under another name")
    one = command(
        under, "export", "write an agent as an .agent file", send, ["agents export my.league Tracker tracker.agent"]
    )
    which(one)
    one.add_argument("file", type=Path, nargs="?", help="(its name, with .agent)")
    one = command(
        under, "archive", "put an agent away; its matches stay", archive, ["agents archive my.league Old --undo"]
    )
    which(one)
    one.add_argument("--undo", action="store_true", help="fetch it back")
    engines.add(under)


def which(one: argparse.ArgumentParser) -> None:
    one.add_argument("league")
    one.add_argument("agent")
    one.add_argument("--game", help="if agents of several games have that name")


def said(one: argparse.ArgumentParser) -> None:
    one.add_argument("--notes", help="what there is to say about it")
    one.add_argument("--colour", metavar="RRGGBB", help="in charts")
    one.add_argument("--tag", action="append", metavar="TAG", help="may be given several times; replaces those it has")


def spoken(options: argparse.Namespace) -> dict[str, Any]:
    given = {"notes": options.notes, "colour": options.colour and options.colour.upper(), "tags": options.tag}
    return {name: value for name, value in given.items() if value is not None}


def new(options: argparse.Namespace) -> Answer:
    from engine.league.storage.database import SUFFIX
    from engine.registry import new_game

    if not options.league.endswith(SUFFIX):
        raise BadValue("league", options.league, f"a name that ends in {SUFFIX}")
    for game in options.game:
        new_game(game)  # told before there is a file
    create(Path(options.league))
    with LeagueState(options.league) as state:
        added = [agent for game in dict.fromkeys(options.game) for agent in state.add_samples(game)]
        path = state.league.path
    who = f" with {many(len(added), 'agent')}: {', '.join(agent.name for agent in added)}" if added else ""
    return Answer({"league": str(path), "agents": added}, lambda: line(f"{options.league} is there{who}"))


def listing(options: argparse.Namespace) -> Answer:
    with looking(options.league) as league:
        found = league.agents(options.game, options.archived)
        barred = unconfirmed(league, found)
    shown = table("agent", "game", "kind", "origin", "tags", *(["archived"] if options.archived else []))
    for one in found:
        cells: list[str | Text] = [words(one.name, "bold"), one.game, one.kind]
        cells += [words(one.origin), words(", ".join(one.tags))]
        shown.add_row(*cells, *(["yes" if one.archived is not None else ""] if options.archived else []))
    nobody = "nobody is in it yet: `ringside agents add`"

    def show() -> None:
        console.print(shown) if found else line(nobody)
        tell_unconfirmed(options.league, barred)

    return Answer(found, show)


def tell_unconfirmed(league: str, barred: Sequence[Agent]) -> None:
    for one in barred:
        how = f"`ringside agents approve {league} {one.name!r}`"
        line(f"{one.name} does not run yet: it is a program that nobody has confirmed on this machine ({how})")


def show(options: argparse.Namespace) -> Answer:
    with looking(options.league) as league:
        agent = league.agent(options.agent, options.game)
        payload, barred = league.payload(agent.payload), unconfirmed(league, [agent])
        pools = [tables.standings(league, game) for game in league.pools().values() if game.name == agent.game]
        rows = [(one.game, row) for one in pools for row in one.rows if row.agent == agent.id and row.total.played]

    def shown() -> None:
        for name, value in as_data(agent).items():
            told = ", ".join(value) if isinstance(value, list) else value
            if name in ("created", "archived") and value:
                told = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(value))
            if told not in ("", None):
                line(f"{name}: {told}")
        line(f"made of {len(payload):,} bytes{': ' + repr(payload)[2:-1] if len(payload) < 400 else ''}")
        tell_unconfirmed(options.league, barred)
        for game, row in rows:
            options_told = ", ".join(f"{name} {value}" for name, value in game.options)
            total = row.total
            line(
                f"{game.name} ({options_told}): {row.rating:.0f} ±{row.error:.0f}, "
                f"{total.wins}-{total.draws}-{total.losses}"
            )

    data = {"agent": agent, "payload_bytes": len(payload)}
    return Answer(data | {"pools": [{"game": game, "row": row} for game, row in rows]}, shown)


def enter(options: argparse.Namespace) -> Answer:
    with LeagueState(options.league) as state:
        game = options.game or only_game(state)
        if options.kind is None:
            if options.payload:
                raise BadValue("--payload", options.payload, "with --kind: which kind plays it?")
            [agent] = state.add_samples(game, [options.agent])
            given = spoken(options)
            agent = state.league.change_agent(agent.id, **given) if given else agent
        else:
            payload = payload_of(options.payload)
            agent = state.add_agent(
                options.agent, game, options.kind, payload, origin="added by hand", **spoken(options)
            )
    return Answer(agent, lambda: line(f"{agent.name} is in {options.league}"))


def only_game(state: LeagueState) -> str:
    games = list(dict.fromkeys(agent.game for agent in state.agents()))
    if len(games) != 1:
        raise BadValue("--game", None, "given, such as --game pong")
    return games[0]


def payload_of(text: str) -> bytes:
    if not text.startswith("@"):
        return text.encode(errors="surrogateescape")
    try:
        return check_path("--payload", text[1:]).read_bytes()
    except OSError as error:
        raise BadValue("--payload", text, f"a file that can be read ({error.strerror})") from None


def edit(options: argparse.Namespace) -> Answer:
    given = spoken(options)
    if options.new_name is not None:
        given["name"] = options.new_name
    if not given:
        raise BadValue("changes", None, "given: --name, --notes, --colour or --tag")
    with League(options.league) as league:
        agent = league.change_agent(league.agent(options.agent, options.game).id, **given)
    return Answer(agent, lambda: line(f"{agent.name} is changed"))


def bring(options: argparse.Namespace) -> Answer:
    one = bundles.load(options.file)
    with League(options.league) as league:
        agent = travel.enter(league, one, options.file, options.name or one.name)
        barred = unconfirmed(league, [agent])

    def show() -> None:
        line(f"{agent.name} is in {options.league}")
        tell_unconfirmed(options.league, barred)

    return Answer(agent, show)


def send(options: argparse.Namespace) -> Answer:
    with looking(options.league) as league:
        agent = league.agent(options.agent, options.game)
        target = travel.send_one(league, agent, Path(options.file or travel.file_name(agent.name) + ".agent"))
    return Answer({"file": str(target), "agent": agent}, lambda: line(f"{agent.name} is written to {target}"))


def archive(options: argparse.Namespace) -> Answer:
    with LeagueState(options.league) as state:
        agent = state.archive(options.agent, options.undo, options.game)
    hint = "is back" if options.undo else "is archived; --undo fetches it back"
    return Answer(agent, lambda: line(f"{agent.name} {hint}"))


def backup(options: argparse.Namespace) -> Answer:
    with looking(options.league) as league:
        league.backup(options.file)
    return Answer({"backup": str(options.file)}, lambda: line(f"{options.league} is copied to {options.file}"))


# Export


def export(options: argparse.Namespace) -> Answer:
    """Written row by row: a league may be larger than memory."""
    if options.to is not None:
        check_path("--to", options.to)
    if options.to is None:
        return Answer(None, lambda: sys.stdout.writelines(exported(options)), raw=True)
    write_lines(options.to, exported(options))
    return Answer({"file": str(options.to)}, lambda: line(f"written to {options.to}"))


def exported(options: argparse.Namespace) -> Iterator[str]:
    with looking(options.league) as league:
        number = league.tournament(options.tournament).number if options.tournament is not None else None
        if options.what == "agents":
            rows: Iterator[dict[str, Any]] = (as_data(agent) for agent in league.agents(archived=True))
        elif options.what == "standings":
            rows = standing_rows(options, number or 0)
        else:
            rows = match_rows(league, number)
        yield from csv_lines(rows) if options.format == "csv" else json_lines(rows)


def write_lines(path: Path, lines: Iterator[str], field: str = "--to") -> None:
    """Whole, or not at all."""
    try:
        with tempfile.TemporaryDirectory(prefix=".ringside-", dir=path.absolute().parent) as folder:
            made = Path(folder) / "export"
            with made.open("w", encoding="utf-8", errors="replace", newline="") as file:
                file.writelines(lines)
            settle(made, path)
    except OSError as error:
        raise BadValue(field, str(path), f"a file that can be written ({error.strerror})") from None


def standing_rows(options: argparse.Namespace, number: int) -> Iterator[dict[str, Any]]:
    with LeagueState(options.league, read_only=True) as state:
        yield from standing_lines(state.standings(options.game, number))


def standing_lines(told: tables.Standings) -> Iterator[dict[str, Any]]:
    for place, row in enumerate(told.rows, 1):
        total = row.total
        yield {
            "place": place,
            "agent": row.name,
            "rating": row.rating if total.played else None,
            "error": row.error if total.played else None,
            "wins": total.wins,
            "draws": total.draws,
            "losses": total.losses,
            "scored": total.scored,
            "conceded": total.conceded,
            "forfeits": sum(row.forfeits.values()),
        }


def match_rows(league: League, number: int | None) -> Iterator[dict[str, Any]]:
    names, kept = league.names(), dict[GameSpec, tuple[str, ...]]()
    for one in tables.every_match(league, number):
        if one.spec.game not in kept:
            info = usual_info(one.spec.game)
            kept[one.spec.game] = info.stats if info is not None else ()
        told = as_data(result_data(one.result))
        row: dict[str, Any] = {"match": one.reference, "game": one.spec.game.name, "seed": str(one.spec.seed)}
        row |= {"start": one.spec.start, "at": one.at, "ending": one.result.ending.kind.value}
        row |= {name: told[name] for name in ("steps", "repeatable", "duration", "digest")}
        row |= {"blamed": " ".join(map(str, one.result.ending.seats)), "reason": one.result.ending.reason}
        for seat, player in enumerate(one.result.players):
            row |= {
                f"player{seat}": names[player],
                f"score{seat}": told["scores"][seat],
                f"rank{seat}": told["ranks"][seat],
            }
            row |= {
                f"{stat}{seat}": value for stat, value in zip(kept[one.spec.game], told["stats"][seat], strict=False)
            }
        yield row


def csv_lines(rows: Iterator[dict[str, Any]]) -> Iterator[str]:
    """With a heading; what a spreadsheet would take for a formula is marked as text."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    headings: list[str] = []
    for row in rows:
        if not headings:
            headings = list(row)
            writer.writerow(headings)
        writer.writerow([_cell(row.get(name)) for name in headings])
        yield out.getvalue()
        out.seek(0)
        out.truncate()


def json_lines(rows: Iterator[dict[str, Any]]) -> Iterator[str]:
    """A list, an object on each line."""
    before = "[\n"
    for row in rows:
        yield before + json.dumps(row, allow_nan=False)
        before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"


def _cell(value: object) -> object:
    if isinstance(value, list | dict):
        value = json.dumps(value, ensure_ascii=False)
    if isinstance(value, str) and value[:1] in RISKY and value:
        return f"'{value}"
    return value
