"""The colour of an agent: its own, or one derived from its id."""

from __future__ import annotations

import zlib

from league_app.gui import theme
from league_app.gui.palette import DARK, LIGHT


def colour_of(agent: str, given: str = "") -> str:
    """RRGGBB. A series colour of one palette is replaced by the same series colour of the current palette."""
    if given:
        index = series_index(given)
        return given if index is None else theme.current().series[index]
    series = theme.current().series
    return series[zlib.crc32(agent.encode()) % len(series)]


def series_index(colour: str) -> int | None:
    """The index of a colour among the series colours of a palette; None if it is not one of them."""
    indexes = (palette.series.index(colour) for palette in (LIGHT, DARK) if colour in palette.series)
    return next(indexes, None)
