"""A small tournament with broken players, and checks of the processes and files that it leaves."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import psutil
import pytest

from engine.play.concurrent import ConcurrentMatchExecutor
from engine.play.match import AgentSpec, EndingKind, MatchResult, MatchSpec, run_digest
from engine.registry import new_game
from engine.seeding import derive

GAME = new_game("pong", points=1, step_limit=60)
WELL = [AgentSpec(f"well{n}", "fault") for n in range(3)] + [AgentSpec(f"shared{n}", "shared-fault") for n in range(3)]
WATCHDOG = 60.0  # seconds: enough for healthy players on a busy machine
SHORT_WATCHDOG = 10.0  # seconds, as by default, for players that never answer
MEMORY = 300  # MB


def patience(ending: EndingKind) -> float:
    """Watchdog seconds for a player with this ending: short only for one that would never answer."""
    return SHORT_WATCHDOG if ending is EndingKind.TIMEOUT else WATCHDOG


def sick(fault: str, kind: str = "fault", name: str = "") -> AgentSpec:
    return AgentSpec(name or f"sick {fault}", kind, fault.encode())


def well_matches(count: int) -> list[MatchSpec]:
    pairs = [(a, b) for a in WELL for b in WELL if a is not b]
    return [MatchSpec(f"w{n}", GAME.spec, pairs[n % len(pairs)], derive("well", n)) for n in range(count)]


def sick_matches(agent: AgentSpec, count: int) -> list[MatchSpec]:
    """Matches against each opponent in turn, on alternating sides."""
    specs = []
    for n in range(count):
        players = (agent, WELL[n // 2 % len(WELL)])
        specs.append(MatchSpec(f"{agent.id} {n}", GAME.spec, players[:: 1 if n % 2 == 0 else -1], derive("sick", n)))
    return specs


def mixed(well: Sequence[MatchSpec], ill: Sequence[MatchSpec]) -> list[MatchSpec]:
    """Merge lists so that each is spread evenly."""
    step = len(well) // max(len(ill), 1)
    specs: list[MatchSpec] = []
    for n, spec in enumerate(well):
        specs.append(spec)
        if n % step == step - 1 and n // step < len(ill):
            specs.append(ill[n // step])
    return specs


def make_executor(workers: int = 2, **settings: object) -> ConcurrentMatchExecutor:
    chosen = {"watchdog": WATCHDOG, "memory_mb": MEMORY, "lanes": 64, **settings}
    return ConcurrentMatchExecutor(workers, **chosen)


def play(specs: Sequence[MatchSpec], workers: int = 2, **settings: object) -> dict[str, MatchResult]:
    """Play matches; check that each has one result and no process is left."""
    with make_executor(workers, **settings) as executor:
        results = list(executor.run(specs))
    assert sorted(result.id for result in results) == sorted(spec.id for spec in specs), "one result for each match"
    assert not worker_pids(), "worker processes are left"
    return {result.id: result for result in results}


def digest(results: dict[str, MatchResult], specs: Sequence[MatchSpec]) -> str:
    return run_digest(results[spec.id] for spec in specs)


def worker_pids(of: int | None = None, patience: float = 120.0) -> list[int]:
    """Worker processes that still run after a while."""
    until = time.monotonic() + patience
    while True:
        left = _workers(of or os.getpid())
        if not left or time.monotonic() > until:
            return left
        time.sleep(0.02)


def _workers(of: int) -> list[int]:
    """Children of the fork server; the server itself stays for the next executor."""
    found = []
    for process in psutil.Process(of).children(recursive=True):
        try:
            if process.status() != psutil.STATUS_ZOMBIE and process.ppid() != of:
                found.append(process.pid)
        except psutil.NoSuchProcess:
            continue
    return found


def pseudo_terminal() -> tuple[int, int]:
    """Both ends of a pseudo-terminal; the test is skipped on a machine that has none."""
    pty = pytest.importorskip("pty")
    try:
        return pty.openpty()
    except OSError as error:
        pytest.skip(f"no pseudo-terminal on this machine: {error}")


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Fail if the block hangs. It may take five times as long as on an idle machine, and ten minutes at least."""
    seconds = max(5 * seconds, 600)

    def late(*_: object) -> None:
        raise TimeoutError(f"still not done after {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
