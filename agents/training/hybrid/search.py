"""The search for architectures: which genomes are to be trained next, given the results of earlier ones.

    search = Search(SearchSettings(), shape, outputs, LearningPlan())
    while search.end_reason() is None:
        for outcome in evaluator.evaluate(search.pending(), stop):
            search.tell(outcome)
        search.advance()
    search.best.genome

The result depends on the settings, the plan and the outcomes, not on the order in which outcomes arrive, nor on
interruptions. There is no generator of random numbers whose state would have to be saved.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TypeVar

from agents.training.hybrid.breeding import children, first_generation
from agents.training.hybrid.genome import Genome
from agents.training.hybrid.members import Generation, Member, ranked, spread_of
from agents.training.hybrid.outcome import LearningPlan, Outcome
from agents.training.hybrid.search_settings import ENDS, SearchSettings
from agents.training.hybrid.search_state import (
    FORMAT,
    VERSION,
    SavedSearch,
    SearchProgress,
    best_of,
    check_outcome,
    dump_search,
    load_search,
)
from agents.training.hybrid.selection import elite, mutation_rate, pools
from engine.errors import BadValue, RingsideError

Settings = TypeVar("Settings", SearchSettings, LearningPlan)

CONVERGED, TARGET, MAX_GENERATIONS = END_REASONS = ("converged", "target", "max_generations")


class Search:
    """A search in progress. Every change is one assignment, so that it can be saved after a KeyboardInterrupt too."""

    def __init__(
        self, settings: SearchSettings, shape: tuple[int, ...], outputs: int, plan: LearningPlan, data: str = ""
    ) -> None:
        """`shape`: of one input. `data`: names the examples; a caller may compare it when a search is resumed."""
        self.settings, self.plan, self.data = settings, plan, data
        self.space = settings.space(shape, outputs)
        candidates = tuple(first_generation(settings, self.space))
        self._progress = SearchProgress(candidates, tuple(range(1, len(candidates) + 1)), ())
        self._outcomes: dict[str, Outcome] = {}  # by genome key; only the best one keeps its tensors
        self._leader: Member | None = None  # the best one, unless a KeyboardInterrupt came at the wrong moment

    # What is to be done

    def pending(self) -> list[Genome]:
        """The genomes that must be trained, each once, in a fixed order. If the last generation is complete and the
        search has not ended, the next one is bred first."""
        if self.completed and self.end_reason() is None:
            self._progress = self._with_next_generation()
        genomes = dict.fromkeys(self._progress.candidates[number - 1].genome for number in self._progress.members)
        return [genome for genome in genomes if genome.key not in self._outcomes]

    def tell(self, outcome: Outcome) -> None:
        """Store the outcome of a pending genome; their order makes no difference."""
        waiting = [member for member in self.members if member.outcome is None]
        numbers = [member.number for member in waiting if member.genome.key == outcome.key]
        if not numbers:
            raise BadValue("outcome.key", outcome.key, "the key of a genome that has no outcome yet")
        check_outcome(outcome)
        told = Member(min(numbers), self._progress.candidates[min(numbers) - 1], outcome)
        leader = self._leader
        if outcome.fitness is None or (leader is not None and leader.standing < told.standing):
            self._outcomes[outcome.key] = replace(outcome, tensors=b"")
            return
        self._outcomes[outcome.key] = outcome
        self._leader = told
        if leader is not None and leader.outcome is not None:
            self._outcomes[leader.outcome.key] = replace(leader.outcome, tensors=b"")

    def advance(self) -> Generation:
        """Completes the generation when nothing is pending. Raises RingsideError if all of its models failed."""
        if self.completed or (missing := len(self.pending())):
            needed = f"{missing:,} models have no outcome yet" if not self.completed else "no generation is in progress"
            raise RingsideError(f"generation {self.generation + 1} cannot be completed: {needed}")
        generation = self._summary()
        self._progress = replace(self._progress, history=(*self._progress.history, generation))
        return generation

    def end_reason(self) -> str | None:
        """Why the search has ended, one of `END_REASONS`; None if it goes on."""
        history, settings = self._progress.history, self.settings
        best, improved = -1.0, 0
        for generation in history:
            if generation.best > best:
                best, improved = generation.best, generation.number
        if settings.target_fitness and best >= settings.target_fitness:
            return TARGET
        if len(history) >= settings.max_generations:
            return MAX_GENERATIONS
        if settings.search_patience and len(history) - improved >= settings.search_patience:
            return CONVERGED
        return None

    # What is known

    @property
    def generation(self) -> int:
        """Number of completed generations."""
        return len(self._progress.history)

    @property
    def completed(self) -> bool:
        """Whether the members are of a completed generation; then `pending` breeds the next one, unless all is done."""
        return self._progress.completed

    @property
    def history(self) -> tuple[Generation, ...]:
        return self._progress.history

    @property
    def members(self) -> list[Member]:
        """Those of the generation in progress, or of the last one until the next one is bred."""
        return [self._member(number) for number in self._progress.members]

    @property
    def individuals(self) -> list[Member]:
        """All candidates so far, by number."""
        return [self._member(number) for number in range(1, len(self._progress.candidates) + 1)]

    @property
    def best(self) -> Member | None:
        """The best model so far, with its tensors; None if none was trained."""
        return best_of(self._progress.candidates, self._outcomes)

    @property
    def trained(self) -> int:
        """Number of models trained so far, failed ones included."""
        return len(self._outcomes)

    def _member(self, number: int) -> Member:
        candidate = self._progress.candidates[number - 1]
        return Member(number, candidate, self._outcomes.get(candidate.genome.key))

    # From one generation to the next

    def _summary(self) -> Generation:
        members, alive = self.members, ranked(self.members)
        if not alive:
            errors = "; ".join(dict.fromkeys(member.outcome.error for member in members if member.outcome))
            raise RingsideError(
                f"all {len(members):,} models of generation {self.generation + 1} failed, so none can be a parent: "
                f"{errors[:1000]}"
            )
        mean, spread, diversity = spread_of(alive)
        history = self._progress.history
        first = (history[0].spread, history[0].diversity) if history else (spread, diversity)
        new = self._newly_trained()
        return Generation(
            number=self.generation + 1,
            best=alive[0].fitness or 0.0,
            mean=mean,
            worst=alive[-1].fitness or 0.0,
            spread=spread,
            diversity=diversity,
            mutation_rate=mutation_rate(self.settings, spread, diversity, first),
            parameters=self.space.parameters(alive[0].genome),
            evaluated=len(new),
            cached=len(members) - len(new),
            failed=sum(member.fitness is None for member in members),
            species=len(pools(alive, self._genomes(), 0, self.settings)),
            seconds=sum(outcome.seconds for outcome in new),
        )

    def _newly_trained(self) -> list[Outcome]:
        """The outcomes of genomes that were met in this generation first."""
        candidates = self._progress.candidates
        before = {candidate.genome for candidate in candidates if candidate.generation <= self.generation}
        new = dict.fromkeys(candidate.genome for candidate in candidates if candidate.generation > self.generation)
        return [self._outcomes[genome.key] for genome in new if genome not in before]

    def _with_next_generation(self) -> SearchProgress:
        """The progress with the next generation: the elite, which keeps its numbers, and children."""
        settings, candidates = self.settings, self._progress.candidates
        alive = ranked(self.members)
        kept = elite(alive, pools(alive, self._genomes(), 0, settings), settings.elite)
        groups = pools(alive, self._genomes(), settings.population_size - len(kept), settings)
        rate, number = self._progress.history[-1].mutation_rate, self.generation + 1
        new = children(groups, rate, self._genomes(), number, settings, self.space)
        numbers = range(len(candidates) + 1, len(candidates) + len(new) + 1)
        members = (*(member.number for member in kept), *numbers)
        return replace(self._progress, candidates=(*candidates, *new), members=members)

    def _genomes(self) -> list[Genome]:
        return [candidate.genome for candidate in self._progress.candidates]

    # Checkpoints

    def save(self) -> bytes:
        """Everything, also in the middle of a generation; of tensors only those of the best model."""
        best = self.best
        known = (self._outcomes.get(genome.key) for genome in dict.fromkeys(self._genomes()))
        outcomes = tuple(outcome for outcome in known if outcome is not None)
        saved = SavedSearch(
            FORMAT, VERSION, self.settings, self.plan, self.space.shape, self.space.outputs, self.data, self._progress,
            outcomes,
        )  # fmt: skip
        return dump_search(saved, best.outcome.tensors if best and best.outcome else b"")

    @classmethod
    def load(cls, data: bytes, settings: SearchSettings | None = None, plan: LearningPlan | None = None) -> Search:
        """The search that `save` wrote. Other settings of when it ends may be given; all others must be the same,
        because the result would be another one. Raises BadValue for anything that `save` cannot have written."""
        saved, best = load_search(data)
        settings = _unchanged(saved.settings, settings or saved.settings, ENDS)
        plan = _unchanged(saved.plan, plan or saved.plan)
        search = cls(settings, saved.shape, saved.outputs, plan, saved.data)
        search._progress = saved.progress
        search._outcomes = {outcome.key: outcome for outcome in saved.outcomes}
        leader = best_of(saved.progress.candidates, search._outcomes)
        if leader is not None and leader.outcome is not None:
            outcome = replace(leader.outcome, tensors=best)
            search._outcomes[outcome.key] = outcome
            search._leader = replace(leader, outcome=outcome)
        return search


def _unchanged(saved: Settings, given: Settings, free: tuple[str, ...] = ()) -> Settings:
    for field in fields(saved):
        value, before = getattr(given, field.name), getattr(saved, field.name)
        if field.name not in free and value != before:
            raise BadValue(field.name, value, f"{before}, as in the checkpoint")
    return given
