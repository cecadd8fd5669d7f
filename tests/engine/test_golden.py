"""Matches that were recorded once and must come out the same for ever, on every machine.

After a deliberate change of the rules raise the version of the game, then write them anew:
`python -m tests.engine.test_golden`.
"""

from __future__ import annotations

import json
from pathlib import Path

from engine.play.executors import SequentialMatchExecutor
from engine.play.match import MatchSpec
from engine.registry import KINDS, new_game

FILE = Path(__file__).parents[1] / "golden" / "pong.json"


def records() -> list[dict[str, object]]:
    games = [new_game("pong"), new_game("pong", points=2, paddle_height=60.0, top_speed=30.0)]
    specs = [
        MatchSpec(f"{number}-{a.id}-{b.id}", game.spec, (a, b), 1000 + n, start)
        for number, game in enumerate(games)
        for n, a in enumerate(KINDS.get("pong-bot").samples(game))
        for b, start in zip(list(KINDS.get("pong-bot").samples(game))[n:], (None, "left", "right") * 2, strict=False)
    ]
    with SequentialMatchExecutor(16) as executor:
        results = executor.execute_matches(specs)
    return [
        {"id": one.id, "steps": one.steps, "scores": list(one.scores), "digest": one.digest().hex()} for one in results
    ]


def test_golden_matches_are_unchanged() -> None:
    assert records() == json.loads(FILE.read_text())


if __name__ == "__main__":
    FILE.write_text("[\n" + ",\n".join(json.dumps(row) for row in records()) + "\n]\n")
