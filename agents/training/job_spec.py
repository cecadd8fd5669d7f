"""What the process of a training session is told; a light module, because it is read before that process is set up."""

from __future__ import annotations

from dataclasses import dataclass

from engine.options import Value
from engine.play.match import AgentSpec, GameSpec


@dataclass(frozen=True)
class Task:
    trainer: str
    settings: tuple[tuple[str, Value], ...]
    game: GameSpec
    workers: int
    state: bytes | None  # of the checkpoint to go on from
    ancestor: AgentSpec | None
    plugins: tuple[str, ...]
