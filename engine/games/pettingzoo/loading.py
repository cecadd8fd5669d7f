"""Finds PettingZoo's environments on the disk, and runs their code where it can disturb nothing of ours."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import random
import re
import shlex
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from engine.errors import BrokenPlugin
from engine.pygame_headless import SILENCE

SHELVES = ("classic", "butterfly", "atari", "sisl")  # nothing else is ever imported, whatever a league file names
MEMBER = re.compile(r"[a-z0-9_]+_v[0-9]+")
LONGEST = 60.0  # seconds for which one thread waits for another
_alone = threading.RLock()
MISSING = f'PettingZoo is not installed: {shlex.quote(sys.executable)} -m pip install "ringside[pettingzoo]" gets it'


def found() -> dict[str, str]:
    """The module of each environment by its name; nothing is imported."""
    spec = importlib.util.find_spec("pettingzoo")
    places = [Path(place) for place in spec.submodule_search_locations or ()] if spec is not None else []
    return {
        file.stem: f"pettingzoo.{shelf}.{file.stem}"
        for shelf in reversed(SHELVES)  # of two with one name, the classic one
        for place in places
        for file in sorted((place / shelf).glob("*.py"))
        if MEMBER.fullmatch(file.stem)
    }


def require() -> None:
    """Import PettingZoo itself, or say how to get it."""
    with aside():
        try:
            importlib.import_module("pettingzoo")
        except ImportError:
            raise BrokenPlugin(MISSING) from None


def load(name: str, module: str) -> Any:
    """The module of an environment; `name` is what the game is called."""
    require()
    with aside():
        try:
            return importlib.import_module(module)
        except ImportError as error:
            raise BrokenPlugin(f"{name} cannot be loaded: {lacking(error)}") from error
        except Exception as error:  # somebody else's code: told by name, and the rest works
            raise BrokenPlugin(f"{name} cannot be loaded: {type(error).__name__}: {error}") from error


def lacking(error: ImportError) -> str:
    """What it is that cannot be imported, as far as the error knows."""
    package = (error.name or "").partition(".")[0]
    return f"it needs the package {package!r}, which is not installed" if package else f"it says: {error}"


class Divided(threading.local):
    """Standard output, but for the threads that run somebody else's code: what those print is no answer of ours."""

    def __init__(self) -> None:
        self.depth = 0  # of this thread alone

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr if self.depth else HUSHED.stdout, name)


class Hushed:
    """Nothing is printed or warned of while somebody else's code runs, however often it does so.

    Threads come and go in any order: the first to come changes what is the process's, the last to leave puts it back.
    """

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._divided = Divided()
        self.stdout: Any = None  # as it was

    def __enter__(self) -> None:
        self._divided.depth += 1
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self.stdout, self._warnings = sys.stdout, warnings.catch_warnings()
                self._warnings.__enter__()
                warnings.simplefilter("ignore")
                sys.stdout = self._divided

    def __exit__(self, *error: object) -> None:
        self._divided.depth -= 1
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._warnings.__exit__(None, None, None)
                if sys.stdout is self._divided:  # or somebody else has put theirs there
                    sys.stdout = self.stdout


HUSHED = Hushed()


@contextlib.contextmanager
def aside() -> Iterator[None]:
    """For what is done once: pygame may be started, and environment variables, too, stay as they are.

    PettingZoo sets SDL_AUDIODRIVER when it is imported; its modules warn that there is another way to import them.
    One thread at a time: two could put back each other's changes instead of what was there before.
    """
    if not _alone.acquire(timeout=LONGEST):
        raise BrokenPlugin("another environment is being tried in this process, and that does not come to an end")
    try:
        with SILENCE, kept_apart():
            yield
    finally:
        _alone.release()


@contextlib.contextmanager
def kept_apart() -> Iterator[None]:
    """Hushed, and the process's own generators come out as they went in."""
    plain, numeric = random.getstate(), np.random.get_state()
    try:
        with HUSHED:
            yield
    finally:
        random.setstate(plain)
        np.random.set_state(numeric)
