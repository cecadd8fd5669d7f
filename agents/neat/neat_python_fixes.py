"""neat-python's genomes and reproduction with three fixes; results are the same wherever neat-python's own code works.

The classes must have the names of their sections in a configuration file: neat-python finds them by these names.
"""

from __future__ import annotations

from typing import Any

import neat
from neat.genome import DefaultGenomeConfig

from agents.neat.genes import DefaultConnectionGene, DefaultNodeGene


class DefaultGenome(neat.DefaultGenome):  # type: ignore[misc]
    """Skips neat-python's search for cycles in crossover, and uses faster genes. All links of a child are links of its
    fitter parent, which has no cycle. neat-python searches again for each link, in quadratic time: 57 s for ten
    children with 16,000 links."""

    @classmethod
    def parse_config(cls, options: dict[str, Any]) -> DefaultGenomeConfig:
        genes = {"node_gene_type": DefaultNodeGene, "connection_gene_type": DefaultConnectionGene}
        return DefaultGenomeConfig({**options, **genes}, cls.__name__)

    def configure_crossover(self, one: Any, other: Any, config: Any) -> None:
        feed_forward, config.feed_forward = config.feed_forward, False
        try:
            super().configure_crossover(one, other, config)
        finally:
            config.feed_forward = feed_forward


class DefaultReproduction(neat.DefaultReproduction):  # type: ignore[misc]
    """Shrinks species until the population fits. neat-python takes one genome from each of the larger species, and
    raises an error if that is not enough."""

    def _adjust_spawn_exact(self, amounts: list[int], size: int, least: int) -> list[int]:
        while sum(amounts) > size and max(amounts) > least:
            largest = sorted(range(len(amounts)), key=lambda place: -amounts[place])
            for place in largest[: sum(amounts) - size]:
                amounts[place] -= amounts[place] > least
        found: list[int] = super()._adjust_spawn_exact(amounts, size, least)
        return found
