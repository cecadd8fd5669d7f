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
BOTS = {one.id: one for one in KINDS.get("pong-bot").samples(LONG)}
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
        workers.append(one := Worker(spec, pace, skip))
        for module in (solo, clocks):
            monkeypatch.setattr(module, "time", one.clock)
        one.start()
        return one

    yield make
    for one in workers:
        one.arena.close()


def test_it_keeps_its_pace_and_can_be_paused(live: Callable[..., Worker]) -> None:
    one = live(RALLY, pace=100)
    one.run(1.0)
    one.command("pause", [])
    before = one.steps
    assert 98 <= before <= 102
    one.run(60)
    assert one.steps == before, "nothing happens while it is paused"
    one.command("resume", [])
    one.run(1.0)
    one.command("pace", [10_000])
    assert 95 <= one.steps - before <= 102, "a pause is not made up for"
    before = one.steps
    one.run(0.1)
    assert one.steps >= before + 500


def test_a_paused_match_plays_single_steps(live: Callable[..., Worker]) -> None:
    one = live(RALLY, pace=50)
    one.command("step", [5])  # no effect: it is not paused
    one.run(0.1)
    one.command("pause", [])
    assert one.steps <= 7
    for count in (1, 1, 7):
        before = one.steps
        one.command("step", [count])
        one.run(10)
        assert one.steps == before + count
    one.command("resume", [])
    one.run(1.0)
    assert one.steps > before + 40


def test_between_single_steps_no_clock_runs(live: Callable[..., Worker]) -> None:
    spec = MatchSpec("mine", CROSSES.spec, (person(), agent("fast")), 3, None, Limits(clock=Clock(move=2.0)))
    one = live(spec, pace=10)
    one.command("pause", [])
    for cell in (0, 8):
        one.command("step", [1])  # a player is called, and thinks
        one.run(0.3)
        one.command("pause", [])
        one.run(1000)
        one.command("act", [0, cell])
        one.command("step", [1])
        one.run(0.3)
        assert (one.ending(), one.actions % 2) == (None, 1), "the human has moved, the other player has not"
        one.command("step", [1])
        one.run(0.3)


def test_pausing_stops_a_humans_clock(live: Callable[..., Worker]) -> None:
    limits = Limits(clock=Clock(base=0.8))
    one = live(MatchSpec("m", CROSSES.spec, (agent("fast"), person()), 1, None, limits), pace=0)
    one.run(0.1)
    one.command("pause", [])
    one.run(1000)
    one.command("resume", [])
    one.run(0.5)
    assert one.ending() is None, "only the time before and after counts"
    one.run(0.5)
    assert one.ending() is EndingKind.TIMEOUT, "but that does"


def test_a_match_that_waits_for_a_human_sleeps_between_heartbeats(
    live: Callable[..., Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = live(MatchSpec("m", CROSSES.spec, (person(), agent("fast")), 1), pace=0)
    ticks, tick = [], one.arena.tick
    monkeypatch.setattr(one.arena, "tick", lambda: ticks.append(one.now) or tick())
    one.run(10 * solo.PULSE)
    assert len(ticks) <= 11, "it polls no player in between"
    one.command("act", [0, 4])
    one.run(solo.POLL)
    one.command("pause", [])
    assert one.actions == 2, "the human's and the answer to it"


def test_repeated_input_does_not_speed_up_the_match(live: Callable[..., Worker]) -> None:
    one = live(MatchSpec("m", LONG.spec, (BOTS["Tracker"], person()), 1), pace=20)
    for _ in range(200):
        one.command("act", [1, 1])
        one.run(0.005)
    assert one.steps <= 22, "about twenty steps are due in a second"


def test_the_first_steps_can_be_played_at_full_speed(live: Callable[..., Worker]) -> None:
    one = live(RALLY, pace=2, skip=150)
    one.run(0.2)
    one.command("pause", [])
    assert 150 <= one.steps <= 152
    one.command("resume", [])
    one.run(2.1)
    one.command("pause", [])
    assert 153 <= one.steps <= 157, "then at its pace"


def test_a_pace_that_is_set_while_it_finishes_applies_afterwards() -> None:
    commands: list[list[object]] = []
    one = LiveMatch(RALLY, 60.0, lambda match, command: commands.append(command), lambda match: None)
    one.finish()
    one.pace(30)
    one.finish(False)
    assert commands == [["pace", 0.0], ["resume"], ["pace", 30.0]]
