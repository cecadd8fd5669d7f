"""A child process as its parent sees it: frames, output, death and the end of its whole tree."""

from __future__ import annotations

import os
import selectors
import socket
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from multiprocessing import connection
from multiprocessing.process import BaseProcess

import psutil

from engine.closing import Closing
from engine.processes import launcher
from engine.processes.bootstrap import ChildSetup
from engine.processes.channel import Channel, Disconnected, Message, ProtocolError
from engine.processes.output import LAST_OUTPUT, OutputTail, describe_exit, summarize_output
from engine.processes.process_tree import kill_all, kill_descendants

OUTPUT_TAIL = 1 << 14  # bytes of its output that are kept
OUTPUT_CHUNKS = 16  # read at once: it may print faster than it is read
REASON_OUTPUT = 400  # characters of its output in a reason
PULSE = 0.2  # seconds between two checks whether it is alive: a descendant may hold its socket open after its death
SHORT_PULSE = 0.02  # seconds, if it is about to end
GRACE = 2.0  # seconds that it may take to exit after it has closed its socket, or to disappear once it is killed
SILENT = "closed its connection but did not exit"
SIGKILL = 9
Selector = getattr(selectors, "PollSelector", selectors.SelectSelector)  # needs no file descriptor of its own


class ChildEnded(Disconnected):
    """A child process has ended, or can no longer be reached; the text says how, such as "was killed by SIGKILL"."""


class ChildProcess(Closing):
    """Starts a process that calls `run`, "module:function", with its end of the connection and the arguments.

    The child is set up as `setup` says, in a session of its own, and ends when this process ends, even if that is
    killed. It starts in the background: messages may be sent at once. There are two ways to use it:

    - `receive` waits for its messages, and raises ChildEnded when it has ended. Other threads may call `send`.
    - A program that waits for many children selects on `channel.socket` and `output.socket`, and calls `channel.get`,
      `channel.flush` and `read_output` itself, all under one lock.

    `kill` ends it and all its descendants; `close` waits until they are gone, and frees its sockets.
    """

    def __init__(
        self,
        run: str,
        *arguments: object,
        setup: ChildSetup = ChildSetup(),  # noqa: B008 - frozen
        output: int = OUTPUT_TAIL,
    ) -> None:
        """`output`: how many bytes of what it prints are kept."""
        ours, theirs = socket.socketpair()
        reader, printed = socket.socketpair()
        self.channel, self.output = Channel(ours), OutputTail(reader, output)
        self._sending, self._killing, self._polling = threading.Lock(), threading.Lock(), threading.Lock()
        self._printing = True  # its output is not closed
        self._disconnected: float | None = None  # when its socket was found closed
        self._killed: list[psutil.Process] = []  # its descendants, when it was killed
        self._closed = self._gone = False
        self._starting: Future[BaseProcess] = launcher.start(run, arguments, setup, theirs, printed)

    # State

    @property
    def _process(self) -> BaseProcess | None:
        starting = self._starting
        return starting.result() if starting.done() and not starting.cancelled() and not starting.exception() else None

    @property
    def pid(self) -> int | None:
        """Its process id; None before it has started."""
        process = self._process
        return process.pid if process is not None else None

    @property
    def start_error(self) -> str:
        """Why the process could not be started, or an empty text."""
        if self._starting.cancelled():
            return "it was ended before its start"
        error = self._starting.exception() if self._starting.done() else None
        return "" if error is None else str(error) or type(error).__name__

    @property
    def has_ended(self) -> bool:
        """Whether it has exited or could not be started."""
        process = self._process
        if process is None:
            return bool(self.start_error)
        with self._polling:  # multiprocessing reads the exit status of a process once
            return not process.is_alive()

    @property
    def exit_code(self) -> int | None:
        """Its exit status, or minus the signal that killed it; None while it runs, and if it was never started."""
        process = self._process
        if process is None or not self.has_ended:
            return None
        return process.exitcode

    def join(self, timeout: float) -> bool:
        """Wait until it has ended, at most so many seconds; returns whether it has."""
        until = time.monotonic() + timeout
        while not self.has_ended:
            if (left := until - time.monotonic()) <= 0:
                return False
            process = self._process
            if process is None:
                wait([self._starting], left)
            else:
                connection.wait([process.sentinel], min(left, PULSE))  # a descendant may hold it open
                time.sleep(0.0005)  # until the system has its exit status
        return True

    @property
    def exit_text(self) -> str:
        """How it ended, such as "exited with status 1"."""
        if error := self.start_error:
            return f"could not be started: {error}"
        return describe_exit(self.exit_code) if self.has_ended else SILENT

    def with_output(self, text: str, length: int = REASON_OUTPUT) -> str:
        """This text, and the end of what the process printed in one line of at most so many characters."""
        self.read_output(4 * OUTPUT_CHUNKS)
        printed = summarize_output(self.output.text, length)
        return f"{text}{LAST_OUTPUT}{printed}" if printed else text

    # Messages

    def send(self, fields: Sequence[object], body: bytes = b"") -> None:
        """Send without waiting; `receive` sends the rest. That it has ended is noticed by `receive`."""
        with self._sending, suppress(ProtocolError):
            self.channel.put(fields, body)

    def receive(self, timeout: float | None = None, listen: bool = True) -> list[Message]:
        """Wait for messages, and keep reading what it prints; returns nothing after `timeout` seconds.

        If not `listen`, its messages stay in the socket, so that it blocks when that is full. Raises ChildEnded after
        its last message, and ProtocolError if it sent something else: it should be closed then.
        """
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            ended = self.has_ended  # checked before reading, so that all it sent is read
            messages = self._read(listen or ended)
            if messages:
                return messages
            if ended or (self._disconnected is not None and time.monotonic() - self._disconnected > GRACE):
                raise ChildEnded(self.with_output(self.exit_text))
            pause = PULSE if self._disconnected is None else SHORT_PULSE
            if until is not None:
                if (left := until - time.monotonic()) <= 0:
                    return []
                pause = min(pause, left)
            self._wait(pause, listen)

    def read_output(self, chunks: int = OUTPUT_CHUNKS) -> bool:
        """Read what it has printed, at most so much; returns whether there may be more later."""
        if self._printing and self.output.socket.fileno() >= 0:
            self._printing = self.output.read(chunks)
        return self._printing

    def _read(self, listen: bool) -> list[Message]:
        self.read_output()
        with self._sending, suppress(ProtocolError):
            self.channel.flush()
        if self.channel.error is not None:
            raise self.channel.error
        if not listen or self._disconnected is not None:
            return []
        try:
            return self.channel.get()
        except Disconnected:
            self._disconnected = time.monotonic()
            return []

    def _wait(self, seconds: float, listen: bool) -> None:
        """Wait until there is something to read or to send."""
        events = selectors.EVENT_WRITE if self.channel.waiting else 0
        events |= selectors.EVENT_READ if listen else 0
        with Selector() as selector:
            if events and self._disconnected is None:
                selector.register(self.channel.socket, events)
            if self._printing:
                selector.register(self.output.socket, selectors.EVENT_READ)
            if selector.get_map():
                selector.select(seconds)
            else:
                time.sleep(seconds)

    # Its end

    def kill(self) -> None:
        """Kill it and all its descendants without waiting; one that is still starting is killed when it has started."""
        self._starting.cancel()  # succeeds if it has not started yet
        self._starting.add_done_callback(self._kill_started)

    def _kill_started(self, _: object) -> None:
        with self._killing:
            process = self._process
            if process is None or process.pid is None or self._gone:
                return
            if not self.has_ended:
                self._killed += kill_descendants(process.pid)
                with suppress(OSError):
                    process.kill()
            if hasattr(os, "killpg"):  # what it has left in its process group
                with suppress(OSError):
                    os.killpg(process.pid, SIGKILL)
        if self._closed:
            self.join(GRACE)  # reads its exit status, or it would stay in the process table

    def close(self, wait_for_start: bool = True) -> None:
        """Idempotent: kill it, wait until it and its descendants have ended, and close the sockets.

        If not `wait_for_start`, one that is still starting is killed later, when it has started.
        """
        self._closed = True
        self.kill()
        if wait_for_start:
            wait([self._starting], GRACE)
        kill_all(self._killed, GRACE)
        with self._killing:
            self._gone = self.has_ended  # from now on the system may reuse its id
        with self._sending:
            self.channel.socket.close()
        self.output.socket.close()
