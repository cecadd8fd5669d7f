"""Tic-tac-toe in plain Python: turns, masks, openings, and positions for agents that search."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from engine.errors import BadValue
from engine.game import GameInfo, Ints
from engine.plain import PlainBoard, PlainGame, View, plain_kind
from engine.scene import Line, Scene, Text

LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


@dataclass(frozen=True)
class NoOptions:
    pass


@dataclass(frozen=True)
class Moves:
    """A position is the moves that led to it."""

    moves: tuple[int, ...] = ()
    start: str = ""

    @property
    def cells(self) -> list[int | None]:
        return [self.moves.index(cell) % 2 if cell in self.moves else None for cell in range(9)]

    @property
    def winner(self) -> int | None:
        cells = self.cells
        return next((cells[a] for a, b, c in LINES if cells[a] is not None and cells[a] == cells[b] == cells[c]), None)

    def legal(self) -> Ints:
        free = [] if self.winner is not None else [cell for cell in range(9) if cell not in self.moves]
        return np.array(free, np.int64)

    def play(self, action: int) -> Moves:
        return Moves((*self.moves, action), self.start)


class TicTacToeBoard(PlainBoard):
    def __init__(self, start: str | None) -> None:
        self._now = Moves(tuple(map(int, start or "")), start or "")

    def acting(self) -> Sequence[int]:
        return [len(self._now.moves) % 2] if self._now.legal().size else []

    def play(self, actions: Mapping[int, int]) -> None:
        (action,) = actions.values()
        self._now = self._now.play(action)

    def scores(self) -> Sequence[float]:
        return [float(self._now.winner == seat) for seat in range(2)]

    def observe(self, seat: int) -> list[float]:
        return [0.0 if cell is None else 1.0 if cell == seat else -1.0 for cell in self._now.cells]

    def legal(self, seat: int) -> list[int]:
        return self._now.legal().tolist()

    def position(self, seat: int) -> Moves:
        return self._now

    def scene(self) -> Scene:
        marks = ["" if cell is None else "XO"[cell] for cell in self._now.cells]
        grid = [Line((0, k / 3), (1, k / 3), "2B3950", 0.01) for k in (1, 2)]
        grid += [Line((k / 3, 0), (k / 3, 1), "2B3950", 0.01) for k in (1, 2)]
        texts = [
            Text((cell % 3 + 0.5) / 3, (cell // 3 + 0.5) / 3, mark, 0.25, "FFFFFF") for cell, mark in enumerate(marks)
        ]
        return Scene(1.0, "101826", (*grid, *texts), f"Tic-tac-toe, {len(self._now.moves)} moves")


class TicTacToe(PlainGame):
    name = "tictactoe"
    version = 1
    Options = NoOptions
    info = GameInfo(title="Tic-tac-toe", seats=2, actions=9, observation=(9,), masked=True)

    def new(self, seed: int, start: str | None) -> TicTacToeBoard:
        return TicTacToeBoard(start)

    def check_start(self, start: str | None) -> None:
        if start is not None:
            cells = [int(cell) for cell in start if cell in "012345678"]
            if len(cells) != len(start) or len(set(cells)) != len(cells) or not Moves(tuple(cells)).legal().size:
                raise BadValue("start", start, "different cells from 0 to 8, as in '40', with a move left")


class Perfect:
    """Searches the whole tree; among equal moves it picks by the match's seed."""

    def act(self, view: View) -> int:
        position = view.position
        values = {move: -_value(tuple(position.play(move).cells)) for move in position.legal().tolist()}
        best = [move for move, value in values.items() if value == max(values.values())]
        return best[view.pick(len(best))]


@functools.cache
def _value(cells: tuple[int | None, ...]) -> int:
    """1, 0 or -1 for the side to move."""
    if any(cells[a] is not None and cells[a] == cells[b] == cells[c] for a, b, c in LINES):
        return -1
    mover = sum(cell is not None for cell in cells) % 2
    after = [(*cells[:k], mover, *cells[k + 1 :]) for k in range(9) if cells[k] is None]
    return max((-_value(position) for position in after), default=0)


class Anyhow:
    """Plays a random legal move."""

    def act(self, view: View) -> int:
        return view.legal[view.pick(len(view.legal))]


KIND = plain_kind(
    "tictactoe-bot",
    1,
    lambda payload: {b"perfect": Perfect, b"anyhow": Anyhow}[payload](),
    ["tictactoe"],
    {"Perfect": b"perfect", "Anyhow": b"anyhow"},
)
