"""Notices come in batches, and what was held back still arrives."""

from __future__ import annotations

import threading

from league_app.core.changes import NOTICE, Change, Notices


def test_a_thousand_changes_are_a_few_notices_and_none_is_lost() -> None:
    notices, told, arrived = Notices(), list[list[Change]](), threading.Event()

    def observe(changes: list[Change]) -> None:
        told.append(changes)
        if sum(change.count for batch in told for change in batch) == 1000:
            arrived.set()

    notices.subscribe(observe)
    for _ in range(1000):
        notices.add(Change("matches", 1, 1), now=False)
    assert arrived.wait(60 * NOTICE), "without another change to push it"
    assert len(told) < 100
    assert all(len(batch) == 1 for batch in told), "each kind once in a notice"


def test_what_is_urgent_is_told_at_once_with_what_waited() -> None:
    notices, told = Notices(), list[list[Change]]()
    notices.subscribe(told.append)
    notices.add(Change("settings"))
    notices.add(Change("matches", 1, 3), now=False)
    notices.add(Change("matches", 1, 4), now=False)
    notices.add(Change("agents"))
    assert told == [[Change("settings")], [Change("matches", 1, 7), Change("agents")]]


def test_who_has_ended_its_subscription_is_not_told() -> None:
    notices, told = Notices(), list[list[Change]]()
    end = notices.subscribe(told.append)
    end()
    notices.add(Change("agents"))
    assert told == []
