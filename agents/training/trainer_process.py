"""The process of a training session as its session sees it: what it says, what it prints, and how it ended.

One thread reads all that, so that a process that prints a lot never waits; one that has more to tell than anybody takes
does wait.
"""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from agents.training.events import Ended, Event, How, Level, Log
from agents.training.event_codec import decode
from agents.training.job_spec import Task
from engine.processes import launcher as nursery
from engine.processes.bootstrap import below, kill_all
from engine.processes.channel import Broken, Channel, Gone
from engine.play.workers.handle import exit_words, kill_group

TAIL = 1 << 13  # bytes of what it printed last
LAST_LINES = 6  # of them that a reason quotes
LAST_WORDS = 600  # letters of them
ROOM = 32 << 20  # bytes of events that wait here to be taken; then its process waits
MOST_EVENTS = 10_000
PULSE = 0.2  # seconds between two looks whether it is alive
SHORT = 0.02  # seconds until the next look when something is about to change
GRACE = 2.0  # seconds that it may take to end once it has nothing more to say


class Keeper:
    """Starts the process; takes what it says until it is gone, and says how it ended if it cannot."""

    def __init__(self, task: Task) -> None:
        self._changed = threading.Condition()
        self._events: deque[Event] = deque()
        self._size = 0  # bytes of them
        self._concluded = False  # the last event is there
        self._sending = threading.Lock()
        self._printed = bytearray()
        self._gone = False  # nothing more can come from it
        self._waning: float | None = None  # since when it is about to be over
        self._killed = False  # because somebody asked for it
        self._family: list[Any] = []  # whatever it had started when it was killed
        self._felling = threading.Lock()
        self._buried = False  # nothing of it is left: its number may be somebody else's by now
        ours, theirs = socket.socketpair()
        self._output, printed = socket.socketpair()
        self._output.setblocking(False)
        self._channel = Channel(ours)
        self._birth = nursery.start_program("agents.training.trainer_main:serve", task, theirs, printed)
        self._thread = threading.Thread(target=self._keep, daemon=True, name="ringside-session")
        self._thread.start()

    @property
    def pid(self) -> int | None:
        return process.pid if (process := self._process) is not None else None

    @property
    def _process(self) -> Any:
        birth = self._birth
        return birth.result() if birth.done() and not birth.cancelled() and not birth.exception() else None

    def take(self, timeout: float | None) -> list[Event]:
        """What has come, or comes first within the time."""
        with self._changed:
            self._changed.wait_for(lambda: self._events or self._concluded, timeout)
            taken = list(self._events)
            self._events.clear()
            self._size = 0
        return taken

    def tell(self, *words: object) -> None:
        """Never waits. If it is gone, that is noticed elsewhere."""
        with self._sending, suppress(Broken):
            self._channel.put(words)

    def kill(self) -> None:
        self._killed = True
        self._birth.cancel()  # if it is not too late
        self._fell()

    def close(self) -> None:
        """Kill it if it still runs, and wait until nothing of it is left."""
        self.kill()
        if threading.current_thread() is not self._thread:  # a session may be forgotten, and found by any thread
            self._thread.join()

    # In the thread

    def _keep(self) -> None:
        try:
            with selectors.DefaultSelector() as selector:
                while not self._turn(selector):
                    pass
        finally:
            self._fell()
            self._conclude(Ended(How.FAILED, "its process could not be looked after"))  # if nothing else was said
            if (process := self._process) is not None:
                process.join(GRACE)
            kill_all(self._family, GRACE)
            with self._felling:
                self._buried = True
            with self._sending:
                self._channel.socket.close()
            self._output.close()

    def _turn(self, selector: selectors.BaseSelector) -> bool:
        """Take what there is; whether it is over."""
        process = self._process
        dead = process is not None and not process.is_alive()  # asked first: what it said before is then all there
        listening = not self._gone and (dead or self._concluded or self._has_room())
        writing = selectors.EVENT_WRITE if self._channel.waiting and not self._gone else 0
        _heed(selector, self._channel.socket, (selectors.EVENT_READ if listening else 0) | writing)
        pause = PULSE if listening and not dead else SHORT
        if selector.get_map():
            selector.select(pause)
        else:
            time.sleep(pause)
        _heed(selector, self._output, selectors.EVENT_READ if self._read_output() else 0)
        with self._sending, suppress(Broken):
            self._channel.flush()
        if listening:
            self._listen()
        return self._judge(dead)

    def _has_room(self) -> bool:
        return self._size < ROOM and len(self._events) < MOST_EVENTS

    def _read_output(self) -> bool:
        """Keep the tail of what it prints; False at its end."""
        with suppress(BlockingIOError):
            for _ in range(64):  # it may print faster than this
                try:
                    piece = self._output.recv(1 << 16)
                except ConnectionError:
                    return False
                if not piece:
                    return False
                self._printed += piece
                del self._printed[:-TAIL]
        return True

    def _listen(self) -> None:
        try:
            for words, body in self._channel.get():
                event = decode(words, body)
                if isinstance(event, Ended):
                    self._conclude(event)
                else:
                    self._add(event, len(body))
            if self._channel.nonsense is not None:
                raise self._channel.nonsense
        except Gone:
            self._gone = True
        except Broken as error:
            self._gone = True
            self._conclude(Ended(How.FAILED, f"its process {error}"))
            self._fell()

    def _add(self, event: Event, size: int) -> None:
        with self._changed:
            if not self._concluded:
                self._events.append(event)
                self._size += size
                self._changed.notify_all()

    def _conclude(self, ended: Ended) -> None:
        """Once: what comes later is not heard."""
        with self._changed:
            if not self._concluded:
                self._events.append(ended)
                self._concluded = True
                self._changed.notify_all()

    def _judge(self, dead: bool) -> bool:
        """Whether it is over; if so, somebody has said how."""
        if self._birth.cancelled():
            self._conclude(self._on_request())
            return True
        if self._birth.done() and (error := self._birth.exception()) is not None:
            self._conclude(Ended(How.FAILED, f"its process could not be started: {error}"))
            return True
        if self._killed and not dead:
            self._fell()  # it may have been born since
        if self._waning is None:
            self._waning = time.monotonic() if dead or self._gone or self._concluded else None
            return False
        late = time.monotonic() - self._waning > GRACE  # something that it started may hold on to its line
        if not late and not (dead and self._gone):
            return False
        self._tell_death(dead)
        return True

    # Its end

    def _on_request(self) -> Ended:
        return Ended(How.STOPPED, "its process was ended on request; it can be resumed from its last checkpoint")

    def _tell_death(self, dead: bool) -> None:
        """It has ended without a word."""
        if self._concluded:
            return
        if self._killed:
            self._conclude(self._on_request())
            return
        self._read_output()
        reason = f"its process {exit_words(self._process.exitcode)}" if dead else "its process fell silent"
        text = self._printed.decode(errors="replace").strip()
        if text:
            self._add(Log(f"{reason}; it last printed:\n{text}", Level.WARNING), len(text))
            reason = f"{reason}; it last printed: {last_words(text)}"
        self._conclude(Ended(How.FAILED, reason))

    def _fell(self) -> None:
        """End it and all below it, whatever they do."""
        with self._felling:
            process = self._process
            if process is None or self._buried:
                return
            if process.is_alive():
                self._family += below(process.pid)
            kill_group(process)
            kill_all(self._family)


def last_words(text: str) -> str:
    """The last lines in one; of Python's own account of a crash, its first ones."""
    lines: Sequence[str] = [line.strip() for line in text.splitlines() if line.strip()]
    fatal = [number for number, line in enumerate(lines) if line.startswith("Fatal Python error")]
    if fatal:
        return " | ".join(lines[fatal[-1] :][:LAST_LINES])[:LAST_WORDS]
    return " | ".join(lines[-LAST_LINES:])[-LAST_WORDS:]


def _heed(selector: selectors.BaseSelector, end: socket.socket, events: int) -> None:
    """Wait for these events of a socket; for none, let it be."""
    key = selector.get_map().get(end)
    if key is None:
        if events:
            selector.register(end, events)
    elif not events:
        selector.unregister(end)
    elif key.events != events:
        selector.modify(end, events)
