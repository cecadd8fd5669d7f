"""Helpers shared by all commands.

Each topic module has `add(commands)`, which declares its commands. A command is a function from the parsed options to a
`CommandResult`; `command` adds `--json` and the examples.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from agents.usi.transcript import FOLDER
from engine.errors import BadSpec, BadValue, LeagueGone, NotNow, RingsideError, UnknownName
from engine.files import check_path
from engine.game import Game
from engine.league.records import NAME_LENGTH
from engine.league.storage.league import League
from engine.league.storage.rescue import rescue
from engine.play.executors import DEFAULT, check_executor_name
from engine.play.match import SEED_LIMIT, AgentSpec
from engine.registry import EXECUTORS, KINDS, agents_for, new_game, usual_game
from engine.temporary import private_folder
from league_app.cli.output import CommandResult, print_line, program_name
from league_app.core.exhibitions import IN_WINDOW
from league_app.core.formatting import join_names
from league_app.core.state import LeagueState
from league_app.core.validation import check_playable

Run = Callable[[argparse.Namespace], CommandResult]
MAX_LOGS = 4  # engine logs that are listed one by one


def command(
    commands: Any, name: str, help: str, run: Run, examples: Sequence[str] = (), **more: Any
) -> argparse.ArgumentParser:
    """Adds the parser of one command."""
    epilog = "examples:\n" + "\n".join(f"  {program_name()} {example}" for example in examples) if examples else None
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=help,
        description=help[0].upper() + help[1:] + ".",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        **more,
    )
    parser.set_defaults(run=run, parser=parser)
    for kind, needed in ((int, "a whole number"), (float, "a number")):
        parser.register("type", kind, partial(_number, kind, needed))  # argparse says "invalid int value"
    parser.add_argument("--json", action="store_true", help="print JSON to standard output")
    return parser


def _number(kind: type[int] | type[float], needed: str, text: str) -> float:
    try:
        return kind(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} must be {needed}") from None


def topic(commands: Any, name: str, help: str) -> Any:
    """Adds a command that has subcommands."""
    parser = commands.add_parser(name, help=help, description=help[0].upper() + help[1:] + ".")
    return parser.add_subparsers(title="commands", metavar="COMMAND", required=True)


def open_read_only(path: str) -> League:
    """Opens a league read-only, which works while another process writes to it."""
    return League(path, read_only=True)


@contextmanager
def to_play(state: LeagueState) -> Iterator[LeagueState]:
    """Closes the league after the block, in which a run is played. If its file is gone by then, a copy is made of what
    was saved, and the error says where."""
    with state:
        try:
            yield state
            state.league.file.check_in_place()
        except LeagueGone as error:
            if private_folder() in state.league.path.parents:  # the league is deleted now in any case
                raise
            raise LeagueGone(f"{error}. {_rescued(state.league)}") from None


def _rescued(league: League) -> str:
    try:
        return f"Everything that was saved before is in {rescue(league.file)}: continue there"
    except (RingsideError, OSError) as error:
        return f"What was saved before is lost, because it could not be copied ({error})"


def find_ready_made(game: Game, name: str) -> AgentSpec:
    """Finds a ready-made agent by name, or builds one from kind:payload."""
    kinds = agents_for(game)
    kind, colon, payload = name.partition(":")
    if colon:
        if kind not in kinds:
            raise UnknownName(f"agent kind for {game.spec.name}", kind, kinds)
        spec = AgentSpec(name, kind, payload.encode(errors="surrogateescape"), KINDS.get(kind).version)
        check_playable(spec, game.spec.name)
        return spec
    found = [agent for agents in kinds.values() for agent in agents if agent.id == name]
    if not found and (problem := KINDS.problems.get(name)):
        raise RingsideError(problem)
    if not found and name in kinds and KINDS.get(name).live:
        raise NotNow(f"{name!r} is a human player: {IN_WINDOW}")
    if not found and _plays_defaults(game, name):
        changed = dict(game.spec.options).items() - dict(new_game(game.spec.name).spec.options).items()
        settings = ", ".join(sorted(f"{option}={value}" for option, value in changed))
        raise BadSpec(f"{name!r} plays {game.spec.name} with its default options, but not with {settings}")
    if not found:
        raise UnknownName(
            f"agent for {game.spec.name}", name, [agent.id for agents in kinds.values() for agent in agents]
        )
    if len(found) > 1:
        offered = " and ".join(agent.kind for agent in found)
        raise BadValue("agent", name, f"one agent, but {offered} offer one of that name; use kind:payload")
    return found[0]


def _plays_defaults(game: Game, name: str) -> bool:
    """Whether a ready-made agent of that name plays the game with its default options."""
    usual = usual_game(game.spec.name)
    found = agents_for(usual) if usual is not None else {}
    return any(agent.id == name for agents in found.values() for agent in agents)


def parse_pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """Parses repeated NAME=VALUE arguments."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise BadValue(option, text, "NAME=VALUE")
        if name in found:
            raise BadValue(option, text, f"given once for {name}")
        found[name] = value
    return found


def joint_name(first: str, second: str) -> str:
    """The name of a tournament between two agents."""
    return f"{first} - {second}"[:NAME_LENGTH].strip()


def check_whole(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise BadValue(name, value, f"from {low:,} to {high:,}")


def seed_argument(options: argparse.Namespace) -> dict[str, int]:
    """The seed argument, if given; without it every tournament gets its own seed."""
    if options.seed is None:
        return {}
    check_seed(options.seed)
    return {"seed": options.seed}


def check_seed(seed: int) -> None:
    if not 0 <= seed < SEED_LIMIT:
        raise BadValue("--seed", seed, "from 0 to 2**64 - 1")


def add_executor_option(parser: argparse.ArgumentParser) -> None:
    """Adds `--on`: the executor that plays the matches."""
    parser.add_argument(
        "--on",
        type=_executor_name,
        metavar="NAME",
        help=f"where to play: {', '.join(EXECUTORS.names())} (default: as the league says, or {DEFAULT})",
    )


def _executor_name(text: str) -> str:
    """Checks the name before anything is opened or created."""
    try:
        check_executor_name(text)
    except RingsideError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def add_overwrite_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--overwrite", action="store_true", help="replace an existing file; a league is never replaced")


def add_log_option(parser: argparse.ArgumentParser) -> None:
    """Adds `--log` to a command and wraps its function."""
    parser.add_argument(
        "--log", type=Path, metavar="FOLDER", help="log the messages of external engines in this folder"
    )
    parser.set_defaults(run=partial(_run_logged, parser.get_default("run")))


def _run_logged(run: Run, options: argparse.Namespace) -> CommandResult:
    """Logs engine messages, also in worker processes, and lists the log files after the result."""
    if options.log is None:
        return run(options)
    folder = Path(os.path.abspath(check_path("--log", options.log)))
    existing = next(path for path in (folder, *folder.parents) if os.path.exists(path))
    if not existing.is_dir() or not os.access(existing, os.W_OK):
        raise BadValue("--log", str(options.log), "a folder that can be written")
    os.environ[FOLDER] = str(folder)
    before = _sizes(folder)
    answer = run(options)
    changed = sorted(name for name, size in _sizes(folder).items() if size != before.get(name))

    def show() -> None:
        answer.show()
        if len(changed) > MAX_LOGS:
            print_line(f"{len(changed):,} engine logs in {options.log}")
        elif changed:
            noun = "engine logs" if len(changed) > 1 else "engine log"
            print_line(f"{noun} written to {join_names([str(options.log / name) for name in changed])}")
        else:
            print_line(f"no external engine played: no log in {options.log}")

    return replace(answer, show=show)


def _sizes(folder: Path) -> dict[str, int]:
    """The log files and their sizes; an existing file may grow."""
    found = {}
    for file in folder.glob("*.log"):
        with suppress(OSError):  # it may have been removed
            found[file.name] = file.stat().st_size
    return found
