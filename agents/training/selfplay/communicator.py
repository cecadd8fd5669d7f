"""Exchanges messages with all workers: bounded queues of batches, and control messages that are answered.

A worker whose queue is full waits: nothing is dropped. A worker that does not answer in time is ended; `ended` of its
connection says why, and what it was doing.
"""

from __future__ import annotations

import logging
import selectors
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from agents.training.selfplay.link import ExperienceBatch, WorkerLink
from engine.closing import Closing
from engine.errors import RingsideError
from engine.processes.channel import ProtocolError
from engine.processes.child import PULSE, Selector

logger = logging.getLogger(__name__)

FIRST_BATCH = 600.0  # seconds until the first batch of a process: it may import torch and compile kernels
STOP = 5.0  # seconds that a worker may take to finish its batch after the message "stop"
GRACE = 0.5  # seconds that its process may take to exit after its answer


class ControlRefused(RingsideError):  # noqa: N818
    """A worker that refused a control message, such as damaged weights; the text names both."""


class WorkerCommunicator(Closing):
    """The connections to workers, by number."""

    def __init__(self, num_workers: int, queue_size: int, timeout: float) -> None:
        self._links: list[WorkerLink | None] = [None] * num_workers
        self._kept: list[list[ExperienceBatch]] = [[] for _ in range(num_workers)]  # of processes that have ended
        self._queue_size, self._timeout = queue_size, timeout

    def __getitem__(self, index: int) -> WorkerLink | None:
        return self._links[index]

    @property
    def links(self) -> list[WorkerLink]:
        """The connections of workers that run."""
        return [link for link in self._links if link is not None]

    def connect(self, link: WorkerLink) -> None:
        assert self._links[link.index] is None
        self._links[link.index] = link

    def disconnect(self, index: int) -> None:
        """End a worker's process. The batches that it has sent can still be taken; its link counts unreadable ones."""
        link, self._links[index] = self._links[index], None
        if link is None:
            return
        if not link.ended:
            link.end("was ended")
        try:
            while link.batches:
                number = link.batches[0].number
                try:
                    self._kept[index].append(link.take())
                except ProtocolError as error:
                    logger.error("%s %s: its batch %d is lost", link.name, error, number)
        finally:
            link.close()

    # Messages

    def send(
        self, name: str, workers: Iterable[int], fields: Sequence[object] = (), body: bytes = b""
    ) -> list[tuple[WorkerLink, int]]:
        """Send a control message to those of these workers that run, without waiting."""
        links = [link for index in workers if (link := self._links[index]) is not None and not link.ended]
        logger.debug("%s to %s", name, ", ".join(link.name for link in links) or "no worker")
        return [(link, link.send(name, fields, body)) for link in links]

    def poll(self, seconds: float = 0.0) -> list[tuple[WorkerLink, str, str]]:
        """Wait at most so long for messages; returns answers to control messages as (worker, message, refusal).

        Ends a worker that has sent nothing for too long.
        """
        if seconds > 0:
            self._wait(seconds)
        answers = []
        for link in self.links:
            answers += [(link, name, refused) for _, name, refused in link.receive()]
            if late := link.overdue(self._timeout, FIRST_BATCH):
                link.end(f"{late}, so it was ended")
        return answers

    def _wait(self, seconds: float) -> None:
        """Until a worker has sent something, or can be sent more."""
        with Selector() as selector:
            for link in self.links:
                if not link.ended:
                    events = selectors.EVENT_READ | (selectors.EVENT_WRITE if link.child.channel.waiting else 0)
                    selector.register(link.child.channel.socket, events)
            if selector.get_map():
                selector.select(min(seconds, PULSE))
            else:
                time.sleep(min(seconds, PULSE))

    def is_unanswered(self, name: str) -> bool:
        """Whether a worker that runs has not answered a control message of this name."""
        return any(message.name == name for link in self.links if not link.ended for message in link.pending.values())

    def pending(self, sent: Iterable[tuple[WorkerLink, int]]) -> bool:
        """Whether one of these control messages has no answer yet, and can still get one."""
        return any(number in link.pending and not link.ended for link, number in sent)

    # Batches

    def take(self) -> Iterator[ExperienceBatch]:
        """All batches that wait, worker by worker, the oldest first."""
        for index in range(len(self._links)):
            while self._kept[index]:
                yield self._kept[index].pop(0)
            link = self._links[index]
            while link is not None and link.batches:
                try:
                    batch = link.take()
                except ProtocolError as error:
                    link.end(f"{error}, so it was ended")
                    break
                yield batch

    def waiting(self, index: int) -> int:
        """Batches of a worker that wait to be collected."""
        link = self._links[index]
        return len(self._kept[index]) + (len(link.batches) if link is not None else 0)

    def get_queue_info(self) -> dict[str, Any]:
        """How full the queues are: batches that wait, by worker, and control messages that were not answered."""
        waiting = [self.waiting(index) for index in range(len(self._links))]
        return {
            "experience": waiting,
            "experience_total": sum(waiting),
            "capacity": self._queue_size,
            "full": sum(link.full for link in self.links),
            "control": [0 if link is None else len(link.pending) for link in self._links],
        }

    # The end

    def stop(self) -> list[tuple[WorkerLink, str]]:
        """Ask all workers to finish their batch, wait for that, and end their processes. Returns for each why it did
        not finish, or an empty text. The batches that were sent can still be taken."""
        links, sent = self.links, self.send("stop", range(len(self._links)))
        until = time.monotonic() + min(STOP, self._timeout)
        while self.pending(sent) and (left := until - time.monotonic()) > 0:
            self.poll(left)
        for link, number in sent:
            if number not in link.pending:
                link.child.join(max(until - time.monotonic(), GRACE))
            elif not link.ended:
                link.end("did not stop in time, so it was killed")
        self.close()
        finished = {link.index for link, number in sent if number not in link.pending}
        return [(link, "" if link.index in finished else link.ended) for link in links]

    def close(self) -> None:
        for index in range(len(self._links)):
            self.disconnect(index)
