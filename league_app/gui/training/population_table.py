"""The table of a population: every individual, or the members of the newest one, sorted and filtered."""

from __future__ import annotations

from PySide6.QtCore import QItemSelectionModel, Qt, Signal, Slot

from agents.training.population import Individual
from league_app.core.population import FITNESS
from league_app.gui.models.population import PopulationView, table_columns
from league_app.gui.widgets.basics import Card, IconButton, clear
from league_app.gui.widgets.fields import ChoiceBox
from league_app.gui.widgets.settings_store import SettingsStore
from league_app.gui.widgets.table.model import TableModel
from league_app.gui.widgets.table.view import FilteredTable, TableView

MEMBERS = "training/members"  # a preference: only members are in the table
ASCENDING, DESCENDING = Qt.SortOrder.AscendingOrder, Qt.SortOrder.DescendingOrder


def _key(individual: Individual) -> int:
    return individual.number


class PopulationTable(Card):
    """Its columns are those that the trainer declares. `selected` is emitted with the number of the individual that the
    user has chosen; `changed` after other rows are shown."""

    selected = Signal(int)
    changed = Signal()
    export_wanted = Signal()

    def __init__(self, settings: SettingsStore) -> None:
        super().__init__(margin=8)
        self._settings, self._view = settings, PopulationView()
        self._signature: tuple[object, ...] = ()  # what the columns were made for
        self._filling = False
        self.model = TableModel((), _key, self)
        self.table: TableView | None = None
        self.filtered: FilteredTable | None = None
        self.members = ChoiceBox()
        self.members.setAccessibleName("Individuals in the table")
        self.members.addItems(["All", "Current"])
        self.members.setFixedSize(164, 30)
        self.members.setCurrentIndex(1 if settings.get(MEMBERS, False) else 0)
        self.members.edited.connect(self._on_members_changed)
        self.export = IconButton("export", "Export all individuals as CSV", self.export_wanted.emit, flat=False)
        for control in (self.members, self.export):
            control.setParent(self)
            control.hide()

    def show_view(self, view: PopulationView, trainer: str) -> None:
        """Shows this population; selection, order and place stay."""
        self._view = view
        self.members.setItemText(1, f"Current {view.unit}")
        columns = tuple((shown.name, shown.title, shown.about, shown.numbers) for shown in view.columns)
        if self.table is None or (trainer, columns) != self._signature:
            self._signature = trainer, columns
            self._make_table(trainer)
        self._fill()

    def _make_table(self, trainer: str) -> None:
        """A table with the columns of this trainer, sorted as before if it has that column."""
        place, order = self._sorting()
        self.model = TableModel(table_columns(self._view.columns, self._best), _key)
        table = TableView(self.model, f"Population of {trainer}", self._settings)
        self.model.setParent(table)
        table.sortByColumn(place, order)
        table.selected.connect(self._on_row_selected)
        for control in (self.members, self.export):
            control.setParent(self)  # not that of the table before, which is deleted
        clear(self.body)
        self.table = table
        self.filtered = FilteredTable(table, "Filter individuals", (self.members, self.export), "individual")
        for control in (self.members, self.export):
            control.show()
        self.body.addWidget(self.filtered)

    def _sorting(self) -> tuple[int, Qt.SortOrder]:
        """By the column of the table before, if it is there again; else best first."""
        names = [shown.name for shown in self._view.columns]
        if self.table is not None:
            header = self.table.horizontalHeader()
            section = header.sortIndicatorSection()
            if 0 <= section < len(self.model.columns) and self.model.columns[section].name in names:
                return names.index(self.model.columns[section].name), header.sortIndicatorOrder()
        place = names.index(FITNESS)
        return place, DESCENDING if self._view.columns[place].largest_first else ASCENDING

    def _best(self) -> int | None:
        return self._view.population.best if self._view.population is not None else None

    def _fill(self) -> None:
        population = self._view.population
        if population is not None:
            only = self.members.currentIndex() == 1
            self._filling = True
            self.model.set_rows([individual for individual in population.individuals if individual.member or not only])
            self._filling = False

    def select(self, number: int, scroll: bool = False) -> None:
        """Selects the row of this individual, or none if it is not among the rows; emits nothing."""
        table = self.table
        if table is None or [individual.number for individual in table.selected_rows()] == [number]:
            return
        place = next((place for place, individual in enumerate(self.model.rows) if individual.number == number), None)
        flags, bar = QItemSelectionModel.SelectionFlag, table.verticalScrollBar()
        before = bar.value()
        self._filling = True
        if place is None:
            table.clearSelection()
        else:
            index = self.model.index(place, 0)
            table.selectionModel().setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)
            if scroll:
                table.scrollTo(index)
            else:
                bar.setValue(before)
        self._filling = False

    @Slot(object)
    def _on_row_selected(self, individual: object) -> None:
        if isinstance(individual, Individual) and not self._filling:
            self.selected.emit(individual.number)

    @Slot()
    def _on_members_changed(self) -> None:
        self._settings.set(MEMBERS, self.members.currentIndex() == 1)
        self._fill()
        self.changed.emit()
