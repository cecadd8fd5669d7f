"""The entry point of a worker process and the settings that it starts with.

Every worker imports this module before numpy, so it imports nothing heavy.
"""

from __future__ import annotations

import importlib
import os
import socket
from dataclasses import dataclass, field
from typing import Any

from engine.processes.bootstrap import (
    NICE,
    exit_now,
    limit_memory,
    ringside_variables,
    set_up_process,
    use_one_thread,
)

PRELOAD = "engine.play.workers.preload"  # the module that the fork server of workers imports


@dataclass(frozen=True)
class WorkerSettings:
    """The settings that all workers of an executor share."""

    lanes: int
    record: bool  # keep the actions
    batch: int  # matches in a message
    memory: int | None  # bytes that its agents may take
    plugins: tuple[str, ...] = ()  # modules to import: they register games and agents that are not installed
    rows: int = 4096  # matches that the heartbeat can list
    log_words: int = 1 << 17  # 64-bit words of the shared action log of a match that is played alone: 1 MB
    variables: tuple[tuple[str, str], ...] = field(default_factory=lambda: ringside_variables())


def worker_main(end: socket.socket, output: socket.socket | None, memory: Any, settings: WorkerSettings) -> None:
    """Set up the process, play until the dispatcher says stop, and exit."""
    set_up_process(output, NICE)
    use_one_thread()
    for name, _ in ringside_variables():
        del os.environ[name]
    os.environ.update(settings.variables)
    for name in settings.plugins:
        importlib.import_module(name)
    worker = importlib.import_module("engine.play.workers.main")
    if settings.memory is not None:
        limit_memory(settings.memory)
    exit_now(worker.work(end, memory, settings))
