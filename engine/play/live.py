"""A live match: played in a worker of its own at a chosen pace; its actions arrive as they are played."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from engine.closing import Closing
from engine.errors import BadValue
from engine.game import RESIGN
from engine.play.match import MatchResult, MatchSpec
from engine.registry import game_of, is_person

Command = Callable[["LiveMatch", list[object]], None]


class LiveMatch(Closing):
    """Feed the actions to a `Playback` of the same spec to show the match while it is played.

    It keeps all its actions, so that a view may begin to show it at any moment. Thread-safe. `actions_since` never
    waits, which suits a window; iterating waits for the next actions.

    If its process dies through no fault of a player, the match is played again from its start. A view notices nothing
    as long as the same actions follow. If others follow, as with a clock, `restarts` is increased, and the view must
    begin again with a new `Playback`. With a person, whose actions are lost, it begins again at once, and is paused
    until that person is ready.
    """

    def __init__(self, spec: MatchSpec, pace: float, send: Command, on_close: Callable[[LiveMatch], None]) -> None:
        self.spec = spec
        self._action_count = game_of(spec.game).info.actions
        self._pace, self._finishing = pace, False
        self._send, self._on_close = send, on_close
        self._changed = threading.Condition()
        self._actions: list[int] = []
        self._repeated: int | None = None  # if it is played again: how many of the actions have been played again
        self.restarts = 0  # how often a view had to begin again
        self._result: MatchResult | None = None
        self.paused = False

    def __iter__(self) -> Iterator[list[int]]:
        """Yield all actions from the start, as they arrive, until the match is over or `restarts` is increased."""
        count, restarts = 0, self.restarts
        while True:
            with self._changed:
                self._changed.wait_for(
                    lambda: len(self._actions) > count or self._result is not None or self.restarts != restarts  # noqa: B023
                )
                new = self._actions[count:] if self.restarts == restarts else []
            if not new:
                return
            count += len(new)
            yield new

    @property
    def result(self) -> MatchResult | None:
        """The result; None until the match is over."""
        with self._changed:
            return self._result

    def actions_since(self, count: int, restarts: int | None = None) -> list[int]:
        """All actions so far except the first `count`; a `Playback` has `received` this many.

        `restarts`: the number that the view knows; it gets no actions if it must begin again.
        """
        with self._changed:
            return self._actions[count:] if restarts in (None, self.restarts) else []

    def wait(self, timeout: float | None = None) -> MatchResult | None:
        """Wait for the result; None if it takes longer than `timeout` seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._result is not None, timeout)
            return self._result

    # Playback controls

    def pause(self) -> None:
        self.paused = True
        self._send(self, ["pause"])

    def resume(self) -> None:
        self.paused = False
        self._send(self, ["resume"])

    def step(self, count: int = 1) -> None:
        """While it is paused: play so many steps and pause again; clocks run only in these steps."""
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise BadValue("count", count, "a whole number from 1")
        self._send(self, ["step", count])

    def pace(self, steps: float) -> None:
        """Set the steps a second; 0 for full speed. While `finish` is on, it takes effect later."""
        self._pace = check_pace(steps)
        if not self._finishing:
            self._send(self, ["pace", self._pace])

    def finish(self, yes: bool = True) -> None:
        """Play the rest at full speed; `finish(False)` returns to the last pace."""
        if yes != self._finishing:
            self._finishing = yes
            self._send(self, ["pace", 0.0 if yes else self._pace])
        if yes:
            self.resume()

    # Human players

    def act(self, seat: int, action: int) -> None:
        """Play the action of a human, or RESIGN. In simultaneous games it is repeated until the next one; otherwise it
        is played once, and ignored if it is not legal."""
        seats = len(self.spec.players)
        if isinstance(seat, bool) or not isinstance(seat, int) or not 0 <= seat < seats:
            raise BadValue("seat", seat, f"a whole number from 0 to {seats - 1}")
        if not is_person(self.spec.players[seat]):
            raise BadValue("seat", seat, f"the seat of a human; {self.spec.players[seat].id!r} is not one")
        last = self._action_count - 1
        if isinstance(action, bool) or not isinstance(action, int) or not (action == RESIGN or 0 <= action <= last):
            raise BadValue("action", action, f"a whole number from 0 to {last}, or {RESIGN} to resign")
        self._send(self, ["act", seat, action])

    def close(self) -> None:
        """Cancel the match, unless it is over."""
        self._on_close(self)

    # For the dispatcher

    @property
    def current_pace(self) -> float:
        return 0.0 if self._finishing else self._pace

    def play_again(self) -> int:
        """From now on `add` gets the actions of the match played again from its start; returns how many there were."""
        with self._changed:
            self._repeated = 0
            return len(self._actions)

    @property
    def has_people(self) -> bool:
        return any(is_person(player) for player in self.spec.players)

    def begin_again(self) -> None:
        """Forget all actions and pause: the match begins again."""
        with self._changed:
            self._actions, self._repeated, self.paused = [], None, True
            self.restarts += 1
            self._changed.notify_all()

    def add(self, actions: list[int]) -> None:
        with self._changed:
            if self._repeated is not None:
                actions = self._compare(self._repeated, actions)
            self._actions += actions
            self._changed.notify_all()

    def _compare(self, count: int, actions: list[int]) -> list[int]:
        """The actions that are new: those that were played before too are left out."""
        known = self._actions[count : count + len(actions)]
        if known == actions[: len(known)]:
            count += len(known)
            self._repeated = count if count < len(self._actions) else None
            return actions[len(known) :]
        del self._actions[count:]
        self._repeated = None
        self.restarts += 1
        return actions

    def end(self, result: MatchResult) -> None:
        with self._changed:
            if self._repeated is not None and result.ending.kind.rated and self._repeated < len(self._actions):
                del self._actions[self._repeated :]  # it ended earlier than the first time
                self.restarts += 1
            self._repeated = None
            if self._result is None:
                self._result = result
            self._changed.notify_all()


def game_pace(spec: MatchSpec) -> float:
    """The steps a second at which this game is usually shown."""
    return game_of(spec.game).info.pace


def check_pace(steps: float) -> float:
    if isinstance(steps, bool) or not isinstance(steps, int | float) or not 0 <= steps <= 1e6:
        raise BadValue("pace", steps, "from 0 (full speed) to 1,000,000 steps a second")
    return float(steps)
