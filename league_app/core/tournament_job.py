"""A tournament that is being played: its thread, its share of the cores, and what may be asked of it meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from engine.errors import StorageFailed
from engine.league.entries import Entry
from engine.league.estimate import rate_name
from engine.league.records import Tournament
from engine.league.tournament_runner import Progress, TournamentRun
from engine.play.concurrent import MOST_WORKERS
from league_app.core.changes import Change

if TYPE_CHECKING:
    from league_app.core.state import LeagueState

ENOUGH = 200  # matches that say something about speed


class TournamentJob:
    """A tournament that is played in a thread; `run` has pause, resume, finish, stop."""

    def __init__(self, state: LeagueState, number: int) -> None:
        self._state = state
        self.number = number
        self.name = state.league.tournament(number).name
        self._over = threading.Event()
        self._lease = state.budget.lease(MOST_WORKERS, self._resize)
        try:
            self.stage = state.stage(self._lease.cores)
            self.run = TournamentRun(
                state.league, number, self.stage, visual=state.show_visuals, heard=self._heard, changed=self._changed
            )
        except BaseException:
            self._lease.release()
            raise
        self.began = time.monotonic()
        self.before = self.run.book.played

    def __call__(self) -> None:
        """Play it: the body of its thread."""
        try:
            self.run.run()
            self._remember_rate()
        except Exception as error:  # whoever waits is told
            self.run.error = self.run.error or error
        finally:
            self._lease.release()
            try:
                self._state.job_ended(self)
            finally:
                self._over.set()

    def _remember_rate(self) -> None:
        """How fast it went, for the next estimate; unless it was watched, paused or played in this process."""
        book, seconds = self.run.book, time.monotonic() - self.began
        plain = self._state.use_concurrent and not self.run.watched and not self.run.was_paused
        if plain and book.played - self.before >= ENOUGH and self.run.error is None:
            rate = (book.played - self.before) / seconds / max(self._lease.cores, 1)
            with suppress(StorageFailed):  # no reason to call the tournament a failure
                self._state.league.remember(rate_name(book.tournament.settings.game), rate)

    def pause(self) -> None:
        self.run.pause()

    def resume(self) -> None:
        self.run.resume()

    def finish(self) -> None:
        """What is being played, then stop."""
        self.run.finish()

    def stop(self, cancel: bool = False) -> None:
        """Now."""
        self.run.stop(cancel)

    def progress(self) -> Progress:
        return self.run.progress()

    def ended(self) -> None:
        """Wait for its end, whatever that is like."""
        self._over.wait()

    def wait(self, timeout: float | None = None) -> Tournament | None:
        """The tournament as it stands at the end; None when that takes longer. What failed is raised."""
        if not self._over.wait(timeout):
            return None
        if self.run.error is not None:
            raise self.run.error
        return self.run.book.tournament

    def _heard(self, entries: Sequence[Entry]) -> None:
        self._state.notices.add(Change("matches", self.number, len(entries)), now=False)

    def _changed(self) -> None:
        run = getattr(self, "run", None)  # it tells before it is there
        if run is not None:
            self._state.notices.add(Change("progress", self.number), now=run.live is not None)

    def _resize(self, cores: int) -> None:
        stage = getattr(self, "stage", None)
        if stage is not None:
            stage.workers.workers = cores
