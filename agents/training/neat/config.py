"""The settings of the trainer `neat`. Each field is an entry of its form and an option of `train neat`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from agents.training.trainer import Ends, Metric, Reading, Trainer
from engine.game import Game
from engine.options import Value, option, validate
from engine.play.match import SEED_LIMIT, AgentSpec

MODE_NAMES = ("self-play", "competitive", "against-bots")


@dataclass(frozen=True)
class NeatConfig(Trainer):
    """Settings of the trainer `neat`."""

    name: ClassVar[str] = "neat"
    about: ClassVar[str] = "NEAT: evolves networks against bots, in competition or in self-play"
    metrics: ClassVar[Mapping[str, Metric]] = {
        "fitness/best": Metric(
            "fitness of the best genome. Competitive and self-play: Elo within its generation (mean 1200) plus its "
            "novelty; against bots: level of the curriculum plus the share of points (0 to 1) and rewards"
        ),
        "fitness/mean": Metric("mean fitness of the generation"),
        "validation/share": Metric(
            "share of points that the best genome wins against the fixed bots, all of them together",
            Reading.SHARE,
            "All opponents",
            0.5,
            "even",
            interval=("validation/low", "validation/high"),
        ),
        "validation/low": Metric("lower end of its 95 % interval", Reading.SHARE),
        "validation/high": Metric("upper end of its 95 % interval", Reading.SHARE),
        "validation/*": Metric(
            "share of points that it wins against this bot", Reading.SHARE, "Against {name}", 0.5, "beats {name}"
        ),
        "population/species": Metric("species in the generation"),
        "population/novelty": Metric("mean novelty of the generation, in standard deviations of known behaviours"),
        "population/level": Metric("level of the curriculum", exact=True),
        "population/hall": Metric("champions in the hall of fame", exact=True),
        "hall/share": Metric(
            "share of points that the generation wins against the hall of fame",
            Reading.SHARE,
            "Share of points",
            0.5,
            "even",
        ),
        "genome/nodes": Metric("nodes of the best genome"),
        "genome/connections": Metric("enabled connections of the best genome"),
        "speed/evaluations": Metric("genomes evaluated per second, including validation and reproduction"),
        "speed/matches": Metric("matches per second while the generation plays"),
        "speed/reproduction": Metric("share of the generation's time spent on reproduction", Reading.SHARE),
        "trouble/failed": Metric("matches of the generation that failed or could not be played"),
    }
    headline: ClassVar[str] = "validation/share"
    unit: ClassVar[str] = "generation"
    ends: ClassVar[Ends] = Ends("generations", "minutes", "target_fitness", "fitness/best")
    fixed: ClassVar[tuple[str, ...]] = ("mode", "seed", "neat_config", "behaviour")
    presets: ClassVar[Mapping[str, Mapping[str, Value]]] = {
        "60 seconds": {"mode": "against-bots", "minutes": 1.0, "population": 100, "games": 2, "validate_every": 2},
        "ten minutes": {"mode": "self-play", "minutes": 9.0, "generations": 100_000},
    }
    shows_current: ClassVar[bool] = True
    loop: ClassVar[str] = "agents.training.neat.trainer:train"

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

    @property
    def title(self) -> str:
        return self.mode

    def check(self, game: Game, ancestor: AgentSpec | None, resuming: bool) -> None:
        from agents.training.neat.trainer import check  # imports neat-python

        check(self, game, ancestor, resuming)

    def resolved(self, game: Game) -> Self:
        """With the names of the bots: a plug-in that is installed later adds none to a session that is resumed."""
        from agents.neat.pilot import KIND
        from agents.training.matchmaking import bot_names

        bots = bot_names(game, self.bots, (KIND.name,)) if self.mode == "against-bots" else self.bots
        return replace(self, bots=bots, validate_bots=bot_names(game, self.validate_bots, (KIND.name,)))
