"""Shared code of scripted bots: a bot is a style with parameters, and its payload is both as JSON."""

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
class BotFamily(Generic[Bot]):
    """The bots of one agent kind; `parameters` is a dataclass with fields made by `engine.options.option`."""

    name: str
    version: int
    parameters: type[Bot]

    def parse(self, payload: bytes) -> Bot:
        """Reads a bot from a payload; raises an error that names the invalid parameter."""
        return read_json(self.parameters, payload, f"parameter of {self.name}")

    def agent(self, name: str, bot: Bot) -> AgentSpec:
        values: Any = bot
        return AgentSpec(name, self.name, json.dumps(asdict(values), sort_keys=True).encode(), self.version)

    def kind(self, game: str, pilot: Callable[[Game, int], Pilot], samples: Mapping[str, Bot]) -> AgentKind:
        """The agent kind to register, for this game and with these ready-made bots."""
        return AgentKind(
            name=self.name,
            version=self.version,
            pilot=pilot,
            plays=lambda board: board.spec.name == game,
            samples=lambda board: [self.agent(name, bot) for name, bot in samples.items()],
        )
