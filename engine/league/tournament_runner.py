"""Plays a tournament: missing matches go to an executor or, in visual mode, to one live match at a time.

Pause, resume, stop and the visual toggle may be used at any moment from any thread. Every match is recorded exactly
once, because the store always decides what to play next.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum

import numpy as np

from engine.errors import BrokenPlugin, LeagueGone, NotNow, RingsideError, StorageFailed
from engine.league.records import RunState, Tournament
from engine.league.result_writer import ResultWriter
from engine.league.schedule import ScheduledMatch
from engine.league.storage.league import League
from engine.league.storage.result_columns import PlayedEntries, PlayedEntry
from engine.league.storage.tournaments import CANCELLED, TournamentStore
from engine.play.executors import Executor
from engine.play.failures import FailureTracker, unplayed_result
from engine.play.live import LiveMatch, game_pace
from engine.play.match import EndingKind, MatchResult, MatchSpec
from engine.play.results import ResultBatch
from engine.registry import is_person

STATE_TIMEOUT = 0.02  # seconds that `progress` may wait for the state of the run


class Request(IntEnum):
    """The latest request; each value overrides those below it."""

    PLAY = 0
    PAUSE = 1
    FINISH = 2  # stop after the running matches
    STOP = 3  # now
    CANCEL = 4  # stop now, for good


class RunActivity(Enum):
    """What a run is doing."""

    PLAYING = "playing"  # batches
    LIVE = "live"  # one match at a time, shown
    TO_LIVE = "to live"  # batches run out, then matches are shown
    TO_BATCHES = "to batches"  # the live match finishes at full speed, then batches follow
    PAUSING = "pausing"  # running matches finish first
    PAUSED = "paused"
    FINISHING = "finishing"  # running matches, then it stops
    STOPPING = "stopping"  # now
    WAITING = "waiting"  # nothing can be saved
    OVER = "over"


DRAINING = (RunActivity.TO_LIVE, RunActivity.PAUSING, RunActivity.FINISHING)  # running matches finish first


@dataclass(frozen=True)
class TournamentProgress:
    """How far a tournament is, and what it is doing."""

    tournament: int
    state: RunState
    played: int
    total: int
    activity: RunActivity = RunActivity.PLAYING
    finishing: int = 0  # running matches that finish before a change takes effect
    trouble: str = ""  # why nothing can be saved

    @property
    def paused(self) -> bool:
        """Whether a pause was requested, even if matches are still finishing."""
        return self.activity in (RunActivity.PAUSING, RunActivity.PAUSED)

    @property
    def text(self) -> str:
        """What it is doing, in a few words."""
        special = {
            RunActivity.OVER: self.state.value,
            RunActivity.WAITING: f"waiting: {self.trouble}",
            RunActivity.PAUSING: f"{self.finishing} finishing, then paused",
            RunActivity.FINISHING: f"{self.finishing} finishing, then stopped",
            RunActivity.TO_LIVE: f"{self.finishing} finishing, then live",
            RunActivity.TO_BATCHES: "finishing the live match, then batches",
        }
        return str(special.get(self.activity, self.activity.value))


class TournamentRun:
    """Plays one tournament; call `run` in a thread of your own."""

    def __init__(
        self,
        league: League,
        number: int,
        executor: Executor,
        *,
        visual: bool = False,
        pace: Callable[[MatchSpec], float] = game_pace,
        on_saved: Callable[[Sequence[PlayedEntry]], None] = lambda entries: None,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        """`pace`: steps a second of a live match, asked when it starts. `on_saved` receives saved results in batches;
        `on_change` is called when `progress` or `live` changes."""
        self.store = TournamentStore(league, number)
        if not self.store.tournament.state.open:
            state = self.store.tournament.state.value
            raise NotNow(f"{self.store.tournament.name!r} is {state}: start a new one, or lift its quarantine")
        self._executor, self._pace, self._on_saved, self._on_change = executor, pace, on_saved, on_change
        self._condition = threading.Condition()
        self._people = {id for id, spec in self.store.agents().items() if is_person(spec)}
        self._request, self._visual = Request.PLAY, visual or self.with_people > 0
        self._running: dict[str, int] = {}  # places in the schedule, by id
        self._live: LiveMatch | None = None
        self._in_batch = self._was_held = False  # `_was_held`: the current batch may end with matches left
        self._failures = FailureTracker()
        self._trouble: str | None = None
        self._paused = self._over = False
        self._last_activity = RunActivity.PLAYING, 0, ""
        self.watched = self.was_paused = False  # whether any match was shown, whether it was ever paused
        self.shown, self.shown_seconds = 0, 0.0  # matches that were shown to their end, and the time that took
        self.error: Exception | None = None
        self.unsaved = 0
        self._writer: ResultWriter | None = None

    # Control

    def pause(self) -> None:
        """Finish running batches, then wait; a live match halts at once, and its clocks too."""
        with self._condition:
            if self._request is Request.PLAY:
                self._ask(Request.PAUSE)
                if self._live is not None:
                    self._live.pause()

    def resume(self) -> None:
        with self._condition:
            if self._request in (Request.PAUSE, Request.FINISH):
                self._ask(Request.PLAY)
                self._resume_live()
            elif self._live_paused:  # it began again, and waits for a person
                self._resume_live()

    def finish(self) -> None:
        """Stop after the running matches."""
        with self._condition:
            if self._request < Request.FINISH:
                if self._request is Request.PAUSE:
                    self._resume_live()
                self._ask(Request.FINISH)

    def _resume_live(self) -> None:
        if self._live is not None:
            self._live.resume() if self._visual else self._live.finish()

    def stop(self, cancel: bool = False) -> None:
        """Stop now. Running matches are cancelled, and played again after a resume; a cancelled run cannot resume."""
        with self._condition:
            self._ask(Request.CANCEL if cancel else max(self._request, Request.STOP))
            if self._writer is not None:
                self._writer.give_up()
            if self._live is not None:
                self._live.close()
            if self._in_batch:
                self._executor.stop(now=True)

    @property
    def visual(self) -> bool:
        return self._visual

    @visual.setter
    def visual(self, on: bool) -> None:
        """On: running batches finish, then matches are shown one at a time. Off: the live match continues at full
        speed; NotNow is raised while a person still has matches to play."""
        if not on and (count := self.with_people):
            remaining = f"{count:,} remaining {'match' if count == 1 else 'matches'}"
            raise NotNow(f"visual mode stays on while you play in {remaining}: play them, or stop the tournament")
        with self._condition:
            if on == self._visual:
                return
            self._visual = on
            self._update_hold()
            if self._live is not None and on:
                self._live.finish(False)
            elif self._live is not None and self._request is not Request.PAUSE:
                self._live.finish()
        self._on_change()

    @property
    def with_people(self) -> int:
        """Remaining matches with a person at a seat; these are always shown."""
        return sum(self._has_person(match) for match in self.store.missing()) if self._people else 0

    def _has_person(self, planned: ScheduledMatch) -> bool:
        return bool(self._people) and any(player.id in self._people for player in planned.spec.players)

    @property
    def live(self) -> LiveMatch | None:
        """The match that is shown."""
        return self._live

    def _ask(self, request: Request) -> None:
        self._request = request
        self._update_hold()
        self._condition.notify_all()

    def _update_hold(self) -> None:
        """Let batches continue or run out, after the request has changed. Not from a signal handler: it may wait for a
        lock, and a second signal would interrupt what holds it."""
        if self._in_batch:
            self._was_held = self._was_held or self._draining
            self._executor.hold(self._draining)

    @property
    def _draining(self) -> bool:
        return self._request is not Request.PLAY or self._visual

    def progress(self) -> TournamentProgress:
        tournament, played = self.store.tournament, self.store.played
        still = self._paused or self._live_paused
        state = RunState.PAUSED if still else tournament.state
        total = max(self.store.plan.length, played)
        if self._condition.acquire(timeout=STATE_TIMEOUT):  # else the last known one: it is busy while recalling
            try:
                self._last_activity = self._activity()
            finally:
                self._condition.release()
        return TournamentProgress(tournament.number, state, played, total, *self._last_activity)

    @property
    def _live_paused(self) -> bool:
        live = self._live
        return live is not None and live.paused

    def _activity(self) -> tuple[RunActivity, int, str]:
        """What it is doing, the matches that finish first, and why nothing can be saved."""
        if self._over:
            return RunActivity.OVER, 0, ""
        if self._trouble is not None:
            return RunActivity.WAITING, 0, self._trouble
        if self._request is Request.PAUSE:
            now = RunActivity.PAUSED if self._paused or self._live is not None else RunActivity.PAUSING
        elif self._request is not Request.PLAY:
            now = RunActivity.STOPPING if self._request > Request.FINISH else RunActivity.FINISHING
        elif self._live is not None:
            now = (
                RunActivity.PAUSED
                if self._live_paused
                else RunActivity.LIVE
                if self._visual
                else RunActivity.TO_BATCHES
            )
        else:
            now = RunActivity.TO_LIVE if self._visual and self._in_batch else RunActivity.PLAYING
        finishing = max(len(self._running) - self._executor.waiting, 0) + (self._live is not None)
        return now, finishing if now in DRAINING else 0, ""

    # Playing

    def run(self) -> Tournament:
        """Play until the tournament is over or stopped; an error is in `error` and in the tournament's note."""
        self._writer = ResultWriter(self.store, self._on_recorded, self._on_trouble, self.stop)
        try:
            self.store.settle(RunState.RUNNING)
            self._on_change()
            while not self.store.over and self._ready():
                if not self._visual and self.with_people:  # the format has just scheduled one
                    self.visual = True
                self._play_live() if self._visual else self._play_batch()
                self._writer.drain()
        except Exception as error:  # reported through `error`; results so far are saved
            self.error = error
        finally:
            self._writer.close()
            self.unsaved = self._writer.unsaved
        return self._end()

    def _ready(self) -> bool:
        """Wait while the run is paused; returns whether to continue."""
        with self._condition:
            pausing = self._request is Request.PAUSE
        if pausing:
            self._set_paused(True)
            with self._condition:
                self._condition.wait_for(lambda: self._request is not Request.PAUSE)
            self._set_paused(False)
        return self._request < Request.FINISH

    def _set_paused(self, paused: bool) -> None:
        self._paused = paused
        self.was_paused = True
        self.store.settle(RunState.PAUSED if paused else RunState.RUNNING)
        self._on_change()

    def _play_batch(self) -> None:
        with self._condition:
            self._in_batch, self._was_held = True, False
            self._update_hold()
        self._on_change()
        batches = self._executor.batches(self._next_specs())
        try:
            played = cancelled = 0
            for batch in batches:
                self._record(PlayedEntries(self._take(batch.specs), batch))
                unplayed = int(np.count_nonzero(batch.columns.kinds == CANCELLED))
                played, cancelled = played + len(batch) - unplayed, cancelled + unplayed
            count = len(self._running) + cancelled
            if count and not played and not self._was_held:  # playing them again would never end
                missing = f"{count:,} {'match' if count == 1 else 'matches'}"
                what = f"cancelled {missing} without being asked to" if cancelled else f"gave no result for {missing}"
                raise BrokenPlugin(f"executor {self._executor.name!r} {what}: choose another")
        finally:
            if hasattr(batches, "close"):
                batches.close()
            with self._condition:
                self._in_batch = False
                self._executor.hold(False)
            self._running.clear()

    def _take(self, specs: Sequence[MatchSpec]) -> list[int]:
        """The places of matches whose results have arrived."""
        running = self._running
        try:
            return [running.pop(spec.id) for spec in specs]
        except KeyError as unknown:
            name = self._executor.name
            raise BrokenPlugin(
                f"executor {name!r} gave a result for {unknown.args[0]!r}, which it was not playing: choose another"
            ) from None

    def _next_specs(self) -> Iterator[MatchSpec]:
        """Missing matches without a person. On a request the executor is on hold and takes no more of them."""
        for planned in self.store.missing():
            if not self._has_person(planned) and not self._refused(planned):
                self._running[planned.spec.id] = planned.place
                yield planned.spec

    def _refused(self, planned: ScheduledMatch) -> bool:
        """Whether a player is quarantined, in this run or an earlier one; the match is then recorded as unplayed."""
        if not self.store.quarantined and not self._failures.any_failed:
            return False
        spec = planned.spec
        seats = tuple(seat for seat, player in enumerate(spec.players) if player.id in self.store.quarantined)
        refusal = self._failures.quarantine_result(spec)
        if seats:
            names = " and ".join(dict.fromkeys(spec.players[seat].id for seat in seats))
            refusal = unplayed_result(spec, EndingKind.QUARANTINED, f"{names} failed too often before", seats)
        if refusal is not None:
            self._record_one(planned, refusal, wait=False)  # the executor holds a lock while it takes matches
        return refusal is not None

    def _play_live(self) -> None:
        planned = next((match for match in self.store.missing() if not self._refused(match)), None)
        if planned is None:
            return
        with self._condition:
            if self._request is not Request.PLAY or not self._visual:
                return
            live = self._live = self._executor.watch(planned.spec, self._pace(planned.spec))
            self.watched, began = True, time.monotonic()
        self._on_change()
        try:
            result = live.wait()
        finally:
            with self._condition:
                self._live = None
            live.close()
        assert result is not None
        if result.ending.kind is not EndingKind.CANCELLED:
            self.shown, self.shown_seconds = self.shown + 1, self.shown_seconds + time.monotonic() - began
        self._failures.record(planned.spec, result)
        self._record_one(planned, result)
        self._on_change()

    def _record_one(self, planned: ScheduledMatch, result: MatchResult, wait: bool = True) -> None:
        self._record(PlayedEntries([planned.place], ResultBatch.of([planned.spec], [result])), wait)

    def _record(self, entries: PlayedEntries, wait: bool = True) -> None:
        assert self._writer is not None
        self._writer.submit(entries, wait)

    def _on_recorded(self, added: list[PlayedEntries]) -> None:
        for entries in added:
            self._on_saved(entries)
        self._on_change()

    def _on_trouble(self, reason: str | None) -> None:
        self._trouble = reason
        self._on_change()

    def _end(self) -> Tournament:
        over = self.store.over
        state = (
            RunState.FINISHED if over else RunState.CANCELLED if self._request is Request.CANCEL else RunState.STOPPED
        )
        note = "" if over else str(self.error) if self.error else ""
        lost = f"{self.unsaved:,} results could not be saved; their matches will be played again"
        if self.unsaved:
            note = f"{lost}. {note}".strip()
        try:
            self.store.settle(state, note)
        except LeagueGone as error:
            self.error = LeagueGone(f"{error}. {lost}") if self.unsaved else error
        except RingsideError as error:  # the disk is still full: the file says "running", and can be resumed
            self.error = StorageFailed(f"{note} {error}") if self.unsaved else self.error or error
        self._over = True
        self._on_change()
        return self.store.tournament


def clear_quarantine(league: League, number: int) -> int:
    """Lift the quarantine of a tournament and schedule its void matches again; returns how many matches."""
    tournament = league.tournament(number)
    if tournament.state is RunState.CANCELLED:
        raise NotNow(f"{tournament.name!r} is {tournament.state.value}: its quarantine cannot be lifted")
    return TournamentStore(league, number).forget_unfinished()
