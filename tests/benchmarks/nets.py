"""Networks as players: rows a second of their pilots, by CPU time, in calls of 64 rows."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec

import numpy as np

from agents.nets.architecture import Architecture
from agents.nets.network import dump
from agents.nets.onnx.export import to_onnx
from agents.nets.onnx.pilot import LIBRARY, ONNX
from agents.nets.pilot import NET, kind_for
from agents.nets.torch_pilot import TORCH_NET
from engine.game import AgentKind, Game, Views
from engine.play.match import AgentSpec
from engine.registry import new_game
from tests.benchmarks.measure import Figure
from tests.plugins.networks import drawn

ROWS = 64
CASES = (
    ("pong", Architecture("mlp", (64, 64))),
    ("pong", Architecture("mlp", (256, 256))),
    ("pong", Architecture("stack", (64, 64), activations=("relu", "relu"))),
    ("pong", Architecture("stack", (64, 64), activations=("silu", "silu"))),
    ("treasure-hunt", Architecture("conv", (128,), (16, 32))),
    (
        "treasure-hunt",
        Architecture("stack", (128,), (16, 32), kernels=(3, 3), strides=(1, 2), activations=("silu", "silu", "silu")),
    ),
    ("shogi", Architecture("resnet", (64,), (32,), 3)),
    ("shogi", Architecture("resnet", (64,), (64,), 4)),
)


class Rows(Views):
    """Observations of positions that a few random steps lead to, with their legal actions."""

    def __init__(self, game: Game) -> None:
        boards, info = game.boards(ROWS), game.info
        lanes = np.arange(ROWS, dtype=np.uint32)
        boards.deal(lanes, lanes.astype(np.uint64), [None] * ROWS)
        seats = boards.acting().argmax(axis=1).astype(np.uint32)
        rows = np.array([lanes * info.seats + seats, lanes, seats, 0 * lanes, 0 * lanes], np.uint32)
        legal = np.ones((ROWS, info.actions), np.bool_) if info.masked else None
        if legal is not None:
            boards.legal(lanes, seats, legal)
        super().__init__(boards, rows, np.zeros((ROWS, *info.observation), np.float32), legal)


def figures(quick: bool) -> Iterator[Figure]:
    for name, architecture in CASES:
        game = new_game(name)
        best = kind_for(architecture, game.info.observation, game.info.actions)
        kinds = [best, TORCH_NET] if best is NET else [TORCH_NET]
        kinds += [ONNX] if find_spec(LIBRARY) else []
        jobs = {kind.name: _job(kind, game, architecture) for kind in kinds}
        taken = _cpu_seconds(jobs, 3 if quick else 15, 0.01 if quick else 0.1)
        for kind in kinds:
            value = ROWS / statistics.median(taken[kind.name])
            to = TORCH_NET.name if kind is not TORCH_NET else ""
            pairs = zip(taken[kind.name], taken[TORCH_NET.name], strict=True)
            against = statistics.median(b / a for a, b in pairs) if to else None
            what = f"{game.info.title}, {_text(architecture)}, {kind.name}"
            yield Figure(what, value, "rows/s of CPU time", against, to)


def _text(net: Architecture) -> str:
    sizes = [str(size) for size in (*net.channels, *net.hidden)]
    if net.blocks:
        sizes = [f"{net.blocks} blocks of {net.channels[0]}"]
    for k, stride in enumerate(net.strides):
        sizes[k] += f"/{stride}" if stride > 1 else ""
    return " ".join([net.type, "-".join(sizes), *dict.fromkeys(net.activations)])


def _job(kind: AgentKind, game: Game, architecture: Architecture) -> Callable[[], object]:
    pilot = kind.pilot(game, ROWS * game.info.seats)
    network = drawn(architecture, game)
    pilot.load(AgentSpec("net", kind.name, to_onnx(network) if kind is ONNX else dump(network), kind.version))
    slots = np.arange(ROWS * game.info.seats, dtype=np.uint32)
    pilot.begin(slots, 0 * slots, slots.astype(np.uint64))
    views = Rows(game)
    pilot.act(views)  # compiles, and observes once
    return lambda: pilot.act(views)


def _cpu_seconds(jobs: dict[str, Callable[[], object]], rounds: int, least: float) -> dict[str, list[float]]:
    """CPU seconds of one call of each job, by round; in turns."""
    taken: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            since, calls = time.process_time(), 0
            while time.process_time() - since < least:
                job()
                calls += 1
            taken[name].append((time.process_time() - since) / calls)
    return taken
