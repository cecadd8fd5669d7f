"""Starts training sessions in tests and reads their events."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psutil

from agents.training.events import Ended, Event, Log, Metrics
from agents.training.session import TrainingSession
from engine.play.executors import DEFAULT
from engine.registry import TRAINERS, new_game
from tests.plugins.counting import Counting, Silent

GAME = new_game("pong", points=1, step_limit=60).spec
PLUGINS = ("tests.plugins.counting",)
OURS = {"counting": Counting, "silent": Silent}
FOREVER = 10_000_000

for name in OURS:  # the module registers them for the process of a session; here they are there for these tests alone
    TRAINERS.remove(name)


@contextmanager
def registered_trainers() -> Iterator[None]:
    """The trainers of these tests are there for the block."""
    for name, trainer in OURS.items():
        TRAINERS.add(name, trainer)
    yield
    for name in OURS:
        TRAINERS.remove(name)


def make_session(
    trainer: str = "counting",
    *,
    state: bytes | None = None,
    workers: int = 1,
    on: str = DEFAULT,
    **settings: object,
) -> TrainingSession:
    return TrainingSession(trainer, settings, GAME, workers=workers, state=state, plugins=PLUGINS, on=on)


def events_until(session: TrainingSession, until: Callable[[Event], bool] = lambda event: False) -> list[Event]:
    """Events up to the first that matches, or all."""
    events: list[Event] = []
    while not session.over and not any(map(until, events)):
        events += session.wait(60)
    return events


def run(trainer: str = "counting", **settings: object) -> list[Event]:
    with make_session(trainer, **settings) as session:
        session.start()
        events = events_until(session)
        pid = session.pid
    assert not psutil.pid_exists(pid)
    assert [isinstance(event, Ended) for event in events] == [False] * (len(events) - 1) + [True], "one end, at the end"
    return events


def of(kind: type, events: list[Event]) -> list:
    return [event for event in events if isinstance(event, kind)]


def steps(events: list[Event]) -> list[int]:
    return [event.step for event in of(Metrics, events)]


def is_log(word: str) -> Callable[[Event], bool]:
    return lambda event: isinstance(event, Log) and word in event.text


def runs(pid: int) -> bool:
    """Zombies do not count: not every machine's init process reaps them quickly."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def assert_gone(*pids: int) -> None:
    assert pids
    while any(map(runs, pids)):  # the time limit of every test ends this
        time.sleep(0.01)


def until_blocked(session: TrainingSession) -> None:
    """Waits until its process is blocked on sending events."""
    while session._process._has_room():
        time.sleep(0.01)


def playing(session: TrainingSession) -> list[int]:
    """Waits until its workers play; returns the ids of the session's process and its descendants."""
    events_until(session, lambda event: isinstance(event, Metrics) and event.values[0][0] == "match/steps")
    below = psutil.Process(session.pid).children(recursive=True)
    assert len(below) >= 2, "a server and its workers"
    return [session.pid, *(process.pid for process in below)]
