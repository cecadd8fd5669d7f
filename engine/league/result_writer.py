"""Brings results to the disk, a batch at a time, in a thread of its own, while the next ones are being played."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable

from engine.errors import StorageFailed
from engine.league.storage.tournaments import Book
from engine.league.entries import Entries

GATHER = 0.1  # seconds for which results are collected into one transaction
BATCH = 2000  # and about how many at most
BACKLOG = 20_000  # results that may wait; beyond that whoever plays must wait too
RETRY = 1.0  # seconds until a full disk is tried again


class Recorder:
    """`put` results from one thread; `saved` hears what is on the disk, `trouble` why nothing gets there."""

    def __init__(
        self, book: Book, saved: Callable[[list[Entries]], None], trouble: Callable[[str | None], None]
    ) -> None:
        self._book, self._saved, self._trouble = book, saved, trouble
        self._batches: list[Entries] = []
        self._waiting = 0  # results in them
        self._news = threading.Condition()
        self._closing = self._hurry = self._busy = self._give_up = False
        self._error: BaseException | None = None
        self.unsaved = 0  # results that were given up
        self._thread = threading.Thread(target=self._work, name="recorder", daemon=True)
        self._thread.start()

    def put(self, entries: Entries, wait: bool = True) -> None:
        """Where too many are waiting already, so does this, unless it must not."""
        with self._news:
            if wait and self._waiting >= BACKLOG:
                self._news.wait_for(lambda: self._waiting < BACKLOG or self._error or self._give_up)
            self._check()
            before, self._waiting = self._waiting, self._waiting + len(entries)
            self._batches.append(entries)
            if not before or before < BATCH <= self._waiting:
                self._news.notify_all()

    def drain(self) -> None:
        """Wait until everything is on the disk, however long that takes; or until it is given up."""
        with self._news:
            self._hurry = True
            self._news.notify_all()
            self._news.wait_for(lambda: (not self._batches and not self._busy) or self._error)
            self._hurry = False
            self._check()

    def give_up(self) -> None:
        """Do not wait for a disk that takes nothing: what it does not take is to be played again."""
        with self._news:
            self._give_up = True
            self._news.notify_all()

    def close(self) -> None:
        with self._news:
            self._closing = True
            self._news.notify_all()
        self._thread.join()

    def _check(self) -> None:
        if self._error is not None:
            raise self._error

    def _work(self) -> None:
        try:
            while self._collect():
                self._save()
        except BaseException as error:  # it is raised again in the thread that plays
            with self._news:
                self._error, self._busy = error, False
                self._news.notify_all()

    def _collect(self) -> bool:
        """Wait for some, and a little for more; whether there are any."""
        with self._news:
            self._news.wait_for(lambda: self._batches or self._closing)
            until = time.monotonic() + GATHER
            while self._waiting < BATCH and not (self._hurry or self._closing):
                left = until - time.monotonic()
                if left <= 0:
                    break
                self._news.wait(left)
            self._busy = bool(self._batches)
            return self._busy

    def _save(self) -> None:
        taken = self._next()
        added, told = list[Entries](), False
        while True:
            try:
                added = self._book.record_batches(taken)
                break
            except StorageFailed as error:
                told = True
                self._trouble(str(error))
                with self._news:
                    self._news.wait_for(lambda: self._give_up or self._closing, RETRY)
                    if self._give_up or self._closing:
                        self.unsaved += self._waiting
                        self._batches.clear()
                        taken = []
                        break
        if told:
            self._trouble(None)
        if added:
            self._saved(added)
        with self._news:
            del self._batches[: len(taken)]
            self._waiting = sum(map(len, self._batches))
            self._busy = False
            self._news.notify_all()

    def _next(self) -> list[Entries]:
        """What goes into one transaction: at least one batch."""
        sizes = itertools.accumulate(map(len, list(self._batches)))
        return self._batches[: max(sum(size <= BATCH for size in sizes), 1)]
