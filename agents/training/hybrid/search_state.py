"""The state of a search as bytes: JSON in safetensors, no pickle. What is read is checked before it is used."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from agents.nets.network import Network
from agents.training.hybrid.genome import Genome
from agents.training.hybrid.members import Candidate, Generation, Member
from agents.training.hybrid.outcome import LearningPlan, Outcome
from agents.training.hybrid.search_settings import MOST_INDIVIDUALS, SearchSettings
from agents.training.hybrid.space import Space
from engine import codec
from engine.errors import BadValue, UnknownName

FORMAT, VERSION = "ringside-hybrid-search", 1
LARGEST = 128 << 20  # bytes of JSON
ABOUT, BEST = "about", "best"  # names of the tensors
NO_GAME = "none"  # instead of the name of a game, in a network for examples that are of no game
ROUNDING = 1e-6  # by which a weighted share may be above 1
LONGEST_DATA = 200  # characters


@dataclass(frozen=True)
class SearchProgress:
    """How far a search is. The members are those of the latest generation that was bred."""

    candidates: tuple[Candidate, ...]  # all of them; their numbers are their places, from 1
    members: tuple[int, ...]  # numbers
    history: tuple[Generation, ...]  # completed generations

    @property
    def completed(self) -> bool:
        """Whether the members are those of a completed generation, so that the next one can be bred."""
        return len(self.history) == self.candidates[-1].generation


@dataclass(frozen=True)
class SavedSearch:
    """What a checkpoint has besides the tensors of the best model."""

    format: str
    version: int
    settings: SearchSettings
    plan: LearningPlan
    shape: tuple[int, ...]
    outputs: int
    data: str
    progress: SearchProgress
    outcomes: tuple[Outcome, ...]  # without tensors, in the order of their first candidates


def dump_search(saved: SavedSearch, best: bytes) -> bytes:
    """`best`: the tensors of the best model, empty if there is none."""
    outcomes = tuple(replace(outcome, tensors=b"") for outcome in saved.outcomes)
    about = codec.dump(replace(saved, outcomes=outcomes)).encode()
    return save({ABOUT: np.frombuffer(about, np.uint8), BEST: np.frombuffer(best, np.uint8)})


def load_search(data: bytes) -> tuple[SavedSearch, bytes]:
    """What `dump_search` wrote; raises BadValue for anything else."""
    try:
        tensors = load(data)
    except (SafetensorError, ValueError, KeyError) as error:
        raise BadValue("checkpoint", str(error), "a search in safetensors") from None
    try:
        saved = codec.load(SavedSearch, _bytes(tensors, ABOUT), LARGEST, format=FORMAT, version=VERSION)
    except UnknownName as error:  # such as an optimiser
        raise BadValue("checkpoint", error.name, f"a search of this version: {error}") from None
    space = saved.settings.space(saved.shape, saved.outputs)
    if len(saved.data) > LONGEST_DATA:
        raise BadValue("checkpoint.data", saved.data, f"at most {LONGEST_DATA} characters")
    _check_candidates(saved.progress.candidates, saved.settings, space)
    _check_members(saved.progress, saved.settings)
    _check_history(saved.progress.history)
    _check_outcomes(saved.outcomes, saved.progress)
    best = _bytes(tensors, BEST)
    if best:
        leader = best_of(saved.progress.candidates, {outcome.key: outcome for outcome in saved.outcomes})
        if leader is None:
            raise BadValue("checkpoint.best", f"{len(best):,} bytes", "empty, because no model was trained")
        network_of(leader.genome, best, saved.shape, saved.outputs)  # raises unless they fit
    return saved, best


def network_of(genome: Genome, tensors: bytes, shape: Sequence[int], outputs: int, game: str = NO_GAME) -> Network:
    """A trained model as a network that plays; raises BadValue if the tensors are not those of its genome."""
    try:
        arrays = load(tensors)
    except (SafetensorError, ValueError, KeyError) as error:
        raise BadValue("tensors", str(error), "safetensors") from None
    return Network(game, tuple(shape), outputs, genome.architecture, arrays)


def check_outcome(outcome: Outcome, where: str = "outcome") -> None:
    """Raise BadValue unless its numbers are possible."""
    if outcome.fitness is not None and not 0.0 <= outcome.fitness <= 1.0 + ROUNDING:
        raise BadValue(f"{where}.fitness", outcome.fitness, "from 0 to 1, or none for a model that failed")
    for name in ("loss", "train_loss"):
        value = getattr(outcome, name)
        if value is not None and not math.isfinite(value):
            raise BadValue(f"{where}.{name}", value, "a finite number, or none")
    for name in ("parameters", "epochs", "seconds", "attempts", "peak_bytes"):
        if not 0 <= (value := getattr(outcome, name)) < 2**63:  # also refuses nan
            raise BadValue(f"{where}.{name}", value, "0 or more")


def best_of(candidates: Sequence[Candidate], outcomes: Mapping[str, Outcome]) -> Member | None:
    """The best model so far, and the first one of equally good ones; None if none was trained."""
    best: Member | None = None
    for number, candidate in enumerate(candidates, 1):
        outcome = outcomes.get(candidate.genome.key)
        if outcome is None or outcome.fitness is None:
            continue
        member = Member(number, candidate, outcome)
        if best is None or member.standing < best.standing:
            best = member
    return best


def _bytes(tensors: Mapping[str, NDArray[Any]], name: str) -> bytes:
    if name not in tensors or tensors[name].dtype != np.uint8:
        raise BadValue("checkpoint", name, "among its tensors, as bytes")
    return tensors[name].tobytes()


def _check_candidates(candidates: Sequence[Candidate], settings: SearchSettings, space: Space) -> None:
    """The first ones are the first generation, and those of each generation follow each other."""
    if not settings.population_size <= len(candidates) <= MOST_INDIVIDUALS:
        needed = f"from {settings.population_size:,} to {MOST_INDIVIDUALS:,}"
        raise BadValue("checkpoint.candidates", len(candidates), needed)
    before = 1
    for number, candidate in enumerate(candidates, 1):
        where, parents = f"checkpoint.candidates[{number - 1}]", candidate.parents
        expected = (1,) if number <= settings.population_size else (max(before, 2), before + 1)
        if candidate.generation not in expected:
            raise BadValue(f"{where}.generation", candidate.generation, f"one of {expected}")
        before = candidate.generation
        # A parent was a member of the generation before, so it was made in an earlier generation.
        earlier = [
            1 <= parent < number and candidates[parent - 1].generation < candidate.generation for parent in parents
        ]
        if len(parents) > 2 or not all(earlier):
            raise BadValue(f"{where}.parents", parents, "at most two numbers of candidates of earlier generations")
        if bool(parents) == (candidate.generation == 1):
            raise BadValue(f"{where}.parents", parents, "empty in the first generation only")
        if not space.fits(candidate.genome):
            raise BadValue(f"{where}.genome", candidate.genome, "a genome that the settings of the search allow")


def _check_members(progress: SearchProgress, settings: SearchSettings) -> None:
    members, last = progress.members, progress.candidates[-1].generation
    if len(members) != settings.population_size or len(set(members)) != len(members):
        raise BadValue("checkpoint.members", members, f"{settings.population_size:,} different numbers")
    if not all(1 <= number <= len(progress.candidates) for number in members):
        raise BadValue("checkpoint.members", members, f"from 1 to {len(progress.candidates):,}")
    new = {number for number, candidate in enumerate(progress.candidates, 1) if candidate.generation == last}
    if not new <= set(members):
        raise BadValue("checkpoint.members", members, f"with all candidates of generation {last:,}")
    if len(progress.history) not in (last - 1, last):
        raise BadValue("checkpoint.history", len(progress.history), f"{last - 1:,} or {last:,} generations")


def _check_history(history: Sequence[Generation]) -> None:
    for place, generation in enumerate(history):
        where = f"checkpoint.history[{place}]"
        if generation.number != place + 1:
            raise BadValue(f"{where}.number", generation.number, str(place + 1))
        for name in ("best", "mean", "worst", "spread", "diversity", "mutation_rate"):
            if not 0.0 <= getattr(generation, name) <= 1.0 + ROUNDING:
                raise BadValue(f"{where}.{name}", getattr(generation, name), "from 0 to 1")
        for name in ("parameters", "evaluated", "cached", "failed", "species", "seconds"):
            if not 0 <= getattr(generation, name) < 2**63:
                raise BadValue(f"{where}.{name}", getattr(generation, name), "0 or more")


def _check_outcomes(outcomes: Sequence[Outcome], progress: SearchProgress) -> None:
    """Every candidate of a completed generation has one, and there is one member at least that did not fail."""
    known = {outcome.key: outcome for outcome in outcomes}
    if len(known) != len(outcomes):
        raise BadValue("checkpoint.outcomes", len(outcomes), "one for each genome")
    keys = {candidate.genome.key for candidate in progress.candidates}
    for place, outcome in enumerate(outcomes):
        where = f"checkpoint.outcomes[{place}]"
        if outcome.key not in keys:
            raise BadValue(f"{where}.key", outcome.key, "the key of a candidate's genome")
        if outcome.tensors:
            raise BadValue(f"{where}.tensors", f"{len(outcome.tensors):,} bytes", "empty")
        check_outcome(outcome, where)
    for number, candidate in enumerate(progress.candidates, 1):
        if candidate.generation <= len(progress.history) and candidate.genome.key not in known:
            raise BadValue("checkpoint.outcomes", number, "complete: this candidate of a completed generation has none")
    members = [known.get(progress.candidates[number - 1].genome.key) for number in progress.members]
    if progress.completed and not any(outcome is not None and outcome.fitness is not None for outcome in members):
        raise BadValue("checkpoint.members", progress.members, "with a model that did not fail")
