"""What was played: matches, tournaments and failures, of the game that is looked at."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QStackedWidget, QTabWidget

from engine.play.match import EndingKind, GameSpec
from league_app.gui.context import Desk
from league_app.gui.history.failures import FailuresView
from league_app.gui.history.matches import MatchesView
from league_app.gui.page import Page
from league_app.gui.history.tournaments import TournamentsView
from league_app.core.state import LeagueState
from league_app.gui.widgets.basics import Empty, column

TABS = ("matches", "tournaments", "failures")


class HistoryPage(Page):
    """Three views; only the one that is seen reads."""

    title = "History"
    icon = "history"
    watches = frozenset({"matches", "tournaments", "agents"})

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.matches, self.tournaments, self.failures = MatchesView(desk), TournamentsView(desk), FailuresView(desk)
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.tabBar().setDrawBase(False)
        for one in (self.tabs, self.tabs.tabBar()):
            one.setAccessibleName("Parts of the history")
        for view, name in zip((self.matches, self.tournaments, self.failures), TABS, strict=True):
            self.tabs.addTab(view, name.capitalize())
        self.empty = Empty(
            "history", "Every match is kept here, once one has been played.", "Run a tournament", self._start
        )
        self.stack = QStackedWidget()
        self.stack.addWidget(self.tabs)
        self.stack.addWidget(self.empty)
        self.stack.setCurrentWidget(self.empty)
        self.setLayout(column(self.stack))
        self.setContentsMargins(12, 12, 12, 0)
        self._pool: object = None
        self.tabs.currentChanged.connect(self._turned)

    def refresh(self) -> None:
        desk = self.desk
        if desk.state is None or desk.pool is None:
            self._pool = None
            self._have((False, 0))
            return
        if desk.pool != self._pool:  # filters of another game mean nothing here
            self._pool = desk.pool
            self.matches.clear()
        desk.ask("history/any", _Look(desk.pool), self._have)
        self._view().refresh()

    def _view(self) -> Any:
        return self.tabs.currentWidget()

    def _have(self, found: tuple[bool, int]) -> None:
        some, failures = found
        self.stack.setCurrentWidget(self.tabs if some else self.empty)
        self._count_failures(failures)

    def _count_failures(self, count: int) -> None:
        self.tabs.setTabText(TABS.index("failures"), f"Failures ({count:,})" if count else "Failures")

    @Slot()
    def _turned(self) -> None:
        self._view().refresh()

    @Slot()
    def _start(self) -> None:
        self.desk.show("tournament-sheet" if self.desk.state is not None else "welcome")

    def show_what(self, what: object) -> None:
        """agent, opponent (ids), tournament (number), failed, tab: each may be left out."""
        given: dict[str, Any] = what if isinstance(what, dict) else {}
        tab = given.get("tab", "matches")
        self._pool = self.desk.pool
        if tab == "failures":
            self.failures.select(given.get("agent", ""))
        elif tab == "tournaments":
            self.tournaments.select(given.get("tournament", 0))
        else:
            self.matches.filter(
                given.get("agent", ""),
                given.get("opponent", ""),
                given.get("tournament", 0),
                "failed" if given.get("failed") else "",
            )
        self.tabs.setCurrentIndex(TABS.index(tab) if tab in TABS else 0)


class _Look:
    """Whether there is anything to look back at, and how many kinds of failure."""

    def __init__(self, pool: GameSpec) -> None:
        self._pool = pool

    def __call__(self, state: LeagueState) -> tuple[bool, int]:
        pool = state.league.pool(self._pool)
        some = bool(state.league.file.read("SELECT 1 FROM tournaments WHERE pool = ? LIMIT 1", pool))
        sql = "SELECT DISTINCT f.agent, f.ending FROM forfeits AS f JOIN tournaments AS t ON t.number = f.tournament"
        found = state.league.file.read(f"{sql} WHERE t.pool = ? AND f.ending != ?", pool, EndingKind.RESIGNED.value)
        return some, len(found)
