"""The settings of a search: population, selection, variation, its end, and which networks are tried."""

from __future__ import annotations

from dataclasses import dataclass

from agents.nets.architecture import MOST_CHANNELS, MOST_LAYERS, MOST_WEIGHTS, WIDEST
from agents.training.hybrid.space import SIZES, Space
from engine.errors import BadValue
from engine.options import option, validate

FITNESS, SPECIES, NOVELTY = SELECTIONS = ("fitness", "species", "novelty")
MOST_INDIVIDUALS = 50_000  # a checkpoint has the genomes of all of them: about 400 bytes each
ENDS = ("max_generations", "search_patience", "target_fitness")  # can change when a search is resumed


@dataclass(frozen=True)
class SearchSettings:
    """All of it but `ENDS` determines which genomes a search tries."""

    population_size: int = option(10, low=2, high=1000, help="models in a generation")
    max_generations: int = option(10, low=1, high=10_000, help="generations after which the search ends")
    elite_share: float = option(
        0.2, low=0.0, high=0.9, help="share of a generation, its best models, that is kept without training again"
    )
    tournament_size: int = option(3, low=1, high=100, help="models of which the best one becomes a parent")
    crossover_rate: float = option(0.7, low=0.0, high=1.0, help="share of children with two parents")
    mutation_rate_min: float = option(
        0.1, low=0.0, high=1.0, help="probability that a property of a child changes, if models differ as at first"
    )
    mutation_rate_max: float = option(0.8, low=0.0, high=1.0, help="that probability, if all models are equal")
    search_patience: int = option(
        5, low=0, high=10_000, help="generations without a higher fitness after which the search ends; 0: never"
    )
    target_fitness: float = option(
        0.0, low=0.0, high=1.0, help="share of correct answers at which the search ends; 0: none"
    )
    selection: str = option(
        FITNESS,
        choices=SELECTIONS,
        help="how parents are chosen: by fitness, within species of similar genomes, or by fitness and novelty",
    )
    species_count: int = option(3, low=1, high=100, help="species: maximum number of species")
    novelty_weight: float = option(0.3, low=0.0, high=1.0, help="novelty: share of novelty in the choice of parents")
    max_parameters: int = option(
        200_000, low=1, high=MOST_WEIGHTS, help="maximum number of trained parameters of a model"
    )
    max_convs: int = option(3, low=0, high=MOST_LAYERS, help="maximum number of convolutions of a model, for images")
    max_dense: int = option(3, low=0, high=MOST_LAYERS, help="maximum number of fully connected layers of a model")
    max_channels: int = option(64, low=SIZES[0], high=MOST_CHANNELS, help="maximum number of channels of a convolution")
    max_width: int = option(256, low=SIZES[0], high=WIDEST, help="maximum number of outputs of a fully connected layer")
    seed: int = option(1, low=0, high=2**63 - 1, help="random seed of the search")

    def __post_init__(self) -> None:
        validate(self)
        if self.mutation_rate_min > self.mutation_rate_max:
            needed = f"at most mutation_rate_max ({self.mutation_rate_max:g})"
            raise BadValue("mutation_rate_min", self.mutation_rate_min, needed)
        if self.population_size * self.max_generations > MOST_INDIVIDUALS:
            most = MOST_INDIVIDUALS // self.population_size
            raise BadValue(
                "max_generations", self.max_generations, f"at most {most:,} of {self.population_size:,} models"
            )

    @property
    def elite(self) -> int:
        """How many models of a generation are kept; at least one is new."""
        return min(round(self.elite_share * self.population_size), self.population_size - 1)

    def space(self, shape: tuple[int, ...], outputs: int) -> Space:
        """The genomes that can be tried for inputs of this shape; raises BadValue if there are none."""
        return Space(
            shape, outputs, self.max_parameters, self.max_convs, self.max_dense, self.max_channels, self.max_width
        )
