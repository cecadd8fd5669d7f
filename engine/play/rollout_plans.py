"""Plans of matches by name, so that a rollout can be asked for in any process."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from engine.errors import BadValue
from engine.play.match import AgentSpec, GameSpec, MatchSpec

GAME = "GameSpec"


class NamedPlan:
    """The plan "module:function": a function that is called with the current agents by id, the stream, the number of
    the match in it, and `settings` by name."""

    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        self._choose = _find(name)
        self.agents: dict[str, AgentSpec] = {}
        self.configure(settings)

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Replace the settings, for matches that start from now on. Call it between two segments."""
        self._settings = read_settings(write_settings(settings))  # the same as in other processes

    def __call__(self, stream: int, k: int) -> MatchSpec:
        spec: MatchSpec = self._choose(self.agents, stream, k, **self._settings)
        return spec


def _find(name: str) -> Callable[..., MatchSpec]:
    """The function of this name; raises BadValue if there is none."""
    module, _, function = name.partition(":") if isinstance(name, str) else ("", "", "")
    if not module or not function or module.startswith("."):
        raise BadValue("plan", name, "module:function")
    try:
        found: object = getattr(importlib.import_module(module), function, None)
    except ImportError as error:
        raise BadValue("plan", name, f"in a module that can be imported: {error}") from error
    if not callable(found):
        raise BadValue("plan", name, f"a function of the module {module}, which has none of that name")
    return found


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
