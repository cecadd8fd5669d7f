"""The light and the dark palette; tests check their contrast."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Palette:
    """Colours by role, as RRGGBB."""

    name: str
    window: str
    surface: str
    raised: str
    hairline: str
    border: str  # controls
    text: str
    muted: str
    accent: str
    on_accent: str
    selection: str
    good: str
    warn: str
    bad: str
    series: tuple[str, ...]
    cold: str  # heat maps run from cold through the surface colour to hot
    hot: str


LIGHT = Palette(
    name="light",
    window="F4F5F7",
    surface="FFFFFF",
    raised="F8F9FB",
    hairline="D5D9E0",
    border="8A93A3",
    text="1B1F27",
    muted="5A6372",
    accent="2456C8",
    on_accent="FFFFFF",
    selection="DCE7FF",
    good="0B7A55",
    warn="8F5600",
    bad="B3261E",
    series=("1F5FD6", "B03A00", "14966C", "7A2A80", "C18B00", "14171C"),
    cold="7FA8F0",
    hot="F0A36B",
)
DARK = Palette(
    name="dark",
    window="14171C",
    surface="1B1F26",
    raised="232831",
    hairline="343B47",
    border="5F6B7C",
    text="E6E9EF",
    muted="9AA4B5",
    accent="7AA7FF",
    on_accent="0B1220",
    selection="24385F",
    good="4CC38A",
    warn="F0B429",
    bad="FF7B72",
    series=("4A9BFF", "FF7A33", "3CCFA0", "E9A6F2", "FFE14D", "FFFFFF"),
    cold="2F5FA8",
    hot="9A511D",
)
