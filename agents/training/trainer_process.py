"""Starts and watches the process of a training session: receives its events and output, and reports how it ended.

One thread reads both, so output never blocks the process. Events do block it if the session does not take them.
"""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections import deque
from contextlib import suppress
from typing import Any

from agents.training.event_codec import decode
from agents.training.events import Ended, Event, How, Level, Log
from agents.training.job_spec import TrainingJobSpec
from engine.processes import launcher
from engine.processes.channel import Channel, Disconnected, ProtocolError
from engine.processes.child import OutputTail, descendants, describe_exit, kill_all, kill_group, summarize_output

OUTPUT_TAIL = 1 << 13  # bytes of its output that are kept
OUTPUT_CHUNKS = 64  # read at once: it may print faster than it is read
REASON_OUTPUT = 600  # characters of output in a reason
ROOM = 32 << 20  # bytes of events not yet received by the session; beyond that the process blocks
MOST_EVENTS = 10_000
PULSE = 0.2  # seconds between checks whether it is alive
SHORT = 0.02  # seconds until the next check if the process is about to end
SILENT = "its process closed its connection but did not exit"
GRACE = 2.0  # seconds that it may take to exit after its last event


class TrainerProcess:
    """The process of one session. Always ends with one `Ended` event, also if the process crashes."""

    def __init__(self, job: TrainingJobSpec) -> None:
        self._changed = threading.Condition()
        self._events: deque[Event] = deque()
        self._size = 0  # bytes of the events
        self._concluded = False  # `Ended` is among the events
        self._sending = threading.Lock()
        self._gone = False  # its connection is closed
        self._end_noticed: float | None = None  # when its end was first noticed
        self._killed = False  # on request
        self._children: list[Any] = []  # child processes that it had when it was killed
        self._killing = threading.Lock()
        self._released = False  # all processes are gone: the system may reuse their ids
        ours, theirs = socket.socketpair()
        reader, printed = socket.socketpair()
        self._output = OutputTail(reader, OUTPUT_TAIL)
        self._channel = Channel(ours)
        self._starting = launcher.start_process("agents.training.trainer_main:serve", job, theirs, printed)
        self._thread = threading.Thread(target=self._read_until_end, daemon=True, name="ringside-session")
        self._thread.start()

    @property
    def pid(self) -> int | None:
        return process.pid if (process := self._process) is not None else None

    @property
    def _process(self) -> Any:
        starting = self._starting
        return starting.result() if starting.done() and not starting.cancelled() and not starting.exception() else None

    def receive(self, timeout: float | None) -> list[Event]:
        """Returns all pending events; waits for the first one, at most `timeout` seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._events or self._concluded, timeout)
            events = list(self._events)
            self._events.clear()
            self._size = 0
        return events

    def send(self, *words: object) -> None:
        """Sends a command without waiting. A closed connection is noticed by the reading thread."""
        with self._sending, suppress(ProtocolError):
            self._channel.put(words)

    def kill(self) -> None:
        self._killed = True
        self._starting.cancel()  # succeeds if it has not started yet
        self._kill_tree()

    def close(self) -> None:
        """Kills the process if it still runs, and waits until it and its children are gone."""
        self.kill()
        if threading.current_thread() is not self._thread:  # the garbage collector may call this in any thread
            self._thread.join()

    # In the reading thread

    def _read_until_end(self) -> None:
        try:
            with selectors.DefaultSelector() as selector:
                while not self._read_once(selector):
                    pass
        finally:
            self._kill_tree()
            self._conclude(Ended(How.FAILED, "its process could not be monitored"))  # unless it has ended properly
            if (process := self._process) is not None:
                process.join(GRACE)
            kill_all(self._children, GRACE)
            with self._killing:
                self._released = True
            with self._sending:
                self._channel.socket.close()
            self._output.socket.close()

    def _read_once(self, selector: selectors.BaseSelector) -> bool:
        """Reads once; returns True when the process has ended."""
        process = self._process
        dead = process is not None and not process.is_alive()  # checked before reading, so that all it sent is read
        listening = not self._gone and (dead or self._concluded or self._has_room())
        writing = selectors.EVENT_WRITE if self._channel.waiting and not self._gone else 0
        _set_events(selector, self._channel.socket, (selectors.EVENT_READ if listening else 0) | writing)
        pause = PULSE if listening and not dead else SHORT
        if selector.get_map():
            selector.select(pause)
        else:
            time.sleep(pause)
        _set_events(selector, self._output.socket, selectors.EVENT_READ if self._output.read(OUTPUT_CHUNKS) else 0)
        with self._sending, suppress(ProtocolError):
            self._channel.flush()
        if listening:
            self._listen()
        return self._check_end(dead)

    def _has_room(self) -> bool:
        return self._size < ROOM and len(self._events) < MOST_EVENTS

    def _listen(self) -> None:
        try:
            for words, body in self._channel.get():
                event = decode(words, body)
                if isinstance(event, Ended):
                    self._conclude(event)
                else:
                    self._add(event, len(body))
            if self._channel.error is not None:
                raise self._channel.error
        except Disconnected:
            self._gone = True
        except ProtocolError as error:
            self._gone = True
            self._conclude(Ended(How.FAILED, f"its process {error}"))
            self._kill_tree()

    def _add(self, event: Event, size: int) -> None:
        with self._changed:
            if not self._concluded:
                self._events.append(event)
                self._size += size
                self._changed.notify_all()

    def _conclude(self, ended: Ended) -> None:
        """Adds the last event. Later calls and events are ignored."""
        with self._changed:
            if not self._concluded:
                self._events.append(ended)
                self._concluded = True
                self._changed.notify_all()

    def _check_end(self, dead: bool) -> bool:
        """Returns True when the process has ended; adds `Ended` then."""
        if self._starting.cancelled():
            self._conclude(self._killed_event())
            return True
        if self._starting.done() and (error := self._starting.exception()) is not None:
            self._conclude(Ended(How.FAILED, f"its process could not be started: {error}"))
            return True
        if self._killed and not dead:
            self._kill_tree()  # it may have started since
        if self._end_noticed is None:
            self._end_noticed = time.monotonic() if dead or self._gone or self._concluded else None
            return False
        late = time.monotonic() - self._end_noticed > GRACE  # a child process may hold the connection open
        if not late and not (dead and self._gone):
            return False
        self._report_exit(dead)
        return True

    def _killed_event(self) -> Ended:
        return Ended(How.STOPPED, "its process was killed on request; it can be resumed from its last checkpoint")

    def _report_exit(self, dead: bool) -> None:
        """Reports the end of a process that sent no `Ended`."""
        if self._concluded:
            return
        if self._killed:
            self._conclude(self._killed_event())
            return
        self._output.read(OUTPUT_CHUNKS)
        reason = f"its process {describe_exit(self._process.exitcode)}" if dead else SILENT
        text = self._output.text
        if text:
            self._add(Log(f"{reason}; it last printed:\n{text}", Level.WARNING), len(text))
            reason = f"{reason}; it last printed: {summarize_output(text, REASON_OUTPUT)}"
        self._conclude(Ended(How.FAILED, reason))

    def _kill_tree(self) -> None:
        """Kills the process and its descendants."""
        with self._killing:
            process = self._process
            if process is None or self._released:
                return
            if process.is_alive():
                self._children += descendants(process.pid)
            kill_group(process)
            kill_all(self._children)


def _set_events(selector: selectors.BaseSelector, end: socket.socket, events: int) -> None:
    """Registers a socket for these events; removes it if there are none."""
    key = selector.get_map().get(end)
    if key is None:
        if events:
            selector.register(end, events)
    elif not events:
        selector.unregister(end)
    elif key.events != events:
        selector.modify(end, events)
