"""Change notifications are batched, and changes held back are delivered."""

from __future__ import annotations

import threading

from league_app.core.changes import INTERVAL, Change, ChangeFeed, ChangeKind


def test_a_thousand_changes_are_a_few_notifications_and_none_is_lost() -> None:
    notices, told, arrived = ChangeFeed(), list[list[Change]](), threading.Event()

    def observe(changes: list[Change]) -> None:
        told.append(changes)
        if sum(change.count for batch in told for change in batch) == 1000:
            arrived.set()

    notices.subscribe(observe)
    for _ in range(1000):
        notices.add(Change(ChangeKind.MATCHES, 1, 1), now=False)
    assert arrived.wait(60 * INTERVAL), "without another change"
    assert len(told) < 100
    assert all(len(batch) == 1 for batch in told), "each kind once in a notification"


def test_an_urgent_change_delivers_waiting_ones_at_once() -> None:
    notices, told = ChangeFeed(), list[list[Change]]()
    notices.subscribe(told.append)
    notices.add(Change(ChangeKind.SETTINGS))
    notices.add(Change(ChangeKind.MATCHES, 1, 3), now=False)
    notices.add(Change(ChangeKind.MATCHES, 1, 4), now=False)
    notices.add(Change(ChangeKind.AGENTS))
    assert told == [[Change(ChangeKind.SETTINGS)], [Change(ChangeKind.MATCHES, 1, 7), Change(ChangeKind.AGENTS)]]


def test_an_unsubscribed_observer_is_not_called() -> None:
    notices, told = ChangeFeed(), list[list[Change]]()
    end = notices.subscribe(told.append)
    end()
    notices.add(Change(ChangeKind.AGENTS))
    assert told == []
