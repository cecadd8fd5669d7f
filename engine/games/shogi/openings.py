"""Ways to begin a match of Shogi: short, sound developments of our own choosing, in USI notation."""

from __future__ import annotations

import functools

from engine.games.shogi.position import ShogiPosition

LINES: dict[str, str] = {
    "Bare": "",
}


@functools.cache
def positions() -> tuple[ShogiPosition, ...]:
    """After each of them; the first is the usual position."""
    return tuple(ShogiPosition.from_usi(f"startpos moves {moves}") for moves in LINES.values())
