"""Random numbers without a generator: each draw is a function of (seed, purpose, seat, ply, k).

There is no stream to keep in step, so lanes, workers and interruptions cannot change what is drawn, and the global
generators are never touched. `draw` may be called from kernels; `chance` and `pick` are for plain Python.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numba import uint64

from engine.kernels import inline, kernel

GOLDEN = 0x9E3779B97F4A7C15  # 2**64 / golden ratio, odd: multiplying by it is a bijection


def purpose(name: str) -> int:
    """A constant that keeps the draws made for one purpose apart from all others."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")


def derive(*parts: int | str) -> int:
    """A seed from any mixture of numbers and names, such as (tournament seed, pairing, pair)."""
    text = repr(tuple(part if isinstance(part, str) else int(part) for part in parts))  # quoted, so never ambiguous
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


@inline
def mix(z):  # type: ignore[no-untyped-def]
    """The finaliser of SplitMix64 (Steele, Lea and Flood 2014)."""
    z = uint64(z)
    z = (z ^ (z >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> uint64(27))) * uint64(0x94D049BB133111EB)
    return z ^ (z >> uint64(31))


@inline
def draw(seed, what, seat, ply, k):  # type: ignore[no-untyped-def]
    """64 random bits: SplitMix64 started at a hash of seed and purpose, read at position (seat, k, ply)."""
    place = (uint64(seat) << uint64(56)) ^ (uint64(k) << uint64(40)) ^ uint64(ply)
    return mix(mix(uint64(seed) ^ uint64(what)) + (place + uint64(1)) * uint64(GOLDEN))


@inline
def unit(bits):  # type: ignore[no-untyped-def]
    """64 random bits as a number in [0, 1)."""
    return float(uint64(bits) >> uint64(11)) * (1.0 / 9007199254740992.0)


@kernel
def _draw(seed, what, seat, ply, k):  # type: ignore[no-untyped-def]
    return draw(seed, what, seat, ply, k)


def bits(seed: int, what: int, seat: int = 0, ply: int = 0, k: int = 0) -> int:
    """`draw` for plain Python."""
    u64 = np.uint64
    return int(_draw(u64(seed), u64(what), u64(seat), u64(ply), u64(k)))


def chance(seed: int, what: int, seat: int = 0, ply: int = 0, k: int = 0) -> float:
    """A number in [0, 1), for plain Python."""
    return (bits(seed, what, seat, ply, k) >> 11) * (1.0 / 9007199254740992.0)


def pick(count: int, seed: int, what: int, seat: int = 0, ply: int = 0, k: int = 0) -> int:
    """An index below `count`, for plain Python."""
    return (bits(seed, what, seat, ply, k) * count) >> 64
