"""Plays a tournament: what is missing goes to an executor or, when it is watched, to a live match at a time.

Pause, resume, stop and the visual toggle may be used at any moment from any thread. Whatever is pressed when, every
match is recorded once: what to play next is always asked of the books.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from engine.errors import NotNow, RingsideError, StorageFailed
from engine.league.storage.tournaments import Book
from engine.league.entries import Entries, Entry
from engine.league.schedule import Planned
from engine.league.result_writer import Recorder
from engine.league.records import State, Tournament
from engine.league.storage.league import League
from engine.play.failures import Conduct, unplayed
from engine.play.executors import Executor
from engine.play.live import LiveMatch
from engine.play.match import EndingKind, MatchResult, MatchSpec
from engine.play.results import ResultBatch
from engine.registry import is_person

GLANCE = 0.02  # seconds that asking how it goes may take


class Stage(Protocol):
    """Where matches are played: many at once, or one for a viewer."""

    def executor(self) -> Executor: ...
    def watch(self, spec: MatchSpec) -> LiveMatch: ...
    @property
    def in_this_thread(self) -> bool:
        """Whether the thread that asks for results plays them itself, and must recall the rest itself too."""

    def hold(self, yes: bool) -> None:
        """Keep back what is not being played yet, or let go of it; from any thread. A run of which nothing is being
        played any more meanwhile ends."""

    @property
    def waiting(self) -> int:
        """Matches that were taken and are not being played."""

    def stop_now(self) -> None:
        """Break off what the executor plays, if it can; else it ends with the next result."""


class Wish(IntEnum):
    """What was asked for last; each is stronger than the one before."""

    PLAY = 0
    PAUSE = 1
    FINISH = 2  # what is being played, then stop
    STOP = 3  # now
    CANCEL = 4  # now, and for good


@dataclass(frozen=True)
class Progress:
    """How far it is, and what is happening in a few words."""

    tournament: int
    state: State
    played: int
    total: int
    text: str


class TournamentRun:
    """One tournament while it is played; `run` it in a thread of your own."""

    def __init__(
        self,
        league: League,
        number: int,
        stage: Stage,
        *,
        visual: bool = False,
        heard: Callable[[Sequence[Entry]], None] = lambda entries: None,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        """`heard` is told what has been saved, in batches; `changed` that `progress` or `live` is another."""
        self.book = Book(league, number)
        if not self.book.tournament.state.open:
            state = self.book.tournament.state.value
            raise NotNow(f"{self.book.tournament.name!r} is {state}: start another one, or lift its quarantine")
        self._stage, self._heard, self._changed = stage, heard, changed
        self._news = threading.Condition()
        self._people = {id for id, spec in self.book.agents().items() if is_person(spec)}
        self._wish, self._visual = Wish.PLAY, visual or self.with_people > 0
        self._dealing: dict[str, Planned] = {}
        self._live: LiveMatch | None = None
        self._batch: Executor | None = None
        self._conduct = Conduct()
        self._trouble: str | None = None
        self._paused = self._over = False
        self._said = "playing"
        self.watched = self.was_paused = False  # whether any match of it was shown, whether it ever stood still
        self.error: Exception | None = None
        self.unsaved = 0
        self._recorder: Recorder | None = None

    # What a person may ask for

    def pause(self) -> None:
        """What is being played in batches is finished; a match that is watched stands still, its clocks too."""
        with self._news:
            if self._wish is Wish.PLAY:
                self._ask(Wish.PAUSE)
                if self._live is not None:
                    self._live.pause()

    def resume(self) -> None:
        with self._news:
            if self._wish in (Wish.PAUSE, Wish.FINISH):
                self._ask(Wish.PLAY)
                self._go_on()

    def finish(self) -> None:
        """Stop when what is being played is over."""
        with self._news:
            if self._wish < Wish.FINISH:
                if self._wish is Wish.PAUSE:
                    self._go_on()
                self._ask(Wish.FINISH)

    def _go_on(self) -> None:
        if self._live is not None:
            self._live.resume() if self._visual else self._live.finish()

    def stop(self, cancel: bool = False) -> None:
        """Now: what is being played is broken off, and played again should it be resumed. Cancelled is for good."""
        with self._news:
            self._ask(Wish.CANCEL if cancel else max(self._wish, Wish.STOP))
            if self._recorder is not None:
                self._recorder.give_up()
            if self._live is not None:
                self._live.close()
            if self._batch is not None:
                self._stage.stop_now()

    @property
    def visual(self) -> bool:
        return self._visual

    @visual.setter
    def visual(self, on: bool) -> None:
        """On: batches run out, then one match at a time. Off: the match that is shown is played on at full speed; not
        while a person has still to play."""
        if not on and (count := self.with_people):
            raise NotNow(f"you play in {count:,} remaining {'match' if count == 1 else 'matches'}")
        with self._news:
            if on == self._visual:
                return
            self._visual = on
            self._keep_back()
            if self._live is not None and on:
                self._live.finish(False)
            elif self._live is not None and self._wish is not Wish.PAUSE:
                self._live.finish()
        self._changed()

    @property
    def with_people(self) -> int:
        """Matches still to be played in which a person sits; they are shown, whatever else is wished for."""
        return sum(self._seats_person(one) for one in self.book.missing()) if self._people else 0

    def _seats_person(self, planned: Planned) -> bool:
        return bool(self._people) and any(player.id in self._people for player in planned.spec.players)

    @property
    def live(self) -> LiveMatch | None:
        """The match that is shown."""
        return self._live

    def _ask(self, wish: Wish) -> None:
        self._wish = wish
        self._keep_back()
        self._news.notify_all()

    def _keep_back(self) -> None:
        """What is wished for has changed: batches go on, or run out. Not from a signal handler: it may wait, and what
        it waits for must not be interrupted by another one."""
        if self._batch is not None:
            self._stage.hold(self._run_out)

    @property
    def _run_out(self) -> bool:
        return self._wish is not Wish.PLAY or self._visual

    def progress(self) -> Progress:
        tournament, played = self.book.tournament, self.book.played
        still = self._paused or (self._wish is Wish.PAUSE and self._live is not None)
        state = State.PAUSED if still else tournament.state
        return Progress(tournament.number, state, played, max(self.book.plan.length, played), self._text())

    def _text(self) -> str:
        """Hardly ever waiting, for a window: while something is being recalled, what was said before."""
        if self._news.acquire(timeout=GLANCE):
            try:
                self._said = self._words()
            finally:
                self._news.release()
        return self._said

    def _words(self) -> str:
        if self._over:
            return self.book.tournament.state.value
        if self._trouble is not None:
            return f"waiting: {self._trouble}"
        finishing = max(len(self._dealing) - self._stage.waiting, 0)
        if self._wish is Wish.PAUSE:
            return "paused" if self._paused or self._live is not None else f"{finishing} finishing, then paused"
        if self._wish is not Wish.PLAY:
            return "stopping" if self._wish > Wish.FINISH else f"{finishing} finishing, then stopped"
        if self._live is not None:
            return "live" if self._visual else "finishing the live match, then batches"
        return f"{finishing} finishing, then live" if self._visual and self._batch is not None else "playing"

    # Playing

    def run(self) -> Tournament:
        """Until it is over or was stopped; what went wrong is in `error` and in the tournament's note."""
        self._recorder = Recorder(self.book, self._save, self._have_trouble)
        try:
            self.book.settle(State.RUNNING)
            self._changed()
            while not self.book.over and self._ready():
                if not self._visual and self.with_people:  # the format has just seated one
                    self.visual = True
                self._play_live() if self._visual else self._play_batch()
                self._recorder.drain()
        except Exception as error:  # whatever it is, it is told to whoever waits, and what was played is saved
            self.error = error
        finally:
            self._recorder.close()
            self.unsaved = self._recorder.unsaved
        return self._end()

    def _ready(self) -> bool:
        """Wait while it is paused; whether to go on."""
        with self._news:
            pausing = self._wish is Wish.PAUSE
        if pausing:
            self._set_paused(True)
            with self._news:
                self._news.wait_for(lambda: self._wish is not Wish.PAUSE)
            self._set_paused(False)
        return self._wish < Wish.FINISH

    def _set_paused(self, paused: bool) -> None:
        self._paused = paused
        self.was_paused = True
        self.book.settle(State.PAUSED if paused else State.RUNNING)
        self._changed()

    def _play_batch(self) -> None:
        executor = self._stage.executor()
        with self._news:
            self._batch = executor
            self._keep_back()
        self._changed()
        batches = executor.batches(self._coming())
        try:
            for batch in batches:
                self._put(Entries([self._dealing.pop(spec.id).place for spec in batch.specs], batch))
                if self._stage.in_this_thread and self._run_out:
                    for spec in executor.recall():
                        self._dealing.pop(spec.id, None)
                    if self._wish > Wish.FINISH:
                        break  # worker processes are told to stop; here it is enough not to go on
        finally:
            if hasattr(batches, "close"):
                batches.close()
            with self._news:
                self._batch = None
                self._stage.hold(False)
            self._dealing.clear()

    def _coming(self) -> Iterator[MatchSpec]:
        """What is missing and needs nobody. Worker processes are held back when something else is wished for; in this
        thread there is nothing more then."""
        here = self._stage.in_this_thread
        for planned in self.book.missing():
            if here and self._run_out:
                return
            if not self._seats_person(planned) and not self._refused(planned):
                self._dealing[planned.spec.id] = planned
                yield planned.spec

    def _refused(self, planned: Planned) -> bool:
        """Whether a player of it is quarantined, in this run or in one before."""
        if not self.book.quarantined and not self._conduct.failed:
            return False
        spec = planned.spec
        seats = tuple(seat for seat, one in enumerate(spec.players) if one.id in self.book.quarantined)
        refusal = self._conduct.refusal(spec)
        if seats:
            names = " and ".join(dict.fromkeys(spec.players[seat].id for seat in seats))
            refusal = unplayed(spec, EndingKind.QUARANTINED, f"{names} failed too often before", seats)
        if refusal is not None:
            self._put_one(planned, refusal, wait=False)  # the executor holds a lock while it asks for matches
        return refusal is not None

    def _play_live(self) -> None:
        planned = next((one for one in self.book.missing() if not self._refused(one)), None)
        if planned is None:
            return
        with self._news:
            if self._wish is not Wish.PLAY or not self._visual:
                return
            live = self._live = self._stage.watch(planned.spec)
            self.watched = True
        self._changed()
        try:
            result = live.wait()
        finally:
            with self._news:
                self._live = None
            live.close()
        assert result is not None
        self._conduct.note(planned.spec, result)
        self._put_one(planned, result)
        self._changed()

    def _put_one(self, planned: Planned, result: MatchResult, wait: bool = True) -> None:
        self._put(Entries([planned.place], ResultBatch.of([planned.spec], [result])), wait)

    def _put(self, entries: Entries, wait: bool = True) -> None:
        assert self._recorder is not None
        self._recorder.put(entries, wait)

    def _save(self, added: list[Entries]) -> None:
        for entries in added:
            self._heard(entries)
        self._changed()

    def _have_trouble(self, told: str | None) -> None:
        self._trouble = told
        self._changed()

    def _end(self) -> Tournament:
        over = self.book.over
        state = State.FINISHED if over else State.CANCELLED if self._wish is Wish.CANCEL else State.STOPPED
        note = "" if over else str(self.error) if self.error else ""
        if self.unsaved:
            note = f"{self.unsaved:,} results could not be saved, and will be played again. {note}".strip()
        try:
            self.book.settle(state, note)
        except RingsideError as error:  # the disk is still full: the file says "running", which can be resumed too
            self.error = StorageFailed(f"{note} {error}") if self.unsaved else self.error or error
        self._over = True
        self._changed()
        return self.book.tournament


def lift(league: League, number: int) -> int:
    """Give those another chance who failed too often, and void matches another try; how many are to be played."""
    tournament = league.tournament(number)
    if tournament.state is State.CANCELLED:
        raise NotNow(f"{tournament.name!r} is {tournament.state.value}: its quarantine cannot be lifted")
    return Book(league, number).forget_unfinished()
