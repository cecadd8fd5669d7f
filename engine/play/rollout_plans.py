"""Plans of matches by name, so that a rollout can be asked for in any process."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from typing import Any

from engine.errors import BadValue
from engine.play.match import AgentSpec, GameSpec, MatchSpec

GAME = "GameSpec"


class NamedPlan:
    """The plan "module:function": a function that is called with the current agents by id, the stream, the number of
    the match in it, and `settings` by name."""

    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        module, _, function = name.partition(":")
        if not module or not function:
            raise BadValue("plan", name, "module:function")
        self._choose = getattr(importlib.import_module(module), function)
        self.agents: dict[str, AgentSpec] = {}
        self.configure(settings)

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Replace the settings, for matches that start from now on. Call it between two segments."""
        self._settings = read_settings(write_settings(settings))  # the same as in other processes

    def __call__(self, stream: int, k: int) -> MatchSpec:
        spec: MatchSpec = self._choose(self.agents, stream, k, **self._settings)
        return spec


def write_settings(settings: Mapping[str, Any]) -> str:
    """Settings as JSON; a GameSpec may be one of them, because nearly every plan needs it."""
    try:
        return json.dumps(dict(settings), default=_fields_of_game)
    except (TypeError, ValueError):
        raise BadValue("settings", settings, "numbers, texts, lists, dicts and GameSpecs") from None


def read_settings(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text, object_hook=_game_of_fields)
    return found


def _fields_of_game(value: object) -> object:
    if isinstance(value, GameSpec):
        return {GAME: [value.name, value.version, value.options]}
    raise TypeError


def _game_of_fields(fields: dict[str, Any]) -> Any:
    if fields.keys() != {GAME}:
        return fields
    name, version, options = fields[GAME]
    return GameSpec(name, version, tuple((option, value) for option, value in options))
