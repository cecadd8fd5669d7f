"""Records that would show it if anything in them had changed since they were written."""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path
from typing import Any, TypeVar

from engine import codec
from engine.errors import BadLeague
from engine.league.records import Agent

T = TypeVar("T")


def seal_of(*parts: object) -> bytes:
    """Eight bytes that change when anything in a record does."""
    return hashlib.blake2b(repr(parts).encode(), digest_size=8).digest()


def agent_row(number: int, agent: Agent) -> tuple[Any, ...]:
    """The row of an agent."""
    record = codec.dump(dataclasses.replace(agent, archived=None))
    row = (number, agent.id, agent.name, agent.game, agent.payload, record, agent.archived)
    return (*row, seal_of(*row))


class Numbered(dict[int, T]):
    """What the tables know by number; a number that nobody has is damage."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def __missing__(self, number: int) -> T:
        raise BadLeague(f"{self._path} is damaged: it speaks of an agent {number} that it does not have")
