"""What comes next on the Match page: it follows the live matches of a tournament unless somebody looks at another one.

No Qt in here: the page tells what it hears, and asks what to show.
"""

from __future__ import annotations

import time

from engine.play.live import LiveMatch
from league_app.gui.match.info import Prepared

HOLD = 1.0  # seconds that the end of a live match stays before the next one


class Program:
    """The match that is shown, and the live one that waits for its turn."""

    def __init__(self) -> None:
        self.shown: Prepared | None = None
        self.waiting: LiveMatch | None = None  # the newest live match that is not the one shown
        self.away = False  # nobody looks: what is over when somebody comes back is not shown
        self.eager = False  # the next live match is asked for, whatever is shown
        self._ended: float | None = None

    def hear(self, live: LiveMatch | None) -> None:
        """The live match of the tournament, as it is now."""
        if live is not None and (self.shown is None or live is not self.shown.show.live):
            self.waiting = live

    def put(self, prepared: Prepared | None) -> None:
        """This is shown from now on."""
        self.shown, self._ended, self.eager = prepared, None, False
        if prepared is not None and prepared.show.live is self.waiting:
            self.waiting = None

    def due(self) -> LiveMatch | None:
        """The match to go on with, once nothing else is being looked at."""
        if self.waiting is None or self.shown is None or self.eager:
            return self.waiting
        show = self.shown.show
        if show.kind != "live" or not (show.trouble or (show.at_end and show.following)):
            self._ended = None
            return None
        if self.away:
            return self.waiting
        if self._ended is None:
            self._ended = time.monotonic()
        return self.waiting if time.monotonic() - self._ended >= HOLD else None

    @property
    def holding(self) -> bool:
        """Whether the next one is due in a moment."""
        return self._ended is not None and self.waiting is not None

    @property
    def offer(self) -> LiveMatch | None:
        """The live match that goes on while something else is looked at."""
        if self.shown is None or self.waiting is None or self.waiting.result is not None:
            return None
        show = self.shown.show
        following = show.kind == "live" and (show.following or bool(show.trouble))
        return None if following else self.waiting
