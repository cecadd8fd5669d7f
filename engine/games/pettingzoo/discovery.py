"""Finds installed PettingZoo environments, and isolates their code from global state of this process."""

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
from engine.foreign_code import name_and_text, text_of
from engine.pygame_headless import HEADLESS

SUBPACKAGES = (
    "classic",
    "butterfly",
    "atari",
    "sisl",
)  # nothing else is imported, whatever a file names
MEMBER = re.compile(r"[a-z0-9_]+_v[0-9]+")
LOCK_TIMEOUT = 60.0  # seconds
_lock = threading.RLock()
MISSING = f'PettingZoo is not installed; run {shlex.quote(sys.executable)} -m pip install "ringside[pettingzoo]"'


def find_modules() -> dict[str, str]:
    """Maps the name of each installed environment to its module; imports nothing."""
    spec = importlib.util.find_spec("pettingzoo")
    places = [Path(place) for place in spec.submodule_search_locations or ()] if spec is not None else []
    return {
        file.stem: f"pettingzoo.{shelf}.{file.stem}"
        for shelf in reversed(SUBPACKAGES)  # if two have the same name, the classic one wins
        for place in places
        for file in sorted((place / shelf).glob("*.py"))
        if MEMBER.fullmatch(file.stem)
    }


def require() -> None:
    """Import PettingZoo, or raise an error that says how to install it."""
    with exclusive():
        try:
            importlib.import_module("pettingzoo")
        except ImportError:
            raise BrokenPlugin(MISSING) from None


def load(name: str, module: str) -> Any:
    """Import the module of an environment; `name` is the name of the game."""
    require()
    with exclusive():
        try:
            return importlib.import_module(module)
        except ImportError as error:
            raise BrokenPlugin(f"{name} cannot be loaded: {missing_package(error)}") from error
        except Exception as error:  # third-party code: report it, and keep the rest working
            raise BrokenPlugin(f"{name} cannot be loaded: {name_and_text(error)}") from error


def missing_package(error: ImportError) -> str:
    """Why an import failed: the missing package, if the error names it."""
    package = (error.name or "").partition(".")[0]
    return f"it needs the package {package!r}, which is not installed" if package else text_of(error)


class ThreadStdout(threading.local):
    """A stdout that sends the output of threads inside `QUIET` to stderr, so that it is not mixed with ours."""

    def __init__(self) -> None:
        self.depth = 0  # of nested uses, per thread

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr if self.depth else QUIET.stdout, name)


class QuietOutput:
    """Context manager around third-party code: its output goes to stderr, and its warnings are ignored.

    Several threads may overlap: the first to enter replaces sys.stdout, the last to leave restores it.
    """

    def __init__(self) -> None:
        self._lock, self._depth = threading.Lock(), 0
        self._thread_stdout = ThreadStdout()
        self.stdout: Any = None  # the original one

    def __enter__(self) -> None:
        self._thread_stdout.depth += 1
        with self._lock:
            self._depth += 1
            if self._depth == 1:
                self.stdout, self._warnings = sys.stdout, warnings.catch_warnings()
                self._warnings.__enter__()
                warnings.simplefilter("ignore")
                sys.stdout = self._thread_stdout

    def __exit__(self, *error: object) -> None:
        self._thread_stdout.depth -= 1
        with self._lock:
            self._depth -= 1
            if not self._depth:
                self._warnings.__exit__(None, None, None)
                if sys.stdout is self._thread_stdout:  # otherwise other code has replaced it meanwhile
                    sys.stdout = self.stdout


QUIET = QuietOutput()


@contextlib.contextmanager
def exclusive() -> Iterator[None]:
    """Isolates imports and trials, including environment variables: PettingZoo sets SDL_AUDIODRIVER on import.

    Only one thread at a time, because two could restore each other's changes.
    """
    if not _lock.acquire(timeout=LOCK_TIMEOUT):
        raise BrokenPlugin("another environment is being loaded in this process and does not finish")
    try:
        with HEADLESS, isolated():
            yield
    finally:
        _lock.release()


@contextlib.contextmanager
def isolated() -> Iterator[None]:
    """Quiet, and restores the global random generators afterwards."""
    python_state, numpy_state = random.getstate(), np.random.get_state()
    try:
        with QUIET:
            yield
    finally:
        random.setstate(python_state)
        np.random.set_state(numpy_state)
