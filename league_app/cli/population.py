"""The command `train population`: the individuals of a training session, best first."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len
from rich.console import JustifyMethod
from rich.table import Table

from agents.training.population import Column, Individual, Population
from engine.errors import UnknownName
from engine.league.storage.session_rows import Session
from engine.league.storage.sessions import SessionStore
from league_app.cli.common import command, open_read_only
from league_app.cli.output import CommandResult, console, plain, plural, print_line, safe_text, table
from league_app.core.formatting import plural_of, shorten
from league_app.core.population import (
    FITNESS,
    NUMBER,
    STATUS,
    PopulationColumn,
    best_first,
    in_order,
    population_columns,
    summary,
)
from league_app.core.queries.population import read_population
from league_app.core.trainers import trainer_facts

LONGEST, MAX_ERRORS = 60, 10  # characters of a cell, errors below the table; `--json` has all of them


@dataclass(frozen=True)
class PopulationReport:
    """What `--json` prints."""

    session: Session
    step: int  # of the checkpoint
    generation: int
    fitness: Column
    columns: tuple[Column, ...]
    best: int | None
    individuals: list[dict[str, Any]]


def add(under: Any, add_session_arguments: Any) -> None:
    parser = command(
        under,
        "population",
        "show the population of a session, best first: its current members, or every individual so far",
        show,
        ["train population my.league", "train population my.league 3 --all --sort Parameters"],
    )
    add_session_arguments(parser)
    parser.add_argument("--all", action="store_true", help="every individual so far")
    parser.add_argument("--sort", metavar="COLUMN", help="sort by this column of the table, such as fitness")


def show(options: argparse.Namespace) -> CommandResult:
    with open_read_only(options.league) as league:
        sessions = SessionStore(league)
        session = sessions.session(options.session)
        step, population, note = read_population(sessions, session)
    facts = trainer_facts(session.trainer)
    reading = facts.reading
    columns = population_columns(population, reading, facts.unit)
    found = population.individuals
    shown = best_first([individual for individual in found if individual.member or options.all], reading)
    order = find_column(columns, options.sort if options.sort is not None else FITNESS)
    if options.sort is not None:
        shown = in_order(shown, order.key, order.largest_first)
    report = PopulationReport(
        session,
        step,
        population.generation,
        population.fitness,
        population.columns,
        population.best,
        [individual_data(individual, population) for individual in shown],
    )

    def show_table() -> None:
        if note:
            print_line(note, "yellow")
        print_line(f"{session.number}: {session.name}, {', '.join(summary(population, reading, facts.unit))}")
        visible = fitting(shown, columns, order.name, console.width + 2)
        console.print(table_of(shown, visible, population.best))
        for failed in [individual for individual in shown if individual.error][:MAX_ERRORS]:
            print_line(f"{failed.number} failed: {failed.error}", "red")
        left_out = [column.title for column in columns if column not in visible]
        if left_out:
            print_line(f"not shown for lack of space: {', '.join(left_out)}; --json has them", "dim")
        hidden = len(population.individuals) - len(shown)
        if hidden:
            earlier = plural_of(facts.unit)
            print_line(f"{plural(hidden, 'individual')} of earlier {earlier}: --all shows them too", "dim")

    return CommandResult(report, show_table)


def find_column(columns: Sequence[PopulationColumn], name: str) -> PopulationColumn:
    """By title or name, in any case."""
    wanted = name.casefold()
    for column in columns:
        if wanted in (column.title.casefold(), column.name.casefold()):
            return column
    titles = [column.title if column.name != NUMBER else NUMBER for column in columns if column.name != STATUS]
    raise UnknownName("column of the population", name, titles)


def individual_data(individual: Individual, population: Population) -> dict[str, Any]:
    names = [column.title for column in population.columns]
    return {
        "number": individual.number,
        "generation": individual.generation,
        "parents": individual.parents,
        "fitness": individual.fitness,
        "member": individual.member,
        "error": individual.error,
        "values": dict(zip(names, individual.values, strict=True)),
    }


def cell(individual: Individual, column: PopulationColumn) -> str:
    text = "Failed" if individual.error and column.name == STATUS else column.text(individual)
    return shorten(text, LONGEST) or "-"


def fitting(
    individuals: Sequence[Individual], columns: Sequence[PopulationColumn], first: str, room: int
) -> list[PopulationColumn]:
    """The columns that fit into this many characters. Number, fitness, the column `first` and the status come before
    the others."""
    kept, left = set[str](), room
    ahead = (NUMBER, FITNESS, first, STATUS)
    for column in sorted(columns, key=lambda column: ahead.index(column.name) if column.name in ahead else len(ahead)):
        texts = [column.title, *(cell(individual, column) for individual in individuals)]
        width = max(cell_len(plain(text)) for text in texts) + 2
        if width <= left or column.name in ahead:
            kept.add(column.name)
            left -= width
    return [column for column in columns if column.name in kept]


def table_of(individuals: Sequence[Individual], columns: Sequence[PopulationColumn], best: int | None) -> Table:
    shown = table()
    for column in columns:  # titles come from the trainer: they are no markup
        side: JustifyMethod = "right" if column.numbers else "left"
        shown.add_column(safe_text(column.title), justify=side, no_wrap=True)
    for individual in individuals:
        style = "bold" if individual.number == best else "red" if individual.error else ""
        shown.add_row(*(safe_text(cell(individual, column), style) for column in columns))
    return shown
