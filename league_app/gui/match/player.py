"""What is shown of a match, and at which step: a replay that may still be growing, and a clock that a person drives.

A live match and a recorded one are the same here: actions that are played again on boards of their own. Whoever shows
it calls `advance` with the seconds that have passed, and draws `playback` as it stands then.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal, cast

import numpy as np

from engine.errors import RingsideError
from engine.game import NamedPosition, ReadingPosition
from engine.play.live import LiveMatch
from engine.play.match import MatchResult, MatchSpec
from engine.play.replay import HEAD, Playback
from engine.registry import is_person

Kind = Literal["live", "exhibition", "replay"]
SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
CUSHION = 0.03  # seconds behind the newest step, so that what comes unevenly is shown evenly
PULL = 1.5  # by how much faster it goes for each second that it is behind
FASTEST = 3.0  # at most, while it catches up
TIGHT = 0.15  # seconds that somebody who plays may be behind
TOO_FAR = 12.0  # seconds; whoever is further behind has been away, and does not want to see it all
SLICE, SOME = 0.006, 16  # seconds that new steps may take each time, and how many are played between looks at the clock
MOST_MARKS = 200
LONG = 200_000  # steps; longer matches are not searched for points


class Show:
    """One match before a watcher. Whether it is paused is the match's own affair while that goes on: see `paused`."""

    def __init__(
        self,
        spec: MatchSpec,
        kind: Kind = "replay",
        *,
        playback: Playback | None = None,
        live: LiveMatch | None = None,
        result: MatchResult | None = None,
        tight: bool = False,
    ) -> None:
        """From the start: either of a match that is complete in `playback`, or of one that `live` tells of.

        `tight` for somebody who plays in it: they see what is, even if they miss what was."""
        self.spec, self.kind, self.live = spec, kind, live
        self.playback = playback or Playback(spec)
        self.playback.seek(0)
        self.pace = self.playback.game.info.pace
        self.trouble = ""  # why no more of it can be shown
        self._marks: list[int] = []
        self._looks, self._looked = 0, 0  # how often the score was looked at, and at which step last
        self._result = result
        self._speed = 1.0
        self._position = 0.0
        self._following = live is not None
        self._playing = True
        self._skipping = False
        self._tight = tight
        self.peopled = live is not None and any(is_person(one) for one in spec.players)  # who cannot be hurried
        self._untaken = live is not None  # there may be more to come
        self._heard = time.monotonic()  # when the last step came
        self._scores: list[float] | None = None
        if live is None:
            self._mark_all()

    # Where it stands

    @property
    def step(self) -> int:
        """The one that is shown."""
        return self.playback.step

    @property
    def steps(self) -> int:
        """How many there are, so far."""
        return self.playback.steps

    @property
    def result(self) -> MatchResult | None:
        """Once all that led to it has been played here."""
        if self._result is None and self.live is not None and not self._untaken:
            self._result = self.live.result
        return self._result

    @property
    def complete(self) -> bool:
        """Whether nothing more will come."""
        return bool(self.trouble) or self.live is None or self.result is not None

    @property
    def at_end(self) -> bool:
        """Whether the last step there will ever be is shown."""
        return self.complete and self.step >= self.steps

    @property
    def following(self) -> bool:
        """Whether the newest step is what it shows, or goes for; if not, somebody looks at what was before."""
        return self._following

    @property
    def behind(self) -> float:
        """Seconds of play between what is shown and the newest step."""
        return (self.steps - self._position) / max(self.pace * self._speed, 1e-9)

    @property
    def paused(self) -> bool:
        """Whether it stands still because somebody wants it to."""
        if self._following and self.live is not None and not self.complete:
            return self.live.paused and not self._skipping
        return not self._playing

    @property
    def silent(self) -> float:
        """Seconds that somebody has let a live match wait for its next step."""
        if self.complete or self.live is None or self.live.paused or self._position < self.steps:
            return 0.0
        return time.monotonic() - self._heard

    @property
    def moving(self) -> bool:
        """Whether `advance` can make a difference."""
        if self.trouble:
            return False
        if not self.complete:
            return True
        return (self._following or self._playing) and self.step < self.steps

    @property
    def badge(self) -> str:
        """LIVE or EXHIBITION for what happens now, PAUSED while it stands still, ENDED when all of it was seen, and
        REPLAY for what was before."""
        if self.live is None:
            return "REPLAY"
        if self.at_end:
            return "ENDED"
        if not self.complete and self.live.paused and self.paused:
            return "PAUSED"
        if not self._following:
            return "REPLAY"
        return "LIVE" if self.kind == "live" else "EXHIBITION"

    # What a person may ask for

    @property
    def speed(self) -> float:
        return self._speed

    @speed.setter
    def speed(self, speed: float) -> None:
        self._speed = min(max(speed, SPEEDS[0]), SPEEDS[-1])

    def play(self) -> None:
        """Go on from here; from the start, if this is the end."""
        if self.at_end:
            self.seek(0)
        self._playing = True

    def pause(self) -> None:
        """Stop here. A match that goes on does so; pausing that is up to whoever has it."""
        self._playing = self._following = self._skipping = False

    def seek(self, step: int) -> None:
        """Show this step; what is new is still taken, and waits. What stands still does so there too."""
        self._playing = not self.paused
        step = min(max(step, 0), self.steps)
        self._following = False
        self._skipping = False
        self._position = float(step)
        self.playback.seek(step)

    def by(self, steps: int) -> None:
        """So many further, or back, and stop there."""
        self.seek(self.step + steps)
        self._playing = False

    def follow(self) -> None:
        """The newest step again: at once, however far that is."""
        self._following = self.live is not None
        self._playing = self._playing or not self.complete
        self._position = float(self.steps)
        self.playback.seek(self.steps)

    def skip(self) -> None:
        """To the end: at once if it is known, else as fast as it comes."""
        self._skipping = not self.complete
        self.follow()

    # As time passes

    def advance(self, seconds: float, stay: bool = False) -> bool:
        """Take what is new and go on, unless it is to stay; whether another step is shown now."""
        before = self.playback.step
        if self.trouble:
            return False
        if self._untaken:
            self._take()
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
                self._following = True  # whoever has caught up watches it live again
            elif self.complete and not self._following:
                self._playing = False
        self.playback.seek(int(self._position + 1e-6))
        return self.playback.step != before

    def _towards_head(self, rate: float, seconds: float) -> float:
        """Steps to go: a little faster the further it is behind, and a little slower where nothing would be left."""
        lag = self.steps - self._position
        late = lag / rate
        if self._skipping or late > TOO_FAR:
            return lag
        if self._tight and late > TIGHT:
            return lag - rate * CUSHION
        if rate * CUSHION < 1 and lag <= 1:
            return lag  # slow games have nothing to even out
        factor = 1.0 + PULL * (late - CUSHION) if not self.complete else 1.0 + PULL * late
        return min(rate * seconds * min(max(factor, 0.5), FASTEST), lag)

    def _take(self) -> None:
        """Play on with what has come; so much at a time that nobody has to wait for it."""
        if self.live is None:
            return
        until = time.perf_counter() + SLICE
        over = self.live.result is not None  # looked at first: what is taken then is the rest
        new: list[int] = self.live.take()
        try:
            while True:
                before = self.playback.steps
                self.playback.feed(new, until=before + SOME)
                self._mark(self.playback.boards.scores()[HEAD].tolist(), self.playback.steps)
                new = []
                if self.playback.steps > before or self.live.paused:
                    self._heard = time.monotonic()
                if self.playback.steps - before < SOME:
                    self._untaken = not over
                    return
                if time.perf_counter() > until:
                    return
        except Exception as error:  # it comes from another process, in which anybody's code runs
            told = str(error) if isinstance(error, RingsideError) else f"{type(error).__name__}: {error}"
            self.trouble = f"What the match tells makes no sense: {told}"
            self._playing = self._following = self._untaken = False

    def _mark(self, scores: list[float], step: int) -> None:
        if self._scores is not None and step != self._looked:
            self._looks += 1
            if scores != self._scores and len(self._marks) <= MOST_MARKS:
                self._marks.append(step)
        self._scores, self._looked = scores, step

    @property
    def marks(self) -> list[int]:
        """Steps at which somebody scored; none for a game in which that happens all the time."""
        return self._marks if len(self._marks) <= min(MOST_MARKS, self._looks // 2) else []

    def _mark_all(self) -> None:
        """Of a match that is known already."""
        if self.steps <= LONG:
            for step in range(0, self.steps + SOME, SOME):
                self.playback.seek(min(step, self.steps))
                self._mark(list(self.playback.scores()), min(step, self.steps))
        self.playback.seek(0)

    # What those who play need to know

    def actions_of(self, seat: int) -> list[int]:
        """What this seat has done up to the step that is shown."""
        return self.playback.actions_of(seat)

    def name_of(self, seat: int) -> Callable[[int], str]:
        """What an action of this seat is called now."""
        position, names = self.playback.boards.position(HEAD, seat), self.playback.game.info.action_names
        if hasattr(position, "name"):
            return cast(NamedPosition, position).name
        return lambda action: names[action] if action < len(names) else f"Action {action}"

    def mistake_of(self, seat: int) -> Callable[[str], str]:
        """What is wrong with what this seat typed, if nothing it may do now is called so."""
        position = self.playback.boards.position(HEAD, seat)
        if hasattr(position, "mistake"):
            return cast(ReadingPosition, position).mistake
        return lambda typed: "is not legal here"

    def choices(self, seat: int) -> list[int]:
        """What this seat may do now, if it is its turn."""
        boards, info = self.playback.boards, self.playback.game.info
        if self.complete or not boards.acting()[HEAD][seat]:
            return []
        if not info.masked:
            return list(range(info.actions))
        legal = np.zeros((1, info.actions), np.bool_)
        boards.legal(np.array([HEAD], np.uint32), np.array([seat], np.uint32), legal)
        found: list[int] = np.flatnonzero(legal[0]).tolist()
        return found
