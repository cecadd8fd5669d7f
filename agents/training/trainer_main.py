"""The process of a training session: it runs the trainer, tells the session what it yields, and heeds what it is told.

Started by `agents.training.session`. Whatever goes wrong in a trainer ends here as an event.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import socket
import traceback
from collections.abc import Iterable
from pathlib import Path

from agents.training.events import Ended, Event, How, Level, Log
from agents.training.event_codec import encode
from agents.training.job_spec import Task
from engine.errors import BadValue, BrokenPlugin, RingsideError, UnknownName
from engine.options import build
from engine.play.match import AgentSpec, GameSpec
from engine.processes.bootstrap import below, kill_all, leave
from engine.processes.channel import LARGEST, Broken, Channel
from engine.registry import TRAINERS

REASON = 400  # letters of an error that a reason keeps; all of it is in the log
PATIENCE = 2.0  # seconds that what the trainer started may take to be gone
HINT = " (in the process of its session; what a script registers itself must be in a module, and plugins must name it)"


def serve(end: socket.socket, task: Task) -> int:
    """Train until it is over; the exit status."""
    line = Line(Channel(end), task)
    ended = _train(line, task)
    kill_all(below(os.getpid()), PATIENCE)  # when the end is told, nothing of it is left
    line.send(ended)
    return 0


class Line:
    """The context of the trainer: what it was given, and its line to the session."""

    def __init__(self, channel: Channel, task: Task) -> None:
        self._channel, self._task = channel, task
        self._workers = task.workers
        self._paused = False
        self.stopping = False

    @property
    def game(self) -> GameSpec:
        return self._task.game

    @property
    def workers(self) -> int:
        self._listen()
        return self._workers

    @property
    def state(self) -> bytes | None:
        return self._task.state

    @property
    def ancestor(self) -> AgentSpec | None:
        return self._task.ancestor

    @property
    def plugins(self) -> tuple[str, ...]:
        return self._task.plugins

    def attend(self) -> bool:
        self._listen()
        while self._paused and not self.stopping:
            select.select([self._channel.socket], [], [])
            self._listen()
        return self.stopping

    def send(self, event: object) -> None:
        """Wait until it is sent: a session that reads slowly slows training down, and misses nothing."""
        words, body = encode(event)
        size = len(json.dumps(words)) + len(body)
        if size > LARGEST:
            raise BadValue(f"size of a {type(event).__name__}", size, f"at most {LARGEST:,} bytes")
        try:
            self._channel.put(words, body)
            while self._channel.waiting:
                select.select([self._channel.socket], [self._channel.socket], [])
                self._listen()
                self._channel.flush()
        except Broken:
            self._orphaned()

    def _listen(self) -> None:
        try:
            messages = self._channel.get()
        except Broken:
            self._orphaned()
        else:
            for words, _ in messages:
                self._obey(words)

    def _obey(self, words: list[object]) -> None:
        match words:
            case ["pause"]:
                self._paused = True
            case ["resume"]:
                self._paused = False
            case ["stop"]:
                self.stopping = True
            case ["workers", int(count)]:
                self._workers = count

    def _orphaned(self) -> None:
        """There is nobody to train for any more."""
        kill_all(below(os.getpid()))
        leave(1)


def _train(line: Line, task: Task) -> Ended:
    try:
        for name in task.plugins:
            importlib.import_module(name)
        trainer = build(TRAINERS.get(task.trainer), dict(task.settings), f"setting of {task.trainer}")
        return _follow(line, trainer.train(line))
    except BaseException as error:  # where the process ends: whatever a trainer raises is told, sys.exit() too
        return _failure(line, error)


def _follow(line: Line, stream: Iterable[Event]) -> Ended:
    """Send what it yields up to its end."""
    try:
        for event in stream:
            if isinstance(event, Ended):
                encode(event)  # or it is an error of the trainer
                return event
            line.send(event)
            line.attend()  # even if the trainer itself seldom does
    finally:
        _close(line, stream)
    return (
        Ended(How.STOPPED, "it was stopped") if line.stopping else Ended(How.FINISHED, "it has done what it was to do")
    )


def _close(line: Line, stream: object) -> None:
    """Let a trainer clean up what it holds; if it fails in that, the end is the same."""
    if hasattr(stream, "close"):
        try:
            stream.close()
        except BaseException as error:  # as above
            line.send(Log("".join(traceback.format_exception(error)), Level.WARNING))


def _failure(line: Line, error: BaseException) -> Ended:
    if isinstance(error, RingsideError):  # it is meant for a person
        return Ended(How.FAILED, f"{error}{HINT if isinstance(error, UnknownName | BrokenPlugin) else ''}")
    told = traceback.TracebackException.from_exception(error)
    line.send(Log("".join(told.format()), Level.WARNING))
    text = str(told).strip()
    reason = f"{type(error).__name__}: {text}" if text else type(error).__name__
    place = f" ({Path(told.stack[-1].filename).name}, line {told.stack[-1].lineno})" if told.stack else ""
    return Ended(How.FAILED, reason[:REASON] + place)
