"""Saves results in batches, in a thread of its own, while further matches are played."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable

from engine.errors import LeagueGone, StorageFailed
from engine.league.storage.result_columns import PlayedEntries
from engine.league.storage.tournaments import TournamentStore

GATHER = 0.1  # seconds for which results are collected into one transaction
ENOUGH = 1000  # results that are written at once: what is left at the end of a run is written while nothing plays
BATCH = 2000  # about the most results in one transaction
BACKLOG = 20_000  # results that may wait; beyond that `submit` blocks
RETRY = 1.0  # seconds between attempts to write to a full disk
LOOK = 0.5  # seconds between two looks whether the file is still there, while no results arrive


class ResultWriter:
    """`submit` results from one thread. `on_saved` receives those on the disk, `on_trouble` why none can be saved (None
    when they can again). `on_failure` is called when none can be saved any more, such as when the file was deleted;
    `submit` and `drain` raise the error from then on."""

    def __init__(
        self,
        store: TournamentStore,
        on_saved: Callable[[list[PlayedEntries]], None],
        on_trouble: Callable[[str | None], None],
        on_failure: Callable[[], None],
    ) -> None:
        self._store, self._on_saved, self._on_trouble, self._on_failure = store, on_saved, on_trouble, on_failure
        self._batches: list[PlayedEntries] = []
        self._waiting = 0  # results in them
        self._since = 0.0  # when the first of them arrived, or shortly before
        self._condition = threading.Condition()
        self._closing = self._hurry = self._busy = self._give_up = False
        self._error: BaseException | None = None
        self.unsaved = 0  # results that were discarded
        self._thread = threading.Thread(target=self._work, name="result-writer", daemon=True)
        self._thread.start()

    def submit(self, entries: PlayedEntries, wait: bool = True) -> None:
        """Queues results; blocks while the backlog is full, unless `wait` is False."""
        with self._condition:
            if wait and self._waiting >= BACKLOG:
                self._condition.wait_for(lambda: self._waiting < BACKLOG or self._error or self._give_up)
            self._check()
            before, self._waiting = self._waiting, self._waiting + len(entries)
            if not before:
                self._since = time.monotonic()
            self._batches.append(entries)
            if not before or before < ENOUGH <= self._waiting:
                self._condition.notify_all()

    def drain(self) -> None:
        """Waits until everything is saved or given up."""
        with self._condition:
            self._hurry = True
            self._condition.notify_all()
            self._condition.wait_for(lambda: (not self._batches and not self._busy) or self._error)
            self._hurry = False
            self._check()

    def give_up(self) -> None:
        """Stops retrying a full disk: results that cannot be saved are discarded, and their matches played again."""
        with self._condition:
            self._give_up = True
            self._condition.notify_all()

    def close(self) -> None:
        with self._condition:
            self._closing = True
            self._condition.notify_all()
        self._thread.join()

    def _check(self) -> None:
        if self._error is not None:
            raise self._error

    def _work(self) -> None:
        try:
            while self._collect():
                self._save()
        except BaseException as error:  # raised again in the thread that submits
            with self._condition:
                self.unsaved += self._waiting
                self._error, self._busy = error, False
                self._condition.notify_all()
            self._on_failure()

    def _collect(self) -> bool:
        """Waits for results, and a little for more; returns whether there are any."""
        with self._condition:
            while not self._condition.wait_for(lambda: self._batches or self._closing, LOOK):
                self._store.league.file.check_in_place()
            until = self._since + GATHER
            while self._waiting < ENOUGH and not (self._hurry or self._closing):
                left = until - time.monotonic()
                if left <= 0:
                    break
                self._condition.wait(left)
            self._busy = bool(self._batches)
            return self._busy

    def _save(self) -> None:
        began, taken = time.monotonic(), self._next()
        added, failed = list[PlayedEntries](), False
        while True:
            try:
                added = self._store.record_batches(taken)
                break
            except LeagueGone:
                raise
            except StorageFailed as error:
                failed = True
                self._on_trouble(str(error))
                with self._condition:
                    self._condition.wait_for(lambda: self._give_up or self._closing, RETRY)
                    if self._give_up or self._closing:
                        self.unsaved += self._waiting
                        self._batches.clear()
                        taken = []
                        break
        if failed:
            self._on_trouble(None)
        if added:
            self._on_saved(added)
        with self._condition:
            del self._batches[: len(taken)]
            self._waiting, self._since = sum(map(len, self._batches)), began
            self._busy = False
            self._condition.notify_all()

    def _next(self) -> list[PlayedEntries]:
        """The batches of one transaction: at least one."""
        sizes = itertools.accumulate(map(len, list(self._batches)))
        return self._batches[: max(sum(size <= BATCH for size in sizes), 1)]
