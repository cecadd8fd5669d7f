"""Decides which match the Match page shows next: it follows a tournament's live matches until another one is opened.

Does not use Qt: the page reports changes and asks what to show.
"""

from __future__ import annotations

import time

from engine.play.live import LiveMatch
from league_app.gui.match.info import LoadedMatch

HOLD = 1.0  # seconds for which the end of a live match is shown before the next one


class WatchQueue:
    """The match that is shown, and the live match that waits to be shown."""

    def __init__(self) -> None:
        self.shown: LoadedMatch | None = None
        self.waiting: LiveMatch | None = None  # the newest live match, unless it is shown
        self.page_hidden = False  # then a match that has ended is not held for HOLD seconds
        self.follow_next = False  # show the next live match, whatever is shown now
        self._ended: float | None = None

    def set_live(self, live: LiveMatch | None) -> None:
        """Report the tournament's current live match."""
        if live is not None and (self.shown is None or live is not self.shown.player.live):
            self.waiting = live

    def set_shown(self, loaded: LoadedMatch | None) -> None:
        """Report which match is shown from now on."""
        self.shown, self._ended, self.follow_next = loaded, None, False
        if loaded is not None and loaded.player.live is self.waiting:
            self.waiting = None

    def next_match(self) -> LiveMatch | None:
        """Return the match to show next, if it is time for it."""
        if self.waiting is None or self.shown is None or self.follow_next:
            return self.waiting
        player = self.shown.player
        if player.kind != "live" or not (player.error or (player.at_end and player.following)):
            self._ended = None
            return None
        if self.page_hidden:
            return self.waiting
        if self._ended is None:
            self._ended = time.monotonic()
        return self.waiting if time.monotonic() - self._ended >= HOLD else None

    @property
    def holding(self) -> bool:
        """Whether the end of a match is held before the next one."""
        return self._ended is not None and self.waiting is not None

    @property
    def offer(self) -> LiveMatch | None:
        """The live match that could be watched instead of the one that is shown."""

        if self.shown is None or self.waiting is None or self.waiting.result is not None:
            return None
        player = self.shown.player
        following = player.kind == "live" and (player.following or bool(player.error))
        return None if following else self.waiting
