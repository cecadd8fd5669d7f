"""History: matches read a page at a time, tournaments and what can be done with them, failures with their reasons."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from engine.league import standings as tables
from engine.league.storage.tournaments import Book
from engine.league.entries import Entry
from engine.league.records import State
from engine.play.match import Ending, EndingKind, MatchResult
from league_app.core.queries import matches as looks
from league_app.gui.context import Desk
from league_app.core.queries.matches import Wanted
from league_app.gui.models.matches import MatchModel
from league_app.gui.history.page import HistoryPage
from league_app.gui.dialogs.entrants import EntrantsSheet
from league_app.gui.dialogs.messages import Question
from tests.gui.conftest import BOTS, QUICK

HOSTILE = "<b>bold</b> \u05e9\u05dc\u05d5\u05dd " + "x" * 90
WROTE = "Fatal Python error: Segmentation fault | bot.py, line 41, in think"
REASON = f"the process ended with signal 11; it last printed: {WROTE}"


class Ears(QObject):
    """What the desk says and wants."""

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self.said: list[tuple[str, str, Any]] = []
        self.wanted: list[tuple[str, object]] = []
        desk.said.connect(self._say)
        desk.wanted.connect(self._want)

    def _say(self, text: str, tone: str, offer: object) -> None:
        self.said.append((text, tone, offer))

    def _want(self, page: str, what: object) -> None:
        self.wanted.append((page, what))


@pytest.fixture
def ears(desk: Desk) -> Ears:
    return Ears(desk)


@pytest.fixture
def page(desk: Desk, qtbot: QtBot) -> HistoryPage:
    made = HistoryPage(desk)
    qtbot.addWidget(made)
    made.resize(730, 560)
    made.show()
    qtbot.waitUntil(lambda: not desk.reads.waiting)
    return made


def settled(desk: Desk, qtbot: QtBot, page: HistoryPage) -> None:
    qtbot.waitUntil(lambda: not (desk.reads.waiting or page.matches._soon.isActive()))


def fail_some(desk: Desk, count: int = 6, seed: int = 77) -> int:
    """One more tournament, of which the first matches ended by a crash of whoever sat first."""
    state = desk.league
    made = state.plan_tournament("Broken", game=QUICK, agents=BOTS, options={"rounds": 2}, seed=seed)
    book = Book(state.league, made.number)
    entries = []
    for planned, _ in zip(book.missing(), range(count), strict=False):
        players = tuple(one.id for one in planned.spec.players)
        ending = Ending(EndingKind.CRASH, (0,), REASON)
        entries.append(
            Entry(
                planned.place,
                planned.spec,
                MatchResult(planned.spec.id, players, (0.0, 1.0), (2, 1), 7, ending, ((), ()), b"", False),
            )
        )
    book.record(entries)
    book.settle(State.STOPPED)
    return made.number


def numbers(rows: list[Any]) -> list[int]:
    return [row[0] for row in rows]


# Light queries


def test_what_is_read_lightly_is_what_the_tables_say(desk: Desk) -> None:
    league = desk.league.league
    fail_some(desk)
    every = tables.history(league, limit=1000)
    assert numbers(looks.matches(league, QUICK, Wanted()).rows) == [tables.number_of(one) for one in every]
    for wanted, asked in (
        (Wanted(agent="Lazy"), {"agent": "Lazy"}),
        (Wanted(tournament=2), {"tournament": 2}),
        (Wanted(ending="failed"), {"failed": True}),
    ):
        found = looks.matches(league, QUICK, wanted)
        expected = [tables.number_of(one) for one in tables.history(league, limit=1000, **asked)]  # type: ignore[arg-type]
        assert numbers(found.rows) == expected
        assert found.total == len(expected)


def test_pages_follow_one_another_in_every_order(desk: Desk) -> None:
    league = desk.league.league
    every = sorted(numbers(looks.matches(league, QUICK, Wanted()).rows))
    for sort in ("", "when", "players", "ending", "steps", "tournament", "match"):
        for descending in (False, True):
            wanted = Wanted(sort=sort, descending=descending)
            first = looks.matches(league, QUICK, wanted, limit=50)
            rest = looks.matches(league, QUICK, wanted, first.rows[-1], len(first.rows), limit=500)
            assert first.total == 120
            assert sorted(numbers([*first.rows, *rest.rows])) == every
    steps = [row[5] for row in looks.matches(league, QUICK, Wanted(sort="steps", descending=True)).rows]
    assert steps == sorted(steps, reverse=True)


def test_words_are_looked_for_in_names_reference_ending_and_tournament(desk: Desk) -> None:
    league = desk.league.league
    number = fail_some(desk)
    desk.league.change_agent("Lazy", name=HOSTILE)

    def count(words: str) -> int:
        return looks.matches(league, QUICK, Wanted(words=words)).total

    assert count("<B>BOLD") == looks.matches(league, QUICK, Wanted(agent="Lazy")).total > 0
    assert count(f"{number}.3") == 1
    assert count("broken") == count("crash") == 6
    assert count("crash <b>bold") == looks.matches(league, QUICK, Wanted(agent="Lazy", ending="failed")).total
    assert count("nothing like that") == 0
    assert count("%") == count("'") == 0


def test_an_upset_is_won_by_the_one_who_is_rated_much_lower(desk: Desk) -> None:
    league = desk.league.league
    ratings = {row.agent: row.rating for row in tables.standings(league, QUICK).rows}
    expected = set()
    for one in tables.history(league, limit=1000):
        ranks, players = one.result.ranks, one.result.players
        if ranks[0] != ranks[1]:
            winner, loser = players if ranks[0] < ranks[1] else players[::-1]
            if ratings[winner] <= ratings[loser] - looks.UPSET:
                expected.add(tables.number_of(one))
    found = looks.matches(league, QUICK, Wanted(ending="upset"))
    assert expected
    assert set(numbers(found.rows)) == expected


def test_failures_add_up_over_tournaments_with_the_latest_reason(desk: Desk) -> None:
    league = desk.league.league
    number = fail_some(desk)
    told = {(one.agent, one.ending): one for one in looks.failures(league, QUICK)}
    for one in tables.failures(league, number):
        assert told[one.agent, one.ending].times == one.times
        assert looks.reference(told[one.agent, one.ending].number) == one.match
        assert told[one.agent, one.ending].told == ("the process ended with signal 11", WROTE)
    assert len(told) == len(tables.failures(league, number)) > 0


# The matches


def test_the_model_holds_pages_and_asks_for_more(desk: Desk, qtbot: QtBot) -> None:
    league = desk.league.league
    model = MatchModel()
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    model.take(looks.matches(league, QUICK, Wanted(), limit=40))
    assert model.rowCount() == 40
    with qtbot.waitSignal(model.short):
        model.fetchMore()
    assert not model.canFetchMore()  # it is being read
    model.take(looks.matches(league, QUICK, Wanted(), model.rows[-1], 40, limit=500))
    assert numbers(model.rows) == numbers(looks.matches(league, QUICK, Wanted()).rows)
    assert not model.canFetchMore()
    model.take(looks.matches(league, QUICK, Wanted(agent="Lazy")))
    assert model.rowCount() == 40


def test_new_matches_come_in_above_without_a_reset(desk: Desk, qtbot: QtBot) -> None:
    model = MatchModel()
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    model.take(looks.matches(desk.league.league, QUICK, Wanted()))
    fail_some(desk)
    with qtbot.assertNotEmitted(model.modelReset), qtbot.waitSignal(model.rowsInserted):
        model.take(looks.matches(desk.league.league, QUICK, Wanted()))
    assert model.rowCount() == 126
    assert looks.reference(model.rows[0][0]) == "3.6"


def test_a_row_tells_who_won_in_words_and_in_bold(desk: Desk, page: HistoryPage) -> None:
    model = page.matches.model
    for row in model.rows:
        match = tables.match(desk.league.league, looks.reference(row[0]))
        cell = model.players(row)
        best = [rank == 1 and len(set(match.result.ranks)) > 1 for rank in match.result.ranks]
        assert [one.won for one in cell.seats] == best
        assert ("won)" in cell.text) == any(best)


def test_filters_and_headers_are_answered_by_the_file(desk: Desk, page: HistoryPage, qtbot: QtBot) -> None:
    view = page.matches
    assert len(view.model.rows) == 120
    view.table.sortByColumn(4, Qt.SortOrder.DescendingOrder)
    settled(desk, qtbot, page)
    steps = [row[5] for row in view.model.rows]
    assert steps == sorted(steps, reverse=True)
    view.field.setText("lazy tracker")
    settled(desk, qtbot, page)
    assert len(view.model.rows) == 8
    assert view.count.text() == "8 matches"
    view.field.setText("nobody at all")
    settled(desk, qtbot, page)
    assert view.stack.currentWidget() is view.empty
    view.empty.button.click()
    settled(desk, qtbot, page)
    assert len(view.model.rows) == 120


def test_somebody_elses_question_sets_the_filters(desk: Desk, page: HistoryPage, qtbot: QtBot) -> None:
    page.show_what({"agent": "Lazy", "opponent": "Still", "tournament": 2})
    settled(desk, qtbot, page)
    assert (page.matches.agent.chosen, page.matches.tournament.chosen) == ("Lazy", 2)
    assert len(page.matches.model.rows) == 4
    page.show_what({"tab": "tournaments"})
    assert page.tabs.currentWidget() is page.tournaments
    page.show_what({"failed": True})
    settled(desk, qtbot, page)
    assert page.tabs.currentWidget() is page.matches
    assert page.matches.stack.currentWidget() is page.matches.empty


def test_scrolling_to_the_end_reads_on(desk: Desk, page: HistoryPage, qtbot: QtBot) -> None:
    view = page.matches
    view.model.take(looks.matches(desk.league.league, QUICK, Wanted(), limit=40))
    view.table.verticalScrollBar().setValue(view.table.verticalScrollBar().maximum())
    qtbot.waitUntil(lambda: len(view.model.rows) == 120)


def test_enter_opens_a_match_and_its_reference_can_be_copied(
    desk: Desk, page: HistoryPage, ears: Ears, qtbot: QtBot
) -> None:
    view = page.matches
    assert not view.watch_button.isEnabled()
    view.table.selectRow(1)
    assert view.watch_button.isEnabled()
    qtbot.keyClick(view.table, Qt.Key.Key_Return)
    assert ears.wanted == [("match", "2.59")]
    view.copy_button.click()
    assert QGuiApplication.clipboard().text() == "2.59"


def test_a_match_can_be_played_again_and_saved(
    desk: Desk, page: HistoryPage, ears: Ears, qtbot: QtBot, tmp_path: Path
) -> None:
    from engine.play import replay

    page.matches.table.selectRow(0)
    page.matches.again_button.click()
    qtbot.waitUntil(lambda: not desk.work.waiting, timeout=30_000)
    assert ears.said[-1][:2] == ("2.60 came out the same, to the bit", "good")
    page.matches.save()
    dialog = page.matches._dialog
    assert (dialog.nameFilters(), dialog.defaultSuffix()) == (["Replays (*.replay)"], "replay")
    page.matches._name_it("CSA, for other programs (*.csa)")
    assert dialog.selectedFiles()[0].endswith("2.60.csa")
    dialog.reject()
    page.matches.save_to(str(tmp_path / "one.replay"))
    qtbot.waitUntil(lambda: not desk.work.waiting)
    assert replay.load(tmp_path / "one.replay")[0].result == tables.match(desk.league.league, "2.60").result


# Tournaments


def test_tournaments_are_listed_with_what_can_be_done(desk: Desk, page: HistoryPage, ears: Ears, qtbot: QtBot) -> None:
    number = fail_some(desk)
    view = page.tournaments
    QAbstractItemModelTester(view.model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    page.show_what({"tab": "tournaments"})
    qtbot.waitUntil(lambda: len(view.model.rows) == 3)
    view.select(1)
    assert not view.resume_button.isEnabled()
    assert not view.cancel_button.isEnabled()
    view.select(number)
    assert view.resume_button.isEnabled()
    qtbot.keyClick(view.table, Qt.Key.Key_Return)
    assert ears.wanted[-1] == ("standings", number)
    view.resume_button.click()
    qtbot.waitUntil(lambda: desk.league.league.tournament(number).state is State.FINISHED, timeout=30_000)
    qtbot.waitUntil(lambda: view.current is not None and view.current.state is State.FINISHED)
    assert view.current is not None
    assert view.current.share == 1.0


def test_cancelling_for_good_is_asked_first(desk: Desk, page: HistoryPage, qtbot: QtBot) -> None:
    number = fail_some(desk)
    view = page.tournaments
    page.show_what({"tab": "tournaments"})
    qtbot.waitUntil(lambda: len(view.model.rows) == 3)
    view.select(number)
    view.cancel_button.click()
    [asked] = page.window().findChildren(Question)
    assert desk.league.league.tournament(number).state is State.STOPPED
    asked.yes.click()
    qtbot.waitUntil(lambda: desk.league.league.tournament(number).state is State.CANCELLED)


def test_who_takes_part_can_be_changed_until_it_is_over(desk: Desk, ears: Ears, qtbot: QtBot) -> None:
    number = fail_some(desk)
    sheet = EntrantsSheet(desk, number)
    qtbot.addWidget(sheet)
    sheet.show()
    qtbot.waitUntil(lambda: sheet.list.list.count() == 8)
    assert not sheet.save_button.isEnabled()
    for place in range(8):
        item = sheet.list.list.item(place)
        if item.text().startswith("Still"):
            item.setCheckState(Qt.CheckState.Unchecked)
        if item.text().startswith("Dice"):
            item.setCheckState(Qt.CheckState.Checked)
    sheet.save_button.click()
    qtbot.waitUntil(lambda: not desk.orders.waiting)
    entrants = desk.league.league.tournament(number).entrants
    assert "Dice" in entrants
    assert "Still" not in entrants


# Failures


def test_a_failure_tells_its_reason_and_what_the_process_wrote(
    desk: Desk, page: HistoryPage, ears: Ears, qtbot: QtBot
) -> None:
    fail_some(desk)
    desk.league.change_agent("Tracker", name=HOSTILE)
    view = page.failures
    QAbstractItemModelTester(view.model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    page.show_what({"tab": "failures", "agent": "Tracker"})
    qtbot.waitUntil(lambda: view.current is not None and view.current.agent == "Tracker")
    assert HOSTILE in view.title.text()
    assert "bot.py, line 41, in think" in view.story.toPlainText()
    qtbot.waitUntil(lambda: "Failures (" in page.tabs.tabText(2))
    view.watch_button.click()
    assert view.current is not None
    assert ears.wanted[-1] == ("match", looks.reference(view.current.number))
    view.copy_button.click()
    assert "Segmentation fault" in QGuiApplication.clipboard().text()


def test_with_no_failure_the_page_says_so(page: HistoryPage, desk: Desk, qtbot: QtBot) -> None:
    page.show_what({"tab": "failures"})
    qtbot.waitUntil(lambda: not desk.reads.waiting)
    assert page.failures.stack.currentIndex() == 1


def test_without_a_league_there_is_one_button(bare: Desk, qtbot: QtBot) -> None:
    page, ears = HistoryPage(bare), Ears(bare)
    qtbot.addWidget(page)
    page.show()
    assert page.stack.currentWidget() is page.empty
    page.empty.button.click()
    assert ears.wanted == [("welcome", None)]
