"""Selects the elite and the parents of a generation, and sets the mutation rate of its children."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.training.hybrid.distance import distance
from agents.training.hybrid.draws import Draws
from agents.training.hybrid.genome import Genome
from agents.training.hybrid.members import Member
from agents.training.hybrid.search_settings import NOVELTY, SPECIES, SearchSettings

FIRST_RADIUS, RADIUS_STEP = 0.2, 0.05  # of species; it grows until there are few enough
NEIGHBOURS = 5  # genomes whose mean distance is the novelty of another one
MOST_KNOWN = 500  # genomes that novelty refers to: the latest ones


@dataclass(frozen=True)
class Pool:
    """Members that have children with each other, the most wanted first."""

    members: tuple[Member, ...]
    children: int

    def pick(self, size: int, draws: Draws) -> Member:
        """The winner of a tournament among so many members, drawn with replacement."""
        return self.members[min(draws.below(len(self.members)) for _ in range(size))]


def mutation_rate(settings: SearchSettings, spread: float, diversity: float, first: tuple[float, float]) -> float:
    """How strongly children of a population are mutated: the more alike its members are, the stronger. `first` has the
    spread of fitness and the diversity of the first generation.

    rate = min + (max - min) * (1 - max(s, d))

    where s is the spread of fitness as a share of that in the first generation, and d is that share of the diversity.
    Both count at most 1, and 0 if the first generation had none. The larger one counts: the first generation has models
    that learn nothing, so s falls at once, while genomes may still be as different as before.
    """
    shares = [min(now / then, 1.0) if then > 0 else 0.0 for now, then in zip((spread, diversity), first, strict=True)]
    low, high = settings.mutation_rate_min, settings.mutation_rate_max
    return low + (high - low) * (1 - max(shares))


def elite(members: Sequence[Member], pools: Sequence[Pool], count: int) -> list[Member]:
    """The members that are kept, of different genomes: the best one of each pool first, then the best of all.
    `members` are sorted, the best first."""
    best = sorted((min(pool.members, key=_standing) for pool in pools), key=_standing)
    kept: dict[Genome, Member] = {}
    for member in [*best, *members]:
        if len(kept) < count:
            kept.setdefault(member.genome, member)
    return sorted(kept.values(), key=_standing)


def _standing(member: Member) -> tuple[float, float, int]:
    return member.standing


def pools(members: Sequence[Member], known: Sequence[Genome], children: int, settings: SearchSettings) -> list[Pool]:
    """The members that can be parents, divided as the settings say. `members` did not fail, and the best is first;
    `known`: the genomes of all candidates so far."""
    if settings.selection == SPECIES:
        return _species(members, children, settings.species_count)
    if settings.selection == NOVELTY:
        return [Pool(_novel_first(members, known, settings.novelty_weight), children)]
    return [Pool(tuple(members), children)]


def _species(members: Sequence[Member], children: int, most: int) -> list[Pool]:
    """Species of similar genomes, each around its best member. Fitness is shared within a species (Goldberg and
    Richardson 1987): the number of its children follows its mean fitness, not the number of its members."""
    radius = FIRST_RADIUS
    while len(species := _within(members, radius)) > most:
        radius += RADIUS_STEP
    values = [[member.fitness or 0.0 for member in group] for group in species]
    worst, best = min(map(min, values)), max(map(max, values))
    floor = (best - worst) / len(members) or 1.0  # the worst has children too
    means = [sum(value - worst + floor for value in group) / len(group) for group in values]
    counts = _divided(children, means)
    return [Pool(tuple(group), count) for group, count in zip(species, counts, strict=True)]


def _within(members: Sequence[Member], radius: float) -> list[list[Member]]:
    """Groups around their first members, none of which is within this distance of an earlier one."""
    groups: list[list[Member]] = []
    for member in members:
        for group in groups:
            if distance(group[0].genome, member.genome) <= radius:
                group.append(member)
                break
        else:
            groups.append([member])
    return groups


def _divided(total: int, weights: Sequence[float]) -> list[int]:
    """Whole numbers in proportion to the weights, by largest remainder."""
    exact = [total * weight / sum(weights) for weight in weights]
    counts = [int(value) for value in exact]
    order = sorted(range(len(exact)), key=lambda k: (counts[k] - exact[k], k))
    for k in order[: total - sum(counts)]:
        counts[k] += 1
    return counts


def _novel_first(members: Sequence[Member], known: Sequence[Genome], weight: float) -> tuple[Member, ...]:
    """Sorted by the weighted mean of two ranks, one by fitness and one by novelty (Lehman and Stanley 2011). Novelty is
    the mean distance to the nearest other genomes tried so far. `agents.training.novelty` compares behaviours of equal
    length; genomes have none, but they have a distance."""
    others = list(dict.fromkeys(known))[-MOST_KNOWN:]
    novelty = {member.genome: _novelty(member.genome, others) for member in members}
    order = sorted(range(len(members)), key=lambda k: (-novelty[members[k].genome], k))
    mixed = {k: (1 - weight) * k + weight * place for place, k in enumerate(order)}
    return tuple(members[k] for k in sorted(mixed, key=lambda k: (mixed[k], k)))


def _novelty(genome: Genome, others: Sequence[Genome]) -> float:
    near = sorted(distance(genome, other) for other in others if other != genome)[:NEIGHBOURS]
    return sum(near) / len(near) if near else 0.0
