"""The payload of an external engine: its command, its options, and its limits."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass

from engine import codec
from engine.errors import BadValue
from engine.play.match import AgentSpec

NAME, VERSION = "usi", 1  # of the agent kind
SIZE = 1 << 16  # bytes of a payload
TEXT = 4096  # characters of one string in it
MOST = 256  # arguments, and options
LONGEST_MOVE = 3600.0  # seconds
LONGEST_START = 110.0  # seconds; `pilot.PATIENCE` depends on it
MOST_NODES = 10**12
WEAKER = re.compile("skill|strength|elo", re.IGNORECASE)  # options that make engines play worse, at random


@dataclass(frozen=True)
class EngineSpec:
    """The payload. Exactly one of `nodes` and `movetime` is set; a match with a clock uses the clock instead."""

    command: str  # absolute path of a file: neither a shell nor PATH is used
    arguments: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()  # name and value
    nodes: int = 0  # nodes per move: repeatable, if the engine is
    movetime: float = 0.0  # seconds per move
    startup: float = 30.0  # seconds until it must be ready
    patience: float = 30.0  # seconds beyond its time, or for its nodes, after which it counts as stalled
    memory: int = 4096  # limit in MB

    def __post_init__(self) -> None:
        check_text("command", self.command)
        if not os.path.isabs(self.command):
            raise BadValue("command", self.command, "the absolute path of a file")
        for name, many in (("arguments", self.arguments), ("options", self.options)):
            if len(many) > MOST:
                raise BadValue(name, f"{len(many)} entries", f"at most {MOST}")
        for place, text in enumerate(self.arguments):
            check_text(f"arguments[{place}]", text, empty=True)
        for name, value in self.options:
            check_text("options: name", name)
            check_text(f"options.{name}", value, empty=True)
        names = [name for name, _ in self.options]
        for name in names:
            if names.count(name) > 1:
                raise BadValue("options", name, "set only once")
        _check_number("nodes", self.nodes, 0, MOST_NODES)
        _check_number("movetime", self.movetime, 0.0, LONGEST_MOVE)
        _check_number("startup", self.startup, 0.1, LONGEST_START)
        _check_number("patience", self.patience, 0.1, LONGEST_MOVE)
        _check_number("memory", self.memory, 64, 1 << 22)
        if (self.nodes > 0) == (self.movetime > 0):
            limits = f"nodes {self.nodes}, movetime {self.movetime}"
            raise BadValue("limit", limits, "either nodes above 0 or movetime (seconds) above 0, not both")

    @property
    def line(self) -> str:
        """The command line, for display."""
        return shlex.join((self.command, *self.arguments))

    @property
    def terms(self) -> list[str]:
        """What the user also confirms, for display: an option may name a file that the engine writes."""
        options = [f"set {shlex.quote(name)} = {shlex.quote(value)}" for name, value in self.options]
        return [*options, f"may use {self.memory:,} MB of memory"]


def check_text(field: str, text: str, empty: bool = False) -> None:
    """Raises BadValue unless this is one printable line: a line break would start another command."""
    if type(text) is not str or len(text) > TEXT or not (text or empty):
        raise BadValue(field, text, f"a text of {0 if empty else 1} to {TEXT:,} characters")
    if not text.isprintable() or text != text.strip():
        raise BadValue(field, text, "without control characters, and without spaces at its ends")


def _check_number(field: str, value: float, low: float, high: float) -> None:
    if isinstance(value, bool) or not low <= value <= high:
        raise BadValue(field, value, f"from {low:,} to {high:,}")


def engine_of(payload: bytes) -> EngineSpec:
    """Reads a payload; raises BadValue with the name of the invalid field."""
    return codec.load(EngineSpec, payload, limit=SIZE)


def payload_of(engine: EngineSpec) -> bytes:
    return codec.dump(engine).encode()


def agent(name: str, engine: EngineSpec) -> AgentSpec:
    """An engine as an agent."""
    return AgentSpec(name, NAME, payload_of(engine), VERSION)


def describe(agent: AgentSpec) -> tuple[tuple[str, str], ...]:
    """Command, limits and options, for the agent's page."""
    engine = engine_of(agent.payload)
    limit = f"{engine.nodes:,} nodes per move" if engine.nodes else f"{engine.movetime:g} s per move"
    return (("Command", engine.line), ("Limit", limit), *engine.options, ("Memory", f"{engine.memory:,} MB at most"))


def repeatable(spec: AgentSpec) -> bool:
    """Whether it is limited by nodes rather than seconds, uses one thread, and is not set to blunder at random."""
    try:
        engine = engine_of(spec.payload)
    except BadValue:
        return False
    weaker = any(WEAKER.search(name) for name, _ in engine.options)
    return engine.nodes > 0 and not weaker and dict(engine.options).get("Threads", "1") == "1"


def timed(spec: AgentSpec) -> bool:
    """Whether it is limited by time, so that it needs a core of its own."""
    try:
        return engine_of(spec.payload).movetime > 0
    except BadValue:
        return False
