"""pygame, whoever imports it, is told to open neither a display nor a loudspeaker, and to say nothing."""

from __future__ import annotations

import os
import threading

SILENT = {
    "SDL_VIDEODRIVER": "dummy",
    "SDL_AUDIODRIVER": "dummy",
    "SDL_NO_SIGNAL_HANDLERS": "1",  # or pygame.init() would swallow the SIGTERM that ends a worker
    "PYGAME_HIDE_SUPPORT_PROMPT": "1",
}
given = {name: os.environ.get(name) for name in SILENT}  # what the user said before we did


class Silence:
    """While pygame is loaded or started: the process may be somebody else's, and what it starts inherits what is said.

    Threads come and go in any order: the first to come changes what is the process's, the last to leave puts it back.
    """

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._before: dict[str, str | None] = {}

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._before = {name: os.environ.get(name) for name in SILENT}
                for name, value in SILENT.items():
                    os.environ.setdefault(name, value)

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                for name, before in self._before.items():
                    if before is None:
                        os.environ.pop(name, None)
                    else:
                        os.environ[name] = before


SILENCE = Silence()
