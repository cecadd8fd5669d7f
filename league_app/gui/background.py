"""Background work: the one module that knows both Qt signals and the league's change notifications.

Jobs run in threads of their own; their notifications reach the window in batches (`ChangeFeed` makes them). The
handler of an answer must be a method of a QObject in the window's thread: a plain function would run in the worker's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, Qt, QThread, Signal, Slot
from shiboken6 import isValid

from league_app.core.changes import Change
from league_app.core.state import LeagueState

Key = str | int  # of a query, its name; of a command, its number
Question = Callable[[], Any]
Answer = Callable[[Any], None]


class BackgroundWorker(QObject):
    """Runs one job in a QThread."""

    done = Signal()

    def __init__(self, body: Callable[[], None]) -> None:
        super().__init__()
        self._body = body

    @Slot()
    def work(self) -> None:
        try:
            self._body()  # a job reports its own failures
        finally:
            self.done.emit()


class JobThreads(QObject):
    """One QThread per job; LeagueState calls `start`, from any thread.

    A thread starts at once: a job that waited for the window's thread would never end if that is closing the league.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lock = threading.Lock()
        self._running: dict[QThread, BackgroundWorker] = {}

    def start(self, body: Callable[[], None]) -> None:
        thread, worker = QThread(), BackgroundWorker(body)
        worker.moveToThread(thread)
        thread.started.connect(worker.work)
        worker.done.connect(thread.quit, Qt.ConnectionType.DirectConnection)  # `thread` may belong to a blocked thread
        thread.finished.connect(self._remove_finished)
        with self._lock:
            self._running[thread] = worker
        thread.start()

    @Slot()
    def _remove_finished(self) -> None:
        with self._lock:
            finished = [thread for thread in self._running if thread.isFinished()]
            for thread in finished:
                del self._running[thread]
        for thread in finished:
            thread.wait()

    def wait(self) -> None:
        """Waits until all jobs have ended; the caller has stopped them."""
        with self._lock:
            running = dict(self._running)
        for thread in running:
            thread.wait()
        with self._lock:
            for thread in running:
                self._running.pop(thread, None)


class ChangeBridge(QObject):
    """Delivers a league's change notifications, from any thread, to the window's thread; together if it was busy."""

    changed = Signal(object)  # list of Change
    _pending = Signal()

    def __init__(self, state: LeagueState, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lock = threading.Lock()
        self._waiting: list[Change] = []
        self._pending.connect(self._emit_changes, Qt.ConnectionType.QueuedConnection)
        self._unsubscribe = state.notices.subscribe(self._receive)

    def _receive(self, changes: list[Change]) -> None:
        with self._lock:
            first = not self._waiting
            self._waiting += changes
        if first:
            self._pending.emit()

    @Slot()
    def _emit_changes(self) -> None:
        with self._lock:
            changes, self._waiting = self._waiting, []
        if changes:
            self.changed.emit(changes)

    def close(self) -> None:
        self._unsubscribe()
        with self._lock:
            self._waiting = []


class _TaskWorker(QObject):
    """Runs tasks in its thread, one after the other."""

    answered = Signal(object, object, object)  # ticket, answer, error

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._questions: dict[Key, tuple[int, Question]] = {}  # a newer query replaces an older one with its key

    def add(self, key: Key, ticket: int, question: Question) -> None:
        with self._lock:
            self._questions.pop(key, None)
            self._questions[key] = ticket, question

    @Slot()
    def run_next(self) -> None:
        with self._lock:
            if not self._questions:
                return
            key = next(iter(self._questions))
            ticket, question = self._questions.pop(key)
        try:
            self.answered.emit((key, ticket), question(), None)
        except Exception as error:  # passed to the caller
            self.answered.emit((key, ticket), None, error)

    def drop_queries(self) -> None:
        with self._lock:
            self._questions = {key: task for key, task in self._questions.items() if isinstance(key, int)}


class TaskQueue(QObject):
    """A background thread with a queue of tasks.

    Queries (`submit`) may be superseded: of several with one key only the newest is answered. Commands (`run`) are not:
    each runs exactly once, in order. The answer is passed to a method of a QObject of this thread, and dropped if that
    object was deleted.
    """

    failed = Signal(object)  # an Exception of a task submitted without `failed`
    _submitted = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._thread, self._worker = QThread(), _TaskWorker()
        self._worker.moveToThread(self._thread)
        self._submitted.connect(self._worker.run_next)
        self._worker.answered.connect(self._deliver)
        self._tickets: dict[Key, tuple[int, Answer, Answer | None]] = {}
        self._count = 0
        self._thread.start()

    def run(self, command: Question, answer: Answer, failed: Answer | None = None) -> None:
        """Runs a command: after those before it, exactly once, and its answer always comes."""
        self._add(self._count + 1, command, answer, failed)

    def submit(self, key: str, question: Question, answer: Answer, failed: Answer | None = None) -> None:
        """Asks a query: calls `question` in the background thread, then `answer` with its result in this one."""
        self._add(key, question, answer, failed)

    def _add(self, key: Key, question: Question, answer: Answer, failed: Answer | None) -> None:
        self._count += 1
        self._tickets[key] = self._count, answer, failed
        self._worker.add(key, self._count, question)
        self._submitted.emit()

    @Slot(object, object, object)
    def _deliver(self, ticket: tuple[Key, int], answer: object, error: Exception | None) -> None:
        key, number = ticket
        if key not in self._tickets or self._tickets[key][0] != number:
            return  # replaced by a newer task
        _, answered, failed = self._tickets.pop(key)
        owner = getattr(answered, "__self__", None)
        if isinstance(owner, QObject) and not isValid(owner):
            return
        if error is None:
            answered(answer)
        elif failed is not None:
            failed(error)
        else:
            self.failed.emit(error)

    @property
    def waiting(self) -> bool:
        return bool(self._tickets)

    def clear(self) -> None:
        """Drops waiting queries and all pending answers, when the league is closed; commands that wait still run."""
        self._worker.drop_queries()
        self._tickets.clear()

    def close(self) -> None:
        self.clear()
        self._thread.quit()
        self._thread.wait()
