"""Populations of searches: what is read from checkpoints, columns, texts and order; and what cannot be shown."""

from __future__ import annotations

import csv
import dataclasses
import math
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from agents.training.population import Column, Individual, Population
from agents.training.trainer import Reading, Trainer
from engine.errors import BadValue, NotNow, RingsideError
from engine.league.storage.sessions import SessionStore
from league_app.core.population import (
    best_first,
    checked,
    export_population,
    in_order,
    population_columns,
    status,
    summary,
)
from league_app.core.queries.population import LoadedPopulation, load_population, newest_state, read_population
from league_app.core.state import LeagueState
from league_app.core.trainers import trainer_facts
from tests.league_app.populations import (
    BEST,
    GAME,
    add_checkpoint,
    drawn_outside,
    individual,
    of,
    population,
    record,
    registered,
)
from tests.plugins.breeding import Breeding
from tests.query_counts import counted_queries


@pytest.fixture(autouse=True, scope="module")
def plugin() -> Iterator[None]:
    with registered():
        yield


@pytest.fixture
def state(tmp_path: Path) -> Iterator[LeagueState]:
    with LeagueState.new(tmp_path / "a.league") as state:
        yield state


@dataclass(frozen=True)
class Odd(Breeding):
    """A trainer whose population is not what it should be."""

    name: ClassVar[str] = "breeding"
    returns: ClassVar[object] = None

    @classmethod
    def population_of(cls, state: bytes) -> Population | None:
        if isinstance(cls.returns, Exception):
            raise cls.returns
        return cls.returns  # type: ignore[return-value]


@dataclass(frozen=True)
class Static(Breeding):
    @staticmethod
    def population_of(state: bytes) -> Population | None:  # type: ignore[override]
        return None


@dataclass(frozen=True)
class Unrelated:
    """A trainer that does not inherit from Trainer."""

    name: ClassVar[str] = "unrelated"
    about: ClassVar[str] = ""
    metrics: ClassVar[dict[str, object]] = {}
    headline: ClassVar[str] = ""
    unit: ClassVar[str] = "step"
    ends: ClassVar[object] = Trainer.ends
    fixed: ClassVar[tuple[str, ...]] = ()
    presets: ClassVar[dict[str, object]] = {}
    check: ClassVar[object] = None
    train: ClassVar[object] = None


# Facts


def test_a_trainer_has_a_population_if_it_defines_one() -> None:
    assert trainer_facts("breeding").has_population
    assert not trainer_facts("neat").has_population
    assert not trainer_facts("not-installed").has_population
    with registered(Static):
        assert trainer_facts("breeding").has_population, "as a static method"
    with registered(Unrelated):
        assert not trainer_facts("unrelated").has_population


# Reading


def test_the_population_of_the_newest_checkpoint_is_read_once(state: LeagueState) -> None:
    number = record(state.league, 3)
    first = load_population(state, number)
    assert first.population == population(3)
    assert (first.step, first.error, first.note) == (2, "", "")
    with counted_queries(state.league) as queries:
        assert load_population(state, number, first) is first
    assert not [query for query in queries if "payloads" in query], "the state is not read again"
    add_checkpoint(state.league, number, 5)
    second = load_population(state, number, first)
    assert second.population == population(5)
    assert (second.step, second.state) != (first.step, first.state)


def test_a_checkpoint_that_replaces_one_of_the_same_step_is_read(state: LeagueState) -> None:
    number = record(state.league, 3)
    first = load_population(state, number)
    add_checkpoint(state.league, number, 3, 12)
    assert load_population(state, number, first).population == population(3, 12)


def test_a_session_without_a_checkpoint_has_no_population_yet(state: LeagueState) -> None:
    number = record(state.league, 0)
    loaded = load_population(state, number)
    assert (loaded.state, loaded.population, loaded.error) == ("", None, "")
    with pytest.raises(NotNow, match="has no checkpoint yet"):
        read_population(state.training.sessions, state.training.sessions.session(number))


def test_the_state_of_a_trainer_without_a_population_is_not_read(state: LeagueState) -> None:
    sessions = SessionStore(state.league)
    number = sessions.add("Other", "neat", GAME, ()).number
    sessions.add_checkpoint(number, 1, b"anything", [BEST])
    with counted_queries(state.league) as queries:
        assert load_population(state, number).state == newest_state(sessions, number) == ""
    assert not [query for query in queries if "checkpoints" in query]
    with pytest.raises(NotNow, match="the trainer neat has no population"):
        read_population(sessions, sessions.session(number))


def test_a_foreign_state_is_an_error_in_a_sentence(state: LeagueState) -> None:
    number = record(state.league, 0)
    SessionStore(state.league).add_checkpoint(number, 4, b"\x00 of another program", [BEST])
    loaded = load_population(state, number)
    assert loaded.population is None
    assert loaded.error.startswith("the trainer breeding cannot read the population of its checkpoint 4: state = ")
    assert load_population(state, number, loaded) is loaded, "it is not tried again"


@pytest.mark.parametrize(
    ("returns", "text"),
    [
        (ZeroDivisionError("by design"), "ZeroDivisionError: by design"),
        (RecursionError(), "RecursionError"),
        (42, "population = 42: must be a Population"),
        (None, "the checkpoint 4 has no population yet"),
        (of(individual(1), individual(1)), "must be a number for each"),
        (of(individual(1, values=(1,))), "one for each of the 5 columns"),
        (of(individual(1, generation=0.5)), "generation = 0.5: must be a whole number"),
        (of(individual(10**30)), "must be a whole number"),
        (of("nobody"), "AttributeError"),  # type: ignore[arg-type]
    ],
)
def test_whatever_a_trainer_returns_is_no_traceback(
    state: LeagueState, returns: object, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = record(state.league, 0)
    SessionStore(state.league).add_checkpoint(number, 4, b"state", [BEST])
    monkeypatch.setattr(Odd, "returns", returns)
    with registered(Odd):
        loaded = load_population(state, number)
    assert loaded.population is None
    assert text in loaded.error
    assert "\n" not in loaded.error


def test_the_checkpoint_before_a_damaged_one_is_shown(state: LeagueState) -> None:
    number = record(state.league, 3)
    add_checkpoint(state.league, number, 5)
    damage(state, number, 4)
    loaded = load_population(state, number)
    assert loaded.population == population(3)
    assert "is damaged" in loaded.note
    assert loaded.note.endswith("the checkpoint before it is shown")
    damage(state, number, 2)
    loaded = load_population(state, number, LoadedPopulation(number))
    assert loaded.population is None
    assert "is damaged" in loaded.error


def damage(state: LeagueState, number: int, step: int) -> None:
    """Changes a byte of the state of a checkpoint."""
    with closing(sqlite3.connect(state.league.path)) as db, db:
        db.execute(
            "UPDATE payloads SET data = x'00' WHERE hash ="
            " (SELECT state FROM checkpoints WHERE session = ? AND step = ?)",
            (number, step),
        )


# What is shown


def test_the_columns_are_those_of_the_trainer_between_descent_and_status() -> None:
    columns = population_columns(population(), Reading.SHARE, "generation")
    assert [column.title for column in columns] == [
        *("#", "Accuracy", "Generation", "Parents"),
        *("Layers", "Parameters", "Activation", "Rate", "Dropout", "Status"),
    ]
    assert [column.title for column in columns if column.numbers] == [
        *("#", "Accuracy", "Generation", "Parameters", "Rate")
    ]
    shown = individual(1234, 0.97251, generation=1000, parents=(3, 17))
    assert [column.text(shown) for column in columns] == [
        *("1234", "97.3 %", "1,000", "3, 17", "8-8", "100", "relu", "0.001", "no", "Current")
    ]


@pytest.mark.parametrize(
    ("reading", "text"), [(Reading.SHARE, "97.3 %"), (Reading.SCORE, "0.9725"), (Reading.LOSS, "0.9725")]
)
def test_fitness_is_read_as_the_headline_of_the_trainer(reading: Reading, text: str) -> None:
    fitness = population_columns(of(), reading, "generation")[1]
    assert fitness.text(individual(1, 0.97251)) == text
    assert fitness.text(individual(1, None)) == ""
    three = (individual(1, 0.1), individual(2, 0.9), individual(3, None))
    best = [ranked.number for ranked in best_first(three, reading)]
    assert best == ([1, 2, 3] if reading is Reading.LOSS else [2, 1, 3])


def test_columns_with_equal_titles_have_different_names() -> None:
    titles = ("Layers", "Layers", "number", "", "member", "Layers (2)")
    columns = tuple(Column(title, "") for title in titles)
    found = dataclasses.replace(of(individual(1, values=(1, 2, 3, 4, 5, 6))), columns=columns)
    names = [column.name for column in population_columns(checked(found), Reading.SCORE, "generation")]
    assert len(set(names)) == len(names)
    assert "member" not in names, "files have a column of that name"


def test_values_of_any_type_can_be_sorted_together_and_unknown_ones_are_last() -> None:
    values = ("b10", "b9", 7, 2.5, True, None, math.nan, math.inf, 10**400, -3)
    some = checked(of(*(individual(n, values=(value, 0, "", 0.0, False)) for n, value in enumerate(values))))
    column = population_columns(some, Reading.SCORE, "generation")[4]
    found = [values[ranked.number] for ranked in in_order(some.individuals, column.key)]
    assert found[:7] == [-3, True, 2.5, 7, 10**400, "b9", "b10"]
    assert len(found) == 10
    backwards = [values[ranked.number] for ranked in in_order(some.individuals, column.key, True)]
    assert backwards[:7] == found[:7][::-1]
    assert backwards[7:] == found[7:]
    assert column.text(some.individuals[8]) == "very large"


def test_the_status_says_what_became_of_an_individual() -> None:
    assert status(individual(1), 1) == "Best, current"
    assert status(individual(1, member=False), 1) == "Best"
    assert status(individual(2), 1) == "Current"
    assert status(individual(2, member=False), 1) == ""
    assert status(individual(2, None, error="out of memory"), 1) == "Failed: out of memory"
    assert status(individual(2, None), 1) == "Not evaluated yet"


def test_what_cannot_be_shown_is_left_out() -> None:
    hostile = individual(
        2, math.inf, parents=(1, "x", 99), error="first\nsecond \x1b[31m\udcff", diagram=drawn_outside(),
        values=("\u202eevil", 1, "<b>", math.nan, None),
    )  # fmt: skip
    found = checked(of(hostile, individual(1), best=77))
    first, second = found.individuals
    assert (first.number, second.number, found.best) == (1, 2, None), "by number"
    assert (second.fitness, second.diagram, second.parents) == (None, None, (1, 99))
    assert second.error == "first second \N{REPLACEMENT CHARACTER}[31m\N{REPLACEMENT CHARACTER}"
    assert second.values == ("\N{REPLACEMENT CHARACTER}evil", 1, "<b>", None, None)
    assert checked(population()) == population(), "what is sound stays as it is"
    with pytest.raises(BadValue):
        checked(None)


def test_the_summary_counts_and_names_the_best() -> None:
    some = of(individual(1, 0.5), individual(2, None, error="failed"), individual(3, 0.75), best=3)
    assert summary(some, Reading.SHARE, "epoch") == ["epoch 0", "3 individuals", "1 failed", "best 75.0 % (#3)"]
    assert summary(of(individual(1, None)), Reading.SHARE, "generation") == ["generation 0", "1 individual"]


def test_the_file_has_every_value_best_first_and_no_formula(tmp_path: Path) -> None:
    some = of(
        individual(1, 0.25, values=("=HYPERLINK(1)", 1, "relu", 0.5, True)),
        individual(2, 0.75, parents=(1,), member=False),
        individual(3, None, error="broken"),
    )
    columns = population_columns(some, Reading.SHARE, "epoch")
    path = export_population(some, columns, Reading.SHARE, str(tmp_path / "a.csv"))
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["number"] for row in rows] == ["2", "1", "3"]
    assert rows[0] == {
        "number": "2", "fitness": "0.75", "generation": "0", "parents": "1", "Layers": "8-8", "Parameters": "100",
        "Activation": "relu", "Rate": "0.001", "Dropout": "False", "member": "False", "error": "",
    }  # fmt: skip
    assert rows[1]["Layers"] == "'=HYPERLINK(1)"
    assert (rows[2]["fitness"], rows[2]["error"]) == ("", "broken")


def test_errors_of_the_league_are_sentences(state: LeagueState) -> None:
    with pytest.raises(RingsideError, match="training session"):
        load_population(state, 99)


def test_ancestors_of_a_population_with_a_circle_end() -> None:
    some = checked(of(individual(1, parents=(2,)), individual(2, parents=(1,))))
    assert some.ancestors(1) == {1, 2}
    assert isinstance(some.individuals[0], Individual)
