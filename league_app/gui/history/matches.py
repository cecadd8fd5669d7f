"""Matches of the pool, newest first: filtered and sorted by the file itself, read a page at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QAction, QGuiApplication, QShowEvent
from PySide6.QtWidgets import QComboBox, QFileDialog, QLineEdit, QMenu, QStackedWidget, QWidget

from engine.play.match import EndingKind, GameSpec
from league_app.core.queries import matches as looks
from league_app.core.reproduce import Reproduce, SaveReplay
from league_app.gui.context import Desk
from league_app.core.queries.matches import Found, Person, Row, Wanted
from league_app.gui.models.matches import PLAYERS, MatchModel
from league_app.core.state import LeagueState
from league_app.core.validation import usual_info
from league_app.gui.widgets.basics import Combo, Empty, button, column, label, row
from league_app.gui.widgets.new_rows_bar import Behind
from league_app.gui.widgets.players_delegate import PlayersPainter
from league_app.gui.widgets.table.view import ROW_HEIGHT, Table

REREAD = 2000  # rows that a look at what is new reads again at most; who has scrolled further looks at what was
ENDINGS = (("", "All endings"), ("failed", "Failed only"), ("upset", "Upsets only"))


class MatchTable(Table):
    """Paints the players, and stays where it was scrolled to."""

    def __init__(self, model: MatchModel, name: str, desk: Desk) -> None:
        super().__init__(model, name, desk.settings)
        self.setItemDelegateForColumn(PLAYERS, PlayersPainter(self))
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)

    def rowsInserted(self, parent: QModelIndex | QPersistentModelIndex, start: int, end: int) -> None:  # noqa: N802
        """New ones above do not push away what is being read."""
        at = self.verticalScrollBar().value()
        super().rowsInserted(parent, start, end)
        if start == 0 and at > 0:
            self.updateGeometries()
            self.verticalScrollBar().setValue(at + (end - start + 1) * ROW_HEIGHT)


class Choice(Combo):
    """One of many names, none of which makes it wider."""

    def __init__(self, name: str, nothing: str) -> None:
        super().__init__()
        self._nothing = nothing
        self._given: list[tuple[Any, str]] = []
        self.setAccessibleName(name)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(7)
        self.setMaxVisibleItems(20)
        self.view().setTextElideMode(Qt.TextElideMode.ElideRight)
        self.view().setMinimumWidth(260)
        self.offer([])

    def offer(self, choices: Sequence[tuple[Any, str]]) -> None:
        """What may be chosen; the choice stays if it still can be made, or is added."""
        if self.count() and list(choices) == self._given:
            return
        self._given = list(choices)
        chosen = self.chosen
        blocked = self.blockSignals(True)
        self.clear()
        self.addItem(self._nothing, None)
        for value, text in choices:
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
    """The table, its filters and what can be done with a match."""

    counted = Signal(int)  # matches of the pool, whatever the filters say

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self._saving = ""
        self._held = False  # the list stands still since a run began, whatever has come since
        self._total = 0  # matches that there were when it was last read
        self.model = MatchModel(self)
        self.table = MatchTable(self.model, "matches", desk)
        self._build_filters()
        self.count = label("", "caption")
        self.empty = Empty("search", "No match is like that.", "Show all matches", self.clear)
        self.behind = Behind("match")
        self.stack = QStackedWidget()
        self.stack.addWidget(self.table)
        self.stack.addWidget(self.empty)
        self.watch_button = button("Watch", self.watch, icon="play", tip="Enter, or a double click")
        self.again_button = button(
            "Reproduce", self.reproduce, icon="replay", tip="Play it once more in a worker, and compare"
        )
        self.save_button = button("Save replay...", self.save, icon="save")
        self.copy_button = button("Copy reference", self.copy, icon="copy")
        self._doing = (self.watch_button, self.again_button, self.save_button, self.copy_button)
        filters = row(self.field, self.agent, self.opponent, self.tournament, self.ending)
        for place, share in enumerate((4, 4, 4, 5, 4)):
            filters.setStretch(place, share)
        self.setLayout(column(filters, self.behind, self.stack, row(*self._doing, 1, self.count)))
        self.setContentsMargins(0, 8, 0, 12)
        self._listen()
        self._enable()

    def _build_filters(self) -> None:
        self.field = QLineEdit()
        self.field.setPlaceholderText("Filter matches")
        self.field.setAccessibleName("Filter matches")
        self.field.setClearButtonEnabled(True)
        self.field.setMinimumWidth(110)
        self.agent = Choice("Agent", "Any agent")
        self.opponent = Choice("Opponent", "Any opponent")
        self.tournament = Choice("Tournament", "All tournaments")
        self.ending = Choice("Ending", ENDINGS[0][1])
        kinds = [(kind.value, looks.words_of(kind.value).capitalize()) for kind in EndingKind]
        self.ending.offer([*ENDINGS[1:], *kinds])
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(150)

    def _listen(self) -> None:
        self._soon.timeout.connect(self.read)
        self.field.textChanged.connect(self._later)
        for choice in (self.agent, self.opponent, self.tournament, self.ending):
            choice.currentIndexChanged.connect(self.read)
        self.model.ordered.connect(self.read)
        self.model.short.connect(self._read_on)
        self.behind.wanted.connect(self.catch_up)
        self.table.chosen.connect(self._open)
        self.table.selectionModel().selectionChanged.connect(self._enable)
        self.model.modelReset.connect(self._enable)
        self.table.customContextMenuRequested.connect(self._menu)

    # Reading

    @property
    def wanted(self) -> Wanted:
        sort, descending = self.model.order
        return Wanted(
            self.agent.chosen or "",
            self.opponent.chosen or "",
            self.tournament.chosen or 0,
            self.ending.chosen or "",
            self.field.text(),
            sort,
            descending,
        )

    @Slot()
    def _later(self) -> None:
        self._soon.start()

    @Slot()
    def read(self) -> None:
        """From the top: something else is wanted."""
        if self._desk.state is not None and self._desk.pool is not None:
            self.count.setText("reading ...")
            self._ask(_Look(self._desk.pool, self.wanted))

    def refresh(self) -> None:
        """What is new is told; it is only shown where it takes nothing away from under the mouse."""
        state, pool = self._desk.state, self._desk.pool
        self._held = self._held or (state is not None and state.running)
        used = self.table.selectionModel().hasSelection() or self.table.verticalScrollBar().value() > 0
        if state is not None and pool is not None and self.model.rows and self._held and (used or state.running):
            self._desk.ask("history/new matches", _Count(pool, self.wanted), self._tell_new)
        else:
            self._read_again()

    def _read_again(self) -> None:
        """As many rows as are shown, unless those are very many."""
        shown = len(self.model.rows)
        if self._desk.state is None or self._desk.pool is None:
            self._held = False
            self.model.take(Found([], 0, {}, {}))
            self.behind.tell(0, False)
        elif shown <= REREAD:
            self._ask(_Look(self._desk.pool, self.wanted, limit=max(shown, looks.PAGE)))

    def _tell_new(self, counted: tuple[Wanted, int]) -> None:
        wanted, total = counted
        if wanted == self.wanted:
            running = self._desk.state is not None and self._desk.state.running
            self.behind.tell(total - self._total, running)
            self._held = running or total > self._total

    @Slot()
    def catch_up(self) -> None:
        """The newest, from the top."""
        self.table.scrollToTop()
        self.read()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        """Opened anew: nobody aims at anything yet."""
        super().showEvent(event)
        if not event.spontaneous():
            self._read_again()

    @Slot()
    def _read_on(self) -> None:
        rows, pool = self.model.rows, self._desk.pool
        if pool is not None and rows:
            self.count.setText("reading more ...")
            self._ask(_Look(pool, self.wanted, rows[-1], len(rows)))

    def _ask(self, look: _Look) -> None:
        self._desk.ask("history/matches", look, self._take)

    def _take(self, found: Found) -> None:
        scope = found.people, found.tournaments
        self.model.take(found)
        if not found.more:
            self._total = self.model.total
            self._held = self._desk.state is not None and self._desk.state.running
            self.behind.tell(0, self._held and bool(self.model.rows))
        self._offer(*scope)
        self.stack.setCurrentWidget(self.table if self.model.rows or not self.wanted.filtered else self.empty)
        total = self.model.total
        self.count.setText(f"{total:,} {'match' if total == 1 else 'matches'}")
        if not self.wanted.filtered:
            self.counted.emit(total)

    def _offer(self, people: Mapping[int, Person], tournaments: Mapping[int, str]) -> None:
        game = self._desk.game
        named = sorted(((one.id, one.name) for one in people.values() if one.game == game), key=_by_name)
        self.agent.offer(named)
        self.opponent.offer(named)
        self.tournament.offer(
            [(number, looks.called(number, tournaments[number])) for number in sorted(tournaments)[::-1]]
        )

    # Filters from elsewhere

    def filter(self, agent: str = "", opponent: str = "", tournament: int = 0, ending: str = "") -> None:
        """Show what somebody else asked for."""
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

    # What can be done with one

    def _picked(self) -> list[str]:
        return [looks.reference(one[0]) for one in self.table.picked()]

    @Slot()
    def _enable(self) -> None:
        some = self.table.selectionModel().hasSelection()
        for one in self._doing:
            one.setEnabled(some)

    @Slot(object)
    def _open(self, row: Row) -> None:
        self._desk.show("match", looks.reference(row[0]))

    @Slot()
    def watch(self) -> None:
        for one in self._picked()[:1]:
            self._desk.show("match", one)

    @Slot()
    def copy(self) -> None:
        QGuiApplication.clipboard().setText("\n".join(self._picked()))
        self._desk.say("Copied")

    @Slot()
    def reproduce(self) -> None:
        for one in self._picked()[:1]:
            self._desk.say(f"Playing {one} once more ...")
            self._desk.work.ask(f"reproduce {one}", Reproduce(self._desk.league, one), self._told)

    def _told(self, told: tuple[str, str]) -> None:
        self._desk.say(*told)

    @Slot()
    def save(self) -> None:
        picked = self._picked()
        if not picked:
            return
        self._saving = picked[0]
        info = usual_info(self._desk.pool) if self._desk.pool is not None else None
        notations = info.notations if info is not None else ()
        filters = ["Replays (*.replay)", *(f"{one.upper()}, for other programs (*.{one})" for one in notations)]
        dialog = QFileDialog(self, "Save replay", "", ";;".join(filters))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        self._dialog = dialog
        self._name_it(filters[0])
        dialog.filterSelected.connect(self._name_it)
        dialog.fileSelected.connect(self.save_to)
        dialog.open()

    @Slot(str)
    def _name_it(self, filter: str) -> None:
        """The file's name ends as the chosen kind of file does."""
        ending = filter.rpartition("*.")[2].rstrip(")")
        self._dialog.setDefaultSuffix(ending)
        self._dialog.selectFile(f"{self._saving}.{ending}")

    @Slot(str)
    def save_to(self, path: str) -> None:
        self._desk.work.ask(f"save {path}", SaveReplay(self._desk.league, self._saving, Path(path)), self._told)

    @Slot(QPoint)
    def _menu(self, at: QPoint) -> None:
        if not self._picked():
            return
        menu = QMenu(self)
        for one in self._doing:
            action = QAction(one.icon(), one.text(), menu)
            action.triggered.connect(one.click)
            menu.addAction(action)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(self.table.viewport().mapToGlobal(at))


def _by_name(one: tuple[str, str]) -> str:
    return one[1].casefold()


class _Look:
    """The question: which page of what."""

    def __init__(
        self, pool: GameSpec, wanted: Wanted, after: Row | None = None, skip: int = 0, limit: int = looks.PAGE
    ) -> None:
        self._pool, self._wanted, self._after, self._skip, self._limit = pool, wanted, after, skip, limit

    def __call__(self, state: LeagueState) -> Found:
        return looks.matches(state.league, self._pool, self._wanted, self._after, self._skip, self._limit)


class _Count:
    """How many there are by now; with what was asked for, as that may be something else when it is answered."""

    def __init__(self, pool: GameSpec, wanted: Wanted) -> None:
        self._pool, self._wanted = pool, wanted

    def __call__(self, state: LeagueState) -> tuple[Wanted, int]:
        return self._wanted, looks.count(state.league, self._pool, self._wanted)
