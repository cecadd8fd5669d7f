"""Child processes that write to shared memory as fast as they can, for tests that hunt for torn rows and versions.

All numbers of a row or version are equal to its number modulo 2**20, which float32 holds exactly: numbers that differ
were not written together.
"""

from __future__ import annotations

import socket
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.training.independent.buffer import ReplayBuffer
from agents.training.independent.published import PublishedState
from engine.play.workers.entry import PRELOAD
from engine.processes.bootstrap import ChildSetup
from engine.processes.child import ChildProcess

WRAP = 1 << 20
SETUP = ChildSetup(server=PRELOAD)


def start_adding(buffer: ReplayBuffer) -> ChildProcess:
    arguments = buffer.rows, buffer.lanes, buffer.observation, buffer.memory
    return ChildProcess(f"{__name__}:add_rows", *arguments, setup=SETUP)


def start_publishing(state: PublishedState) -> ChildProcess:
    return ChildProcess(f"{__name__}:publish", state.size, state.memory, setup=SETUP)


def add_rows(end: socket.socket, rows: int, lanes: int, observation: tuple[int, ...], memory: Any) -> None:
    """Adds rows until this process is killed."""
    buffer = ReplayBuffer(rows, lanes, observation, memory)
    obs = np.empty((lanes, *observation), np.float32)
    while True:
        number = buffer.added % WRAP
        obs[:] = number
        buffer.add(obs, number, number, 0)


def publish(end: socket.socket, size: int, memory: Any) -> None:
    """Publishes versions until this process is killed."""
    state, numbers = PublishedState(memory, size), np.empty(size, np.float32)
    while True:
        version = state.version + 1
        numbers[:] = version % WRAP
        state.publish(numbers, version)


def torn(numbers: NDArray[Any]) -> int:
    """How many rows of a two-dimensional array have numbers that differ."""
    return int((numbers != numbers[:, :1]).any(1).sum())
