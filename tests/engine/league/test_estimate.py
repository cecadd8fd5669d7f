"""Estimates of a tournament: only play is measured, and what was not measured is unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.closing import Closing
from engine.league import estimate as estimates
from engine.league.estimate import COMPILATION, FIRST, SAMPLE_SECONDS, Estimate, estimate, needs_measurement, rate_name
from engine.league.records import Lineup, TournamentSettings
from engine.league.schedule import Schedule
from engine.league.storage.league import League
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import AgentSpec, MatchResult, MatchSpec
from engine.play.workers.compilation import compile_kernels
from engine.play.workers.warmup import must_compile
from engine.registry import new_game

GAME = new_game("pong", points=1, step_limit=60)
AGENTS = {name: AgentSpec(name, "dice") for name in ("Ada", "Ben", "Cleo")}
ROUNDS = 40


class Machine:
    """A machine with a clock of its own, on which each step of a match takes `step` seconds."""

    def __init__(self, step: float) -> None:
        self.step, self.now = step, 0.0
        self.log: list[str] = []

    def monotonic(self) -> float:
        return self.now

    def compile_kernels(self, game: str, agents: Sequence[AgentSpec], timeout: float) -> bool:
        self.log.append(f"compile {game} {sorted({agent.kind for agent in agents})}")
        self.now += 90
        return timeout >= 90

    def new_executor(self, on: str, workers: int) -> SlowExecutor:
        self.log.append(f"play on {on}")
        return SlowExecutor(self)


class SlowExecutor(Closing):
    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._real = SequentialMatchExecutor()

    def run(self, specs: Sequence[MatchSpec], stopping: Callable[[], bool]) -> Iterator[MatchResult]:
        for result in self._real.execute_matches(specs):
            for _ in range(result.steps):
                self._machine.now += self._machine.step
                if stopping():
                    return
            yield result

    def close(self) -> None:
        self._real.close()


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Estimate, Machine]]:
    """Estimates a tournament on a machine of this speed."""

    def run(step: float, compiles: bool = False) -> tuple[Estimate, Machine]:
        machine: Any = Machine(step)
        monkeypatch.setattr(estimates, "time", SimpleNamespace(monotonic=machine.monotonic))
        monkeypatch.setattr(estimates, "new_executor", machine.new_executor)
        monkeypatch.setattr(estimates, "compile_kernels", machine.compile_kernels)
        monkeypatch.setattr(estimates, "must_compile", lambda game, agents, drivers: compiles and drivers)
        with League.new(tmp_path / f"{step} {compiles}.league") as league:
            plan = Schedule(TournamentSettings(GAME.spec, "round-robin", (("rounds", ROUNDS),)), [LINEUP])
            plan.extend(lambda *_: ())
            assert needs_measurement(league, GAME.spec)
            return estimate(league, plan, AGENTS, 2), machine

    return run


LINEUP = Lineup(1, 0, tuple(AGENTS))


def test_compilation_is_not_measured_as_play(measured: Callable[..., tuple[Estimate, Machine]]) -> None:
    warm, _ = measured(2**-13)
    cold, machine = measured(2**-13, compiles=True)
    assert machine.log == ["compile pong ['dice']", "play on local"]
    assert cold == warm
    assert warm.measured
    assert warm.seconds is not None
    assert warm.seconds == pytest.approx(warm.matches / warm.rate)
    assert warm.seconds < SAMPLE_SECONDS, "it has played as many"


def test_kernels_that_do_not_compile_in_time_give_no_figure(
    measured: Callable[..., tuple[Estimate, Machine]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(estimates, "COMPILATION", 60.0)
    found, machine = measured(2**-13, compiles=True)
    assert (found.seconds, found.rate) == (None, 0.0)
    assert machine.log == ["compile pong ['dice']"]
    assert COMPILATION > 60.0


def test_a_slow_match_is_waited_for(measured: Callable[..., tuple[Estimate, Machine]]) -> None:
    found, machine = measured(0.5)
    assert SAMPLE_SECONDS < machine.now < 2 * FIRST
    assert found.rate > 0
    assert found.seconds == pytest.approx(found.matches / found.rate)


@pytest.mark.parametrize("step", [FIRST / 30, FIRST], ids=["in the test run", "before it"])
def test_without_a_finished_match_the_time_is_unknown(
    step: float, measured: Callable[..., tuple[Estimate, Machine]]
) -> None:
    found, _ = measured(step)
    assert (found.seconds, found.rate, found.seconds_shown, found.measured) == (None, 0.0, None, True)
    assert found.matches == 3 * 2 * ROUNDS
    assert found.judged_by == 0


def test_a_recorded_rate_needs_no_measurement(tmp_path: Path) -> None:
    with League.new(tmp_path / "one.league") as league:
        league.save_setting(rate_name(GAME.spec), 0.0)
        assert needs_measurement(league, GAME.spec), "no match ended when it was recorded"
        league.save_setting(rate_name(GAME.spec), 50.0)
        assert not needs_measurement(league, GAME.spec)
        assert needs_measurement(league, GAME.spec, "sequential")


# Compilation


def test_kernels_are_compiled_in_another_process() -> None:
    assert compile_kernels("pong", AGENTS.values(), COMPILATION)
    assert not must_compile("pong", AGENTS.values(), drivers=True)


def test_a_compilation_that_fails_or_takes_too_long_is_no_success() -> None:
    assert not compile_kernels("no game", AGENTS.values(), COMPILATION)
    assert not compile_kernels("pong", AGENTS.values(), 0.0)
