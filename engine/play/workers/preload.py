"""Imported once, by the fork server of workers, so that a worker starts in a few hundredths of a second.

It plays a short match of every game that comes with Ringside, so that compiled kernels are loaded in each worker. What
was never compiled from these sources is left to the workers that need it: a match of Pong should not wait until Shogi
is compiled. Code of plug-ins is not run here: an error in it may crash a worker, but must not crash the server.
"""

from __future__ import annotations

import gc
import traceback

import engine.play.workers.main  # noqa: F401
from engine.play.lane_kernels import compile_general_path
from engine.play.workers.warmup import own_pairs, warm_up, was_compiled
from engine.registry import KINDS

try:
    compile_general_path()
    for game, kind in own_pairs():
        if not KINDS.get(kind).preload and was_compiled(game, kind):  # their pilots import heavy libraries
            warm_up(game, kind)
except Exception:  # workers compile what they need and report errors themselves
    traceback.print_exc()
gc.collect()
