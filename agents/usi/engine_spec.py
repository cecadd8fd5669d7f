"""What an external engine is made of: its command, its options, and how long it may think."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass

from engine import codec
from engine.errors import BadValue
from engine.play.match import AgentSpec

NAME, VERSION = "usi", 1  # of the kind
SIZE = 1 << 16  # bytes of a payload
TEXT = 4096  # letters of one text in it
MOST = 256  # arguments, and options
LONGEST_MOVE = 3600.0  # seconds
LONGEST_START = 110.0  # seconds; `pilot.PATIENCE` is a little more
MOST_NODES = 10**12
WEAKER = re.compile("skill|strength|elo", re.IGNORECASE)  # options by which engines play worse, at random


@dataclass(frozen=True)
class Engine:
    """The payload. Exactly one of `nodes` and `movetime` is given; a match that has a clock goes by that."""

    command: str  # a file, with its whole path: no shell and no search path is asked
    arguments: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()  # of those that it announces: name and value
    nodes: int = 0  # to search for a move: repeatable, if the engine itself is
    movetime: float = 0.0  # seconds for a move
    startup: float = 30.0  # seconds until it must be ready
    patience: float = 30.0  # seconds beyond its time, or for its nodes, after which it has stalled
    memory: int = 4096  # MB that it may take

    def __post_init__(self) -> None:
        check_text("command", self.command)
        if not os.path.isabs(self.command):
            raise BadValue("command", self.command, "the whole path of a file")
        for name, many in (("arguments", self.arguments), ("options", self.options)):
            if len(many) > MOST:
                raise BadValue(name, f"{len(many)} of them", f"at most {MOST}")
        for place, text in enumerate(self.arguments):
            check_text(f"arguments[{place}]", text, empty=True)
        for name, value in self.options:
            check_text("options: name", name)
            check_text(f"options.{name}", value, empty=True)
        names = [name for name, _ in self.options]
        for name in names:
            if names.count(name) > 1:
                raise BadValue("options", name, "given once")
        _check_number("nodes", self.nodes, 0, MOST_NODES)
        _check_number("movetime", self.movetime, 0.0, LONGEST_MOVE)
        _check_number("startup", self.startup, 0.1, LONGEST_START)
        _check_number("patience", self.patience, 0.1, LONGEST_MOVE)
        _check_number("memory", self.memory, 64, 1 << 22)
        if (self.nodes > 0) == (self.movetime > 0):
            told = f"nodes {self.nodes}, movetime {self.movetime}"
            raise BadValue("limit", told, "one of the two: nodes above 0, or movetime above 0 (seconds)")

    @property
    def line(self) -> str:
        """The whole command, as a person may read it."""
        return shlex.join((self.command, *self.arguments))

    @property
    def terms(self) -> list[str]:
        """What else is agreed to, as a person may read it: an option may name a file that it writes."""
        told = [f"set {shlex.quote(name)} = {shlex.quote(value)}" for name, value in self.options]
        return [*told, f"may take {self.memory:,} MB of memory"]


def check_text(field: str, text: str, empty: bool = False) -> None:
    """What an engine or the system is told is one line of letters: a line break would begin a command of its own."""
    if type(text) is not str or len(text) > TEXT or not (text or empty):
        raise BadValue(field, text, f"a text of {0 if empty else 1} to {TEXT:,} letters")
    if not text.isprintable() or text != text.strip():
        raise BadValue(field, text, "without control characters, and without spaces at its ends")


def _check_number(field: str, value: float, low: float, high: float) -> None:
    if isinstance(value, bool) or not low <= value <= high:
        raise BadValue(field, value, f"from {low:,} to {high:,}")


def engine_of(payload: bytes) -> Engine:
    """What a payload describes, or an error that names what is wrong with it."""
    return codec.load(Engine, payload, limit=SIZE)


def payload_of(engine: Engine) -> bytes:
    return codec.dump(engine).encode()


def agent(name: str, engine: Engine) -> AgentSpec:
    """An engine as an agent."""
    return AgentSpec(name, NAME, payload_of(engine), VERSION)


def repeatable(spec: AgentSpec) -> bool:
    """Whether it counts nodes rather than seconds, on one thread, and is not told to blunder now and then."""
    try:
        engine = engine_of(spec.payload)
    except BadValue:
        return False
    weaker = any(WEAKER.search(name) for name, _ in engine.options)
    return engine.nodes > 0 and not weaker and dict(engine.options).get("Threads", "1") == "1"


def timed(spec: AgentSpec) -> bool:
    """Whether it needs a core to itself: it thinks for so many seconds, whatever else goes on meanwhile."""
    try:
        return engine_of(spec.payload).movetime > 0
    except BadValue:
        return False
