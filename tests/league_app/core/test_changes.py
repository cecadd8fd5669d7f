"""Change notifications are batched, and changes held back are delivered."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import ClassVar

import pytest

from league_app.core import changes
from league_app.core.changes import INTERVAL, Change, ChangeFeed, ChangeKind


class Timer:
    """Fires when the test says so."""

    started: ClassVar[list[Timer]] = []

    def __init__(self, interval: float, fire: Callable[[], None]) -> None:
        self.interval, self.fire = interval, fire

    def start(self) -> None:
        self.started.append(self)

    def cancel(self) -> None:
        self.started.remove(self)


def test_a_thousand_changes_are_two_notifications_and_none_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within one interval: the first is delivered at once, the others at its end, without another change."""
    monkeypatch.setattr(Timer, "started", [])
    monkeypatch.setattr(changes, "threading", SimpleNamespace(Timer=Timer, Lock=threading.Lock))
    monkeypatch.setattr(changes, "time", SimpleNamespace(monotonic=lambda: 100.0))
    notices, observed = ChangeFeed(), list[list[Change]]()
    notices.subscribe(observed.append)
    for _ in range(1000):
        notices.add(Change(ChangeKind.MATCHES, 1, 1), now=False)
    [timer] = Timer.started
    assert timer.interval == INTERVAL
    timer.fire()
    assert observed == [[Change(ChangeKind.MATCHES, 1, 1)], [Change(ChangeKind.MATCHES, 1, 999)]]
    assert not Timer.started
    notices.add(Change(ChangeKind.MATCHES, 1, 1), now=False)
    assert len(Timer.started) == 1, "the next interval has begun"


def test_an_urgent_change_delivers_waiting_ones_at_once() -> None:
    notices, batches = ChangeFeed(), list[list[Change]]()
    notices.subscribe(batches.append)
    notices.add(Change(ChangeKind.SETTINGS))
    notices.add(Change(ChangeKind.MATCHES, 1, 3), now=False)
    notices.add(Change(ChangeKind.MATCHES, 1, 4), now=False)
    notices.add(Change(ChangeKind.AGENTS))
    assert batches == [[Change(ChangeKind.SETTINGS)], [Change(ChangeKind.MATCHES, 1, 7), Change(ChangeKind.AGENTS)]]


def test_an_unsubscribed_observer_is_not_called() -> None:
    notices, batches = ChangeFeed(), list[list[Change]]()
    end = notices.subscribe(batches.append)
    end()
    notices.add(Change(ChangeKind.AGENTS))
    assert batches == []
