"""A learner process as the trainer sees it: messages, answers, reports, and whether it still runs."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from agents.training.events import Span
from agents.training.independent.learner_process import RUN
from agents.training.independent.learner_specs import AgentMemory, LearnerSpec
from agents.training.independent.learner_status import LearnerStatus
from agents.training.independent.timeline import learner_track
from engine.closing import Closing
from engine.processes.bootstrap import ChildSetup
from engine.processes.channel import Disconnected, ProtocolError
from engine.processes.child import ChildProcess


class PendingMessage(NamedTuple):
    """A control message that was not answered yet."""

    name: str
    since: float


class Answer(NamedTuple):
    """The answer to "train"."""

    refused: str  # the reason, or an empty text
    losses: list[list[float]]  # of each agent


class LearnerLink(Closing):
    """A learner process, and the memory in which it says what it does."""

    def __init__(self, index: int, spec: LearnerSpec, memories: Mapping[int, AgentMemory], setup: ChildSetup) -> None:
        self.index, self.spec = index, spec
        self.status = LearnerStatus(len(spec.agents))
        self.pending: dict[int, PendingMessage] = {}
        self.answers: dict[int, Answer] = {}  # to "train", until they are taken
        self.spans: list[Span] = []
        self.losses = [[0.0, 0] for _ in spec.agents]  # by agent: sum and count since they were taken
        self.ready = False
        self.ended = ""  # why its process has ended
        self._control = 0
        self._pulse, self._pulse_seen = 0, time.monotonic()  # its last heartbeat, and when it was seen first
        shared = {agent: memories[agent] for agent in spec.agents}
        self.child = ChildProcess(RUN, spec, shared, self.status.memory, setup=setup)

    @property
    def name(self) -> str:
        return learner_track(self.index)

    def send(self, name: str, *fields: object) -> int:
        """Send a control message; returns its number."""
        self._control += 1
        if not self.ended:
            self.pending[self._control] = PendingMessage(name, time.monotonic())
            self.child.send(["control", self._control, name, *fields])
        return self._control

    def receive(self) -> None:
        """Read what has arrived."""
        while not self.ended:
            try:
                messages = self.child.receive(0.0)
                for fields, body in messages:
                    self._handle(fields, body)
            except Disconnected as error:
                self.end(str(error), kill=False)
            except ProtocolError as error:
                self.end(f"{error}, so it was ended")
            else:
                if not messages:
                    break

    def end(self, reason: str, kill: bool = True) -> None:
        """Its process has ended, or is ended here."""
        if kill:
            self.child.kill()
        self.ended = f"{reason}; it was {self.status.describe()}"

    def check_alive(self, timeout: float, first: float) -> None:
        """End it if its last heartbeat is so many seconds ago; `first` until it has started, and while it compiles."""
        pulse, now = self.status.pulse, time.monotonic()
        if pulse != self._pulse:
            self._pulse, self._pulse_seen = pulse, now
        limit = timeout if self.ready and not self.status.compiling else max(first, timeout)
        if not self.ended and now - self._pulse_seen > limit:
            self.end(f"did not react for {limit:g} s, so it was ended")

    def _handle(self, fields: Sequence[Any], body: bytes) -> None:
        match fields:
            case ["answer", int(number), str(refused), list(counts)] if number in self.pending:
                if not all(type(count) is int for count in counts) or 8 * sum(counts) != len(body):
                    raise ProtocolError("sent an invalid answer")
                parts = np.split(np.frombuffer(body), np.cumsum(counts)[:-1]) if counts else []
                if self.pending.pop(number).name == "train":
                    self.answers[number] = Answer(refused, [part.tolist() for part in parts])
            case ["report", list(spans), list(losses)] if len(losses) == len(self.losses):
                self._add_report(spans, losses)
            case ["ready"]:
                self.ready = True
            case _:
                raise ProtocolError("sent an invalid message")

    def _add_report(self, spans: list[Any], losses: list[Any]) -> None:
        try:
            self.spans += [Span(self.name, str(name), float(start), float(seconds)) for name, start, seconds in spans]
            for k, (total, count) in enumerate(losses):
                self.losses[k][0] += float(total)
                self.losses[k][1] += int(count)
        except (TypeError, ValueError):
            raise ProtocolError("sent an invalid report") from None

    def close(self, wait_for_start: bool = True) -> None:
        self.child.close(wait_for_start)
