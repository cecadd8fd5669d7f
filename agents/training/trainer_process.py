"""Starts and watches the process of a training session: receives its events, and reports how it ended.

One thread receives them. If the session does not take its events, the process blocks.
"""

from __future__ import annotations

import threading
import time
from collections import deque

from agents.training.event_codec import decode
from agents.training.events import Ended, Event, How, Level, Log
from agents.training.job_spec import TrainingJobSpec
from engine.processes.bootstrap import NICE_PROGRAM, ChildSetup
from engine.processes.channel import Message, ProtocolError
from engine.processes.child import ChildEnded, ChildProcess

RUN = "agents.training.trainer_main:serve"
SETUP = ChildSetup(nice=NICE_PROGRAM, one_thread=False, children=True)
OUTPUT_TAIL = 1 << 13  # bytes of its output that are kept
REASON_OUTPUT = 600  # characters of output in a reason
ROOM = 32 << 20  # bytes of events not yet received by the session; beyond that the process blocks
MOST_EVENTS = 10_000
PULSE = 0.2  # seconds to wait for events
SHORT = 0.02  # seconds to wait until the session has taken some
GRACE = 2.0  # seconds that it may take to exit after its last event


class TrainerProcess:
    """The process of one session. Always ends with one `Ended` event, also if the process crashes."""

    def __init__(self, job: TrainingJobSpec) -> None:
        self._changed = threading.Condition()
        self._events: deque[Event] = deque()
        self._size = 0  # bytes of the events
        self._concluded: float | None = None  # when `Ended` was added to the events
        self._killed = False  # on request
        self._child = ChildProcess(RUN, job, setup=SETUP, output=OUTPUT_TAIL)
        self._thread = threading.Thread(target=self._receive_until_end, daemon=True, name="ringside-session")
        self._thread.start()

    @property
    def pid(self) -> int | None:
        return self._child.pid

    def receive(self, timeout: float | None) -> list[Event]:
        """Returns all pending events; waits for the first one, at most `timeout` seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._events or self._concluded is not None, timeout)
            events = list(self._events)
            self._events.clear()
            self._size = 0
        return events

    def send(self, *words: object) -> None:
        """Sends a command without waiting."""
        self._child.send(words)

    def kill(self) -> None:
        self._killed = True
        self._child.kill()

    def close(self) -> None:
        """Kills the process if it still runs, and waits until it and its children are gone."""
        self.kill()
        if threading.current_thread() is not self._thread:  # the garbage collector may call this in any thread
            self._thread.join()

    # In the receiving thread

    def _receive_until_end(self) -> None:
        try:
            while self._concluded is None or time.monotonic() - self._concluded < GRACE:
                listen = self._concluded is not None or self._has_room()
                for message in self._child.receive(PULSE if listen else SHORT, listen):
                    self._on_message(message)
        except ChildEnded:
            self._report_exit()
        except ProtocolError as error:
            self._conclude(Ended(How.FAILED, f"its process {error}"))
        finally:
            self._conclude(Ended(How.FAILED, "its process could not be monitored"))  # unless it has ended properly
            self._child.close()

    def _on_message(self, message: Message) -> None:
        event = decode(*message)
        if isinstance(event, Ended):
            self._conclude(event)
        else:
            self._add(event, len(message[1]))

    def _has_room(self) -> bool:
        return self._size < ROOM and len(self._events) < MOST_EVENTS

    def _add(self, event: Event, size: int) -> None:
        with self._changed:
            if self._concluded is None:
                self._events.append(event)
                self._size += size
                self._changed.notify_all()

    def _conclude(self, ended: Ended) -> None:
        """Adds the last event. Later calls and events are ignored."""
        with self._changed:
            if self._concluded is None:
                self._events.append(ended)
                self._concluded = time.monotonic()
                self._changed.notify_all()

    def _report_exit(self) -> None:
        """Reports the end of a process that sent no `Ended`."""
        if self._killed:
            reason = "its process was killed on request; it can be resumed from its last checkpoint"
            self._conclude(Ended(How.STOPPED, reason))
            return
        how = f"its process {self._child.exit_text}"
        if text := self._child.output.text:
            self._add(Log(f"{how}; it last printed:\n{text}", Level.WARNING), len(text))
        self._conclude(Ended(How.FAILED, self._child.with_output(how, REASON_OUTPUT)))
