"""TournamentJob: a tournament that is played in a thread, on its share of the cores."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from engine.errors import StorageFailed
from engine.league.estimate import rate_name
from engine.league.records import Tournament
from engine.league.storage.result_columns import PlayedEntry
from engine.league.tournament_runner import TournamentProgress, TournamentRun
from engine.play.executors import Executor
from engine.play.match import MatchSpec
from engine.play.play_settings import MOST_WORKERS
from league_app.core.changes import Change, ChangeKind
from league_app.core.context import LeagueContext

ENOUGH = 200  # matches needed to measure the speed


class TournamentJob:
    """Plays a tournament when it is called, in a thread of its own; control it from any other thread."""

    def __init__(
        self,
        context: LeagueContext,
        number: int,
        executor: Callable[[int], Executor],
        *,
        visual: bool,
        pace: Callable[[MatchSpec], float],
        most_workers: int = MOST_WORKERS,
        on_end: Callable[[TournamentJob], None],
    ) -> None:
        """`executor` returns where to play on so many cores, at most `most_workers`. `pace` is that of live matches.
        `on_end` is called in the job's thread."""
        self._context, self._on_end = context, on_end
        self.number = number
        self.name = context.league.tournament(number).name
        self._over = threading.Event()
        self._lease = context.budget.lease(most_workers, self._resize)
        try:
            self.executor = executor(self._lease.cores)
            self.run = TournamentRun(
                context.league,
                number,
                self.executor,
                visual=visual,
                pace=pace,
                on_saved=self._on_saved,
                on_change=self._on_change,
            )
        except BaseException:
            self._lease.release()
            raise
        self.began = time.monotonic()
        self._ended: float | None = None
        self.before = self.run.store.played

    def __call__(self) -> None:
        """Plays the tournament: the body of its thread."""
        try:
            self.run.run()
            self._remember_rate()
        except Exception as error:  # `wait` raises it
            self.run.error = self.run.error or error
        finally:
            self._ended = time.monotonic()
            self._lease.release()
            try:
                self._on_end(self)
            finally:
                self._over.set()

    def _remember_rate(self) -> None:
        """Saves the speed for the next estimate, unless matches were watched or paused."""
        book, seconds = self.run.store, self.seconds
        plain = not self.run.watched and not self.run.was_paused
        if plain and book.played - self.before >= ENOUGH and self.run.error is None:
            rate = (book.played - self.before) / seconds / self.executor.workers
            with suppress(StorageFailed):  # the tournament itself has not failed
                self._context.league.save_setting(rate_name(book.tournament.settings.game, self.executor.name), rate)

    @property
    def seconds(self) -> float:
        """Since it was started or resumed, until its end."""
        return (self._ended or time.monotonic()) - self.began

    def pause(self) -> None:
        self.run.pause()

    def resume(self) -> None:
        self.run.resume()

    def finish(self) -> None:
        """Stops after the running matches."""
        self.run.finish()

    def stop(self, cancel: bool = False) -> None:
        """Stops now; running matches are cancelled. A cancelled tournament cannot be resumed."""
        self.run.stop(cancel)

    def progress(self) -> TournamentProgress:
        return self.run.progress()

    def join(self) -> None:
        """Waits for the end; raises no error of the run."""
        self._over.wait()

    def wait(self, timeout: float | None = None) -> Tournament | None:
        """Waits for the end and returns the tournament, or None after the timeout. Raises the error of a failed run."""
        if not self._over.wait(timeout):
            return None
        if self.run.error is not None:
            raise self.run.error
        return self.run.store.tournament

    def _on_saved(self, entries: Sequence[PlayedEntry]) -> None:
        self._context.changes.add(Change(ChangeKind.MATCHES, self.number, len(entries)), now=False)

    def _on_change(self) -> None:
        run = getattr(self, "run", None)  # it may be called while TournamentRun is being constructed
        if run is not None:
            self._context.changes.add(Change(ChangeKind.PROGRESS, self.number), now=run.live is not None)

    def _resize(self, cores: int) -> None:
        executor = getattr(self, "executor", None)  # the lease may change before there is one
        if executor is not None:
            executor.workers = cores
