"""The C loop, compiled when there is a compiler."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from agents.scripted.pong import ERROR, MOVE, STYLES, parse_bot
from engine.games.pong.game import RULES, SERVE_ANGLE, SERVE_SIDE, PongOptions
from engine.play.lane_kernels import AGENT_SEED
from engine.play.match import MatchSpec
from tests.benchmarks.players import NET, network

FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC")
BOT = np.dtype(
    [("style", "i4"), ("hold", "u4"), ("centre", "i4"), ("dead_zone", "f8"), ("reach", "f8"), ("noise", "f8")],
    align=True,
)


def library() -> ctypes.CDLL | None:
    """None where there is no C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    target = Path(tempfile.mkdtemp(prefix="ringside-bench-")) / "reference.so"
    source = Path(__file__).with_name("reference.c")
    try:
        subprocess.run([compiler, *FLAGS, str(source), "-o", str(target), "-lm"], check=True, capture_output=True)
        return ctypes.CDLL(str(target))  # stays loaded after its file is deleted
    finally:
        shutil.rmtree(target.parent)


class Native:
    """The same matches, prepared for the C loop: everything but `play` is outside the measurement."""

    def __init__(self, lib: ctypes.CDLL, options: PongOptions, specs: Sequence[MatchSpec]) -> None:
        agents = {player.id: player for spec in specs for player in spec.players}
        place = {name: row for row, name in enumerate(agents)}
        self._kind = int(next(iter(agents.values())).kind == "six-nodes")
        bots = [parse_bot(agent.payload) for agent in agents.values()] if not self._kind else []
        rows = [(STYLES.index(b.style), b.hold, b.centre, b.dead_zone, b.reach, b.noise) for b in bots]
        self._bots = np.array(rows, BOT)
        self._nets = np.array([network(int(a.payload)) for a in agents.values()] if self._kind else [], NET)
        self._purposes = np.array([SERVE_SIDE, SERVE_ANGLE, AGENT_SEED, MOVE, ERROR], np.uint64)
        rules = (options.points, options.step_limit, options.paddle_height / 2)
        self._rules = np.array([(*rules, options.paddle_speed, options.serve_speed, options.top_speed)], RULES)
        self._seeds = np.array([spec.seed for spec in specs], np.uint64)
        self._players = np.array([[place[player.id] for player in spec.players] for spec in specs], np.int32)
        self._room = options.step_limit // 2 + 1
        count = len(specs)
        self.scores, self.steps = np.zeros((count, 2)), np.zeros(count, np.uint32)
        self.stats = np.zeros((count, 2, 8))
        self.log = np.zeros((count, self._room), np.uint8)
        self._lib = lib

    def play(self) -> None:
        arrays = (self._seeds, self._players, self._bots, self._nets, self._rules, self._purposes)
        outputs = (self.scores, self.steps, self.stats, self.log)
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*arrays, *outputs)]
        self._lib.play(ctypes.c_int64(len(self._seeds)), self._kind, *pointers, ctypes.c_int64(self._room))

    def record(self, row: int) -> tuple[object, ...]:
        """The result in the form of `reference.play`."""
        stats = tuple(map(tuple, self.stats[row].tolist()))
        packed = self.log[row, : (int(self.steps[row]) + 1) // 2].tobytes()
        return tuple(self.scores[row].tolist()), int(self.steps[row]), stats, packed
