"""Recorded matches whose results must never change, on any machine.

After a deliberate change of the rules raise the version of the game, then write them anew:
`python -m tests.engine.play.test_golden`.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.play.executors import SequentialMatchExecutor
from engine.play.match import MatchSpec
from engine.registry import KINDS, new_game

FOLDER = Path(__file__).parents[2] / "golden"
GAMES = {
    "pong": ("pong-bot", [{}, {"points": 2, "paddle_height": 60.0, "top_speed": 30.0}], (None, "left", "right")),
    "treasure-hunt": ("hunter", [{}, {"seats": 2, "width": 17, "gem_chance": 0.01, "frames": 3, "radius": 3}], (None,)),
}


def records(name: str) -> list[dict[str, object]]:
    kind, variants, starts = GAMES[name]
    specs = []
    for number, options in enumerate(variants):
        game = new_game(name, **options)
        agents, seats = list(KINDS.get(kind).samples(game)), game.info.seats
        for n, a in enumerate(agents):
            for m, b in enumerate(agents[n:]):
                players = (a, b, *(agents[(n + m + seat) % len(agents)] for seat in range(2, seats)))
                start = starts[m % len(starts)]
                specs.append(MatchSpec(f"{number}-{a.id}-{b.id}", game.spec, players, 1000 + n, start))
    with SequentialMatchExecutor(16) as executor:
        results = executor.execute_matches(specs)
    return [
        {"id": result.id, "steps": result.steps, "scores": list(result.scores), "digest": result.digest().hex()}
        for result in results
    ]


@pytest.mark.parametrize("name", GAMES)
def test_golden_matches_are_unchanged(name: str) -> None:
    assert records(name) == json.loads((FOLDER / f"{name}.json").read_text())


if __name__ == "__main__":
    for name in GAMES:
        rows = ",\n".join(json.dumps(row) for row in records(name))
        (FOLDER / f"{name}.json").write_text(f"[\n{rows}\n]\n")
