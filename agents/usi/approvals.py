"""Which programs a person lets run on this machine: kept here, never in a league, by command and by what is in them.

A program whose file has changed is another program. Files that did not exist when it was confirmed (its log, say) are
not looked at later.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

from agents.usi.engine_spec import Engine, engine_of
from engine.errors import BadValue, NotConfirmed
from engine.files import write_whole
from engine.user_dirs import home
from engine.play.match import AgentSpec

LARGEST = 4 << 20  # bytes of the file of confirmations
LARGEST_PROGRAM = 2 << 30  # bytes of a program


def place() -> Path:
    return home() / "engines.json"


def key(engine: Engine) -> str:
    """What a person is shown: the command, the options, which may name files too, and the memory that it may take."""
    whole = [engine.command, engine.arguments, sorted(engine.options), engine.memory]
    return hashlib.sha256(json.dumps(whole).encode()).hexdigest()


def files_of(engine: Engine) -> list[str]:
    """The program, and what its arguments name as the engine would find it: an interpreter's script is one of those."""
    folder = os.path.dirname(engine.command)
    words = [part for one in engine.arguments for part in (one, one.partition("=")[2]) if part]
    named = {os.path.join(folder, word) for word in words}
    return [engine.command, *sorted(path for path in named if os.path.isfile(path))]


def _digest(path: str) -> str:
    """Of a file's content; OSError for what is no file. A device or a pipe would be read for ever."""
    state = os.stat(path)
    if not stat.S_ISREG(state.st_mode):
        raise OSError(errno.EINVAL, "it is no file")
    if state.st_size > LARGEST_PROGRAM:
        raise OSError(errno.EFBIG, f"it has more than {LARGEST_PROGRAM >> 30} GB")
    return _hashed(path, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)


@lru_cache(256)
def _hashed(path: str, *state: int) -> str:
    """Read again when the file is another one: `state` is how that is noticed."""
    with open(path, "rb", opener=_without_waiting) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _known() -> dict[str, Any]:
    """By `key`; BadValue if the file is not what `approve` writes."""
    path = place()
    try:
        found = json.loads(path.read_bytes()) if path.stat().st_size <= LARGEST else None
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict) or not all(isinstance(one, dict) for one in found.values()):
        raise BadValue("file", str(path), "the confirmations of engines; it is damaged: move it away, and confirm anew")
    return found


def approve(engine: Engine) -> None:
    """A person on this machine has seen the whole command and wants it to run."""
    known = _known()
    try:
        files = {path: _digest(path) for path in files_of(engine)}
    except OSError as error:
        raise BadValue("command", engine.line, f"files that can be read ({error.strerror})") from None
    now = time.strftime("%Y-%m-%d %H:%M:%S")
    known[key(engine)] = {"command": engine.line, "options": dict(engine.options), "files": files, "confirmed": now}
    try:
        place().parent.mkdir(parents=True, exist_ok=True)
        write_whole(place(), json.dumps(known, indent=1).encode())
    except OSError as error:
        raise BadValue("file", str(place()), f"a file that can be written ({error.strerror})") from None


def approved(engine: Engine) -> bool:
    """Whether somebody has, and its files are still the same. Of one that nobody has seen, no file is touched."""
    try:
        files = _known().get(key(engine), {}).get("files")
    except BadValue:
        return False
    try:
        return isinstance(files, dict) and engine.command in files and all(_digest(one) == files[one] for one in files)
    except OSError:  # one is gone: without its program it does not run anyway, and that is told in better words
        return not os.path.exists(engine.command)


def admit(spec: AgentSpec) -> None:
    """Raise NotConfirmed unless this engine may run here; what is wrong with its payload is told when it is loaded."""
    try:
        engine = engine_of(spec.payload)
    except BadValue:
        return
    if not approved(engine):
        raise NotConfirmed(
            spec.id,
            f"the engine {spec.id!r} is not confirmed on this machine, or its file has changed since. It would run: "
            f"{engine.line} ({', '.join(engine.terms)}). If you trust that: "
            f"`ringside agents approve LEAGUE {spec.id!r}`, or, in the window, Agents > Confirm an engine",
        )
