"""Creates a game in a child process first, to find options with which its constructor hangs or crashes.

A league file may contain options with which an environment loops forever in its constructor, as pursuit does on a board
of one column. A watchdog kills a worker that hangs, but there is none for the GUI and the command line.
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
from engine.processes.child import describe_exit, summarize_output
from engine.registry import GAMES, game_of

PROBE_SECONDS = 20.0  # starting the process takes one; creating any of the tested environments less than one
REASON_OUTPUT = 400  # characters of the child's output in an error
CHILD = """import json, sys
path, parent, spec = json.load(sys.stdin)
sys.path[:] = path
from engine.games.pettingzoo import probe_process
probe_process.run_probe(parent, *spec)"""
watched = False  # whether this process is the probe itself


def probe_options(spec: GameSpec, made: object) -> str:
    """Why this game must not be created in this process; empty if it may.

    Only registered classes are probed, because only they can be named by a file. Workers have a watchdog and skip it.
    Raises RingsideError if the child process could not try it.
    """
    safe = watched or multiprocessing.parent_process() is not None
    if safe or getattr(sys, "frozen", False) or not _is_registered(spec, made):
        return ""
    given = json.dumps([sys.path, os.getpid(), [spec.name, spec.version, spec.options]])
    command, pipe, null = [sys.executable, "-c", CHILD], subprocess.PIPE, subprocess.DEVNULL
    try:
        child = subprocess.Popen(command, stdin=pipe, stdout=null, stderr=pipe, start_new_session=True)
    except OSError as error:
        raise _untried(spec, f"no child process could be started: {error}") from None
    with child:
        try:
            _, printed = child.communicate(given.encode(), timeout=PROBE_SECONDS)
        except subprocess.TimeoutExpired:
            return f"its constructor does not finish within {PROBE_SECONDS:g} seconds with these options"
        finally:
            _kill_group(child)
    if child.returncode > 0:
        output = summarize_output(printed.decode(errors="replace"), REASON_OUTPUT)
        exited = f"the child process {describe_exit(child.returncode)}"
        raise _untried(spec, f"{exited}; it last printed: {output}" if output else exited)
    return "its constructor crashes the process with these options" if child.returncode < 0 else ""


def _untried(spec: GameSpec, reason: str) -> RingsideError:
    return RingsideError(f"{spec.name} could not be tried with options that differ from its defaults: {reason}")


def run_probe(parent: int, name: str, version: int, options: Any) -> None:
    """Runs in the child process. Ignores errors: the parent creates the game again and reports them."""
    global watched
    watched = True
    die_with_parent(parent)
    with open(os.devnull, "w") as null:
        os.dup2(null.fileno(), 2)  # the parent reads only why the process could not start
    if hasattr(signal, "alarm"):
        signal.alarm(round(2 * PROBE_SECONDS))  # for systems where `die_with_parent` does nothing
    with contextlib.suppress(Exception):
        game_of(GameSpec(name, version, tuple((key, value) for key, value in options)))


def _is_registered(spec: GameSpec, made: object) -> bool:
    try:
        return GAMES.get(spec.name) is made
    except RingsideError:
        return False


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    """Kill the child and its descendants."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
    child.kill()
