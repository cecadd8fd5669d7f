"""Standings: who is how strong, who did what against whom, and how sure all that is."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, Slot
from PySide6.QtWidgets import QBoxLayout, QComboBox, QFileDialog, QStackedWidget, QTabBar, QWidget

from engine.play.match import GameSpec
from league_app.gui.context import Desk
from league_app.gui.models.standings import Line, Movements, View, columns, key, longest, look, table_of
from league_app.gui.widgets.table.model import TableModel
from league_app.gui.page import PERIOD, Page
from league_app.core.state import LeagueState
from league_app.gui.widgets.basics import Card, Combo, Empty, IconButton, breakable, column, label, plain, row
from league_app.gui.widgets.crosstable import Crosstable
from league_app.gui.widgets.heatmap import Heatmap, Legend
from league_app.gui.widgets.table.row_animation import Sliding
from league_app.gui.widgets.table.view import Filtered, Table

TABS = ("Table", "Crosstable", "Superiority")
ALL = "All matches of this game"
NONE_YET = "No matches yet. A tournament gives everybody a rating."
PATIENCE = 3  # a look that took so long is followed by a pause this many times as long


class StandingsPage(Page):
    """`show_what` takes the number of a tournament, or None for all matches of the game."""

    title = "Standings"
    icon = "standings"
    watches = frozenset({"matches", "tournaments", "agents"})

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._scope, self._pool, self._anchor = 0, desk.pool, ""
        self._league = desk.state  # whose standings these are
        self._asked = self._again = False
        self._seen: tuple[GameSpec | None, int] | None = None  # what the table shows
        self.view: View | None = None
        self.movements = Movements()
        self._fading = QTimer(self)
        self._fading.setInterval(1000)
        self._fading.timeout.connect(self._fade)
        self._make_parts()
        self._lay_out()
        desk.opened.connect(self._forget)
        self._show_state()

    # Its parts

    def _make_parts(self) -> None:
        desk = self.desk
        self.model = TableModel(columns(self.movements), key, self)
        self.table = Table(self.model, "Standings", desk.settings)
        self.table.chosen.connect(self._open_agent)
        self.sliding = Sliding(self.table, desk.settings)
        self.crosstable, self.heatmap = Crosstable(), Heatmap()
        self.crosstable.chosen.connect(self._open_games)
        self.heatmap.chosen.connect(self._open_games)
        self.scope = _combo("Which matches count", 20)
        self.scope.addItem(ALL, 0)
        self.scope.activated.connect(self._pick_scope)
        self.anchor = _combo("Whose rating is fixed", 14)
        self.anchor.setToolTip(plain("Ratings are relative: put their mean at 1200, or one agent"))
        self.anchor.activated.connect(self._pick_anchor)
        self.export = IconButton("export", "Export as CSV", self._choose_file)
        self.tabs = QTabBar()
        self.tabs.setDrawBase(False)
        self.tabs.setExpanding(False)
        self.tabs.setUsesScrollButtons(False)
        self.tabs.setAccessibleName("Standings as")
        for name in TABS:
            self.tabs.addTab(name)
        self.facts = label("", "caption", wrap=True)
        self.notes = label("", "caption", tone="warn", wrap=True)

    def _lay_out(self) -> None:
        self.filtered = Filtered(self.table, "Filter agents", (self.anchor, self.export), "agent")
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
        self.empty = Empty("standings", NONE_YET, "Run a tournament", self._run)
        self.nothing = QWidget()
        self.stack = QStackedWidget()
        self.stack.addWidget(shown)
        self.stack.addWidget(self.empty)
        self.stack.addWidget(self.nothing)
        self.bar = QWidget()
        self.bar.setLayout(row(self.tabs, 1, self.scope))
        self.setLayout(column(self.bar, self.stack, margin=12))
        kept = self.desk.settings.get("standings/tab", 0)
        self.tabs.setCurrentIndex(kept if 0 <= kept < len(TABS) else 0)

    # Asking

    def show_what(self, what: object) -> None:
        state = self.desk.state
        number = what if isinstance(what, int) else 0
        if state is None:
            return
        if number:
            found = self.desk.attempt(_Game(state, number))
            if found is None:
                return
            self._pool = found
            self._scope = number
            self.desk.look_at(found)
        else:
            self._scope = 0
        self._look_anew()

    @Slot()
    def _forget(self) -> None:
        """Another league is open, or none."""
        if self.desk.state is self._league:
            return
        self._league = self.desk.state
        self._seen, self.view, self._scope, self._anchor = None, None, 0, ""
        self._asked = self._again = False
        self._show_state()

    def refresh(self) -> None:
        self._forget()
        pool = self.desk.pool
        if pool != self._pool:
            self._pool, self._scope, self._anchor = pool, 0, ""
        if self.desk.state is None or pool is None:
            self.view = None
            self._show_state()
            return
        if self._asked and self._seen == (pool, self._scope):
            self._again = True  # one look at a time: it may take long in a large league
            return
        self._asked, self._again = True, False
        if self.view is None:
            self._show_state()  # that nothing was played is not known yet
        question = _Look(self.desk.league, pool, self._scope, self._anchor or None)
        self.desk.reads.ask("standings", question, self._answer, self._failed)

    def _failed(self, error: Exception) -> None:
        self._asked = self._again = False
        self.desk.failed.emit(error)

    def _answer(self, view: View) -> None:
        self._asked = False
        self.view, self._scope, self._anchor = view, view.scope, view.anchor or ""
        seen = self._pool, view.scope
        self.movements.see(view.lines, seen != self._seen)
        self._seen = seen
        if self.movements.any:
            self._fading.start()
        self._fill_scopes(view)
        self._fill_anchors(view)
        self._fill_tab()
        self._show_state()
        if self._again:
            self._again, self._stale = False, True
            self._soon.setInterval(max(PERIOD, int(view.took * 1000 * PATIENCE)))
            self._soon.start()

    # Showing

    def _show_state(self) -> None:
        """The table, or why there is none."""
        view = self.view
        can_play = self.desk.state is not None and not self.desk.league.league.read_only
        self.empty.button.setEnabled(can_play)
        self.empty.button.setToolTip("" if can_play else plain("This league was opened for looking only."))
        self.bar.setVisible(view is not None and bool(view.scopes))
        if view is None:
            waiting = self.desk.state is not None and self.desk.pool is not None and self._asked
            self.stack.setCurrentWidget(self.nothing if waiting else self.empty)
            return
        self.stack.setCurrentIndex(0 if view.matches else 1)
        told = "match" if view.matches == 1 else "matches"
        self.facts.setText(f"{view.matches:,} {told}. {view.model.replace('+-', '±')}.")
        self.notes.setText(breakable("\n".join(f"{note[:1].upper()}{note[1:]}." for note in view.notes)))
        self.notes.setVisible(bool(view.notes))

    def _fill_tab(self) -> None:
        """Only what is seen: the others are filled when they are."""
        view, tab = self.view, self.tabs.currentIndex()
        if view is None:
            return
        if tab == 0:
            self.model.set_rows(view.lines)
            self.table.suit((self._pool, longest(view.lines)))
        elif tab == 1:
            self.crosstable.cells.set_crossed(view.crossed)
        else:
            self.heatmap.cells.set_values(view.crossed.who, view.superiority)
        self.views.setCurrentIndex(tab)

    def _fill_scopes(self, view: View) -> None:
        _fill(self.scope, [(ALL, 0), *((one.text, one.number) for one in view.scopes)], view.scope)

    def _fill_anchors(self, view: View) -> None:
        names = sorted(((who.name, who.agent) for who in view.crossed.who), key=lambda one: one[0].casefold())
        _fill(self.anchor, [("Mean at 1200", ""), *((f"{name} at 1200", id) for name, id in names)], view.anchor or "")
        self.anchor.setVisible(view.seats == 2)  # skills of more have no zero

    @Slot()
    def _fade(self) -> None:
        if self.movements.fade() and self.model.rows:
            self.model.dataChanged.emit(self.model.index(0, 0), self.model.index(len(self.model.rows) - 1, 0))
        if not self.movements.any:
            self._fading.stop()

    # What a person does

    @Slot(int)
    def _pick_tab(self, tab: int) -> None:
        self.views.setCurrentIndex(tab)
        self.desk.settings.set("standings/tab", tab)
        self._fill_tab()

    @Slot(int)
    def _pick_scope(self, place: int) -> None:
        self._scope = int(self.scope.itemData(place))
        self._look_anew()

    @Slot(int)
    def _pick_anchor(self, place: int) -> None:
        self._anchor = str(self.anchor.itemData(place))
        self._asked = False
        self._look_anew()

    @Slot(object)
    def _open_agent(self, line: Line) -> None:
        self.desk.show("agent", line.agent)

    @Slot(str, str)
    def _open_games(self, agent: str, opponent: str) -> None:
        self.desk.show("history", {"agent": agent, "opponent": opponent, "tournament": self._scope or None})

    def _run(self) -> None:
        self.desk.show("tournament-sheet", None)

    def _choose_file(self) -> None:
        dialog = QFileDialog(self, "Export standings", "standings.csv", "Comma-separated values (*.csv)")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix("csv")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.export_to)
        dialog.open()

    @Slot(str)
    def export_to(self, path: str) -> None:
        """What is shown, with the rows of `ringside export csv --what standings`."""
        if self.view is not None and self._pool is not None:
            question = _Export(self._pool, self._scope, self._anchor or None, Path(path))
            self.desk.ask("standings export", question, self._exported)

    def _exported(self, path: Path) -> None:
        self.desk.say(f"Standings are written to {path.name}", "good")


class _Look:
    def __init__(self, state: LeagueState, pool: GameSpec, scope: int, anchor: str | None) -> None:
        self._asked = state, pool, scope, anchor

    def __call__(self) -> View:
        return look(*self._asked)


class _Export:
    def __init__(self, pool: GameSpec, scope: int, anchor: str | None, path: Path) -> None:
        self._asked, self._path = (pool, scope, anchor), path

    def __call__(self, state: LeagueState) -> Path:
        from league_app.cli.leagues import csv_lines, standing_lines, write_lines

        _, table = table_of(state, *self._asked)
        write_lines(self._path, csv_lines(standing_lines(table)), "file")
        return self._path


class _Game:
    def __init__(self, state: LeagueState, number: int) -> None:
        self._state, self._number = state, number

    def __call__(self) -> GameSpec:
        return self._state.league.tournament(self._number).settings.game


def _combo(name: str, letters: int) -> QComboBox:
    """As wide as so many letters, whatever is in it."""
    made = Combo()
    made.setAccessibleName(name)
    made.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    made.setMinimumContentsLength(letters)
    made.setMaximumWidth(320)
    made.view().setTextElideMode(Qt.TextElideMode.ElideRight)
    return made


def _fill(combo: QComboBox, wanted: list[tuple[str, object]], chosen: object) -> None:
    """Without telling anybody, and not at all where nothing is another: it may be open."""
    with QSignalBlocker(combo):
        if [(combo.itemText(n), combo.itemData(n)) for n in range(combo.count())] != wanted:
            combo.clear()
            for text, data in wanted:
                combo.addItem(text, data)
        combo.setCurrentIndex(combo.findData(chosen))


def _page(*parts: QWidget | QBoxLayout) -> QWidget:
    made = QWidget()
    made.setLayout(column(*parts, gap=0))
    return made
