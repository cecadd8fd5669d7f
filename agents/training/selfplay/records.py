"""What is known of the workers: how often they were started again, what was collected and lost, and rates."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from agents.training.selfplay.link import WorkerLink

FIRST_DELAY, LONGEST_DELAY = 0.05, 10.0  # seconds before a worker is started again; doubled after each failure in a row
WINDOW = 30.0  # seconds over which rates are measured


@dataclass
class WorkerRecord:
    """One worker over all its processes."""

    index: int
    name: str
    first: tuple[int, ...]  # by board, the number of the next game
    paused: bool = False  # as the trainer wants it
    restarts: int = 0
    in_a_row: int = 0  # processes that ended without a batch, one after the other
    restart_at: float = 0.0
    given_up: bool = False
    failure: str = ""  # why its last process ended, or its game or agents failed
    resets: int = 0  # of its former processes
    batches: int = 0  # that were received, of all its processes
    games: int = 0

    def on_end(self, link: WorkerLink, most: int, now: float) -> None:
        """Its process has ended: decide when it is started again."""
        self.on_stop(link)
        self.failure = link.ended
        self.in_a_row = 1 if link.received else self.in_a_row + 1
        self.given_up = self.in_a_row > most
        self.restart_at = now + min(FIRST_DELAY * 2 ** min(self.in_a_row - 1, 20), LONGEST_DELAY)

    def on_stop(self, link: WorkerLink) -> None:
        """The next process continues with the next games."""
        self.first = link.next_games
        self.resets += link.slots.resets

    def add(self, games: int) -> None:
        """A batch was received."""
        self.batches += 1
        self.games += games

    def state(self, link: WorkerLink | None, started: bool) -> str:
        if self.given_up:
            return "given up"
        if link is None:
            return "restarting" if started else "stopped"
        if link.failure:
            return "failed"
        if link.paused and link.version and not link.pending:
            return "paused"
        if not link.version:
            return "starting"
        return "waiting" if link.full else "playing"

    def view(self, link: WorkerLink | None, started: bool) -> dict[str, Any]:
        return {
            "id": self.index,
            "name": self.name,
            "state": self.state(link, started),
            "pid": link.child.pid if link is not None else None,
            "model_version": link.version if link is not None else 0,
            "restarts": self.restarts,
            "batches": self.batches,
            "games": self.games,
            "resets": self.resets + (link.slots.resets if link is not None else 0),
            "doing": link.slots.describe() if link is not None else "",
            "last_failure": self.failure,
        }


@dataclass
class Totals:
    """What was collected, refused and lost."""

    batches: int = 0
    experiences: int = 0
    games: int = 0
    stale_batches: int = 0  # refused, because their weights were too old
    stale_experiences: int = 0
    lost_batches: int = 0  # that were being played when a worker ended, or could not be read
    lost_games: int = 0  # that were running then
    abandoned_games: int = 0  # by resets
    staleness: int = 0  # the sum over the batches that were collected
    staleness_max: int = 0
    staleness_last: int = 0

    def add(self, experiences: int, games: int, staleness: int) -> None:
        """A batch was collected."""
        self.batches += 1
        self.experiences += experiences
        self.games += games
        self.staleness += staleness
        self.staleness_last, self.staleness_max = staleness, max(self.staleness_max, staleness)

    def refuse(self, experiences: int) -> None:
        """A batch was refused, because its weights were too old."""
        self.stale_batches += 1
        self.stale_experiences += experiences

    def view(self, max_staleness: int) -> dict[str, Any]:
        mean = self.staleness / self.batches if self.batches else 0.0
        last, most = self.staleness_last, self.staleness_max
        return {
            "staleness": {"last": last, "mean": mean, "max": most, "limit": max_staleness},
            "batches": self.batches,
            "experiences": self.experiences,
            "games": self.games,
            "refused": {"batches": self.stale_batches, "experiences": self.stale_experiences},
            "lost": {"batches": self.lost_batches, "games": self.lost_games},
            "abandoned_games": self.abandoned_games,
        }


@dataclass
class Meter:
    """Rates over the last seconds."""

    clock: Callable[[], float] = time.monotonic
    _seen: deque[tuple[float, int, int]] = field(default_factory=deque)
    _since: float | None = None

    def start(self) -> None:
        self._since = self.clock()
        self._seen.clear()

    def add(self, experiences: int, games: int) -> None:
        self._seen.append((self.clock(), experiences, games))

    def rates(self) -> dict[str, float]:
        now = self.clock()
        while self._seen and now - self._seen[0][0] > WINDOW:
            self._seen.popleft()
        seen = list(self._seen)
        seconds = max(min(WINDOW, now - self._since), 1e-9) if self._since is not None else 1.0
        return {
            "batches_per_second": len(seen) / seconds,
            "experiences_per_second": sum(experiences for _, experiences, _ in seen) / seconds,
            "games_per_second": sum(games for _, _, games in seen) / seconds,
        }
