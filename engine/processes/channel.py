"""Messages between processes over a socket: frames of a JSON list (`fields`) and raw bytes (`body`), without pickle.

Code that runs in a child process may write anything to its socket: what does not parse raises ProtocolError.
"""

from __future__ import annotations

import json
import select
import socket
import struct
from collections import deque
from collections.abc import Sequence
from typing import Any

from engine.errors import RingsideError

HEADER = struct.Struct("<II")  # bytes of the JSON line, bytes of the body
MAX_FRAME = 256 << 20  # bytes of a frame
CHUNK = 1 << 18

Message = tuple[list[Any], bytes]


class ProtocolError(RingsideError):
    """The other side sent something that is not a valid message."""


class Disconnected(ProtocolError):  # noqa: N818 - a state rather than an error
    """The other side has closed its socket or ended."""


def _parse_fields(text: bytearray) -> list[Any]:
    try:
        fields = json.loads(text.decode())
        if b"\\ud" in text or b"\\uD" in text:  # perhaps a lone surrogate, which is no text
            json.dumps(fields, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise ProtocolError("sent an invalid message") from None
    if not isinstance(fields, list) or not fields or not isinstance(fields[0], str):
        raise ProtocolError("sent an invalid message")
    return fields


def frame(fields: Sequence[object], body: bytes | memoryview = b"") -> bytes:
    return b"".join((frame_head(fields, len(body)), body))


def frame_head(fields: Sequence[object], size: int) -> bytes:
    """A frame without its body of so many bytes."""
    line = json.dumps(fields, separators=(",", ":")).encode()
    return HEADER.pack(len(line), size) + line


class Channel:
    """One end of a connection: sends and receives frames without blocking."""

    def __init__(self, end: socket.socket) -> None:
        self.socket = end
        end.setblocking(False)
        self.error: ProtocolError | None = None  # an invalid frame after the messages that `get` returned last
        self._in = bytearray()
        self._out: deque[memoryview] = deque()

    @property
    def waiting(self) -> bool:
        """Whether there is data left to send."""
        return bool(self._out)

    def put(self, fields: Sequence[object], body: bytes | memoryview = b"", now: bool = True) -> None:
        """Send as much as the socket accepts; `flush` sends the rest. If not `now`, send it with the next message."""
        if len(body) < CHUNK:
            self._out.append(memoryview(frame(fields, body)))
        else:  # not copied
            self._out += (memoryview(frame_head(fields, len(body))), memoryview(body))
        if now:
            self.flush()

    def send(self, fields: Sequence[object], body: bytes | memoryview = b"", left: int = 0) -> None:
        """Send, and wait until at most `left` bytes are unsent: that limits a child to the speed of its parent."""
        self.put(fields, body)
        self.wait_until_sent(left)

    def wait_until_sent(self, left: int = 0) -> None:
        """Wait until at most `left` bytes are left to send."""
        while sum(map(len, self._out)) > left:
            select.select([], [self.socket], [])
            self.flush()

    def flush(self) -> None:
        if (
            len(self._out) > 2 and sum(map(len, self._out)) < CHUNK
        ):  # a system call for each frame costs more than a copy
            self._out = deque([memoryview(b"".join(self._out))])
        while self._out:
            try:
                sent = self.socket.send(self._out[0])
            except BlockingIOError:
                return
            except OSError as error:
                self._out.clear()
                raise Disconnected(f"cannot be written to: {error.strerror}") from None
            if sent == len(self._out[0]):
                self._out.popleft()
            else:
                self._out[0] = self._out[0][sent:]

    def get(self) -> list[Message]:
        """The messages that have arrived; raises Disconnected at the end of the stream, after the last message."""
        while True:
            try:
                piece = self.socket.recv(CHUNK)
            except BlockingIOError:
                break
            except OSError as error:
                raise Disconnected(f"cannot be read: {error.strerror}") from None
            if not piece:
                messages = self._parse()
                if messages:
                    return messages  # the next call raises Disconnected
                raise Disconnected("closed the connection")
            self._in += piece
            if len(piece) < CHUNK:
                break
        return self._parse()

    def _parse(self) -> list[Message]:
        """The complete messages. An invalid frame is an error once all messages before it have been returned."""
        messages: list[Message] = []
        at, data = 0, self._in
        while len(data) - at >= HEADER.size:
            line, body = HEADER.unpack_from(data, at)
            end = at + HEADER.size + line + body
            if line + body <= MAX_FRAME and end > len(data):
                break
            try:
                if line + body > MAX_FRAME:
                    raise ProtocolError(f"sent a frame of {line + body:,} bytes")
                fields = _parse_fields(data[at + HEADER.size : end - body])
            except ProtocolError as error:
                if not messages:
                    raise
                self.error = error
                break
            with memoryview(data) as view:
                messages.append((fields, bytes(view[end - body : end])))
            at = end
        del data[:at]
        return messages
