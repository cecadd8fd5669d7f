"""Stores which engines the user has confirmed on this machine, by command and by digests of their files.

Confirmations are never part of a league. A program whose file has changed must be confirmed again. Files that did not
exist when it was confirmed, such as its log, are not checked.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
from functools import lru_cache
from pathlib import Path
from typing import Any

from agents.usi.engine_spec import EngineSpec, engine_of
from engine.clock import local_text, now
from engine.errors import BadValue, NotConfirmed
from engine.files import write_private
from engine.play.match import AgentSpec
from engine.user_dirs import private_file

LARGEST = 4 << 20  # bytes of the file of confirmations
LARGEST_PROGRAM = 2 << 30  # bytes of a program


def place() -> Path:
    return private_file("engines.json")


def key(engine: EngineSpec) -> str:
    """Digest of what the user confirms: the command, the options, which may name files too, and the memory limit."""
    whole = [engine.command, engine.arguments, sorted(engine.options), engine.memory]
    return hashlib.sha256(json.dumps(whole).encode()).hexdigest()


def files_of(engine: EngineSpec) -> list[str]:
    """The program, and files named by its arguments, relative to its folder: an interpreter's script is one of them."""
    folder = os.path.dirname(engine.command)
    words = [part for word in engine.arguments for part in (word, word.partition("=")[2]) if part]
    named = {os.path.join(folder, word) for word in words}
    return [engine.command, *sorted(path for path in named if os.path.isfile(path))]


def _digest(path: str) -> str:
    """Digest of a file. Raises OSError for devices and pipes, which would be read for ever."""
    state = os.stat(path)
    if not stat.S_ISREG(state.st_mode):
        raise OSError(errno.EINVAL, "it is not a file")
    if state.st_size > LARGEST_PROGRAM:
        raise OSError(errno.EFBIG, f"it is larger than {LARGEST_PROGRAM >> 30} GB")
    return _hashed(path, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)


@lru_cache(256)
def _hashed(path: str, *state: int) -> str:
    """`state` is part of the cache key: a changed file is read again."""
    with open(path, "rb", opener=_without_waiting) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _known() -> dict[str, Any]:
    """Confirmations by `key`; raises BadValue if the file is damaged."""
    path = place()
    try:
        found = json.loads(path.read_bytes()) if path.stat().st_size <= LARGEST else None
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict) or not all(isinstance(entry, dict) for entry in found.values()):
        raise BadValue(
            "file",
            str(path),
            "the list of confirmed engines, but it is damaged: delete it and confirm them again",
        )
    return found


def approve(engine: EngineSpec) -> None:
    """Stores that the user has seen the whole command and allows it to run."""
    known = _known()
    try:
        files = {path: _digest(path) for path in files_of(engine)}
    except OSError as error:
        raise BadValue("command", engine.line, f"files that can be read ({error.strerror})") from None
    at = local_text(now(), "%Y-%m-%d %H:%M:%S")
    known[key(engine)] = {"command": engine.line, "options": dict(engine.options), "files": files, "confirmed": at}
    try:
        write_private(place(), json.dumps(known, indent=1).encode())
    except OSError as error:
        raise BadValue("file", str(place()), f"a file that can be written ({error.strerror})") from None


def approved(engine: EngineSpec) -> bool:
    """Whether the engine is confirmed and its files are unchanged. Opens no file of an unconfirmed engine."""
    try:
        files = _known().get(key(engine), {}).get("files")
    except BadValue:
        return False
    try:
        return (
            isinstance(files, dict) and engine.command in files and all(_digest(path) == files[path] for path in files)
        )
    except OSError:  # a file is missing; if it is the program itself, starting it gives a better message
        return not os.path.exists(engine.command)


def admit(spec: AgentSpec) -> None:
    """Raises NotConfirmed unless this engine is confirmed. An invalid payload passes: loading it gives the error."""
    try:
        engine = engine_of(spec.payload)
    except BadValue:
        return
    if not approved(engine):
        raise NotConfirmed(
            spec.id,
            f"the engine {spec.id!r} is not confirmed on this machine, or its file has changed since. It would run: "
            f"{engine.line} ({', '.join(engine.terms)}). If you trust that: "
            f"`ringside agents approve LEAGUE {spec.id!r}`, or, in the window, Agents > Confirm engine",
        )
