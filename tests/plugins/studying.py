"""A trainer that asks for recorded matches of the league, and logs what it gets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from agents.training.events import Checkpoint, Ended, Event, How, Log
from agents.training.matchmaking import split_names
from agents.training.records import RecordQuery
from agents.training.trainer import Metric, Trainer
from engine.game import Game
from engine.options import option
from engine.play.match import AgentSpec
from engine.registry import TRAINERS


@dataclass(frozen=True)
class Studying(Trainer):
    name: ClassVar[str] = "studying"
    about: ClassVar[str] = "Reads recorded matches."
    metrics: ClassVar[Mapping[str, Metric]] = {}
    headline: ClassVar[str] = ""
    agent_settings: ClassVar[tuple[str, ...]] = ("teacher", "rivals")
    ready_settings: ClassVar[tuple[str, ...]] = ("teacher",)

    source: str = option("", help="names of agents; empty: the strongest")
    strongest: int = option(1, low=0, help="how many of them")
    matches: int = option(100, low=1, help="at most so many")
    players: bool = option(False, help="whether the agents are needed too")
    required: bool = option(True, help="whether it needs matches")
    teacher: str = option("", help="the name of an agent")
    rivals: str = option("", help="names of agents of the league")
    saves: bool = option(True, help="whether it has a checkpoint")

    def check(self, game: Game, ancestor: AgentSpec | None, resuming: bool) -> None:
        pass

    def records(self) -> RecordQuery | None:
        names = tuple(split_names(self.source))
        return RecordQuery("source", names, self.strongest, self.matches, self.players, self.required, "name a teacher")

    def train(self, context: Any) -> Iterator[Event]:
        chosen = sorted({record.players[seat] for record in context.records for seat in record.chosen})
        size = sum(len(record.actions) for record in context.records)
        yield Log(f"{len(context.records)} records of {chosen} with {size} bytes")
        yield Log(f"agents {[agent.id for agent in context.agents]}")
        if self.saves:
            yield Checkpoint(1, b"all of it")
        yield Ended(How.STOPPED, "for the test")


TRAINERS.add("studying", Studying)
