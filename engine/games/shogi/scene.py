"""What a Shogi board looks like."""

from __future__ import annotations

from engine.games.shogi.notation import Cells
from engine.scene import Scene


def board_scene(cells: Cells, last: int | None, number: int, reason: int, checked: bool) -> Scene:
    return Scene(4 / 3, "101826", (), f"Shogi, move {number}")
