"""Task queues: queries may be superseded; commands run in order, exactly once, and are answered."""

from __future__ import annotations

import threading
from functools import partial

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from league_app.gui.background import JobThreads, TaskQueue


class Caller(QObject):
    def __init__(self) -> None:
        super().__init__()
        self.answers: list[object] = []
        self.errors: list[str] = []

    def receive(self, answer: object) -> None:
        self.answers.append(answer)

    def fail(self, error: Exception) -> None:
        self.errors.append(str(error))


@pytest.fixture
def queue(qtbot: QtBot) -> TaskQueue:
    queue = TaskQueue()
    yield queue  # type: ignore[misc]
    queue.close()


def blocked(queue: TaskQueue, caller: Caller) -> threading.Event:
    """Keep the queue's thread busy until the event is set."""
    release = threading.Event()
    queue.run(partial(release.wait, 60), caller.receive)
    return release


def test_commands_run_in_order_and_each_is_answered_once(queue: TaskQueue, qtbot: QtBot) -> None:
    caller, ran = Caller(), []
    release = blocked(queue, caller)
    for number in range(20):
        queue.run(partial(ran.append, number), caller.receive)
    release.set()
    qtbot.waitUntil(lambda: len(caller.answers) == 21)
    assert ran == list(range(20))
    assert not queue.waiting


def test_of_queries_with_one_key_only_the_newest_is_answered(queue: TaskQueue, qtbot: QtBot) -> None:
    caller, other = Caller(), Caller()
    release = blocked(queue, other)
    for number in range(20):
        queue.submit("page", partial(int, number), caller.receive)
    queue.submit("another page", partial(int, 99), caller.receive)
    release.set()
    qtbot.waitUntil(lambda: not queue.waiting)
    assert caller.answers == [19, 99]


def test_a_command_is_not_superseded_by_a_query(queue: TaskQueue, qtbot: QtBot) -> None:
    caller = Caller()
    release = blocked(queue, caller)
    queue.run(partial(str, "first"), caller.receive)
    queue.submit("key", partial(str, "query"), caller.receive)
    queue.run(partial(str, "second"), caller.receive)
    release.set()
    qtbot.waitUntil(lambda: not queue.waiting)
    assert caller.answers == [True, "first", "query", "second"]


def test_a_command_that_fails_tells_its_caller_and_the_next_one_runs(queue: TaskQueue, qtbot: QtBot) -> None:
    caller = Caller()

    def fail() -> None:
        raise ValueError("no")

    queue.run(fail, caller.receive, caller.fail)
    queue.run(partial(int, 2), caller.receive)
    qtbot.waitUntil(lambda: not queue.waiting)
    assert caller.errors == ["no"]
    assert caller.answers == [2]


def test_status_queries_do_not_wait_behind_a_command(qtbot: QtBot, context: object) -> None:
    caller = Caller()
    release = blocked(context.command_queue, caller)  # type: ignore[attr-defined]
    context.status_queue.submit("status", partial(int, 1), caller.receive)  # type: ignore[attr-defined]
    qtbot.waitUntil(lambda: caller.answers == [1])
    release.set()
    qtbot.waitUntil(lambda: caller.answers == [1, True])


def test_a_cleared_queue_runs_waiting_commands_and_drops_queries(queue: TaskQueue, qtbot: QtBot) -> None:
    caller, ran = Caller(), []
    release = blocked(queue, caller)
    queue.submit("page", partial(ran.append, "query"), caller.receive)
    queue.run(partial(ran.append, "command"), caller.receive)
    queue.clear()
    queue.run(partial(ran.append, "later"), caller.receive)
    release.set()
    qtbot.waitUntil(lambda: not queue.waiting)
    assert ran == ["command", "later"]
    assert caller.answers == [None], "only of the command after it was cleared"


def test_a_job_starts_and_ends_while_the_windows_thread_is_blocked(qtbot: QtBot) -> None:
    """As when the window closes the league while a command is starting a tournament."""
    threads, ended = JobThreads(), threading.Event()
    starter = threading.Thread(target=threads.start, args=(ended.set,))
    starter.start()
    assert ended.wait(120), "it does not wait for an event of the blocked thread"
    starter.join()
    threads.wait()
    threads.start(lambda: None)
    qtbot.waitUntil(lambda: not threads._running)
