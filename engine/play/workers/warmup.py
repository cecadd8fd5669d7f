"""Kernels made ready before anybody waits for them or plays by a clock: short matches of ready-made players do it.

Only of what comes with Ringside: code of plug-ins is run when it is asked for, and not before.
"""

from __future__ import annotations

import itertools
import traceback

from engine import kernels
from engine.game import Game
from engine.play.executors import SequentialMatchExecutor
from engine.play.march import Marching
from engine.play.match import AgentSpec, Limits, MatchSpec
from engine.registry import GAMES, KINDS, package_of

STEPS = 5
_ready: set[tuple[str, str]] = set()  # games and kinds, in this process and in those that are forked from it


def own_pairs() -> list[tuple[str, str]]:
    return [(game, kind) for game in GAMES.own() for kind in KINDS.own()]


def was_compiled(game: str, kind: str) -> bool:
    """Whether it takes hundredths of a second to make them ready, and not many seconds."""
    return kernels.was_compiled(f"{game} {kind}", package_of(KINDS.get(kind)))


def note_compiled(game: str, kind: str) -> None:
    kernels.note_compiled(f"{game} {kind}", package_of(KINDS.get(kind)))


def make_ready(game: str, kind: str) -> None:
    """What is ready stays so."""
    pair = game, kind
    if pair in _ready:
        return
    _ready.add(pair)
    if game in GAMES.own() and kind in KINDS.own():
        try:
            _play(game, kind)
            note_compiled(game, kind)
        except Exception:  # a slow start is better than none: what is broken is told when it is to play
            traceback.print_exc()


def combinations(game: Game) -> list[tuple[AgentSpec, ...]]:
    """Players for which march drivers are compiled ahead: of each own kind alone, and of each two of them."""
    agents = [list(kind.samples(game)) for name in KINDS.own() if (kind := KINDS.get(name)).plays(game)]
    compiled = [
        samples[0] for samples in agents if samples and hasattr(KINDS.get(samples[0].kind).pilot(game, 1), "act_row")
    ]
    pairs = itertools.combinations_with_replacement(compiled, min(game.info.seats, 2))
    return [tuple(pair[seat % len(pair)] for seat in range(game.info.seats)) for pair in pairs]


def compile_drivers(game: Game) -> None:
    """Compile or load the drivers of these combinations now."""
    for players in combinations(game):
        with SequentialMatchExecutor(lanes=2, marching=Marching.AT_ONCE) as executor:
            executor.execute_match(MatchSpec("0", game.spec, players, 1, None, Limits(STEPS)))


def _play(name: str, kind: str) -> None:
    made, plays = GAMES.get(name), KINDS.get(kind)
    game = made(made.Options())
    if plays.plays(game) and (agents := list(plays.samples(game))):
        players = tuple(agents[seat % len(agents)] for seat in range(game.info.seats))
        for marching in (Marching.NEVER, Marching.IF_CACHED):  # no thread: workers are forked from this process
            with SequentialMatchExecutor(lanes=2, marching=marching) as executor:
                executor.execute_match(MatchSpec("0", game.spec, players, 1, None, Limits(STEPS)))
