"""The History page: matches, tournaments and failures of the selected game."""

from __future__ import annotations

from functools import partial
from typing import Any

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QStackedWidget, QTabWidget

from engine.play.match import GameSpec
from league_app.core.queries import matches
from league_app.core.state import LeagueState
from league_app.gui.context import AppContext
from league_app.gui.history.failures import FailuresView
from league_app.gui.history.matches import MatchesView
from league_app.gui.history.tournaments import TournamentsView
from league_app.gui.page import Page
from league_app.gui.widgets.basics import EmptyState, column

TABS = ("matches", "tournaments", "failures")


class HistoryPage(Page):
    """Three views; only the visible one reads from the league."""

    guide = "league-file"
    title = "History"
    icon = "history"
    watches = frozenset({"matches", "tournaments", "agents"})

    def __init__(self, context: AppContext) -> None:
        super().__init__(context)
        self.matches, self.tournaments, self.failures = (
            MatchesView(context),
            TournamentsView(context),
            FailuresView(context),
        )
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.tabBar().setDrawBase(False)
        for bar in (self.tabs, self.tabs.tabBar()):
            bar.setAccessibleName("History")
        for view, name in zip((self.matches, self.tournaments, self.failures), TABS, strict=True):
            self.tabs.addTab(view, name.capitalize())
        self.empty = EmptyState(
            "history", "No matches yet. Every match that is played is listed here.", "Run a tournament", self._start
        )
        self.stack = QStackedWidget()
        self.stack.addWidget(self.tabs)
        self.stack.addWidget(self.empty)
        self.stack.setCurrentWidget(self.empty)
        self.setLayout(column(self.stack))
        self.setContentsMargins(12, 12, 12, 0)
        self._pool: object = None
        self.tabs.currentChanged.connect(self._on_tab_changed)

    def refresh(self) -> None:
        context = self.context
        if context.state is None or context.pool is None:
            self._pool = None
            self._show_counts((False, 0))
            return
        if context.pool != self._pool:  # filters do not apply to another game
            self._pool = context.pool
            self.matches.clear()
        context.ask("history/any", partial(load_counts, pool=context.pool), self._show_counts)
        self._view().refresh()

    def _view(self) -> Any:
        return self.tabs.currentWidget()

    def _show_counts(self, counts: tuple[bool, int]) -> None:
        played, failures = counts
        self.stack.setCurrentWidget(self.tabs if played else self.empty)
        self.tabs.setTabText(TABS.index("failures"), f"Failures ({failures:,})" if failures else "Failures")

    @Slot()
    def _on_tab_changed(self) -> None:
        self._view().refresh()

    @Slot()
    def _start(self) -> None:
        self.context.navigate("tournament-dialog" if self.context.state is not None else "welcome")

    def show_item(self, what: object) -> None:
        """Take a dict with the optional keys agent and opponent (ids), tournament (number), failed and tab."""
        query: dict[str, Any] = what if isinstance(what, dict) else {}
        tab = query.get("tab", "matches")
        self._pool = self.context.pool
        if tab == "failures":
            self.failures.select(query.get("agent", ""))
        elif tab == "tournaments":
            self.tournaments.select(query.get("tournament", 0))
        else:
            self.matches.filter(
                query.get("agent", ""),
                query.get("opponent", ""),
                query.get("tournament", 0),
                "failed" if query.get("failed") else "",
            )
        self.tabs.setCurrentIndex(TABS.index(tab) if tab in TABS else 0)


def load_counts(state: LeagueState, pool: GameSpec) -> tuple[bool, int]:
    """Return whether the pool has tournaments, and how many kinds of failure it has, counted for each agent."""
    return bool(matches.tournament_names(state.league, pool)), matches.failure_kinds(state.league, pool)
