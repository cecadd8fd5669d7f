"""Plans of matches by name, so that a rollout can be asked for in any process."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from engine.errors import BadValue
from engine.play.match import AgentSpec, MatchSpec


class NamedPlan:
    """The plan "module:function": a function that is called with the current agents by id, the stream, the number of
    the match in it, and `settings` by name."""

    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        module, _, function = name.partition(":")
        if not module or not function:
            raise BadValue("plan", name, "module:function")
        self._choose = getattr(importlib.import_module(module), function)
        self._settings = dict(settings)
        self.agents: dict[str, AgentSpec] = {}

    def __call__(self, stream: int, k: int) -> MatchSpec:
        spec: MatchSpec = self._choose(self.agents, stream, k, **self._settings)
        return spec
