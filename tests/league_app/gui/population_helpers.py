"""What tests of the Population tab read from it."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from league_app.core.changes import Change, ChangeKind
from league_app.gui.context import AppContext
from league_app.gui.training.page import TrainingPage
from league_app.gui.training.population import SessionPopulation
from league_app.gui.widgets.table.view import TableView
from tests.league_app.gui.training_helpers import page_of, until


def opened(context: AppContext, qtbot: QtBot) -> TrainingPage:
    """The Training page, with the Population tab in front."""
    page = page_of(context, qtbot)
    until(qtbot, lambda: page.tabs.isTabVisible(tab(page)))
    page.tabs.setCurrentIndex(tab(page))
    until(qtbot, lambda: page.population._view.population is not None and not context.read_queue.waiting)
    return page


def tab(page: TrainingPage) -> int:
    return page.stack.indexOf(page.population)


def refresh(context: AppContext, number: int) -> None:
    context.league.notices.add(Change(ChangeKind.TRAINING, number))


def table_of(own: SessionPopulation) -> TableView:
    assert own.rows.table is not None
    return own.rows.table


def numbers(own: SessionPopulation) -> list[int]:
    """Of the rows, in the order shown."""
    return [individual.number for individual in own.rows.model.rows]


def column(own: SessionPopulation, name: str) -> int:
    return [spec.name for spec in own.rows.model.columns].index(name)


def selected(own: SessionPopulation) -> tuple[list[int], int | None, str]:
    """What the three views show as selected."""
    return [row.number for row in table_of(own).selected_rows()], own.lineage.chosen, own.card.title.text()
