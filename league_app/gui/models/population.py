"""A population for the window: loaded in a background thread, shown by the columns and the lineage defined here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agents.training.population import Individual, Population
from agents.training.trainer import Reading
from league_app.core.population import FITNESS, NUMBER, STATUS, PopulationColumn, fitness_text, population_columns
from league_app.core.queries.population import LoadedPopulation, load_population, newest_state
from league_app.core.state import LeagueState
from league_app.gui.garbage_collection import gc_paused
from league_app.gui.widgets.lineage.dots import Lineage, LineageDot
from league_app.gui.widgets.table.delegates import MarkedCell
from league_app.gui.widgets.table.model import TableColumn

TEXT_WIDTH, VALUE_WIDTH = 90, 150  # pixels: least width of a column of texts, and of those of the trainer
DESCRIBED = (FITNESS, "generation", "parents", STATUS)  # columns, in the box beside a dot


@dataclass(frozen=True, eq=False)
class PopulationView:
    """Everything that the tab shows."""

    loaded: LoadedPopulation = LoadedPopulation(0)  # noqa: RUF009 - frozen
    found: bool = False  # there is a checkpoint of a trainer with a population
    reading: Reading = Reading.SCORE
    unit: str = "generation"  # what the trainer calls a generation
    columns: tuple[PopulationColumn, ...] = ()
    lineage: Lineage = Lineage()  # noqa: RUF009 - it never changes

    @property
    def population(self) -> Population | None:
        return self.loaded.population


def load_view(known: PopulationView, shown: bool, reading: Reading, unit: str, state: LeagueState) -> PopulationView:
    """Reads the population, if it is shown; returns `known` if there is nothing new."""
    session = known.loaded.session
    if not shown:
        found = bool(newest_state(state.training.sessions, session))
        return known if found == known.found else PopulationView(LoadedPopulation(session), found)
    with gc_paused:
        loaded = load_population(state, session, known.loaded)
        if loaded is known.loaded:
            return known
        population = loaded.population
        if population is None:
            return PopulationView(loaded, bool(loaded.state))
        columns = population_columns(population, reading, unit)
        return PopulationView(loaded, True, reading, unit, columns, lineage_of(population, columns, reading))


def table_columns(columns: Sequence[PopulationColumn], best: Callable[[], int | None]) -> tuple[TableColumn, ...]:
    """`best` returns the number of the best one."""
    return tuple(_column(column, best) for column in columns)


def _column(column: PopulationColumn, best: Callable[[], int | None]) -> TableColumn:
    marked = column.name in (NUMBER, FITNESS, STATUS)

    def value(individual: Individual) -> MarkedCell:
        return _marked(column, individual, individual.number == best())

    return TableColumn(
        column.name,
        column.title,
        column.text,
        column.key,
        column.numbers,
        column.about,
        "marked" if marked else "",
        value if marked else None,
        column.text if not column.numbers else None,
        min_width=0 if column.numbers else TEXT_WIDTH if column.name in ("parents", STATUS) else VALUE_WIDTH,
        grow=0 if column.numbers else 2 if column.name == STATUS else 1,
        descending=column.largest_first,
    )


def _marked(column: PopulationColumn, individual: Individual, best: bool) -> MarkedCell:
    text, failed = column.text(individual), bool(individual.error)
    if column.name == FITNESS and failed:
        return MarkedCell("failed", "failure", "bad", right=True)
    if column.name == NUMBER:
        return MarkedCell(text, "crown" if best else "", bold=best, right=True)
    tone = "bad" if failed and column.name == STATUS else "text"
    return MarkedCell(text, tone=tone, bold=best, right=column.numbers)


def lineage_of(population: Population, columns: Sequence[PopulationColumn], reading: Reading) -> Lineage:
    """Generations from left to right."""
    sign = -1.0 if reading.lower_is_better else 1.0
    dots = [
        LineageDot(
            individual.number,
            individual.generation,
            individual.parents,
            individual.fitness * sign if individual.fitness is not None else None,
            individual.member,
            bool(individual.error),
        )
        for individual in population.individuals
    ]
    individuals = {individual.number: individual for individual in population.individuals}
    shown = [column for column in columns if column.name in DESCRIBED]

    def describe(number: int) -> tuple[tuple[str, str], ...]:
        individual = individuals[number]
        return tuple((column.title, column.text(individual)) for column in shown)

    return Lineage(dots, population.best, describe, lambda value: fitness_text(value * sign, reading))
