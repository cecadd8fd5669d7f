"""Compares two players: difference in strength, its uncertainty, and when to stop a sequential test.

Everything is from the first player's view. Counts are of single games (losses, draws, wins) or, better, of side-swapped
pairs with one seed (LL, LD, DD or WL, WD, WW): advantages of a seed or a side then cancel out. The formulas
are those of engine testing; the pentanomial model is by Van den Bergh, the normalised scale by the same author.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from engine.errors import BadValue
from engine.game import Floats

Z = 1.959963984540054  # 95 % of a normal distribution lie within so many standard deviations
SCALE = 800 / math.log(10)  # normalised Elo per standard deviation of one game
CLAMP = 0.001  # a score of 0 or 1 would give infinite Elo
NOTHING = 1e-3  # replaces a count of zero where its logarithm is needed
MOST = 10**15  # games or pairs of one outcome
NEAREST = 300.0  # logarithm of the smallest share of an outcome, with room to spare
Model = Literal["logistic", "normalised"]


def elo(score: float) -> float:
    """The difference in Elo for an expected score."""
    clamped = min(max(score, CLAMP), 1 - CLAMP)
    return -400 * math.log10(1 / clamped - 1)


def expected(difference: float) -> float:
    """The expected score for a difference in Elo."""
    return 1 / (1 + 10 ** (-difference / 400))


def interval(points: float, games: int) -> tuple[float, float]:
    """The 95 % interval of a share of points (Wilson 1927). It stays within 0 and 1, also when all games are won."""
    if games == 0:
        return 0.0, 1.0
    share, width = points / games, Z * Z / games
    middle = (share + width / 2) / (1 + width)
    half = Z * math.sqrt(share * (1 - share) / games + width / (4 * games)) / (1 + width)
    return max(middle - half, 0.0), min(middle + half, 1.0)


@dataclass(frozen=True)
class Comparison:
    """The first player against the second."""

    counts: tuple[int, ...]
    unit: Literal["games", "pairs"]
    score: float  # of the first, from 0 to 1
    elo: float
    elo_error: float  # half-width of the 95 % interval
    normalised: float  # Elo in units of how much single results scatter: compares across kinds of opening and draw rate
    normalised_error: float
    superiority: float  # likelihood that the first is the stronger one
    draw_ratio: float  # of games drawn, or of pairs that are even
    pairs_ratio: float | None  # pairs won by pairs lost; None for games, or when none was lost


def compare(counts: Sequence[int]) -> Comparison:
    """Compares by counts: three are of games, five of pairs."""
    from scipy.special import ndtr  # here, because scipy takes half a second to load

    _check(counts)
    n = sum(counts)
    values, shares = _shares(counts, 0.0)
    mean, deviation = _moments(values, shares)
    if deviation == 0:  # all results are equal: give the other outcomes a small count
        values, shares = _shares(counts, NOTHING)
        _, deviation = _moments(values, shares)
    error = deviation / math.sqrt(n)
    step = math.sqrt(2) if len(counts) == 5 else 1.0
    lost = counts[0] + counts[1]
    return Comparison(
        tuple(counts),
        "pairs" if len(counts) == 5 else "games",
        mean,
        elo(mean),
        (elo(mean + Z * error) - elo(mean - Z * error)) / 2,
        SCALE * (mean - 0.5) / (deviation * step),
        SCALE * Z * error / (deviation * step),
        float(ndtr((mean - 0.5) / error)),
        counts[len(counts) // 2] / n,
        (counts[3] + counts[4]) / lost if len(counts) == 5 and lost else None,
    )


@dataclass(frozen=True)
class Sprt:
    """The state of a sequential probability ratio test of the hypotheses `elo0` and `elo1`."""

    elo0: float
    elo1: float
    model: Model
    unit: Literal["games", "pairs"]
    llr: float  # logarithm of the likelihood ratio
    lower: float
    upper: float

    @property
    def verdict(self) -> str | None:
        """The accepted hypothesis; None while the test is undecided."""
        return "elo1" if self.llr >= self.upper else "elo0" if self.llr <= self.lower else None


def sprt(
    counts: Sequence[int],
    elo0: float,
    elo1: float,
    alpha: float = 0.05,
    beta: float = 0.05,
    model: Model = "normalised",
) -> Sprt:
    """Evaluates the test; `alpha` and `beta` are the risks of wrongly accepting elo1 and elo0."""
    _check(counts, empty=True)
    for name, risk in (("alpha", alpha), ("beta", beta)):
        if not 0 < risk < 0.5:
            raise BadValue(name, risk, "above 0 and below 0.5")
    if not -1000 <= elo0 < elo1 <= 1000:
        raise BadValue("elo0, elo1", (elo0, elo1), "two differences from -1000 to 1000, the smaller one first")
    if model not in ("logistic", "normalised"):
        raise BadValue("model", model, "logistic or normalised")
    most = _largest_normalised(len(counts)) if model == "normalised" else math.inf
    if not -most < elo0 < elo1 < most:
        needed = f"between -{most:.0f} and {most:.0f} on the normalised scale; the logistic one reaches to 1000"
        raise BadValue("elo0, elo1", (elo0, elo1), needed)
    unit: Literal["games", "pairs"] = "pairs" if len(counts) == 5 else "games"
    lower, upper = math.log(beta / (1 - alpha)), math.log((1 - beta) / alpha)
    llr = 0.0
    if sum(counts):
        values, shares = _shares(counts, NOTHING)
        n = sum(count or NOTHING for count in counts)
        fits = [_fit(values, shares, elo, model) for elo in (elo0, elo1)]
        llr = n * float(np.sum(shares * np.log(fits[1] / fits[0])))
    return Sprt(elo0, elo1, model, unit, llr, lower, upper)


def _largest_normalised(outcomes: int) -> float:
    """The largest difference for which `_fit` can begin, at equal shares: its first `pull` needs both signs."""
    _, deviation = _moments(np.linspace(0.0, 1.0, outcomes), np.full(outcomes, 1 / outcomes))
    step = math.sqrt(2) if outcomes == 5 else 1.0
    return SCALE / step / (deviation + 0.25 / deviation)


def _fit(values: Floats, shares: Floats, difference: float, model: Model) -> Floats:
    """The distribution closest to the observed one among those with this difference."""
    if model == "logistic":
        return _tilt(values - expected(difference), shares)
    step = math.sqrt(2) if len(values) == 5 else 1.0
    target = step * difference / SCALE
    fitted = np.full(len(values), 1 / len(values))
    for _ in range(10):
        mean, deviation = _moments(values, fitted)
        pull = values - 0.5 - target * deviation / 2 * (1 + ((values - mean) / deviation) ** 2)
        before, fitted = fitted, _tilt(pull, shares)
        if np.abs(fitted - before).max() < 1e-9:
            break
    return fitted


def _tilt(pull: Floats, shares: Floats) -> Floats:
    """shares / (1 + theta * pull), with theta such that the mean of `pull` is 0 (Owen's empirical likelihood)."""
    from scipy.optimize import brentq

    # theta lies between two poles, and the rarer an outcome, the nearer to one. So the distance from the nearer pole is
    # found, on a logarithmic scale: 1 + theta * pull is then computed without a difference of nearly equal numbers.
    top, bottom = pull.max(), pull.min()
    middle = (-1 / top - 1 / bottom) / 2
    beyond = float(np.sum(shares * pull / (1 + middle * pull))) > 0  # the sum falls as theta grows
    base, slope = (1 - pull / bottom, -pull) if beyond else (1 - pull / top, pull)

    def excess(distance: float) -> float:
        return float(np.sum(shares * pull / (base + math.exp(distance) * slope)))

    half = (1 / top - 1 / bottom) / 2  # the distance from a pole to the middle
    distance = brentq(excess, math.log(half) - NEAREST, math.log(1.1 * half))  # a bit beyond, for rounding errors
    tilted: Floats = shares / (base + math.exp(distance) * slope)
    return tilted


def _shares(counts: Sequence[int], nothing: float) -> tuple[Floats, Floats]:
    taken = np.array([count or nothing for count in counts], np.float64)
    return np.linspace(0.0, 1.0, len(counts)), taken / taken.sum()


def _moments(values: Floats, shares: Floats) -> tuple[float, float]:
    mean = float(np.sum(shares * values))
    return mean, math.sqrt(float(np.sum(shares * (values - mean) ** 2)))


def _check(counts: Sequence[int], empty: bool = False) -> None:
    if len(counts) not in (3, 5):
        raise BadValue("counts", tuple(counts), "three (losses, draws, wins) or five (pairs: LL, LD, DD+WL, WD, WW)")
    if any(isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= MOST for count in counts):
        raise BadValue("counts", tuple(counts), f"whole numbers from 0 to {MOST:,}")
    if not empty and not sum(counts):
        raise BadValue("counts", tuple(counts), "of at least one game")
