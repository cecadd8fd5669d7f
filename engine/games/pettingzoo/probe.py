"""Makes a game in a process of its own first, to see whether that comes to an end at all.

A league file may name options with which an environment loops for ever in its own constructor, as pursuit does on a
board of one column. A worker has somebody who ends it then; the window and the command line have nobody.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import signal
import subprocess
import sys
from typing import Any

from engine.errors import RingsideError
from engine.play.match import GameSpec
from engine.processes.bootstrap import die_with_parent
from engine.registry import GAMES, game_of

PATIENCE = 20.0  # seconds; starting takes one of them, and making any that is installed with us less than one
CHILD = """import json, sys
path, parent, spec = json.load(sys.stdin)
sys.path[:] = path
from engine.games.pettingzoo import probe
probe.attempt(parent, *spec)"""
watched = False  # whether somebody ends this process if it hangs


def objection(spec: GameSpec, made: object) -> str:
    """Why this game must not be made in this process, by what came of it in another; nothing if it may.

    Only of what a file can name: a class that no table knows is the script's own.
    """
    safe = watched or multiprocessing.parent_process() is not None
    if safe or getattr(sys, "frozen", False) or not _named(spec, made):
        return ""
    given = json.dumps([sys.path, os.getpid(), [spec.name, spec.version, spec.options]])
    words, pipe, nowhere = [sys.executable, "-c", CHILD], subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(words, stdin=pipe, stdout=nowhere, stderr=nowhere, start_new_session=True) as child:
        try:
            child.communicate(given.encode(), timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            return "it does not come to an end when it is made with these options"
        finally:
            _end(child)
    return "it ends the process that makes it with these options" if child.returncode < 0 else ""


def attempt(parent: int, name: str, version: int, options: Any) -> None:
    """In the other process. What is wrong with it is told by the one that asked, which makes it again."""
    global watched
    watched = True
    die_with_parent(parent)
    if hasattr(signal, "alarm"):
        signal.alarm(round(2 * PATIENCE))  # where nobody can be asked to end it with its parent
    with contextlib.suppress(Exception):
        game_of(GameSpec(name, version, tuple((key, value) for key, value in options)))


def _named(spec: GameSpec, made: object) -> bool:
    try:
        return GAMES.get(spec.name) is made
    except RingsideError:
        return False


def _end(child: subprocess.Popen[bytes]) -> None:
    """With all that it has started."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
    child.kill()
