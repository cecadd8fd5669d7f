"""neat-python's genomes and reproduction, mended in three places; what they do is the same wherever theirs works.

Their names are those of their sections in a configuration file: that is how neat-python finds them.
"""

from __future__ import annotations

from typing import Any

import neat
from neat.genome import DefaultGenomeConfig

from agents.neat.genes import DefaultConnectionGene, DefaultNodeGene


class DefaultGenome(neat.DefaultGenome):  # type: ignore[misc]
    """A child's links are all links of its fitter parent, among which there is no cycle. neat-python looks for one with
    every link that is passed on, which takes the square of their number: 57 s for ten children with 16,000. The genes
    are faster ones."""

    @classmethod
    def parse_config(cls, options: dict[str, Any]) -> DefaultGenomeConfig:
        genes = {"node_gene_type": DefaultNodeGene, "connection_gene_type": DefaultConnectionGene}
        return DefaultGenomeConfig({**options, **genes}, cls.__name__)

    def configure_crossover(self, one: Any, other: Any, config: Any) -> None:
        kept, config.feed_forward = config.feed_forward, False
        try:
            super().configure_crossover(one, other, config)
        finally:
            config.feed_forward = kept


class DefaultReproduction(neat.DefaultReproduction):  # type: ignore[misc]
    """Where many small species share a population neat-python takes one place from each of the larger ones, finds that
    not to be enough, and gives up. This one goes on."""

    def _adjust_spawn_exact(self, amounts: list[int], size: int, least: int) -> list[int]:
        while sum(amounts) > size and max(amounts) > least:
            largest = sorted(range(len(amounts)), key=lambda place: -amounts[place])
            for place in largest[: sum(amounts) - size]:
                amounts[place] -= amounts[place] > least
        found: list[int] = super()._adjust_spawn_exact(amounts, size, least)
        return found
