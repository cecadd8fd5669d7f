"""Evolves the architecture of a network for two data loaders, and trains its models by gradient, several at a time.

    from agents.training.hybrid import CONFIG, HybridNeuroevolution

    CONFIG["concurrent_models"] = 2
    neuroevolution = HybridNeuroevolution(CONFIG, train_loader, test_loader)
    best_genome = neuroevolution.evolve()

The examples of `test_loader` compare the models, so the fitness of the best one is too good an estimate of how well it
answers other examples: keep some that the search never sees to measure that.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from agents.nets.network import Network, dump
from agents.training.hybrid.evaluation import Evaluator
from agents.training.hybrid.evaluators import LIMITED, SEQUENTIAL, new_evaluator
from agents.training.hybrid.genome import Genome
from agents.training.hybrid.individuals import layers_text
from agents.training.hybrid.loaders import digest, task_of
from agents.training.hybrid.members import Generation, Member
from agents.training.hybrid.neuroevolution_config import NeuroevolutionConfig
from agents.training.hybrid.outcome import Outcome
from agents.training.hybrid.search import Search
from agents.training.hybrid.search_state import NO_GAME, network_of
from engine.closing import Closing
from engine.errors import BadValue, RingsideError
from engine.files import check_writable, write_file
from engine.game import Game
from engine.registry import new_game

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Evaluated:
    """A model has been trained, or has failed."""

    generation: int  # that it is a member of, from 1
    member: Member
    done: int  # models of this generation that need no more training
    total: int
    mode: str  # in which it was trained: sequential, threads or processes

    def __str__(self) -> str:
        outcome, member = self.member.outcome, self.member
        found = "not trained yet" if outcome is None else outcome.error or f"fitness {outcome.fitness:.4f}"
        place = f"generation {self.generation}, {self.done} of {self.total} models"
        return f"{place} ({self.mode}): model {member.number}, {layers_text(member.genome)}: {found}"


@dataclass(frozen=True)
class Note:
    """What else a user should know, such as the mode of evaluation, or that memory is short."""

    text: str
    warning: bool = False

    def __str__(self) -> str:
        return f"warning: {self.text}" if self.warning else self.text


Progress = Callable[[Evaluated | Generation | Note], object]


class HybridNeuroevolution(Closing):
    """A search with its examples. `evolve` runs it to its end; use it in a `with` statement, or call `close`, if
    `evaluate_population` was called alone."""

    def __init__(
        self,
        config: Mapping[str, Any],
        train_loader: object,
        test_loader: object,
        *,
        saved: bytes | None = None,
        progress: Progress | None = None,
    ) -> None:
        """The loaders are read once: iterables of batches (inputs, targets) or (inputs, targets, weights), such as
        torch's DataLoader, or such a pair of arrays. `saved`: what `save` returned, to continue that search.
        `progress` is called after every model and every generation, and for notes such as the mode of evaluation, in
        the thread that evolves: `progress=print` shows them as text."""
        self.config = NeuroevolutionConfig.read(config)
        data, search = self.config.data, self.config.search
        self.task = task_of(train_loader, test_loader, data.num_classes, data.max_examples)
        name = digest(self.task)
        if saved is None:
            self._search = Search(search, self.task.shape, self.task.outputs, self.config.plan, name)
        else:
            self._search = Search.load(saved, search, self.config.plan)
            if self._search.data != name:
                raise BadValue("saved", f"examples {self._search.data}", f"of the examples of these loaders ({name})")
        self._progress = progress
        self._evaluator: tuple[str, Evaluator] | None = None  # with the mode of its settings
        self.evaluation_mode = ""  # in which the latest model was trained: sequential, threads or processes
        self._stop = threading.Event()
        self._lock = threading.RLock()  # `save`, `stop` and the properties may be called by other threads

    # The search

    def evolve(self) -> Genome:
        """Runs until the search has converged, reached its target or its last generation, or `stop` is called; returns
        the best genome. A KeyboardInterrupt ends it too: what was trained so far is kept, for `save` and for another
        call of `evolve`."""
        try:
            while self.end_reason is None and not self._stop.is_set():
                self.evaluate_population()
                if not self._pending():
                    self._complete_generation()
        finally:
            self._stop.clear()
            self.close()
        return self._best_or_error().genome

    def evaluate_population(self) -> list[Member]:
        """Trains the models of the current generation that have not been trained yet, one after the other if
        `concurrent_models` is 1, else several at a time. Returns the members of the generation."""
        if self.config.concurrency.concurrent_models == 1:
            self._evaluate_population_sequential()
        else:
            self._evaluate_population_concurrent()
        return self.population

    def _evaluate_population_sequential(self) -> None:
        """One after the other: in this process, or in one of their own if their memory is limited."""
        self._evaluate(self._mode)

    def _evaluate_population_concurrent(self) -> None:
        """In the mode of the configuration; the outcomes are the same to the bit."""
        self._evaluate(self._mode)

    def _evaluate(self, mode: str) -> None:
        pending = self._pending()
        if not pending:
            return
        evaluator = self._evaluator_of(mode)
        outcomes = evaluator.evaluate(pending, self._stop.is_set)
        with closing(cast(Generator[Outcome], outcomes)):  # ends training if this method ends before it
            for outcome in outcomes:
                with self._lock:
                    self._search.tell(outcome)
                    members = self._search.members
                member = next(known for known in members if known.genome.key == outcome.key)
                if outcome.error:
                    logger.warning("model %d failed: %s", member.number, outcome.error)
                done = sum(known.outcome is not None for known in members)
                self.evaluation_mode = evaluator.mode
                self._report(Evaluated(self.generation + 1, member, done, len(members), evaluator.mode))

    def _complete_generation(self) -> None:
        with self._lock:
            generation = self._search.advance()
        logger.info("%s", generation)
        self._report(generation)

    def _note(self, text: str, warning: bool) -> None:
        logger.log(logging.WARNING if warning else logging.INFO, "%s", text)
        self._report(Note(text, warning))

    def _report(self, event: Evaluated | Generation | Note) -> None:
        if self._progress is not None:
            self._progress(event)

    def _pending(self) -> list[Genome]:
        with self._lock:
            return self._search.pending()

    @property
    def _mode(self) -> str:
        config = self.config.concurrency
        limited = config.model_memory and config.mode in LIMITED
        return SEQUENTIAL if config.concurrent_models == 1 and not limited else config.mode

    def _evaluator_of(self, mode: str) -> Evaluator:
        if self._evaluator is None or self._evaluator[0] != mode:
            self.close()
            concurrency = replace(self.config.concurrency, mode=mode)
            evaluator = new_evaluator(
                self.task, self.config.plan, concurrency, cores=self.config.cores, note=self._note
            )
            self._evaluator = mode, evaluator
        return self._evaluator[1]

    def stop(self) -> None:
        """Ends `evolve` soon, from any thread; if it has not begun yet, it will end at once. Models that are being
        trained are not finished."""
        self._stop.set()

    def close(self) -> None:
        """Ends processes and threads; the search can go on afterwards."""
        evaluator, self._evaluator = self._evaluator, None
        if evaluator is not None:
            evaluator[1].close()

    # What is known

    @property
    def generation(self) -> int:
        """Number of completed generations."""
        return self._search.generation

    @property
    def population(self) -> list[Member]:
        """The members of the current generation, with their outcomes as far as they are known."""
        with self._lock:
            return self._search.members

    @property
    def individuals(self) -> list[Member]:
        """All candidates so far, with the numbers of their parents."""
        with self._lock:
            return self._search.individuals

    @property
    def history(self) -> tuple[Generation, ...]:
        return self._search.history

    @property
    def end_reason(self) -> str | None:
        """`converged`, `target` or `max_generations`; None while the search goes on."""
        return self._search.end_reason()

    @property
    def best(self) -> Member | None:
        """The best model so far: `genome`, `fitness`, and `outcome` with its weights. None if none was trained."""
        with self._lock:
            return self._search.best

    @property
    def best_genome(self) -> Genome | None:
        best = self.best
        return best.genome if best else None

    @property
    def fitness(self) -> float | None:
        """Of the best model so far: the weighted share of correct answers to the examples of `test_loader`."""
        best = self.best
        return best.fitness if best else None

    def save(self) -> bytes:
        """The state of the search, also in the middle of a generation: pass it as `saved` to continue with the same
        result. It has the weights of the best model, but no examples."""
        with self._lock:
            return self._search.save()

    # The best network

    def best_network(self, game: Game | str | None = None) -> Network:
        """The best model as a network; with a game, or its name, one that plays it, as an agent of kind `net` or
        `torch-net` (`agents.nets.pilot.agent`)."""
        game = new_game(game) if isinstance(game, str) else game
        best = self._best_or_error()
        assert best.outcome is not None
        name = game.spec.name if game else NO_GAME
        network = network_of(best.genome, best.outcome.tensors, self.task.shape, self.task.outputs, name)
        if game is not None:
            network.check_game(game)
        return network

    def predict(self, inputs: NDArray[np.float32]) -> NDArray[np.float32]:
        """The best model's logits of all classes or actions, a row for each input: `argmax(axis=1)` is its answer."""
        return logits_of(self.best_network(), inputs)

    def save_best(self, path: Path | str, game: Game | str | None = None, *, overwrite: bool = False) -> Path:
        """Writes the best network to a file: its architecture as JSON and its weights, in safetensors. Refuses to
        replace a file unless `overwrite` is set."""
        path = check_writable(path, overwrite)
        written = write_file(path, dump(self.best_network(game)), overwrite)
        logger.info("wrote %s: %s", written, layers_text(self._best_or_error().genome))
        return written

    def _best_or_error(self) -> Member:
        best = self.best
        if best is None:
            raise RingsideError(
                "no model has been trained: `evolve` was not called, or was stopped before the first one"
            )
        return best


def logits_of(network: Network, inputs: NDArray[np.float32]) -> NDArray[np.float32]:
    """The logits of all outputs, a row for each input, computed as when the network plays."""
    from agents.nets.inference import CHUNK, evaluating, inference_of  # here, because it imports torch

    if inputs.shape[1:] != network.observation:
        raise BadValue("inputs", inputs.shape, f"[rows, {', '.join(map(str, network.observation))}]")
    obs = np.ascontiguousarray(inputs, np.float32)
    logits, values = np.zeros((len(obs), network.actions), np.float32), np.zeros(len(obs), np.float32)
    with evaluating():
        inference = inference_of(network)
        for at in range(0, len(obs), CHUNK):
            inference.run(obs, logits, values, slice(at, at + CHUNK))
    return logits
