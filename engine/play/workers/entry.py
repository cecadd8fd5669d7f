"""The settings that a worker process starts with.

Every worker imports this module before numpy, so it imports nothing heavy.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.processes.bootstrap import ChildSetup

RUN = "engine.play.workers.main:work"
PRELOAD = "engine.play.workers.preload"  # the module that the fork servers of workers import


@dataclass(frozen=True)
class WorkerSettings:
    """The settings that all workers of an executor share."""

    lanes: int
    record: bool  # keep the actions
    batch: int  # matches in a message
    memory: int | None  # bytes that its agents may take
    call: float = 10.0  # seconds that a player may think
    plugins: tuple[str, ...] = ()  # modules to import: they register games and agents that are not installed
    rows: int = 4096  # matches that the heartbeat can list
    log_words: int = 1 << 17  # 64-bit words of the shared action log of a match that is played alone: 1 MB

    def setup(self, libraries: tuple[str, ...] = ()) -> ChildSetup:
        return ChildSetup(server=PRELOAD, libraries=libraries, memory=self.memory)
