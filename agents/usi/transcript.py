"""Logs of USI messages in the folder that RINGSIDE_ENGINE_LOG names: one file per player and match."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from engine.clock import local_text, now
from engine.open_files import FLAGS

FOLDER = "RINGSIDE_ENGINE_LOG"
LARGEST = 8 << 20  # characters of one file


class Transcript:
    """The log of one player in one match. Write errors are ignored: a log must not fail a match."""

    def __init__(self, agent: str, seed: int, command: str) -> None:
        self._file: TextIO | None = None
        self._left = LARGEST
        self._since = time.monotonic()
        if folder := os.environ.get(FOLDER):
            name = "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in agent)[:60]
            with suppress(OSError):
                path = Path(folder).expanduser()
                path.mkdir(mode=0o700, parents=True, exist_ok=True)
                log = path / f"{name}-{seed:016x}.log"
                handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | FLAGS, 0o600)
                self._file = os.fdopen(handle, "a", encoding="utf-8", errors="replace")
                began = local_text(now(), "%Y-%m-%d %H:%M:%S")
                self.note("*", f"{began}: {agent} runs {command}, seed {seed:016x}")

    def note(self, sign: str, text: str) -> None:
        """`sign`: `>` to the engine, `<` from the engine, `!` its standard error, `*` remarks of Ringside."""
        if self._file is None:
            return
        line = f"{time.monotonic() - self._since:9.3f} {sign} {text}\n"
        self._left -= len(line)
        with suppress(OSError):
            if self._left < 0:
                self._file.write("... log truncated: too long\n")
                self.close()
            else:
                self._file.write(line)
                self._file.flush()  # this process may be killed

    def close(self) -> None:
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
            self._file = None
