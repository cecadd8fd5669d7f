"""Commands to a live match and its tournament, sent in order from a background thread.

A worker process plays the match. Sending it a command may block, so the window's thread never does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from engine.league.records import RunState
from engine.play.live import LiveMatch
from league_app.core.tournament_job import TournamentJob
from league_app.gui.context import AppContext
from league_app.gui.match.player import MatchPlayer


class LiveControls:
    """`on_done` is a method of the page, called after each command."""

    def __init__(self, context: AppContext, on_done: Callable[[object], None]) -> None:
        self._context, self._on_done = context, on_done

    def _submit(self, call: Callable[[], Any], key: str = "") -> None:
        """With a key, a newer call replaces one that waits: of a person's actions only the latest matters."""
        if key:
            self._context.command_queue.submit(key, call, self._on_done)
        else:
            self._context.command_queue.run(call, self._on_done)

    def _job_of(self, player: MatchPlayer) -> TournamentJob | None:
        """Return the tournament that plays this match, if there is one."""
        job = self._context.state.job if self._context.state is not None else None
        return job if job is not None and player.kind == "live" and job.run.live is player.live else None

    def play_pause(self, player: MatchPlayer, tournament: int) -> None:
        """At the newest step of a live match, pause or resume the match with its players' clocks, and its tournament.
        At an earlier step, and in a replay, pause or resume only the playback."""
        live, job = player.live, self._paused_tournament(player, tournament)
        if job is not None:
            self._submit(job.resume)
        elif live is not None and not player.complete and (player.following or self._at_edge(player)):
            if not player.following:
                player.follow()
            self._submit(partial(_toggle, self._job_of(player) or live, live))
        elif player.paused or player.at_end:
            player.play()
        else:
            player.pause()

    def _at_edge(self, player: MatchPlayer) -> bool:
        """Return whether the last step of a paused match is shown."""
        return player.live is not None and not player.complete and player.live.paused and player.step >= player.steps

    def _paused_tournament(self, player: MatchPlayer, tournament: int) -> TournamentJob | None:
        """Return the tournament if it was paused during this match, which has ended since."""
        job = self._context.state.job if self._context.state is not None else None
        if job is None or job.number != tournament or player.kind != "live" or not (player.at_end and player.following):
            return None
        return job if job.progress().state is RunState.PAUSED else None

    def resume(self, player: MatchPlayer) -> None:
        """Resume a paused match after playback has caught up with it."""
        live = player.live
        if live is not None and live.paused and not player.complete:
            self._submit((self._job_of(player) or live).resume)

    def step(self, player: MatchPlayer, delta: int) -> None:
        """Move by some steps. Past the last step of a paused match, the match plays these steps and stays paused."""
        if player.live is not None and delta > 0 and self._at_edge(player):
            player.follow()
            self._submit(partial(player.live.step, delta))
        else:
            player.step_by(delta)

    def pace(self, player: MatchPlayer) -> None:
        """Play the match at the speed at which it is shown, and so the next live matches of the tournament."""
        state = self._context.state
        if player.live is None or player.complete or state is None:
            return
        if player.kind == "live" and state.job is not None:
            if not state.show_visuals:
                return  # it is finishing at full speed
            state.speed = player.speed
        self._submit(partial(player.live.pace, player.pace * player.speed))

    def skip(self, player: MatchPlayer) -> None:
        """Play the rest at full speed, even if paused; not if a human plays."""
        if player.has_humans and not player.complete:
            return
        if player.live is not None and not player.complete:
            self._submit(partial(_finish, self._job_of(player) or player.live, player.live))
        player.skip()

    def act(self, player: MatchPlayer, seat: int, action: int) -> None:
        """Send an action; it replaces an action of this seat that has not been sent yet."""
        if player.live is not None and not player.complete:
            self._submit(partial(player.live.act, seat, action), f"act {seat}")

    def close(self, live: LiveMatch) -> None:
        self._submit(live.close)

    def finishing_fast(self, player: MatchPlayer) -> bool:
        """Return whether the tournament finishes this match at full speed, because visual mode was switched off."""
        state, job = self._context.state, self._job_of(player)
        if state is None or player.kind != "live" or player.complete or state.show_visuals:
            return False
        return job is None or not player.paused


def _toggle(owner: TournamentJob | LiveMatch, live: LiveMatch) -> None:
    """Read the state when the command runs, not when it was submitted: two presses cancel out."""
    owner.resume() if live.paused else owner.pause()


def _finish(owner: TournamentJob | LiveMatch, live: LiveMatch) -> None:
    if live.paused:
        owner.resume()
    live.finish()
