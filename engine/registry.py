"""Lazy tables of everything that plug-ins can add, filled from the entry points of installed packages.

A plug-in is an installed package with, in its `pyproject.toml`:

    [project.entry-points."ringside.games"]
    nim = "my_package.nim:Nim"

A family is a set of games discovered at run time: `ringside.families` names it, and a game is "family:member".
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from engine.diagram import Diagram
from engine.errors import BadSpec, BadValue, BrokenPlugin, RingsideError, UnknownName, VersionMismatch
from engine.foreign_code import INTERRUPTS, name_and_text
from engine.game import AgentKind, Family, Game, GameClass, Painter
from engine.options import build, items, parse
from engine.play.match import AgentSpec, GameSpec
from engine.plugin_imports import LATE_MODULES, load_entry_point

T = TypeVar("T")
REINSTALL = "start it once with `python3 launch.py`, or install it again"


class Registry(Generic[T]):
    """A table of names and values. A value is imported when it is first requested."""

    def __init__(
        self,
        noun: str,
        group: str,
        check: Callable[[str, object], None] = lambda name, value: None,
        families: Registry[Family[T]] | None = None,
    ) -> None:
        self.noun = noun
        self.group = group
        self._check = check  # raises unless a value has the right type
        self._families = families
        self._points: dict[str, EntryPoint] | None = None
        self._loaded: dict[str, T] = {}
        self._failed: dict[str, str] = {}  # by name, why its import failed: it may be slow, and is not repeated
        self.problems: dict[str, str] = {}  # by name: why it could not be loaded

    def names(self) -> list[str]:
        return sorted({*self._found(), *self._loaded})

    def members(self) -> list[str]:
        """The members of all families, as "family:member". There may be many, and some may fail to load."""
        families = self._families.working() if self._families is not None else {}
        return [f"{name}:{member}" for name, family in families.items() for member in family.members()]

    def __contains__(self, name: str) -> bool:
        return name in self._loaded or name in self._found() or (self.in_family(name) and name in self.members())

    def in_family(self, name: str) -> bool:
        """Whether the name has the form "family:member" of a known family; the member itself need not exist."""
        family, colon, _ = name.partition(":")
        listed = name in self._loaded or name in self._found()
        return bool(colon) and not listed and self._families is not None and family in self._families

    def get(self, name: str) -> T:
        if name in self._loaded:
            return self._loaded[name]
        if name in self._failed:
            raise BrokenPlugin(self._failed[name])
        point = self._found().get(name)
        if point is None:
            return self._get_unlisted(name)
        try:
            value: T = load_entry_point(point)
            self._check(name, value)
        except INTERRUPTS:
            raise
        except BaseException as error:  # a plug-in may fail in any way: report it, and keep the rest working
            origin = point.dist.name if point.dist else "an unknown package"
            text = f"{self.noun} {name!r} of {origin} cannot be loaded: {name_and_text(error)}"
            self.problems[name] = self._failed[name] = text
            raise BrokenPlugin(text) from error
        self._loaded[name] = value
        return value

    def _get_unlisted(self, name: str) -> T:
        """A member of a family, or a name that one of LATE_MODULES registers."""
        family, _, member = name.partition(":")
        if self._families is not None and self.in_family(name):
            return self._families.get(family).get(member)
        if LATE_MODULES.load():
            return self.get(name)
        if LATE_MODULES.problems:
            raise BrokenPlugin(f"unknown {self.noun} {name!r}, and {'; '.join(LATE_MODULES.problems)}")
        empty = f"no {self.noun} is registered, because this installation is older than its source: {REINSTALL}"
        raise UnknownName(self.noun, name, self.names(), self.members(), "" if self.names() else empty)

    def working(self) -> dict[str, T]:
        """All values that can be loaded; `problems` tells why the others cannot."""
        found = {}
        for name in self.names():
            try:
                found[name] = self.get(name)
            except BrokenPlugin:
                continue
        return found

    def own(self) -> list[str]:
        """The names that come with Ringside itself."""
        return [name for name, point in self._found().items() if point.dist and point.dist.name == "ringside"]

    def rescan(self) -> None:
        """Read the entry points again at the next access."""
        self._points = None
        self._failed.clear()

    def add(self, name: str, value: T) -> None:
        """Register a value in this process only, for scripts and tests."""
        self._check(name, value)
        self._loaded[name] = value

    def remove(self, name: str) -> None:
        self._loaded.pop(name, None)

    def _found(self) -> dict[str, EntryPoint]:
        if self._points is None:
            self._points = {}
            ours_first = sorted(
                entry_points(group=self.group), key=lambda point: point.dist is None or point.dist.name != "ringside"
            )
            for point in ours_first:
                first = self._points.setdefault(point.name, point)
                if first.value != point.value:
                    used = f"{first.value} is used, {point.value} is ignored"
                    text = f"{self.noun} {point.name!r} is registered twice: {used}"
                    self.problems[f"{point.name} ({point.value})"] = text
        return self._points


def _check_game(name: str, value: object) -> None:
    missing = [attribute for attribute in ("name", "version", "Options", "__call__") if not hasattr(value, attribute)]
    if missing or not isinstance(value, type) or getattr(value, "__abstractmethods__", None):
        raise TypeError(f"{value!r} is not a game class: it needs name, version, Options and no abstract methods")
    _check_name(name, value.name)  # type: ignore[attr-defined]


def _check_kind(name: str, value: object) -> None:
    if not isinstance(value, AgentKind):
        raise TypeError(f"{value!r} is not an AgentKind")
    _check_name(name, value.name)


def _check_format(name: str, value: object) -> None:
    missing = [attribute for attribute in ("name", "about", "Options", "rounds") if not hasattr(value, attribute)]
    if missing:
        raise TypeError(f"{value!r} is not a Format: it has no {', '.join(missing)}")
    _check_name(name, value.name)  # type: ignore[attr-defined]


def _check_trainer(name: str, value: object) -> None:
    attributes = ("name", "about", "metrics", "headline", "unit", "ends", "fixed", "presets", "check", "train")
    missing = [attribute for attribute in attributes if not hasattr(value, attribute)]
    if missing or not isinstance(value, type) or not is_dataclass(value):
        lack = f"it has no {', '.join(missing)}" if missing else "it is not a dataclass"
        raise TypeError(f"{value!r} is not a trainer: {lack}")
    _check_name(name, value.name)  # type: ignore[attr-defined]


def _check_executor(name: str, value: object) -> None:
    attributes = ("name", "about", "isolated", "most_workers", "Options", "create")
    missing = [attribute for attribute in attributes if not hasattr(value, attribute)]
    if missing or not isinstance(value, type):
        lack = f"it has no {', '.join(missing)}" if missing else "it is not a class"
        raise TypeError(f"{value!r} is not an executor: {lack}")
    if abstract := sorted(getattr(value, "__abstractmethods__", ())):
        raise TypeError(f"{value!r} is not an executor: it does not implement {', '.join(abstract)}")
    if ":" in name:
        raise BadValue("name", name, "without a colon, which separates a name from its options")
    _check_name(name, value.name)  # type: ignore[attr-defined]


def _check_name(name: str, own: str) -> None:
    if own != name:
        raise BadValue("name", own, f"{name!r}, the name it is registered under")


def _check_family(name: str, value: object) -> None:
    missing = [attribute for attribute in ("name", "get", "members") if not hasattr(value, attribute)]
    if missing:
        raise TypeError(f"{value!r} is not a family of games: it has no {', '.join(missing)}")
    _check_name(name, value.name)  # type: ignore[attr-defined]


def _check_painter(name: str, value: object) -> None:
    missing = [attribute for attribute in ("picture", "show", "close") if not hasattr(value, attribute)]
    if missing:
        raise TypeError(f"{value!r} is not a painter: it has no {', '.join(missing)}")


FAMILIES: Registry[Family[GameClass]] = Registry("family of games", "ringside.families", _check_family)
GAMES: Registry[GameClass] = Registry("game", "ringside.games", _check_game, FAMILIES)
KINDS: Registry[AgentKind] = Registry("agent kind", "ringside.agents", _check_kind)
FORMATS: Registry[Any] = Registry("tournament format", "ringside.formats", _check_format)
TRAINERS: Registry[type[Any]] = Registry("trainer", "ringside.trainers", _check_trainer)
EXECUTORS: Registry[type[Any]] = Registry("executor", "ringside.executors", _check_executor)
PAINTERS: Registry[Callable[[], Painter]] = Registry("painter of scenes", "ringside.painters", _check_painter)


def all_games(also: Iterable[str] = ()) -> dict[str, Game]:
    """Every registered game that works, with default options, and those games of families that `also` names."""
    names = dict.fromkeys([*GAMES.names(), *(name for name in also if name in GAMES)])
    games = {name: usual_game(name) for name in names}
    return {name: game for name, game in games.items() if game is not None}


def usual_game(name: str) -> Game | None:
    """A game with default options; None if it fails, with the reason in `GAMES.problems`."""
    try:
        return new_game(name)
    except UnknownName:
        return None
    except BrokenPlugin as error:
        GAMES.problems[name] = str(error)
    except INTERRUPTS:
        raise
    except BaseException as error:  # code of a plug-in: report it, and keep the rest working
        GAMES.problems[name] = f"game {name!r} cannot be created: {name_and_text(error)}"
    return None


def agents_for(game: Game) -> dict[str, list[AgentSpec]]:
    """The ready-made agents for a game, by kind."""
    found = {}
    for name, kind in KINDS.working().items():
        try:
            if kind.plays(game):
                found[name] = list(kind.samples(game))
        except INTERRUPTS:
            raise
        except BaseException as error:  # as above
            what = f"fails when asked about {game.spec.name}: {name_and_text(error)}"
            KINDS.problems[name] = f"agent kind {name!r} {what}"
    return found


def new_game(name: str, texts: Mapping[str, str] | None = None, /, **options: object) -> Game:
    """A game by name with these options; `texts` are options as given on the command line."""
    game_class = GAMES.get(name)
    noun = f"option of {name}"
    return game_class(parse(game_class.Options, texts, noun) if texts else build(game_class.Options, options, noun))


def game_of(spec: GameSpec) -> Game:
    """The game that a spec describes. Raises VersionMismatch if another version is installed."""
    game_class = GAMES.get(spec.name)
    if game_class.version != spec.version:
        raise VersionMismatch("game", spec.name, spec.version, game_class.version)
    game = game_class(build(game_class.Options, dict(spec.options), f"option of {spec.name}"))
    if game.spec != spec:
        raise BadSpec(f"{spec.name}: the spec must list every option once, in alphabetical order: {spec.options}")
    return game


def kind_of(agent: AgentSpec) -> AgentKind:
    """The kind of an agent. Raises VersionMismatch if another version is installed."""
    try:
        kind = KINDS.get(agent.kind)
    except UnknownName:  # suggests no other kind, because its plug-in is missing
        missing = f"{agent.id!r} is of that kind, which is not installed: its plug-in is missing"
        raise UnknownName("agent kind", agent.kind, KINDS.names(), otherwise=missing) from None
    if kind.version != agent.version:
        raise VersionMismatch("agent", f"{agent.id} ({agent.kind})", agent.version, kind.version)
    return kind


def plays(agent: AgentSpec, game: Game) -> bool:
    """Whether an agent can play a game. Raises BrokenPlugin if its kind cannot be loaded or asked."""
    return ask_kind(kind_of(agent), agent, "check", lambda kind: bool(kind.plays(game)))


def ask_kind(kind: AgentKind, agent: AgentSpec, verb: str, ask: Callable[[AgentKind], T]) -> T:
    """What the code of a kind says of an agent. Raises errors that are meant for the user, and BrokenPlugin for any
    other."""
    try:
        return ask(kind)
    except RingsideError:
        raise
    except INTERRUPTS:
        raise
    except BaseException as error:  # code of a plug-in
        what = f"fails when asked to {verb} {agent.id!r}: {name_and_text(error)}"
        raise BrokenPlugin(f"agent kind {kind.name!r} {what}") from error


def package_of(kind: AgentKind) -> str:
    """The top-level package that contains its code."""
    return kind.pilot.__module__.partition(".")[0]


def is_person(agent: AgentSpec) -> bool:
    """Whether a person plays it. False for a kind that cannot be loaded; that error is raised when it must play."""
    return is_live(agent.kind)


def is_live(kind: str) -> bool:
    """Whether persons play agents of this kind; see `is_person`."""
    try:
        return KINDS.get(kind).live
    except RingsideError:
        return False


def person_kind(game: Game) -> AgentKind | None:
    """The kind by which the person at this screen plays a game: the first live one, one of Ringside before those of
    plug-ins; None if there is none."""
    live = [name for name in agents_for(game) if is_live(name)]
    return KINDS.get(min(live, key=lambda name: name not in KINDS.own())) if live else None


def needs_a_core(agent: AgentSpec) -> bool:
    """Whether it thinks in real time, so that it needs a CPU core of its own; see `is_person` for unknown kinds."""
    return _ask(agent, "check", lambda kind: bool(kind.timed(agent)), False)


def import_problem(kind: str) -> str:
    """Why a kind cannot be imported, or an empty text; see `is_person` for unknown kinds."""
    try:
        KINDS.get(kind)
    except BrokenPlugin as error:
        return str(error)
    except RingsideError:
        pass
    return ""


def libraries_of(kinds: Iterable[str]) -> tuple[str, ...]:
    """The heavy libraries that pilots of these kinds need; see `AgentKind.preload`."""
    found: set[str] = set()
    for kind in kinds:
        with contextlib.suppress(RingsideError):  # an unknown kind is reported when it plays
            found.update(KINDS.get(kind).preload)
    return tuple(sorted(found))


def draw_agent(agent: AgentSpec) -> Diagram | None:
    """The drawing of an agent that its kind offers; None if there is none, or it fails."""
    return _ask(agent, "draw", lambda kind: kind.draw(agent), None)


def describe_agent(agent: AgentSpec) -> tuple[tuple[str, str], ...]:
    """What its kind says of an agent, as names and values; empty if it says nothing, or fails."""
    return _ask(agent, "describe", lambda kind: tuple(kind.describe(agent)), ())


def _ask(agent: AgentSpec, verb: str, ask: Callable[[AgentKind], T], otherwise: T) -> T:
    """As `ask_kind`; a plug-in that fails is reported, and the rest works."""
    try:
        return ask_kind(KINDS.get(agent.kind), agent, verb, ask)
    except BrokenPlugin as error:
        KINDS.problems[agent.kind] = str(error)
    except RingsideError:  # an unknown kind, or a payload that cannot be read
        pass
    return otherwise


def spec_of(name: str, version: int, options: object) -> GameSpec:
    """The GameSpec of a game with these options."""
    return GameSpec(name, version, items(options))
