"""What a trainer's process receives at its start. Imports little: it is loaded before that process is set up."""

from __future__ import annotations

from dataclasses import dataclass

from agents.training.records import MatchRecord
from engine.options import Value
from engine.play.match import AgentSpec, GameSpec


@dataclass(frozen=True)
class TrainingJobSpec:
    trainer: str
    settings: tuple[tuple[str, Value], ...]
    game: GameSpec
    workers: int
    state: bytes | None  # of the checkpoint to resume from
    ancestor: AgentSpec | None
    agents: tuple[AgentSpec, ...]  # of the league, which the settings name
    plugins: tuple[str, ...]
    on: str  # the name of the executor that plays matches
    records: tuple[MatchRecord, ...] = ()  # of the league, which the trainer asks for
