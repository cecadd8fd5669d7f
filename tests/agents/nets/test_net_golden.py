"""Matches of a small network in Pong whose results must never change, on any machine: compiled code computes it.

After a deliberate change raise the version of the kind `net`, then write them anew:
`python -m tests.agents.nets.test_net_golden`.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np

from agents.nets.architecture import Architecture
from agents.nets.network import Network
from agents.nets.pilot import agent
from engine.game import Game
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import MatchSpec
from engine.registry import KINDS, new_game
from engine.seeding import bits, purpose

FILE = Path(__file__).parents[2] / "golden" / "net.json"
WEIGHT = purpose("golden.weight")


def network(game: Game, hidden: tuple[int, ...], temperature: float) -> Network:
    """Weights from -0.5 to 0.5 that float32 represents exactly, so that they are the same on every machine."""
    info, architecture, tensors, k = game.info, Architecture("mlp", hidden), {}, 0
    for name, shape in architecture.shapes(info.observation, info.actions).items():
        values = [(bits(1, WEIGHT, ply=k + place) >> 44) / 2**20 - 0.5 for place in range(math.prod(shape))]
        tensors[name], k = np.array(values, np.float32).reshape(shape), k + len(values)
    return Network(game.spec.name, info.observation, info.actions, architecture, tensors, temperature)


def records() -> list[dict[str, object]]:
    game = new_game("pong")
    cases = [((64, 64), 0.0), ((9, 17), 1.0), ((8,), 0.3)]
    nets = [agent(f"net {at}", network(game, hidden, at)) for hidden, at in cases]
    others = [one for one in KINDS.get("pong-bot").samples(game) if one.id in ("Tracker", "Random")]
    pairs = [(a, b) for a in nets for b in (*nets, *others)]
    specs = [MatchSpec(f"{a.id} - {b.id}", game.spec, (a, b), 1000 + n) for n, (a, b) in enumerate(pairs)]
    with SequentialMatchExecutor(16) as executor:
        results = executor.execute_matches(specs)
    return [
        {"id": one.id, "steps": one.steps, "scores": list(one.scores), "digest": one.digest().hex()} for one in results
    ]


def test_golden_matches_are_unchanged() -> None:
    assert records() == json.loads(FILE.read_text())


if __name__ == "__main__":
    FILE.write_text("[\n" + ",\n".join(json.dumps(row) for row in records()) + "\n]\n")
