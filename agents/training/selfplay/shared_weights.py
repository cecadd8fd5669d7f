"""The memory in which workers read new weights. It is written once for all of them; a socket passes 13 MB to each of
them in 140 pieces, and both sides wait for each other in between.

The memory has no name: it is gone when the processes have ended, also if they were killed. While a worker still reads
one version, a newer one passes through the sockets.
"""

from __future__ import annotations

from typing import Any

from engine.processes import launcher
from engine.processes.channel import Message, ProtocolError

SPARE = 4096  # bytes by which later weights may be longer than the first ones


class SharedWeights:
    """One version of the weights; the trainer and each worker have such an object on the same memory."""

    def __init__(self, memory: Any) -> None:
        """`memory`: made by `new_memory`."""
        self.memory = memory
        self._view = memoryview(memory).cast("B")
        self._version = 0  # that the trainer has written

    @staticmethod
    def new_memory(size: int) -> Any:
        return launcher.shared_memory(size + SPARE)

    def write(self, message: Message, in_use: bool) -> Message:
        """A message about the same weights, which are in the memory then. The message itself if they have no room, or
        if a worker may still read others: `in_use`."""
        fields, body = message
        if self._version != fields[0]:
            if in_use or len(body) > len(self._view):
                return message
            self._view[: len(body)] = body
            self._version = fields[0]
        return [*fields, len(body)], b""

    def read(self, fields: list[Any], body: bytes) -> Message:
        """The message that was given to `write`, with a copy of the weights."""
        match fields:
            case [_, _, _, _, int(size)] if not body and 0 <= size <= len(self._view):
                return fields[:-1], bytes(self._view[:size])
            case [_, _, _, _]:
                return fields, body
        raise ProtocolError("sent an invalid message")
