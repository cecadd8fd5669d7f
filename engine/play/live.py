"""One match as it happens: played in a worker of its own, told action by action, at a pace that a person chooses."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from engine.errors import BadValue
from engine.game import RESIGN
from engine.play.match import MatchResult, MatchSpec
from engine.registry import game_of, is_person

Command = Callable[["LiveMatch", list[object]], None]


class LiveMatch:
    """Feed what it yields to a `Playback` of the same spec, and the match can be watched while it is played.

    It may be used from any thread. `take` never waits, for a window; iterating does, for everybody else.
    """

    def __init__(self, spec: MatchSpec, pace: float, tell: Command, stop: Callable[[LiveMatch], None]) -> None:
        self.spec = spec
        self._actions_there_are = game_of(spec.game).info.actions
        self._pace, self._hurry = pace, False
        self._tell, self._stop = tell, stop
        self._news = threading.Condition()
        self._actions: list[int] = []
        self._result: MatchResult | None = None
        self.paused = False

    def __enter__(self) -> LiveMatch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[list[int]]:
        """The actions as they come, until the match is over."""
        while True:
            with self._news:
                self._news.wait_for(lambda: self._actions or self._result is not None)
                taken, self._actions = self._actions, []
            if not taken:
                return
            yield taken

    @property
    def result(self) -> MatchResult | None:
        """Once it is over."""
        with self._news:
            return self._result

    def take(self) -> list[int]:
        """The actions that have come since they were last taken."""
        with self._news:
            taken, self._actions = self._actions, []
        return taken

    def wait(self, timeout: float | None = None) -> MatchResult | None:
        """The result, as soon as there is one; None when that takes longer."""
        with self._news:
            self._news.wait_for(lambda: self._result is not None, timeout)
            return self._result

    # What the person watching may ask for

    def pause(self) -> None:
        self.paused = True
        self._tell(self, ["pause"])

    def resume(self) -> None:
        self.paused = False
        self._tell(self, ["resume"])

    def step(self, count: int = 1) -> None:
        """While it is paused: play so many steps and stand still again; nobody's clock runs but in these."""
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise BadValue("count", count, "a whole number from 1")
        self._tell(self, ["step", count])

    def pace(self, steps: float) -> None:
        """Steps a second from now on; 0 for as fast as it goes. While the rest is played at full speed, it waits."""
        self._pace = check_pace(steps)
        if not self._hurry:
            self._tell(self, ["pace", self._pace])

    def finish(self, yes: bool = True) -> None:
        """Play the rest at full speed; or not after all, but at the pace that was asked for last."""
        if yes != self._hurry:
            self._hurry = yes
            self._tell(self, ["pace", 0.0 if yes else self._pace])
        if yes:
            self.resume()

    # What the person playing does

    def act(self, seat: int, action: int) -> None:
        """A person's action, or RESIGN. Where everybody moves at once it is held until the next one; where not, it is
        played once, and what is not legal then is ignored."""
        seats = len(self.spec.players)
        if isinstance(seat, bool) or not isinstance(seat, int) or not 0 <= seat < seats:
            raise BadValue("seat", seat, f"a whole number from 0 to {seats - 1}")
        if not is_person(self.spec.players[seat]):
            raise BadValue("seat", seat, f"one that a person plays, and that is {self.spec.players[seat].id!r}")
        last = self._actions_there_are - 1
        if isinstance(action, bool) or not isinstance(action, int) or not (action == RESIGN or 0 <= action <= last):
            raise BadValue("action", action, f"a whole number from 0 to {last}, or {RESIGN} to resign")
        self._tell(self, ["act", seat, action])

    # What is done with it

    def close(self) -> None:
        """Nobody watches any more: break it off, unless it is over."""
        self._stop(self)

    # What the dispatcher has to say

    def add(self, actions: list[int]) -> None:
        with self._news:
            self._actions += actions
            self._news.notify_all()

    def end(self, result: MatchResult) -> None:
        with self._news:
            if self._result is None:
                self._result = result
            self._news.notify_all()


def check_pace(steps: float) -> float:
    if isinstance(steps, bool) or not isinstance(steps, int | float) or not 0 <= steps <= 1e6:
        raise BadValue("pace", steps, "from 0 (as fast as it goes) to 1,000,000 steps a second")
    return float(steps)
