"""The list of matches, newest first: filtered and sorted by the database, read a page at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QAction, QGuiApplication, QShowEvent
from PySide6.QtWidgets import QComboBox, QLineEdit, QMenu, QStackedWidget, QWidget

from engine.play.match import EndingKind, GameSpec
from league_app.core.formatting import plural
from league_app.core.queries import matches
from league_app.core.queries.matches import AgentLabel, MatchFilter, MatchRows, Row
from league_app.core.reproduce import save_replay
from league_app.core.state import LeagueState
from league_app.core.validation import game_info
from league_app.gui.context import AppContext
from league_app.gui.models.matches import PLAYERS, MatchModel
from league_app.gui.widgets.basics import Combo, EmptyState, button, column, label, row, tooltip_html
from league_app.gui.widgets.file_dialogs import save_file, suggest_name
from league_app.gui.widgets.new_rows_bar import NewRowsBar
from league_app.gui.widgets.players_delegate import PlayersDelegate
from league_app.gui.widgets.table.view import ROW_HEIGHT, TableView

REREAD = 2000  # most rows that an update reads again; longer lists are not updated
REPRODUCE = "Play the match again in a worker process and compare the results"
ENDINGS = (("", "All endings"), ("failed", "Failed only"), ("upset", "Upsets only"))


class MatchTable(TableView):
    """Paints the players, and keeps its scroll position."""

    def __init__(self, model: MatchModel, name: str, context: AppContext) -> None:
        super().__init__(model, name, context.settings)
        self.setItemDelegateForColumn(PLAYERS, PlayersDelegate(self))
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)

    def rowsInserted(self, parent: QModelIndex | QPersistentModelIndex, start: int, end: int) -> None:  # noqa: N802
        """Keep the visible rows in place when new ones come in above."""
        at = self.verticalScrollBar().value()
        super().rowsInserted(parent, start, end)
        if start == 0 and at > 0:
            self.updateGeometries()
            self.verticalScrollBar().setValue(at + (end - start + 1) * ROW_HEIGHT)


class FilterBox(Combo):
    """A combo box of fixed width; its first entry, `any_text`, sets no filter."""

    def __init__(self, name: str, any_text: str) -> None:
        super().__init__()
        self._any_text = any_text
        self._entries: list[tuple[Any, str]] = []
        self.setAccessibleName(name)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(7)
        self.setMaxVisibleItems(20)
        self.view().setTextElideMode(Qt.TextElideMode.ElideRight)
        self.view().setMinimumWidth(260)
        self.set_entries([])

    def set_entries(self, entries: Sequence[tuple[Any, str]]) -> None:
        """Set values and texts; keeps the chosen value, and adds it if it is missing."""
        if self.count() and list(entries) == self._entries:
            return
        self._entries = list(entries)
        chosen = self.chosen
        blocked = self.blockSignals(True)
        self.clear()
        self.addItem(self._any_text, None)
        for value, text in entries:
            self.addItem(text, value)
        self.choose(chosen)
        self.blockSignals(blocked)

    @property
    def chosen(self) -> Any:
        return self.currentData() if self.count() else None

    def choose(self, value: Any) -> None:
        at = self.findData(value) if value is not None else 0
        if at < 0:
            self.addItem(str(value), value)
            at = self.count() - 1
        self.setCurrentIndex(at)


class MatchesView(QWidget):
    """The table of matches with its filters and buttons."""

    counted = Signal(int)  # matches of the pool, without filters

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context = context
        self._saving = ""
        self._held = False  # the list is not updated since a run began, so that rows do not move
        self._total = 0  # matches at the last reading
        self.model = MatchModel(self)
        self.table = MatchTable(self.model, "matches", context)
        self._build_filters()
        self.count = label("", "caption")
        self.empty = EmptyState("search", "No matches for these filters.", "Show all matches", self.clear)
        self.new_rows = NewRowsBar("match")
        self.stack = QStackedWidget()
        self.stack.addWidget(self.table)
        self.stack.addWidget(self.empty)
        self.watch_button = button("Watch", self.watch, icon="play", tip="Enter or double-click")
        self.reproduce_button = button("Reproduce", self.reproduce, icon="replay", tip=REPRODUCE)
        self.reproducing = label("", "caption")
        self.save_button = button("Save replay...", self.save, icon="save")
        self.copy_button = button("Copy reference", self.copy, icon="copy")
        self._buttons = (self.watch_button, self.reproduce_button, self.save_button, self.copy_button)
        filters = row(self.field, self.agent, self.opponent, self.tournament, self.ending)
        for place, share in enumerate((4, 4, 4, 5, 4)):
            filters.setStretch(place, share)
        self.setLayout(column(filters, self.new_rows, self.stack, row(*self._buttons, self.reproducing, 1, self.count)))
        self.setContentsMargins(0, 8, 0, 12)
        self._connect_signals()
        self._enable()

    def _build_filters(self) -> None:
        self.field = QLineEdit()
        self.field.setPlaceholderText("Filter matches")
        self.field.setAccessibleName("Filter matches")
        self.field.setClearButtonEnabled(True)
        self.field.setMinimumWidth(110)
        self.agent = FilterBox("Agent", "Any agent")
        self.opponent = FilterBox("Opponent", "Any opponent")
        self.tournament = FilterBox("Tournament", "All tournaments")
        self.ending = FilterBox("Ending", ENDINGS[0][1])
        kinds = [(kind.value, matches.ending_text(kind.value).capitalize()) for kind in EndingKind]
        self.ending.set_entries([*ENDINGS[1:], *kinds])
        self._typing_timer = QTimer(self)
        self._typing_timer.setSingleShot(True)
        self._typing_timer.setInterval(150)

    def _connect_signals(self) -> None:
        self._typing_timer.timeout.connect(self.read)
        self.field.textChanged.connect(self._on_typed)
        for choice in (self.agent, self.opponent, self.tournament, self.ending):
            choice.currentIndexChanged.connect(self.read)
        self.model.order_changed.connect(self.read)
        self.model.more_needed.connect(self._read_next_page)
        self.new_rows.show_requested.connect(self.show_newest)
        self.table.chosen.connect(self._open)
        self.table.selectionModel().selectionChanged.connect(self._enable)
        self.model.modelReset.connect(self._enable)
        self._context.reproducer.changed.connect(self._show_reproducing)
        self.table.customContextMenuRequested.connect(self._menu)

    # Reading

    @property
    def query(self) -> MatchFilter:
        sort, descending = self.model.order
        return MatchFilter(
            self.agent.chosen or "",
            self.opponent.chosen or "",
            self.tournament.chosen or 0,
            self.ending.chosen or "",
            self.field.text(),
            sort,
            descending,
        )

    @Slot()
    def _on_typed(self) -> None:
        self._typing_timer.start()

    @Slot()
    def read(self) -> None:
        """Read the first page."""
        if self._context.state is not None and self._context.pool is not None:
            self.count.setText("Loading...")
            self._load(partial(load_matches, pool=self._context.pool, query=self.query))

    def refresh(self) -> None:
        """Show new matches, or only their number during a run: rows must not move under the mouse."""
        state, pool = self._context.state, self._context.pool
        self._held = self._held or (state is not None and state.running)
        used = self.table.selectionModel().hasSelection() or self.table.verticalScrollBar().value() > 0
        if state is not None and pool is not None and self.model.rows and self._held and (used or state.running):
            self._context.ask("history/new matches", partial(load_count, pool=pool, query=self.query), self._show_new)
        else:
            self._reread()

    def _reread(self) -> None:
        """Read as many rows as are shown, unless there are more than REREAD."""
        shown = len(self.model.rows)
        if self._context.state is None or self._context.pool is None:
            self._held = False
            self.model.add_result(MatchRows([], 0, {}, {}))
            self.new_rows.show_count(0, False)
        elif shown <= REREAD:
            limit = max(shown, matches.PAGE)
            self._load(partial(load_matches, pool=self._context.pool, query=self.query, limit=limit))

    def _show_new(self, counted: tuple[MatchFilter, int]) -> None:
        query, total = counted
        if query == self.query:
            running = self._context.state is not None and self._context.state.running
            self.new_rows.show_count(total - self._total, running)
            self._held = running or total > self._total

    @Slot()
    def show_newest(self) -> None:
        """Read the first page and scroll to the top."""
        self.table.scrollToTop()
        self.read()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Update when the view is opened: rows may move then."""
        super().showEvent(event)
        if not event.spontaneous():
            self._reread()

    @Slot()
    def _read_next_page(self) -> None:
        rows, pool = self.model.rows, self._context.pool
        if pool is not None and rows:
            self.count.setText("Loading more...")
            self._load(partial(load_matches, pool=pool, query=self.query, after=rows[-1], skip=len(rows)))

    def _load(self, load: Callable[[LeagueState], MatchRows]) -> None:
        self._context.ask("history/matches", load, self._show)

    def _show(self, found: MatchRows) -> None:
        scope = found.agents, found.tournaments
        self.model.add_result(found)
        if not found.more:
            self._total = self.model.total
            self._held = self._context.state is not None and self._context.state.running
            self.new_rows.show_count(0, self._held and bool(self.model.rows))
        self._fill_filters(*scope)
        self.stack.setCurrentWidget(self.table if self.model.rows or not self.query.filtered else self.empty)
        total = self.model.total
        self.count.setText(plural(total, "match"))
        if not self.query.filtered:
            self.counted.emit(total)

    def _fill_filters(self, people: Mapping[int, AgentLabel], tournaments: Mapping[int, str]) -> None:
        game = self._context.game
        agents = sorted(((agent.id, agent.name) for agent in people.values() if agent.game == game), key=_by_name)
        self.agent.set_entries(agents)
        self.opponent.set_entries(agents)
        self.tournament.set_entries(
            [(number, matches.tournament_label(number, tournaments[number])) for number in sorted(tournaments)[::-1]]
        )

    # Filters set by other pages

    def filter(self, agent: str = "", opponent: str = "", tournament: int = 0, ending: str = "") -> None:
        """Show only these matches."""
        self._set(agent or None, opponent or None, tournament or None, ending or None)

    @Slot()
    def clear(self) -> None:
        self._set(None, None, None, None)

    def _set(self, *values: Any) -> None:
        for choice, value in zip((self.agent, self.opponent, self.tournament, self.ending), values, strict=True):
            blocked = choice.blockSignals(True)
            choice.choose(value)
            choice.blockSignals(blocked)
        blocked = self.field.blockSignals(True)
        self.field.clear()
        self.field.blockSignals(blocked)
        self.read()

    # Commands

    def _picked(self) -> list[str]:
        return [matches.reference(row[0]) for row in self.table.selected_rows()]

    @Slot()
    def _enable(self) -> None:
        some = self.table.selectionModel().hasSelection()
        for shown in self._buttons:
            shown.setEnabled(some or (shown is self.reproduce_button and bool(self._context.reproducer.match)))

    @Slot(object)
    def _open(self, row: Row) -> None:
        self._context.navigate("match", matches.reference(row[0]))

    @Slot()
    def watch(self) -> None:
        for picked in self._picked()[:1]:
            self._context.navigate("match", picked)

    @Slot()
    def copy(self) -> None:
        QGuiApplication.clipboard().setText("\n".join(self._picked()))
        self._context.notify("Reference copied")

    @Slot()
    def reproduce(self) -> None:
        """Plays the selected match again, or ends the one that is being played."""
        if self._context.reproducer.match:
            self._context.reproducer.cancel()
            return
        for picked in self._picked()[:1]:
            self._context.reproducer.play(self._context.league, picked)

    @Slot()
    def _show_reproducing(self) -> None:
        match, shown = self._context.reproducer.match, self.reproduce_button
        shown.setText("Cancel" if match else "Reproduce")
        shown.set_icon("stop" if match else "replay")
        shown.setToolTip(tooltip_html(f"Stop playing {match} again" if match else REPRODUCE))
        self.reproducing.setText(f"Playing {match} again ..." if match else "")
        self._enable()

    def _notify(self, message: tuple[str, str]) -> None:
        self._context.notify(*message)

    @Slot()
    def save(self) -> None:
        picked = self._picked()
        if not picked:
            return
        self._saving = picked[0]
        info = game_info(self._context.pool) if self._context.pool is not None else None
        notations = info.notations if info is not None else ()
        filters = [
            "Replays (*.replay)",
            *(f"{notation.upper()}, for other programs (*.{notation})" for notation in notations),
        ]
        self._dialog = save_file(self, "Save replay", self.save_to, ";;".join(filters), f"{self._saving}.replay")
        self._dialog.filterSelected.connect(self._set_suffix)

    @Slot(str)
    def _set_suffix(self, filter: str) -> None:
        """Give the file the suffix of the chosen file type."""
        suffix = filter.rpartition("*.")[2].rstrip(")")
        suggest_name(self._dialog, f"{self._saving}.{suffix}")

    @Slot(str)
    def save_to(self, path: str) -> None:
        task = partial(
            save_replay, self._context.league, self._saving, Path(path), overwrite=True
        )  # the dialog has asked
        self._context.slow_queue.run(task, self._notify)

    @Slot(QPoint)
    def _menu(self, at: QPoint) -> None:
        if not self._picked():
            return
        menu = QMenu(self)
        for shown in self._buttons:
            action = QAction(shown.icon(), shown.text(), menu)
            action.triggered.connect(shown.click)
            menu.addAction(action)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(self.table.viewport().mapToGlobal(at))


def _by_name(item: tuple[str, str]) -> str:
    return item[1].casefold()


def load_matches(
    state: LeagueState,
    pool: GameSpec,
    query: MatchFilter,
    after: Row | None = None,
    skip: int = 0,
    limit: int = matches.PAGE,
) -> MatchRows:
    return matches.matches(state.league, pool, query, after, skip, limit)


def load_count(state: LeagueState, pool: GameSpec, query: MatchFilter) -> tuple[MatchFilter, int]:
    """Return the number of matches, with the query: the filters may have changed when the answer arrives."""
    return query, matches.count(state.league, pool, query)
