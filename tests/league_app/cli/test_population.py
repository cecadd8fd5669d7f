"""`ringside train population`: the table of a search, its order and its width, as text and as JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from agents.training.population import Column, Population
from agents.training.trainer import Reading
from engine.league.storage.league import League
from engine.league.storage.sessions import SessionStore
from league_app.cli import output
from league_app.cli.main import main
from league_app.core.population import best_first
from tests.league_app.cli.commands import Capture, run_json, run_rejected, run_text
from tests.league_app.populations import GAME, individual, of, population, record, registered
from tests.league_app.test_hostile_names import ACCEPTED, REJECTED
from tests.plugins.breeding import Breeding


@pytest.fixture(autouse=True, scope="module")
def plugin() -> Iterator[None]:
    with registered():
        yield


@pytest.fixture
def league(tmp_path: Path) -> str:
    with League.new(tmp_path / "a.league") as league:
        record(league, 5)
    return str(tmp_path / "a.league")


def lines(capsys: Capture, *arguments: str) -> list[str]:
    main(list(arguments))
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def numbers(table: list[str]) -> list[int]:
    """The first cells of its rows."""
    firsts = [line.split()[0] for line in table if line.split()]
    return [int(first) for first in firsts if first.isdigit()]


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output.console, "width", 200)


def test_the_current_members_are_listed_best_first(league: str, capsys: Capture) -> None:
    expected = population(5)
    members = best_first([individual for individual in expected.individuals if individual.member], Reading.SHARE)
    shown = lines(capsys, "train", "population", league)
    assert shown[0].startswith(f"1: Architectures, generation 4, {len(expected.individuals)} individuals, ")
    assert shown[0].endswith(f"best {(members[0].fitness or 0) * 100:.1f} % (#{expected.best})")
    assert shown[1].split() == [
        *("#", "Accuracy", "Generation", "Parents", "Layers", "Parameters", "Activation", "Rate", "Dropout", "Status")
    ]
    assert numbers(shown[2:12]) == [individual.number for individual in members]
    assert "Best, current" in shown[2]
    assert f"{len(expected.individuals) - 10} individuals of earlier generations: --all shows them too" in shown[-1]


def test_generations_have_the_name_that_the_trainer_gives_its_steps(
    league: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Breeding, "unit", "batch")
    shown = lines(capsys, "train", "population", league)
    assert shown[0].startswith("1: Architectures, batch 4, ")
    assert shown[1].split()[:4] == ["#", "Accuracy", "Batch", "Parents"]
    assert "individuals of earlier batches: --all shows them too" in shown[-1]


def test_every_individual_is_listed_with_the_reasons_of_failures(league: str, capsys: Capture) -> None:
    expected = population(5).individuals
    shown = lines(capsys, "train", "population", league, "--all")
    failed = [individual for individual in expected if individual.error]
    assert failed
    assert sorted(numbers(shown[2 : 2 + len(expected)])) == [individual.number for individual in expected]
    last = numbers(shown[2 : 2 + len(expected)])[-len(failed) :]
    assert last == [individual.number for individual in failed], "without fitness"
    assert f"{failed[0].number} failed: loss is not finite after 12 steps: the learning rate is too high" in shown


@pytest.mark.parametrize("column", ["Parameters", "parameters", "generation", "#", "number", "parents", "Activation"])
def test_the_table_is_sorted_by_any_column(league: str, column: str, capsys: Capture) -> None:
    shown = run_json(capsys, "train", "population", league, "--all", "--sort", column)["individuals"]
    assert len(shown) == len(population(5).individuals)
    if column.casefold() == "parameters":
        values = [individual["values"]["Parameters"] for individual in shown]
        assert values == sorted(values)
    elif column == "generation":
        values = [individual["generation"] for individual in shown]
        assert values == sorted(values, reverse=True), "the newest first"
    elif column == "parents":
        values = [bool(individual["parents"]) for individual in shown]
        assert values == sorted(values, reverse=True)


def test_an_unknown_column_is_an_error_that_names_the_nearest(league: str, capsys: Capture) -> None:
    error = run_rejected(capsys, "train", "population", league, "--sort", "Paramters")
    assert "unknown column of the population 'Paramters': did you mean 'Parameters'?" in error


def test_json_has_all_values(league: str, capsys: Capture) -> None:
    found, expected = run_json(capsys, "train", "population", league, "Architectures"), population(5)
    assert (found["session"]["name"], found["step"], found["generation"]) == ("Architectures", 4, 4)
    assert (found["best"], found["fitness"]["title"], len(found["columns"])) == (expected.best, "Accuracy", 5)
    best = next(individual for individual in expected.individuals if individual.number == expected.best)
    first = found["individuals"][0]
    assert first["fitness"] == best.fitness
    assert first["parents"] == list(best.parents)
    assert list(first["values"].values()) == list(best.values)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_columns_are_left_out_before_numbers_are_cut(
    league: str, width: int, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output.console, "width", width)
    shown = lines(capsys, "train", "population", league, "--sort", "generation")
    table = shown[1:12]
    assert all(len(line) <= width for line in table)
    assert not any("\N{HORIZONTAL ELLIPSIS}" in line for line in table)
    assert all(word in table[0] for word in ("#", "Accuracy", "Generation", "Status"))
    assert any(line.startswith("not shown for lack of space: ") for line in shown) == (width < 120)


def test_a_session_without_population_or_checkpoint_is_a_sentence(league: str, tmp_path: Path, capsys: Capture) -> None:
    with League(league) as opened:
        record(opened, 0, name="Fresh")
        SessionStore(opened).add("Other", "ppo", GAME, ())
    assert "session 2 (Fresh) has no checkpoint yet" in run_rejected(capsys, "train", "population", league, "2")
    assert "session 3 (Other): the trainer ppo has no population" in run_rejected(capsys, "train", "population", league)
    assert "training session" in run_rejected(capsys, "train", "population", league, "9")
    main(["new", str(tmp_path / "empty.league")])
    capsys.readouterr()
    error = run_rejected(capsys, "train", "population", str(tmp_path / "empty.league"))
    assert "has no training session yet" in error


@dataclasses.dataclass(frozen=True)
class Hostile(Breeding):
    """Its texts come from elsewhere."""

    name: ClassVar[str] = "breeding"

    @classmethod
    def population_of(cls, state: bytes) -> Population | None:
        texts = [*ACCEPTED.values(), *(text for text in REJECTED.values() if text)]
        some = [
            individual(number, None, error=f"failed: {text}", values=(text, number, text, 0.1, True))
            for number, text in enumerate(texts, 1)
        ]
        columns = tuple(Column(title, title) for title in ("[red]Layers[/red]", "=1+1", "<b>", ">Rate", "\x1b[2J"))
        return dataclasses.replace(of(*some), columns=columns)


def test_hostile_texts_are_shown_as_they_are_or_replaced(league: str, capsys: Capture) -> None:
    with registered(Hostile):
        text = run_text(capsys, "train", "population", league)
        assert "[red]Layers[/red]" in text, "no markup"
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "[link=file:///etc]y[/link]" in text
        found = run_json(capsys, "train", "population", league)
        assert found["individuals"][0]["error"].startswith("failed: ")
