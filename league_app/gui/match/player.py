"""Playback of one match: a replay that may still be growing, and the step that is shown.

Live and recorded matches work alike: their actions are replayed on boards of the player's own. The page calls
`advance` with the seconds that have passed, then draws `playback`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal, cast

import numpy as np

from engine.game import NamedPosition, ReadingPosition
from engine.play.live import LiveMatch
from engine.play.match import MatchResult, MatchSpec
from engine.play.replay import HEAD, Playback
from engine.registry import is_person
from league_app.core.formatting import error_text

Kind = Literal["live", "exhibition", "replay"]
SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
CUSHION = 0.03  # seconds behind the newest step, which evens out steps that arrive irregularly
PULL = 1.5  # speed-up for each second that playback is behind
FASTEST = 3.0  # largest speed-up while catching up
TIGHT = 0.15  # seconds that playback may be behind if a human plays
TOO_FAR = 12.0  # seconds behind after which playback jumps to the newest step
SLICE, SOME = 0.006, 16  # seconds that one call may spend on new steps, and steps between looks at the clock
MOST_MARKS = 200
LONG = 200_000  # steps; longer matches are not searched for scores


class MatchPlayer:
    """Plays back one match. While a live match is followed, its own state decides whether it is paused."""

    def __init__(
        self,
        spec: MatchSpec,
        kind: Kind = "replay",
        *,
        playback: Playback | None = None,
        live: LiveMatch | None = None,
        result: MatchResult | None = None,
        low_latency: bool = False,
    ) -> None:
        """Start at step 0, either of a complete match in `playback`, or of the match that `live` streams.

        With `low_latency`, for a human player, playback skips steps instead of falling behind."""
        self.spec, self.kind, self.live = spec, kind, live
        self.playback = playback or Playback(spec)
        self.playback.seek(0)
        self.pace = self.playback.game.info.pace
        self.error = ""  # why playback cannot continue
        self._marks: list[int] = []
        self._score_samples, self._last_sampled = 0, 0  # how often the score was read, and at which step last
        self._result = result
        self._speed = 1.0
        self._position = 0.0
        self._following = live is not None
        self._playing = True
        self._skipping = False
        self._low_latency = low_latency
        self.has_humans = live is not None and any(is_person(player) for player in spec.players)  # they set the pace
        self._more_expected = live is not None
        self._restarts = live.restarts if live is not None else 0  # of the live match, as shown here
        self._last_step_at = time.monotonic()
        self._scores: list[float] | None = None
        if live is None:
            self._mark_all()

    # State

    @property
    def step(self) -> int:
        """The step that is shown."""
        return self.playback.step

    @property
    def steps(self) -> int:
        """How many steps there are so far."""
        return self.playback.steps

    @property
    def result(self) -> MatchResult | None:
        """The result, once all actions up to the end have been received."""
        if self._result is None and self.live is not None and not self._more_expected:
            self._result = self.live.result
        return self._result

    @property
    def complete(self) -> bool:
        """Whether no more steps will come."""
        return bool(self.error) or self.live is None or self.result is not None

    @property
    def at_end(self) -> bool:
        """Whether the match is complete and its last step is shown."""
        return self.complete and self.step >= self.steps

    @property
    def following(self) -> bool:
        """Whether playback shows or approaches the newest step; if not, an earlier part is being viewed."""
        return self._following

    @property
    def behind(self) -> float:
        """Seconds of playback between the shown and the newest step."""
        return (self.steps - self._position) / max(self.pace * self._speed, 1e-9)

    @property
    def paused(self) -> bool:
        """Whether the user has paused it."""
        if self._following and self.live is not None and not self.complete:
            return self.live.paused and not self._skipping
        return not self._playing

    @property
    def begins_again(self) -> bool:
        """Whether a match with a human player was lost with its process, and waits to be started again."""
        return self.has_humans and self._restarts > 0 and self.paused and not self.steps

    @property
    def idle_seconds(self) -> float:
        """Seconds since the last step of a live match that is not paused."""
        if self.complete or self.live is None or self.live.paused or self._position < self.steps:
            return 0.0
        return time.monotonic() - self._last_step_at

    @property
    def moving(self) -> bool:
        """Whether `advance` can change anything."""
        if self.error:
            return False
        if not self.complete:
            return True
        return (self._following or self._playing) and self.step < self.steps

    @property
    def badge(self) -> str:
        """LIVE or EXHIBITION at the newest step, PAUSED, ENDED after the last step, REPLAY for an earlier part."""
        if self.live is None:
            return "REPLAY"
        if self.at_end:
            return "ENDED"
        if not self.complete and self.live.paused and self.paused:
            return "PAUSED"
        if not self._following:
            return "REPLAY"
        return "LIVE" if self.kind == "live" else "EXHIBITION"

    # Control

    @property
    def speed(self) -> float:
        return self._speed

    @speed.setter
    def speed(self, speed: float) -> None:
        self._speed = min(max(speed, SPEEDS[0]), SPEEDS[-1])

    def play(self) -> None:
        """Play from here; from the start if this is the end."""
        if self.at_end:
            self.seek(0)
        self._playing = True

    def pause(self) -> None:
        """Stop playback here; a live match itself is not paused by this."""
        self._playing = self._following = self._skipping = False

    def seek(self, step: int) -> None:
        """Show this step. New steps are still received; paused playback stays paused."""
        self._playing = not self.paused
        step = min(max(step, 0), self.steps)
        self._following = False
        self._skipping = False
        self._position = float(step)
        self.playback.seek(step)

    def step_by(self, steps: int) -> None:
        """Move by this many steps and stop there."""
        self.seek(self.step + steps)
        self._playing = False

    def follow(self) -> None:
        """Jump to the newest step and follow the match."""
        self._following = self.live is not None
        self._playing = self._playing or not self.complete
        self._position = float(self.steps)
        self.playback.seek(self.steps)

    def skip(self) -> None:
        """Go to the end: at once if it is known, otherwise as fast as steps arrive."""
        self._skipping = not self.complete
        self.follow()

    # Advancing

    def advance(self, seconds: float, stay: bool = False) -> bool:
        """Receive new steps and move on, unless `stay`; return whether the shown step changed."""
        before = self.playback.step
        if self.error:
            return False
        if self._more_expected:
            self._receive()
        if stay:
            return False
        rate = self.pace * self._speed
        if self._following:
            self._position += self._towards_head(rate, seconds)
        elif self._playing:
            self._position += rate * seconds
        if self._position >= self.steps:
            self._position = float(self.steps)
            if self.live is not None and not self.complete and self._playing:
                self._following = True  # playback has caught up
            elif self.complete and not self._following:
                self._playing = False
        self.playback.seek(int(self._position + 1e-6))
        return self.playback.step != before

    def _towards_head(self, rate: float, seconds: float) -> float:
        """Return how many steps to advance: faster the further behind, slower if no step would be left."""
        lag = self.steps - self._position
        late = lag / rate
        if self._skipping or late > TOO_FAR:
            return lag
        if self._low_latency and late > TIGHT:
            return lag - rate * CUSHION
        if rate * CUSHION < 1 and lag <= 1:
            return lag  # slow games need no cushion
        factor = 1.0 + PULL * (late - CUSHION) if not self.complete else 1.0 + PULL * late
        return min(rate * seconds * min(max(factor, 0.5), FASTEST), lag)

    def _receive(self) -> None:
        """Replay the actions that have arrived, for at most SLICE seconds."""
        if self.live is None:
            return
        if self.live.restarts != self._restarts:
            self._begin_again(self.live.restarts)
        until = time.perf_counter() + SLICE
        over = self.live.result is not None  # read first: then all actions are there
        new: list[int] = self.live.actions_since(self.playback.received, self._restarts)
        over = over and self.live.restarts == self._restarts
        try:
            while True:
                before = self.playback.steps
                self.playback.feed(new, until=before + SOME)
                self._mark(self.playback.boards.scores()[HEAD].tolist(), self.playback.steps)
                new = []
                if self.playback.steps > before or self.live.paused:
                    self._last_step_at = time.monotonic()
                if self.playback.steps - before < SOME:
                    self._more_expected = not over
                    return
                if time.perf_counter() > until:
                    return
        except Exception as error:  # the actions come from another process, which runs code of plug-ins
            self.error = f"The actions received are not valid: {error_text(error)}"
            self._playing = self._following = self._more_expected = False

    def _begin_again(self, restarts: int) -> None:
        """The live match is played again and takes another course: show it from its start."""
        self._restarts = restarts
        self.playback = Playback(self.spec)
        self.playback.seek(0)
        self._position, self._following, self._scores = 0.0, True, None
        self._marks, self._score_samples, self._last_sampled = [], 0, 0

    def _mark(self, scores: list[float], step: int) -> None:
        if self._scores is not None and step != self._last_sampled:
            self._score_samples += 1
            if scores != self._scores and len(self._marks) <= MOST_MARKS:
                self._marks.append(step)
        self._scores, self._last_sampled = scores, step

    @property
    def marks(self) -> list[int]:
        """Steps at which the score changed; none for games in which it changes all the time."""
        return self._marks if len(self._marks) <= min(MOST_MARKS, self._score_samples // 2) else []

    def _mark_all(self) -> None:
        """Find the marks of a complete match."""
        if self.steps <= LONG:
            for step in range(0, self.steps + SOME, SOME):
                self.playback.seek(min(step, self.steps))
                self._mark(list(self.playback.scores()), min(step, self.steps))
        self.playback.seek(0)

    # For human players

    def actions_of(self, seat: int) -> list[int]:
        """Return the actions of this seat up to the shown step."""
        return self.playback.actions_of(seat)

    def name_of(self, seat: int) -> Callable[[int], str]:
        """Return a function that names the actions of this seat in the newest position."""
        position, names = self.playback.boards.position(HEAD, seat), self.playback.game.info.action_names
        if hasattr(position, "name"):
            return cast(NamedPosition, position).name
        return lambda action: names[action] if action < len(names) else f"Action {action}"

    def mistake_of(self, seat: int) -> Callable[[str], str]:
        """Return a function that explains why a typed text is no legal action of this seat."""
        position = self.playback.boards.position(HEAD, seat)
        if hasattr(position, "mistake"):
            return cast(ReadingPosition, position).mistake
        return lambda typed: "is not legal here"

    def legal_actions(self, seat: int) -> list[int]:
        """Return the legal actions of this seat; empty if it is not its turn."""
        boards, info = self.playback.boards, self.playback.game.info
        if self.complete or not boards.acting()[HEAD][seat]:
            return []
        if not info.masked:
            return list(range(info.actions))
        legal = np.zeros((1, info.actions), np.bool_)
        boards.legal(np.array([HEAD], np.uint32), np.array([seat], np.uint32), legal)
        found: list[int] = np.flatnonzero(legal[0]).tolist()
        return found
