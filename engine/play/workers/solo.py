"""The matches that a worker plays alone: at full speed, or live at a chosen pace."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from engine.play.arena import Arena

SLICE = 0.002  # seconds of play between two checks for messages
SEND_EVERY = 1 / 60  # seconds between two messages of a live match
PULSE = 0.2  # seconds: the longest wait, so that the heartbeat continues
POLL = 0.001  # seconds between two calls of a player that has not answered yet


class SoloMatch:
    """One match that is played alone, at full speed."""

    def __init__(self, arena: Arena) -> None:
        self.arena = arena

    def wait(self) -> float:
        """Seconds until the next step."""
        return 0.0

    def step(self) -> bool:
        """Play for one slice of time; returns whether the match is over."""
        self.arena.advance(SLICE)
        return self.arena.idle

    def on_command(self, name: str, rest: Sequence[Any]) -> None:
        """Handle a command for a live match."""


class LiveMatchLoop(SoloMatch):
    """One match at a chosen pace; it sends the actions as they are played and obeys pause, step and pace."""

    def __init__(self, arena: Arena, pace: float, skip: int, send: Callable[[Sequence[object]], None]) -> None:
        super().__init__(arena)
        self._send = send
        self._pace = pace  # steps a second; 0 for full speed
        self._skip = skip  # steps left to play at full speed
        self._paused: float | None = None  # time of the pause
        self._steps_left = 0  # steps left until it pauses again
        self._thinking = False  # a player has not answered yet
        self._waits_for_humans = False  # all players that have not answered are humans
        self._human_actions: list[tuple[int, int]] = []  # (seat, action), not accepted by a pilot yet
        self._next = time.perf_counter()  # when the next step is due
        self._sent = 0  # actions sent so far
        self._sent_at = 0.0

    def wait(self) -> float:
        if self._paused is not None:
            return PULSE
        if self._thinking:
            return (
                PULSE if self._waits_for_humans and not self._human_actions else POLL
            )  # a message ends the wait early
        return min(max(self._next - time.perf_counter(), 0.0), PULSE) if self._paced else 0.0

    @property
    def _paced(self) -> bool:
        return self._pace > 0 and not self._skip and not self._steps_left

    def step(self) -> bool:
        until = time.perf_counter() + SLICE
        while self._paused is None and not self.arena.idle:
            now = time.perf_counter()
            if now > until or (self._paced and now < self._next):
                break
            if self._human_actions:
                self._human_actions = [one for one in self._human_actions if not self.arena.act(*one)]
            ticks = self.arena.tick()
            self._thinking = not any(tick.moved.size or tick.ended.size for tick in ticks) and not self.arena.idle
            self._waits_for_humans = self._thinking and self.arena.waits_for_humans()
            self._skip -= self._skip > 0 and not self._thinking
            if any(tick.ended.size for tick in ticks) or now - self._sent_at > SEND_EVERY:
                self._send_actions(now)
            if self._thinking:
                break
            if self._steps_left:
                self._steps_left -= 1
                if not self._steps_left:
                    self._pause()
            if self._paced:
                self._next = max(self._next + 1 / self._pace, now - SEND_EVERY)  # a delay is not made up for
        return self.arena.idle

    def on_command(self, name: str, rest: Sequence[Any]) -> None:
        now = time.perf_counter()
        match name:
            case "act":  # does not advance the next step: pressing keys faster does not play faster
                self._human_actions.append((rest[0], rest[1]))
                return
            case "pause" if self._paused is None:
                self._pause()
            case "resume":
                self._resume(now)
            case "step" if self._paused is not None or self._steps_left:
                steps = self._steps_left + rest[0]
                self._resume(now)
                self._steps_left = steps
            case "pace":
                self._pace = rest[0]
        self._next = now

    def _pause(self) -> None:
        self._paused, self._steps_left = time.perf_counter(), 0
        self._send_actions(self._paused)

    def _resume(self, now: float) -> None:
        if self._paused is not None:
            self.arena.add_pause(now - self._paused)
        self._paused, self._steps_left = None, 0

    def _send_actions(self, now: float) -> None:
        self._sent_at = now
        if new := self.arena.actions_since(self._sent):
            self._sent += len(new)
            self._send(["moves", new])
