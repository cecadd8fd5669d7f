"""What must work before anything else is imported: standard streams, Ctrl-C, and the terminal's settings."""

from __future__ import annotations

import codecs
import os
import signal
import sys
from contextlib import suppress
from io import TextIOWrapper

# Characters of tables and charts, for terminals and pipes whose encoding lacks them.
PLAIN = {"±": "+-", "…": "...", "—": "-", **dict(zip("▁▂▃▄▅▆▇█", "12345678", strict=True))}


def open_closed_streams() -> None:
    """Opens the null device in place of closed standard streams: the next file, such as a league, would get their
    number, and everything printed would be written into it. Writing to a closed standard output stays an error; what is
    written to a closed standard error is lost."""
    for number, mode in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, mode), True)  # gets the lowest free number, which is this one
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115 - until the process ends
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115


def accept_interrupts() -> None:
    """launch.py blocks Ctrl-C until it can be handled: before, it would print a traceback of Python's own imports."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


def ignore_empty_terminal() -> None:
    """Forgets a terminal of no width, before rich reads it: tables would be empty."""
    for name in ("COLUMNS", "LINES"):
        with suppress(ValueError, KeyError):
            if int(os.environ[name]) <= 0:
                del os.environ[name]


def configure_output() -> None:
    """Replaces characters that the output cannot show."""
    codecs.register_error("ringside", _replace)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="ringside")


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = error.object[error.start : error.end]
    return "".join(PLAIN.get(character, ascii(character)[1:-1]) for character in found), error.end
