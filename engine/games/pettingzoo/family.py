"""The family of games whose members are PettingZoo's environments."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.errors import BrokenPlugin, UnknownName
from engine.game import GameClass
from engine.games.pettingzoo.loading import MISSING, found, load
from engine.options import option, validate

NAME = "pettingzoo"
STEP_LIMIT = option(10_000, low=1, high=10_000_000, help="steps after which the match is called off")
LARGEST, TIMES = 100, 20  # a number is at most that, or so many times the usual one: a file must not ask for the moon
OURS = ("render_mode", "render_fps", "render_ratio", "screen_height", "screen_width", "screen_scaling", "step_limit")


class PettingZoo:
    """Makes each game class once."""

    name = NAME

    def __init__(self) -> None:
        self._made: dict[str, GameClass] = {}

    def members(self) -> Sequence[str]:
        return sorted(found())

    def get(self, member: str) -> GameClass:
        if member not in self._made:
            modules = found()
            if not modules:
                raise BrokenPlugin(f"{NAME}:{member[:100]} cannot be played: {MISSING}")
            if member not in modules:
                raise UnknownName("game", f"{NAME}:{member}", [f"{NAME}:{one}" for one in modules])
            name = f"{NAME}:{member}"
            module = load(name, modules[member])
            try:
                self._made[member] = game_class(name, module)
            except Exception as error:  # somebody else's code, which need not look like any that was seen before
                told = f"{name} cannot be loaded: {type(error).__name__}: {error}"
                raise BrokenPlugin(told) from error
        return self._made[member]


def game_class(name: str, module: Any, title: str = "") -> GameClass:
    """A game class from a module that has `env`, or `parallel_env`, or both; it may be given by its name.

    This is all that a plug-in needs to make a game of an environment that is no part of PettingZoo.
    """
    module = load(name, module) if isinstance(module, str) else module
    from engine.games.pettingzoo.boards import ZooGame  # not before it is known that PettingZoo is there

    values = {"name": name, "version": 1, "Options": options_of(module), "module": module, "title": title}
    made: GameClass = type("ZooGame", (ZooGame,), values)  # type: ignore[assignment]
    return made


def options_of(module: Any) -> type:
    """What an environment can be made with, as far as it is numbers, texts and switches."""
    fields: list[tuple[str, type, Any]] = [("step_limit", int, STEP_LIMIT)]
    for name, default in _parameters(module).items():
        most = max(LARGEST, TIMES * abs(default)) if type(default) in (int, float) else None
        told = option(default, help="see PettingZoo's description of it", low=most and -most, high=most)
        fields.append((name, type(default), told))
    return dataclasses.make_dataclass("Options", fields, frozen=True, namespace={"__post_init__": validate})


def _parameters(module: Any) -> dict[str, Any]:
    """Names and defaults: of the class, because the functions around it take and pass on anything."""
    makers = [getattr(module, maker, None) for maker in ("parallel_env", "raw_env", "env")]
    for maker in (*makers, *_inside(getattr(module, "raw_env", None))):
        named = [one for one in _signature(maker).values() if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
        if named:
            usual = {one.name: _default(one) for one in named if one.name not in OURS}
            return {name: default for name, default in usual.items() if type(default) in (bool, int, float, str)}
    return {}


def _inside(wrapper: Any) -> Iterator[type]:
    """Classes that the methods of a class name and that take what it is made with: it passes anything on to one."""
    for method in filter(inspect.isfunction, vars(wrapper).values() if inspect.isclass(wrapper) else ()):
        for name in method.__code__.co_names:
            one = method.__globals__.get(name)
            if inspect.isclass(one) and one is not wrapper and "render_mode" in _signature(one):
                yield one


def _signature(maker: Any) -> Mapping[str, inspect.Parameter]:
    """What it takes; nothing, of what is no maker at all or written in C, such as `itertools.repeat`."""
    try:
        return inspect.signature(maker).parameters
    except (TypeError, ValueError):
        return {}


def _default(one: inspect.Parameter) -> Any:
    """A whole number stands for a fraction where the parameter says so."""
    fraction = str(getattr(one.annotation, "__name__", one.annotation)).startswith("float")
    return float(one.default) if fraction and type(one.default) is int else one.default
