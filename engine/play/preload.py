"""Imported once, by the process that workers are forked from: with this done they start in a few hundredths of a
second.

It plays a short match of every game that comes with Ringside, so that compiled kernels are ready in each worker. What
was never compiled from these sources is left to the workers that need it: a match of Pong should not wait until Shogi
is compiled. Code of plug-ins is not run here: if it breaks, it should break a worker and not what they all come from.
"""

from __future__ import annotations

from engine.play import process

process.use_one_thread()
process.die_with_parent(None)
process.ignore_signals()

import gc  # noqa: E402 - numpy reads the number of threads when it is imported
import os  # noqa: E402
import traceback  # noqa: E402

import engine.play.worker  # noqa: E402, F401
from engine import kernels  # noqa: E402
from engine.play.executors import SequentialMatchExecutor  # noqa: E402
from engine.play.lanes import compile_general_path  # noqa: E402
from engine.play.match import Limits, MatchSpec  # noqa: E402
from engine.registry import GAMES, KINDS, package_of  # noqa: E402

process.server = os.getpid()


def warm() -> None:
    compile_general_path()
    for name in GAMES.own():
        made = GAMES.get(name)
        game = made(made.Options())
        for kind in (KINDS.get(kind) for kind in KINDS.own()):
            known = kernels.was_compiled(f"{name} {kind.name}", package_of(kind))
            if known and kind.plays(game) and (agents := list(kind.samples(game))):
                players = tuple(agents[seat % len(agents)] for seat in range(game.info.seats))
                with SequentialMatchExecutor(lanes=2) as executor:
                    executor.execute_match(MatchSpec("0", game.spec, players, 1, None, Limits(5)))


try:
    warm()
except Exception:  # a slow start is better than none: workers compile what they need, and say what is broken
    traceback.print_exc()
gc.collect()
gc.freeze()  # what is here now is shared with all workers: looking through it for garbage would copy it
