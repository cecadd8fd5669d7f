"""Matches of small networks in Pong whose results must never change, on any machine: compiled code computes them.

After a deliberate change raise the version of the kind `net`, then write them anew:
`python -m tests.agents.nets.test_net_golden`.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from agents.nets.architecture import ACTIVATIONS, Architecture
from agents.nets.network import Network
from agents.nets.pilot import agent
from engine.game import Game
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import MatchSpec
from engine.registry import KINDS, new_game
from engine.seeding import bits, purpose

FOLDER = Path(__file__).parents[2] / "golden"
Cases = list[tuple[tuple[int, ...], float]]  # hidden and temperature
MLPS: Cases = [((64, 64), 0.0), ((9, 17), 1.0), ((8,), 0.3)]
STACKS: Cases = [((16, 24, 8, 9, 16), 1.0), ((7, 8, 9, 10, 11), 0.0)]  # every activation of a stack
CASES: dict[str, tuple[str, Cases]] = {"net.json": ("mlp", MLPS), "net-stack.json": ("stack", STACKS)}
WEIGHT = purpose("golden.weight")


def network(game: Game, type: str, hidden: tuple[int, ...], temperature: float) -> Network:
    """Weights from -0.5 to 0.5 that float32 represents exactly, so that they are the same on every machine."""
    architecture = Architecture(type, hidden, activations=ACTIVATIONS if type == "stack" else ())
    info, tensors, k = game.info, {}, 0
    for name, shape in architecture.shapes(info.observation, info.actions).items():
        values = [(bits(1, WEIGHT, ply=k + place) >> 44) / 2**20 - 0.5 for place in range(math.prod(shape))]
        tensors[name], k = np.array(values, np.float32).reshape(shape), k + len(values)
    return Network(game.spec.name, info.observation, info.actions, architecture, tensors, temperature)


def records(type: str, cases: Cases) -> list[dict[str, object]]:
    game = new_game("pong")
    nets = [agent(f"net {at}", network(game, type, hidden, at)) for hidden, at in cases]
    others = [bot for bot in KINDS.get("pong-bot").samples(game) if bot.id in ("Tracker", "Random")]
    pairs = [(a, b) for a in nets for b in (*nets, *others)]
    specs = [MatchSpec(f"{a.id} - {b.id}", game.spec, (a, b), 1000 + n) for n, (a, b) in enumerate(pairs)]
    with SequentialMatchExecutor(16) as executor:
        results = executor.execute_matches(specs)
    return [
        {"id": result.id, "steps": result.steps, "scores": list(result.scores), "digest": result.digest().hex()}
        for result in results
    ]


@pytest.mark.parametrize("name", CASES)
def test_golden_matches_are_unchanged(name: str) -> None:
    assert records(*CASES[name]) == json.loads((FOLDER / name).read_text())


if __name__ == "__main__":
    for name, case in CASES.items():
        (FOLDER / name).write_text("[\n" + ",\n".join(json.dumps(row) for row in records(*case)) + "\n]\n")
