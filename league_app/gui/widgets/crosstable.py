"""The crosstable: points of every agent against every other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PySide6.QtGui import QFontMetrics

from engine.game import Floats, Ints
from league_app.gui import theme
from league_app.gui.widgets.matrix import Matrix, MatrixLabel, MatrixModel

PAIR_RESULTS = ("both lost", "a loss and a draw", "a win each or both drawn", "a win and a draw", "both won")


@dataclass(frozen=True)
class CrosstableData:
    """Results of all pairs of agents as arrays, because there may be tens of thousands of pairs."""

    agents: tuple[MatrixLabel, ...]
    texts: tuple[tuple[str, ...], ...]
    scores: Floats  # [i, j]: share of the possible points that i won against j; NaN if they have not met
    counts: Ints  # [i, j]: wins, draws, losses, and the five results of side-swapped pairs
    max_games: int = 0  # of any pair


def format_points(value: float) -> str:
    """Wins and half of the draws."""
    return f"{value:.1f}".removesuffix(".0")


class CrosstableModel(MatrixModel):
    def __init__(self) -> None:
        super().__init__()
        self.table = CrosstableData((), (), np.zeros((0, 0)), np.zeros((0, 0, 8), np.int64))

    def set_data(self, shown: CrosstableData) -> None:
        self.table = shown
        self.set_agents(shown.agents)

    def text(self, row: int, column: int) -> str:
        return self.table.texts[row][column]

    def description(self, row: int, column: int) -> str:
        if row == column:
            return ""
        name, against = self.agents[row].name, self.agents[column].name
        wins, draws, losses, *pairs = self.table.counts[row, column].tolist()
        played = wins + draws + losses
        if not played:
            return f"{name} has not played {against}"
        text = f"{name} against {against}: {wins:,} won, {draws:,} drawn, {losses:,} lost"
        text += f" ({format_points(wins + draws / 2)} of {played:,} points)"
        if sum(pairs):
            text += "\nPairs with sides swapped:"
            for count, result in zip(reversed(pairs), reversed(PAIR_RESULTS), strict=True):
                text += f"\n  {count:,}  {result}" if count else ""
        return text

    def values(self) -> npt.NDArray[np.float64]:
        return self.table.scores


class Crosstable(Matrix):
    """Points of games, such as 14.5/20, on a lightly tinted background."""

    def __init__(self) -> None:
        self.cells = CrosstableModel()
        super().__init__(self.cells, "Crosstable", strength=0.45)

    def cell_size(self, count: int, room: int) -> tuple[int, int]:
        most = self.cells.table.max_games
        widest = QFontMetrics(theme.font()).horizontalAdvance(f"{most}.5/{most}")
        return min(max(room // count, widest + 12, 52), max(widest + 12, 120)), 32
