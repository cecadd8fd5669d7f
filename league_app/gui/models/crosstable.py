"""The crosstable of a league's standings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.league.standings import Row
from league_app.gui.widgets.crosstable import CrosstableData, format_points
from league_app.gui.widgets.matrix import MatrixLabel


def crosstable_data(rows: Sequence[Row]) -> CrosstableData:
    """Called in a background thread: it reads every pair of agents."""
    indexes = {row.agent: index for index, row in enumerate(rows)}
    count, most = len(rows), 0
    counts, scores, texts = np.zeros((count, count, 8), np.int64), np.full((count, count), np.nan), []
    for index, row in enumerate(rows):
        met = [(indexes[agent], tally) for agent, tally in row.against.items() if agent in indexes and tally.played]
        texts_of_row = [""] * count
        for other, tally in met:
            texts_of_row[other] = f"{format_points(tally.points)}/{tally.played}"
        texts.append(tuple(texts_of_row))
        if met:
            others = [other for other, _ in met]
            counts[index, others] = [(tally.wins, tally.draws, tally.losses, *tally.pairs) for _, tally in met]
            scores[index, others] = [tally.score for _, tally in met]
            most = max(most, *(tally.played for _, tally in met), 0)
    return CrosstableData(tuple(MatrixLabel(row.agent, row.name) for row in rows), tuple(texts), scores, counts, most)
