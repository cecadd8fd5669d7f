"""Which programs a person lets run on this machine: kept here, never in a league, by command and by what is in them.

A program whose file has changed is another program.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

from agents.usi.payload import Engine, engine_of
from engine.errors import BadValue, NotConfirmed
from engine.files import write_whole
from engine.places import home
from engine.play.match import AgentSpec

LARGEST = 4 << 20  # bytes of the file
PROGRAMS = (".py", ".sh", ".jar", ".js", ".pl", ".rb", ".exe", ".dll")  # that an interpreter may be given


def place() -> Path:
    return home() / "engines.json"


def fingerprint(engine: Engine) -> str:
    """Of the whole command, the content of every program that it names, and the options, which may name files too;
    OSError if a program cannot be read. Other files that are named may be the engine's own, and change as it plays.
    """
    words = [part for one in engine.arguments for part in {one, one.partition("=")[2]}]
    files = [_digest(one) for one in (engine.command, *sorted(filter(_is_program, words)))]
    whole = [engine.command, engine.arguments, files, sorted(engine.options)]
    return hashlib.sha256(json.dumps(whole).encode()).hexdigest()


def _is_program(path: str) -> bool:
    if not os.path.isabs(path) or not os.path.isfile(path):
        return False
    return path.endswith(PROGRAMS) or os.access(path, os.X_OK)


def _digest(path: str) -> str:
    state = os.stat(path)
    return _hashed(path, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)


@lru_cache(256)
def _hashed(path: str, *state: int) -> str:
    """Read again when the file is another one: `state` is how that is noticed."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _known() -> dict[str, Any]:
    try:
        path = place()
        found = json.loads(path.read_bytes()) if path.stat().st_size <= LARGEST else {}
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def approve(engine: Engine) -> None:
    """A person on this machine has seen the whole command and wants it to run."""
    try:
        mark = fingerprint(engine)
    except OSError as error:
        raise BadValue("command", engine.command, f"a file that can be read ({error.strerror})") from None
    known = _known()
    known[mark] = {"command": engine.line, "options": engine.settings, "confirmed": time.strftime("%Y-%m-%d %H:%M:%S")}
    try:
        place().parent.mkdir(parents=True, exist_ok=True)
        write_whole(place(), json.dumps(known, indent=1).encode())
    except OSError as error:
        raise BadValue("file", str(place()), f"a file that can be written ({error.strerror})") from None


def approved(engine: Engine) -> bool:
    """Whether somebody has. A program that is not there is not run anyway."""
    try:
        return fingerprint(engine) in _known()
    except OSError:
        return not os.path.isfile(engine.command)


def admit(spec: AgentSpec) -> None:
    """Raise NotConfirmed unless this engine may run here; what is wrong with its payload is told when it is loaded."""
    try:
        engine = engine_of(spec.payload)
    except BadValue:
        return
    if not approved(engine):
        told = f" (set to {engine.settings})" if engine.options else ""
        raise NotConfirmed(
            spec.id,
            f"the engine {spec.id!r} is not confirmed on this machine, or its file has changed since. It would run: "
            f"{engine.line}{told}. If you trust that: `ringside agents approve LEAGUE {spec.id!r}`, or, in the window, "
            "Agents > Confirm an engine",
        )
