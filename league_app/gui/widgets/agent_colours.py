"""Which colour somebody has: its own, or one that stays the same for its id."""

from __future__ import annotations

import zlib

from league_app.gui import theme


def colour_of(agent: str, given: str = "") -> str:
    """RRGGBB, for the agent with this id; a colour of one palette is that of the same place in the other."""
    if given:
        place = place_of(given)
        return given if place is None else theme.current().series[place]
    series = theme.current().series
    return series[zlib.crc32(agent.encode()) % len(series)]


def place_of(colour: str) -> int | None:
    """Among the series, if it is one of a palette."""
    found = (palette.series.index(colour) for palette in (theme.LIGHT, theme.DARK) if colour in palette.series)
    return next(found, None)
