"""What is installed and whether it works: list, check, compile, doctor, bench."""

from __future__ import annotations

import argparse
import dataclasses
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import engine
from engine.checks import check_game, check_kind
from engine.errors import BadLeague, RingsideError, UnknownName
from engine.game import Game
from engine.kernels import sweep_cache
from engine.league import standings as tables
from engine.league.storage.tournaments import Book
from engine.league.storage.sessions import Sessions
from engine.league.storage.league import League
from engine.play import replay
from engine.play.executors import SequentialMatchExecutor
from engine.play.lane_kernels import compile_general_path
from engine.play.march import Marching
from engine.play.match import Limits, MatchSpec
from engine.play.workers.warmup import compile_drivers, note_compiled
from engine.registry import FAMILIES, FORMATS, GAMES, KINDS, TRAINERS, Registry, agents_for, all_games, new_game
from league_app.core import doctor
from league_app.cli.common import command
from league_app.cli.output import Answer, called, console, line, many, say, table, words

REGISTRIES: tuple[Registry[Any], ...] = (FAMILIES, GAMES, KINDS, FORMATS, TRAINERS)


def add(commands: Any) -> None:
    command(commands, "list", "what is installed: games, agents, formats, trainers", listing, ["list", "list --json"])
    one = command(
        commands,
        "check",
        "does a game or a kind of agent keep its promises? For plug-in authors",
        check,
        ["check pong"],
    )
    one.add_argument("names", nargs="*", help="games and kinds (all)")
    command(commands, "compile", "compile the kernels now rather than at their first use", compile_all)
    one = command(
        commands,
        "doctor",
        "what works on this machine, what is missing and how to get it; with a league, whether all of it is sound",
        examine,
        ["doctor", "doctor my.league"],
    )
    one.add_argument("league", nargs="?")
    one = command(
        commands, "bench", "the benchmarks (from a source checkout)", bench, ["bench league", "bench --quick"]
    )
    one.add_argument("topics", nargs="*")
    one.add_argument("--quick", action="store_true", help="to see that they work; not to be quoted")


def listing(options: argparse.Namespace) -> Answer:
    shown = table("", "name", "what")
    data: dict[str, Any] = {"games": [], "families": {}, "formats": [], "trainers": []}
    for name, game in all_games().items():
        shown.add_row("game", name, f"{game.info.title}, {game.info.seats} seats, {senses_of(game)}")
        fields = [field_data(field) for field in dataclasses.fields(GAMES.get(name).Options)]
        agents = {kind: [agent.id for agent in found] for kind, found in agents_for(game).items()}
        for field in fields:
            shown.add_row("", "", words(f"-o {in_words(field)}", "dim"))
        for kind, found in agents.items():
            shown.add_row("agents", kind, words(", ".join(found) or ("a person" if KINDS.get(kind).live else "")))
        told = {"seats": game.info.seats, "observation": game.info.observation, "actions": game.info.actions}
        told["action_names"] = game.info.action_names
        data["games"].append({"name": name, "title": game.info.title, **told, "options": fields, "agents": agents})
    for name, family in FAMILIES.working().items():
        if members := list(family.members()):
            shown.add_row("games", f"{name}:...", words(", ".join(members)))
            data["families"][name] = members
    for name, format in FORMATS.working().items():
        shown.add_row("format", name, format.about)
        fields = [field_data(field) for field in dataclasses.fields(format.Options)]
        for field in fields:
            shown.add_row("", "", words(f"--set {in_words(field)}", "dim"))
        data["formats"].append({"name": name, "about": format.about, "options": fields})
    for name, trainer in TRAINERS.working().items():
        fields = [field_data(field) for field in dataclasses.fields(trainer)]
        how = f"{trainer.about} (`{called()} train {name} --help` shows its settings)"
        shown.add_row("trainer", name, words(how))
        told = {"metrics": dict(trainer.metrics), "presets": {key: dict(one) for key, one in trainer.presets.items()}}
        data["trainers"].append({"name": name, "about": trainer.about, "settings": fields, **told})
    data["problems"] = problems()

    def show() -> None:
        console.print(shown)
        tell_problems()

    return Answer(data, show)


def field_data(field: dataclasses.Field[Any]) -> dict[str, Any]:
    told = {name: field.metadata.get(name) for name in ("help", "low", "high", "choices")}
    return {"name": field.name, "default": field.default, **told}


def in_words(field: dict[str, Any]) -> str:
    low, high, choices = field["low"], field["high"], field["choices"]
    limits = "" if low is None or high is None else f" ({low:g} to {high:g})"
    limits = f" ({', '.join(map(str, choices))})" if choices else limits
    return f"{field['name']}={field['default']}{limits}: {field['help']}"


def senses_of(game: Game) -> str:
    """What a player sees, and what it can do."""
    seen, names = " x ".join(map(str, game.info.observation)), enumerate(game.info.action_names)
    done = ", ".join(f"{number} {name}" for number, name in names) or f"one of {game.info.actions} things"
    return f"sees {seen} numbers, does {done}"


def check(options: argparse.Namespace) -> Answer:
    """Everything that is named, or everything; what does not hold is told, and the rest is still checked."""
    games, kinds, wanted = all_games(), KINDS.working(), set(options.names)
    games.update({name: new_game(name) for name in options.names if GAMES.in_family(name)})  # where one is named
    for name in options.names:
        if name not in games and name not in kinds:
            problem = GAMES.problems.get(name) or KINDS.problems.get(name)
            raise RingsideError(problem) if problem else UnknownName("game or agent kind", name, [*games, *kinds])
    held: dict[str, str | None] = {}
    for name, game in games.items():
        if not wanted or name in wanted:
            holds(held, options.json, f"game {name}", check_game, game)
    for kind, one in kinds.items():
        if not wanted or kind in wanted:
            asked = {name: agents_for(game) for name, game in games.items()}
            played = [name for name, found in asked.items() if found.get(kind) or (one.live and kind in found)]
            for name in played:
                holds(held, options.json, f"agents {kind} in {name}", check_kind, one, games[name])
            if not played:
                held[f"agents {kind}"] = "no ready-made ones (samples) for any of the installed games: nothing to check"
                say(f"agents {kind}: {held[f'agents {kind}']}")
    tell_problems()
    broken = sum(told is not None for told in held.values())
    failed = broken or (not wanted and problems())
    if failed:
        hold = "does not hold" if broken == 1 else "do not hold"
        say(f"{broken} of the promises {hold}" if broken else "some plug-ins do not load")
    return Answer({"checked": held, "problems": problems()}, lambda: None, 1 if failed else 0)


def holds(held: dict[str, str | None], quiet: bool, what: str, check: Callable[..., None], *subject: object) -> None:
    if not quiet:
        console.print(f"{what}: ", end="")  # before it is tried: it may take this program along
        sys.stdout.flush()
    try:
        check(*subject)
        held[what] = None
    except Exception as error:  # whatever a plug-in's code raises; it is told, and the next one is checked
        held[what] = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
    if not quiet:
        console.print("keeps its promises" if held[what] is None else "does not keep its promises")
    if held[what] is not None:
        say(f"{what}: {held[what]}")


def compile_all(options: argparse.Namespace) -> Answer:
    """Every kernel is reached by short matches, in turn and all at once, their records, and their replays."""
    sweep_cache()
    times = {}
    for name, game in all_games().items():
        since = time.perf_counter()
        for agents in filter(None, agents_for(game).values()):
            players = tuple(agents[seat % len(agents)] for seat in range(game.info.seats))
            spec = MatchSpec("match", game.spec, players, 1, None, Limits(40))
            try:
                with SequentialMatchExecutor(lanes=2, marching=Marching.NEVER) as executor:
                    replay.verified(spec, executor.execute_match(spec))
                note_compiled(name, agents[0].kind)
            except RingsideError as error:  # a plug-in that cannot be played is no reason not to start
                say(f"{name}: {error}")
        try:
            if name in GAMES.own():
                compile_drivers(game)
        except RingsideError as error:  # its matches are played step by step
            say(f"{name}: {error}")
        times[name] = time.perf_counter() - since
        if not options.json:
            line(f"kernels of {name}: {times[name]:.1f} s")
    compile_general_path()
    tell_problems()
    return Answer({"seconds": times}, lambda: None)


def examine(options: argparse.Namespace) -> Answer:
    if options.league is not None:
        return examine_league(options.league)
    found = []
    signs = {"good": "[green]ok[/]     ", "missing": "[yellow]missing[/]", "broken": "[red]broken[/] "}
    for one in doctor.examine():
        found.append(one)
        if not options.json:
            console.print(signs[one.state], words(f"{one.what}: {one.told}"))
            if one.remedy and one.state != "good":
                line(f"        {one.remedy}")
    return Answer(found, lambda: None, 1 if any(one.state == "broken" for one in found) else 0)


def examine_league(path: str) -> Answer:
    """The whole file, and every record in it against its hash."""
    with League(path, read_only=True) as league:
        league.file.check()
        agents = league.agents(archived=True)
        for agent in agents:
            league.payload(agent.payload)
        missing = sorted({agent.kind for agent in agents} - set(KINDS.names()))
        matches, wrong = 0, list[str]()
        for one in league.tournaments():
            matches += one.played
            wrong += [f"tournament {one.number}: {what}" for what in Book(league, one.number).audit()]
        stray = tables.strays(league)
        trained = Sessions(league).audit()
        unfinished = [one for one in league.tournaments() if one.state.open]
    if wrong or stray:
        told = "; ".join([*wrong, *([f"{stray} matches without a tournament"] if stray else [])])
        raise BadLeague(f"{path} is damaged: what is kept does not follow from its matches ({told}): take a backup")
    if trained:
        raise BadLeague(f"{path} is damaged: {'; '.join(trained)}: take a backup, if there is one")
    told = f"{path} is sound: {many(len(agents), 'agent')} and {many(matches, 'match')}, every record as it was written"
    data: dict[str, Any] = {
        "league": path,
        "agents": len(agents),
        "matches": matches,
        "unfinished": [one.number for one in unfinished],
    }
    data["kinds_missing"] = missing

    def show() -> None:
        line(told)
        for kind in missing:
            who = ", ".join(agent.name for agent in agents if agent.kind == kind)
            line(f"{kind} is not installed here: {who} cannot play")
        for one in unfinished:
            line(f"{one.number}: {one.name} is not finished ({one.state.value}): `ringside tournament resume {path}`")

    return Answer(data, show)


def bench(options: argparse.Namespace) -> Answer:
    root = Path(engine.__file__).parents[1]
    if not (root / "tests" / "benchmarks").is_dir():
        raise RingsideError("the benchmarks are part of the source, not of an installed Ringside: get a checkout")
    flags = [flag for flag, wanted in (("--json", options.json), ("--quick", options.quick)) if wanted]
    done = subprocess.run([sys.executable, "-m", "tests.benchmarks", *options.topics, *flags], cwd=root, check=False)
    sys.exit(done.returncode)


def problems() -> list[str]:
    return [problem for registry in REGISTRIES for problem in registry.problems.values()]


def tell_problems() -> None:
    for problem in problems():
        say(problem)
