"""Numbers and times as a person says them, in the window and in a terminal."""

from __future__ import annotations


def many(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}es" if noun.endswith("ch") else f"{count:,} {noun}s"


def compact(count: int) -> str:
    """About so many, in four letters: 950, 4.2k, 28k, 1.3M."""
    for size, letter in ((1_000_000, "M"), (1000, "k")):
        if count >= size * 0.9995:
            share = count / size
            return f"{share:.1f}{letter}" if share < 9.95 else f"{share:.0f}{letter}"
    return str(count)


def percent(share: float, digits: int = 0) -> str:
    return f"{share * 100:.{digits}f} %"


def chance(share: float) -> str:
    """Of something that did happen: never none at all."""
    return percent(share) if share >= 0.005 else "<1 %"


def lasting(seconds: float) -> str:
    """A time as a person says it."""
    if seconds < 90:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172_800 else f"{seconds / 86_400:.1f} days"


def each_second(rate: float) -> str:
    """How fast matches are played."""
    if rate >= 10:
        return f"{rate:,.0f} a second"
    if rate >= 0.5:
        return f"{rate:.1f} a second"
    return f"{rate * 60:.1f} a minute"


def weighing(bytes: float) -> str:
    """Memory."""
    if bytes >= 1 << 30:
        return f"{bytes / (1 << 30):.1f} GB"
    return f"{bytes / (1 << 20):,.0f} MB"
