"""Whatever process is killed, no external engine and none of its children keeps running."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys
from engine.play.concurrent import ConcurrentMatchExecutor
from engine.play.match import AgentSpec, MatchSpec
from engine.registry import new_game
from tests.agents.usi.engines import confirmed, faulty

if __name__ == "__main__":
    game = new_game("shogi", opening="none")
    engine = confirmed(faulty("lingers", sys.argv[1], patience=600.0))
    with ConcurrentMatchExecutor(1) as executor:
        print(executor.execute_match(MatchSpec("m", game.spec, (engine, AgentSpec("Dice", "dice")), 1)).ending)
"""


def test_no_engine_outlives_its_worker_or_the_application(tmp_path: Path) -> None:
    script, pids = tmp_path / "program.py", tmp_path / "pids"
    script.write_text(PROGRAM)
    there = {**os.environ, "RINGSIDE_HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join([*sys.path, str(ROOT)])}
    program = subprocess.Popen([sys.executable, str(script), str(pids)], env=there, cwd=ROOT)
    try:
        first = processes(pids, 1)
        worker = first[0].parent().parent()  # the engine's supervisor, and the process that started it
        assert worker.pid != program.pid
        worker.kill()
        await_end(first)
        second = processes(pids, 2)  # the match is played again, alone
        assert all(process.is_running() for process in second)
        program.kill()
        await_end(second)
    finally:
        program.kill()
        program.wait()


def processes(pids: Path, starts: int) -> list[psutil.Process]:
    """The process of the engine, its child, and a child in a session of its own."""
    until = time.monotonic() + 300
    while time.monotonic() < until:
        lines = pids.read_text().split("\n")[:-1] if pids.exists() else []
        if len(lines) >= starts:
            return [psutil.Process(int(pid)) for pid in lines[starts - 1].split()]
        time.sleep(0.05)
    raise AssertionError("the engine has not started")


def await_end(gone: list[psutil.Process]) -> None:
    until = time.monotonic() + 300
    while any(alive(process) for process in gone):
        assert time.monotonic() < until, f"still there: {[process for process in gone if alive(process)]}"
        time.sleep(0.02)


def alive(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False
