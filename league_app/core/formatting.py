"""Formats numbers, times and names as text for the window and the terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.errors import RingsideError
from engine.foreign_code import name_and_text

DIGITS = re.compile("[0-9]+")


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun if count == 1 else plural_of(noun)}"


def plural_of(noun: str) -> str:
    return f"{noun}{'es' if noun.endswith('ch') and not noun.endswith('epoch') else 's'}"


def meetings(count: int, seats: int) -> str:
    """Explains the counts of a record in games of more than two seats."""
    return f"{plural(round(count / (seats - 1)), 'match')} of {seats}, which are {plural(count, 'meeting')} of two"


def join_names(names: Sequence[str]) -> str:
    """A, B and C."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def natural_key(text: str) -> str:
    """A sort key that orders numbers in texts by value: Agent 2 before agent 10."""
    return DIGITS.sub(_padded, text.casefold())


def _padded(digits: re.Match[str]) -> str:
    return digits[0].zfill(18)


def shorten(text: str, longest: int) -> str:
    """Cut to at most this many characters, the ellipsis included."""
    return text if len(text) <= longest else text[: longest - 1] + "\u2026"


def ordinal(rank: int) -> str:
    """1st, 2nd, 3rd, 11th."""
    ending = "th" if rank % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank:,}{ending}"


def seat_label(seat: int, name: str = "") -> str:
    """A seat, from 0, and its name in the game, if it has one."""
    return f"Seat {seat + 1}, {name}" if name else f"Seat {seat + 1}"


def finish_order(ranks: Sequence[int]) -> list[int]:
    """The order in which seats are listed: two by seat, more by rank."""
    return list(range(len(ranks))) if len(ranks) <= 2 else sorted(range(len(ranks)), key=lambda seat: ranks[seat])


def score_line(scores: Sequence[str]) -> str:
    """Scores side by side, separated by a dash, or by a colon if one is negative: a dash would look like a minus."""
    return (" : " if any(score.startswith(("-", "\N{MINUS SIGN}")) for score in scores) else " \u2013 ").join(scores)


def outcome(names: Sequence[str], scores: Sequence[float], ranks: Sequence[int]) -> str:
    """Players and their scores, which may be negative."""
    if len(names) == 2:
        return f"{names[0]} {scores[0]:g} : {scores[1]:g} {names[1]}"
    return ", ".join(f"{names[seat]} {scores[seat]:g}" for seat in finish_order(ranks))


def compact(count: int) -> str:
    """A count in at most four characters: 950, 4.2k, 28k, 1.3M."""
    for size, letter in ((1_000_000, "M"), (1000, "k")):
        if count >= size * 0.9995:
            share = count / size
            return f"{share:.1f}{letter}" if share < 9.95 else f"{share:.0f}{letter}"
    return str(count)


def percent(share: float, digits: int = 0) -> str:
    return f"{share * 100:.{digits}f} %"


def chance(share: float) -> str:
    """A probability of something that did happen: never 0 %."""
    return percent(share) if share >= 0.005 else "<1 %"


def duration(seconds: float) -> str:
    """A duration in the largest suitable unit."""
    if seconds < 90:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172_800 else f"{seconds / 86_400:.1f} days"


def about_duration(seconds: float) -> str:
    """An estimated duration."""
    return f"about {duration(seconds)}" if seconds >= 0.05 else "less than 0.1 s"


def match_rate(rate: float) -> str:
    """Matches per second or minute."""
    if rate >= 10:
        return f"{rate:,.0f} a second"
    if rate >= 0.5:
        return f"{rate:.1f} a second"
    return f"{rate * 60:.1f} a minute"


def byte_size(bytes: float) -> str:
    """Memory in MB or GB."""
    if bytes >= 1 << 30:
        return f"{bytes / (1 << 30):.1f} GB"
    return f"{bytes / (1 << 20):,.0f} MB"


def error_text(error: Exception) -> str:
    """An error of ours as it is; for any other, its type as well."""
    return str(error) if isinstance(error, RingsideError) else name_and_text(error)
