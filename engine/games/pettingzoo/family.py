"""The game family whose members are PettingZoo's environments."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.errors import BrokenPlugin, UnknownName
from engine.foreign_code import name_and_text
from engine.game import GameClass
from engine.games.pettingzoo.discovery import MISSING, find_modules, load
from engine.options import option, validate

NAME = "pettingzoo"
STEP_LIMIT = option(10_000, low=1, high=10_000_000, help="steps after which the match ends")
# Bound on numeric options, so that a league file cannot demand huge values: this, or this multiple of the default.
MIN_BOUND, BOUND_FACTOR = 100, 20
EXCLUDED = (
    "render_mode",
    "render_fps",
    "render_ratio",
    "screen_height",
    "screen_width",
    "screen_scaling",
    "step_limit",
)


class PettingZoo:
    """Creates each game class once."""

    name = NAME

    def __init__(self) -> None:
        self._classes: dict[str, GameClass] = {}

    def members(self) -> Sequence[str]:
        return sorted(find_modules())

    def get(self, member: str) -> GameClass:
        if member not in self._classes:
            modules = find_modules()
            if not modules:
                raise BrokenPlugin(f"{NAME}:{member[:100]} cannot be played: {MISSING}")
            if member not in modules:
                raise UnknownName("game", f"{NAME}:{member}", [f"{NAME}:{module}" for module in modules])
            name = f"{NAME}:{member}"
            module = load(name, modules[member])
            try:
                self._classes[member] = game_class(name, module)
            except Exception as error:  # third-party code of any form
                text = f"{name} cannot be loaded: {name_and_text(error)}"
                raise BrokenPlugin(text) from error
        return self._classes[member]


def game_class(name: str, module: Any, title: str = "") -> GameClass:
    """A game class from a module, or the name of a module, that has `env`, `parallel_env` or both.

    Plug-ins call this to turn a third-party environment into a game.
    """
    module = load(name, module) if isinstance(module, str) else module
    from engine.games.pettingzoo.boards import ZooGame  # imports PettingZoo, so only after `load` has checked for it

    values = {"name": name, "version": 1, "Options": options_of(module), "module": module, "title": title}
    created: GameClass = type("ZooGame", (ZooGame,), values)  # type: ignore[assignment]
    return created


def options_of(module: Any) -> type:
    """The options of an environment: its constructor parameters of type bool, int, float and str."""
    fields: list[tuple[str, type, Any]] = [("step_limit", int, STEP_LIMIT)]
    for name, default in _parameters(module).items():
        most = max(MIN_BOUND, BOUND_FACTOR * abs(default)) if type(default) in (int, float) else None
        field = option(default, help="see the documentation of the environment", low=most and -most, high=most)
        fields.append((name, type(default), field))
    return dataclasses.make_dataclass("Options", fields, frozen=True, namespace={"__post_init__": validate})


def _parameters(module: Any) -> dict[str, Any]:
    """Parameter names and defaults; those of the class if the functions around it pass on any arguments."""
    makers = [getattr(module, maker, None) for maker in ("parallel_env", "raw_env", "env")]
    for maker in (*makers, *_wrapped_classes(getattr(module, "raw_env", None))):
        named = [
            parameter
            for parameter in _signature(maker).values()
            if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        ]
        if named:
            defaults = {parameter.name: _default(parameter) for parameter in named if parameter.name not in EXCLUDED}
            return {name: default for name, default in defaults.items() if type(default) in (bool, int, float, str)}
    return {}


def _wrapped_classes(wrapper: Any) -> Iterator[type]:
    """Environment classes that the methods of a wrapper class mention: it passes its arguments to one of them."""
    for method in filter(inspect.isfunction, vars(wrapper).values() if inspect.isclass(wrapper) else ()):
        for name in method.__code__.co_names:
            wrapped = method.__globals__.get(name)
            if inspect.isclass(wrapped) and wrapped is not wrapper and "render_mode" in _signature(wrapped):
                yield wrapped


def _signature(maker: Any) -> Mapping[str, inspect.Parameter]:
    """Its parameters; empty if it is not callable or written in C, such as `itertools.repeat`."""
    try:
        return inspect.signature(maker).parameters
    except (TypeError, ValueError):
        return {}


def _default(parameter: inspect.Parameter) -> Any:
    """The default; an int is converted if the parameter is annotated as float."""
    fraction = str(getattr(parameter.annotation, "__name__", parameter.annotation)).startswith("float")
    return float(parameter.default) if fraction and type(parameter.default) is int else parameter.default
