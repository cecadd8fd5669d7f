"""An engine's process: lines in, lines out, nothing that could hang, grow or stay behind."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import IO

from agents.usi.engine_spec import Engine
from engine.errors import BadValue
from engine.game import AgentFault
from engine.play.match import EndingKind

GUARD = str(Path(__file__).parent / "guard.py")
LINE = 1 << 16  # bytes of one line
PIECE = 1 << 16  # bytes read at once
PIECES = 16  # of them, until somebody else's turn
WRITING = 5.0  # seconds until what was said must be taken
LEAVING = 0.5  # seconds that a polite request to end may take
TAIL = 280  # letters of what it wrote last that are told
PASSED = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES")

# A guard hears when the thread that started it ends: one thread starts them all, and lasts as long as this process.
_starter = ThreadPoolExecutor(1, "ringside-engines")


class _Stream:
    """One of the two that an engine writes: whole lines, and the beginning of the next."""

    def __init__(self, pipe: IO[bytes], name: str) -> None:
        self.number, self._pipe, self._name = pipe.fileno(), pipe, name
        os.set_blocking(self.number, False)
        self._part = b""
        self.ended = False

    def read(self) -> list[str]:
        found: list[bytes] = []
        for _ in range(PIECES):
            try:
                piece = os.read(self.number, PIECE)
            except BlockingIOError:
                break
            if not piece:
                self.ended = True
                found += [self._part] if self._part else []
                self._part = b""
                break
            *lines, self._part = (self._part + piece).split(b"\n")
            found += lines
            if len(self._part) > LINE or any(len(line) > LINE for line in lines):
                raise _Flood(f"wrote more than {LINE:,} bytes to its {self._name} without a line break")
        return [line.decode(errors="replace").rstrip("\r") for line in found]

    @property
    def part(self) -> str:
        return self._part[-TAIL:].decode(errors="replace")

    def close(self) -> None:
        with suppress(OSError):
            self._pipe.close()


class _Flood(Exception):  # noqa: N818
    pass


class EngineProcess:
    """One run of an engine. Every failure is an AgentFault with what it wrote last; `close` leaves nothing behind."""

    def __init__(self, engine: Engine, note: Callable[[str, str], None] = lambda sign, text: None) -> None:
        self.note = note
        self._words: deque[str] = deque(maxlen=12)  # what it wrote last, to either stream
        self._unsent = b""
        self._since = 0.0  # when the unsent became so
        _check_file(engine.command)
        if os.name != "posix":
            raise AgentFault(EndingKind.CANNOT_START, "external engines run on Linux and macOS alone")
        try:
            self._process = _starter.submit(_start, engine).result()
        except (OSError, RuntimeError) as error:
            raise AgentFault(EndingKind.CANNOT_START, f"{engine.command} cannot be run: {error}") from None
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdin is not None
        assert stdout is not None
        assert stderr is not None
        self._stdin = stdin
        os.set_blocking(stdin.fileno(), False)
        self._out, self._error = _Stream(stdout, "standard output"), _Stream(stderr, "standard error")

    @property
    def pid(self) -> int:
        """Of its guard."""
        return self._process.pid

    def send(self, line: str) -> None:
        if not line.isprintable():  # a line break would begin a command of its own
            raise BadValue("line", line, "without control characters")
        self.note(">", line)
        if not self._unsent:
            self._since = time.monotonic()
        self._unsent += line.encode() + b"\n"
        self._write()

    def _write(self) -> None:
        try:
            while self._unsent:
                self._unsent = self._unsent[os.write(self._stdin.fileno(), self._unsent) :]
                self._since = time.monotonic()
        except BlockingIOError:
            pass
        except BrokenPipeError:  # that it is gone is found out by reading
            self._unsent = b""
        if self._unsent and time.monotonic() - self._since > WRITING:
            raise self.fault(EndingKind.TIMEOUT, f"has not read what it was told for {WRITING:.0f} s")

    def lines(self) -> list[str]:
        """What it has said since the last call. Never waits."""
        if self._unsent:
            self._write()
        try:
            for line in self._error.read() if not self._error.ended else ():
                self._words.append(line)
                self.note("!", line)
            found = self._out.read() if not self._out.ended else []
        except _Flood as flood:
            raise self.fault(EndingKind.PROTOCOL, str(flood)) from None
        for line in found:
            self._words.append(line)
            self.note("<", line)
        if self._out.ended and not found:
            raise self.fault(EndingKind.CRASH, self._end_words())
        return found

    def await_line(self, wanted: Callable[[str], bool], until: float) -> bool:
        """Read until a line is what is wanted; False when the time is over."""
        while time.monotonic() < until:
            heard = [wanted(line) for line in self.lines()]  # all of them: what is wanted may keep them
            if any(heard):
                return True
            reading = [one.number for one in (self._out, self._error) if not one.ended]
            writing = [self._stdin.fileno()] if self._unsent else []
            select.select(reading, writing, [], min(max(until - time.monotonic(), 0.0), 0.1))
        return False

    def fault(self, kind: EndingKind, text: str) -> AgentFault:
        """This failure, with the tail of what the engine wrote."""
        words = [*self._words, self._error.part, self._out.part]
        tail = " | ".join(word.strip() for word in words if word.strip())[-TAIL:]
        tail = "".join(letter if letter.isprintable() else "?" for letter in tail)
        self.note("*", text)
        return AgentFault(kind, f"the engine {text}" + (f"; it last wrote: {tail}" if tail else ""))

    def _end_words(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        with suppress(_Flood):
            self._words.extend(self._error.read() if not self._error.ended else ())
        code = self._process.poll()
        if code is None:
            return "closed its standard output"
        if code > 128:
            with suppress(ValueError):
                return f"died of {signal.Signals(code - 128).name}"
        return f"ended with status {code}"

    def close(self, politely: bool = False) -> None:
        """It, and whatever it has started."""
        if politely and self._process.poll() is None:
            with suppress(AgentFault):
                self.send("quit")
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(LEAVING)
        if self._process.poll() is None:
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(3.0)
        if self._process.poll() is None:  # not even its guard listens
            with suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        with suppress(OSError):
            self._stdin.close()
        self._out.close()
        self._error.close()


def _check_file(command: str) -> None:
    wrong = ""
    if not os.path.exists(command):
        wrong = "there is no such file"
    elif not os.path.isfile(command):
        wrong = "it is no file"
    elif not os.access(command, os.X_OK):
        wrong = "it may not be executed"
    if wrong:
        raise AgentFault(EndingKind.CANNOT_START, f"{command} cannot be run: {wrong}")


def _start(engine: Engine) -> subprocess.Popen[bytes]:
    """No shell; nothing of our environment but what is listed; a session of its own; in the folder of its file, where
    engines look for theirs."""
    guard = [sys.executable, "-I", "-S", GUARD, str(os.getpid()), str(engine.memory)]
    return subprocess.Popen(
        [*guard, engine.command, *engine.arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        env={name: os.environ[name] for name in PASSED if name in os.environ},
        cwd=os.path.dirname(engine.command),
        start_new_session=True,
    )
