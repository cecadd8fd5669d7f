"""What the tests of training in the window have in common: a desk with our trainers, sessions without a process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from engine.league.records import State
from engine.league.storage.session_rows import Measured
from engine.league.storage.sessions import Sessions
from engine.play.match import AgentSpec
from engine.registry import TRAINERS
from league_app.gui.context import Desk
from league_app.gui.training.page import TrainingPage
from league_app.core.state import LeagueState
from tests.agents.sessions import OURS, PLUGINS
from tests.gui.conftest import QUICK


@contextmanager
def our_trainers() -> Iterator[None]:
    for name, trainer in OURS.items():
        TRAINERS.add(name, trainer)
    yield
    for name in OURS:
        TRAINERS.remove(name)


def with_trainers(desk: Desk, path: Path) -> Desk:
    """With the league open, in which sessions know our trainers."""
    state = LeagueState(path, lanes=4, plugins=PLUGINS)
    state.budget.cores, state.batch_size = 2, 4
    desk.adopt(state)
    return desk


class Ear(QObject):
    """What is told to the person."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self.said: list[tuple[str, str, Any]] = []
        self.shown: list[tuple[str, object]] = []
        desk.said.connect(self.hear)
        desk.wanted.connect(self.show)

    def hear(self, text: str, tone: str, offer: object) -> None:
        self.said.append((text, tone, offer))

    def show(self, page: str, what: object) -> None:
        self.shown.append((page, what))

    @property
    def text(self) -> str:
        return "\n".join(text for text, *_ in self.said)


def page_of(desk: Desk, qtbot: QtBot) -> TrainingPage:
    page = TrainingPage(desk)
    qtbot.addWidget(page)
    page.resize(1200, 1100)  # all groups are seen
    page.show()
    return page


def recorded(state: LeagueState, name: str = "one", steps: int = 30, begun: bool = True) -> int:
    """A session as a trainer would have left it, without running one."""
    sessions = Sessions(state.league)
    number = sessions.add(name, "neat", QUICK, [("generations", steps), ("seed", 1)]).number
    batch = [
        Measured(step, [("fitness/best", 1200.0 + step), ("fitness/mean", 1200.0), ("validation/share", step / steps),
                        ("validation/low", step / steps - 0.1), ("validation/high", step / steps + 0.1),
                        ("validation/Random", step / steps), ("speed/matches", 50.0)])
        for step in range(1, steps + 1)
    ]  # fmt: skip
    sessions.record_many(number, batch)
    for step in (10, 20, 30):
        best = AgentSpec("x", "dice", b"best of %d" % (step // 20), 1)
        sessions.add_checkpoint(number, step, b"state", best, f"validated at {step} %")
    sessions.update(number, State.STOPPED if begun else State.FINISHED, "as told")
    return number


def chart_of(page: TrainingPage, title: str) -> Any:
    return next(card.chart for panel, card in page.curves.cards.items() if panel.title == title)


def until(qtbot: QtBot, true: Callable[[], object]) -> None:
    qtbot.waitUntil(lambda: bool(true()), timeout=30_000)
