"""The last lines that a child process printed, and how it exited, as text."""

from __future__ import annotations

import re
import signal
import socket
from contextlib import suppress
from pathlib import Path

from engine.foreign_code import clean_lines
from engine.processes.bootstrap import OUT_OF_MEMORY

ENGINE = str(Path(__file__).parents[1])
FRAME = re.compile(r'^File "(.*)", line (\d+) in (.*)$', re.M)  # as faulthandler prints it
CHUNK = 1 << 16  # bytes read at once
LAST_OUTPUT = "; it last printed: "  # between a reason and the output of the process, also in recorded reasons


class OutputTail:
    """The last bytes that a child process printed, read from the socket that is its stdout and stderr."""

    def __init__(self, end: socket.socket, size: int) -> None:
        self.socket = end
        end.setblocking(False)
        self._size = size
        self._bytes = bytearray()

    def read(self, chunks: int) -> bool:
        """Read at most this many chunks, because a process may print faster than they are read. False at the end."""
        with suppress(BlockingIOError):
            for _ in range(chunks):
                try:
                    piece = self.socket.recv(CHUNK)
                except ConnectionError:
                    return False
                if not piece:
                    return False
                self._bytes += piece
                del self._bytes[: -self._size]
        return True

    @property
    def text(self) -> str:
        return clean_lines(self._bytes.decode(errors="replace").strip())


def summarize_output(text: str, length: int) -> str:
    """The end of a process's output in one line.

    Of a traceback, the error; of a fatal error, the frames outside this package.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    fatal = max((n for n, line in enumerate(lines) if line.startswith("Fatal Python error")), default=None)
    if fatal is None:
        raised = any(line.startswith("Traceback (most recent call last)") for line in lines)
        return (lines[-1] if raised else " | ".join(lines))[-length:]
    parts = [lines[fatal]]
    for file, line, function in FRAME.findall("\n".join(lines[fatal:])):
        if file.startswith(ENGINE):  # the most recent call is first: the rest is how the engine called it
            break
        parts.append(f"{Path(file).name}, line {line}, in {function}")
    return " | ".join(parts)[:length]


def describe_exit(code: int | None) -> str:
    if code is None:
        return "has exited"
    if code == OUT_OF_MEMORY:
        return "ran out of memory"
    if code < 0:
        with suppress(ValueError):
            return f"was killed by {signal.Signals(-code).name}"
    return f"exited with status {code}" if code >= 0 else f"was killed by signal {-code}"
