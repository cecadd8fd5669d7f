"""The desk, its threads and its questions."""

from __future__ import annotations

import threading
from typing import Any

from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from league_app.gui.context import Desk, pools
from league_app.gui.background import Asker
from tests.gui.conftest import BOTS, QUICK


class Listener(QObject):
    def __init__(self) -> None:
        super().__init__()
        self.heard: list[Any] = []
        self.threads: list[threading.Thread] = []

    def hear(self, what: object) -> None:
        self.heard.append(what)
        self.threads.append(threading.current_thread())


def test_an_answer_comes_back_into_the_windows_thread(qtbot: QtBot) -> None:
    asker, listener = Asker(), Listener()
    asker.ask("who", threading.current_thread, listener.hear)
    qtbot.waitUntil(lambda: bool(listener.heard))
    assert listener.heard[0] is not threading.main_thread()
    assert listener.threads == [threading.main_thread()]
    asker.close()


def test_of_questions_with_one_key_only_the_newest_is_answered(qtbot: QtBot) -> None:
    asker, listener, gate = Asker(), Listener(), threading.Event()
    asker.ask("slow", gate.wait, listener.hear)
    for number in range(5):
        asker.ask("same", lambda number=number: number, listener.hear)
    gate.set()
    qtbot.waitUntil(lambda: len(listener.heard) == 2)
    assert listener.heard == [True, 4]
    asker.close()


def test_an_answer_to_somebody_who_is_gone_is_dropped(qtbot: QtBot) -> None:
    asker, gone, there = Asker(), Listener(), Listener()
    asker.ask("gone", lambda: 1, gone.hear)
    heard = gone.heard
    import shiboken6

    shiboken6.delete(gone)
    asker.ask("there", lambda: 2, there.hear)
    qtbot.waitUntil(lambda: bool(there.heard))
    assert heard == []
    asker.close()


def test_a_tournament_runs_in_a_qthread_and_tells_in_lists(desk: Desk, qtbot: QtBot) -> None:
    listener = Listener()
    desk.changed.connect(listener.hear)
    job = desk.league.start_tournament(game=QUICK, agents=BOTS, options={"rounds": 4}, seed=9)

    def saved() -> int:
        return sum(one.count for heard in listener.heard for one in heard if one.what == "matches")

    qtbot.waitUntil(lambda: not desk.league.running, timeout=30_000)
    qtbot.waitUntil(lambda: saved() == 4 * 30)
    assert desk.league.league.tournament(job.number).played == 4 * 30
    assert len(listener.heard) < 60
    assert set(listener.threads) == {threading.main_thread()}


def test_a_change_can_be_undone_and_done_again(desk: Desk) -> None:
    state = desk.league
    desk.do("archive Dice", lambda: state.archive("Dice"), lambda: state.archive("Dice", undo=True))
    assert "Dice" not in [one.name for one in state.agents()]
    desk.undo.undo()
    assert "Dice" in [one.name for one in state.agents()]
    desk.undo.redo()
    assert "Dice" not in [one.name for one in state.agents()]


def test_each_game_with_its_options_is_looked_at_by_itself(desk: Desk) -> None:
    assert desk.pool == QUICK
    assert pools(desk.league)[0] == QUICK
