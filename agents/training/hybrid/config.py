"""The settings of the trainer `hybrid`: each field is an entry of its form and an option of its command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import ClassVar, Self, TypeVar

from agents.nets.architecture import HIGHEST_TEMPERATURE, check_temperature
from agents.training.hybrid.evaluators import ConcurrencySettings
from agents.training.hybrid.lessons.practice import practice_bots
from agents.training.hybrid.lessons.settings import STRONGEST, LessonSettings
from agents.training.hybrid.metrics import METRICS
from agents.training.hybrid.outcome import LearningPlan
from agents.training.hybrid.search_settings import ENDS, SearchSettings
from agents.training.hybrid.state import population_in
from agents.training.matchmaking import bot_names, joined_names
from agents.training.population import Population
from agents.training.trainer import Ends, Metric, Trainer
from engine.errors import BadValue
from engine.game import Game
from engine.options import Value, option, validate
from engine.play.match import AgentSpec

LEARNING_KINDS = ("net", "torch-net", "onnx")  # no bots to be compared with
Part = TypeVar("Part")


@dataclass(frozen=True)
class HybridConfig(ConcurrencySettings, SearchSettings, LessonSettings, Trainer):
    """Settings of the trainer `hybrid`."""

    name: ClassVar[str] = "hybrid"
    about: ClassVar[str] = (
        "Evolves architectures of networks, each of which learns by gradient to play as the strongest agents do"
    )
    metrics: ClassVar[Mapping[str, Metric]] = METRICS
    headline: ClassVar[str] = "fitness/best"
    unit: ClassVar[str] = "generation"
    ends: ClassVar[Ends] = Ends("max_generations", "minutes", "target_fitness", "fitness/best")
    fixed: ClassVar[tuple[str, ...]] = (
        *(field.name for kind in (LessonSettings, SearchSettings) for field in fields(kind) if field.name not in ENDS),
        "epochs", "batch_size", "patience", "threads", "temperature", "validate_bots", "validate_pairs",
    )  # fmt: skip
    agent_settings: ClassVar[tuple[str, ...]] = ("teacher",)
    ready_settings: ClassVar[tuple[str, ...]] = ("teacher",)
    presets: ClassVar[Mapping[str, Mapping[str, Value]]] = {
        "Pong": {
            "population_size": 8, "max_generations": 4, "validate_bots": "Lazy,Tracker,Predictor", "validate_pairs": 25,
        },
        "Shogi": {
            "teacher": "Master", "examples": 15_000, "epochs": 12, "population_size": 6, "max_generations": 2,
            "max_convs": 6, "max_parameters": 300_000, "validate_bots": "Pebble,Magpie",
        },
    }  # fmt: skip
    preset_games: ClassVar[Mapping[str, tuple[str, ...]]] = {"Pong": ("pong",), "Shogi": ("shogi",)}
    starts_from_agent: ClassVar[bool] = False
    guide: ClassVar[str] = "hybrid"
    loop: ClassVar[str] = "agents.training.hybrid.trainer:train"

    from_league: str = option(
        STRONGEST,
        bare=STRONGEST,
        help="learn from recorded matches of the league: strongest, all, or names of agents separated by commas; "
        "without such matches, or if empty: from matches that the teacher plays",
    )
    minutes: float = option(
        0.0, low=0.0, high=100_000.0, help="stop after this many minutes, when the generation is complete; 0: no limit"
    )
    epochs: int = option(20, low=1, high=10_000, help="maximum number of passes over the training examples")
    batch_size: int = option(
        128, low=1, high=65_536, help="maximum number of examples in a minibatch; all minibatches are of one size"
    )
    patience: int = option(3, low=0, high=1000, help="epochs without a smaller loss before a model ends; 0: all epochs")
    threads: int = option(1, low=1, high=256, help="threads of one model; other numbers give other bits")
    temperature: float = option(
        0.0, low=0.0, high=HIGHEST_TEMPERATURE, help="sampling temperature in matches; 0: always the best action"
    )
    validate_pairs: int = option(
        10, low=0, high=10_000, help="side-swapped pairs that a new best model plays against each bot; 0: none"
    )
    validate_bots: str = option("", help="names of the bots to validate against; empty: all ready-made ones")

    def __post_init__(self) -> None:
        validate(self)
        for kind in (LessonSettings, SearchSettings, ConcurrencySettings):
            self._part(kind)
        check_temperature(self.temperature)

    @property
    def title(self) -> str:
        return self.name

    def _part(self, kind: type[Part]) -> Part:
        """These settings as far as this dataclass has them; raises BadValue if they contradict each other."""
        return kind(**{field.name: getattr(self, field.name) for field in fields(kind)})  # type: ignore[arg-type]

    def search(self) -> SearchSettings:
        return self._part(SearchSettings)

    def lessons(self) -> LessonSettings:
        return self._part(LessonSettings)

    def concurrency(self) -> ConcurrencySettings:
        return self._part(ConcurrencySettings)

    def plan(self) -> LearningPlan:
        return self._part(LearningPlan)

    def check(self, game: Game, ancestor: AgentSpec | None, resuming: bool) -> None:
        if ancestor is not None:
            raise BadValue("ancestor", ancestor.id, "left out: a search begins with new architectures")
        self.lessons().check_lessons(game)
        self.search().space(game.info.observation, game.info.actions)
        if not resuming:
            practice_bots(game, self.bots)
            if self.validate_pairs:
                bot_names(game, self.validate_bots, LEARNING_KINDS)

    def resolved(self, game: Game) -> Self:
        """With the names of the bots: a plug-in that is installed later adds none to a session that is resumed."""
        known = self.validate_bots
        if self.validate_pairs:
            known = bot_names(game, known, LEARNING_KINDS)
        bots = self.bots or joined_names(bot.id for bot in practice_bots(game, ""))  # at a resume they may be gone
        return replace(self, bots=bots, validate_bots=known)

    @classmethod
    def population_of(cls, state: bytes) -> Population | None:
        return population_in(state)
