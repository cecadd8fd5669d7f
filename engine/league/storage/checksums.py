"""Checksums of rows, which detect changes made after they were written."""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path
from typing import Any, TypeVar

from engine import codec
from engine.errors import BadLeague
from engine.league.records import Agent

T = TypeVar("T")


def checksum(*parts: object) -> bytes:
    """An 8-byte hash of a row's values."""
    return hashlib.blake2b(repr(parts).encode(), digest_size=8).digest()


def agent_row(number: int, agent: Agent) -> tuple[Any, ...]:
    """The row of an agent."""
    record = codec.dump(dataclasses.replace(agent, archived=None))
    row = (number, agent.id, agent.name, agent.game, agent.payload, record, agent.archived)
    return (*row, checksum(*row))


class ById(dict[int, T]):
    """A mapping from numbers in the tables; an unknown number means that the file is damaged."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def __missing__(self, number: int) -> T:
        raise BadLeague(f"{self._path} is damaged: it refers to an agent {number} that does not exist")
