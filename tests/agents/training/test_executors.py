"""The executor that plays a trainer's matches: chosen by name, and its workers are reported."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from agents.training.events import Champion, Checkpoint, Ended, Event, How, Log, Workers, WorkerState
from agents.training.session import TrainingSession
from agents.training.worker_reports import WorkerReports
from engine.errors import RingsideError, UnknownName
from engine.telemetry import THIS_NODE, WorkerView
from tests.agents.training.fake_context import GAME, QUICK, measured, of, write_config
from tests.agents.training.session_helpers import events_until, make_session, registered_trainers, run


@pytest.fixture(autouse=True)
def trainers() -> Iterator[None]:
    with registered_trainers():
        yield


# The choice


@pytest.mark.parametrize("on", ["local", "sequential"])
def test_the_context_has_the_name_of_the_executor(on: str) -> None:
    assert f"on {on}" in [log.text for log in of(Log, run(does="where", on=on))]


@pytest.mark.parametrize(
    ("on", "error", "text"),
    [
        ("locla", UnknownName, "unknown executor 'locla': did you mean 'local'"),
        ("local:2", RingsideError, "executor = 'local:2'"),
        (None, RingsideError, "executor = None: must be a name"),
    ],
)
def test_a_wrong_name_is_refused_before_a_process_starts(on: Any, error: type[RingsideError], text: str) -> None:
    with pytest.raises(error, match=text):
        make_session(on=on)


def evolved(on: str, config: str) -> list[Event]:
    settings = {**QUICK, "generations": 3, "neat_config": config}
    with TrainingSession("neat", settings, GAME.spec, workers=2, on=on) as session:
        session.start()
        return events_until(session)


def test_every_executor_gives_the_same_evolution_to_the_bit(tmp_path: Path) -> None:
    config = write_config(tmp_path / "crowd.txt")
    ours, theirs = evolved("local", config), evolved("sequential", config)
    assert ours[-1] == theirs[-1] == Ended(How.FINISHED, "3 generations")
    assert measured(ours) == measured(theirs)
    for kind in (Checkpoint, Champion):
        assert of(kind, ours) == of(kind, theirs) != []


# Reports of workers


def has_played(event: Event) -> bool:
    return isinstance(event, Workers) and any(worker.done not in ("", "0 matches") for worker in event.workers)


@pytest.mark.parametrize("on", ["local", "sequential"])
def test_the_workers_that_play_its_matches_are_reported(on: str) -> None:
    with make_session(does="evaluate", on=on) as session:
        session.start()
        [report] = [event for event in events_until(session, has_played) if has_played(event)][:1]
        assert isinstance(report, Workers)
        [worker] = report.workers
        assert worker.name == "worker 0"
        assert worker.state in ("playing", "idle")
        family = {session.pid, *(child.pid for child in psutil.Process(session.pid).children(recursive=True))}
        assert worker.pid in family
        assert (worker.pid == session.pid) == (on == "sequential")
        session.stop()
        assert events_until(session)[-1] == Ended(How.STOPPED, "played")


def is_idle(event: Event) -> bool:
    return isinstance(event, Workers) and event.workers[0].state == "idle"


def test_a_paused_session_reports_that_its_workers_are_idle() -> None:
    with make_session(does="evaluate") as session:
        session.start()
        events = events_until(session, has_played)
        session.pause()
        last = [event for event in events if isinstance(event, Workers)][-1]
        if not is_idle(last):  # else it was between two matches, and nothing changes any more
            events_until(session, is_idle)
        session.stop()
        assert events_until(session)[-1] == Ended(How.STOPPED, "played")


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def view(done: int, state: str = "playing", node: str = THIS_NODE, pid: int | None = 7) -> WorkerView:
    return WorkerView(2, pid, state, "a - b", done, 1, node)


def test_reports_are_made_once_a_second_and_only_of_changes() -> None:
    clock, sampled = Clock(), list[WorkerView]()
    reports = WorkerReports(clock)

    def sample() -> list[WorkerView]:
        sampled.append(view(round(clock.now)))
        return sampled[-1:]

    made = []
    for _ in range(40):  # ten seconds
        made += [event for event in [reports.due(sample)] if event is not None]
        clock.now += 0.25
    assert [worker.done for event in made for worker in event.workers][:3] == [
        "100 matches",
        "101 matches",
        "102 matches",
    ]
    assert (len(made), len(sampled)) == (10, 10)
    assert reports.due(lambda: [view(200)]) is not None
    clock.now += 5
    assert reports.due(lambda: [view(200)]) is None, "nothing has changed"


def test_the_trainers_own_workers_are_reported_together_with_them() -> None:
    clock, learner = Clock(), WorkerState("learner", "learning")
    reports = WorkerReports(clock)
    assert reports.joined(Workers((learner,))) == Workers((learner,))
    here = WorkerState("worker 2", "playing", "a - b", "1 match", 1, 7)
    assert reports.due(lambda: [view(1)]) == Workers((learner, here))
    assert reports.busy
    again = WorkerState("learner", "idle")
    assert reports.joined(Workers((again,))) == Workers((again, here))
    clock.now += 1
    far = WorkerState("rack worker 2", "idle", "a - b", "1,200 matches", 1, None)
    assert reports.due(lambda: [view(1200, "idle", "rack", None)]) == Workers((again, far))
    assert not reports.busy
