"""The Population tab of a training session: its individuals as a table, a lineage and a drawing."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QGridLayout, QStackedWidget, QWidget

from league_app.core.formatting import plural_of
from league_app.core.population import best_first, export_population, summary
from league_app.core.queries.population import LoadedPopulation
from league_app.core.queries.sessions import SessionSummary
from league_app.gui.context import AppContext
from league_app.gui.models.population import PopulationView, load_view
from league_app.gui.training.individual import IndividualCard
from league_app.gui.training.population_table import PopulationTable
from league_app.gui.widgets.basics import Card, ElidedLabel, EmptyState, column, label, row, scroll_area
from league_app.gui.widgets.file_dialogs import save_file
from league_app.gui.widgets.lineage.dots import Lineage
from league_app.gui.widgets.lineage.lineage import LineageWidget

LOADING = "Loading the population..."
EMPTY = "No population yet. It appears with the first checkpoint."
UNLIMITED = 16_777_215  # pixels: Qt's own limit
WIDE = 760  # pixels: a wider tab has the individual beside the table
CARD_WIDTH = 272
LINEAGE, TABLE = 220, 280  # pixels: height of the lineage in a narrow tab, which scrolls, and least one of the table
LEAST = 180  # pixels: height of the parts of a wide tab


class SessionPopulation(QWidget):
    """Reads the population of the selected session at each new checkpoint while it is visible."""

    found = Signal(bool)  # whether the session has a population

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context = context
        self._session: SessionSummary | None = None
        self._view, self._waiting = PopulationView(), False
        self._chosen: int | None = None  # the number of the individual that the user has chosen, else the best is shown
        self.summary, self.note = ElidedLabel("", "caption"), ElidedLabel("", "caption")
        self.lineage = LineageWidget("Lineage", EMPTY, "current")
        self.lineage.selected.connect(self.choose)
        self.card = IndividualCard()
        self.rows = PopulationTable(context.settings)
        self.rows.selected.connect(self._on_row_selected)
        self.rows.changed.connect(self._show_individual)
        self.rows.export_wanted.connect(self.choose_file)
        self.empty = EmptyState("dna", EMPTY)
        self._wide: bool | None = None
        self._card_height = 0
        self._build()
        context.opened.connect(self._on_league_opened)

    def _build(self) -> None:
        self.picture = Card(margin=4)
        self.picture.body.setSpacing(0)
        self.orientation = label("", "caption")
        heading = row(self.summary, self.orientation)
        heading.setStretch(0, 1)
        heading.setContentsMargins(12, 6, 12, 0)
        self.picture.body.addLayout(heading)
        self.picture.body.addWidget(self.lineage)
        inner = QWidget()
        self._places = QGridLayout(inner)
        self._places.setContentsMargins(0, 0, 0, 0)
        self._places.setSpacing(8)
        self.area = scroll_area(inner)
        self.stack = QStackedWidget()
        self.stack.addWidget(self.empty)
        self.stack.addWidget(self.area)
        self.note.hide()
        self.setLayout(column(self.note, self.stack, gap=4))
        self._arrange(False)

    def _arrange(self, wide: bool) -> None:
        """Lineage above the table and the individual beside both, or one below the other."""
        if wide == self._wide:
            return
        self._wide = wide
        self.orientation.setVisible(wide)
        for part in (self.picture, self.card, self.rows):
            self._places.removeWidget(part)
        self._places.addWidget(self.picture, 0, 0)
        self._places.addWidget(self.card, 0 if wide else 1, 1 if wide else 0, 2 if wide else 1, 1)
        self._places.addWidget(self.rows, 1 if wide else 2, 0)
        self.card.setMinimumWidth(CARD_WIDTH if wide else 0)
        self.card.setMaximumWidth(CARD_WIDTH if wide else UNLIMITED)
        for place, stretch in enumerate((4, 5, 0) if wide else (0, 0, 1)):
            self._places.setRowStretch(place, stretch)
        self._places.setColumnStretch(0, 1)
        self._set_heights()

    def _set_heights(self) -> None:
        """A wide tab shows everything; a narrow one scrolls, and its table is as high as the tab."""
        wide, table = self._wide, max(self.stack.height() - 2, TABLE)
        self._card_height = max(self._card_height, self.card.needed_height)  # the table stays where it is
        heights = ((self.picture, LINEAGE), (self.card, self._card_height), (self.rows, table))
        for part, height in heights:
            part.setMinimumHeight(LEAST if wide else height)
            part.setMaximumHeight(UNLIMITED if wide else height)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        self._arrange(event.size().width() >= WIDE)
        self._set_heights()

    @Slot()
    def _on_league_opened(self) -> None:
        self._session, self._waiting, self._chosen = None, False, None
        self._show(PopulationView())
        self.found.emit(False)

    # Loading

    def show_session(self, session: SessionSummary) -> None:
        """Shows this session, with what is new."""
        changed = self._session is None or self._session.number != session.number
        self._session = session
        if changed:
            self._chosen, self._card_height = None, 0
            self._show(PopulationView(LoadedPopulation(session.number), session.facts.has_population))
            self.lineage.show_all()
        self._load()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        super().showEvent(event)
        self._load()

    def _load(self) -> None:
        """Asks one query at a time: a newer one would discard the answer to the one before."""
        session, view = self._session, self._view
        if session is None or self._context.state is None or self._waiting:
            return
        if not session.facts.has_population:
            self.found.emit(False)
            return
        self._waiting = True
        query = partial(load_view, view, self.isVisible(), session.facts.reading, session.facts.unit)
        self._context.read_queue.submit(
            "training/population", partial(query, self._context.state), self._on_loaded, self._on_failed
        )

    def _on_failed(self, error: Exception) -> None:
        self._waiting = False
        self._context.failed.emit(error)

    def _on_loaded(self, view: object) -> None:
        assert isinstance(view, PopulationView)
        self._waiting = False
        if self._session is None or view.loaded.session != self._session.number:
            self._load()
            return
        if view is not self._view:
            self._show(view)
        self.found.emit(view.found)

    # Display

    @property
    def number(self) -> int | None:
        """The number of the individual that is shown: the chosen one, or else the best."""
        population = self._view.population
        if population is None or not population.individuals:
            return None
        if self._chosen in self._view.lineage.places:
            return self._chosen
        return (
            population.best
            if population.best is not None
            else best_first(population.individuals, self._view.reading)[0].number
        )

    def _show(self, view: PopulationView) -> None:
        self._view, population, loaded = view, view.population, view.loaded
        self.empty.sentence.setText(loaded.error or (LOADING if view.found and population is None else EMPTY))
        shown = population is not None and bool(population.individuals)
        self.stack.setCurrentIndex(1 if shown else 0)
        self.note.setText(loaded.note)
        self.note.setVisible(bool(loaded.note))
        self.lineage.set_lineage(view.lineage if shown else Lineage())
        if shown and self._session is not None:
            self.orientation.setText(f"{plural_of(view.unit).capitalize()} from left to right, the best at the top")
            texts = summary(population, view.reading, view.unit) if population is not None else []
            self.summary.setText(" \u00b7 ".join(texts).capitalize())
            self.rows.show_view(view, self._session.session.trainer)
            self._show_individual()

    @Slot()
    def _show_individual(self, scroll: bool = False) -> None:
        """Shows the chosen individual, or else the best, in all three views."""
        number, population = self.number, self._view.population
        if number is None or population is None:
            return
        self.lineage.choose(number)
        individual = population.individuals[self._view.lineage.places[number]]
        self.card.show_individual(individual, self._view.columns, number == population.best)
        self._set_heights()
        self.rows.select(number, scroll)

    # Choosing

    @Slot(int)
    def choose(self, number: int) -> None:
        """Shows this individual from now on."""
        self._chosen = number
        self._show_individual(scroll=True)

    @Slot(int)
    def _on_row_selected(self, number: int) -> None:
        self._chosen = number
        self._show_individual()

    # Export

    @Slot()
    def choose_file(self) -> None:
        name = f"session-{self._view.loaded.session}-population.csv"
        save_file(self, "Export the population as CSV", self.save, "CSV files (*.csv)", name)

    @Slot(str)
    def save(self, path: str) -> None:
        view = self._view
        if view.population is not None:
            task = partial(export_population, view.population, view.columns, view.reading, path)
            self._context.slow_queue.run(task, self._on_saved)

    def _on_saved(self, path: object) -> None:
        assert isinstance(path, Path)
        self._context.notify(f"Saved {path.name}", "good")
