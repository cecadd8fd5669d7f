"""What is asked of whoever plays a match that is shown: in the order given, and beside the window.

A match is played by a worker process; talking to it may have to wait for others who do, so the window never does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from engine.league.records import State
from engine.play.live import LiveMatch
from league_app.gui.context import Desk
from league_app.core.tournament_job import TournamentJob
from league_app.gui.match.player import Show


class Reins:
    """`obeyed` is a method of the page, called when something has been done."""

    def __init__(self, desk: Desk, obeyed: Callable[[object], None]) -> None:
        self._desk, self._obeyed = desk, obeyed
        self._count = 0

    def _order(self, call: Callable[[], Any], key: str = "") -> None:
        self._count += 1
        self._desk.orders.ask(key or f"match {self._count}", call, self._obeyed)

    def _job_of(self, show: Show) -> TournamentJob | None:
        """The tournament that plays it."""
        job = self._desk.state.job if self._desk.state is not None else None
        return job if job is not None and show.kind == "live" and job.run.live is show.live else None

    def play_pause(self, show: Show, tournament: int) -> None:
        """At the newest step of a live match the match itself stands still, or goes on, the clocks of its players with
        it; a tournament pauses too. Elsewhere only what is shown does."""
        live, job = show.live, self._held(show, tournament)
        if job is not None:
            self._order(job.resume)
        elif live is not None and not show.complete and (show.following or self._at_edge(show)):
            if not show.following:
                show.follow()
            self._order(partial(_toggle, self._job_of(show) or live, live))
        elif show.paused or show.at_end:
            show.play()
        else:
            show.pause()

    def _at_edge(self, show: Show) -> bool:
        """Whether all there is of a paused match has been seen."""
        return show.live is not None and not show.complete and show.live.paused and show.step >= show.steps

    def _held(self, show: Show, tournament: int) -> TournamentJob | None:
        """The tournament that was paused before the end of this match, which somebody saw all the same."""
        job = self._desk.state.job if self._desk.state is not None else None
        if job is None or job.number != tournament or show.kind != "live" or not (show.at_end and show.following):
            return None
        return job if job.progress().state is State.PAUSED else None

    def go_on(self, show: Show) -> None:
        """What was paused has been played again up to where it stands."""
        live = show.live
        if live is not None and live.paused and not show.complete:
            self._order((self._job_of(show) or live).resume)

    def step(self, show: Show, delta: int) -> None:
        """Within what is known; where that ends, a match that is paused plays on so far, and stays paused."""
        if show.live is not None and delta > 0 and self._at_edge(show):
            show.follow()
            self._order(partial(show.live.step, delta))
        else:
            show.by(delta)

    def pace(self, show: Show) -> None:
        """As fast as it is shown; the next live matches of a tournament too."""
        state = self._desk.state
        if show.live is None or show.complete or state is None:
            return
        if show.kind == "live" and state.job is not None:
            if not state.show_visuals:
                return  # it is being finished as fast as it goes
            state.job.stage.speed = show.speed
        self._order(partial(show.live.pace, show.pace * show.speed))

    def skip(self, show: Show) -> None:
        """The rest at full speed, even if it was paused; not that of a person, who has to play it."""
        if show.peopled and not show.complete:
            return
        if show.live is not None and not show.complete:
            self._order(partial(_finish, self._job_of(show) or show.live, show.live))
        show.skip()

    def act(self, show: Show, seat: int, action: int) -> None:
        """Of what has not been sent yet only the last counts."""
        if show.live is not None and not show.complete:
            self._order(partial(show.live.act, seat, action), f"act {seat}")

    def close(self, live: LiveMatch) -> None:
        self._order(live.close)

    def hurried(self, show: Show) -> bool:
        """Whether the run plays this match to its end at full speed: visual mode was switched off."""
        state, job = self._desk.state, self._job_of(show)
        if state is None or show.kind != "live" or show.complete or state.show_visuals:
            return False
        return job is None or not show.paused


def _toggle(whose: TournamentJob | LiveMatch, live: LiveMatch) -> None:
    """As it stands when its turn comes: who presses twice gets both."""
    whose.resume() if live.paused else whose.pause()


def _finish(whose: TournamentJob | LiveMatch, live: LiveMatch) -> None:
    if live.paused:
        whose.resume()
    live.finish()
