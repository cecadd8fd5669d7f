"""Loads or compiles kernels before a match needs them or a clock runs, by playing short matches.

Only for games and agents that come with Ringside: code of plug-ins runs only when a match needs it.
"""

from __future__ import annotations

import itertools
import traceback
from collections.abc import Iterable, Sequence

from engine import kernels
from engine.game import Game
from engine.play.executors import SequentialMatchExecutor
from engine.play.march import Marching
from engine.play.match import AgentSpec, Limits, MatchSpec
from engine.registry import GAMES, KINDS, package_of

STEPS = 5
_ready: set[tuple[str, str]] = set()  # (game, kind), in this process and those forked from it


def own_pairs() -> list[tuple[str, str]]:
    return [(game, kind) for game in GAMES.own() for kind in KINDS.own()]


def was_compiled(game: str, kind: str) -> bool:
    """Whether the kernels are cached: then they load in hundredths of a second instead of many seconds."""
    return kernels.was_compiled(f"{game} {kind}", package_of(KINDS.get(kind)))


def note_compiled(game: str, kind: str) -> None:
    kernels.note_compiled(f"{game} {kind}", package_of(KINDS.get(kind)))


def own_kinds(agents: Iterable[AgentSpec]) -> list[str]:
    """The kinds of these agents that come with Ringside."""
    return sorted({agent.kind for agent in agents}.intersection(KINDS.own()))


def must_compile(game: str, agents: Iterable[AgentSpec], drivers: bool = False) -> bool:
    """Whether the first match of these agents waits until kernels of Ringside are compiled, which takes a while. With
    `drivers`: whether anything is left to compile before they play at full speed."""
    kinds = own_kinds(agents)
    if game not in GAMES.own():
        return False
    ready = all(was_compiled(game, kind) for kind in kinds)
    return not (ready and (not drivers or all(kernels.was_compiled(*mark) for mark in _driver_marks(game, kinds))))


def _driver_marks(game: str, kinds: Iterable[str]) -> list[tuple[str, str]]:
    """What is noted when the drivers of these kinds have been compiled."""
    pairs = itertools.combinations_with_replacement(sorted(kinds), 2)
    return [(f"{game} driver {one} {other}", package_of(KINDS.get(one))) for one, other in pairs]


def warm_up(game: str, kind: str) -> None:
    """Load or compile the kernels of a game and an agent kind, once."""
    pair = game, kind
    if pair in _ready:
        return
    _ready.add(pair)
    if game in GAMES.own() and kind in KINDS.own():
        try:
            _play(game, kind)
            note_compiled(game, kind)
        except Exception:  # the error is reported when a match needs it
            traceback.print_exc()


def combinations(game: Game, kinds: Iterable[str]) -> list[tuple[AgentSpec, ...]]:
    """The players whose march drivers are compiled in advance: each of these kinds by itself, and each two of them."""
    agents = [list(kind.samples(game)) for name in kinds if (kind := KINDS.get(name)).plays(game)]
    compiled = [
        samples[0] for samples in agents if samples and hasattr(KINDS.get(samples[0].kind).pilot(game, 1), "act_row")
    ]
    pairs = itertools.combinations_with_replacement(compiled, min(game.info.seats, 2))
    return [tuple(pair[seat % len(pair)] for seat in range(game.info.seats)) for pair in pairs]


def compile_drivers(game: Game, kinds: Sequence[str] | None = None) -> None:
    """Compile or load the drivers of these kinds, by default of all own ones."""
    kinds = KINDS.own() if kinds is None else kinds
    for players in combinations(game, kinds):
        with SequentialMatchExecutor(lanes=2, marching=Marching.AT_ONCE) as executor:
            executor.execute_match(MatchSpec("0", game.spec, players, 1, None, Limits(STEPS)))
    for mark in _driver_marks(game.spec.name, kinds):
        kernels.note_compiled(*mark)


def _play(name: str, kind: str) -> None:
    factory, agent_kind = GAMES.get(name), KINDS.get(kind)
    game = factory(factory.Options())
    if agent_kind.plays(game) and (agents := list(agent_kind.samples(game))):
        players = tuple(agents[seat % len(agents)] for seat in range(game.info.seats))
        for marching in (Marching.NEVER, Marching.IF_CACHED):  # no thread: workers are forked from this process
            with SequentialMatchExecutor(lanes=2, marching=marching) as executor:
                executor.execute_match(MatchSpec("0", game.spec, players, 1, None, Limits(STEPS)))
