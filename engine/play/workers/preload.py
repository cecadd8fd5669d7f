"""Imported once, by the process that workers are forked from: with this done they start in a few hundredths of a
second.

It plays a short match of every game that comes with Ringside, so that compiled kernels are ready in each worker. What
was never compiled from these sources is left to the workers that need it: a match of Pong should not wait until Shogi
is compiled. Code of plug-ins is not run here: if it breaks, it should break a worker and not what they all come from.
"""

from __future__ import annotations

from engine.processes import bootstrap as process

process.use_one_thread()
process.die_with_parent(None)
process.ignore_signals()

import gc  # noqa: E402 - numpy reads the number of threads when it is imported
import os  # noqa: E402
import traceback  # noqa: E402

import engine.play.workers.main
from engine.play.lane_kernels import compile_general_path  # noqa: E402
from engine.play.workers.warmup import make_ready, own_pairs, was_compiled  # noqa: E402

process.server = os.getpid()

try:
    compile_general_path()
    for game, kind in own_pairs():
        if was_compiled(game, kind):
            make_ready(game, kind)
except Exception:  # a slow start is better than none: workers compile what they need, and say what is broken
    traceback.print_exc()
gc.collect()
gc.freeze()  # what is here now is shared with all workers: looking through it for garbage would copy it
