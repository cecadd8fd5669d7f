"""What calls of foreign code must leave as it is in the process that they share: the floating-point mode of the thread
and, in a worker, the descriptors through which it is reached.

A changed mode changes the results of whatever runs next; without its connection a worker cannot say whose fault it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from engine.float_mode import NORMAL, changes, read_mode, write_mode
from engine.game import AgentFault
from engine.play.match import EndingKind

LOST_CONNECTION = 78  # exit status of a worker without its connection
STANDARD = (0, 1, 2)  # stdin, stdout and stderr: they are closed by code that closes all descriptors


class ProcessState:
    """The state to which foreign code is held. `note` it before that runs, in the same thread."""

    def __init__(self, connection: int | None = None) -> None:
        """`connection`: the descriptor of a worker's connection."""
        self.mode = NORMAL
        self._connection = connection
        self._identity = None if connection is None else _identity(connection)
        self._standard = [] if connection is None else [number for number in STANDARD if _identity(number)]

    def note(self) -> None:
        """The floating-point mode is as it should be."""
        self.mode = read_mode()

    def restore(self) -> str:
        """Restore the floating-point mode; returns what of it has changed."""
        mode = read_mode()
        if mode == self.mode:
            return ""
        write_mode(self.mode)
        return changes(self.mode, mode)

    @contextmanager
    def restored(self) -> Iterator[None]:
        """For calls whose numbers nobody uses, such as imports: some libraries change the mode when they are loaded."""
        self.note()
        try:
            yield
        finally:
            self.restore()

    def check_mode(self) -> None:
        """After a call of an agent's code: raise its fault if it has changed the mode, which is restored."""
        if read_mode() != self.mode:
            what = self.restore()
            text = f"changed {what} in its process: it must undo that before its call returns"
            raise AgentFault(EndingKind.PROTOCOL, text)

    @property
    def connected(self) -> bool:
        """Whether the descriptors are still open, and the connection is the same."""
        if self._connection is None:
            return True
        return _identity(self._connection) == self._identity and all(map(_identity, self._standard))

    def check_connection(self) -> None:
        """After a call of an agent's code: exit within that call if it has cost the process its connection."""
        if not self.connected:
            os._exit(LOST_CONNECTION)


def _identity(descriptor: int) -> tuple[int, int] | None:
    """Which file is open under this number, if any."""
    try:
        found = os.fstat(descriptor)
    except OSError:
        return None
    return found.st_dev, found.st_ino
