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

    def key(self, individual: Individual) -> Any:
        """By what it is sorted, numbers before texts; None if the value is unknown."""
        value = self.value(individual)
        if value is None or value == "":
            return None
        return (1, natural_key(value)) if isinstance(value, str) else (0, value)


def population_columns(population: Population, reading: Reading, unit: str) -> tuple[PopulationColumn, ...]:
    """Number, fitness and descent, then what the trainer says of each individual, then its status. `unit` is what the
    trainer calls a generation."""
    best = population.best
    columns = [
        PopulationColumn(
            NUMBER,
            "#",
            "Number, in the order of creation",
            True,
            lambda individual: individual.number,
            lambda individual: str(individual.number),
        ),
        PopulationColumn(
            FITNESS,
            population.fitness.title or "Fitness",
            population.fitness.about,
            True,
            lambda individual: individual.fitness,
            lambda individual: fitness_text(individual.fitness, reading),
            not reading.lower_is_better,
        ),
        PopulationColumn(
            "generation",
            unit.capitalize(),
            f"The first {unit} that it was a member of",
            True,
            lambda individual: individual.generation,
            lambda individual: f"{individual.generation:,}",
            True,
        ),
        PopulationColumn(
            "parents",
            "Parents",
            "The individuals that it was made from",
            False,
            lambda individual: ", ".join(map(str, individual.parents)),
            lambda individual: ", ".join(map(str, individual.parents)),
        ),
    ]
    taken = {column.name for column in columns} | {STATUS, *OUTCOME}
    for place, declared in enumerate(population.columns):
        columns.append(_value_column(population, place, declared, taken))
    about = f"Best: of all so far. Current: a member of the current {unit}. Or why it has no fitness"

    def text(individual: Individual) -> str:
        return status(individual, best)

    columns.append(PopulationColumn(STATUS, "Status", about, False, text, text))
    return tuple(columns)


def _value_column(population: Population, place: int, declared: Column, taken: set[str]) -> PopulationColumn:
    name = declared.title or "value"
    while name in taken:
        name = f"{name} ({place + 1})"
    taken.add(name)
    known = [individual.values[place] for individual in population.individuals if individual.values[place] is not None]
    numbers = bool(known) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in known)

    def value(individual: Individual) -> Value | None:
        return individual.values[place]

    def text(individual: Individual) -> str:
        return value_text(individual.values[place])

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


def status(individual: Individual, best: int | None) -> str:
    """The status of an individual; empty for one of the past."""
    if individual.error:
        return f"Failed: {individual.error}"
    if individual.fitness is None:
        return "Not evaluated yet" if individual.member else "Not evaluated"
    return ", ".join(["best"] * (individual.number == best) + ["current"] * individual.member).capitalize()


def in_order(
    individuals: Sequence[Individual], key: Callable[[Individual], Any], largest_first: bool = False
) -> list[Individual]:
    """Sorted by this key; those without a value are last in both directions."""
    keys = {individual.number: key(individual) for individual in individuals}
    known = [individual for individual in individuals if keys[individual.number] is not None]
    known.sort(key=lambda individual: keys[individual.number], reverse=largest_first)
    return known + [individual for individual in individuals if keys[individual.number] is None]


def best_first(individuals: Sequence[Individual], reading: Reading) -> list[Individual]:
    return in_order(individuals, lambda individual: individual.fitness, not reading.lower_is_better)


def summary(population: Population, reading: Reading, unit: str) -> list[str]:
    """Where the search is, in parts of a sentence."""
    failed = sum(bool(individual.error) for individual in population.individuals)
    best = next((individual for individual in population.individuals if individual.number == population.best), None)
    parts = [
        f"{unit} {population.generation:,}",
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
    for individual in individuals:
        row = {column.name: column.value(individual) for column in columns if column.name != STATUS}
        yield row | dict(zip(OUTCOME, (individual.member, individual.error), strict=True))


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
    individuals = sorted(
        (_checked_individual(individual, len(found.columns)) for individual in found.individuals), key=_number
    )
    numbers = {individual.number for individual in individuals}
    if len(numbers) != len(individuals):
        raise BadValue("individuals", f"{len(individuals)} with {len(numbers)} numbers", "a number for each")
    return dataclasses.replace(
        found,
        fitness=_clean_column(found.fitness),
        columns=tuple(map(_clean_column, found.columns)),
        individuals=tuple(individuals),
        best=found.best if found.best in numbers else None,
    )


def _number(individual: Individual) -> int:
    return individual.number


def _checked_individual(individual: Individual, columns: int) -> Individual:
    for name, whole in (("number", individual.number), ("generation", individual.generation)):
        if type(whole) is not int or abs(whole) >= 2**53:
            raise BadValue(name, whole, "a whole number")
    if len(individual.values) != columns:
        raise BadValue("values", individual.values, f"one for each of the {columns} columns")
    fitness = individual.fitness if individual.fitness is not None and math.isfinite(individual.fitness) else None
    return dataclasses.replace(
        individual,
        parents=tuple(parent for parent in individual.parents if type(parent) is int),
        fitness=fitness,
        values=tuple(map(_clean_value, individual.values)),
        error=clean_text(individual.error),
        diagram=individual.diagram if individual.diagram is not None and _drawable(individual.diagram) else None,
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
