"""How many matches a worker asks for: fewer of slow ones, because stopping a run waits for those in progress."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest

from engine.plain import plain_kind
from engine.play.arena import Arena
from engine.play.heartbeat import Heartbeat, size_of
from engine.play.match import AgentSpec, Limits, MatchSpec
from engine.play.workers import main
from engine.play.workers.entry import WorkerSettings
from engine.play.workers.main import FIRST_LANES, SHORT_TICK, SOON, WorkerLoop
from engine.processes.channel import Channel
from engine.registry import KINDS, new_game

GAME = new_game("pong", points=99)  # no match ends before its limit of steps
SETTINGS = WorkerSettings(lanes=128, record=False, batch=8, memory=None)
WAITER = AgentSpec("Waiter", "waiter")


class Waiter:
    """A bot in plain Python, which is played by ticks, not by marches."""

    def act(self, view: object) -> int:
        return 0


class Dispatcher:
    """A worker's loop in this process, which gets as many matches as it asks for. Its clock shows `cost` seconds more
    after each tick."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, cost: float) -> None:
        self._now, self.capacity, self.most = 1000.0, 0, 0
        advance = Arena.advance

        def timed(arena: Arena, seconds: float) -> int:
            ticks = advance(arena, seconds)
            self._now += ticks * cost
            return ticks

        monkeypatch.setattr(Arena, "advance", timed)
        monkeypatch.setattr(main, "time", SimpleNamespace(perf_counter=lambda: self._now))
        self._ends = socket.socketpair()
        memory = memoryview(np.zeros(size_of(SETTINGS.rows, SETTINGS.log_words), np.uint8))
        heartbeat = Heartbeat(memory, SETTINGS.rows, SETTINGS.log_words)
        self._loop, self._channel = WorkerLoop(Channel(self._ends[0]), heartbeat, SETTINGS), Channel(self._ends[1])

    def play(self, steps: int, matches: int) -> None:
        """Play so many matches of so many steps, with at most as many in flight as the worker asks for."""
        loop, sent, done = self._loop, 0, 0
        arena = loop._shared_arena()
        loop._new_run()
        while done < matches:
            capacity = self.capacity or 2 * SETTINGS.batch  # as the dispatcher has it until the worker reports
            for number in range(sent, min(done + capacity, matches)):
                arena.add(MatchSpec(str(number), GAME.spec, (WAITER, WAITER), number, None, Limits(steps)))
                sent += 1
            self.most = max(self.most, sent - done)
            before = loop._done
            loop._play(arena)
            done += loop._done - before
            for fields, _ in self._channel.get():
                self.capacity = fields[1] if fields[0] == "capacity" else self.capacity

    def close(self) -> None:
        for end in self._ends:
            end.close()


@pytest.fixture(autouse=True)
def waiter() -> Iterator[None]:
    KINDS.add("waiter", plain_kind("waiter", 1, lambda payload: Waiter(), ["pong"], {}))
    yield
    KINDS.remove("waiter")


def in_flight(monkeypatch: pytest.MonkeyPatch, cost: float, steps: int, matches: int) -> int:
    dispatcher = Dispatcher(monkeypatch, cost)
    try:
        dispatcher.play(steps, matches)
    finally:
        dispatcher.close()
    return dispatcher.most


def test_fast_matches_fill_all_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert in_flight(monkeypatch, SHORT_TICK / 4, 20, 1000) > SETTINGS.lanes


def test_slow_ticks_keep_fewer_matches_in_flight(monkeypatch: pytest.MonkeyPatch) -> None:
    assert in_flight(monkeypatch, 2 * SHORT_TICK, 20, 400) <= FIRST_LANES + 2 * SETTINGS.batch


def test_long_matches_keep_fewer_in_flight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their ticks are short, but twice as many would need longer than `SOON` to end."""
    cost = SHORT_TICK * 3 / 4
    assert in_flight(monkeypatch, cost, int(1.5 * SOON / cost), 60) <= FIRST_LANES + 2 * SETTINGS.batch
