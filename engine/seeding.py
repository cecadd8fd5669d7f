"""Random numbers without a generator: each draw is a function of (seed, purpose, seat, ply, k).

There is no generator state, so lanes, workers and interruptions cannot change what is drawn, and the global generators
are never used. Kernels call `draw`; plain Python calls `chance` and `pick`.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache

import numpy as np
from numba import uint64

from engine.kernels import inline

GOLDEN = 0x9E3779B97F4A7C15  # 2**64 / golden ratio, odd: multiplying by it is a bijection
WORD = 2**64 - 1


def purpose(name: str) -> int:
    """A constant that makes the draws for one purpose independent of all others."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")


def derive(*parts: int | str) -> int:
    """A seed derived from numbers and names, such as (tournament seed, pairing, pair)."""
    text = repr(tuple(part if isinstance(part, str) else int(part) for part in parts))  # quoted, so unambiguous
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


@lru_cache(4096)
def _start(seed: int, what: int) -> int:
    """The SplitMix64 state at which the draws of one purpose begin."""
    return _mixed(seed ^ what)


def _mixed(z: int) -> int:
    """`mix` in plain Python."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & WORD
    return z ^ (z >> 31)


def bits(seed: int, what: int, seat: int = 0, ply: int = 0, k: int = 0) -> int:
    """`draw` in plain Python, which is faster than calling a kernel."""
    try:
        together = seed | what | seat | ply | k
    except (TypeError, OverflowError):  # not all are Python ints
        together = -1
    if type(together) is not int or together >> 64:
        seed, what, seat, ply, k = (int(np.uint64(part)) for part in (seed, what, seat, ply, k))  # or OverflowError
    place = (seat << 56 ^ k << 40 ^ ply) & WORD
    return _mixed(_start(seed, what) + (place + 1) * GOLDEN & WORD)


def chance(seed: int, what: int, seat: int = 0, ply: int = 0, k: int = 0) -> float:
    """A number in [0, 1), for plain Python."""
    return (bits(seed, what, seat, ply, k) >> 11) * (1.0 / 9007199254740992.0)


def pick(count: int, seed: int, what: int, seat: int = 0, ply: int = 0, k: int = 0) -> int:
    """An index below `count`, for plain Python."""
    return (bits(seed, what, seat, ply, k) * count) >> 64
