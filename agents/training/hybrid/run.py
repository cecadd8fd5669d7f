"""A run of the trainer `hybrid`: the search, the lessons that its models learn, and the best player so far."""

from __future__ import annotations

from agents.nets.pilot import agent
from agents.training.events import Checkpoint, Player
from agents.training.hybrid.config import HybridConfig
from agents.training.hybrid.lessons.lessons import Lessons
from agents.training.hybrid.members import Member
from agents.training.hybrid.search import Search
from agents.training.hybrid.search_state import network_of
from agents.training.hybrid.state import Best, dump, read
from engine.errors import BadValue
from engine.game import Game
from engine.play.match import AgentSpec

MODEL = "model"  # the name of a player in its validation matches


class Run:
    """What a checkpoint holds."""

    def __init__(self, settings: HybridConfig, game: Game, lessons: Lessons, search: Search | None = None) -> None:
        self.settings, self.game, self.lessons = settings, game, lessons
        info = game.info
        self.search = search or Search(settings.search(), info.observation, info.actions, settings.plan())
        self.validated = 0  # the number of the last candidate that was validated
        self.best: Best | None = None
        self._payload = b""  # of the best player
        self._lessons = lessons.save()

    @classmethod
    def resumed(cls, settings: HybridConfig, game: Game, state: bytes) -> Run:
        """Continues with a checkpoint; raises BadValue if it is of another game or search."""
        saved = read(state)
        if saved.about.game != game.spec.name:
            raise BadValue("checkpoint.game", saved.about.game, game.spec.name)
        search = Search.load(saved.search, settings.search(), settings.plan())
        run = cls(settings, game, Lessons.load(saved.lessons), search)
        run.validated, run.best, run._payload = saved.about.validated, saved.about.best, saved.player
        return run

    def checkpoint(self) -> Checkpoint:
        parts = {"search": self.search.save(), "lessons": self._lessons, "player": self._payload}
        state = dump(self.game.spec.name, self.validated, self.best, **parts)
        return Checkpoint(self.search.generation, state, (self.player(self.best),) if self.best else ())

    @property
    def unfinished(self) -> str:
        """How much of the generation in progress is done, in words; empty if nothing is."""
        new = [member for member in self.search.members if member.candidate.generation > self.search.generation]
        done = sum(member.outcome is not None for member in new)
        return "" if self.search.completed or not done else f", and {done} of {len(new)} models of the next one"

    # The best player

    @property
    def unvalidated(self) -> Member | None:
        """The best model of the search, unless it was validated before."""
        best = self.search.best
        return best if best is not None and best.number != self.validated else None

    def spec_of(self, member: Member) -> AgentSpec:
        """A model as an agent that plays."""
        assert member.outcome is not None
        info, name = self.game.info, self.game.spec.name
        network = network_of(member.genome, member.outcome.tensors, info.observation, info.actions, name)
        return agent(MODEL, network.with_temperature(self.settings.temperature))

    def add_player(self, member: Member, spec: AgentSpec, share: tuple[float, float, float] | None) -> None:
        """`share`: of the points in validation matches, with its interval. The best player is the one with the largest
        share or, without validation, the one that answers most examples as its teacher."""
        outcome = member.outcome
        assert outcome is not None
        assert outcome.fitness is not None
        self.validated = member.number
        if self.best is None or (share or (0.0,))[0] >= (self.best.share or 0.0):  # later ones answer more examples
            points = share or (None, 0.0, 1.0)
            about = (member.number, self.search.generation, outcome.fitness, outcome.parameters)
            self.best, self._payload = Best(*about, spec.kind, spec.version, *points), spec.payload

    def player(self, best: Best) -> Player:
        about = f"hybrid, model {best.number} of generation {best.generation}, {best.parameters:,} parameters; "
        about += f"agrees with its teacher in {best.fitness:.1%} of the positions for selection"
        if best.share is not None:
            about += f", validated at {best.share:.0%} ({best.low:.0%} to {best.high:.0%})"
        return Player(best.kind, best.version, self._payload, about)
