"""What scripted bots have in common: one is a style with parameters, and its payload is these as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Generic, TypeVar

from engine.game import AgentKind, Game, Pilot
from engine.options import read_json
from engine.play.match import AgentSpec

Bot = TypeVar("Bot")


@dataclass(frozen=True)
class Bots(Generic[Bot]):
    """Those of one kind; `parameters` is a dataclass with fields made by `engine.options.option`."""

    name: str
    version: int
    parameters: type[Bot]

    def parse(self, payload: bytes) -> Bot:
        """The bot in a payload; a clear error for anything else."""
        return read_json(self.parameters, payload, f"parameter of {self.name}")

    def agent(self, name: str, bot: Bot) -> AgentSpec:
        values: Any = bot
        return AgentSpec(name, self.name, json.dumps(asdict(values), sort_keys=True).encode(), self.version)

    def kind(self, game: str, pilot: Callable[[Game, int], Pilot], samples: Mapping[str, Bot]) -> AgentKind:
        """As it is registered: they play this game, and these of them are ready-made."""
        return AgentKind(
            name=self.name,
            version=self.version,
            pilot=pilot,
            plays=lambda board: board.spec.name == game,
            samples=lambda board: [self.agent(name, bot) for name, bot in samples.items()],
        )
