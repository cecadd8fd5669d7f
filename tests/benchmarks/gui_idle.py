"""The window while nothing happens, and after small changes: processor time, queries, and connections."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tests.benchmarks.measure import Figure

SESSIONS = 20  # finished ones, on the Training page
PAGES = ("dashboard", "standings", "history", "training")


def figures(reports: Sequence[Mapping[str, Any]]) -> Iterator[Figure]:
    """What several windows have measured."""
    for name, what in (("idle", "run panel in sight"), ("hidden", "run panel hidden")):
        used = statistics.median(value for report in reports for value in report[name])
        yield Figure(f"used in 5 s while idle, {what}", used, "ms", None, "", "processor time of all threads")
    queries = reports[0]["queries"]
    for name, count in queries.items():
        yield Figure(name, count, "queries", None, "", f"{SESSIONS} training sessions" * ("training" in name))
    yield Figure("connections to the league file", reports[0]["connections"], "", None, "", "after all of this")


# In the process of the window


def idle(window: Any, seconds: float, turns: int) -> dict[str, Any]:
    """Processor time in milliseconds for each five seconds, and the queries of each page."""
    from tests.benchmarks.gui_watch import for_a_while

    found: dict[str, Any] = {"idle": [], "hidden": []}
    window.show_page("standings")
    for _ in range(turns):
        for name in ("idle", "hidden"):
            window.docks["run"].setVisible(name == "idle")
            for_a_while(min(seconds, 2.0))
            before = time.process_time()
            wait_without_work(seconds)
            found[name].append((time.process_time() - before) * 1e3 * 5 / seconds)
    window.docks["run"].show()
    found["queries"] = queries(window)
    found["connections"] = len(window.context.league.league.file._readers)
    return found


def wait_without_work(seconds: float) -> None:
    """Processes events without a repeating timer of its own, which would be measured too."""
    from PySide6.QtCore import QEventLoop, QTimer

    loop = QEventLoop()
    QTimer.singleShot(round(seconds * 1e3), loop.quit)
    loop.exec()


def queries(window: Any) -> dict[str, int]:
    """How many queries each of these takes: opening a page, a match on it, and a new point of a training session."""
    from engine.league.records import RunState
    from engine.league.storage.session_rows import Measured
    from engine.league.storage.sessions import SessionStore
    from league_app.core.changes import Change, ChangeKind
    from tests.query_counts import counted_queries

    state = window.context.league
    league, store, counts = state.league, SessionStore(state.league), dict[str, int]()
    game = league.tournaments()[0].settings.game
    for place in range(SESSIONS):
        number = store.add(f"session {place}", "neat", game, [("generations", 30), ("seed", 1)]).number
        metrics = ("fitness/best", "fitness/mean", "validation/share", "validation/low", "validation/high")
        store.record_many(number, [Measured(step, [(name, step / 30) for name in metrics]) for step in range(1, 31)])
        store.update(number, RunState.FINISHED, "")

    def counted(name: str, change: Callable[[], object]) -> None:
        settle(window)
        with counted_queries(league) as found:
            change()
            settle(window)
        counts[name] = len(found)

    def notify(kind: ChangeKind, about: int) -> None:
        league.save_setting("benchmark", kind.value)  # nothing that was kept of the file is valid any more
        state.notices.add(Change(kind, about))

    agent = state.agents("pong")[0].id
    for page in (*PAGES, "agent"):
        what = agent if page == "agent" else None
        window.show_page("match")
        notify(ChangeKind.AGENTS, 0)
        counted(f"opening {page}", lambda page=page, what=what: window.show_page(page, what))  # type: ignore[misc]
        if page != "training":
            counted(f"a match, {page} open", lambda: notify(ChangeKind.MATCHES, 1))
    window.show_page("training")
    settle(window)
    store.record_many(number, [Measured(31, [("validation/share", 0.9), ("fitness/best", 0.9)])])
    counted("a point of training, its page open", lambda: notify(ChangeKind.TRAINING, number))
    window.show_page("dashboard")
    counted("a point of training, dashboard open", lambda: notify(ChangeKind.TRAINING, number))
    return counts


def settle(window: Any) -> None:
    """Waits until all changes are shown: refreshes wait for half a second at most."""
    from tests.benchmarks.gui_watch import for_a_while, until

    context = window.context
    for_a_while(1.0)
    until(lambda: not any(queue.waiting for queue in (context.read_queue, context.slow_queue, context.command_queue)))
