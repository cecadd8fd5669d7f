"""How far an evolution has come: its population, and what its mode of training remembers. Goes into checkpoints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.neat import genome as genomes
from agents.neat.config import advice, config_text, read_config
from agents.neat.evolution import Evolution, EvolutionState
from agents.neat.genome import Genome
from agents.neat.pilot import KIND, inputs_of
from agents.training.events import Checkpoint, Player
from agents.training.novelty import behaviour_of
from engine import codec
from engine.errors import BadValue
from engine.game import Game
from engine.play.match import AgentSpec

if TYPE_CHECKING:
    from agents.training.neat.modes import Judgement
    from agents.training.neat.trainer import Neuroevolution

FORMAT, VERSION = "ringside-neat-checkpoint", 1
LARGEST = 512 << 20  # bytes of JSON
HALL = "hall "  # how the ids of those in the hall of fame begin


@dataclass(frozen=True)
class Best:
    """Who did best in a validation, so far."""

    genome: Genome
    generation: int
    share: float
    about: str

    def player(self) -> Player:
        return Player(KIND.name, KIND.version, genomes.dump(self.genome), self.about)


@dataclass(frozen=True)
class Famous:
    """A champion in the hall of fame."""

    key: int
    generation: int
    genome: Genome


@dataclass(frozen=True)
class CourseState:
    """What a checkpoint holds."""

    format: str
    version: int
    evolution: EvolutionState
    hall: tuple[Famous, ...]
    behaviours: tuple[tuple[float, ...], ...]
    level: int
    best: Best | None
    stale: int


class Course:
    """An evolution that goes on."""

    def __init__(self, evolution: Evolution) -> None:
        self.evolution = evolution
        self.began_at = evolution.generation
        self.hall: list[Famous] = []
        self.behaviours: list[tuple[float, ...]] = []  # the archive of novelty
        self.level = 0  # of the curriculum
        self.best: Best | None = None
        self.stale = 0  # generations since the best validation
        self._specs: dict[int, AgentSpec] = {}

    @classmethod
    def begun(cls, trainer: Neuroevolution, game: Game, ancestor: AgentSpec | None) -> Course:
        text = config_text(trainer.neat_config, game)
        genome = None
        if ancestor is not None:
            if ancestor.kind != KIND.name:
                raise BadValue("ancestor", ancestor.id, f"an agent of kind {KIND.name}, and it is a {ancestor.kind}")
            genome = genomes.load(ancestor.payload)
        return cls(Evolution(text, read_config(text, game, trainer.population), trainer.seed, genome))

    # Players

    def specs(self) -> dict[int, AgentSpec]:
        """The present generation as agents, by key."""
        known = self._specs
        self._specs = {key: known.get(key) or self._spec(key) for key in self.evolution.genomes}
        return self._specs

    def _spec(self, key: int) -> AgentSpec:
        return AgentSpec(str(key), KIND.name, genomes.dump(self.evolution.genome(key)), KIND.version)

    def famous(self) -> list[AgentSpec]:
        return [AgentSpec(f"{HALL}{one.key}", KIND.name, genomes.dump(one.genome), KIND.version) for one in self.hall]

    # Going on

    def advance(self, judgement: Judgement, trainer: Neuroevolution) -> bool:
        """Take over what was judged, and breed; False if everybody died out."""
        generation = self.evolution.generation
        self.behaviours, self.level = judgement.behaviours, judgement.level
        self.best = judgement.best or self.best
        fittest = max(judgement.fitness, key=lambda key: (judgement.fitness[key], -key))
        known = {one.key for one in self.hall}  # an elite may be the champion again
        if judgement.enters_hall and generation % trainer.hall_every == trainer.hall_every - 1 and fittest not in known:
            famous = Famous(fittest, generation, self.evolution.genome(fittest))
            self.hall = [*self.hall, famous][-trainer.hall_size :]
        self.stale = 0 if judgement.best is not None else self.stale + 1
        return self.evolution.advance(judgement.fitness)

    # Checkpoints

    def checkpoint(self) -> Checkpoint:
        """Of the generation that comes next."""
        return Checkpoint(self.evolution.generation, self.dump(), self.best.player() if self.best else None)

    def dump(self) -> bytes:
        state = CourseState(
            FORMAT,
            VERSION,
            self.evolution.state(),
            tuple(self.hall),
            tuple(self.behaviours),
            self.level,
            self.best,
            self.stale,
        )
        return codec.dump(state).encode()

    @classmethod
    def of(cls, data: bytes, trainer: Neuroevolution, game: Game) -> Course:
        """From a checkpoint; whatever it says is checked first."""
        kept = codec.load(CourseState, data, LARGEST, format=FORMAT, version=VERSION)
        config = read_config(kept.evolution.config, game, trainer.population)
        for name, some in (("hall", kept.hall), ("best", (kept.best,) if kept.best else ())):
            for one in some:
                genomes.check(one.genome)
                if (one.genome.inputs, one.genome.outputs) != (inputs_of(game), game.info.actions):
                    raise BadValue(f"checkpoint.{name}", one.generation, f"genomes that play {game.spec.name}")
        for name, value in (("level", kept.level), ("stale", kept.stale)):
            if not 0 <= value < 2**53:
                raise BadValue(f"checkpoint.{name}", value, "0 or more")
        made = cls(Evolution.of(kept.evolution, config))
        made.hall, made.behaviours = list(kept.hall), list(kept.behaviours)
        made.level, made.best, made.stale = kept.level, kept.best, kept.stale
        width = len(behaviour_of(trainer.behaviour.strip() or advice(kept.evolution.config).get("behaviour", ""), game))
        if any(len(row) != width for row in made.behaviours):
            raise BadValue("checkpoint.behaviours", "rows", f"of {width} numbers")
        return made
