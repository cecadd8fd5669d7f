"""The table of a population for the window, the terminal and files: its columns, their texts and their order.

A population comes from a trainer, which may be a plug-in, and from a checkpoint, which may be from elsewhere: `checked`
makes sure that it can be shown.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agents.training.population import Column, Individual, Population
from agents.training.trainer import Reading
from engine.diagram import Diagram
from engine.errors import BadValue
from engine.options import Value
from league_app.core.export import csv_lines, write_lines
from league_app.core.formatting import natural_key, percent, plural

LONGEST = 2000  # characters of a text of the trainer
REPLACED = "\N{REPLACEMENT CHARACTER}"
NUMBER, FITNESS, STATUS = "number", "fitness", "status"  # names of columns
CURRENT = "Current generation"
OUTCOME = ("member", "error")  # columns of files, in place of the status
ROLES = ("input", "hidden", "output")


@dataclass(frozen=True)
class PopulationColumn:
    """A column of the table. `value` is what files contain, None if it is unknown."""

    name: str  # unique in its table
    title: str
    about: str
    numbers: bool  # it has only numbers
    value: Callable[[Individual], Any]
    text: Callable[[Individual], str]
    largest_first: bool = False

    def key(self, one: Individual) -> Any:
        """By what it is sorted, numbers before texts; None if the value is unknown."""
        value = self.value(one)
        if value is None or value == "":
            return None
        return (1, natural_key(value)) if isinstance(value, str) else (0, value)


def population_columns(population: Population, reading: Reading) -> tuple[PopulationColumn, ...]:
    """Number, fitness and descent, then what the trainer says of each individual, then what became of it."""
    best = population.best
    columns = [
        PopulationColumn(
            NUMBER,
            "#",
            "In the order in which they were made",
            True,
            lambda one: one.number,
            lambda one: str(one.number),
        ),
        PopulationColumn(
            FITNESS,
            population.fitness.title or "Fitness",
            population.fitness.about,
            True,
            lambda one: one.fitness,
            lambda one: fitness_text(one.fitness, reading),
            not reading.lower_is_better,
        ),
        PopulationColumn(
            "generation",
            "Generation",
            "The first generation that it was a member of",
            True,
            lambda one: one.generation,
            lambda one: f"{one.generation:,}",
            True,
        ),
        PopulationColumn(
            "parents",
            "Parents",
            "The individuals that it was made from",
            False,
            lambda one: ", ".join(map(str, one.parents)),
            lambda one: ", ".join(map(str, one.parents)),
        ),
    ]
    taken = {column.name for column in columns} | {STATUS, *OUTCOME}
    for place, declared in enumerate(population.columns):
        columns.append(_value_column(population, place, declared, taken))
    about = "Best: of all so far. Current: a member of the current generation. Or why it has no fitness"
    columns.append(
        PopulationColumn(STATUS, "Status", about, False, lambda one: status(one, best), lambda one: status(one, best))
    )
    return tuple(columns)


def _value_column(population: Population, place: int, declared: Column, taken: set[str]) -> PopulationColumn:
    name = declared.title or "value"
    while name in taken:
        name = f"{name} ({place + 1})"
    taken.add(name)
    known = [one.values[place] for one in population.individuals if one.values[place] is not None]
    numbers = bool(known) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in known)

    def value(one: Individual) -> Value | None:
        return one.values[place]

    def text(one: Individual) -> str:
        return value_text(one.values[place])

    return PopulationColumn(name, declared.title, declared.about, numbers, value, text)


def fitness_text(fitness: float | None, reading: Reading) -> str:
    if fitness is None:
        return ""
    return percent(fitness, 1) if reading is Reading.SHARE else f"{fitness:.4g}"


def value_text(value: Value | None) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) < 10**15 else f"{float(value):.4g}" if abs(value) < 10**300 else "very large"
    return f"{value:.4g}" if isinstance(value, float) else value


def status(one: Individual, best: int | None) -> str:
    """What became of an individual; empty for one of the past."""
    if one.error:
        return f"Failed: {one.error}"
    if one.fitness is None:
        return "Not evaluated yet" if one.member else "Not evaluated"
    return ", ".join(["best"] * (one.number == best) + ["current"] * one.member).capitalize()


def in_order(
    individuals: Sequence[Individual], key: Callable[[Individual], Any], largest_first: bool = False
) -> list[Individual]:
    """Sorted by this key; those without a value are last in both directions."""
    keys = {one.number: key(one) for one in individuals}
    known = [one for one in individuals if keys[one.number] is not None]
    known.sort(key=lambda one: keys[one.number], reverse=largest_first)
    return known + [one for one in individuals if keys[one.number] is None]


def best_first(individuals: Sequence[Individual], reading: Reading) -> list[Individual]:
    return in_order(individuals, lambda one: one.fitness, not reading.lower_is_better)


def summary(population: Population, reading: Reading) -> list[str]:
    """Where the search is, in parts of a sentence."""
    failed = sum(bool(one.error) for one in population.individuals)
    best = next((one for one in population.individuals if one.number == population.best), None)
    parts = [
        f"generation {population.generation:,}",
        plural(len(population.individuals), "individual"),
        f"{failed:,} failed" if failed else "",
        f"best {fitness_text(best.fitness, reading)} (#{best.number})" if best is not None else "",
    ]
    return [part for part in parts if part]


def file_columns(columns: Sequence[PopulationColumn]) -> list[str]:
    """The heading of a file."""
    return [*(column.name for column in columns if column.name != STATUS), *OUTCOME]


def file_rows(individuals: Sequence[Individual], columns: Sequence[PopulationColumn]) -> Iterator[dict[str, Any]]:
    """A row for each individual, by column."""
    for one in individuals:
        row = {column.name: column.value(one) for column in columns if column.name != STATUS}
        yield row | dict(zip(OUTCOME, (one.member, one.error), strict=True))


def export_population(population: Population, columns: Sequence[PopulationColumn], reading: Reading, path: str) -> Path:
    """Writes all individuals as CSV, best first. Replaces an existing file."""
    rows = file_rows(best_first(population.individuals, reading), columns)
    return write_lines(path, csv_lines(file_columns(columns), rows), overwrite=True)


# What a trainer returned


def checked(found: object) -> Population:
    """A population by number, whose texts, numbers and drawings can be shown; raises BadValue if it contradicts
    itself."""
    if not isinstance(found, Population):
        raise BadValue("population", found, "a Population")
    individuals = sorted((_checked_individual(one, len(found.columns)) for one in found.individuals), key=_number)
    numbers = {one.number for one in individuals}
    if len(numbers) != len(individuals):
        raise BadValue("individuals", f"{len(individuals)} with {len(numbers)} numbers", "a number for each")
    return dataclasses.replace(
        found,
        fitness=_clean_column(found.fitness),
        columns=tuple(map(_clean_column, found.columns)),
        individuals=tuple(individuals),
        best=found.best if found.best in numbers else None,
    )


def _number(one: Individual) -> int:
    return one.number


def _checked_individual(one: Individual, columns: int) -> Individual:
    for name, whole in (("number", one.number), ("generation", one.generation)):
        if type(whole) is not int or abs(whole) >= 2**53:
            raise BadValue(name, whole, "a whole number")
    if len(one.values) != columns:
        raise BadValue("values", one.values, f"one for each of the {columns} columns")
    fitness = one.fitness if one.fitness is not None and math.isfinite(one.fitness) else None
    return dataclasses.replace(
        one,
        parents=tuple(parent for parent in one.parents if type(parent) is int),
        fitness=fitness,
        values=tuple(map(_clean_value, one.values)),
        error=clean_text(one.error),
        diagram=one.diagram if one.diagram is not None and _drawable(one.diagram) else None,
    )


def _clean_column(column: Column) -> Column:
    return Column(clean_text(column.title), clean_text(column.about))


def _clean_value(value: Value | None) -> Value | None:
    if isinstance(value, bool | int) or value is None:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return clean_text(value)


def clean_text(text: object) -> str:
    """One line, without characters that cannot be shown."""
    line = " ".join(str(text)[: 2 * LONGEST].split())[:LONGEST]
    return line if line.isprintable() else "".join(letter if letter.isprintable() else REPLACED for letter in line)


def _drawable(diagram: Diagram) -> bool:
    points = [(node.x, node.y, node.role) for node in diagram.nodes]
    points += [(block.x, block.height, block.role) for block in diagram.blocks]
    inside = all(0 <= x <= 1 and 0 <= y <= 1 and role in ROLES for x, y, role in points)
    places = range(len(diagram.nodes))
    linked = all(link.source in places and link.target in places and abs(link.weight) <= 1 for link in diagram.links)
    return inside and linked and bool(points)
