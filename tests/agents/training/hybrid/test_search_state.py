"""Checkpoints of a search: the same result after any interruption, small, and nothing hostile is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load, save

from agents.training.hybrid.individuals import population_of
from agents.training.hybrid.outcome import LearningPlan
from agents.training.hybrid.search import Search
from agents.training.hybrid.search_settings import SearchSettings
from agents.training.hybrid.search_state import ABOUT, BEST, NO_GAME, network_of
from engine.errors import BadValue
from tests.agents.training.hybrid.hidden_target import (
    OUTPUTS,
    SHAPE,
    HiddenTarget,
    new_search,
    outcome_of,
    run,
    tensors_of,
)

SAVED = run(new_search(5, max_generations=4)).save()


def part_done(told: int) -> Search:
    """In the middle of its second generation."""
    search = new_search(5, max_generations=4, search_patience=0)
    for genome in search.pending():
        search.tell(outcome_of(genome))
    search.advance()
    for genome in search.pending()[:told]:
        search.tell(outcome_of(genome))
    return search


@pytest.mark.parametrize("selection", ["fitness", "species", "novelty"])
def test_a_search_that_is_resumed_after_every_model_ends_the_same(selection: str) -> None:
    def search() -> Search:
        return new_search(9, max_generations=4, search_patience=0, selection=selection)

    def failing(genome: Any) -> bool:
        return bool(genome.key[0] in "01")

    whole, interrupted, evaluator = run(search(), HiddenTarget(failing)), search(), HiddenTarget(failing)
    while interrupted.end_reason() is None:
        interrupted = Search.load(interrupted.save())
        for genome in interrupted.pending()[::-1][:1]:
            [outcome] = evaluator.evaluate([genome], lambda: False)
            interrupted.tell(outcome)
        if not interrupted.pending():
            interrupted = Search.load(interrupted.save())
            interrupted.advance()
    assert interrupted.save() == whole.save()
    assert len(evaluator.trained) == whole.trained


def test_outcomes_told_so_far_are_kept() -> None:
    search = part_done(told=3)
    again = Search.load(search.save())
    assert again.pending() == search.pending()
    assert len(again.pending()) == 5
    assert again.generation == 1
    assert again.save() == search.save()
    assert run(again).save() == run(search).save()


def test_the_best_model_has_its_tensors_after_a_resume() -> None:
    for told in range(9):
        search = part_done(told)
        again = Search.load(search.save())
        assert search.best is not None
        assert again.best == search.best
        assert again.best is not None
        assert again.best.outcome is not None
        assert again.best.outcome.tensors == tensors_of(again.best.genome)
        network = network_of(again.best.genome, again.best.outcome.tensors, SHAPE, OUTPUTS)
        assert (network.game, network.observation, network.actions) == (NO_GAME, SHAPE, OUTPUTS)


def test_a_checkpoint_has_the_tensors_of_one_model() -> None:
    search = Search.load(SAVED)
    assert search.best is not None
    assert search.best.outcome is not None
    per_candidate = 2000
    assert len(SAVED) < len(search.best.outcome.tensors) + per_candidate * len(search.individuals)


def test_a_search_without_any_outcome_can_be_saved() -> None:
    search = new_search(3)
    again = Search.load(search.save())
    assert again.pending() == search.pending()
    assert again.best is None
    assert population_of(search.save()).best is None


def test_the_name_of_the_data_is_kept() -> None:
    search = Search(SearchSettings(), SHAPE, OUTPUTS, LearningPlan(), data="digits")
    assert Search.load(search.save()).data == "digits"


@pytest.mark.parametrize(
    ("field", "given_settings", "plan"),
    [
        ("population_size", {"population_size": 12}, {}),
        ("seed", {"seed": 6}, {}),
        ("max_parameters", {"max_parameters": 100_000}, {}),
        ("epochs", {}, {"epochs": 11}),
        ("threads", {}, {"threads": 2}),
    ],
)
def test_settings_that_change_the_result_cannot_change(
    field: str, given_settings: dict[str, Any], plan: dict[str, Any]
) -> None:
    search = Search.load(SAVED)
    with pytest.raises(BadValue, match="as in the checkpoint") as error:
        Search.load(SAVED, replace(search.settings, **given_settings), replace(search.plan, **plan))
    assert error.value.field == field


def test_settings_of_the_end_can_change() -> None:
    search = Search.load(SAVED)
    changed = replace(search.settings, max_generations=9, search_patience=2, target_fitness=0.99)
    assert Search.load(SAVED, changed, search.plan).settings == changed


# Hostile checkpoints


def altered(change: Callable[[dict[str, Any]], object], saved: bytes = SAVED) -> bytes:
    """A checkpoint whose JSON was changed."""
    tensors = load(saved)
    about = json.loads(tensors[ABOUT].tobytes())
    change(about)
    return save(tensors | {ABOUT: np.frombuffer(json.dumps(about).encode(), np.uint8)})


def put(*path: Any, value: Any) -> Callable[[dict[str, Any]], object]:
    def change(about: Any) -> None:
        for step in path[:-1]:
            about = about[step]
        about[path[-1]] = value

    return change


CANDIDATES = ("progress", "candidates")
WRONG = {
    "format": put("format", value="other"),
    "version": put("version", value=2),
    "shape": put("shape", value=[1, 8]),
    "a huge shape": put("shape", value=[1 << 40, 1 << 40, 1]),
    "negative outputs": put("outputs", value=-1),
    "a large population": put("settings", "population_size", value=10**9),
    "a seed that is no number": put("settings", "seed", value="1"),
    "an unknown setting": put("settings", "pickle", value=True),
    "a long name": put("data", value="x" * 1000),
    "no candidates": put("progress", "candidates", value=[]),
    "a candidate too few": lambda about: about["progress"]["candidates"].pop(),
    "a generation that is skipped": put(*CANDIDATES, -1, "generation", value=9),
    "a parent in the future": put(*CANDIDATES, 12, "parents", value=[20]),
    "its own parent": put(*CANDIDATES, 12, "parents", value=[13]),
    "parents of the first generation": put(*CANDIDATES, 3, "parents", value=[1]),
    "three parents": put(*CANDIDATES, 12, "parents", value=[1, 2, 3]),
    "no parents": put(*CANDIDATES, 12, "parents", value=[]),
    "a layer that is too wide": put(*CANDIDATES, 0, "genome", "dense", value=[
        {"width": 4096, "activation": "relu", "normalised": False}]),
    "an unknown activation": put(*CANDIDATES, 0, "genome", "dense", value=[
        {"width": 16, "activation": "exec", "normalised": False}]),
    "an unknown optimiser": put(*CANDIDATES, 0, "genome", "optimiser", value="rmsprop"),
    "a learning rate out of range": put(*CANDIDATES, 0, "genome", "learning_rate", value=5.0),
    "a genome without layers": put(*CANDIDATES, 0, "genome", value={
        "convs": [], "dense": [], "dropout": 0.0, "optimiser": "adam", "learning_rate": 0.001, "weight_decay": 0.0}),
    "another genome": put(*CANDIDATES, 0, "genome", "dropout", value=0.123),
    "members twice": put("progress", "members", value=[1] * 10),
    "members that are not there": put("progress", "members", value=list(range(91, 101))),
    "members of an old generation": put("progress", "members", value=list(range(1, 11))),
    "no history": put("progress", "history", value=[]),
    "a wrong number in the history": put("progress", "history", 0, "number", value=7),
    "an impossible mutation rate": put("progress", "history", 3, "mutation_rate", value=17.0),
    "a negative time": put("progress", "history", 0, "seconds", value=-1.0),
    "an outcome too few": lambda about: about["outcomes"].pop(),
    "an outcome twice": lambda about: about["outcomes"].append(about["outcomes"][0]),
    "an outcome of no candidate": put("outcomes", 0, "key", value="0" * 32),
    "an impossible fitness": put("outcomes", 0, "fitness", value=2.0),
    "huge attempts": put("outcomes", 0, "attempts", value=10**30),
    "tensors of another model": put("outcomes", 0, "tensors", value="AAAA"),
    "no successful member": lambda about: [outcome.update(fitness=None) for outcome in about["outcomes"]],
    "a list": lambda about: about.clear(),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_checkpoint_is_refused(what: str) -> None:
    with pytest.raises(BadValue):
        Search.load(altered(WRONG[what]))


def test_an_unchanged_checkpoint_is_read() -> None:
    assert Search.load(altered(lambda about: None)).save() == SAVED


def with_best(data: bytes) -> bytes:
    return save(load(SAVED) | {BEST: np.frombuffer(data, np.uint8)})


def test_tensors_that_do_not_fit_the_best_model_are_refused() -> None:
    best = Search.load(SAVED).best
    assert best is not None
    right = {name: np.array(array) for name, array in load(tensors_of(best.genome)).items()}
    name = next(iter(right))
    wrong = [
        b"junk",
        save({"a": np.zeros(3, np.float32)}),
        save({key: array for key, array in right.items() if key != name}),
        save(right | {name: right[name].astype(np.float64)}),
        save(right | {name: right[name][:-1]}),
        save(right | {name: right[name] * np.float32("nan")}),
    ]
    for data in wrong:
        with pytest.raises(BadValue):
            Search.load(with_best(data))
    assert Search.load(with_best(save(right))).save() == SAVED


def test_tensors_without_any_trained_model_are_refused() -> None:
    empty = new_search(3).save()
    with pytest.raises(BadValue, match="no model was trained"):
        Search.load(save(load(empty) | {BEST: np.zeros(3, np.uint8)}))


@pytest.mark.parametrize("data", [b"", b"{}", b"\x80\x04K\x01.", b"\0" * 100, save({"x": np.zeros(2, np.uint8)})])
def test_other_files_are_refused(data: bytes) -> None:
    with pytest.raises(BadValue):
        Search.load(data)
    with pytest.raises(BadValue):
        population_of(data)


@given(st.data())
@settings(max_examples=150)
def test_damaged_checkpoints_are_refused_or_read_but_never_crash(data: st.DataObject) -> None:
    """Bytes are changed within the JSON, where every one means something."""
    begin = SAVED.index(b'{"data"')
    damaged = bytearray(SAVED)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(SAVED) - begin - 1) | st.integers(-begin, 2000)) + begin
        damaged[place] = data.draw(st.integers(0, 255) | st.sampled_from(b'0123456789-.e"[]{},nulltrue'))
    try:
        search = Search.load(bytes(damaged))
    except BadValue:
        return
    population_of(search.save())
    search.pending()
