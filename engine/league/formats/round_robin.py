"""Round robin: everybody meets everybody once, in rounds in which nobody plays twice."""

from __future__ import annotations

from collections.abc import Sequence

from engine.play.match import MatchResult


def round_robin(entrants: Sequence[str], results: Sequence[MatchResult]) -> list[list[tuple[str, str]]]:
    """Rounds of pairings by the circle method: one entrant stays, the others move on by one place each round."""
    circle: list[str | None] = [*entrants, None] if len(entrants) % 2 else [*entrants]
    half = len(circle) // 2
    rounds = []
    for turn in range(len(circle) - 1):
        places = [circle[0], *(circle[1 + (k - turn) % (len(circle) - 1)] for k in range(len(circle) - 1))]
        pairs = zip(places[:half], reversed(places[half:]), strict=True)
        rounds.append([(a, b) for a, b in pairs if a is not None and b is not None])
    return rounds


FORMAT = round_robin
