"""The main function of a trainer's process: runs the trainer, sends its events and handles commands of the session.

Started by `agents.training.trainer_process`. Every exception of a trainer becomes an event here.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import socket
import threading
import traceback
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from agents.training.evaluator import MatchEvaluator
from agents.training.event_codec import encode
from agents.training.events import Ended, Event, How, Level, Log, Resolved, Workers
from agents.training.job_spec import TrainingJobSpec
from agents.training.records import MatchRecord
from agents.training.rollouts import RolloutPool
from agents.training.trainer import Trainer
from agents.training.worker_reports import EVERY, WorkerReports
from engine.errors import BadValue, BrokenPlugin, RingsideError, UnknownName
from engine.options import build, items
from engine.play.match import AgentSpec, GameSpec
from engine.processes.bootstrap import exit_now
from engine.processes.channel import MAX_FRAME, Channel, ProtocolError
from engine.processes.process_tree import descendants, kill_all
from engine.registry import TRAINERS, game_of

REASON = 400  # characters of an error in a reason; the log has all of it
NOTICES = 4096  # bytes: notices of commands that are taken at once
PATIENCE = 2.0  # seconds that child processes may take to exit
HINT = " (in the trainer's process: put what your script registers into a module, and name it in plugins)"


def serve(end: socket.socket, job: TrainingJobSpec) -> int:
    """Trains until the end; returns the exit status."""
    context = TrainerContext(Channel(end), job)
    ended = _train(context, job)
    context.close()
    kill_all(descendants(os.getpid()), PATIENCE)  # no child process is left when the session reads `Ended`
    context.send(ended)
    return 0


class TrainerContext:
    """The trainer's context, connected to the session."""

    def __init__(self, channel: Channel, job: TrainingJobSpec) -> None:
        self._channel, self._job = channel, job
        self._workers = job.workers
        self._paused = self._player_wanted = False
        self._executor: MatchEvaluator | None = None
        self._reports = WorkerReports()
        self._pools: set[RolloutPool] = set()  # that are open
        self._reading = threading.Lock()  # threads that collect trajectories read `workers`
        self._sending = threading.Lock()  # and report processes that were started again
        self._news, self._notice = socket.socketpair()  # readable after another thread has handled a command
        self._notice.setblocking(False)
        self.stopping = False

    @property
    def game(self) -> GameSpec:
        return self._job.game

    @property
    def workers(self) -> int:
        self._read_commands()
        return self._workers

    @property
    def state(self) -> bytes | None:
        return self._job.state

    @property
    def ancestor(self) -> AgentSpec | None:
        return self._job.ancestor

    @property
    def agents(self) -> tuple[AgentSpec, ...]:
        return self._job.agents

    @property
    def records(self) -> tuple[MatchRecord, ...]:
        return self._job.records

    @property
    def plugins(self) -> tuple[str, ...]:
        return self._job.plugins

    @property
    def on(self) -> str:
        return self._job.on

    @property
    def executor(self) -> MatchEvaluator:
        if self._executor is None:
            self._executor = MatchEvaluator(self.workers, game=self.game, plugins=self.plugins, on=self.on)
        self._executor.workers = self.workers
        return self._executor

    def rollouts(
        self,
        streams: Sequence[int],
        plan: str,
        agents: Iterable[AgentSpec],
        *,
        settings: Mapping[str, Any] | None = None,
        learners: Collection[str] | None = None,
        rewards: Mapping[str, float] | None = None,
        saved: bytes | None = None,
    ) -> RolloutPool:
        pool = RolloutPool(
            game_of(self.game),
            streams,
            plan,
            agents,
            lambda: self.workers,
            settings=settings,
            learners=learners,
            rewards=rewards,
            plugins=self.plugins,
            saved=saved,
            on_restart=lambda text: self.send(Log(text, Level.WARNING)),
            on_close=self._pools.discard,
        )
        self._pools.add(pool)
        return pool

    def close(self) -> None:
        """Ends the worker processes and closes the pools."""
        for pool in tuple(self._pools):
            pool.close()
        if self._executor is not None:
            self._executor.close()
        self._news.close()
        self._notice.close()

    def attend(self) -> bool:
        self._read_commands(notify=False)
        self._report_workers()
        while self._paused and not self.stopping:
            # Workers finish what they have begun; after that nothing changes until the next command.
            # Another thread may read that command before this one waits for the socket, so it sends a notice.
            timeout = [EVERY] if self._reports.busy else []
            readable, _, _ = select.select([self._channel.socket, self._news], [], [], *timeout)
            if self._news in readable:
                self._news.recv(NOTICES)
            self._read_commands(notify=False)
            self._report_workers()
        return self.stopping

    def player_wanted(self) -> bool:
        self._read_commands()
        wanted, self._player_wanted = self._player_wanted, False
        return wanted

    def _report_workers(self) -> None:
        if self._executor is not None and (event := self._reports.due(self._executor.worker_views)) is not None:
            self._send(event)

    def send(self, event: object) -> None:
        """Sends an event and waits until it is sent: a slow session slows training down but loses no event."""
        if isinstance(event, Workers):
            encode(event)  # raises if the trainer made it wrongly
            event = self._reports.joined(event)
        self._send(event)

    def _send(self, event: object) -> None:
        words, body = encode(event)
        size = len(json.dumps(words)) + len(body)
        if size > MAX_FRAME:
            raise BadValue(f"size of a {type(event).__name__}", size, f"at most {MAX_FRAME:,} bytes")
        try:
            with self._sending:
                self._channel.put(words, body)
                while self._channel.waiting:
                    select.select([self._channel.socket], [self._channel.socket], [])
                    self._read_commands()
                    self._channel.flush()
        except ProtocolError:
            self._exit_orphaned()

    def _read_commands(self, *, notify: bool = True) -> None:
        """If `notify`, an `attend` that waits in another thread continues, because that command is no longer in the
        socket."""
        try:
            with self._reading:
                for words, _ in self._channel.get():
                    self._on_command(words)
                    if notify:
                        with suppress(OSError):  # it is full, so `attend` does not wait; or training has ended
                            self._notice.send(b"\0")
        except ProtocolError:
            self._exit_orphaned()

    def _on_command(self, words: list[object]) -> None:
        match words:
            case ["pause"]:
                self._paused = True
            case ["resume"]:
                self._paused = False
            case ["stop"]:
                self.stopping = True
            case ["player"]:
                self._player_wanted = True
            case ["workers", int(count)]:
                self._workers = count

    def _exit_orphaned(self) -> None:
        """Exits: the session is gone."""
        kill_all(descendants(os.getpid()))
        exit_now(1)


def _train(context: TrainerContext, job: TrainingJobSpec) -> Ended:
    try:
        for name in job.plugins:
            importlib.import_module(name)
        given: Trainer = build(TRAINERS.get(job.trainer), dict(job.settings), f"setting of {job.trainer}")
        trainer = given.resolved(game_of(job.game))
        if trainer != given:
            context.send(Resolved(items(trainer)))
        return _send_events(context, trainer.train(context))
    except BaseException as error:  # a process boundary: every exception is reported, also SystemExit
        return _failure(context, error)


def _send_events(context: TrainerContext, stream: Iterable[Event]) -> Ended:
    """Sends events up to `Ended`."""
    try:
        for event in stream:
            if isinstance(event, Ended):
                encode(event)  # raises if the trainer made it wrongly
                return event
            context.send(event)
            context.attend()  # in case the trainer calls it rarely
    finally:
        _close(context, stream)
    return Ended(How.STOPPED, "stopped") if context.stopping else Ended(How.FINISHED, "the trainer is done")


def _close(context: TrainerContext, stream: object) -> None:
    """Lets a trainer clean up; an error in that is only logged."""
    if hasattr(stream, "close"):
        try:
            stream.close()
        except BaseException as error:  # as above
            context.send(Log("".join(traceback.format_exception(error)), Level.WARNING))


def _failure(context: TrainerContext, error: BaseException) -> Ended:
    if isinstance(error, RingsideError):  # its text is written for users
        return Ended(How.FAILED, f"{error}{HINT if isinstance(error, UnknownName | BrokenPlugin) else ''}")
    trace = traceback.TracebackException.from_exception(error)
    context.send(Log("".join(trace.format()), Level.WARNING))
    text = str(trace).strip()
    reason = f"{type(error).__name__}: {text}" if text else type(error).__name__
    place = f" ({Path(trace.stack[-1].filename).name}, line {trace.stack[-1].lineno})" if trace.stack else ""
    return Ended(How.FAILED, reason[:REASON] + place)
