"""The Standings page: ratings with their intervals, crosstable and likelihood of superiority."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, Slot
from PySide6.QtWidgets import QBoxLayout, QComboBox, QStackedWidget, QTabBar, QWidget

from engine.play.match import GameSpec
from league_app.core.formatting import plural
from league_app.core.state import LeagueState
from league_app.gui.context import AppContext
from league_app.gui.models.standings import (
    RankChanges,
    StandingsRow,
    StandingsView,
    columns,
    key,
    load_standings,
    load_table,
    longest_points,
)
from league_app.gui.page import PERIOD, Page
from league_app.gui.widgets.basics import (
    Card,
    Combo,
    EmptyState,
    IconButton,
    breakable,
    column,
    label,
    row,
    tooltip_html,
)
from league_app.gui.widgets.crosstable import Crosstable
from league_app.gui.widgets.file_dialogs import save_file
from league_app.gui.widgets.heatmap import Heatmap, Legend
from league_app.gui.widgets.table.model import TableModel
from league_app.gui.widgets.table.row_animation import RowAnimation
from league_app.gui.widgets.table.view import FilteredTable, TableView

TABS = ("Table", "Crosstable", "Superiority")
ALL = "All matches of this game"
NONE_YET = "No matches yet. Run a tournament to rate the agents."
PATIENCE = 3  # the pause after a query, as a multiple of the time it took


class StandingsPage(Page):
    """`show_item` takes the number of a tournament, or None for all matches of the game."""

    guide = "ratings"
    title = "Standings"
    icon = "standings"
    watches = frozenset({"matches", "tournaments", "agents"})

    def __init__(self, context: AppContext) -> None:
        super().__init__(context)
        self._scope, self._pool, self._anchor = 0, context.pool, ""
        self._league = context.state  # the league of these standings
        self._loading = self._reload = False
        self._shown_scope: tuple[GameSpec | None, int] | None = None
        self.view: StandingsView | None = None
        self.movements = RankChanges()
        self._fading = QTimer(self)
        self._fading.setInterval(1000)
        self._fading.timeout.connect(self._fade)
        self._make_parts()
        self._lay_out()
        context.opened.connect(self._reset_for_league)
        self._show_state()

    # Parts

    def _make_parts(self) -> None:
        context = self.context
        self.model = TableModel(columns(self.movements), key, self)
        self.table = TableView(self.model, "Standings", context.settings)
        self.table.chosen.connect(self._open_agent)
        self.sliding = RowAnimation(self.table, context.settings)
        self.crosstable, self.heatmap = Crosstable(), Heatmap()
        self.crosstable.chosen.connect(self._open_games)
        self.heatmap.chosen.connect(self._open_games)
        self.scope = _combo("Matches that count", 20)
        self.scope.addItem(ALL, 0)
        self.scope.activated.connect(self._pick_scope)
        self.anchor = _combo("Rating anchor", 14)
        self.anchor.setToolTip(tooltip_html("Ratings are relative: fix their mean or one agent at 1200"))
        self.anchor.activated.connect(self._pick_anchor)
        self.export = IconButton("export", "Export as CSV", self._choose_file)
        self.tabs = QTabBar()
        self.tabs.setDrawBase(False)
        self.tabs.setExpanding(False)
        self.tabs.setUsesScrollButtons(False)
        self.tabs.setAccessibleName("Views of the standings")
        for name in TABS:
            self.tabs.addTab(name)
        self.facts = label("", "caption", wrap=True)
        self.notes = label("", "caption", tone="warn", wrap=True)

    def _lay_out(self) -> None:
        self.filtered = FilteredTable(self.table, "Filter agents", (self.anchor, self.export), "agent")
        self.filtered.top.setContentsMargins(8, 8, 8, 0)
        self.legend = Legend()
        self.views = QStackedWidget()
        for part in (
            _page(self.filtered),
            _page(self.crosstable),
            _page(self.heatmap, row(self.legend, 1, margin=8)),
        ):
            self.views.addWidget(part)
        self.tabs.currentChanged.connect(self._pick_tab)
        card = Card(margin=0)
        card.body.setContentsMargins(1, 1, 1, 4)
        card.body.addWidget(self.views)
        shown = QWidget()
        shown.setLayout(column(card, column(self.facts, self.notes, gap=4)))
        self.empty = EmptyState("standings", NONE_YET, "Run a tournament", self._run)
        self.nothing = QWidget()
        self.stack = QStackedWidget()
        self.stack.addWidget(shown)
        self.stack.addWidget(self.empty)
        self.stack.addWidget(self.nothing)
        self.bar = QWidget()
        self.bar.setLayout(row(self.tabs, 1, self.scope))
        self.setLayout(column(self.bar, self.stack, margin=12))
        tab = self.context.settings.get("standings/tab", 0)
        self.tabs.setCurrentIndex(tab if 0 <= tab < len(TABS) else 0)

    # Loading

    def show_item(self, what: object) -> None:
        state = self.context.state
        number = what if isinstance(what, int) else 0
        if state is None:
            return
        if number:
            tournament = self.context.attempt(partial(state.league.tournament, number))
            if tournament is None:
                return
            self._pool = tournament.settings.game
            self._scope = number
            self.context.select_pool(tournament.settings.game)
        else:
            self._scope = 0
        self._refresh_all()

    @Slot()
    def _reset_for_league(self) -> None:
        """Forget what is shown if another league was opened, or it was closed."""
        if self.context.state is self._league:
            return
        self._league = self.context.state
        self._shown_scope, self.view, self._scope, self._anchor = None, None, 0, ""
        self._loading = self._reload = False
        self._show_state()

    def refresh(self) -> None:
        self._reset_for_league()
        pool = self.context.pool
        if pool != self._pool:
            self._pool, self._scope, self._anchor = pool, 0, ""
        if self.context.state is None or pool is None:
            self.view = None
            self._show_state()
            return
        if self._loading and self._shown_scope == (pool, self._scope):
            self._reload = True  # one query at a time: it may take long in a large league
            return
        self._loading, self._reload = True, False
        if self.view is None:
            self._show_state()  # whether there are matches is not known yet
        load = partial(load_standings, self.context.league, pool, self._scope, self._anchor or None)
        self.context.read_queue.submit("standings", load, self._show, self._on_load_failed)

    def _on_load_failed(self, error: Exception) -> None:
        self._loading = self._reload = False
        self.context.failed.emit(error)

    def _show(self, view: StandingsView) -> None:
        self._loading = False
        self.view, self._scope, self._anchor = view, view.scope, view.anchor or ""
        scope = self._pool, view.scope
        self.movements.update(view.rows, scope != self._shown_scope)
        self._shown_scope = scope
        if self.movements.active:
            self._fading.start()
        self._fill_scopes(view)
        self._fill_anchors(view)
        self._fill_tab()
        self._show_state()
        if self._reload:
            self._reload, self._stale = False, True
            self._refresh_timer.setInterval(max(PERIOD, int(view.seconds * 1000 * PATIENCE)))
            self._refresh_timer.start()

    # Showing

    def _show_state(self) -> None:
        """Show the table, or why there is none."""
        view = self.view
        can_play = self.context.state is not None and not self.context.league.league.read_only
        self.empty.button.setEnabled(can_play)
        self.empty.button.setToolTip("" if can_play else tooltip_html("This league is open read-only."))
        self.bar.setVisible(view is not None and bool(view.scopes))
        if view is None:
            waiting = self.context.state is not None and self.context.pool is not None and self._loading
            self.stack.setCurrentWidget(self.nothing if waiting else self.empty)
            return
        self.stack.setCurrentIndex(0 if view.matches else 1)
        self.facts.setText(f"{plural(view.matches, 'match')}. {view.model.replace('+-', '±')}.")
        self.notes.setText(breakable("\n".join(f"{note[:1].upper()}{note[1:]}." for note in view.notes)))
        self.notes.setVisible(bool(view.notes))

    def _fill_tab(self) -> None:
        """Fill the visible tab; the others are filled when they are opened."""
        view, tab = self.view, self.tabs.currentIndex()
        if view is None:
            return
        if tab == 0:
            self.model.set_rows(view.rows)
            self.table.resize_on_change((self._pool, longest_points(view.rows)))
        elif tab == 1:
            self.crosstable.cells.set_data(view.crosstable)
        else:
            self.heatmap.cells.set_values(view.crosstable.agents, view.superiority)
        self.views.setCurrentIndex(tab)

    def _fill_scopes(self, view: StandingsView) -> None:
        _fill(self.scope, [(ALL, 0), *((scope.text, scope.number) for scope in view.scopes)], view.scope)

    def _fill_anchors(self, view: StandingsView) -> None:
        names = sorted(((who.name, who.agent) for who in view.crosstable.agents), key=lambda named: named[0].casefold())
        _fill(self.anchor, [("Mean at 1200", ""), *((f"{name} at 1200", id) for name, id in names)], view.anchor or "")
        self.anchor.setVisible(view.seats == 2)  # ratings of games with more seats have no anchor

    @Slot()
    def _fade(self) -> None:
        if self.movements.expire() and self.model.rows:
            self.model.dataChanged.emit(self.model.index(0, 0), self.model.index(len(self.model.rows) - 1, 0))
        if not self.movements.active:
            self._fading.stop()

    # Commands

    @Slot(int)
    def _pick_tab(self, tab: int) -> None:
        self.views.setCurrentIndex(tab)
        self.context.settings.set("standings/tab", tab)
        self._fill_tab()

    @Slot(int)
    def _pick_scope(self, place: int) -> None:
        self._scope = int(self.scope.itemData(place))
        self._refresh_all()

    @Slot(int)
    def _pick_anchor(self, place: int) -> None:
        self._anchor = str(self.anchor.itemData(place))
        self._loading = False
        self._refresh_all()

    @Slot(object)
    def _open_agent(self, line: StandingsRow) -> None:
        self.context.navigate("agent", line.agent)

    @Slot(str, str)
    def _open_games(self, agent: str, opponent: str) -> None:
        self.context.navigate("history", {"agent": agent, "opponent": opponent, "tournament": self._scope or None})

    def _run(self) -> None:
        self.context.navigate("tournament-dialog", None)

    def _choose_file(self) -> None:
        save_file(self, "Export standings", self.export_to, "Tables (*.csv)", "standings.csv")

    @Slot(str)
    def export_to(self, path: str) -> None:
        """Write what is shown, with the rows of `ringside export csv --what standings`."""
        if self.view is not None and self._pool is not None:
            scope, anchor = self._scope, self._anchor or None
            export = partial(_export, pool=self._pool, scope=scope, anchor=anchor, path=Path(path))
            self.context.ask("standings export", export, self._on_exported)

    def _on_exported(self, path: Path) -> None:
        self.context.notify(f"Standings exported to {path.name}", "good")


def _export(state: LeagueState, pool: GameSpec, scope: int, anchor: str | None, path: Path) -> Path:
    from league_app.core.export import STANDING_COLUMNS, csv_lines, standing_lines, write_lines

    _, table = load_table(state, pool, scope, anchor)
    lines = csv_lines(STANDING_COLUMNS, standing_lines(table))
    write_lines(path, lines, overwrite=True)  # the dialog has asked
    return path


def _combo(name: str, letters: int) -> QComboBox:
    """Make a combo box for this many characters, whatever its entries are."""
    combo = Combo()
    combo.setAccessibleName(name)
    combo.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    combo.setMinimumContentsLength(letters)
    combo.setMaximumWidth(320)
    combo.view().setTextElideMode(Qt.TextElideMode.ElideRight)
    return combo


def _fill(combo: QComboBox, entries: list[tuple[str, object]], chosen: object) -> None:
    """Refill silently, and not at all if nothing changed: the popup may be open."""
    with QSignalBlocker(combo):
        if [(combo.itemText(n), combo.itemData(n)) for n in range(combo.count())] != entries:
            combo.clear()
            for text, data in entries:
                combo.addItem(text, data)
        combo.setCurrentIndex(combo.findData(chosen))


def _page(*parts: QWidget | QBoxLayout) -> QWidget:
    page = QWidget()
    page.setLayout(column(*parts, gap=0))
    return page
