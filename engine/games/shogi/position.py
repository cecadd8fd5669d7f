"""A position for agents that search: immutable, independent of the boards, with the moves that led to it."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from engine.errors import BadValue
from engine.game import Ints
from engine.games.shogi.moves import MAX_MOVES, list_moves
from engine.games.shogi.notation import START, Cells, Sets, is_usi, read_sfen, read_usi, write_sfen, write_usi
from engine.games.shogi.play import make_move, unpack
from engine.games.shogi.tables import SIDE


class ShogiPosition:
    """`start` is an SFEN, `moves` are the actions since then."""

    def __init__(self, start: str, packed: tuple[int, ...], cells: Cells, sets: Sets, number: int) -> None:
        self.start = start
        self.packed = packed  # the moves as packed by `play`
        self.cells, self.sets = cells, sets  # see `tables`; never modified
        self.number = number  # of the next move

    @classmethod
    def from_sfen(cls, text: str, field: str = "sfen") -> ShogiPosition:
        cells, sets, number = read_sfen(text, field)
        return cls(write_sfen(cells, number), (), cells, sets, number)

    @classmethod
    def from_usi(cls, text: str, field: str = "position", most: int | None = None) -> ShogiPosition:
        """Reads 'startpos' or an SFEN (with or without 'sfen' in front), and up to `most` moves after 'moves'."""
        words = text.split()
        cut = words.index("moves") if "moves" in words else len(words)
        begin = words[1:cut] if words[:1] == ["sfen"] else words[:cut]
        position = cls.from_sfen(START if begin == ["startpos"] else " ".join(begin), field)
        moves = words[cut + 1 :]
        if most is not None and len(moves) > most:
            raise BadValue(field, text, f"a start with at most {most} moves, not {len(moves):,}")
        for number, word in enumerate(moves, start=1):
            try:
                move = read_usi(position.cells, position.sets, word)
            except BadValue as error:
                raise BadValue(field, text, f"a sequence of legal moves; move {number}: {error}") from None
            position = position.play(move & 0xFFF)
        return position

    @cached_property
    def moves(self) -> tuple[int, ...]:
        return tuple([move & 0xFFF for move in self.packed])

    @property
    def seat(self) -> int:
        """The side to move."""
        return int(self.cells[SIDE])

    @cached_property
    def legal_moves(self) -> Ints:
        """The packed legal moves, sorted by action."""
        out: NDArray[np.int32] = np.empty(MAX_MOVES, np.int32)
        count, _ = list_moves(self.cells, self.sets, out, 0)
        found: Ints = out[:count].astype(np.int64)
        found = found[np.argsort(found & 0xFFF)]
        found.flags.writeable = False
        return found

    def legal(self) -> Ints:
        actions: Ints = self.legal_moves & 0xFFF
        return actions

    def play(self, action: int) -> ShogiPosition:
        cells, sets = self.cells.copy(), self.sets.copy()
        move = int(unpack(cells, action))
        make_move(cells, sets, move)
        return ShogiPosition(self.start, (*self.packed, move), cells, sets, self.number + 1)

    def action(self, usi: str) -> int:
        """The action of a move in USI notation; BadValue if it is not legal."""
        return read_usi(self.cells, self.sets, usi) & 0xFFF

    def name(self, action: int) -> str:
        """The move of an action in USI notation: 7g7f, 8h2b+, P*5e."""
        return write_usi(int(unpack(self.cells, action)))

    def mistake(self, typed: str) -> str:
        """Why the text names no legal move."""
        return "is not legal here" if is_usi(typed) else "is not a move: write moves like 7g7f, 8h2b+ or P*5e"

    @property
    def sfen(self) -> str:
        return write_sfen(self.cells, self.number)

    def usi(self) -> str:
        """Start and moves, as arguments of the USI command `position`."""
        moves = " ".join(map(write_usi, self.packed))
        return f"sfen {self.start}" + (f" moves {moves}" if moves else "")
