"""Creates a game in a child process first, to find options with which its constructor hangs or crashes.

A league file may contain options with which an environment loops forever in its constructor, as pursuit does on a board
of one column. A watchdog kills a worker that hangs, but there is none for the GUI and the command line.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import socket
import sys

from engine.errors import RingsideError
from engine.play.match import GameSpec
from engine.processes.bootstrap import ChildSetup
from engine.processes.child import ChildEnded, ChildProcess
from engine.registry import GAMES, game_of

PROBE_SECONDS = 20.0  # starting the process takes one; creating any of the tested environments less than one
PROBE = "engine.games.pettingzoo.probe_process:run_probe"
SETUP = ChildSetup(nice=0, children=True)  # a person waits for it


def probe_options(spec: GameSpec, made: object) -> str:
    """Why this game must not be created in this process; empty if it may.

    Only registered classes are probed, because only they can be named by a file. Workers have a watchdog and skip it,
    and so does the probe itself. Raises RingsideError if the child process could not try it.
    """
    safe = multiprocessing.parent_process() is not None
    if safe or getattr(sys, "frozen", False) or not _is_registered(spec, made):
        return ""
    with ChildProcess(PROBE, spec, setup=SETUP) as child:
        try:
            child.receive(PROBE_SECONDS)
        except ChildEnded as ended:
            if child.start_error or (child.exit_code or 0) > 0:
                raise _untried(spec, f"the child process {ended}") from None
            return "its constructor crashes the process with these options" if child.exit_code else ""
        return f"its constructor does not finish within {PROBE_SECONDS:g} seconds with these options"


def _untried(spec: GameSpec, reason: str) -> RingsideError:
    return RingsideError(f"{spec.name} could not be tried with options that differ from its defaults: {reason}")


def run_probe(end: socket.socket, spec: GameSpec) -> None:
    """Runs in the child process. Ignores errors: the parent creates the game again and reports them."""
    with contextlib.suppress(Exception):
        game_of(spec)


def _is_registered(spec: GameSpec, made: object) -> bool:
    try:
        return GAMES.get(spec.name) is made
    except RingsideError:
        return False
