"""What is asked of whoever plays a match that is shown: in the order given, and beside the window.

A match is played by a worker process; talking to it may have to wait for others who do, so the window never does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from engine.play.live import LiveMatch
from league_app.desk import Desk
from league_app.job import TournamentJob
from league_app.visual.show import Show


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

    def pause(self, show: Show) -> None:
        """Have the match itself stand still, or go on; the clocks of its players with it. A tournament pauses too."""
        live = show.live
        if live is not None:
            whose = self._job_of(show) or live
            self._order(whose.resume if live.paused else whose.pause)

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

    def finish(self, show: Show) -> None:
        if show.live is not None and not show.complete:
            self._order(show.live.finish)

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
