"""Lazy tables of games, agent kinds, formats and trainers, filled by entry points: everybody's, ours too.

A plug-in is an installed package with, in its `pyproject.toml`:

    [project.entry-points."ringside.games"]
    nim = "my_package.nim:Nim"
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar

from engine.errors import BadSpec, BadValue, BrokenPlugin, UnknownName, VersionMismatch
from engine.game import AgentKind, Game, GameClass
from engine.options import build, items, parse
from engine.play.match import AgentSpec, GameSpec

T = TypeVar("T")


class Registry(Generic[T]):
    """Names and what they stand for. Nothing is imported before it is asked for by name."""

    def __init__(self, noun: str, group: str) -> None:
        self.noun = noun
        self.group = group
        self._points: dict[str, EntryPoint] | None = None
        self._loaded: dict[str, T] = {}
        self.problems: dict[str, str] = {}  # what could not be loaded, and why

    def names(self) -> list[str]:
        return sorted({*self._found(), *self._loaded})

    def get(self, name: str) -> T:
        if name in self._loaded:
            return self._loaded[name]
        point = self._found().get(name)
        if point is None:
            raise UnknownName(self.noun, name, self.names())
        try:
            value: T = point.load()
            _check_name(name, value)
        except Exception as error:  # a plug-in may fail in any way; it is reported by name and the rest works
            origin = point.dist.name if point.dist else "an unknown package"
            text = f"{self.noun} {name!r} of {origin} cannot be loaded: {type(error).__name__}: {error}"
            self.problems[name] = text
            raise BrokenPlugin(text) from error
        self._loaded[name] = value
        return value

    def working(self) -> dict[str, T]:
        """All that load; the others are left out and told in `problems`."""
        found = {}
        for name in self.names():
            try:
                found[name] = self.get(name)
            except BrokenPlugin:
                continue
        return found

    def add(self, name: str, value: T) -> None:
        """Register for this process alone: for scripts and tests."""
        _check_name(name, value)
        self._loaded[name] = value

    def remove(self, name: str) -> None:
        self._loaded.pop(name, None)

    def _found(self) -> dict[str, EntryPoint]:
        if self._points is None:
            self._points = {}
            points = entry_points(group=self.group)
            for point in sorted(points, key=lambda one: one.dist is None or one.dist.name != "ringside"):  # ours first
                first = self._points.setdefault(point.name, point)
                if first.value != point.value:
                    self.problems[f"{point.name} ({point.value})"] = (
                        f"{self.noun} {point.name!r} is offered twice: {first.value} is used, {point.value} is not"
                    )
        return self._points


def _check_name(name: str, value: object) -> None:
    own = getattr(value, "name", name)
    if own != name:
        raise BadValue("name", own, f"{name!r}, the name it is registered under")


GAMES: Registry[GameClass] = Registry("game", "ringside.games")
KINDS: Registry[AgentKind] = Registry("agent kind", "ringside.agents")
FORMATS: Registry[object] = Registry("tournament format", "ringside.formats")
TRAINERS: Registry[object] = Registry("trainer", "ringside.trainers")


def new_game(name: str, texts: Mapping[str, str] | None = None, /, **options: object) -> Game:
    """A game by name with these options; `texts` are options as a command line has them."""
    made = GAMES.get(name)
    noun = f"option of {name}"
    return made(parse(made.Options, texts, noun) if texts else build(made.Options, options, noun))


def game_of(spec: GameSpec) -> Game:
    """The game that a spec describes; rules of another version are refused."""
    made = GAMES.get(spec.name)
    if made.version != spec.version:
        raise VersionMismatch("game", spec.name, spec.version, made.version)
    game = made(build(made.Options, dict(spec.options), f"option of {spec.name}"))
    if game.spec != spec:
        raise BadSpec(f"the options of {spec.name} must all be given, once and in alphabetical order: {spec.options}")
    return game


def kind_of(agent: AgentSpec) -> AgentKind:
    """The kind of an agent; code of another version is refused."""
    kind = KINDS.get(agent.kind)
    if kind.version != agent.version:
        raise VersionMismatch("agent", f"{agent.id} ({agent.kind})", agent.version, kind.version)
    return kind


def spec_of(name: str, version: int, options: object) -> GameSpec:
    """The GameSpec of a game with these options."""
    return GameSpec(name, version, items(options))
