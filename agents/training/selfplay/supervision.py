"""Supervises the workers: notices those that ended, starts them again, and counts what was lost."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

from agents.training.selfplay.communicator import ControlRefused, WorkerCommunicator
from agents.training.selfplay.link import Failure, WorkerLink
from agents.training.selfplay.parallel_config import ParallelConfig
from agents.training.selfplay.records import Totals, WorkerRecord
from engine.errors import BadSpec, GameFailed, PolicyFailed, RingsideError

logger = logging.getLogger(__name__)

ERRORS: dict[str, Callable[[str], RingsideError]] = {
    "BadSpec": BadSpec,
    "GameFailed": GameFailed.from_text,
    "PolicyFailed": PolicyFailed,
}
SOON = 0.2  # seconds between two checks of workers that are awaited


class CollectionFailed(RingsideError):  # noqa: N818
    """No worker is left: all of them ended too often without a batch."""


class Supervisor:
    """Keeps the workers running from `start` to `stop`."""

    def __init__(
        self,
        communicator: WorkerCommunicator,
        config: ParallelConfig,
        totals: Totals,
        connect: Callable[[WorkerRecord], WorkerLink],
        names: Sequence[str],
    ) -> None:
        """`connect` starts the process of a worker. `names`: of the workers, for messages and the status."""
        self.communicator, self._config, self._totals, self._connect = communicator, config, totals, connect
        self.records = [WorkerRecord(index, name, (0,) * config.lanes) for index, name in enumerate(names)]
        self.started = False
        self.unfinished: list[str] = []  # by worker that did not finish its batch at the last `stop`, why
        self._refused: list[str] = []  # control messages that were refused, and not raised yet
        self._failures: list[tuple[WorkerLink, Failure]] = []  # of games and agents, not raised yet

    def start(self) -> None:
        self.started = True
        self._failures.clear()
        self._refused.clear()
        for record in self.records:
            record.paused = record.given_up = False
            record.in_a_row = 0
            self.communicator.connect(self._connect(record))

    def stop(self) -> None:
        """Idempotent."""
        if not self.started:
            return
        self.started = False
        self.unfinished.clear()
        for link, reason in self.communicator.stop():
            self._take_failures(link)
            self.records[link.index].on_stop(link)
            if not reason:
                self._totals.lost_batches += link.unreadable
            else:
                self._count_lost(link)
                self.unfinished.append(f"{link.name} {reason}")
                logger.warning("%s", self.unfinished[-1])

    def pump(self, seconds: float) -> None:
        """Exchange messages for at most so long, and start workers again."""
        due = [record.restart_at for record in self.records if self._is_to_restart(record)]
        if self.started and due:
            seconds = min(seconds, max(min(due) - time.monotonic(), 0.0))
        for link, name, reason in self.communicator.poll(seconds):
            if reason:
                text = f"{link.name} refused {name!r}, and still plays model version {link.version}: {reason}"
                logger.error("%s", text)
                self._refused.append(text)
        for link in self.communicator.links:
            self._take_failures(link)
            if link.ended:
                self._on_end(link)
        if self.started:
            self._restart()

    def wait_for(self, sent: list[tuple[WorkerLink, int]]) -> None:
        """Wait for the answers to control messages. A worker that gives none in time is ended, and started again with
        what it should have; one that refuses raises ControlRefused."""
        while self.communicator.pending(sent):
            self.pump(SOON)
        self._raise_refused()

    def _raise_refused(self) -> None:
        if self._refused:
            text = "; ".join(self._refused)
            self._refused.clear()
            raise ControlRefused(text)

    def _take_failures(self, link: WorkerLink) -> None:
        """Count and keep them when they arrive: an answer that follows lets the worker try again."""
        for failure in link.failures:
            self._totals.lost_batches += 1
            self.records[link.index].failure = failure.text
            logger.error("%s: %s", link.name, failure.text)
            self._failures.append((link, failure))
        link.failures.clear()

    def _count_lost(self, link: WorkerLink) -> tuple[int, int]:
        batches, games = link.lost
        self._totals.lost_batches += batches
        self._totals.lost_games += games
        return batches, games

    def _on_end(self, link: WorkerLink) -> None:
        self.communicator.disconnect(link.index)  # it reads the batches that wait
        record, (batches, games) = self.records[link.index], self._count_lost(link)
        record.on_end(link, self._config.max_restarts, time.monotonic())
        lost = f"{batches} batches and {games} games are lost"
        logger.warning("%s %s: %s", link.name, link.ended, lost)
        if record.given_up:
            logger.error("%s ended %d times in a row without a batch and is given up", link.name, record.in_a_row)

    def _restart(self) -> None:
        now = time.monotonic()
        for record in self.records:
            if self._is_to_restart(record) and now >= record.restart_at:
                record.restarts += 1
                logger.info("%s is started again", record.name)
                self.communicator.connect(self._connect(record))

    def _is_to_restart(self, record: WorkerRecord) -> bool:
        """Whether its process has ended, and has room for a batch: a full queue is collected first."""
        if self.communicator[record.index] is not None or record.given_up:
            return False
        return self.communicator.waiting(record.index) < self._config.queue_size

    def raise_failures(self) -> None:
        """Raise the error of a worker whose game or agents failed, once, or always if no other worker plays; and of one
        that refused a control message."""
        self._raise_refused()
        if self._failures:
            raise _error(*self._failures.pop(0))
        failed = [(link, link.failure) for link in self.communicator.links if link.failure is not None]
        if len(failed) == len(self.records):
            raise _error(*failed[0])
        waiting = self.communicator.get_queue_info()["experience_total"]  # they are collected first
        if self.started and not waiting and all(record.given_up for record in self.records):
            last = self.records[-1]
            raise CollectionFailed(
                f"no worker is left: each ended {last.in_a_row} times in a row without a batch, the last because it "
                f"{last.failure}. Fix the cause, then start again"
            )


def _error(link: WorkerLink, failure: Failure) -> RingsideError:
    return ERRORS.get(failure.error, RingsideError)(f"{link.name}: {failure.text}")
