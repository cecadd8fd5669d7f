"""Helpers of the training tests: a context with test trainers, and recorded sessions without a process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from agents.training.events import Player
from engine.league.records import RunState
from engine.league.storage.session_rows import Measured
from engine.league.storage.sessions import SessionStore
from league_app.core.state import LeagueState
from league_app.gui.context import AppContext
from league_app.gui.training.page import TrainingPage
from tests.agents.training.session_helpers import PLUGINS
from tests.league_app.gui.conftest import QUICK


def with_trainers(context: AppContext, path: Path) -> AppContext:
    """Opens the league, with the test trainers available to sessions."""
    state = LeagueState(path, lanes=4, plugins=PLUGINS)
    state.budget.cores, state.batch_size = 2, 4
    context.adopt(state)
    return context


class Notifications(QObject):
    """Records notifications and navigation."""

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self.messages: list[tuple[str, str, Any]] = []
        self.shown: list[tuple[str, object]] = []
        context.notified.connect(self._on_notified)
        context.navigation_requested.connect(self._on_navigated)

    def _on_notified(self, text: str, tone: str, offer: object) -> None:
        self.messages.append((text, tone, offer))

    def _on_navigated(self, page: str, what: object) -> None:
        self.shown.append((page, what))

    @property
    def text(self) -> str:
        return "\n".join(text for text, *_ in self.messages)


def page_of(context: AppContext, qtbot: QtBot) -> TrainingPage:
    page = TrainingPage(context)
    qtbot.addWidget(page)
    page.resize(1200, 1100)  # all groups are visible
    page.show()
    return page


def recorded(state: LeagueState, name: str = "one", steps: int = 30, stopped: bool = True) -> int:
    """A session as a trainer would have left it, without running one."""
    sessions = SessionStore(state.league)
    number = sessions.add(name, "neat", QUICK, [("generations", steps), ("seed", 1)]).number
    batch = [
        Measured(step, [("fitness/best", 1200.0 + step), ("fitness/mean", 1200.0), ("validation/share", step / steps),
                        ("validation/low", step / steps - 0.1), ("validation/high", step / steps + 0.1),
                        ("validation/Random", step / steps), ("speed/matches", 50.0)])
        for step in range(1, steps + 1)
    ]  # fmt: skip
    sessions.record_many(number, batch)
    for step in (10, 20, 30):
        best = Player("dice", 1, b"best of %d" % (step // 20), f"validated at {step} %")
        sessions.add_checkpoint(number, step, b"state", [best])
    sessions.update(number, RunState.STOPPED if stopped else RunState.FINISHED, "for a test")
    return number


def chart_of(page: TrainingPage, title: str) -> Any:
    return next(card.chart for spec, card in page.charts.cards.items() if spec.title == title)


def until(qtbot: QtBot, condition: Callable[[], object]) -> None:
    qtbot.waitUntil(lambda: bool(condition()))
