"""Pace, pauses, single steps and clocks of a live match, on a clock that the tests set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from agents.human import person
from engine.play import clocks
from engine.play.arena import Arena
from engine.play.live import LiveMatch
from engine.play.match import Clock, EndingKind, Limits, MatchSpec
from engine.play.workers import solo
from engine.registry import KINDS, new_game
from tests.plugins.pilots import agent

LONG = new_game("pong", step_limit=2_000_000_000, paddle_height=300.0, top_speed=7.0)
CROSSES = new_game("tictactoe")
BOTS = {agent.id: agent for agent in KINDS.get("pong-bot").samples(LONG)}
RALLY = MatchSpec("live", LONG.spec, (BOTS["Predictor"], BOTS["Predictor"]), 3)
READING = 1e-5  # seconds that pass when the clock is read, so that a slice of time ends


class Worker:
    """The loop of a worker that plays one live match."""

    def __init__(self, spec: MatchSpec, pace: float, skip: int = 0) -> None:
        self.now = 0.0
        self.clock = SimpleNamespace(perf_counter=self._read)
        self._sent: list[int] = []
        self._spec, self._pace, self._skip = spec, pace, skip

    def start(self) -> None:
        self.arena = Arena(1, alone=True)
        self._loop = solo.LiveMatchLoop(self.arena, self._pace, self._skip, lambda fields: self._sent.extend(fields[1]))
        self.command = self._loop.on_command
        self.arena.add(self._spec)

    def _read(self) -> float:
        self.now += READING
        return self.now

    @property
    def steps(self) -> int:
        """Steps of a simultaneous game that were sent."""
        return len(self._sent) // 2

    @property
    def actions(self) -> int:
        return len(self._sent)

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        while self.now < end and not self._loop.step():
            self.now += min(self._loop.wait(), max(end - self.now, 0.0))

    def ending(self) -> EndingKind | None:
        results = self.arena.take_results()
        return results[0].ending.kind if results else None


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Worker]]:
    workers: list[Worker] = []

    def make(spec: MatchSpec, pace: float, skip: int = 0) -> Worker:
        workers.append(worker := Worker(spec, pace, skip))
        for module in (solo, clocks):
            monkeypatch.setattr(module, "time", worker.clock)
        worker.start()
        return worker

    yield make
    for worker in workers:
        worker.arena.close()


def test_it_keeps_its_pace_and_can_be_paused(live: Callable[..., Worker]) -> None:
    worker = live(RALLY, pace=100)
    worker.run(1.0)
    worker.command("pause", [])
    before = worker.steps
    assert 98 <= before <= 102
    worker.run(60)
    assert worker.steps == before, "nothing happens while it is paused"
    worker.command("resume", [])
    worker.run(1.0)
    worker.command("pace", [10_000])
    assert 95 <= worker.steps - before <= 102, "a pause is not made up for"
    before = worker.steps
    worker.run(0.1)
    assert worker.steps >= before + 500


def test_a_paused_match_plays_single_steps(live: Callable[..., Worker]) -> None:
    worker = live(RALLY, pace=50)
    worker.command("step", [5])  # no effect: it is not paused
    worker.run(0.1)
    worker.command("pause", [])
    assert worker.steps <= 7
    for count in (1, 1, 7):
        before = worker.steps
        worker.command("step", [count])
        worker.run(10)
        assert worker.steps == before + count
    worker.command("resume", [])
    worker.run(1.0)
    assert worker.steps > before + 40


def test_between_single_steps_no_clock_runs(live: Callable[..., Worker]) -> None:
    spec = MatchSpec("mine", CROSSES.spec, (person(), agent("fast")), 3, None, Limits(clock=Clock(move=2.0)))
    worker = live(spec, pace=10)
    worker.command("pause", [])
    for cell in (0, 8):
        worker.command("step", [1])  # a player is called, and thinks
        worker.run(0.3)
        worker.command("pause", [])
        worker.run(1000)
        worker.command("act", [0, cell])
        worker.command("step", [1])
        worker.run(0.3)
        assert (worker.ending(), worker.actions % 2) == (None, 1), "the human has moved, the other player has not"
        worker.command("step", [1])
        worker.run(0.3)


def test_pausing_stops_a_humans_clock(live: Callable[..., Worker]) -> None:
    limits = Limits(clock=Clock(base=0.8))
    worker = live(MatchSpec("m", CROSSES.spec, (agent("fast"), person()), 1, None, limits), pace=0)
    worker.run(0.1)
    worker.command("pause", [])
    worker.run(1000)
    worker.command("resume", [])
    worker.run(0.5)
    assert worker.ending() is None, "only the time before and after counts"
    worker.run(0.5)
    assert worker.ending() is EndingKind.TIMEOUT, "but that does"


def test_a_match_that_waits_for_a_human_sleeps_between_heartbeats(
    live: Callable[..., Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = live(MatchSpec("m", CROSSES.spec, (person(), agent("fast")), 1), pace=0)
    ticks, tick = [], worker.arena.tick
    monkeypatch.setattr(worker.arena, "tick", lambda: ticks.append(worker.now) or tick())
    worker.run(10 * solo.PULSE)
    assert len(ticks) <= 11, "it polls no player in between"
    worker.command("act", [0, 4])
    worker.run(solo.POLL)
    worker.command("pause", [])
    assert worker.actions == 2, "the human's and the answer to it"


def test_repeated_input_does_not_speed_up_the_match(live: Callable[..., Worker]) -> None:
    worker = live(MatchSpec("m", LONG.spec, (BOTS["Tracker"], person()), 1), pace=20)
    for _ in range(200):
        worker.command("act", [1, 1])
        worker.run(0.005)
    assert worker.steps <= 22, "about twenty steps are due in a second"


def test_the_first_steps_can_be_played_at_full_speed(live: Callable[..., Worker]) -> None:
    worker = live(RALLY, pace=2, skip=150)
    worker.run(0.2)
    worker.command("pause", [])
    assert 150 <= worker.steps <= 152
    worker.command("resume", [])
    worker.run(2.1)
    worker.command("pause", [])
    assert 153 <= worker.steps <= 157, "then at its pace"


def test_a_pace_that_is_set_while_it_finishes_applies_afterwards() -> None:
    commands: list[list[object]] = []
    live = LiveMatch(RALLY, 60.0, lambda match, command: commands.append(command), lambda match: None)
    live.finish()
    live.pace(30)
    live.finish(False)
    assert commands == [["pace", 0.0], ["resume"], ["pace", 30.0]]
