"""Commands about the installation: list, check, compile, doctor, bench."""

from __future__ import annotations

import argparse
import dataclasses
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import engine
from engine.checks import check_executor, check_game, check_kind
from engine.errors import BadLeague, RingsideError, UnknownName
from engine.foreign_code import name_and_text
from engine.game import Game
from engine.kernels import sweep_cache
from engine.play import replay
from engine.play.executors import SequentialMatchExecutor, new_executor
from engine.play.lane_kernels import compile_general_path
from engine.play.march import Marching
from engine.play.match import Limits, MatchSpec
from engine.play.workers.warmup import compile_drivers, note_compiled
from engine.registry import (
    EXECUTORS,
    FAMILIES,
    FORMATS,
    GAMES,
    KINDS,
    TRAINERS,
    Registry,
    agents_for,
    all_games,
    new_game,
)
from league_app.cli.common import command
from league_app.cli.output import (
    CommandResult,
    console,
    plural,
    print_error,
    print_line,
    program_name,
    safe_text,
    table,
)
from league_app.core import doctor

REGISTRIES: tuple[Registry[Any], ...] = (FAMILIES, GAMES, KINDS, FORMATS, TRAINERS, EXECUTORS)


def add(commands: Any) -> None:
    command(
        commands,
        "list",
        "list installed games, agents, formats, trainers and executors",
        listing,
        ["list", "list --json"],
    )
    parser = command(
        commands,
        "check",
        "check that games, agent kinds and executors conform to the interface (for plug-in authors)",
        check,
        ["check pong", "check local"],
    )
    parser.add_argument("names", nargs="*", help="games, agent kinds and executors (default: all)")
    command(commands, "compile", "compile all kernels now instead of on first use", compile_all)
    parser = command(
        commands,
        "doctor",
        "check this installation and say how to fix what is missing; with a league, check its file for damage",
        examine,
        ["doctor", "doctor my.league"],
    )
    parser.add_argument("league", nargs="?", help="a league to check for damage")
    parser = command(
        commands, "bench", "run the benchmarks (in a source checkout)", bench, ["bench league", "bench --quick"]
    )
    parser.add_argument("topics", nargs="*", help="benchmarks to run (default: all)")
    parser.add_argument(
        "--quick", action="store_true", help="short runs that only test the benchmarks; ignore their figures"
    )


def listing(options: argparse.Namespace) -> CommandResult:
    shown = table("", "name", "what")
    data: dict[str, Any] = {"games": [], "families": {}, "formats": [], "trainers": [], "executors": []}
    for name, game in all_games().items():
        shown.add_row("game", name, f"{game.info.title}, {game.info.seats} seats, {spaces_text(game)}")
        fields = [field_data(field) for field in dataclasses.fields(GAMES.get(name).Options)]
        agents = {kind: [agent.id for agent in found] for kind, found in agents_for(game).items()}
        for field in fields:
            shown.add_row("", "", safe_text(f"-o {option_text(field)}", "dim"))
        for kind, found in agents.items():
            shown.add_row(
                "agents", kind, safe_text(", ".join(found) or ("human player" if KINDS.get(kind).live else ""))
            )
        spaces = {"seats": game.info.seats, "observation": game.info.observation, "actions": game.info.actions}
        spaces["action_names"] = game.info.action_names
        data["games"].append({"name": name, "title": game.info.title, **spaces, "options": fields, "agents": agents})
    for name, family in FAMILIES.working().items():
        if members := list(family.members()):
            shown.add_row("games", f"{name}:...", safe_text(", ".join(members)))
            data["families"][name] = members
    for name, format in FORMATS.working().items():
        shown.add_row("format", name, format.about)
        fields = [field_data(field) for field in dataclasses.fields(format.Options)]
        for field in fields:
            shown.add_row("", "", safe_text(f"--set {option_text(field)}", "dim"))
        data["formats"].append({"name": name, "about": format.about, "options": fields})
    for name, trainer in TRAINERS.working().items():
        fields = [field_data(field) for field in dataclasses.fields(trainer)]
        how = f"{trainer.about} (settings: `{program_name()} train {name} --help`)"
        shown.add_row("trainer", name, safe_text(how))
        details = {
            "metrics": {key: metric.about for key, metric in trainer.metrics.items()},
            "presets": {key: dict(preset) for key, preset in trainer.presets.items()},
        }
        data["trainers"].append({"name": name, "about": trainer.about, "settings": fields, **details})
    for name, executor in EXECUTORS.working().items():
        fields = [field_data(field) for field in dataclasses.fields(executor.Options)]
        shown.add_row("executor", name, safe_text(executor.about))
        for field in fields:
            shown.add_row("", "", safe_text(f"--on {name}:{option_text(field)}", "dim"))
        data["executors"].append({"name": name, "about": executor.about, "options": fields})
    data["problems"] = problems()

    def show() -> None:
        console.print(shown)
        print_problems()

    return CommandResult(data, show)


def field_data(field: dataclasses.Field[Any]) -> dict[str, Any]:
    rules = {name: field.metadata.get(name) for name in ("help", "low", "high", "choices")}
    return {"name": field.name, "default": field.default, **rules}


def option_text(field: dict[str, Any]) -> str:
    low, high, choices = field["low"], field["high"], field["choices"]
    limits = "" if low is None or high is None else f" ({low:g} to {high:g})"
    limits = f" ({', '.join(map(str, choices))})" if choices else limits
    return f"{field['name']}={field['default']}{limits}: {field['help']}"


def spaces_text(game: Game) -> str:
    """The observation and action spaces in words."""
    shape, names = " x ".join(map(str, game.info.observation)), enumerate(game.info.action_names)
    actions = ", ".join(f"{number} {name}" for number, name in names) or f"{game.info.actions}"
    return f"observation {shape}, actions {actions}"


def check(options: argparse.Namespace) -> CommandResult:
    """Checks the named games, kinds and executors, or all; a failed check does not stop the others."""
    games, kinds, executors, names = all_games(), KINDS.working(), EXECUTORS.working(), set(options.names)
    games.update({name: new_game(name) for name in options.names if GAMES.in_family(name)})
    for name in options.names:
        if name not in games and name not in kinds and name not in executors:
            problem = next(
                (registry.problems[name] for registry in (GAMES, KINDS, EXECUTORS) if name in registry.problems), ""
            )
            known = [*games, *kinds, *executors]
            raise RingsideError(problem) if problem else UnknownName("game, agent kind or executor", name, known)
    outcomes: dict[str, str | None] = {}
    for name, game in games.items():
        if not names or name in names:
            run_check(outcomes, options.json, f"game {name}", check_game, game)
    for kind, plugin in kinds.items():
        if not names or kind in names:
            agents = {name: agents_for(game) for name, game in games.items()}
            playable = [name for name, found in agents.items() if found.get(kind) or (plugin.live and kind in found)]
            for name in playable:
                run_check(outcomes, options.json, f"agents {kind} in {name}", check_kind, plugin, games[name])
            if not playable:
                outcomes[f"agents {kind}"] = "it has no samples for any installed game: nothing to check"
                print_error(f"agents {kind}: {outcomes[f'agents {kind}']}")
    for name in executors:
        if not names or name in names:
            run_check(outcomes, options.json, f"executor {name}", check_executor, partial(new_executor, name))
    print_problems()
    broken = sum(problem is not None for problem in outcomes.values())
    failed = broken or (not names and problems())
    if failed:
        print_error(f"{plural(broken, 'check')} failed" if broken else "some plug-ins do not load")
    return CommandResult({"checked": outcomes, "problems": problems()}, lambda: None, 1 if failed else 0)


def run_check(
    outcomes: dict[str, str | None], quiet: bool, what: str, check: Callable[..., None], *subject: object
) -> None:
    if not quiet:
        console.print(f"{what}: ", end="")  # before the check: it may crash this process
        sys.stdout.flush()
    try:
        check(*subject)
        outcomes[what] = None
    except Exception as error:  # plug-in code may raise anything; the next check still runs
        outcomes[what] = str(error) if isinstance(error, AssertionError) else name_and_text(error)
    if not quiet:
        console.print("ok" if outcomes[what] is None else "failed")
    if outcomes[what] is not None:
        print_error(f"{what}: {outcomes[what]}")


def compile_all(options: argparse.Namespace) -> CommandResult:
    """Plays short matches, one by one and in batches, with records and replays, which reaches every kernel."""
    sweep_cache()
    times = {}
    for name, game in all_games().items():
        start = time.perf_counter()
        for agents in filter(None, agents_for(game).values()):
            players = tuple(agents[seat % len(agents)] for seat in range(game.info.seats))
            spec = MatchSpec("match", game.spec, players, 1, None, Limits(40))
            try:
                with SequentialMatchExecutor(lanes=2, marching=Marching.NEVER) as executor:
                    replay.verified(spec, executor.execute_match(spec))
                note_compiled(name, agents[0].kind)
            except RingsideError as error:  # a broken plug-in must not prevent the start
                print_error(f"{name}: {error}")
        try:
            if name in GAMES.own():
                compile_drivers(game)
        except RingsideError as error:  # such matches are played step by step instead
            print_error(f"{name}: {error}")
        times[name] = time.perf_counter() - start
        if not options.json:
            print_line(f"kernels of {name}: {times[name]:.1f} s")
    compile_general_path()
    print_problems()
    return CommandResult({"seconds": times}, lambda: None)


def examine(options: argparse.Namespace) -> CommandResult:
    if options.league is not None:
        return examine_league(options.league)
    findings = []
    signs = {"good": "[green]ok[/]     ", "missing": "[yellow]missing[/]", "broken": "[red]broken[/] "}
    for finding in doctor.examine():
        findings.append(finding)
        if not options.json:
            console.print(signs[finding.state], safe_text(f"{finding.what}: {finding.told}"))
            if finding.remedy and finding.state != "good":
                print_line(f"        {finding.remedy}")
    return CommandResult(findings, lambda: None, 1 if any(finding.state == "broken" for finding in findings) else 0)


def examine_league(path: str) -> CommandResult:
    try:
        report = doctor.check_league(path)
    except BadLeague as error:
        if not os.path.isfile(path):
            raise
        problem = str(error)
        return CommandResult({"league": path, "problem": problem}, lambda: print_error(problem), 1)
    contents = f"{plural(len(report.agents), 'agent')} and {plural(report.matches, 'match')}"
    data = {
        "league": path,
        "agents": len(report.agents),
        "matches": report.matches,
        "unfinished": [tournament.number for tournament in report.unfinished],
        "kinds_missing": sorted(report.missing_kinds),
    }

    def show() -> None:
        print_line(f"{path} is undamaged: {contents}, and every record matches its checksum")
        for kind, names in sorted(report.missing_kinds.items()):
            print_line(f"agent kind {kind} is not installed here: {', '.join(names)} cannot play")
        for tournament in report.unfinished:
            hint = f"`ringside tournament resume {path} {tournament.number}`"
            print_line(
                f"tournament {tournament.number}, {tournament.name}, is not finished ({tournament.state.value}): {hint}"
            )

    return CommandResult(data, show)


def bench(options: argparse.Namespace) -> CommandResult:
    root = Path(engine.__file__).parents[1]
    if not (root / "tests" / "benchmarks").is_dir():
        raise RingsideError("benchmarks need a source checkout: they are not part of the installed package")
    flags = [flag for flag, given in (("--json", options.json), ("--quick", options.quick)) if given]
    done = subprocess.run([sys.executable, "-m", "tests.benchmarks", *options.topics, *flags], cwd=root, check=False)
    sys.exit(done.returncode)


def problems() -> list[str]:
    return [problem for registry in REGISTRIES for problem in registry.problems.values()]


def print_problems() -> None:
    for problem in problems():
        print_error(problem)
