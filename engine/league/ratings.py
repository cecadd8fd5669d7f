"""Ratings of all agents of a table, computed together from all results.

Ratings derive from the set of results, so the order in which matches finish cannot change them. Running Elo, which does
depend on the order, is for the live chart and is computed in schedule order.
"""

from __future__ import annotations

import functools
import hashlib
import math
import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from engine.errors import BadValue
from engine.game import Floats, Ints
from engine.league.statistics import Z, expected

if TYPE_CHECKING:
    from openskill.models import PlackettLuce

T = TypeVar("T", bound=Hashable)
NATS = 400 / math.log(10)  # Elo per natural unit of strength
K, START = 32.0, 1200.0
TIERS = ((1800.0, "Platinum"), (1600.0, "Gold"), (1400.0, "Silver"))


@dataclass(frozen=True)
class Ratings:
    """Bradley-Terry by maximum likelihood, a draw counting half a win for each."""

    agents: tuple[str, ...]
    elo: Floats
    error: Floats  # half-width of each 95 % interval
    superiority: Floats  # [i, j]: likelihood that i is stronger than j
    anchor: str | None  # the agent with the fixed rating; None if the mean is fixed
    prior: bool  # some have only won, only lost, or never met the rest: a virtual draw with the mean keeps them finite
    groups: int = 1  # of agents that have met, directly or through others
    losers: tuple[str, ...] = ()  # the smallest set without a point against the others
    winners: tuple[str, ...] = ()  # the smallest set against which the others have no point


def rate(
    agents: Sequence[str], points: Floats, games: Floats, anchor: str | None = None, level: float = 0.0
) -> Ratings:
    """`points[i, j]` is what i scored against j in `games[i, j]` games; the mean, or the anchor, is set to `level`."""
    from scipy.special import ndtr  # here, because scipy takes half a second to load

    _check(agents, points, games, anchor)
    if len(agents) == 1:
        return Ratings(tuple(agents), np.array([level]), np.zeros(1), np.full((1, 1), 0.5), anchor, False)
    fit = FITS.get(points, games)
    strength, covariance, label = fit.strength, fit.covariance, fit.label
    fixed = agents.index(anchor) if anchor is not None else None
    zero = strength.mean() if fixed is None else strength[fixed]
    between = np.diag(covariance)[:, None] + np.diag(covariance)[None, :] - 2 * covariance
    centred = covariance - covariance.mean(0)[None, :] - covariance.mean(1)[:, None] + covariance.mean()
    variance = np.diag(centred) if fixed is None else between[:, fixed]
    spread = np.sqrt(np.maximum(between, 1e-300))
    superiority = ndtr((strength[:, None] - strength[None, :]) / spread)
    np.fill_diagonal(superiority, 0.5)
    error = Z * NATS * np.sqrt(np.maximum(variance, 0.0))
    losers, winners = (_fewest(agents, label, taken) for taken in (points, points.T))
    elo = level + NATS * (strength - zero)
    return Ratings(tuple(agents), elo, error, superiority, anchor, fit.prior, fit.groups, losers, winners)


@dataclass(frozen=True)
class Fit:
    """The strengths that make these results most likely, before the scale is fixed."""

    strength: Floats  # in natural units
    covariance: Floats
    label: Ints  # by agent: its component among those that have scored against each other
    prior: bool
    groups: int


def fit(points: Floats, games: Floats) -> Fit:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    beaten = csr_array(points > 0)  # i has scored against j
    count, label = connected_components(beaten, directed=True, connection="strong")
    prior = bool(count > 1)
    groups = int(connected_components(csr_array(games > 0), directed=False)[0])
    strength = np.zeros(len(points))
    for _ in range(100):
        slope, information = _slope(strength, points, games, prior)
        step = np.linalg.lstsq(information, slope, rcond=None)[0]
        step *= min(1.0, 2.0 / max(np.abs(step).max(), 1e-300))  # far from the maximum a full step overshoots
        strength += step
        if np.abs(step).max() < 1e-10:
            break
    covariance = np.linalg.pinv(_slope(strength, points, games, prior)[1], hermitian=True).astype(np.float64)
    return Fit(strength, covariance, label, prior, groups)


class FitCache:
    """The latest fits by the results from which they were computed, for all tables and threads of the program."""

    def __init__(self, size: int = 8) -> None:
        self._size, self._lock = size, threading.Lock()
        self._fits: OrderedDict[bytes, Fit] = OrderedDict()
        self.computed = 0

    def get(self, points: Floats, games: Floats) -> Fit:
        key = hashlib.blake2b(points.tobytes() + games.tobytes(), digest_size=16).digest()
        with self._lock:  # a second thread that needs the same fit waits for it
            found = self._fits.pop(key, None)
            if found is None:
                found, self.computed = fit(points, games), self.computed + 1
            self._fits[key] = found
            while len(self._fits) > self._size:
                self._fits.popitem(last=False)
            return found


FITS = FitCache()


def _fewest(agents: Sequence[str], label: Ints, points: Floats) -> tuple[str, ...]:
    """Of the components in `label`, the smallest without points against the others; empty if there is just one."""
    member: Floats = (label[:, None] == np.arange(label.max() + 1)).astype(float)
    taken = member.T @ points @ member
    np.fill_diagonal(taken, 0.0)
    if len(taken) == 1:
        return ()
    without = np.flatnonzero(taken.sum(1) == 0)  # at least one: the graph of components has no cycle
    fewest = without[member.sum(0)[without].argmin()]
    return tuple(agent for agent, component in zip(agents, label, strict=True) if component == fewest)


def errors_to_expect(games: Floats, elo: Floats) -> Floats:
    """Half-widths of the 95 % intervals that `rate` gives after these games between agents of these ratings. A game
    whose winner is certain tells little: the further the ratings are apart, the wider are the intervals."""
    _, information = _slope(elo / NATS, np.zeros_like(games), games, prior=False)
    return Z * NATS * np.sqrt(np.maximum(np.diag(np.linalg.pinv(information, hermitian=True)), 0.0))


def _slope(strength: Floats, points: Floats, games: Floats, prior: bool) -> tuple[Floats, Floats]:
    """Gradient and Fisher information of the likelihood."""
    chance = 1 / (1 + np.exp(strength[None, :] - strength[:, None]))
    slope = (points - games * chance).sum(1)
    weight = games * chance * (1 - chance)
    information = np.diag(weight.sum(1)) - weight
    if prior:
        own = 1 / (1 + np.exp(-strength))
        slope += 0.5 - own
        information += np.diag(own * (1 - own))
    return slope, information


def _check(agents: Sequence[str], points: Floats, games: Floats, anchor: str | None) -> None:
    n = len(agents)
    if n == 0 or len(set(agents)) != n:
        raise BadValue("agents", tuple(agents), "at least one, each once")
    if points.shape != (n, n) or games.shape != (n, n):
        raise BadValue("points, games", (points.shape, games.shape), f"of shape {(n, n)}, a row and a column each")
    whole = np.allclose(points + points.T, games) and np.allclose(games, games.T) and (points >= 0).all()
    if not whole or np.diag(games).any():
        raise BadValue("points", points.tolist(), "such that the points of both add up to their games")
    if anchor is not None and anchor not in agents:
        raise BadValue("anchor", anchor, f"one of {', '.join(agents)}")


def running_elo(
    results: Iterable[tuple[str, str, float]], start: Mapping[str, float] | None = None
) -> dict[str, list[float]]:
    """By agent, the rating after each game; `results` are (first, second, score of the first) in schedule order."""
    lines: dict[str, list[float]] = {agent: [value] for agent, value in (start or {}).items()}
    for first, second, score in results:
        a, b = lines.setdefault(first, [START]), lines.setdefault(second, [START])
        change = K * (score - expected(a[-1] - b[-1]))
        if first != second:
            a.append(a[-1] + change)
            b.append(b[-1] - change)
    return lines


def rerate(before: Floats, first: Ints, second: Ints, points: Floats, spread: float) -> Floats:
    """Elo after some games, from Elo before them: the most likely strengths (Bradley-Terry) with a normal prior of
    standard deviation `spread`. `points` are those of `first` in each game. For many players with few games."""
    start = before / NATS
    strength, trust, n = start.copy(), (NATS / spread) ** 2, len(start)
    for _ in range(1000):
        scored = 1 / (1 + np.exp(strength[second] - strength[first]))
        surprise, weight = points - scored, scored * (1 - scored)
        slope = np.bincount(first, surprise, n) - np.bincount(second, surprise, n) - trust * (strength - start)
        curvature = np.bincount(first, weight, n) + np.bincount(second, weight, n)
        step = slope / (2 * curvature + trust)  # twice, because all of them move at the same time
        strength += step
        if np.abs(step).max(initial=0.0) < 1e-9:
            break
    return strength * NATS


def tier(rating: float) -> str:
    return next((name for limit, name in TIERS if rating >= limit), "Bronze")


Skill = tuple[float, float]  # mean and deviation
UNKNOWN: Skill = (25.0, 25.0 / 3)  # the default of openskill


@functools.cache
def _plackett_luce() -> PlackettLuce:
    from openskill.models import PlackettLuce  # here, because only games of more than two seats need it

    return PlackettLuce()


def update_skills(skills: MutableMapping[T, Skill], players: Sequence[T], ranks: Sequence[int]) -> None:
    """Updates skills (Plackett-Luce) after one match of more than two seats."""
    if len(set(players)) != len(players):
        return  # results of an agent against itself carry no information
    model = _plackett_luce()
    teams = [[model.rating(*skills[player]) if player in skills else model.rating()] for player in players]
    for player, [rated] in zip(players, model.rate(teams, ranks=[float(rank) for rank in ranks]), strict=True):
        skills[player] = (rated.mu, rated.sigma)


def ahead(first: Skill, second: Skill) -> float:
    """The probability that the first finishes before the second, as openskill predicts it for a match of the two."""
    spread = math.sqrt(2 * _plackett_luce().beta ** 2 + first[1] ** 2 + second[1] ** 2)
    return (1.0 + math.erf((first[0] - second[0]) / spread / math.sqrt(2.0))) / 2.0


def superior(means: Floats, deviations: Floats) -> Floats:
    """[i, j]: likelihood that the skill of i is higher than that of j."""
    from scipy.special import ndtr

    spread = np.sqrt(np.maximum(deviations[:, None] ** 2 + deviations[None, :] ** 2, 1e-300))
    found: Floats = ndtr((means[:, None] - means[None, :]) / spread)
    np.fill_diagonal(found, 0.5)
    return found


def many_seats(matches: Iterable[tuple[Sequence[str], Sequence[int]]]) -> dict[str, Skill]:
    """Skills by agent, from (players, ranks) in schedule order."""
    skills: dict[str, Skill] = {}
    for players, ranks in matches:
        update_skills(skills, players, ranks)
    return skills
