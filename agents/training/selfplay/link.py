"""The connection to one worker process: its messages, its waiting batches, and what it has not answered yet."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from agents.training.selfplay.slots import Activity, Slots
from agents.training.selfplay.worker import RUN, WorkerSpec
from engine.closing import Closing
from engine.game import GameInfo
from engine.play.rollout import Trajectories
from engine.play.rollout_calls import RolloutCalls, calls_size
from engine.processes import launcher
from engine.processes.bootstrap import ChildSetup
from engine.processes.channel import Disconnected, ProtocolError
from engine.processes.child import ChildProcess


@dataclass(frozen=True, eq=False)
class ExperienceBatch:
    """A batch of experience: one segment of each board of a worker."""

    trajectories: Trajectories
    version: int  # of the weights that played it
    worker: int
    number: int  # of the worker's batches, from 1 on
    streams: tuple[int, ...]  # of each row of the trajectories
    staleness: int = 0  # by how many versions the trainer's weights are newer

    def __len__(self) -> int:
        """Experiences: steps of boards."""
        return self.trajectories.ends.size


class Notice(NamedTuple):
    """The message about a batch that waits in a slot."""

    number: int
    version: int
    fields: list[Any]
    body: bytes


class Pending(NamedTuple):
    """A control message without an answer."""

    name: str
    since: float


@dataclass(frozen=True, eq=False)
class Failure:
    """An error of a worker's game or agents."""

    error: str  # the name of its class
    text: str


class WorkerLink(Closing):
    """A worker process and the memory that it shares with this one."""

    def __init__(
        self, index: int, name: str, spec: WorkerSpec, info: GameInfo, setup: ChildSetup, weights_memory: Any
    ) -> None:
        self.index, self.name, self.spec, self._info = index, name, spec, info
        self.slots = Slots(Slots.new_memory(info, len(spec.streams), spec.steps, spec.slots), spec.slots)
        self.batches: deque[Notice] = deque()
        self.pending: dict[int, Pending] = {}
        self.next_games = spec.first  # by board, the number of its next game
        self.received = self.failed = 0  # batches that were sent, and that failed
        self.unreadable = 0  # of those that were sent
        self.ready = False
        self.paused = True  # it begins so
        self.version = 0  # that it plays with
        self.failure: Failure | None = None  # why it does not play
        self.failures: list[Failure] = []  # that the supervisor has not taken yet
        self.ended = ""  # why its process has ended
        self.heard = time.monotonic()  # when it last sent something, or got something to do
        self._control = 0
        memory = launcher.shared_memory(calls_size(len(spec.streams) * info.seats))
        self._calls = RolloutCalls(len(spec.streams) * info.seats, memory)
        self.child = ChildProcess(RUN, spec, self.slots.memory, memory, weights_memory, setup=setup)

    @property
    def activity(self) -> str:
        """What it is doing, or was doing when it ended."""
        playing = self.slots.activity is Activity.PLAYING
        return "; ".join(filter(None, (f"it was {self.slots.describe()}", self._calls.describe() if playing else "")))

    @property
    def full(self) -> bool:
        """Whether it waits until a batch is collected."""
        return len(self.batches) >= self.spec.slots

    @property
    def busy(self) -> bool:
        """Whether it should send something: a batch, an answer, or that it is ready."""
        playing = not (self.paused or self.full or self.failure)
        return not self.ended and (playing or not self.ready or bool(self.pending))

    def send(self, name: str, fields: Sequence[object] = (), body: bytes = b"") -> int:
        """Send a control message; returns its number."""
        self._control += 1
        if not self.ended:
            if not self.busy:
                self.heard = time.monotonic()
            self.pending[self._control] = Pending(name, time.monotonic())
            self.child.send(["control", self._control, name, *fields], body)
        return self._control

    def receive(self) -> list[tuple[int, str, str]]:
        """Read what has arrived; returns the answers to control messages as (number, name, reason of a refusal)."""
        answers: list[tuple[int, str, str]] = []
        while not self.ended:
            try:
                messages = self.child.receive(0.0)
                for fields, body in messages:
                    self._handle(fields, body, answers)
            except Disconnected as error:
                self.end(str(error), kill=False)
            except ProtocolError as error:
                self.end(f"{error}, so it was ended")
            else:
                if not messages:
                    break
                self.heard = time.monotonic()
        return answers

    def end(self, reason: str, kill: bool = True) -> None:
        """Its process has ended, or is ended here."""
        if kill:
            self.child.kill()
        self.ended = f"{reason}; {self.activity}"

    def _handle(self, fields: list[Any], body: bytes, answers: list[tuple[int, str, str]]) -> None:
        match fields:
            case ["batch", int(number), int(version), list(upcoming), *rest] if not self.full:
                if len(upcoming) != len(self.spec.streams) or not all(type(k) is int for k in upcoming):
                    raise ProtocolError("sent an invalid batch")
                self.next_games = tuple(upcoming)
                self.received += 1
                self.batches.append(Notice(number, version, rest, body))
            case ["answer", int(number), str(refused), int(version)] if number in self.pending:
                self.version = version
                name = self.pending.pop(number).name
                answers.append((number, name, refused))
                if not refused:
                    self._on_done(name)
            case ["failed", int(_), str(name), str(text)]:
                self.failure = Failure(name, text)
                self.failures.append(self.failure)
                self.failed += 1
            case ["ready"]:
                self.ready = True
            case _:
                raise ProtocolError("sent an invalid message")

    def _on_done(self, name: str) -> None:
        """The worker has done what this control message asks for."""
        if name in ("pause", "resume"):
            self.paused = name == "pause"
        if name in ("resume", "reset", "weights", "agent"):
            self.failure = None  # a worker whose game failed plays again

    def take(self) -> ExperienceBatch:
        """The oldest batch that waits; its slot is free then. Raises ProtocolError if it is invalid."""
        if not self.busy:
            self.heard = time.monotonic()  # from now on it plays again
        notice = self.batches.popleft()
        try:
            segment = self.slots.read(notice.fields, notice.body, self._info)
            if segment.ends.shape != (len(self.spec.streams), self.spec.steps):
                raise ProtocolError("sent invalid trajectories")
        except ProtocolError:
            self.unreadable += 1
            raise
        if not self.ended:
            self.child.send(["free", notice.fields[0]])
        return ExperienceBatch(segment, notice.version, self.index, notice.number, self.spec.streams)

    def overdue(self, timeout: float, first: float) -> str:
        """What it should have done by now; empty if it is in time. It may take `first` seconds until its first batch,
        or while it compiles."""
        if not self.busy:
            return ""
        limit = timeout if self.received and not self.slots.compiling else max(first, timeout)
        if time.monotonic() - self.heard <= limit:
            return ""
        return f"sent no {'answer to ' + self._oldest() if self.pending else 'batch'} within {limit:g} s"

    def _oldest(self) -> str:
        return repr(min(self.pending.values(), key=lambda sent: sent.since).name)

    @property
    def lost(self) -> tuple[int, int]:
        """What ends with its process: batches that it has begun and not sent, or that cannot be read, and running
        games. Complete once all batches have been taken."""
        begun = self.slots.batch
        unsent = max(begun - self.received - self.failed, 0)
        return unsent + self.unreadable, len(self.spec.streams) if begun else 0

    def close(self) -> None:
        self.child.close()
