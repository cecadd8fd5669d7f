"""The History page: matches read a page at a time, tournaments with their commands, failures with reasons."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from engine.league import failure_report, played_matches, standings
from engine.league.records import RunState
from engine.league.storage.result_columns import PlayedEntry
from engine.league.storage.tournaments import TournamentStore
from engine.play.match import Ending, EndingKind, MatchResult
from league_app.core.queries import matches
from league_app.core.queries.matches import MatchFilter
from league_app.core.state import LeagueState
from league_app.gui.context import AppContext
from league_app.gui.dialogs.entrants import EntrantsDialog
from league_app.gui.dialogs.messages import ConfirmDialog
from league_app.gui.history.page import HistoryPage
from league_app.gui.models.matches import MatchModel
from league_app.gui.toolbar import StatusBar
from tests.league_app.gui.conftest import BOTS, QUICK
from tests.waiting import until

HOSTILE = "<b>bold</b> \u05e9\u05dc\u05d5\u05dd " + "x" * 90
WROTE = "Fatal Python error: Segmentation fault | bot.py, line 41, in think"
REASON = f"the process ended with signal 11; it last printed: {WROTE}"


class SignalRecorder(QObject):
    """Records notifications and navigation requests."""

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self.messages: list[tuple[str, str, Any]] = []
        self.navigations: list[tuple[str, object]] = []
        context.notified.connect(self._on_notified)
        context.navigation_requested.connect(self._on_wanted)

    def _on_notified(self, text: str, tone: str, offer: object) -> None:
        self.messages.append((text, tone, offer))

    def _on_wanted(self, page: str, what: object) -> None:
        self.navigations.append((page, what))


class Answer(QObject):
    """Records the answers of a queue."""

    def __init__(self) -> None:
        super().__init__()
        self.values: list[object] = []

    def receive(self, value: object) -> None:
        self.values.append(value)


@pytest.fixture
def recorder(context: AppContext) -> SignalRecorder:
    return SignalRecorder(context)


@pytest.fixture
def page(context: AppContext, qtbot: QtBot) -> HistoryPage:
    page = HistoryPage(context)
    qtbot.addWidget(page)
    page.resize(730, 560)
    page.show()
    qtbot.waitUntil(lambda: not context.read_queue.waiting)
    return page


def settled(context: AppContext, qtbot: QtBot, page: HistoryPage) -> None:
    qtbot.waitUntil(lambda: not (context.read_queue.waiting or page.matches._typing_timer.isActive()))


def fail_some(context: AppContext, count: int = 6, seed: int = 77) -> int:
    """Add a tournament whose first matches ended by a crash of the player in seat 1."""
    state = context.league
    tournament = state.plan_tournament("Broken", game=QUICK, agents=BOTS, options={"rounds": 2}, seed=seed)
    book = TournamentStore(state.league, tournament.number)
    entries = []
    for planned, _ in zip(book.missing(), range(count), strict=False):
        players = tuple(player.id for player in planned.spec.players)
        ending = Ending(EndingKind.CRASH, (0,), REASON)
        entries.append(
            PlayedEntry(
                planned.place,
                planned.spec,
                MatchResult(planned.spec.id, players, (0.0, 1.0), (2, 1), 7, ending, ((), ()), b"", False),
            )
        )
    book.record(entries)
    book.settle(RunState.STOPPED)
    return tournament.number


def numbers(rows: list[Any]) -> list[int]:
    return [row[0] for row in rows]


# Light queries


def test_light_queries_agree_with_the_full_tables(context: AppContext) -> None:
    league = context.league.league
    fail_some(context)
    every = played_matches.history(league, limit=1000)
    assert numbers(matches.matches(league, QUICK, MatchFilter()).rows) == [
        played_matches.number_of(match) for match in every
    ]
    for query, arguments in (
        (MatchFilter(agent="Lazy"), {"agent": "Lazy"}),
        (MatchFilter(tournament=2), {"tournament": 2}),
        (MatchFilter(ending="failed"), {"failed": True}),
    ):
        found = matches.matches(league, QUICK, query)
        expected = [
            played_matches.number_of(match) for match in played_matches.history(league, limit=1000, **arguments)
        ]  # type: ignore[arg-type]
        assert numbers(found.rows) == expected
        assert found.total == len(expected)


def test_pages_follow_one_another_in_every_order(context: AppContext) -> None:
    league = context.league.league
    every = sorted(numbers(matches.matches(league, QUICK, MatchFilter()).rows))
    for sort in ("", "when", "players", "ending", "steps", "tournament", "match"):
        for descending in (False, True):
            query = MatchFilter(sort=sort, descending=descending)
            first = matches.matches(league, QUICK, query, limit=50)
            rest = matches.matches(league, QUICK, query, first.rows[-1], len(first.rows), limit=500)
            assert first.total == 120
            assert sorted(numbers([*first.rows, *rest.rows])) == every
    steps = [row[5] for row in matches.matches(league, QUICK, MatchFilter(sort="steps", descending=True)).rows]
    assert steps == sorted(steps, reverse=True)


def test_words_are_searched_in_names_reference_ending_and_tournament(context: AppContext) -> None:
    league = context.league.league
    number = fail_some(context)
    context.league.change_agent("Lazy", name=HOSTILE)

    def count(words: str) -> int:
        return matches.matches(league, QUICK, MatchFilter(words=words)).total

    assert count("<B>BOLD") == matches.matches(league, QUICK, MatchFilter(agent="Lazy")).total > 0
    assert count(f"{number}.3") == 1
    assert count("broken") == count("crash") == 6
    assert count("crash <b>bold") == matches.matches(league, QUICK, MatchFilter(agent="Lazy", ending="failed")).total
    assert count("nothing like that") == 0
    assert count("%") == count("'") == 0


def test_an_upset_is_won_by_the_agent_rated_much_lower(context: AppContext) -> None:
    league = context.league.league
    ratings = {row.agent: row.rating for row in standings.standings(league, QUICK).rows}
    expected = set()
    for match in played_matches.history(league, limit=1000):
        ranks, players = match.result.ranks, match.result.players
        if ranks[0] != ranks[1]:
            winner, loser = players if ranks[0] < ranks[1] else players[::-1]
            if ratings[winner] <= ratings[loser] - matches.UPSET:
                expected.add(played_matches.number_of(match))
    found = matches.matches(league, QUICK, MatchFilter(ending="upset"))
    assert expected
    assert set(numbers(found.rows)) == expected


def test_failures_add_up_over_tournaments_with_the_latest_reason(context: AppContext) -> None:
    league = context.league.league
    number = fail_some(context)
    found = {(row.agent, row.ending): row for row in matches.failures(league, QUICK)}
    for fault in failure_report.failures(league, number):
        assert found[fault.agent, fault.ending].times == fault.times
        assert matches.reference(found[fault.agent, fault.ending].number) == fault.match
        failure = found[fault.agent, fault.ending]
        assert (failure.reason, failure.output) == ("the process ended with signal 11", WROTE)
    assert len(found) == len(failure_report.failures(league, number)) > 0


# The matches


def test_the_model_holds_pages_and_requests_more(context: AppContext, qtbot: QtBot) -> None:
    league = context.league.league
    model = MatchModel()
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    model.add_result(matches.matches(league, QUICK, MatchFilter(), limit=40))
    assert model.rowCount() == 40
    with qtbot.waitSignal(model.more_needed):
        model.fetchMore()
    assert not model.canFetchMore()  # it is being read
    model.add_result(matches.matches(league, QUICK, MatchFilter(), model.rows[-1], 40, limit=500))
    assert numbers(model.rows) == numbers(matches.matches(league, QUICK, MatchFilter()).rows)
    assert not model.canFetchMore()
    model.add_result(matches.matches(league, QUICK, MatchFilter(agent="Lazy")))
    assert model.rowCount() == 40


def test_new_matches_come_in_above_without_a_reset(context: AppContext, qtbot: QtBot) -> None:
    model = MatchModel()
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    model.add_result(matches.matches(context.league.league, QUICK, MatchFilter()))
    fail_some(context)
    with qtbot.assertNotEmitted(model.modelReset), qtbot.waitSignal(model.rowsInserted):
        model.add_result(matches.matches(context.league.league, QUICK, MatchFilter()))
    assert model.rowCount() == 126
    assert matches.reference(model.rows[0][0]) == "3.6"


def test_a_row_shows_the_winner_in_text_and_in_bold(context: AppContext, page: HistoryPage) -> None:
    model = page.matches.model
    for row in model.rows:
        match = played_matches.match(context.league.league, matches.reference(row[0]))
        cell = model.players(row)
        best = [rank == 1 and len(set(match.result.ranks)) > 1 for rank in match.result.ranks]
        assert [player.won for player in cell.seats] == best
        assert ("won)" in cell.text) == any(best)


def test_filters_and_headers_query_the_database(context: AppContext, page: HistoryPage, qtbot: QtBot) -> None:
    view = page.matches
    assert len(view.model.rows) == 120
    view.table.sortByColumn(4, Qt.SortOrder.DescendingOrder)
    settled(context, qtbot, page)
    steps = [row[5] for row in view.model.rows]
    assert steps == sorted(steps, reverse=True)
    view.field.setText("lazy tracker")
    settled(context, qtbot, page)
    assert len(view.model.rows) == 8
    assert view.count.text() == "8 matches"
    view.field.setText("unknown name")
    settled(context, qtbot, page)
    assert view.stack.currentWidget() is view.empty
    view.empty.button.click()
    settled(context, qtbot, page)
    assert len(view.model.rows) == 120


def test_another_page_sets_the_filters(context: AppContext, page: HistoryPage, qtbot: QtBot) -> None:
    page.show_item({"agent": "Lazy", "opponent": "Still", "tournament": 2})
    settled(context, qtbot, page)
    assert (page.matches.agent.chosen, page.matches.tournament.chosen) == ("Lazy", 2)
    assert len(page.matches.model.rows) == 4
    page.show_item({"tab": "tournaments"})
    assert page.tabs.currentWidget() is page.tournaments
    page.show_item({"failed": True})
    settled(context, qtbot, page)
    assert page.tabs.currentWidget() is page.matches
    assert page.matches.stack.currentWidget() is page.matches.empty


def test_scrolling_to_the_end_reads_the_next_page(context: AppContext, page: HistoryPage, qtbot: QtBot) -> None:
    view = page.matches
    view.model.add_result(matches.matches(context.league.league, QUICK, MatchFilter(), limit=40))
    view.table.verticalScrollBar().setValue(view.table.verticalScrollBar().maximum())
    qtbot.waitUntil(lambda: len(view.model.rows) == 120)


def test_enter_opens_a_match_and_its_reference_can_be_copied(
    context: AppContext, page: HistoryPage, recorder: SignalRecorder, qtbot: QtBot
) -> None:
    view = page.matches
    assert not view.watch_button.isEnabled()
    view.table.selectRow(1)
    assert view.watch_button.isEnabled()
    qtbot.keyClick(view.table, Qt.Key.Key_Return)
    assert recorder.navigations == [("match", "2.59")]
    view.copy_button.click()
    assert QGuiApplication.clipboard().text() == "2.59"


def test_a_match_can_be_played_again_and_saved(
    context: AppContext, page: HistoryPage, recorder: SignalRecorder, qtbot: QtBot, tmp_path: Path
) -> None:
    from engine.play import replay

    page.matches.table.selectRow(0)
    page.matches.reproduce_button.click()
    qtbot.waitUntil(lambda: not context.reproducer.match)
    assert recorder.messages[-1][:2] == ("2.60 was reproduced exactly", "good")
    page.matches.save()
    dialog = page.matches._dialog
    assert (dialog.nameFilters(), dialog.defaultSuffix()) == (["Replays (*.replay)"], "replay")
    page.matches._set_suffix("CSA, for other programs (*.csa)")
    assert dialog.selectedFiles()[0].endswith("2.60.csa")
    dialog.reject()
    page.matches.save_to(str(tmp_path / "one.replay"))
    qtbot.waitUntil(lambda: not context.slow_queue.waiting)
    assert replay.load(tmp_path / "one.replay")[0].result == played_matches.match(context.league.league, "2.60").result


def play_until_cancelled(state: LeagueState, match: str, cancelled: Callable[[], bool]) -> tuple[str, str]:
    """Stands in for a match that takes minutes."""
    until(cancelled)
    return "cancelled", "info"


def test_a_slow_match_that_is_played_again_can_be_cancelled(
    context: AppContext, page: HistoryPage, recorder: SignalRecorder, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("league_app.gui.reproducer.reproduce", play_until_cancelled)
    view, bar = page.matches, StatusBar(context)
    qtbot.addWidget(bar)
    view.table.selectRow(0)
    view.reproduce_button.click()
    assert view.reproduce_button.text() == "Cancel"
    assert (view.reproducing.text(), bar.activity.text()) == ("Playing 2.60 again ...", "Playing 2.60 again")
    view.table.clearSelection()
    assert view.reproduce_button.isEnabled(), "it cancels, whatever is selected"
    view.reproduce_button.click()
    assert (view.reproduce_button.text(), view.reproducing.text(), bar.activity.text()) == ("Reproduce", "", "Idle")
    assert not view.reproduce_button.isEnabled()
    monkeypatch.undo()
    view.table.selectRow(1)
    view.reproduce_button.click()
    qtbot.waitUntil(lambda: bool(recorder.messages))
    assert [message[0] for message in recorder.messages] == ["2.59 was reproduced exactly"]


def test_leagues_are_opened_and_closed_while_a_match_is_played_again(
    context: AppContext, page: HistoryPage, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("league_app.gui.reproducer.reproduce", play_until_cancelled)
    page.matches.table.selectRow(0)
    page.matches.reproduce_button.click()
    context.slow_queue.run(lambda: "opened", (answer := Answer()).receive)
    qtbot.waitUntil(lambda: answer.values == ["opened"])
    assert context.reproducer.match == "2.60", "it is still being played"
    state = context.release()
    assert state is not None
    assert not context.reproducer.match
    state.close()
    context.reproducer.close()  # returns, because the match was ended with its league


# Tournaments


def test_tournaments_are_listed_with_their_commands(
    context: AppContext, page: HistoryPage, recorder: SignalRecorder, qtbot: QtBot
) -> None:
    number = fail_some(context)
    view = page.tournaments
    QAbstractItemModelTester(view.model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    page.show_item({"tab": "tournaments"})
    qtbot.waitUntil(lambda: len(view.model.rows) == 3)
    view.select(1)
    assert not view.resume_button.isEnabled()
    assert not view.cancel_button.isEnabled()
    view.select(number)
    assert view.resume_button.isEnabled()
    qtbot.keyClick(view.table, Qt.Key.Key_Return)
    assert recorder.navigations[-1] == ("standings", number)
    view.resume_button.click()
    qtbot.waitUntil(lambda: context.league.league.tournament(number).state is RunState.FINISHED)
    qtbot.waitUntil(lambda: view.current is not None and view.current.state is RunState.FINISHED)
    assert view.current is not None
    assert view.current.share == 1.0


def test_cancelling_a_tournament_asks_for_confirmation(context: AppContext, page: HistoryPage, qtbot: QtBot) -> None:
    number = fail_some(context)
    view = page.tournaments
    page.show_item({"tab": "tournaments"})
    qtbot.waitUntil(lambda: len(view.model.rows) == 3)
    view.select(number)
    view.cancel_button.click()
    [confirmation] = page.window().findChildren(ConfirmDialog)
    assert context.league.league.tournament(number).state is RunState.STOPPED
    confirmation.yes.click()
    qtbot.waitUntil(lambda: context.league.league.tournament(number).state is RunState.CANCELLED)


def test_entrants_can_be_changed_until_a_tournament_ends(
    context: AppContext, recorder: SignalRecorder, qtbot: QtBot
) -> None:
    number = fail_some(context)
    dialog = EntrantsDialog(context, number)
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitUntil(lambda: dialog.list.list.count() == 8)
    assert not dialog.save_button.isEnabled()
    for place in range(8):
        item = dialog.list.list.item(place)
        if item.text().startswith("Still"):
            item.setCheckState(Qt.CheckState.Unchecked)
        if item.text().startswith("Dice"):
            item.setCheckState(Qt.CheckState.Checked)
    dialog.save_button.click()
    qtbot.waitUntil(lambda: not context.command_queue.waiting)
    entrants = context.league.league.tournament(number).entrants
    assert "Dice" in entrants
    assert "Still" not in entrants


# Failures


def test_a_failure_shows_its_reason_and_the_last_output(
    context: AppContext, page: HistoryPage, recorder: SignalRecorder, qtbot: QtBot
) -> None:
    fail_some(context)
    context.league.change_agent("Tracker", name=HOSTILE)
    view = page.failures
    QAbstractItemModelTester(view.model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    page.show_item({"tab": "failures", "agent": "Tracker"})
    qtbot.waitUntil(lambda: view.current is not None and view.current.agent == "Tracker")
    assert HOSTILE in view.title.text()
    assert "bot.py, line 41, in think" in view.details.toPlainText()
    qtbot.waitUntil(lambda: "Failures (" in page.tabs.tabText(2))
    view.watch_button.click()
    assert view.current is not None
    assert recorder.navigations[-1] == ("match", matches.reference(view.current.number))
    view.copy_button.click()
    assert "Segmentation fault" in QGuiApplication.clipboard().text()


def test_an_empty_list_of_failures_says_so(page: HistoryPage, context: AppContext, qtbot: QtBot) -> None:
    page.show_item({"tab": "failures"})
    qtbot.waitUntil(lambda: not context.read_queue.waiting)
    assert page.failures.stack.currentIndex() == 1


def test_without_a_league_there_is_one_button(bare: AppContext, qtbot: QtBot) -> None:
    page, recorder = HistoryPage(bare), SignalRecorder(bare)
    qtbot.addWidget(page)
    page.show()
    assert page.stack.currentWidget() is page.empty
    page.empty.button.click()
    assert recorder.navigations == [("welcome", None)]
