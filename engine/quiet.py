"""pygame, whoever imports it, is told to open neither a display nor a loudspeaker, and to say nothing."""

from __future__ import annotations

import os

SILENT = {
    "SDL_VIDEODRIVER": "dummy",
    "SDL_AUDIODRIVER": "dummy",
    "SDL_NO_SIGNAL_HANDLERS": "1",  # or pygame.init() would swallow the SIGTERM that ends a worker
    "PYGAME_HIDE_SUPPORT_PROMPT": "1",
}
given = {name: os.environ.get(name) for name in SILENT}  # what the user said before we did


def hush() -> None:
    for name, value in SILENT.items():
        os.environ.setdefault(name, value)
