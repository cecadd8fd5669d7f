"""The configurations and the advice of the reference document, as they are written there, on small data."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import fields, replace
from functools import cache
from typing import Any

import pytest
import torch

from agents.training.hybrid.config import HybridConfig
from agents.training.hybrid.genome import Genome
from agents.training.hybrid.neuroevolution import HybridNeuroevolution
from agents.training.hybrid.neuroevolution_config import CONFIG, NeuroevolutionConfig, default_config, explained
from agents.training.hybrid.outcome import Result
from agents.training.hybrid.process_workers import ProcessWorkers
from agents.training.hybrid.workers import Finished, Job, Worker
from engine.errors import BadValue, UnknownName
from tests.agents.training.hybrid.small_data import images, loader
from tests.guide import GUIDE
from tests.waiting import until

MODULE = "agents.training.hybrid.neuroevolution_config"


@pytest.fixture(autouse=True)
def restored_config() -> Iterator[None]:
    """The document changes the dictionary of the package."""
    yield
    CONFIG.clear()
    CONFIG.update(default_config())


Found = tuple[HybridNeuroevolution, Genome]


# The examples, as they are written


def example_1_basic_concurrent_evaluation(train_loader: Any, test_loader: Any) -> Found:
    CONFIG["concurrent_models"] = 2
    CONFIG["max_concurrent_models"] = 4

    neuroevolution = HybridNeuroevolution(CONFIG, train_loader, test_loader)
    best_genome = neuroevolution.evolve()
    return neuroevolution, best_genome


def example_2_high_performance_setup(train_loader: Any, test_loader: Any) -> Found:
    CONFIG["concurrent_models"] = 3
    CONFIG["population_size"] = 12
    CONFIG["max_generations"] = 20

    neuroevolution = HybridNeuroevolution(CONFIG, train_loader, test_loader)
    best_genome = neuroevolution.evolve()
    return neuroevolution, best_genome


def example_3_conservative_setup(train_loader: Any, test_loader: Any) -> Found:
    CONFIG["concurrent_models"] = 1
    CONFIG["population_size"] = 6
    CONFIG["num_epochs"] = 8

    neuroevolution = HybridNeuroevolution(CONFIG, train_loader, test_loader)
    best_genome = neuroevolution.evolve()
    return neuroevolution, best_genome


def a_debugging_setup(train_loader: Any, test_loader: Any) -> Found:
    CONFIG["concurrent_models"] = 1
    CONFIG["population_size"] = 4
    CONFIG["max_generations"] = 2
    CONFIG["num_epochs"] = 2

    neuroevolution = HybridNeuroevolution(CONFIG, train_loader, test_loader)
    best_genome = neuroevolution.evolve()
    return neuroevolution, best_genome


EXAMPLES = {
    1: example_1_basic_concurrent_evaluation,
    2: example_2_high_performance_setup,
    3: example_3_conservative_setup,
}


def run(number: int, mode: str) -> Found:
    """What the document leaves out is set before: the mode; and for the time of this test, the number of generations of
    the first example."""
    CONFIG.update(default_config() | {"mode": mode, "cores": 4})  # as many models as the example says, on any machine
    if number == 1:
        CONFIG["max_generations"] = 3
    torch.manual_seed(1)  # of the loaders' shuffling
    return EXAMPLES[number](loader(images(96)), loader(images(64, 1)))


@cache
def sequential(number: int) -> Found:
    return run(number, "sequential")


def results(neuroevolution: HybridNeuroevolution) -> object:
    """All that does not depend on time."""
    return (
        [(member.candidate, member.outcome) for member in neuroevolution.individuals],
        [replace(generation, seconds=0.0) for generation in neuroevolution.history],
        neuroevolution.end_reason,
    )


class AtOnce:
    """Counts the models that are trained at the same time; all workers have started before the first of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.most = self._now = 0
        begin, finish, resize = Worker.begin, Worker.finish, ProcessWorkers.resize

        def counted_begin(worker: Worker, job: Job) -> None:
            self._now += 1
            self.most = max(self.most, self._now)
            begin(worker, job)

        def counted_finish(worker: Worker, result: Result, seconds: float) -> Finished:
            self._now -= 1
            return finish(worker, result, seconds)

        def complete_resize(workers: ProcessWorkers, count: int) -> None:
            resize(workers, count)
            until(lambda: workers.wait(0.01, lambda: False) or all(worker.started for worker in workers.workers))

        monkeypatch.setattr(Worker, "begin", counted_begin)
        monkeypatch.setattr(Worker, "finish", counted_finish)
        monkeypatch.setattr(ProcessWorkers, "resize", complete_resize)


@pytest.mark.parametrize("mode", ["threads", "processes"])
@pytest.mark.parametrize(
    ("number", "at_once", "members"), [(1, 2, 10), pytest.param(2, 3, 12, marks=pytest.mark.slow), (3, 1, 6)]
)
def test_an_example_has_the_same_results_in_all_modes(
    number: int, at_once: int, members: int, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, best = sequential(number)
    counted = AtOnce(monkeypatch)
    neuroevolution, best_genome = run(number, mode)
    assert counted.most == at_once
    assert neuroevolution.evaluation_mode == (mode if at_once > 1 else "sequential")
    assert best_genome == best == neuroevolution.best_genome
    assert results(neuroevolution) == results(expected)
    assert len(neuroevolution.population) == members
    assert neuroevolution.end_reason in ("converged", "max_generations")
    assert neuroevolution.fitness is not None
    assert neuroevolution.fitness > 0.7, "a quarter of the answers would be right by chance"


def test_the_conservative_setup_has_as_many_epochs_as_it_says() -> None:
    neuroevolution, _ = sequential(3)
    assert neuroevolution.config.plan.epochs == 8
    assert max(member.outcome.epochs for member in neuroevolution.individuals if member.outcome) <= 8


def test_a_debugging_setup() -> None:
    neuroevolution, best_genome = a_debugging_setup(loader(images(96)), loader(images(64, 1)))
    assert best_genome == neuroevolution.best_genome
    assert neuroevolution.generation == 2


@pytest.mark.slow
def test_the_advice_for_memory_errors_works() -> None:
    """Models with the whole data as a minibatch run out of memory; with the advice, none of them does."""
    data = loader(images(4096), 256), loader(images(64, 1))
    CONFIG.update({"model_memory": 60, "batch_size": 4096, "max_generations": 1, "num_epochs": 1, "population_size": 6})
    before = HybridNeuroevolution(CONFIG, *data)
    before.evolve()
    errors = [member.outcome.error for member in before.population if member.outcome and member.outcome.error]
    assert len(errors) >= 2
    assert all(error.startswith("it ran out of memory") for error in errors)
    assert all("Smaller minibatches or smaller models need less" in error for error in errors)

    CONFIG["concurrent_models"] = 1
    CONFIG["batch_size"] = 64
    CONFIG["population_size"] = 6

    neuroevolution = HybridNeuroevolution(CONFIG, *data)
    neuroevolution.evolve()
    assert [member.candidate for member in neuroevolution.population] == [
        member.candidate for member in before.population
    ]
    assert not any(member.outcome.error for member in neuroevolution.population if member.outcome)
    assert neuroevolution.evaluation_mode == "processes", "elsewhere the limit has no effect"


# Validation of the configuration


@pytest.mark.parametrize(("wanted", "most", "allowed"), [(9, 4, 4), (3, 2, 2), (0, 4, 1), (-2, 4, 1), (1, 1, 1)])
def test_concurrent_models_are_clamped_with_a_visible_note(
    wanted: int, most: int, allowed: int, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, MODULE):
        config = NeuroevolutionConfig.read({"concurrent_models": wanted, "max_concurrent_models": most})
    assert config.concurrency.concurrent_models == allowed
    said = [record.getMessage() for record in caplog.records]
    assert said == [] if wanted == allowed else f"concurrent_models = {wanted} is changed to {allowed}" in said[0]


def test_an_unknown_key_suggests_the_nearest_one() -> None:
    CONFIG["concurent_models"] = 3
    with pytest.raises(UnknownName, match="did you mean 'concurrent_models'"):
        HybridNeuroevolution(CONFIG, [], [])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("num_epochs", 0),
        ("num_epochs", "8"),
        ("batch_size", 0),
        ("population_size", 1),
        ("concurrent_models", "2"),
        ("concurrent_models", True),
        ("max_concurrent_models", 0),
        ("mode", "gpu"),
        ("elite_share", 2.0),
        ("max_examples", 0),
        ("num_classes", -1),
        ("devices", "toaster"),
    ],
)
def test_wrong_values_are_refused_by_name(key: str, value: object) -> None:
    with pytest.raises((BadValue, UnknownName), match=key if key != "devices" else "toaster"):
        NeuroevolutionConfig.read({key: value})


def test_a_configuration_that_is_no_mapping_is_refused() -> None:
    with pytest.raises(BadValue, match="a mapping of names to values"):
        NeuroevolutionConfig.read([("population_size", 6)])  # type: ignore[arg-type]


def test_numbers_of_numpy_and_lists_of_devices_are_accepted() -> None:
    import numpy as np

    config = NeuroevolutionConfig.read(
        {"population_size": np.int64(7), "elite_share": np.float64(0.5), "devices": ["cpu"]}
    )
    assert (config.search.population_size, config.search.elite_share, config.concurrency.devices) == (7, 0.5, "cpu")
    assert NeuroevolutionConfig.read({"elite_share": 0}).search.elite_share == 0.0


def test_the_seed_is_that_of_the_search_and_of_its_models() -> None:
    assert NeuroevolutionConfig.read({"seed": 5}).search.seed == NeuroevolutionConfig.read({"seed": 5}).plan.seed == 5
    assert NeuroevolutionConfig.read({}).search.seed == NeuroevolutionConfig.read({}).plan.seed


def test_every_key_is_explained() -> None:
    assert [key for key, _, _ in explained()] == list(CONFIG)
    assert all(text for _, _, text in explained())
    for key in (
        "concurrent_models",
        "max_concurrent_models",
        "population_size",
        "max_generations",
        "num_epochs",
        "batch_size",
    ):
        assert key in CONFIG


def test_the_guide_has_every_key_with_its_default_and_meaning() -> None:
    rows = re.findall(r"^\|[^|]*\| `(\w+)` \| ([^|]*) \| (.*) \|$", (GUIDE / "hybrid.md").read_text("utf-8"), re.M)
    shown = {key: (default, meaning) for key, default, meaning in rows if key in CONFIG}
    for key, default, meaning in explained():
        own = re.search(r"\(`CONFIG`: (.*)\)", shown[key][0])
        assert (own[1] if own else shown[key][0], shown[key][1]) == (as_shown(default), meaning), key


def test_the_guide_has_every_setting_of_the_trainer_with_its_default_and_meaning() -> None:
    page = (GUIDE / "hybrid.md").read_text("utf-8")
    rows = re.findall(r"^\| `(--[\w-]+)` \|[^|]*\| ([^|]*) \| (.*) \|$", page, re.M)
    shown = {option: (default.split(" (")[0], meaning.replace("`", "")) for option, default, meaning in rows}
    for field in fields(HybridConfig):
        default, meaning = shown[f"--{field.name.replace('_', '-')}"]
        assert meaning == field.metadata["help"].replace("`", ""), field.name
        assert default == (
            "a new one for each session of a league" if field.name == "seed" else as_shown(field.default)
        )


def as_shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else str(value)


def test_the_defaults_are_those_of_the_document() -> None:
    assert CONFIG["concurrent_models"] == 2
    assert CONFIG["max_concurrent_models"] == 4
    assert CONFIG["population_size"] == 10
    assert CONFIG["elite_share"] == 0.2
    assert (CONFIG["mutation_rate_min"], CONFIG["mutation_rate_max"]) == (0.1, 0.8)
    assert CONFIG["patience"] == 3
