"""Endings of training sessions: the last event is `Ended`, and no process is left."""

from __future__ import annotations

import gc
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from agents.training.events import Ended, Event, How, Level, Log, Metrics, Progress
from agents.training.session import TrainingSession
from engine.processes import launcher
from tests.agents.training.session_helpers import (
    FOREVER,
    GAME,
    assert_gone,
    events_until,
    is_log,
    make_session,
    of,
    playing,
    run,
    runs,
    steps,
    until_blocked,
)

pytestmark = pytest.mark.usefixtures("trainers")


def test_an_exception_is_the_reason_and_its_traceback_is_logged() -> None:
    *_, log, ended = run(does="raise")
    assert ended.how is How.FAILED
    assert ended.reason.startswith("ZeroDivisionError: by design (counting.py, line ")
    assert log.level is Level.WARNING
    assert log.text.startswith("Traceback (most recent call last)")
    assert log.text.endswith("ZeroDivisionError: by design\n")


def test_the_text_of_a_ringside_error_is_the_reason() -> None:
    events = run(does="complain")
    assert events[-1] == Ended(How.FAILED, "the board is too small for this: choose a larger one")
    assert not [log for log in of(Log, events) if log.level is Level.WARNING]


@pytest.mark.parametrize(
    ("does", "words"),
    [
        ("leave", r"SystemExit: 4 \(counting.py, line \d+\)"),
        ("nonsense", "yielded by the trainer = 42: must be an event"),
        ("half_right", r"Metrics\.values = {'count/value': 1\.0}: must be pairs"),
        ("garble", "its process sent an invalid integer"),
        ("scribble", "its process sent a frame of 8,589,934,590 bytes"),
        ("close_line", "its process closed its connection but did not exit"),
        ("exit", r"its process exited with status 3; it last printed: x+ \| the last straw"),
        ("segfault", r"its process was killed by SIGSEGV; it last printed: Fatal Python error: Segm.*counting.py"),
    ],
)
def test_every_failure_ends_the_session_with_its_reason(does: str, words: str) -> None:
    events = run(does=does)
    assert events[-1].how is How.FAILED
    assert re.search(words, events[-1].reason), events[-1].reason
    assert steps(events) == [1], "and what came before is kept"


def test_the_last_8_kb_of_a_dead_process_output_are_kept() -> None:
    *_, log, _ = run(does="exit")
    assert log.level is Level.WARNING
    assert log.text.endswith("x\nthe last straw")
    assert "first line" not in log.text
    assert 8000 < len(log.text) < 8400


def test_a_process_killed_from_outside_differs_from_one_killed_on_request() -> None:
    with make_session(does="hang") as session:
        session.start()
        events_until(session, is_log("hanging"))
        os.kill(session.pid, signal.SIGKILL)
        assert events_until(session)[-1] == Ended(How.FAILED, "its process was killed by SIGKILL")


def test_a_child_that_holds_the_connection_does_not_delay_the_end() -> None:
    events = run(does="fork")
    assert events[-1] == Ended(How.FAILED, "its process exited with status 5")
    assert_gone(int(of(Log, events)[-1].text.split()[1]))


def test_a_trainer_without_ended_has_finished_or_was_stopped() -> None:
    events = run("silent", steps=3)
    assert of(Progress, events)[-1] == Progress(3, 3, "on its way")
    assert events[-1].how is How.FINISHED
    with make_session("silent", steps=FOREVER, nap=0.005) as session:
        session.start()
        session.wait(60)
        session.stop()
        assert events_until(session)[-1].how is How.STOPPED


def test_events_after_ended_are_ignored() -> None:
    events = run(does="go_on")
    assert events[-1] == Ended(How.FINISHED, "early")
    assert not any(map(is_log("too late"), events))


def test_an_error_in_cleaning_up_does_not_change_the_end() -> None:
    *_, log, ended = run(does="trip")
    assert ended == Ended(How.FINISHED, "done, it says")
    assert (log.level, log.text.splitlines()[-1]) == (Level.WARNING, "OSError: cannot clean up")


def test_an_unknown_trainer_names_the_plugins_argument() -> None:
    with TrainingSession("counting", {}, GAME, workers=1) as session:
        session.start()
        (ended,) = events_until(session)
    assert ended.how is How.FAILED
    assert re.match("unknown trainer 'counting'.*name it in plugins", ended.reason)


def test_a_process_that_cannot_be_started_ends_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher, "_start", lambda *_: (_ for _ in ()).throw(OSError("no more processes")))
    with make_session() as session:
        session.start()
        assert events_until(session) == [Ended(How.FAILED, "its process could not be started: no more processes")]
        assert session.pid is None


# What it leaves behind


def test_closing_does_not_wait_for_a_trainer_blocked_on_sending() -> None:
    with make_session(steps=FOREVER, size=5_000_000) as session:
        session.start()
        until_blocked(session)
        session.close()
        assert not psutil.pid_exists(session.pid)
        assert not session._process._thread.is_alive()
        events = session.poll()
    assert session.over
    assert events[-1].how is How.STOPPED
    assert steps(events) == list(range(1, len(steps(events)) + 1)), "no event is lost"


def test_closing_wakes_a_waiting_thread() -> None:
    with make_session(does="hang") as session:
        session.start()
        events_until(session, is_log("hanging"))
        came: list[Event] = []
        waiting = threading.Thread(target=lambda: came.extend(session.wait()))
        waiting.start()
        session.close()
        waiting.join()
    assert [type(event) for event in came] == [Ended]


def test_a_session_closed_before_its_process_starts_leaves_no_process() -> None:
    before = psutil.Process().children()
    for _ in range(5):
        with make_session(steps=FOREVER) as session:
            session.start()
        assert [type(event) for event in session.poll()] == [Ended]
    new = [child for child in psutil.Process().children() if child not in before]
    assert not [child for child in new if "resource_tracker" not in " ".join(child.cmdline())]


def test_a_garbage_collected_session_ends() -> None:
    session = make_session(does="hang")
    session.start()
    events_until(session, is_log("hanging"))
    process = psutil.Process(session.pid)
    del session
    gc.collect()
    assert not process.is_running()


def test_two_sessions_run_side_by_side() -> None:
    with make_session(steps=200, nap=0.002) as session, make_session(steps=FOREVER, nap=0.002) as other:
        session.start()
        other.start()
        assert events_until(session)[-1] == Ended(How.FINISHED, "at 200")
        assert session.pid != other.pid
        assert not other.over
        other.stop()
        assert events_until(other)[-1].how is How.STOPPED


def test_the_process_imports_little_and_runs_niced_in_its_own_session() -> None:
    nice = os.nice(0) + 5
    logs = of(Log, run(does="modules"))
    assert logs[1].text == f"heavy: [] session: True nice: {min(nice, 19)}"


def test_a_trainer_has_its_own_workers_and_ends_them() -> None:
    with make_session(does="play", workers=1) as session:
        session.start()
        family = playing(session)
        session.workers = 2
        events_until(session, lambda event: isinstance(event, Metrics) and event.values[1] == ("match/workers", 2.0))
        session.stop()
        assert events_until(session)[-1] == Ended(How.STOPPED, "played")
        assert_gone(*family)


@pytest.mark.parametrize("how", ["kill -9", "kill", "close"])
def test_workers_of_a_trainer_do_not_outlive_its_process(how: str) -> None:
    with make_session(does="play", workers=2) as session:
        session.start()
        family = playing(session)
        if how == "kill -9":
            os.kill(session.pid, signal.SIGKILL)
        elif how == "kill":
            session.kill()
        else:
            session.close()
            assert not any(map(runs, family)), "when it returns"
        ended = events_until(session)[-1]
        assert_gone(*family)
    assert ended.how is (How.FAILED if how == "kill -9" else How.STOPPED)


@pytest.mark.parametrize("hangs", [False, True])
def test_child_processes_of_a_trainer_end_with_it(hangs: bool) -> None:
    with make_session(does="helper", steps=FOREVER if hangs else 5, nap=0.01) as session:
        session.start()
        events = events_until(session, is_log("helper"))
        helper = next(int(log.text.split()[1]) for log in of(Log, events) if log.text.startswith("helper"))
        if not hangs:
            events_until(session)
            assert session.over
    assert_gone(helper)


ORPHAN = """
import socket
from agents.training import trainer_main
from agents.training.job_spec import TrainingJobSpec
from engine.processes.channel import frame
from tests.agents.training.session_helpers import FOREVER, GAME, PLUGINS
ours, theirs = socket.socketpair()
ours.send(frame({words!r}))
ours.close()
job = TrainingJobSpec("counting", (("steps", FOREVER), ("every", FOREVER)), GAME, 1, None, None, (), PLUGINS, "local")
trainer_main.serve(theirs, job)
"""


@pytest.mark.parametrize("words", [["pause"], ["resume"]])
def test_a_trainer_process_ends_when_its_session_is_gone(words: list[str]) -> None:
    """Running or paused, it notices that its connection is closed, whatever the platform does with orphans."""
    command = [sys.executable, "-c", ORPHAN.format(words=words)]
    done = subprocess.run(command, cwd=Path(__file__).parents[3], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


PARENT = """
import sys, time
from agents.training.events import Metrics
from agents.training.session import TrainingSession
from tests.agents.training.session_helpers import GAME, OURS, PLUGINS, TRAINERS, playing
for name, trainer in OURS.items():
    TRAINERS.add(name, trainer)
session = TrainingSession("counting", dict(does="play"), GAME, workers=2, plugins=PLUGINS)
session.start()
print(*playing(session), flush=True)
{then}
"""


@pytest.mark.parametrize("then", ["time.sleep(600)", "while True: session.wait(1)", "sys.exit(0)"])
def test_nothing_outlives_the_program(then: str, tmp_path: Path) -> None:
    """Killed while it polls or not, or ended without closing. The script needs no `__main__` guard either."""
    script = tmp_path / "script.py"
    script.write_text(PARENT.format(then=then))
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, script], stdout=pipe, stderr=pipe, text=True, env=environment) as parent:
        try:
            pids = [int(pid) for pid in parent.stdout.readline().split()]
            assert len(pids) >= 3
            if then == "sys.exit(0)":
                assert parent.wait() == 0
                assert (parent.stdout.read(), parent.stderr.read()) == ("", "")
            else:
                assert all(map(psutil.pid_exists, pids))
                parent.kill()
            assert_gone(*pids)
        finally:
            parent.kill()
