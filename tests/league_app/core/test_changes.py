"""Change notifications are batched, and changes held back are delivered."""

from __future__ import annotations

import threading

from league_app.core.changes import INTERVAL, Change, ChangeFeed, ChangeKind


def test_a_thousand_changes_are_a_few_notifications_and_none_is_lost() -> None:
    notices, batches, arrived = ChangeFeed(), list[list[Change]](), threading.Event()

    def observe(changes: list[Change]) -> None:
        batches.append(changes)
        if sum(change.count for batch in batches for change in batch) == 1000:
            arrived.set()

    notices.subscribe(observe)
    for _ in range(1000):
        notices.add(Change(ChangeKind.MATCHES, 1, 1), now=False)
    assert arrived.wait(60 * INTERVAL), "without another change"
    assert len(batches) < 100
    assert all(len(batch) == 1 for batch in batches), "each kind once in a notification"


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
