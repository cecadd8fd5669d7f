"""An engine's process: reads and writes lines with limits on time and size, and always ends it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from agents.usi.engine_spec import EngineSpec
from engine.errors import BadValue
from engine.game import AgentFault
from engine.play.match import EndingKind
from engine.processes.launcher import starter

SUPERVISOR = str(Path(__file__).parent / "supervisor.py")
LINE = 1 << 16  # bytes of one line
PIECE = 1 << 16  # bytes read at once
PIECES = 16  # pieces read in one call, so that other engines get their turn
WRITING = 5.0  # seconds within which the engine must read what it was sent
LEAVING = 0.5  # seconds to wait after `quit`
TAIL = 280  # characters of its last output in a message
PASSED = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES")


class _Stream:
    """Standard output or standard error of an engine, split into lines."""

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
    """One run of an engine. Every failure raises AgentFault with the last output; `close` ends all its processes."""

    def __init__(self, engine: EngineSpec, note: Callable[[str, str], None] = lambda sign, text: None) -> None:
        self.note = note
        self._last_lines: deque[str] = deque(maxlen=12)  # last lines of both streams
        self._unsent = b""
        self._waiting_since = 0.0  # when data was last written, or began to wait
        _check_file(engine.command)
        if os.name != "posix":
            raise AgentFault(EndingKind.CANNOT_START, "external engines run only on Linux and macOS")
        try:
            self._process = starter.submit(_start, engine).result()
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
        """Process id of its supervisor."""
        return self._process.pid

    def send(self, line: str) -> None:
        if not line.isprintable():  # a line break would start another command
            raise BadValue("line", line, "without control characters")
        self.note(">", line)
        if not self._unsent:
            self._waiting_since = time.monotonic()
        self._unsent += line.encode() + b"\n"
        self._write()

    def _write(self) -> None:
        try:
            while self._unsent:
                self._unsent = self._unsent[os.write(self._stdin.fileno(), self._unsent) :]
                self._waiting_since = time.monotonic()
        except BlockingIOError:
            pass
        except BrokenPipeError:  # `lines` reports that it has ended
            self._unsent = b""
        if self._unsent and time.monotonic() - self._waiting_since > WRITING:
            raise self.fault(EndingKind.TIMEOUT, f"has not read its input for {WRITING:.0f} s")

    def lines(self) -> list[str]:
        """Returns the lines of its standard output since the last call, without waiting."""
        if self._unsent:
            self._write()
        try:
            for line in self._error.read() if not self._error.ended else ():
                self._last_lines.append(line)
                self.note("!", line)
            found = self._out.read() if not self._out.ended else []
        except _Flood as flood:
            raise self.fault(EndingKind.PROTOCOL, str(flood)) from None
        for line in found:
            self._last_lines.append(line)
            self.note("<", line)
        if self._out.ended and not found:
            raise self.fault(EndingKind.CRASH, self._exit_text())
        return found

    def await_line(self, matches: Callable[[str], bool], until: float) -> bool:
        """Reads until a line matches; False if there is none until the deadline."""
        while time.monotonic() < until:
            matched = [matches(line) for line in self.lines()]  # calls it for all lines: it may collect them
            if any(matched):
                return True
            reading = [stream.number for stream in (self._out, self._error) if not stream.ended]
            writing = [self._stdin.fileno()] if self._unsent else []
            select.select(reading, writing, [], min(max(until - time.monotonic(), 0.0), 0.1))
        return False

    def fault(self, kind: EndingKind, text: str) -> AgentFault:
        """An AgentFault with this text and the end of the engine's output."""
        words = [*self._last_lines, self._error.part, self._out.part]
        tail = " | ".join(word.strip() for word in words if word.strip())[-TAIL:]
        tail = "".join(letter if letter.isprintable() else "?" for letter in tail)
        self.note("*", text)
        return AgentFault(kind, f"the engine {text}" + (f"; it last wrote: {tail}" if tail else ""))

    def _exit_text(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        with suppress(_Flood):
            self._last_lines.extend(self._error.read() if not self._error.ended else ())
        code = self._process.poll()
        if code is None:
            return "closed its standard output"
        if code > 128:
            with suppress(ValueError):
                return f"was killed by {signal.Signals(code - 128).name}"
        return f"ended with status {code}"

    def close(self, politely: bool = False) -> None:
        """Ends the engine and all processes that it started."""
        if politely and self._process.poll() is None:
            with suppress(AgentFault):
                self.send("quit")
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(LEAVING)
        if self._process.poll() is None:
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(3.0)
        if self._process.poll() is None:  # the supervisor does not react
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
        wrong = "the file does not exist"
    elif not os.path.isfile(command):
        wrong = "it is not a file"
    elif not os.access(command, os.X_OK):
        wrong = "it is not executable (chmod +x)"
    if wrong:
        raise AgentFault(EndingKind.CANNOT_START, f"{command} cannot be run: {wrong}")


def _start(engine: EngineSpec) -> subprocess.Popen[bytes]:
    """Starts without a shell, with only the listed environment variables, in a new session, and in the folder of the
    program, where engines look for their files."""
    supervisor = [sys.executable, "-I", "-S", SUPERVISOR, str(os.getpid()), str(engine.memory)]
    return subprocess.Popen(
        [*supervisor, engine.command, *engine.arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        env={name: os.environ[name] for name in PASSED if name in os.environ},
        cwd=os.path.dirname(engine.command),
        start_new_session=True,
    )
