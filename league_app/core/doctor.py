"""What works on this machine, what is missing, and how to get it: every answer is tried, none is assumed.

Only the standard library is imported before a check asks for more: what is missing must not keep us from saying so.
"""

from __future__ import annotations

import contextlib
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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import distributions, entry_points, requires
from pathlib import Path
from typing import Any, Literal

GB = 1e9
LITTLE = 1 * GB  # of memory or disk: less than this is told
PATIENCE = 60.0  # seconds for a match, which may have to be compiled first, and for torch
DESKTOP = sys.platform in ("win32", "darwin")  # where a display is found without a variable that names it
PIP = f"{sys.executable} -m pip"
ANEW = "install Ringside anew: delete its folder .venv, then `python3 launch.py`"
OPTIONAL = ("torch", "neat-python", "pygame", "pyside6-essentials", "pyqtgraph")  # matches and tables do without

# Whatever is asked for: 6.12.0 miscounts references to None until Python aborts, and 6.11.0 and 6.11.1 break docks.
SOUND_QT = "PySide6-Essentials>=6.8,!=6.11.0,!=6.11.1,<6.12"

# What Qt loads and its wheel does not bring, with Debian's names; on X11 it is more.
QT_LIBRARIES = (
    "libGL.so.1=libgl1 libEGL.so.1=libegl1 libglib-2.0.so.0=libglib2.0-0 libxkbcommon.so.0=libxkbcommon0 "
    "libfontconfig.so.1=libfontconfig1 libdbus-1.so.3=libdbus-1-3 "
)
X11_LIBRARIES = (
    "libxcb-cursor.so.0=libxcb-cursor0 libxcb-icccm.so.4=libxcb-icccm4 libxcb-keysyms.so.1=libxcb-keysyms1 "
    "libxcb-shape.so.0=libxcb-shape0 libxkbcommon-x11.so.0=libxkbcommon-x11-0"
)

# Tried in processes of their own: they are heavy, and a Qt that cannot open aborts whoever asked it to.
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
    """One thing that was looked at."""

    what: str
    state: Literal["good", "missing", "broken"]  # missing: the rest works without it; broken: to be mended
    told: str  # one sentence: what was found
    remedy: str = ""  # how to get it, when it is not good


class TrialFailed(Exception):  # noqa: N818 - reads as what it is
    """Something was tried and did not work; the text says all that is known."""


def examine() -> Iterator[Finding]:
    """Everything, one after the other; some of it takes seconds. Never raises, for it runs where things are broken."""
    for what, attempt, remedy in CHECKS:
        try:
            yield from attempt()
        except (Exception, SystemExit) as error:  # whatever a broken machine or a plug-in does: it is told
            name = "" if isinstance(error, TrialFailed) else f"{type(error).__name__}: "
            yield Finding(what, "broken", name + _gist(str(error)), ANEW if isinstance(error, ImportError) else remedy)


def _python() -> Iterator[Finding]:
    told = f"{platform.python_implementation()} {platform.python_version()} on {platform.platform()}"
    if sys.version_info < (3, 11):  # noqa: UP036 - pip's objections can be overruled
        raise TrialFailed(told)
    yield Finding("Python", "good", told)


def _packages() -> Iterator[Finding]:
    for needed in [one for one in requires("ringside") or () if ";" not in one]:  # others are for an extra
        name = re.split(r"[^\w.-]", needed, maxsplit=1)[0].lower()
        needed = SOUND_QT if name == "pyside6-essentials" else needed
        found, remedy = _installed(name), f'{PIP} install "{needed}"'
        if found is None:
            yield Finding(name, "missing" if name in OPTIONAL else "broken", "it is not installed", remedy)
        elif not _satisfies(found, needed):
            yield Finding(name, "broken", f"{found} is installed, {needed} is needed", remedy)
        else:
            yield Finding(name, "good", f"{found} is installed")


def _installed(package: str) -> str | None:
    return next((one.version for one in distributions(name=package)), None)


def _satisfies(found: str, needed: str) -> bool:
    """As far as our own requirements go: numbers, without the words of pre-releases; `packaging` may not be there."""
    signs = {"==": "eq", "!=": "ne", ">=": "ge", "<=": "le", "<": "lt", ">": "gt"}
    bounds = re.findall(r"([=!<>]=|[<>])\s*([\d.]+)", needed)
    return all(getattr(operator, signs[sign])(_numbers(found), _numbers(bound)) for sign, bound in bounds)


def _numbers(text: str) -> list[int]:
    """6.12.0 and 6.12 are the same, and 2.13.0+cpu is 2.13."""
    return [int(part) for part in re.sub(r"(\.0+)*(\.?[^\d.].*)?$", "", text).split(".") if part]


def _cache() -> Iterator[Finding]:
    from engine.kernels import cache_root

    yield Finding("kernel cache", "good", f"compiled kernels are kept in {_written(cache_root())}")


def _kernels() -> Iterator[Finding]:
    from engine.play.executors import SequentialMatchExecutor

    with SequentialMatchExecutor(lanes=1) as executor:
        yield Finding("compiled kernels", "good", _play(executor))


def _workers() -> Iterator[Finding]:
    from engine.play.concurrent import ConcurrentMatchExecutor

    with ConcurrentMatchExecutor(1) as executor, contextlib.ExitStack() as after:
        late = threading.Timer(PATIENCE, executor.stop, [True])  # the match is then cancelled
        after.callback(late.cancel)
        late.start()
        told = _play(executor)
    yield Finding("worker processes", "good", f"one came up, and {told}")


def _play(executor: Any) -> str:
    """A short match of the game that comes with Ringside."""
    from engine.play.match import Limits, MatchSpec
    from engine.registry import KINDS, new_game

    game, since = new_game("pong", points=1), time.perf_counter()
    left, right = list(KINDS.get("pong-bot").samples(game))[:2]
    result = executor.execute_match(MatchSpec("doctor", game.spec, (left, right), 1, None, Limits(400)))
    if result.ending.kind.value not in ("finished", "step_limit"):
        raise TrialFailed(f"a match of Pong ended as {result.ending.kind.value}: {result.ending.reason}")
    return f"a match of {result.steps} steps took {time.perf_counter() - since:.2f} s"


def _plugins() -> Iterator[Finding]:
    from engine.registry import FORMATS, GAMES, KINDS, TRAINERS, Registry, agents_for, all_games

    games = all_games()
    for game in games.values():
        agents_for(game)  # a kind may load, and fail when it is asked about a game
    registries: tuple[Registry[Any], ...] = (GAMES, KINDS, FORMATS, TRAINERS)
    for registry in registries:
        names = games if registry is GAMES else registry.working()
        if names:
            yield Finding(f"{registry.noun}s", "good", f"{', '.join(names)} can be used")
        for key, problem in registry.problems.items():
            points = entry_points(group=registry.group)
            guilty = [one.dist.name for one in points if one.dist and key in (one.name, f"{one.name} ({one.value})")]
            remedy = f"update it, or {PIP} uninstall {' '.join(guilty[:1]) or 'the package that brings it'}"
            yield Finding("plug-in", "broken", _gist(problem), ANEW if "ringside" in guilty else remedy)


def _machine() -> Iterator[Finding]:
    import psutil

    from engine.processes.bootstrap import cores

    yield Finding("cores", "good", f"{cores()} can be used")
    memory = psutil.virtual_memory()
    told = f"{memory.available / GB:.1f} of {memory.total / GB:.1f} GB are free"
    remedy = "close other programs, or play with `--workers 1`" if memory.available < LITTLE else ""
    yield Finding("memory", "missing" if remedy else "good", told, remedy)


def _folder() -> Iterator[Finding]:
    folder = _written(Path.cwd())
    free = shutil.disk_usage(folder).free
    remedy = "make room there, or change to a folder on a larger disk" if free < LITTLE else ""
    yield Finding("current folder", "missing" if remedy else "good", f"{folder} has {free / GB:.1f} GB left", remedy)


def _written(folder: Path) -> Path:
    """The same, when something could be written there: permissions would not tell of a full or read-only disk."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"ringside")
        return folder
    except OSError as error:
        raise TrialFailed(f"{folder} cannot be written: {error.strerror or error}") from None


def _sqlite() -> Iterator[Finding]:
    """Leagues rest on these two settings; network folders refuse the first, or take it and lose data."""
    import sqlite3

    here: Path | None = None  # which is where temporary files go
    with contextlib.suppress(TrialFailed, OSError):
        here = _written(Path.cwd())
    with tempfile.TemporaryDirectory(prefix=".ringside-", dir=here) as folder:
        one, two = (sqlite3.connect(Path(folder, "trial"), isolation_level=None) for _ in range(2))
        with contextlib.closing(one), contextlib.closing(two):
            mode = one.execute("PRAGMA journal_mode=WAL").fetchone()[0]
            one.executescript(
                "PRAGMA synchronous=FULL; BEGIN IMMEDIATE; CREATE TABLE t (x); INSERT INTO t VALUES (7); COMMIT"
            )
            full = one.execute("PRAGMA synchronous").fetchone()[0] == 2
            if mode != "wal" or not full or two.execute("SELECT x FROM t").fetchall() != [(7,)]:
                raise TrialFailed(f"in {folder} the journal is {mode}, and what is written may be lost")
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
        told = "no DISPLAY or WAYLAND_DISPLAY is set: the window needs one; the command line does not"
        yield Finding("display", "missing", told, "start Ringside from a desktop, through `ssh -X`, or by `xvfb-run`")
    if _installed("PySide6-Essentials") is None:
        yield Finding("Qt", "missing", "PySide6-Essentials is not installed", f'{PIP} install "{SOUND_QT}"')
        return
    yield _opened("Qt without a display", QT_LIBRARIES, "-platform", "offscreen")
    if variable or DESKTOP:
        yield _opened("Qt on the display", QT_LIBRARIES + X11_LIBRARIES)


def _opened(what: str, libraries: str, *arguments: str) -> Finding:
    try:
        name = _run(QT, *arguments)
    except TrialFailed as error:
        packages = dict(pair.split("=") for pair in libraries.split())
        missing = _run(LOADER, *packages).split() if sys.platform == "linux" else []  # Qt names one of them at most
        if missing:
            remedy = f"as root: apt-get install {' '.join(packages[one] for one in missing)} (Debian's names)"
            return Finding(what, "broken", f"{', '.join(missing)} cannot be loaded", remedy)
        return Finding(what, "broken", _gist(str(error)), ANEW if arguments else "name a display that you may use")
    return Finding(what, "good", f"it opens on the platform {name}")


def _trial(what: str, package: str, code: str, timeout: float = 30.0) -> Iterator[Finding]:
    if _installed(package) is None:
        yield Finding(what, "missing", f"{package} is not installed", ANEW)
    else:
        yield Finding(what, "good", _gist(_run(code, timeout=timeout)))


def _run(code: str, *arguments: str, timeout: float = 30.0) -> str:
    """What a program prints; raises what it complains of when it fails or takes too long."""
    command = [sys.executable, "-P", "-c", code, *arguments]  # -P: a torch.py in the user's folder is not meant
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        raise TrialFailed(f"no answer within {timeout:g} s") from None
    if done.returncode:
        raise TrialFailed(done.stderr.decode(errors="replace") or f"it ended with status {done.returncode}")
    return done.stdout.decode(errors="replace").strip()


def _gist(said: str) -> str:
    """The line that matters: the last of a traceback, the first of anything else."""
    lines = [line.strip() for line in said.splitlines() if line.strip()] or ["no reason is given"]
    return lines[-1] if lines[0].startswith("Traceback") else lines[0]


# What is tried, and the remedy if that fails in a way that the check itself has no words for.
CHECKS: tuple[tuple[str, Callable[[], Iterator[Finding]], str], ...] = (
    ("Python", _python, "install Python 3.11 or newer, and start launch.py with it"),
    ("packages", _packages, ANEW),
    ("terminal", _terminal, "set PYTHONUTF8=1, and LANG to a locale such as C.UTF-8"),
    ("machine", _machine, ANEW),
    ("current folder", _folder, "change to a folder of yours, such as with `cd ~`: leagues are kept there"),
    ("SQLite", _sqlite, "keep leagues on a disk of this machine, not in a network or shared folder"),
    ("kernel cache", _cache, "name a folder of yours in RINGSIDE_CACHE; till then, every start compiles anew"),
    ("compiled kernels", _kernels, ANEW),
    ("worker processes", _workers, "allow more processes (`ulimit -u`) and memory; `ringside match --here` needs none"),
    ("plug-ins", _plugins, "uninstall the plug-in that was installed last"),
    ("pictures", partial(_trial, "pictures", "pygame", PYGAME), ANEW),
    ("window", _window, ANEW),
    ("training with torch", partial(_trial, "training with torch", "torch", TORCH, PATIENCE), ANEW),
)
