"""The list of tournaments with their progress, and the commands on them."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QPoint, Qt, Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from engine.errors import NotNow
from engine.league.records import RunState
from engine.play.match import GameSpec
from league_app.core.changes import Change, ChangeKind
from league_app.core.state import LeagueState
from league_app.gui.context import AppContext
from league_app.gui.dialogs.entrants import EntrantsDialog
from league_app.gui.dialogs.messages import ConfirmDialog
from league_app.gui.models.matches import TournamentRow, tournament_columns
from league_app.gui.widgets.basics import button, column, row
from league_app.gui.widgets.table.model import TableModel
from league_app.gui.widgets.table.view import FilteredTable, TableView


class TournamentsView(QWidget):
    """The table of tournaments with its buttons."""

    counted = Signal(int)

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context = context
        self.model = TableModel(tournament_columns(), _key, self)
        self.table = TableView(self.model, "tournaments", context.settings)
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.filtered = FilteredTable(self.table, "Filter tournaments", noun="tournament")
        self.show_button = button("Standings", self.show_standings, tip="Enter or double-click")
        self.matches_button = button("Matches", self.show_matches)
        self.resume_button = button("Resume", self.resume)
        self.lift_button = button(
            "Lift quarantine",
            self.lift,
            tip="Let agents that failed too often play again, play void matches again, and resume",
        )
        self.change_button = button("Entrants...", self.change, tip="Add or remove agents")
        self.cancel_button = button("Cancel tournament...", self.cancel, danger=True)
        self._buttons = (
            self.show_button,
            self.matches_button,
            self.resume_button,
            self.lift_button,
            self.change_button,
            self.cancel_button,
        )
        self.setLayout(column(self.filtered, row(*self._buttons, 1, gap=8)))
        self.setContentsMargins(0, 8, 0, 12)
        self.table.chosen.connect(self._open)
        self.table.selected.connect(self._enable)
        self.model.modelReset.connect(self._enable)
        self.model.dataChanged.connect(self._enable)
        self.table.customContextMenuRequested.connect(self._menu)
        self._enable()

    def refresh(self) -> None:
        pool = self._context.pool
        if self._context.state is None or pool is None:
            self._show([])
        else:
            self._context.ask("history/tournaments", partial(load_tournaments, pool=pool), self._show)

    def _show(self, rows: list[TournamentRow]) -> None:
        self.model.set_rows(rows)
        self.counted.emit(len(rows))

    def select(self, number: int) -> None:
        for place, known in enumerate(self.model.rows):
            if known.number == number:
                self.table.setCurrentIndex(self.model.index(place, 0))

    @property
    def current(self) -> TournamentRow | None:
        at = self.table.currentIndex().row()
        return self.model.rows[at] if 0 <= at < len(self.model.rows) else None

    @Slot()
    def _enable(self, *_: object) -> None:
        tournament = self.current
        writable = self._context.state is not None and not self._context.league.league.read_only
        idle = tournament is not None and not tournament.playing and writable
        unfinished = tournament is not None and idle and tournament.state.open
        for shown in (self.show_button, self.matches_button):
            shown.setEnabled(tournament is not None)
        self.resume_button.setEnabled(unfinished)
        self.lift_button.setEnabled(bool(tournament and idle and tournament.state is not RunState.CANCELLED))
        self.change_button.setEnabled(unfinished)
        self.cancel_button.setEnabled(unfinished)

    # Commands

    @Slot(object)
    def _open(self, row: TournamentRow) -> None:
        self._context.navigate("standings", row.number)

    @Slot()
    def show_standings(self) -> None:
        if self.current is not None:
            self._context.navigate("standings", self.current.number)

    @Slot()
    def show_matches(self) -> None:
        if self.current is not None:
            self._context.navigate("history", {"tournament": self.current.number, "tab": "matches"})

    @Slot()
    def resume(self) -> None:
        if self.current is not None:
            self._start(self.current.number, False)

    @Slot()
    def lift(self) -> None:
        if self.current is not None:
            self._start(self.current.number, True)

    def _start(self, number: int, lifted: bool) -> None:
        task = partial(_resume, self._context.league, number, lifted)
        self._context.command_queue.run(task, self._notify)

    def _notify(self, message: str) -> None:
        self._context.notify(message, "good")

    @Slot()
    def change(self) -> None:
        if self.current is not None:
            EntrantsDialog(self._context, self.current.number, self.window()).open()

    @Slot()
    def cancel(self) -> None:
        tournament = self.current
        if tournament is not None:
            more = "Its matches stay and still count, but it can no longer be resumed. This cannot be undone."
            question = f"Cancel tournament {tournament.number}?"
            text = f"{tournament.name}\n\n{more}"
            ConfirmDialog(self.window(), question, text, "Cancel tournament", self._cancel, "Keep tournament").open()

    def _cancel(self) -> None:
        tournament = self.current
        if tournament is not None:
            task = partial(_cancel, self._context.league, tournament.number)
            self._context.command_queue.run(task, self._notify)

    @Slot(QPoint)
    def _menu(self, at: QPoint) -> None:
        if self.current is None:
            return
        menu = QMenu(self)
        for shown in self._buttons:
            action = QAction(shown.icon(), shown.text(), menu)
            action.setEnabled(shown.isEnabled())
            action.triggered.connect(shown.click)
            menu.addAction(action)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(self.table.viewport().mapToGlobal(at))


def _key(row: TournamentRow) -> int:
    return row.number


def load_tournaments(state: LeagueState, pool: GameSpec) -> list[TournamentRow]:
    job = state.job
    return [
        TournamentRow(
            tournament.number,
            tournament.name,
            tournament.settings.game.name,
            tournament.settings.format,
            tournament.state,
            job is not None and job.number == tournament.number,
            tournament.played,
            tournament.total,
            tournament.entrants,
            tournament.created,
            " ".join(tournament.note.split()),
        )
        for tournament in reversed(state.league.tournaments())
        if tournament.settings.game == pool
    ]


def _resume(state: LeagueState, number: int, lifted: bool) -> str:
    """Runs in the background: reading a large tournament takes a while."""
    if lifted and state.running:
        raise NotNow(f"{state.job.name if state.job else ''!r} is running: stop it first")
    job = state.resume_tournament(number, lifted)
    return f"{job.name} resumed"


def _cancel(state: LeagueState, number: int) -> str:
    tournament = state.league.tournament(number)
    if not tournament.state.open:
        raise NotNow(f"{tournament.name!r} is already {tournament.state.value}")
    if state.job is not None and state.job.number == number:
        raise NotNow(f"{tournament.name!r} is running: stop it first")
    state.league.update_tournament(number, RunState.CANCELLED)
    state.notices.add(Change(ChangeKind.TOURNAMENTS, number))
    return f"{tournament.name} cancelled; its matches still count"
