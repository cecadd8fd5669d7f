"""Game clocks: how long the players of a match have thought, and whether they exceeded their time."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from engine.play.match import Clock, TimeLeft


@dataclass
class _Player:
    left: float  # seconds of the base time
    since: float | None = None  # start of the move that is not answered yet


@dataclass
class MatchClocks:
    """The clocks of one match, one for each seat. Only the time of a seat's own calls counts against it."""

    clock: Clock
    seats: int
    _players: list[_Player] = field(init=False)

    def __post_init__(self) -> None:
        self._players = [_Player(self.clock.base) for _ in range(self.seats)]

    def start(self, seat: int) -> float:
        """Start a seat's clock if it is not running; returns the seconds left for the answer."""
        player = self._players[seat]
        if player.since is None:
            player.since = time.perf_counter()
        return max(player.left + self.clock.move - (time.perf_counter() - player.since), 0.0)

    def overrun(self, seat: int, answered: bool) -> str:
        """After a call: a message if the time was exceeded, else an empty text."""
        player = self._players[seat]
        assert player.since is not None
        used = time.perf_counter() - player.since
        allowed = player.left + self.clock.move
        if used > allowed:
            return f"thought for {used:.3g} s, {used - allowed:.2g} s more than were left"
        if answered:
            player.left = max(player.left - used, 0.0) + self.clock.increment
            player.since = None
        return ""

    def left(self) -> TimeLeft:
        return TimeLeft(tuple([player.left for player in self._players]), self.clock)

    def add_pause(self, seconds: float) -> None:
        for player in self._players:
            if player.since is not None:
                player.since += seconds


class Clocks:
    """The clocks of a group by lane, for matches that have clocks."""

    def __init__(self, seats: int) -> None:
        self._seats = seats
        self._matches: dict[int, MatchClocks] = {}

    def begin(self, lane: int, clock: Clock | None) -> None:
        self._matches.pop(lane, None)
        if clock is not None:
            self._matches[lane] = MatchClocks(clock, self._seats)

    def add_pause(self, seconds: float) -> None:
        """Exclude a pause of this length from all running clocks."""
        for clocks in self._matches.values():
            clocks.add_pause(seconds)

    def of(self, lane: int) -> MatchClocks | None:
        return self._matches.get(lane) if self._matches else None

    def left(self, lane: int) -> TimeLeft | None:
        clocks = self.of(lane)
        return clocks.left() if clocks is not None else None
