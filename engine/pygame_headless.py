"""Environment variables that make pygame start without a display, sound or a greeting."""

from __future__ import annotations

import os
import threading

HEADLESS_ENVIRONMENT = {
    "SDL_VIDEODRIVER": "dummy",
    "SDL_AUDIODRIVER": "dummy",
    "SDL_NO_SIGNAL_HANDLERS": "1",  # otherwise pygame.init() would catch the SIGTERM that ends a worker
    "PYGAME_HIDE_SUPPORT_PROMPT": "1",
}
user_environment = {name: os.environ.get(name) for name in HEADLESS_ENVIRONMENT}  # set by the user


class HeadlessPygame:
    """Context manager around importing or starting pygame: sets the variables and restores them afterwards.

    They are restored because Ringside may be a library in another program, and child processes inherit them. Several
    threads may overlap: the first to enter sets the variables, the last to leave restores them.
    """

    def __init__(self) -> None:
        self._lock, self._depth = threading.Lock(), 0
        self._before: dict[str, str | None] = {}

    def __enter__(self) -> None:
        with self._lock:
            self._depth += 1
            if self._depth == 1:
                self._before = {name: os.environ.get(name) for name in HEADLESS_ENVIRONMENT}
                for name, value in HEADLESS_ENVIRONMENT.items():
                    os.environ.setdefault(name, value)

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._depth -= 1
            if not self._depth:
                for name, before in self._before.items():
                    if before is None:
                        os.environ.pop(name, None)
                    else:
                        os.environ[name] = before


HEADLESS = HeadlessPygame()
