"""What a refresh costs: queries of the league file, fits of ratings, plans of tournaments, and timers."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from PySide6.QtCore import QObject, QTimer
from pytestqt.qtbot import QtBot

from agents.training.events import Player
from engine.league import ratings
from engine.league.schedule import Schedule
from engine.league.storage import league as league_module
from engine.league.storage.session_rows import Measured
from engine.league.storage.sessions import SessionStore
from league_app.core.changes import Change, ChangeKind
from league_app.core.queries import sessions as session_queries
from league_app.core.queries.dashboard import load_dashboard
from league_app.core.queries.highlights import best_match, recent, summary
from league_app.core.queries.sessions import SessionPreviews, latest_points, load_metric_updates, load_sessions
from league_app.core.run_monitor import RunMonitor, RunSnapshot
from league_app.core.state import LeagueState
from league_app.core.tournament_draft import DraftEstimator, TournamentDraft, create_tournament
from league_app.gui.background import ChangeBridge
from league_app.gui.context import AppContext
from league_app.gui.page import Page
from tests.league_app.gui.conftest import BOTS, LASTING, QUICK
from tests.league_app.gui.training_helpers import page_of, recorded
from tests.query_counts import counted_queries

FEW = 12  # queries of a whole page for one new point, however many sessions there are


class Answers(QObject):
    """Receives answers in the thread of the window."""

    def __init__(self) -> None:
        super().__init__()
        self.values: list[object] = []

    def add(self, value: object) -> None:
        self.values.append(value)


def is_at_rest(context: AppContext, page: Page) -> bool:
    """Whether a page shows all changes."""
    return not (page._stale or page._refresh_timer.isActive() or context.read_queue.waiting)


# Connections


def test_the_window_reads_with_one_connection_for_each_thread(context: AppContext, qtbot: QtBot) -> None:
    file, answers = context.league.league.file, Answers()
    for queue in (context.read_queue, context.slow_queue, context.command_queue):
        for number in range(10):
            queue.submit(f"query {number}", lambda: id(file.reader()), answers.add)
    qtbot.waitUntil(lambda: len(answers.values) == 30)
    assert len(set(answers.values)) == 3
    assert len(file._readers) <= 5, "three queues, the monitor and this thread"


# Training


@pytest.mark.parametrize("sessions", [1, 20])
def test_a_new_point_costs_a_few_queries_for_any_number_of_sessions(
    context: AppContext, qtbot: QtBot, sessions: int
) -> None:
    state = context.league
    numbers = [recorded(state, f"session {number}", stopped=False) for number in range(sessions)]
    page = page_of(context, qtbot)
    qtbot.waitUntil(lambda: bool(page._curves.get(numbers[-1])) and not context.read_queue.waiting)
    qtbot.waitUntil(lambda: not page._refresh_timer.isActive())
    SessionStore(state.league).record_many(
        numbers[-1], [Measured(31, [("validation/share", 0.9), ("fitness/best", 9.0)])]
    )
    with counted_queries(state.league) as queries:
        state.notices.add(Change(ChangeKind.TRAINING, numbers[-1]))
        qtbot.waitUntil(lambda: page._curves[numbers[-1]]["validation/share"].last_point[0] == 31)
        qtbot.waitUntil(lambda: not context.read_queue.waiting)
    assert page.model.rows[0].step == 31
    assert len(queries) <= FEW, "\n".join(queries)


@pytest.mark.parametrize("sessions", [1, 20])
def test_the_training_page_is_opened_with_a_few_queries(context: AppContext, qtbot: QtBot, sessions: int) -> None:
    state = context.league
    numbers = [recorded(state, f"session {number}", stopped=False) for number in range(sessions)]
    store = SessionStore(state.league)
    for step in range(40, 60):
        store.add_checkpoint(numbers[-1], step, b"state", [Player("dice", 1, b"player %d" % step, "")])
    with counted_queries(state.league) as queries:
        page = page_of(context, qtbot)
        qtbot.waitUntil(lambda: bool(page._curves.get(numbers[-1])) and not context.read_queue.waiting)
    assert [len(row.curve) for row in page.model.rows] == [30] * sessions
    assert len(page.players._diagrams) > 20, "a drawing of each player"
    assert len([query for query in queries if not query.startswith("PRAGMA")]) <= FEW, "\n".join(queries)


def test_a_curve_has_the_last_values_of_its_own_session(context: AppContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_queries, "PREVIEW_VALUES", 7)
    state = context.league
    first, _ = recorded(state, "first"), recorded(state, "second", steps=5)
    SessionStore(state.league).forget_after(first, 20)
    curves = [session.curve for session in load_sessions(SessionPreviews(), state)]
    assert curves == [
        tuple(step / 5 for step in range(1, 6)),
        tuple(pytest.approx(step / 30) for step in range(14, 21)),
    ]


def test_summaries_and_updates_are_the_same_with_and_without_a_cache(context: AppContext) -> None:
    state, previews = context.league, SessionPreviews()
    store = SessionStore(state.league)
    first, second = recorded(state, "first"), recorded(state, "second")
    for change in (
        lambda: store.record_many(first, [Measured(31, [("validation/share", 0.5)])]),
        lambda: store.forget_after(second, 20),
        lambda: store.record_many(second, [Measured(21, [("validation/share", 0.25), ("new/metric", 1.0)])]),
        lambda: store.forget_after(first, 0),
    ):
        change()
        cached, fresh = load_sessions(previews, state), load_sessions(SessionPreviews(), state)
        assert cached == fresh
    assert [session.curve for session in load_sessions(previews, state)][1] == ()


def test_only_values_that_are_new_or_replaced_are_read(context: AppContext) -> None:
    state = context.league
    store, number = SessionStore(state.league), recorded(state, "one")
    before = latest_points(state.league, [number])[number]
    store.forget_after(number, 20)
    store.record_many(number, [Measured(21, [("speed/matches", 1.0)]), Measured(31, [("fitness/best", 2.0)])])
    store.record_many(number, [Measured(5, [("late/metric", 3.0)])])
    now = latest_points(state.league, [number])[number]
    updates = load_metric_updates(state.league, number, before, now)
    replaced = {name: update.replace for name, update in updates.items() if update is not None}
    assert set(replaced.values()) == {True}, "the last known step of each metric was deleted"
    assert replaced.keys() == now.keys()
    again = load_metric_updates(state.league, number, now, now)
    assert again == {}
    store.record_many(number, [Measured(40, [("fitness/best", 4.0)])])
    [(name, update)] = load_metric_updates(
        state.league, number, now, latest_points(state.league, [number])[number]
    ).items()
    assert update is not None
    assert (name, update.replace, update.series.steps.tolist()) == ("fitness/best", False, [40])


# Ratings


def test_the_same_results_are_fitted_once_for_all_tables(context: AppContext, monkeypatch: pytest.MonkeyPatch) -> None:
    state = context.league
    monkeypatch.setattr(ratings, "FITS", ratings.FitCache())
    tables = [state.standings(QUICK) for _ in range(3)]
    load_dashboard(state, QUICK)
    best_match(state.league, QUICK)
    recent(state.league, QUICK, 5)
    assert ratings.FITS.computed == 1
    anchored = state.standings(QUICK, anchor="Lazy")
    assert ratings.FITS.computed == 1, "an anchor only shifts the scale"
    assert next(row.rating for row in anchored.rows if row.name == "Lazy") == ratings.START
    assert [row.rating for row in tables[0].rows] == [row.rating for row in tables[2].rows]
    summary(state.league, 2)
    assert ratings.FITS.computed > 1, "one tournament has other results"
    count = ratings.FITS.computed
    state.use_concurrent = False
    state.start_tournament(game=QUICK, agents=BOTS[:3], options={"rounds": 1}, seed=9).wait()
    fresh = state.standings(QUICK)
    assert ratings.FITS.computed > count, "new results"
    assert fresh.matches > tables[0].matches


# Other pages


@pytest.mark.parametrize(("name", "most"), [("dashboard", 15), ("standings", 8), ("history", 8), ("agent", 16)])
def test_a_new_match_costs_a_few_queries(playing, qtbot: QtBot, name: str, most: int) -> None:  # type: ignore[no-untyped-def]
    context: AppContext = playing.context
    state = context.league
    agent = state.agents("pong")[0].id
    playing.show_page(name, agent if name == "agent" else None)
    page = playing.page(name)
    at_rest = partial(is_at_rest, context, page)
    qtbot.waitUntil(at_rest)
    with counted_queries(state.league) as queries:
        state.league.save_setting("a change", 1)  # nothing that was kept for the former version of the file is used
        state.notices.add(Change(ChangeKind.MATCHES, 2, 1))
        qtbot.waitUntil(lambda: bool(queries))
        qtbot.waitUntil(at_rest)
    assert len(queries) <= most, "\n".join(queries)


def test_training_does_not_refresh_the_dashboard(playing, qtbot: QtBot) -> None:  # type: ignore[no-untyped-def]
    context: AppContext = playing.context
    playing.show_page("dashboard")
    page = playing.page("dashboard")
    qtbot.waitUntil(partial(is_at_rest, context, page))
    received: list[object] = []
    context.changed.connect(received.append)
    for kind in (ChangeKind.TRAINING, ChangeKind.PROGRESS):
        context.league.notices.add(Change(kind, 1))
    qtbot.waitUntil(lambda: bool(received))
    assert not page._stale


# Tournaments


def test_the_plan_of_a_tournament_is_made_once_from_form_to_run(
    context: AppContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans: list[object] = []

    class Counted(Schedule):
        def __init__(self, *arguments: object) -> None:
            plans.append(self)
            super().__init__(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(league_module, "Schedule", Counted)
    state = context.league
    agents = tuple(agent.id for agent in state.agents("pong"))
    draft = TournamentDraft("pong", {"points": 1, "step_limit": 600}, agents)
    checked = DraftEstimator().check(state, draft)
    number = create_tournament(state, draft, True)
    assert len(plans) == 1
    job = state.latest_job
    assert job is not None
    assert job.run.store.plan is plans[0]
    assert (job.run.store.plan.length, job.run.store.tournament.settings.seed) == (checked.matches, checked.seed)
    job.wait()
    assert state.league.tournament(number).played == checked.matches
    other = create_tournament(state, draft, False)
    assert len(plans) == 2, "the run has taken the first one; a different seed gives a different plan"
    assert state.league.tournament(other).total == checked.matches


# The window


def test_one_timer_observes_all_jobs(playing, qtbot: QtBot) -> None:  # type: ignore[no-untyped-def]
    for name in ("dashboard", "standings", "history", "training", "match"):
        playing.show_page(name)
    for dock in playing.docks.values():
        dock.show()
    playing.show_page("dashboard")
    context: AppContext = playing.context
    qtbot.waitUntil(lambda: context.monitor.latest.load is not None)
    repeating = [timer for part in (playing, context) for timer in part.findChildren(QTimer) if timer.isActive()]
    assert [timer.parent() for timer in repeating if not timer.isSingleShot()] == [context.monitor]
    job = context.league.start_tournament(game=QUICK, agents=BOTS, options=LASTING, seed=5)
    dashboard, run = playing.page("dashboard"), playing.docks["run"]
    qtbot.waitUntil(lambda: bool(dashboard._job_rows) and job.name in dashboard._job_rows[0]._name.text())
    qtbot.waitUntil(lambda: run.run_card.name.text() == job.name and job.name in playing.status_bar.activity.text())
    run.pause_resume()
    qtbot.waitUntil(lambda: context.monitor.latest.paused and run.run_card.pause_button.text() == "Resume")
    run.pause_resume()
    qtbot.waitUntil(lambda: not context.monitor.latest.paused and run.run_card.pause_button.text() == "Pause")
    run.hide()
    qtbot.waitUntil(lambda: context.monitor.latest.load is None)


def test_the_load_is_measured_before_collectors_that_measure_too(
    context: AppContext, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Collectors ask workers for their status, which would make the measured interval a few microseconds long."""
    order: list[str] = []
    real, received = RunMonitor.sample, list[int]()

    def sample(monitor: RunMonitor, state: LeagueState | None, with_load: bool = True) -> RunSnapshot:
        order.append("load" if with_load else "jobs")
        return real(monitor, state, with_load)

    def collect(state: LeagueState) -> int:
        order.append("collect")
        return len(order)

    monkeypatch.setattr(RunMonitor, "sample", sample)
    context.monitor.collect(collect, received.append)
    context.monitor.with_load = True
    qtbot.waitUntil(lambda: len(received) > 1)
    before = len(received)
    context.monitor.poll()
    qtbot.waitUntil(lambda: "jobs" in order and len(received) > before)
    assert all(after == "collect" for query, after in pairwise(order[:-1]) if query == "load")
    assert all(after != "collect" for query, after in pairwise(order[:-1]) if query == "jobs")


def test_changes_of_many_threads_arrive_once_each(bare: AppContext, played: Path, qtbot: QtBot) -> None:
    state = LeagueState(played)
    bridge, counts = ChangeBridge(state), dict[int, int]()

    def receive(changes: Sequence[Change]) -> None:
        assert threading.current_thread() is threading.main_thread()
        for change in changes:
            counts[change.tournament] = counts.get(change.tournament, 0) + change.count

    def add(tournament: int) -> None:
        for number in range(300):
            state.notices.add(Change(ChangeKind.MATCHES, tournament, 1), now=number % 7 == 0)

    bridge.changed.connect(receive)
    threads = [threading.Thread(target=add, args=(tournament,)) for tournament in range(4)]
    for thread in threads:
        thread.start()
    qtbot.waitUntil(lambda: counts == dict.fromkeys(range(4), 300))
    for thread in threads:
        thread.join()
    bridge.close()
    state.close()
