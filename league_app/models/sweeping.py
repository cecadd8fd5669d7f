"""Python's collector, kept out of the way for a while."""

from __future__ import annotations

import gc
import threading


class NoSweeping:
    """A table of two hundred is tens of thousands of objects for half a second. Python's collector would look through
    all of them again and again, with every thread standing still (measured: 160 ms at a time, 45 ms without)."""

    def __init__(self) -> None:
        self._lock, self._inside, self._was = threading.Lock(), 0, True

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._was = gc.isenabled()
                gc.disable()
            self._inside += 1

    @property
    def going_on(self) -> bool:
        """Whether somebody is inside: whoever collects by hand had better wait."""
        return self._inside > 0

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside and self._was:
                gc.enable()


no_sweeping = NoSweeping()
