"""neat-python's species set with compiled genome distances; it forms exactly the same species.

The class must have the name of its section in a configuration file: neat-python finds it by that name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import neat
import numpy as np
from neat.species import Species

from agents.neat.distance import Distances, Floats, Integers, has_plain_distance


class DefaultSpeciesSet(neat.DefaultSpeciesSet):  # type: ignore[misc]
    """neat-python compares every genome with every representative in plain Python, then computes the mean and deviation
    of all distances for reporters: together 91 % of the time of a generation of 2,000 genomes."""

    def speciate(self, config: Any, population: Mapping[int, Any], generation: int) -> None:
        former = [self.species[key].representative for key in sorted(self.species)]
        if not self._can_be_compiled(config, population, former):
            super().speciate(config, population, generation)
            return
        keys = sorted(population)
        comparison = _Comparison(population, former, config.genome_config)
        members: dict[int, list[int]] = {}  # by species: places in `keys`, the representative first
        left = np.arange(len(keys))
        for number, key in enumerate(sorted(self.species)):
            found = comparison.closest_to_former(number, left)
            members[key] = [int(left[found])]
            left = np.delete(left, found)
        self._assign(comparison, members, left)
        self._update(population, {key: [keys[place] for place in members[key]] for key in sorted(members)}, generation)

    def _can_be_compiled(self, config: Any, population: Mapping[int, Any], former: list[Any]) -> bool:
        """False for everything that only neat-python's own method handles: genomes or genes with other distances,
        reporters that expect its message, more species than genomes (an error there), reused genome keys."""
        return (
            has_plain_distance([*population.values(), *former], config.genome_config)
            and not self.reporters.reporters
            and len(former) <= len(population)
            and all(population.get(genome.key, genome) is genome for genome in former)
            and all(key == genome.key for key, genome in population.items())
        )

    def _assign(self, comparison: _Comparison, members: dict[int, list[int]], left: Integers) -> None:
        """Assigns each genome to the species with the closest representative below the threshold, or to a new one."""
        threshold = self.species_set_config.compatibility_threshold
        best = np.full(comparison.size, np.inf)
        closest = np.zeros(comparison.size, np.int64)  # a species; neat-python numbers them from 1

        def compare(key: int, representative: int, others: Integers) -> None:
            row = comparison.row(representative, others)
            closer = others[(row < threshold) & (row < best[others])]
            best[closer] = row[np.searchsorted(others, closer)]
            closest[closer] = key

        for key, (representative,) in members.items():
            compare(key, representative, left)
        for number, place in enumerate(left.tolist()):
            key = int(closest[place])
            if best[place] < np.inf:
                members[key].append(place)
            else:
                key = next(self.indexer)
                members[key] = [place]
                compare(key, place, left[number + 1 :])

    def _update(self, population: Mapping[int, Any], members: Mapping[int, list[int]], generation: int) -> None:
        self.genome_to_species = {}
        for key, genomes in members.items():
            species = self.species.setdefault(key, Species(key, generation))
            self.genome_to_species.update(dict.fromkeys(genomes, key))
            species.update(population[genomes[0]], {member: population[member] for member in genomes})


class _Comparison:
    """Distances from representatives to genomes, each in the direction in which neat-python computes it first.

    neat-python caches a distance for both directions, and the two can differ in the last bit. A former representative
    that is still in the population may therefore determine the direction for a later comparison.
    """

    def __init__(self, population: Mapping[int, Any], former: list[Any], config: Any) -> None:
        keys = sorted(population)
        place = {key: number for number, key in enumerate(keys)}
        gone = [genome for genome in former if genome.key not in place]
        place.update({genome.key: len(keys) + number for number, genome in enumerate(gone)})
        self.size = len(keys)
        self._former = [place[genome.key] for genome in former]
        self._distances = Distances([*(population[key] for key in keys), *gone], config)
        # By genome: the turn in which it was compared as a former representative, and the turn in which it became a
        # new one and was no longer compared. `never` comes after every turn.
        never = len(former)
        self._compared = np.full(len(place), never)
        self._chosen = np.full(len(place), never)
        self._chosen[len(keys) :] = -1  # not in the population: nothing was compared with it

    def closest_to_former(self, turn: int, others: Integers) -> int:
        """Index of the genome closest to this former representative: it becomes the new one."""
        former = self._former[turn]
        self._compared[former] = turn
        found = _first_least(self.row(former, others))
        self._chosen[others[found]] = turn
        return found

    def row(self, representative: int, others: Integers) -> Floats:
        """The distances from one genome to others."""
        compared = self._compared[others]
        reverse = (compared < self._compared[representative]) & (compared <= self._chosen[representative])
        first = np.where(reverse, others, representative)
        return self._distances.between(first, np.where(reverse, representative, others))


def _first_least(row: Floats) -> int:
    """Index of the minimum as Python's `min` finds it, also with NaN."""
    found = int(row.argmin())
    return min(range(len(row)), key=row.tolist().__getitem__) if np.isnan(row[found]) else found
