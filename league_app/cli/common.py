"""The commands, by topic. Each module has `add(commands)`, which describes its commands to the parser; a command is a
function of the options that gives an `Answer`, and `command` gives every one of them `--json` and its examples."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from agents.usi.transcript import FOLDER
from engine.errors import BadSpec, BadValue, NotNow, RingsideError, UnknownName
from engine.files import check_path
from engine.game import Game
from engine.league.records import NAME_LENGTH
from engine.league.storage.league import League
from engine.play.match import SEED_LIMIT, AgentSpec
from engine.registry import KINDS, agents_for, new_game, usual_game
from league_app.core.exhibitions import ELSEWHERE
from league_app.cli.output import Answer, called, line
from league_app.core.validation import check_playable
from league_app.core.formatting import listed

Run = Callable[[argparse.Namespace], Answer]
TOLD = 4  # conversations with engines that are told one by one


def command(
    commands: Any, name: str, help: str, run: Run, examples: Sequence[str] = (), **more: Any
) -> argparse.ArgumentParser:
    """A parser for one command."""
    epilog = "examples:\n" + "\n".join(f"  {called()} {one}" for one in examples) if examples else None
    one: argparse.ArgumentParser = commands.add_parser(
        name,
        help=help,
        description=help[0].upper() + help[1:] + ".",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        **more,
    )
    one.set_defaults(run=run, parser=one)
    one.add_argument("--json", action="store_true", help="as data, on standard output")
    return one


def topic(commands: Any, name: str, help: str) -> Any:
    """A command that has commands of its own."""
    one = commands.add_parser(name, help=help, description=help[0].upper() + help[1:] + ".")
    return one.add_subparsers(title="commands", metavar="COMMAND", required=True)


def looking(path: str) -> League:
    """For looking only: it works while somebody else plays in it."""
    return League(path, read_only=True)


def ready_made(game: Game, name: str) -> AgentSpec:
    """A ready-made agent by its name, or kind:payload."""
    kinds = agents_for(game)
    kind, colon, payload = name.partition(":")
    if colon:
        if kind not in kinds:
            raise UnknownName(f"agent kind for {game.spec.name}", kind, kinds)
        made = AgentSpec(name, kind, payload.encode(errors="surrogateescape"), KINDS.get(kind).version)
        check_playable(made, game.spec.name)
        return made
    found = [agent for agents in kinds.values() for agent in agents if agent.id == name]
    if not found and (problem := KINDS.problems.get(name)):
        raise RingsideError(problem)
    if not found and name in kinds and KINDS.get(name).live:
        raise NotNow(f"{name!r} is a person: {ELSEWHERE}")
    if not found and _among_usual(game, name):
        changed = dict(game.spec.options).items() - dict(new_game(game.spec.name).spec.options).items()
        told = ", ".join(sorted(f"{option}={value}" for option, value in changed))
        raise BadSpec(f"{name!r} plays {game.spec.name} with its usual options, but not with {told}")
    if not found:
        raise UnknownName(f"agent for {game.spec.name}", name, [one.id for agents in kinds.values() for one in agents])
    if len(found) > 1:
        offered = " and ".join(agent.kind for agent in found)
        raise BadValue("agent", name, f"one agent, but {offered} offer one of that name; say kind:payload")
    return found[0]


def _among_usual(game: Game, name: str) -> bool:
    """Whether somebody of that name plays the game with its usual options."""
    usual = usual_game(game.spec.name)
    found = agents_for(usual) if usual is not None else {}
    return any(agent.id == name for agents in found.values() for agent in agents)


def pairs_of(texts: Sequence[str], option: str) -> dict[str, str]:
    """NAME=VALUE, several times."""
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
    """What a tournament of two is called."""
    return f"{first} - {second}"[:NAME_LENGTH].strip()


def check_whole(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise BadValue(name, value, f"from {low:,} to {high:,}")


def seeded(options: argparse.Namespace) -> dict[str, int]:
    """The seed that was given; without one, each tournament of a league has another."""
    if options.seed is None:
        return {}
    check_seed(options.seed)
    return {"seed": options.seed}


def check_seed(seed: int) -> None:
    if not 0 <= seed < SEED_LIMIT:
        raise BadValue("--seed", seed, "from 0 to 2**64 - 1")


def log(one: argparse.ArgumentParser) -> None:
    """Call it when the command is described: what is to be run is then wrapped."""
    one.add_argument("--log", type=Path, metavar="FOLDER", help="write down there what engines are told and say")
    one.set_defaults(run=partial(_logged, one.get_default("run")))


def _logged(run: Run, options: argparse.Namespace) -> Answer:
    """Whoever plays from now on writes, worker processes too; what came of it is told after all else."""
    if options.log is None:
        return run(options)
    folder = Path(os.path.abspath(check_path("--log", options.log)))
    there = next(one for one in (folder, *folder.parents) if os.path.exists(one))
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise BadValue("--log", str(options.log), "a folder that can be written")
    os.environ[FOLDER] = str(folder)
    before = _sizes(folder)
    answer = run(options)
    written = sorted(name for name, size in _sizes(folder).items() if size != before.get(name))

    def show() -> None:
        answer.show()
        if len(written) > TOLD:
            line(f"{len(written):,} conversations in {options.log}")
        elif written:
            many = "conversations" if len(written) > 1 else "conversation"
            line(f"{many} written to {listed([str(options.log / name) for name in written])}")
        else:
            line(f"no engine took part: nothing is written to {options.log}")

    return replace(answer, show=show)


def _sizes(folder: Path) -> dict[str, int]:
    """Of its files: one that was there before may have grown."""
    found = {}
    for one in folder.glob("*.log"):
        with suppress(OSError):  # it may be gone by now
            found[one.name] = one.stat().st_size
    return found
