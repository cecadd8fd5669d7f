"""The state of an evolution between generations: the population and what each mode remembers. Goes into checkpoints."""

from __future__ import annotations

from dataclasses import dataclass, field

from agents.neat import genome as genomes
from agents.neat.config import advice, config_text, read_config
from agents.neat.evolution import Evolution, EvolutionState
from agents.neat.genome import Genome
from agents.neat.payload import dump, load
from agents.neat.pilot import KIND, inputs_of
from agents.training.events import Checkpoint, Player
from agents.training.neat.settings import NeatSettings
from agents.training.novelty import behaviour_of
from engine import codec
from engine.errors import BadValue
from engine.game import Game
from engine.play.match import AgentSpec

FORMAT, VERSION = "ringside-neat-checkpoint", 1
LARGEST = 512 << 20  # bytes of JSON
HALL = "hall "  # prefix of the ids of agents in the hall of fame


@dataclass(frozen=True)
class BestGenome:
    """The genome with the best validation so far."""

    genome: Genome
    generation: int
    share: float
    about: str

    def player(self) -> Player:
        return Player(KIND.name, KIND.version, dump(self.genome), self.about)


@dataclass(frozen=True)
class HallOfFameEntry:
    """A champion in the hall of fame."""

    key: int
    generation: int
    genome: Genome


@dataclass
class GenerationEvaluation:
    """How well a generation did. Takes effect when it is passed to `EvolutionRun.advance`."""

    fitness: dict[int, float]  # by genome key
    metrics: dict[str, float] = field(default_factory=dict)
    behaviours: list[tuple[float, ...]] = field(default_factory=list)
    level: int = 0
    failed: int = 0  # matches
    enters_hall: bool = False
    best: BestGenome | None = None
    messages: list[str] = field(default_factory=list)

    @property
    def fittest(self) -> int:
        """Key of the fittest genome; the lowest key if several are equal."""
        return max(self.fitness, key=lambda key: (self.fitness[key], -key))


@dataclass(frozen=True)
class EvolutionCheckpoint:
    """What a checkpoint holds."""

    format: str
    version: int
    evolution: EvolutionState
    hall: tuple[HallOfFameEntry, ...]
    behaviours: tuple[tuple[float, ...], ...]
    level: int
    best: BestGenome | None
    stale: int


class EvolutionRun:
    """An evolution in progress."""

    def __init__(self, evolution: Evolution) -> None:
        self.evolution = evolution
        self.first_generation = evolution.generation  # of this session
        self.hall: list[HallOfFameEntry] = []
        self.behaviours: list[tuple[float, ...]] = []  # the archive of novelty search
        self.level = 0  # of the curriculum
        self.best: BestGenome | None = None
        self.stale = 0  # generations since the best validation
        self._specs: dict[int, AgentSpec] = {}

    @classmethod
    def start(cls, settings: NeatSettings, game: Game, ancestor: AgentSpec | None) -> EvolutionRun:
        text = config_text(settings.neat_config, game)
        genome = None
        if ancestor is not None:
            if ancestor.kind != KIND.name:
                raise BadValue("ancestor", ancestor.id, f"an agent of kind {KIND.name}, but it is a {ancestor.kind}")
            genome = load(ancestor.payload)
        return cls(Evolution(text, read_config(text, game, settings.population), settings.seed, genome))

    def specs(self) -> dict[int, AgentSpec]:
        """The current generation as agents, by genome key."""
        known = self._specs
        self._specs = {key: known.get(key) or self._spec(key) for key in self.evolution.genomes}
        return self._specs

    def _spec(self, key: int) -> AgentSpec:
        return AgentSpec(str(key), KIND.name, dump(self.evolution.genome(key)), KIND.version)

    def hall_specs(self) -> list[AgentSpec]:
        """The hall of fame as agents."""
        return [AgentSpec(f"{HALL}{entry.key}", KIND.name, dump(entry.genome), KIND.version) for entry in self.hall]

    def advance(self, evaluation: GenerationEvaluation, settings: NeatSettings) -> bool:
        """Stores the evaluation and breeds the next generation; False if all species died out."""
        generation = self.evolution.generation
        self.behaviours, self.level = evaluation.behaviours, evaluation.level
        self.best = evaluation.best or self.best
        fittest = evaluation.fittest
        enters = evaluation.enters_hall and generation % settings.hall_every == settings.hall_every - 1
        if enters and fittest not in {entry.key for entry in self.hall}:  # an elite genome may be champion twice
            champion = HallOfFameEntry(fittest, generation, self.evolution.genome(fittest))
            self.hall = [*self.hall, champion][-settings.hall_size :]
        self.stale = 0 if evaluation.best is not None else self.stale + 1
        return self.evolution.advance(evaluation.fitness)

    def checkpoint(self) -> Checkpoint:
        """A checkpoint from which the next generation is evaluated first."""
        return Checkpoint(self.evolution.generation, self.dump(), (self.best.player(),) if self.best else ())

    def dump(self) -> bytes:
        state = EvolutionCheckpoint(
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
    def from_checkpoint(cls, data: bytes, settings: NeatSettings, game: Game) -> EvolutionRun:
        """Restores a run; raises BadValue if the checkpoint is invalid."""
        state = codec.load(EvolutionCheckpoint, data, LARGEST, format=FORMAT, version=VERSION)
        config = read_config(state.evolution.config, game, settings.population)
        for name, entries in (("hall", state.hall), ("best", (state.best,) if state.best else ())):
            for entry in entries:
                genomes.check(entry.genome)
                if (entry.genome.inputs, entry.genome.outputs) != (inputs_of(game), game.info.actions):
                    raise BadValue(f"checkpoint.{name}", entry.generation, f"genomes that play {game.spec.name}")
        for name, value in (("level", state.level), ("stale", state.stale)):
            if not 0 <= value < 2**53:
                raise BadValue(f"checkpoint.{name}", value, "0 or more")
        run = cls(Evolution.from_state(state.evolution, config))
        run.hall, run.behaviours = list(state.hall), list(state.behaviours)
        run.level, run.best, run.stale = state.level, state.best, state.stale
        names = settings.behaviour.strip() or advice(state.evolution.config).get("behaviour", "")
        width = len(behaviour_of(names, game))
        if any(len(row) != width for row in run.behaviours):
            raise BadValue("checkpoint.behaviours", "rows", f"of {width} numbers")
        return run
