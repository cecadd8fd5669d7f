"""Diagnoses the installation: what works on this machine, what is missing, and how to fix it. Checks test real use.

Only the standard library is imported before a check needs more, so that a missing package can be reported.
"""

from __future__ import annotations

import contextlib
import json
import operator
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import distributions, entry_points, requires
from pathlib import Path
from typing import Any, Literal

GB = 1e9
LITTLE = 1 * GB  # of memory or disk: less than this is reported
PATIENCE = 60.0  # seconds for a match, which may have to compile kernels first, and for torch
DESKTOP = sys.platform in ("win32", "darwin")  # where the display needs no environment variable
PIP = f"{sys.executable} -m pip"
REINSTALL = "reinstall Ringside: delete its folder .venv, then run `python3 launch.py`"
OPTIONAL = ("torch", "neat-python", "pygame", "pyside6-essentials", "pyqtgraph")  # not needed for matches and standings

# For any requirement: 6.12.0 miscounts references to None until Python aborts; 6.11.0 and 6.11.1 break docks.
SOUND_QT = "PySide6-Essentials>=6.8,!=6.11.0,!=6.11.1,<6.12"

# Run in child processes: they are slow to import, and Qt aborts its process if it cannot open a display.
TORCH = "import torch; assert torch.ones(3).sum() == 3; print('torch', torch.__version__, 'computes')"
QT = "import sys; from PySide6.QtWidgets import QApplication; print(QApplication(sys.argv).platformName())"
PYGAME = """import os; os.environ.update(SDL_VIDEODRIVER="dummy", SDL_AUDIODRIVER="dummy")
import pygame, pygame.font; pygame.font.init(); print(pygame.version.ver, "draws without a display")
s = pygame.Surface((9, 9)); pygame.draw.circle(s, "red", (4, 4), 3); assert s.get_at((4, 4))[:3] == (255, 0, 0)"""
LOADER = """import ctypes, sys
for name in sys.argv[1:]:
    try: ctypes.CDLL(name)
    except OSError: print(name)"""


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    what: str
    state: Literal["good", "missing", "broken"]  # missing: the rest works without it; broken: must be fixed
    told: str  # what was found; the name is a key of the JSON output
    remedy: str = ""  # how to fix it, if it is not good


class TrialFailed(Exception):  # noqa: N818 - reads as what it is
    """A check failed; the text says why."""


def examine() -> Iterator[Finding]:
    """Runs all checks in turn; some take seconds. It never raises, because it runs where things are broken."""
    for what, attempt, remedy in CHECKS:
        try:
            yield from attempt()
        except (Exception, SystemExit) as error:  # whatever a broken machine or a plug-in raises is reported
            name = "" if isinstance(error, TrialFailed) else f"{type(error).__name__}: "
            yield Finding(
                what, "broken", name + _main_line(str(error)), REINSTALL if isinstance(error, ImportError) else remedy
            )


@dataclass(frozen=True)
class LeagueReport:
    """The contents of an undamaged league file."""

    agents: tuple[str, ...]  # names
    matches: int
    unfinished: tuple[Any, ...]  # tournaments
    missing_kinds: dict[str, list[str]]  # agent kinds that are not installed, with the names of their agents


def check_league(path: str) -> LeagueReport:
    """Checks the whole file, and every record in it against its hash; raises BadLeague if anything is damaged."""
    from engine.errors import BadLeague
    from engine.league import played_matches
    from engine.league.storage.league import League
    from engine.league.storage.sessions import SessionStore
    from engine.league.storage.tournaments import TournamentStore
    from engine.registry import KINDS

    with League(path, read_only=True) as league:
        league.file.check()
        agents, tournaments = league.agents(archived=True), league.tournaments()
        for agent in agents:
            league.payload(agent.payload)
        problems = [
            f"tournament {tournament.number}: {problem}"
            for tournament in tournaments
            for problem in TournamentStore(league, tournament.number).audit()
        ]
        stray = played_matches.strays(league)
        sessions = SessionStore(league).audit()
    if stray:
        problems.append(f"{stray} matches without a tournament")
    if problems:
        raise BadLeague(
            f"{path} is damaged: its summaries do not follow from its matches ({'; '.join(problems)}): "
            "restore a backup, if there is one"
        )
    if sessions:
        raise BadLeague(f"{path} is damaged: {'; '.join(sessions)}: restore a backup, if there is one")
    missing: dict[str, list[str]] = {}
    for agent in agents:
        if agent.kind not in KINDS.names():
            missing.setdefault(agent.kind, []).append(agent.name)
    unfinished = tuple(tournament for tournament in tournaments if tournament.state.open)
    played = sum(tournament.played for tournament in tournaments)
    return LeagueReport(tuple(agent.name for agent in agents), played, unfinished, missing)


def _python() -> Iterator[Finding]:
    told = f"{platform.python_implementation()} {platform.python_version()} on {platform.platform()}"
    if sys.version_info < (3, 11):  # noqa: UP036 - pip's objections can be overruled
        raise TrialFailed(told)
    yield Finding("Python", "good", told)


def _packages() -> Iterator[Finding]:
    always = [requirement for requirement in requires("ringside") or () if ";" not in requirement]  # not of an extra
    for needed in always:
        name = re.split(r"[^\w.-]", needed, maxsplit=1)[0].lower()
        needed = SOUND_QT if name == "pyside6-essentials" else needed
        found, remedy = _installed(name), f'{PIP} install "{needed}"'
        if found is None:
            yield Finding(name, "missing" if name in OPTIONAL else "broken", "not installed", remedy)
        elif not _satisfies(found, needed):
            yield Finding(name, "broken", f"{found} is installed, {needed} is needed", remedy)
        else:
            yield Finding(name, "good", f"{found} is installed")


def _installed(package: str) -> str | None:
    return next((found.version for found in distributions(name=package)), None)


def _satisfies(found: str, needed: str) -> bool:
    """Compares version numbers as our own requirements use them, without pre-releases; `packaging` may be missing."""
    signs = {"==": "eq", "!=": "ne", ">=": "ge", "<=": "le", "<": "lt", ">": "gt"}
    bounds = re.findall(r"([=!<>]=|[<>])\s*([\d.]+)", needed)
    return all(getattr(operator, signs[sign])(_numbers(found), _numbers(bound)) for sign, bound in bounds)


def _numbers(text: str) -> list[int]:
    """6.12.0 equals 6.12, and 2.13.0+cpu is 2.13."""
    return [int(part) for part in re.sub(r"(\.0+)*(\.?[^\d.].*)?$", "", text).split(".") if part]


def _cache() -> Iterator[Finding]:
    from engine.kernels import cache_root

    yield Finding("kernel cache", "good", f"compiled kernels are cached in {_check_writable(cache_root())}")


def _kernels() -> Iterator[Finding]:
    from engine.play.executors import SequentialMatchExecutor

    with SequentialMatchExecutor(lanes=1) as executor:
        yield Finding("compiled kernels", "good", _play(executor))


def _workers() -> Iterator[Finding]:
    from engine.play.executors import new_executor

    with new_executor("local", workers=1) as executor, contextlib.ExitStack() as after:
        late = threading.Timer(PATIENCE, executor.stop, [True])  # the match is then cancelled
        after.callback(late.cancel)
        late.start()
        match = _play(executor)
    yield Finding("worker processes", "good", f"one started, and {match}")


def _play(executor: Any) -> str:
    """Plays a short match of Pong."""
    from engine.play.match import Limits, MatchSpec
    from engine.registry import KINDS, new_game

    game, since = new_game("pong", points=1), time.perf_counter()
    left, right = list(KINDS.get("pong-bot").samples(game))[:2]
    result = executor.execute_match(MatchSpec("doctor", game.spec, (left, right), 1, None, Limits(400)))
    if result.ending.kind.value not in ("finished", "step_limit"):
        raise TrialFailed(f"a match of Pong ended as {result.ending.kind.value}: {result.ending.reason}")
    return f"a match of {result.steps} steps took {time.perf_counter() - since:.2f} s"


def _plugins() -> Iterator[Finding]:
    from engine.registry import EXECUTORS, FORMATS, GAMES, KINDS, TRAINERS, Registry, agents_for, all_games

    games = all_games()
    for game in games.values():
        agents_for(game)  # a kind may load, and fail for a game
    registries: tuple[Registry[Any], ...] = (GAMES, KINDS, FORMATS, TRAINERS, EXECUTORS)
    for registry in registries:
        names = games if registry is GAMES else registry.working()
        if names:
            yield Finding(f"{registry.noun}s", "good", f"{', '.join(names)} can be used")
        for key, problem in registry.problems.items():
            points = entry_points(group=registry.group)
            guilty = [
                point.dist.name
                for point in points
                if point.dist and key in (point.name, f"{point.name} ({point.value})")
            ]
            remedy = f"update it, or {PIP} uninstall {' '.join(guilty[:1]) or 'the package that contains it'}"
            yield Finding("plug-in", "broken", _main_line(problem), REINSTALL if "ringside" in guilty else remedy)


def _machine() -> Iterator[Finding]:
    import psutil

    from engine.processes.bootstrap import cores

    yield Finding("cores", "good", f"{cores()} can be used")
    memory = psutil.virtual_memory()
    told = f"{memory.available / GB:.1f} of {memory.total / GB:.1f} GB are free"
    remedy = "close other programs, or play with `--workers 1`" if memory.available < LITTLE else ""
    yield Finding("memory", "missing" if remedy else "good", told, remedy)


def _folder() -> Iterator[Finding]:
    folder = _check_writable(Path.cwd())
    free = shutil.disk_usage(folder).free
    remedy = "free some space, or change to a folder on a larger disk" if free < LITTLE else ""
    yield Finding("current folder", "missing" if remedy else "good", f"{folder} has {free / GB:.1f} GB left", remedy)


def _check_writable(folder: Path) -> Path:
    """Writes a file into the folder and returns the folder: permissions would not reveal a full or read-only disk."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"ringside")
        return folder
    except OSError as error:
        raise TrialFailed(f"{folder} cannot be written: {error.strerror or error}") from None


def _sqlite() -> Iterator[Finding]:
    """Leagues depend on these two settings; network folders refuse the first, or accept it and lose data."""
    import sqlite3

    from engine.temporary import private_folder

    here: Path | None = None  # None: the folder for temporary files
    with contextlib.suppress(TrialFailed, OSError):
        here = _check_writable(Path.cwd())
    with tempfile.TemporaryDirectory(prefix=".ringside-", dir=here or private_folder()) as folder:
        first, second = (sqlite3.connect(Path(folder, "trial"), isolation_level=None) for _ in range(2))
        with contextlib.closing(first), contextlib.closing(second):
            mode = first.execute("PRAGMA journal_mode=WAL").fetchone()[0]
            first.executescript(
                "PRAGMA synchronous=FULL; BEGIN IMMEDIATE; CREATE TABLE t (x); INSERT INTO t VALUES (7); COMMIT"
            )
            full = first.execute("PRAGMA synchronous").fetchone()[0] == 2
            if mode != "wal" or not full or second.execute("SELECT x FROM t").fetchall() != [(7,)]:
                raise TrialFailed(f"in {folder} the journal mode is {mode}, so written data may be lost")
    yield Finding("SQLite", "good", f"{sqlite3.sqlite_version} with WAL, tried in {here or tempfile.gettempdir()}")


def _terminal() -> Iterator[Finding]:
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    "±".encode(encoding)
    where = f"{shutil.get_terminal_size().columns} columns wide" if sys.stdout.isatty() else "a file or a pipe"
    yield Finding("terminal", "good", f"output goes to {where}, in {encoding}")


def _window() -> Iterator[Finding]:
    variable = next((name for name in ("WAYLAND_DISPLAY", "DISPLAY") if os.environ.get(name)), "")
    if variable or DESKTOP:
        yield Finding("display", "good", f"{variable} is {os.environ[variable]}" if variable else "the desktop's own")
    else:
        told = "neither DISPLAY nor WAYLAND_DISPLAY is set: the window needs one, the command line does not"
        yield Finding("display", "missing", told, "start Ringside from a desktop, through `ssh -X`, or by `xvfb-run`")
    if _installed("PySide6-Essentials") is None:
        yield Finding("Qt", "missing", "PySide6-Essentials is not installed", f'{PIP} install "{SOUND_QT}"')
        return
    yield _opened("Qt without a display", ("window",), "-platform", "offscreen")
    if variable or DESKTOP:
        yield _opened("Qt on the display", ("window", "x11"))


def _qt_libraries(groups: Sequence[str]) -> dict[str, str]:
    """Libraries that Qt loads and its wheel does not contain, with the Debian package of each."""
    from engine.files import asset

    path = asset("qt_libraries.json")
    groups_found = json.loads(path.read_text("utf-8")) if path is not None else {}
    return {name: packages[0] for group in groups for name, packages in groups_found.get(group, {}).items()}


def _opened(what: str, libraries: Sequence[str], *arguments: str) -> Finding:
    try:
        name = _run(QT, *arguments)
    except TrialFailed as error:
        packages = _qt_libraries(libraries)
        missing = _run(LOADER, *packages).split() if sys.platform == "linux" else []  # Qt names one of them at most
        if missing:
            remedy = f"as root: apt-get install {' '.join(packages[name] for name in missing)} (Debian's names)"
            return Finding(what, "broken", f"{', '.join(missing)} cannot be loaded", remedy)
        return Finding(
            what,
            "broken",
            _main_line(str(error)),
            REINSTALL if arguments else "set DISPLAY to a display that you may use",
        )
    return Finding(what, "good", f"works on the platform {name}")


def _trial(what: str, package: str, code: str, timeout: float = 30.0) -> Iterator[Finding]:
    if _installed(package) is None:
        yield Finding(what, "missing", f"{package} is not installed", REINSTALL)
    else:
        yield Finding(what, "good", _main_line(_run(code, timeout=timeout)))


def _run(code: str, *arguments: str, timeout: float = 30.0) -> str:
    """The output of a Python program; raises TrialFailed with its error if it fails or takes too long."""
    command = [sys.executable, "-P", "-c", code, *arguments]  # -P ignores a torch.py in the user's folder
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        raise TrialFailed(f"no answer within {timeout:g} s") from None
    if done.returncode:
        raise TrialFailed(done.stderr.decode(errors="replace") or f"exit status {done.returncode}")
    return done.stdout.decode(errors="replace").strip()


def _main_line(text: str) -> str:
    """The most important line: the last of a traceback, the first of anything else."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["no reason given"]
    return lines[-1] if lines[0].startswith("Traceback") else lines[0]


# Name, check, and the remedy if the check raises an error.
CHECKS: tuple[tuple[str, Callable[[], Iterator[Finding]], str], ...] = (
    ("Python", _python, "install Python 3.11 or newer, and start launch.py with it"),
    ("packages", _packages, REINSTALL),
    ("terminal", _terminal, "set PYTHONUTF8=1, and LANG to a locale such as C.UTF-8"),
    ("machine", _machine, REINSTALL),
    ("current folder", _folder, "change to a folder of your own, such as with `cd ~`: leagues are stored there"),
    ("SQLite", _sqlite, "keep leagues on a disk of this machine, not in a network or shared folder"),
    ("kernel cache", _cache, "set RINGSIDE_CACHE to a folder of your own; until then every start compiles again"),
    ("compiled kernels", _kernels, REINSTALL),
    (
        "worker processes",
        _workers,
        "allow more processes (`ulimit -u`) and memory; `ringside match --on sequential` needs none",
    ),
    ("plug-ins", _plugins, "uninstall the plug-in that was installed last"),
    ("pictures", partial(_trial, "pictures", "pygame", PYGAME), REINSTALL),
    ("window", _window, REINSTALL),
    ("training with torch", partial(_trial, "training with torch", "torch", TORCH, PATIENCE), REINSTALL),
)
