"""Tournaments of the pool: how far each is, and what can still be done with it."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from engine.errors import NotNow
from engine.league.records import State
from engine.play.match import GameSpec
from league_app.core.changes import Change
from league_app.gui.context import Desk
from league_app.gui.models.matches import TournamentRow, tournament_columns
from league_app.gui.widgets.table.model import TableModel
from league_app.gui.dialogs.entrants import EntrantsSheet
from league_app.gui.dialogs.messages import Question
from league_app.core.state import LeagueState
from league_app.gui.widgets.basics import button, column, row
from league_app.gui.widgets.table.view import Filtered, Table


class TournamentsView(QWidget):
    """The table, and what can be done with one of them."""

    counted = Signal(int)

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self.model = TableModel(tournament_columns(), _key, self)
        self.table = Table(self.model, "tournaments", desk.settings)
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.filtered = Filtered(self.table, "Filter tournaments", noun="tournament")
        self.show_button = button("Standings", self.show_one, tip="Enter, or a double click")
        self.matches_button = button("Matches", self.show_matches)
        self.resume_button = button("Resume", self.resume)
        self.lift_button = button(
            "Lift quarantine",
            self.lift,
            tip="Give those another chance who failed too often, and void matches another try; then resume",
        )
        self.change_button = button("Entrants...", self.change, tip="Who joins or leaves")
        self.cancel_button = button("Cancel for good...", self.cancel, danger=True)
        self._doing = (
            self.show_button,
            self.matches_button,
            self.resume_button,
            self.lift_button,
            self.change_button,
            self.cancel_button,
        )
        self.setLayout(column(self.filtered, row(*self._doing, 1, gap=8)))
        self.setContentsMargins(0, 8, 0, 12)
        self.table.chosen.connect(self._open)
        self.table.selected.connect(self._enable)
        self.model.modelReset.connect(self._enable)
        self.model.dataChanged.connect(self._enable)
        self.table.customContextMenuRequested.connect(self._menu)
        self._enable()

    def refresh(self) -> None:
        pool = self._desk.pool
        if self._desk.state is None or pool is None:
            self._take([])
        else:
            self._desk.ask("history/tournaments", _Look(pool), self._take)

    def _take(self, rows: list[TournamentRow]) -> None:
        self.model.set_rows(rows)
        self.counted.emit(len(rows))

    def select(self, number: int) -> None:
        for place, one in enumerate(self.model.rows):
            if one.number == number:
                self.table.setCurrentIndex(self.model.index(place, 0))

    @property
    def current(self) -> TournamentRow | None:
        at = self.table.currentIndex().row()
        return self.model.rows[at] if 0 <= at < len(self.model.rows) else None

    @Slot()
    def _enable(self, *_: object) -> None:
        one = self.current
        writable = self._desk.state is not None and not self._desk.league.league.read_only
        idle = one is not None and not one.playing and writable
        unfinished = one is not None and idle and one.state.open
        for shown in (self.show_button, self.matches_button):
            shown.setEnabled(one is not None)
        self.resume_button.setEnabled(unfinished)
        self.lift_button.setEnabled(bool(one and idle and one.state is not State.CANCELLED))
        self.change_button.setEnabled(unfinished)
        self.cancel_button.setEnabled(unfinished)

    # What can be done with one

    @Slot(object)
    def _open(self, row: TournamentRow) -> None:
        self._desk.show("standings", row.number)

    @Slot()
    def show_one(self) -> None:
        if self.current is not None:
            self._desk.show("standings", self.current.number)

    @Slot()
    def show_matches(self) -> None:
        if self.current is not None:
            self._desk.show("history", {"tournament": self.current.number, "tab": "matches"})

    @Slot()
    def resume(self) -> None:
        if self.current is not None:
            self._start(self.current.number, False)

    @Slot()
    def lift(self) -> None:
        if self.current is not None:
            self._start(self.current.number, True)

    def _start(self, number: int, lifted: bool) -> None:
        state = self._desk.league
        self._desk.orders.ask(f"resume {number}", _Resume(state, number, lifted), self._told)

    def _told(self, told: str) -> None:
        self._desk.say(told, "good")

    @Slot()
    def change(self) -> None:
        if self.current is not None:
            sheet = EntrantsSheet(self._desk, self.current.number, self.window())
            sheet.open()

    @Slot()
    def cancel(self) -> None:
        one = self.current
        if one is not None:
            more = "Its matches stay and still count, but it can never be resumed. This cannot be undone."
            told = f"Cancel tournament {one.number} for good?"
            Question(self.window(), told, f"{one.name}\n\n{more}", "Cancel it", self._cancel, "Keep it").open()

    def _cancel(self) -> None:
        one = self.current
        if one is not None:
            self._desk.orders.ask(f"cancel {one.number}", _Cancel(self._desk.league, one.number), self._told)

    @Slot(QPoint)
    def _menu(self, at: QPoint) -> None:
        if self.current is None:
            return
        menu = QMenu(self)
        for one in self._doing:
            action = QAction(one.icon(), one.text(), menu)
            action.setEnabled(one.isEnabled())
            action.triggered.connect(one.click)
            menu.addAction(action)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(self.table.viewport().mapToGlobal(at))


def _key(row: TournamentRow) -> int:
    return row.number


class _Look:
    def __init__(self, pool: GameSpec) -> None:
        self._pool = pool

    def __call__(self, state: LeagueState) -> list[TournamentRow]:
        job = state.job
        return [
            TournamentRow(
                one.number,
                one.name,
                one.settings.game.name,
                one.settings.format,
                one.state,
                job is not None and job.number == one.number,
                one.played,
                one.total,
                one.entrants,
                one.created,
                " ".join(one.note.split()),
            )
            for one in reversed(state.league.tournaments())
            if one.settings.game == self._pool
        ]


class _Resume:
    """Beside the window: opening the books of a large tournament takes a while."""

    def __init__(self, state: LeagueState, number: int, lifted: bool) -> None:
        self._state, self._number, self._lifted = state, number, lifted

    def __call__(self) -> str:
        if self._lifted and self._state.running:
            raise NotNow(f"{self._state.job.name if self._state.job else ''!r} is being played: stop it first")
        job = self._state.resume_tournament(self._number, self._lifted)
        return f"{job.name} goes on"


class _Cancel:
    def __init__(self, state: LeagueState, number: int) -> None:
        self._state, self._number = state, number

    def __call__(self) -> str:
        one = self._state.league.tournament(self._number)
        if not one.state.open:
            raise NotNow(f"{one.name!r} is {one.state.value} already")
        if self._state.job is not None and self._state.job.number == self._number:
            raise NotNow(f"{one.name!r} is being played: stop it first")
        self._state.league.update_tournament(self._number, State.CANCELLED)
        self._state.notices.add(Change("tournaments", self._number))
        return f"{one.name} is cancelled; its matches stay"
