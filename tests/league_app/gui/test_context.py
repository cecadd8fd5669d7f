"""AppContext and its background task queue."""

from __future__ import annotations

import threading
from typing import Any

from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from league_app.gui.background import TaskQueue
from league_app.gui.context import AppContext, pools
from tests.league_app.gui.conftest import BOTS, QUICK


class Listener(QObject):
    def __init__(self) -> None:
        super().__init__()
        self.results: list[Any] = []
        self.threads: list[threading.Thread] = []

    def receive(self, what: object) -> None:
        self.results.append(what)
        self.threads.append(threading.current_thread())


def test_a_result_is_delivered_in_the_gui_thread(qtbot: QtBot) -> None:
    queue, listener = TaskQueue(), Listener()
    queue.submit("who", threading.current_thread, listener.receive)
    qtbot.waitUntil(lambda: bool(listener.results))
    assert listener.results[0] is not threading.main_thread()
    assert listener.threads == [threading.main_thread()]
    queue.close()


def test_of_tasks_with_the_same_key_only_the_newest_runs(qtbot: QtBot) -> None:
    queue, listener, gate = TaskQueue(), Listener(), threading.Event()
    queue.submit("slow", gate.wait, listener.receive)
    for number in range(5):
        queue.submit("same", lambda number=number: number, listener.receive)
    gate.set()
    qtbot.waitUntil(lambda: len(listener.results) == 2)
    assert listener.results == [True, 4]
    queue.close()


def test_a_result_for_a_deleted_receiver_is_dropped(qtbot: QtBot) -> None:
    queue, gone, there = TaskQueue(), Listener(), Listener()
    queue.submit("gone", lambda: 1, gone.receive)
    results = gone.results
    import shiboken6

    shiboken6.delete(gone)
    queue.submit("there", lambda: 2, there.receive)
    qtbot.waitUntil(lambda: bool(there.results))
    assert results == []
    queue.close()


def test_a_tournament_runs_in_a_thread_and_changes_arrive_in_batches(context: AppContext, qtbot: QtBot) -> None:
    listener = Listener()
    context.changed.connect(listener.receive)
    job = context.league.start_tournament(game=QUICK, agents=BOTS, options={"rounds": 4}, seed=9)

    def saved() -> int:
        return sum(result.count for results in listener.results for result in results if result.what == "matches")

    qtbot.waitUntil(lambda: not context.league.running)
    qtbot.waitUntil(lambda: saved() == 4 * 30)
    assert context.league.league.tournament(job.number).played == 4 * 30
    assert len(listener.results) < 60
    assert set(listener.threads) == {threading.main_thread()}


def test_a_change_can_be_undone_and_redone(context: AppContext) -> None:
    state = context.league
    context.push_undo("archive Dice", lambda: state.archive("Dice"), lambda: state.archive("Dice", undo=True))
    assert "Dice" not in [agent.name for agent in state.agents()]
    context.undo.undo()
    assert "Dice" in [agent.name for agent in state.agents()]
    context.undo.redo()
    assert "Dice" not in [agent.name for agent in state.agents()]


def test_each_set_of_game_options_is_a_pool_of_its_own(context: AppContext) -> None:
    assert context.pool == QUICK
    assert pools(context.league)[0] == QUICK
