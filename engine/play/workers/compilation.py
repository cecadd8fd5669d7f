"""Compiles what the matches of a game need in a process of its own: in this one it would block a window."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable
from contextlib import suppress

from engine.play.lane_kernels import compile_general_path
from engine.play.match import AgentSpec
from engine.play.workers.warmup import compile_drivers, own_kinds, warm_up
from engine.processes.bootstrap import ChildSetup
from engine.processes.channel import ProtocolError
from engine.processes.child import ChildProcess
from engine.registry import GAMES

RUN = "engine.play.workers.compilation:serve"


def compile_kernels(game: str, agents: Iterable[AgentSpec], timeout: float) -> bool:
    """Compile or load the kernels and drivers of Ringside for a game and these agents; returns whether that succeeded
    in so many seconds."""
    until = time.monotonic() + timeout
    with ChildProcess(RUN, game, tuple(own_kinds(agents)), setup=ChildSetup()) as child:
        with suppress(ProtocolError):  # raised when it has ended
            while (left := until - time.monotonic()) > 0:
                child.receive(left)
        return child.exit_code == 0


def serve(end: socket.socket, game: str, kinds: tuple[str, ...]) -> int:
    """The main function of that process; returns its exit status."""
    compile_general_path()
    for kind in kinds:
        warm_up(game, kind)
    factory = GAMES.get(game)
    compile_drivers(factory(factory.Options()), kinds)
    return 0
