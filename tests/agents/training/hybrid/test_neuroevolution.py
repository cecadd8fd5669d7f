"""`HybridNeuroevolution` with models that are really trained: the same result in every mode and after interruptions."""

from __future__ import annotations

import itertools
import logging
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.nets.network import load as load_network
from agents.nets.pilot import agent
from agents.training.hybrid.evaluation import Evaluator
from agents.training.hybrid.genome import Genome
from agents.training.hybrid.individuals import population_of
from agents.training.hybrid.members import Generation
from agents.training.hybrid.neuroevolution import Evaluated, HybridNeuroevolution, Note
from agents.training.hybrid.outcome import Outcome
from agents.training.hybrid.search_state import NO_GAME
from engine.errors import BadValue, RingsideError
from engine.game import Game
from engine.play.match import AgentSpec, Limits, MatchSpec
from engine.play.sequential import SequentialMatchExecutor
from tests.agents.training.hybrid.small_data import Pair, images, loader, vectors

SMALL: dict[str, Any] = {
    "population_size": 4, "max_generations": 3, "num_epochs": 2, "search_patience": 0, "max_parameters": 3000,
    "mode": "sequential",
}  # fmt: skip
TRAIN, TEST = vectors(96), vectors(64, 1)


def new(saved: bytes | None = None, data: tuple[Pair, Pair] = (TRAIN, TEST), **config: Any) -> HybridNeuroevolution:
    return HybridNeuroevolution({**SMALL, **config}, *data, saved=saved)


def found(neuroevolution: HybridNeuroevolution) -> object:
    """All that does not depend on time."""
    return (
        [(member.number, member.candidate, member.outcome) for member in neuroevolution.individuals],
        neuroevolution.best,
        [
            (generation.number, generation.best, generation.mean, generation.spread, generation.mutation_rate)
            for generation in neuroevolution.history
        ],
    )


@pytest.fixture(scope="module")
def whole() -> HybridNeuroevolution:
    neuroevolution = new()
    neuroevolution.evolve()
    return neuroevolution


# Modes


@pytest.mark.parametrize("mode", ["processes", "threads", "auto"])
def test_concurrent_models_have_the_same_results_as_sequential_ones(mode: str, whole: HybridNeuroevolution) -> None:
    concurrent = new(mode=mode, concurrent_models=3, cores=2)
    assert concurrent.evolve() == whole.best_genome
    assert found(concurrent) == found(whole)


def test_images_have_the_same_results_too() -> None:
    data = images(80), images(48, 1)
    single = new(data=data, concurrent_models=1, max_generations=2)
    several = new(data=data, concurrent_models=2, max_generations=2, mode="processes")
    assert single.evolve() == several.evolve()
    assert found(single) == found(several)
    assert any(member.genome.convs for member in single.individuals)


@pytest.mark.parametrize(
    ("count", "mode", "limit", "expected"),
    [
        (1, "threads", 0, "sequential"),
        (2, "threads", 0, "threads"),
        (0, "auto", 0, "sequential"),
        (99, "threads", 0, "threads"),
        (1, "auto", 500, "auto"),
        (1, "processes", 500, "processes"),
        (1, "threads", 500, "sequential"),
    ],
)
def test_the_number_of_concurrent_models_chooses_the_way(
    count: int, mode: str, limit: int, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    neuroevolution = new(concurrent_models=count, mode=mode, model_memory=limit)
    modes: list[str] = []
    monkeypatch.setattr(neuroevolution, "_evaluate", modes.append)
    neuroevolution.evaluate_population()
    assert modes == [expected]


def test_evaluating_the_population_trains_what_is_missing() -> None:
    with new() as neuroevolution:
        members = neuroevolution.evaluate_population()
        assert [member.number for member in members] == [1, 2, 3, 4]
        assert all(member.fitness is not None for member in members)
        assert neuroevolution.generation == 0
        assert neuroevolution.evaluate_population() == members
    neuroevolution.evolve()
    assert neuroevolution.generation == 3


def test_the_order_of_a_loader_makes_no_difference(whole: HybridNeuroevolution) -> None:
    shuffled = HybridNeuroevolution(SMALL, loader(TRAIN, 7), loader(TEST, 64))
    assert shuffled.evolve() == whole.best_genome
    assert found(shuffled) == found(whole)


# Results


def test_the_best_model_is_the_best_of_all(whole: HybridNeuroevolution) -> None:
    assert whole.best is not None
    assert whole.fitness == max(member.fitness or 0.0 for member in whole.individuals)
    assert whole.best.genome == whole.best_genome
    assert whole.end_reason == "max_generations"
    assert population_of(whole.save()).best == whole.best.number


def test_progress_is_reported_after_every_model_and_generation() -> None:
    events: list[Evaluated | Generation | Note] = []
    neuroevolution = HybridNeuroevolution(SMALL, TRAIN, TEST, progress=events.append)
    neuroevolution.evolve()
    assert [event for event in events if isinstance(event, Note)] == [
        Note("evaluation mode sequential: one model at a time")
    ]
    models = [event for event in events if isinstance(event, Evaluated)]
    assert [event for event in events if isinstance(event, Generation)] == list(neuroevolution.history)
    assert [event.done for event in models if event.generation == 1] == [1, 2, 3, 4]
    assert [event.done for event in models if event.generation == 2] == [2, 3, 4], "one is of the elite"
    assert all(event.member.outcome is not None and event.total == 4 for event in models)


@pytest.mark.parametrize(
    ("mode", "models", "shown"),
    [
        ("processes", 1, "sequential: one model"),
        ("sequential", 2, "sequential: one model"),
        ("threads", 2, "threads: 2 models"),
        ("processes", 2, "processes: 2 models"),
    ],
)
def test_printed_progress_begins_with_the_mode_of_evaluation(
    mode: str, models: int, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    config = SMALL | {"mode": mode, "concurrent_models": models, "max_generations": 1, "cores": 2}
    neuroevolution = HybridNeuroevolution(config, TRAIN, TEST, progress=print)
    assert neuroevolution.evaluation_mode == ""
    neuroevolution.evolve()
    first, *trained, last = capsys.readouterr().out.splitlines()
    assert first == f"evaluation mode {shown} at a time"
    name = shown.split(":")[0]
    starts = [f"generation 1, {done} of 4 models ({name}): model " for done in (1, 2, 3, 4)]
    assert all(line.startswith(start) for line, start in zip(trained, starts, strict=True))
    assert all(re.search(r": fitness 0\.\d{4}$", line) for line in trained)
    assert last.startswith(f"generation 1: best {neuroevolution.fitness:.4f}, mean ")
    assert neuroevolution.evaluation_mode == name


def test_printed_progress_names_warnings_and_failures(capsys: pytest.CaptureFixture[str]) -> None:
    config = {"batch_size": 1, "num_epochs": 1, "max_generations": 1, "seed": seed_of(2), "model_memory": 500}
    HybridNeuroevolution(SMALL | config, TRAIN, TEST, progress=print).evolve()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("warning: the limit of memory for a model (model_memory) has no effect")
    assert sum("batch normalisation" in line for line in lines) == 2


def test_a_best_network_of_no_game_can_be_written_and_read(whole: HybridNeuroevolution, tmp_path: Path) -> None:
    path = whole.save_best(tmp_path / "best.safetensors")
    network = load_network(path.read_bytes())
    assert whole.best_genome is not None
    assert (network.game, network.observation, network.actions) == (NO_GAME, (5,), 3)
    assert network.architecture == whole.best_genome.architecture
    with pytest.raises(BadValue, match="this file exists"):
        whole.save_best(path)
    assert whole.save_best(path, overwrite=True) == path


def pong_data(game: Game) -> tuple[Pair, Pair]:
    """Made-up positions of Pong and their answers."""
    draws = np.random.default_rng(1)
    inputs = draws.normal(0.0, 1.0, (120, *game.info.observation)).astype(np.float32)
    labels = np.argmax(inputs[:, : game.info.actions], axis=1)
    return (inputs[:80], labels[:80]), (inputs[80:], labels[80:])


def test_the_best_network_plays_a_game(pong: Game, tmp_path: Path) -> None:
    neuroevolution = new(data=pong_data(pong), max_generations=1)
    neuroevolution.evolve()
    spec = agent("Evolved", neuroevolution.best_network(pong))
    assert spec.kind == "net"
    assert neuroevolution.save_best(tmp_path / "pong.safetensors", pong).read_bytes() == spec.payload
    match = MatchSpec("m", pong.spec, (spec, AgentSpec("Dice", "dice")), 1, None, Limits(steps=200))
    with SequentialMatchExecutor(1) as executor:
        result = executor.execute_match(match)
    assert result.ending.kind.rated


def test_a_network_for_another_game_is_refused(pong: Game, whole: HybridNeuroevolution) -> None:
    with pytest.raises(BadValue, match="observation"):
        whole.best_network(pong)


# Interruptions


class Interrupt:
    """A progress callback that raises a KeyboardInterrupt at the n-th event."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, event: object) -> None:
        if isinstance(event, Note):
            return
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("at", [1, 3, 5, 7])
@pytest.mark.parametrize("mode", ["sequential", "threads"])
def test_a_search_continues_after_ctrl_c(at: int, mode: str, whole: HybridNeuroevolution) -> None:
    interrupted = HybridNeuroevolution({**SMALL, "mode": mode}, TRAIN, TEST, progress=Interrupt(at))
    with pytest.raises(KeyboardInterrupt):
        interrupted.evolve()
    known = sum(member.outcome is not None for member in interrupted.individuals)
    assert known >= min(at, 4)
    resumed = new(interrupted.save(), mode=mode)
    assert sum(member.outcome is not None for member in resumed.individuals) == known
    assert resumed.evolve() == whole.best_genome
    assert found(resumed) == found(whole)
    assert interrupted.evolve() == whole.best_genome, "the same object continues too"
    assert found(interrupted) == found(whole)


def test_a_search_stops_on_request_and_continues(whole: HybridNeuroevolution) -> None:
    neuroevolution: HybridNeuroevolution

    def stop(event: object) -> None:
        if isinstance(event, Evaluated) and (event.generation, event.done) == (2, 2):
            neuroevolution.stop()

    neuroevolution = HybridNeuroevolution(SMALL, TRAIN, TEST, progress=stop)
    first = neuroevolution.evolve()
    assert first == neuroevolution.best_genome
    assert neuroevolution.generation == 1
    assert neuroevolution.end_reason is None
    resumed = new(neuroevolution.save())
    assert resumed.evolve() == whole.best_genome
    assert found(resumed) == found(whole)


def test_a_stop_before_the_first_model_is_an_error_that_says_so() -> None:
    neuroevolution = new()
    neuroevolution.stop()
    with pytest.raises(RingsideError, match="no model has been trained"):
        neuroevolution.evolve()
    assert new(neuroevolution.save()).fitness is None


def test_a_finished_search_goes_on_with_more_generations() -> None:
    longer = new(max_generations=4)
    longer.evolve()
    short = new(max_generations=2)
    short.evolve()
    resumed = new(short.save(), max_generations=4, concurrent_models=1)
    resumed.evolve()
    assert found(resumed) == found(longer)


def test_a_checkpoint_of_other_examples_or_settings_is_refused(whole: HybridNeuroevolution) -> None:
    with pytest.raises(BadValue, match="of the examples of these loaders"):
        new(whole.save(), data=(vectors(90), TEST))
    with pytest.raises(BadValue, match="epochs = 3: must be 2, as in the checkpoint"):
        new(whole.save(), num_epochs=3)
    with pytest.raises(BadValue, match="a search in safetensors"):
        new(b"junk")


# Failures


def seed_of(wanted: int) -> int:
    """A seed with so many models in the first generation that need normalisation."""
    for seed in itertools.count(1):
        if sum(member.genome.normalised for member in new(seed=seed).population) == wanted:
            return seed
    raise AssertionError


def test_models_that_fail_are_reported_and_the_others_go_on(caplog: pytest.LogCaptureFixture) -> None:
    """A minibatch of one example cannot be normalised."""
    with caplog.at_level(logging.WARNING):
        neuroevolution = new(batch_size=1, num_epochs=1, max_generations=2, seed=seed_of(2))
        neuroevolution.evolve()
    normalised = {member.number for member in neuroevolution.individuals if member.genome.normalised}
    assert {member.number for member in neuroevolution.individuals if member.fitness is None} == normalised
    said = [record.getMessage() for record in caplog.records if "failed" in record.getMessage()]
    assert len(said) == len(normalised) == sum(generation.failed for generation in neuroevolution.history)
    assert all("batch normalisation" in text for text in said)


def test_an_error_says_why_all_models_failed() -> None:
    neuroevolution = new(batch_size=1, seed=seed_of(4))
    with pytest.raises(RingsideError, match=r"all 4 models of generation 1 failed.*batch normalisation"):
        neuroevolution.evolve()
    assert new(neuroevolution.save(), batch_size=1, seed=seed_of(4)).best is None
    assert neuroevolution.best is None


def test_an_evaluator_is_closed_when_a_search_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[Evaluator] = []
    close = Evaluator.close

    def counted(self: Evaluator) -> None:
        closed.append(self)
        close(self)

    monkeypatch.setattr(Evaluator, "close", counted)

    def broken(self: Evaluator, genomes: Sequence[Genome], stop: object) -> Iterator[Outcome]:
        yield Outcome("unknown", 1, 0.5)

    with monkeypatch.context() as patch:
        patch.setattr(Evaluator, "evaluate", broken)
        neuroevolution = new()
        with pytest.raises(BadValue, match="no outcome yet"):
            neuroevolution.evolve()
    assert len(closed) == 1
    neuroevolution.evolve()
    assert len(closed) == 2
