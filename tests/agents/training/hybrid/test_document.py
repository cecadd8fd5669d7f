"""The configurations and the advice of the reference document, as they are written there, on small data."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from agents.training.hybrid.genome import Genome
from agents.training.hybrid.neuroevolution import HybridNeuroevolution
from agents.training.hybrid.neuroevolution_config import CONFIG, NeuroevolutionConfig, default_config, explained
from engine.errors import BadValue, UnknownName
from tests.agents.training.hybrid.small_data import images, loader
from tests.guide import GUIDE

MODULE = "agents.training.hybrid.neuroevolution_config"


@pytest.fixture(autouse=True)
def restored_config() -> Iterator[None]:
    """The document changes the dictionary of the package."""
    torch.manual_seed(1)  # of the loaders' shuffling
    yield
    CONFIG.clear()
    CONFIG.update(default_config())


@pytest.fixture
def train_loader() -> Any:
    return loader(images(96))


@pytest.fixture
def test_loader() -> Any:
    return loader(images(64, 1))


def check(neuroevolution: HybridNeuroevolution, best_genome: Genome) -> None:
    assert best_genome == neuroevolution.best_genome
    assert neuroevolution.end_reason in ("converged", "max_generations")
    assert neuroevolution.fitness is not None
    assert neuroevolution.fitness > 0.7, "a quarter of the answers would be right by chance"


def test_example_1_basic_concurrent_evaluation(train_loader: Any, test_loader: Any) -> None:
    CONFIG["concurrent_models"] = 2
    CONFIG["max_concurrent_models"] = 4
    CONFIG["max_generations"] = 3  # the document leaves it out

    neuroevolution = HybridNeuroevolution(CONFIG, train_loader, test_loader)
    best_genome = neuroevolution.evolve()

    check(neuroevolution, best_genome)
    assert neuroevolution.config.concurrency.concurrent_models == 2
    assert len(neuroevolution.population) == 10


def test_example_2_high_performance_setup(train_loader: Any, test_loader: Any) -> None:
    CONFIG["concurrent_models"] = 3
    CONFIG["population_size"] = 12
    CONFIG["max_generations"] = 20

    neuroevolution = HybridNeuroevolution(CONFIG, train_loader, test_loader)
    best_genome = neuroevolution.evolve()

    check(neuroevolution, best_genome)
    assert len(neuroevolution.population) == 12
    assert neuroevolution.config.concurrency.concurrent_models == 3


def test_example_3_conservative_setup(train_loader: Any, test_loader: Any) -> None:
    CONFIG["concurrent_models"] = 1
    CONFIG["population_size"] = 6
    CONFIG["num_epochs"] = 8

    neuroevolution = HybridNeuroevolution(CONFIG, train_loader, test_loader)
    best_genome = neuroevolution.evolve()

    check(neuroevolution, best_genome)
    assert neuroevolution.config.plan.epochs == 8
    assert max(one.outcome.epochs for one in neuroevolution.individuals if one.outcome) <= 8


def test_a_debugging_setup(train_loader: Any, test_loader: Any) -> None:
    CONFIG["concurrent_models"] = 1
    CONFIG["population_size"] = 4
    CONFIG["max_generations"] = 2
    CONFIG["num_epochs"] = 2

    neuroevolution = HybridNeuroevolution(CONFIG, train_loader, test_loader)
    best_genome = neuroevolution.evolve()

    assert best_genome == neuroevolution.best_genome
    assert neuroevolution.generation == 2


def test_the_advice_for_memory_errors_works(train_loader: Any, test_loader: Any) -> None:
    CONFIG["concurrent_models"] = 1
    CONFIG["batch_size"] = 64
    CONFIG["population_size"] = 6
    CONFIG["max_generations"] = 2

    best_genome = HybridNeuroevolution(CONFIG, train_loader, test_loader).evolve()

    assert best_genome.parameters((1, 6, 6), 4) <= CONFIG["max_parameters"]


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
        text = (
            f"{default:,}" if type(default) is int else str(default).lower() if type(default) is bool else str(default)
        )
        assert shown[key] == (text, meaning), key


def test_the_defaults_are_those_of_the_document() -> None:
    assert CONFIG["concurrent_models"] == 2
    assert CONFIG["max_concurrent_models"] == 4
    assert CONFIG["population_size"] == 10
    assert CONFIG["elite_share"] == 0.2
    assert (CONFIG["mutation_rate_min"], CONFIG["mutation_rate_max"]) == (0.1, 0.8)
    assert CONFIG["patience"] == 3
