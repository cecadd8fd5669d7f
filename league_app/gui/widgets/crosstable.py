"""Who did what against whom: the games of every two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PySide6.QtGui import QFontMetrics

from engine.game import Floats, Ints
from engine.league.standings import Row
from league_app.gui import theme
from league_app.gui.widgets.matrix import Matrix, MatrixModel, Who

PAIRS = ("both lost", "a loss and a draw", "a win each or both drawn", "a win and a draw", "both won")


@dataclass(frozen=True)
class Crossed:
    """Everybody against everybody, ready to be drawn: tens of thousands of tallies are not kept for that."""

    who: tuple[Who, ...]
    texts: tuple[tuple[str, ...], ...]
    scores: Floats  # [i, j]: share of what i could win against j; no number where they have not met
    counts: Ints  # [i, j]: wins, draws, losses, and the five kinds of pairs
    most: int = 0  # games of any two


def crossed(rows: Sequence[Row]) -> Crossed:
    """To be made beside the window's thread."""
    places = {row.agent: place for place, row in enumerate(rows)}
    count, most = len(rows), 0
    counts, scores, texts = np.zeros((count, count, 8), np.int64), np.full((count, count), np.nan), []
    for place, row in enumerate(rows):
        met = [(places[agent], tally) for agent, tally in row.against.items() if agent in places and tally.played]
        line = [""] * count
        for other, tally in met:
            line[other] = f"{_points(tally.points)}/{tally.played}"
        texts.append(tuple(line))
        if met:
            others = [other for other, _ in met]
            counts[place, others] = [(tally.wins, tally.draws, tally.losses, *tally.pairs) for _, tally in met]
            scores[place, others] = [tally.score for _, tally in met]
            most = max(most, *(tally.played for _, tally in met), 0)
    return Crossed(tuple(Who(row.agent, row.name) for row in rows), tuple(texts), scores, counts, most)


def _points(value: float) -> str:
    """Wins and half of the draws."""
    return f"{value:.1f}".removesuffix(".0")


class CrosstableModel(MatrixModel):
    def __init__(self) -> None:
        super().__init__()
        self.shown = crossed(())

    def set_crossed(self, shown: Crossed) -> None:
        self.shown = shown
        self.changed(shown.who)

    def text(self, one: int, other: int) -> str:
        return self.shown.texts[one][other]

    def words(self, one: int, other: int) -> str:
        if one == other:
            return ""
        name, against = self.who[one].name, self.who[other].name
        wins, draws, losses, *pairs = self.shown.counts[one, other].tolist()
        played = wins + draws + losses
        if not played:
            return f"{name} has not met {against}"
        told = f"{name} against {against}: {wins:,} won, {draws:,} drawn, {losses:,} lost"
        told += f" ({_points(wins + draws / 2)} of {played:,} points)"
        if sum(pairs):
            told += "\nPairs with sides swapped:"
            for count, kind in zip(reversed(pairs), reversed(PAIRS), strict=True):
                told += f"\n  {count:,}  {kind}" if count else ""
        return told

    def values(self) -> npt.NDArray[np.float64]:
        return self.shown.scores


class Crosstable(Matrix):
    """Points of games, such as 14.5/20, with a tint that is no more than a hint."""

    def __init__(self) -> None:
        self.cells = CrosstableModel()
        super().__init__(self.cells, "Crosstable", strength=0.45)

    def cell_size(self, count: int, room: int) -> tuple[int, int]:
        most = self.cells.shown.most
        widest = QFontMetrics(theme.font()).horizontalAdvance(f"{most}.5/{most}")
        return min(max(room // count, widest + 12, 52), max(widest + 12, 120)), 32
