"""The trainer `neat`: its metrics, charts and presets. Each of its settings is an entry of its form and an option of
`train neat`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from agents.training.neat.settings import NeatSettings
from agents.training.trainer import Ends, Metric, Reading, Trainer
from engine.game import Game
from engine.options import Value
from engine.play.match import AgentSpec


@dataclass(frozen=True)
class NeatConfig(NeatSettings, Trainer):
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

    @property
    def title(self) -> str:
        return self.mode

    def check(self, game: Game, ancestor: AgentSpec | None, resuming: bool) -> None:
        from agents.training.neat.checks import check  # imports neat-python

        check(self, game, ancestor, resuming)

    def resolved(self, game: Game) -> Self:
        """With the names of the bots: a plug-in that is installed later adds none to a session that is resumed."""
        from agents.neat.pilot import KIND
        from agents.training.matchmaking import bot_names

        bots = bot_names(game, self.bots, (KIND.name,)) if self.mode == "against-bots" else self.bots
        return replace(self, bots=bots, validate_bots=bot_names(game, self.validate_bots, (KIND.name,)))
