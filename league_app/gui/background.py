"""Work beside the window: the one module that knows both Qt's signals and what the league tells.

Jobs run in threads of their own; what they tell reaches the window in lists, at most twenty times a second. Whatever is
to be done with an answer is a method of an object that lives in the window's thread: a plain function would be called
in the worker's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, QThread, QTimer, Signal, Slot
from shiboken6 import isValid

from league_app.core.changes import Change
from league_app.core.state import LeagueState

PERIOD = 50  # milliseconds between two lists
Question = Callable[[], Any]
Answer = Callable[[Any], None]


class Worker(QObject):
    """Drives one job on a QThread."""

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


class Threads(QObject):
    """A QThread for each job: `start` is what a LeagueState calls, from any thread."""

    _asked = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._running: dict[QThread, Worker] = {}
        self._asked.connect(self._begin)

    def start(self, body: Callable[[], None]) -> None:
        self._asked.emit(body)  # at once in the window's thread, queued from any other

    @Slot(object)
    def _begin(self, body: Callable[[], None]) -> None:
        thread, worker = QThread(), Worker(body)
        worker.moveToThread(thread)
        thread.started.connect(worker.work)
        worker.done.connect(thread.quit)
        thread.finished.connect(self._sweep)
        self._running[thread] = worker
        thread.start()

    @Slot()
    def _sweep(self) -> None:
        for thread in [one for one in self._running if one.isFinished()]:
            thread.wait()
            del self._running[thread]

    def wait(self) -> None:
        """Until all of them have ended; whoever calls has told them to."""
        for thread in list(self._running):
            thread.quit()  # what its worker asks of it would come to this thread, which waits
            thread.wait()
        self._running.clear()


class Bridge(QObject):
    """What a league tells, from whichever thread, as lists in the window's thread."""

    changed = Signal(object)  # list of Change
    _news = Signal()

    def __init__(self, state: LeagueState, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lock = threading.Lock()
        self._waiting: list[Change] = []
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(PERIOD)
        self._timer.timeout.connect(self._tell)
        self._news.connect(self._soon)
        self._end = state.notices.subscribe(self._hear)

    def _hear(self, changes: list[Change]) -> None:
        with self._lock:
            first = not self._waiting
            self._waiting += changes
        if first:
            self._news.emit()

    @Slot()
    def _soon(self) -> None:
        if not self._timer.isActive():
            self._timer.start()

    @Slot()
    def _tell(self) -> None:
        with self._lock:
            told, self._waiting = self._waiting, []
        if told:
            self.changed.emit(told)

    def close(self) -> None:
        self._end()
        self._timer.stop()


class _Reader(QObject):
    """Answers questions in its thread, one after the other."""

    answered = Signal(object, object, object)  # ticket, answer, error

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._questions: dict[str, tuple[int, Question]] = {}  # by key: a newer one takes the place of an older

    def add(self, key: str, ticket: int, question: Question) -> None:
        with self._lock:
            self._questions.pop(key, None)
            self._questions[key] = ticket, question

    @Slot()
    def look(self) -> None:
        with self._lock:
            if not self._questions:
                return
            key = next(iter(self._questions))
            ticket, question = self._questions.pop(key)
        try:
            self.answered.emit((key, ticket), question(), None)
        except Exception as error:  # whoever asked is told
            self.answered.emit((key, ticket), None, error)

    def forget(self) -> None:
        with self._lock:
            self._questions.clear()


class Asker(QObject):
    """Questions that may take a while, answered without holding up the window.

    Of questions with one key only the newest is answered. An answer goes to a method of a QObject of this thread, and
    to nobody once that is gone.
    """

    failed = Signal(object)  # an Exception that nobody else was to hear of
    _asked = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._thread, self._reader = QThread(), _Reader()
        self._reader.moveToThread(self._thread)
        self._asked.connect(self._reader.look)
        self._reader.answered.connect(self._deliver)
        self._tickets: dict[str, tuple[int, Answer, Answer | None]] = {}
        self._count = 0
        self._thread.start()

    def ask(self, key: str, question: Question, answer: Answer, failed: Answer | None = None) -> None:
        """`question` is called in another thread, `answer` with what it returns in this one."""
        self._count += 1
        self._tickets[key] = self._count, answer, failed
        self._reader.add(key, self._count, question)
        self._asked.emit()

    @Slot(object, object, object)
    def _deliver(self, ticket: tuple[str, int], answer: object, error: Exception | None) -> None:
        key, number = ticket
        if key not in self._tickets or self._tickets[key][0] != number:
            return  # asked again meanwhile
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

    def forget(self) -> None:
        """Nobody wants the answers any more: the league is another."""
        self._reader.forget()
        self._tickets.clear()

    def close(self) -> None:
        self.forget()
        self._thread.quit()
        self._thread.wait()
