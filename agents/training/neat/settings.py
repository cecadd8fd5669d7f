"""What a user sets for an evolution: which matches the genomes play, and how they are validated."""

from __future__ import annotations

from dataclasses import dataclass

from engine.options import option, validate
from engine.play.match import SEED_LIMIT

MODE_NAMES = ("self-play", "competitive", "against-bots")


@dataclass(frozen=True)
class NeatSettings:
    """The fields of `NeatConfig`. Modes and the state of an evolution know them without the trainer."""

    mode: str = option("self-play", choices=MODE_NAMES, help="opponents of the genomes in training matches")
    generations: int = option(100, low=1, high=1_000_000, help="number of generations")
    minutes: float = option(
        0.0, low=0.0, high=100_000.0, help="stop after this many minutes, when the generation is complete; 0: no limit"
    )
    population: int = option(0, low=0, high=100_000, help="genomes per generation; 0: as in the NEAT configuration")
    seed: int = option(1, low=0, high=SEED_LIMIT - 1, help="random seed of the evolution")
    neat_config: str = option("", help="path of a neat-python configuration file; empty: the one for the game")
    steps: int = option(3000, low=0, high=100_000_000, help="step limit of training matches; 0: no limit")

    opponents: int = option(
        5, low=1, high=1000, help="competitive, self-play: opponents per genome, each met from every seat"
    )
    novelty: float = option(40.0, low=0.0, high=10_000.0, help="competitive: Elo added for one unit of novelty")
    neighbours: int = option(15, low=1, high=1000, help="competitive: nearest neighbours that novelty is measured by")
    archive: int = option(500, low=1, high=100_000, help="competitive: size of the archive of novel behaviours")
    behaviour: str = option(
        "", help="competitive: names of the statistics that describe behaviour; empty: as in the NEAT configuration"
    )
    hall_share: float = option(0.2, low=0.0, high=1.0, help="self-play: share of matches against the hall of fame")
    hall_every: int = option(5, low=1, high=10_000, help="self-play: generations between entries to the hall of fame")
    hall_size: int = option(30, low=1, high=1000, help="self-play: size of the hall of fame; the oldest leave")

    bots: str = option("", help="against-bots: names of the bots, weakest first; empty: all ready-made ones")
    games: int = option(2, low=1, high=1000, help="against-bots: matches against each bot from every seat")
    mastery: float = option(0.75, low=0.0, high=1.0, help="against-bots: share of points that leads to the next level")
    ramp: str = option(
        "", help="against-bots: game options at the first level, such as serve_speed=4; empty: the game's own"
    )
    rewards: str = option(
        "",
        help="against-bots: rewards for statistics, such as hits=0.01; none: no rewards; "
        "empty: as in the NEAT configuration",
    )

    validate_every: int = option(5, low=1, high=10_000, help="generations between validations")
    validate_pairs: int = option(10, low=1, high=10_000, help="side-swapped pairs against each bot in a validation")
    validate_bots: str = option("", help="names of the bots to validate against; empty: all ready-made ones")
    checkpoint_every: int = option(10, low=1, high=10_000, help="generations between checkpoints")
    target_fitness: float = option(0.0, help="stop when the best fitness reaches this; 0: as in the NEAT configuration")
    patience: int = option(
        0, low=0, high=1_000_000, help="stop after this many generations without a better validation; 0: never"
    )

    def __post_init__(self) -> None:
        validate(self)
