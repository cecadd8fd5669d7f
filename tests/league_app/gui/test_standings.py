"""The Standings page: table, crosstable, heat map, and how they follow a tournament."""

from __future__ import annotations

import csv
import dataclasses
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from pytestqt.qtbot import QtBot

from engine.errors import BadLeague
from engine.league.standings import Tally
from engine.registry import new_game
from league_app.gui import theme
from league_app.cli.main import main
from league_app.gui.context import Desk
from league_app.gui.models import standings as model
from league_app.gui.models.standings import Line, Movements, forfeit_words, look, number, rating_words
from league_app.gui.pages import standings
from league_app.gui.pages.standings import ALL, StandingsPage
from league_app.core.state import LeagueState
from league_app.gui.gc_pause import no_sweeping
from league_app.gui.widgets.table.delegates import NOTHING
from league_app.gui.widgets.table.row_animation import MOST, STILL, motion
from tests.gui.conftest import BOTS, QUICK

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support")  # no screen, so no window manager either
NASTY = "<b>\u05e9\u05dc\u05d5\u05dd</b> \U0001f3d3 " + "W" * 100


def shown(desk: Desk, qtbot: QtBot, width: int = 730, height: int = 560) -> StandingsPage:
    page = StandingsPage(desk)
    qtbot.addWidget(page)
    page.resize(width, height)
    page.show()
    if desk.state is not None and desk.pool is not None:
        qtbot.waitUntil(lambda: page.view is not None)
    return page


def wanted(desk: Desk) -> list[tuple[str, object]]:
    heard: list[tuple[str, object]] = []
    desk.wanted.connect(lambda page, what: heard.append((page, what)))
    return heard


def texts(page: StandingsPage, title: str) -> list[str]:
    [number] = [n for n, one in enumerate(page.model.columns) if one.title == title]
    return [page.model.data(page.model.index(row, number)) for row in range(page.model.rowCount())]


# The table


def test_the_table_says_what_the_league_says(desk: Desk, qtbot: QtBot) -> None:
    page = shown(desk, qtbot)
    told = desk.league.standings(QUICK)
    assert texts(page, "Agent") == [row.name for row in told.rows]
    assert texts(page, "Rating")[0] == f"{told.rows[0].rating:.0f} ±{told.rows[0].error:.0f}"
    assert texts(page, "#") == ["1", "2", "3", "4", "5", "6", NOTHING, NOTHING], "who has not played has no place"
    assert texts(page, "Games") == ["40"] * 6 + ["0"] * 2
    assert texts(page, "Rating")[-1] == NOTHING
    best = told.rows[0].total
    assert texts(page, "W / D / L")[0] == f"{best.wins} / {best.draws} / {best.losses}"
    assert texts(page, "Points")[0] == f"{best.scored:g} : {best.conceded:g}"
    assert page.facts.text().startswith("120 matches. Elo by Bradley-Terry")
    assert page.notes.isVisible() == bool(told.notes)


def test_one_tournament_can_be_looked_at_by_itself(desk: Desk, qtbot: QtBot) -> None:
    page = shown(desk, qtbot)
    assert [page.scope.itemText(n)[:2] for n in range(3)] == [ALL[:2], "2.", "1."]
    page.scope.setCurrentIndex(2)
    page.scope.activated.emit(2)
    qtbot.waitUntil(lambda: page.view is not None and page.view.scope == 1)
    assert page.facts.text().startswith("60 matches")
    assert texts(page, "Games") == ["20"] * 6, "only who took part"


def test_a_page_can_be_told_which_tournament_to_show(desk: Desk, qtbot: QtBot) -> None:
    page = shown(desk, qtbot)
    page.show_what(2)
    qtbot.waitUntil(lambda: page.view is not None and page.view.scope == 2)
    assert page.scope.currentData() == 2
    page.show_what(None)
    qtbot.waitUntil(lambda: page.view is not None and page.view.scope == 0)
    assert page.scope.currentText() == ALL


def test_a_tournament_of_another_game_brings_that_game_along(desk: Desk, qtbot: QtBot) -> None:
    page = shown(desk, qtbot)
    other = new_game("pong", points=1, step_limit=500).spec
    made = desk.league.plan_tournament(game=other, agents=BOTS[:2], seed=5)
    page.show_what(made.number)
    qtbot.waitUntil(lambda: page.view is not None and page.view.scope == made.number)
    assert desk.pool == other
    assert page.empty.isVisible(), "nothing of it has been played"
    assert page.scope.isVisible(), "but others can be chosen"
    desk.look_at(QUICK)
    qtbot.waitUntil(lambda: page.view is not None and len(page.view.scopes) == 2)
    assert page.scope.currentText() == ALL, "that tournament is none of this game"


def test_somebody_can_be_put_at_1200(desk: Desk, qtbot: QtBot) -> None:
    page = shown(desk, qtbot)
    place = page.anchor.findText("Lazy at 1200")
    assert place > 0
    page.anchor.setCurrentIndex(place)
    page.anchor.activated.emit(place)
    qtbot.waitUntil(lambda: page.view is not None and page.view.anchor is not None)
    [lazy] = [line for line in page.model.rows if line.name == "Lazy"]
    assert (lazy.rating, lazy.error) == (1200, 0)
    assert "Lazy at 1200" in page.facts.text()


def test_enter_opens_an_agent(desk: Desk, qtbot: QtBot) -> None:
    page, heard = shown(desk, qtbot), wanted(desk)
    page.table.selectRow(1)
    qtbot.keyClick(page.table, Qt.Key.Key_Return)
    assert heard == [("agent", page.model.rows[1].agent)]


def test_the_file_holds_the_rows_that_the_command_line_writes(desk: Desk, qtbot: QtBot, tmp_path: Path) -> None:
    page = shown(desk, qtbot)
    desk.league.league.change_agent(page.model.rows[0].agent, name="=1+1")
    ours, theirs, said = tmp_path / "ours.csv", tmp_path / "theirs.csv", []
    desk.said.connect(lambda text, tone, offer: said.append((text, tone)))
    page.export_to(str(ours))
    qtbot.waitUntil(lambda: bool(said))
    desk.league.league.backup(tmp_path / "copy.league")
    options = ("export", "csv", str(tmp_path / "copy.league"), "--what", "standings", "--to", str(theirs))
    main(options)
    assert ours.read_text() == theirs.read_text()
    assert next(csv.DictReader(ours.read_text().splitlines()))["agent"] == "'=1+1"


def test_a_file_that_cannot_be_written_is_told(desk: Desk, qtbot: QtBot, tmp_path: Path) -> None:
    page = shown(desk, qtbot)
    desk.failed.disconnect()
    with qtbot.waitSignal(desk.failed) as told:
        page.export_to(str(tmp_path / "no such folder" / "x.csv"))
    assert "No such file" in str(told.args[0])


# Nothing to show


def test_with_nothing_played_one_button_leads_on(bare: Desk, qtbot: QtBot, tmp_path: Path) -> None:
    state = LeagueState.new(tmp_path / "new.league")
    state.add_samples("pong", BOTS)
    bare.adopt(state)
    page, heard = shown(bare, qtbot), wanted(bare)
    assert page.empty.isVisible()
    assert page.empty.sentence.text() == "No matches yet. A tournament gives everybody a rating."
    page.empty.button.click()
    assert heard == [("tournament-sheet", None)]


def test_a_league_for_looking_only_says_why_nothing_can_be_played(bare: Desk, qtbot: QtBot, tmp_path: Path) -> None:
    with LeagueState.new(tmp_path / "new.league") as state:
        state.add_samples("pong", BOTS)
    bare.adopt(LeagueState(tmp_path / "new.league", read_only=True))
    page = shown(bare, qtbot)
    assert not page.empty.button.isEnabled()
    assert "for looking only" in page.empty.button.toolTip()


def test_without_a_league_there_is_a_page_all_the_same(bare: Desk, qtbot: QtBot) -> None:
    page = shown(bare, qtbot)
    assert page.empty.isVisible()
    page.show_what(3)
    assert page.view is None


def test_another_league_is_not_mixed_up_with_the_one_before(desk: Desk, qtbot: QtBot) -> None:
    page = shown(desk, qtbot)
    page.show_what(2)
    qtbot.waitUntil(lambda: page.view is not None and page.view.scope == 2)
    before = desk.release()
    assert before is not None
    before.close()
    assert page.empty.isVisible()
    desk.adopt(LeagueState(before.league.path))
    qtbot.waitUntil(lambda: page.view is not None)
    assert page.view is not None
    assert page.view.scope == 0, "its tournaments only have the same numbers"


def test_a_look_that_fails_is_told_and_the_next_one_is_taken(
    desk: Desk, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = shown(desk, qtbot)
    desk.failed.disconnect()

    def broken(*_: object) -> None:
        raise BadLeague("it is damaged")

    with monkeypatch.context() as patched, qtbot.waitSignal(desk.failed) as told:
        patched.setattr(standings, "look", broken)
        page.refresh()
    assert "damaged" in str(told.args[0])
    page.view = None
    page.refresh()
    qtbot.waitUntil(lambda: page.view is not None)


# Live


def test_the_table_follows_a_tournament(desk: Desk, qtbot: QtBot) -> None:
    page = shown(desk, qtbot)
    errors = {line.name: line.error for line in page.model.rows if line.rank}
    desk.league.start_tournament(game=QUICK, agents=BOTS, options={"rounds": 3}, seed=7)
    qtbot.waitUntil(lambda: page.view is not None and page.view.matches == 210, timeout=30_000)
    after = {line.name: line.error for line in page.model.rows if line.rank}
    assert sum(after.values()) < sum(errors.values()), "intervals shrink"
    qtbot.waitUntil(lambda: page.scope.count() == 4)


def moved(page: StandingsPage) -> None:
    """The last becomes the first, as if many matches had been played."""
    view = page.view
    assert view is not None
    lines = [view.lines[5], *view.lines[:5], *view.lines[6:]]
    ranked = [dataclasses.replace(line, rank=n + 1 if n < 6 else None) for n, line in enumerate(lines)]
    page._answer(dataclasses.replace(view, lines=tuple(ranked)))


def test_rows_slide_to_their_new_places(desk: Desk, qtbot: QtBot) -> None:
    page = shown(desk, qtbot)
    still = page.table.viewport().grab().toImage()
    moved(page)
    assert page.sliding.sliding
    assert page.sliding.isVisible()
    beginning = page.table.viewport().grab().toImage()
    qtbot.waitUntil(lambda: not page.sliding.sliding)
    assert not page.sliding.isVisible()
    end = page.table.viewport().grab().toImage()
    assert end != still
    assert end != beginning


def test_a_page_that_is_scrolled_or_changed_stops_the_sliding(desk: Desk, qtbot: QtBot) -> None:
    page = shown(desk, qtbot)
    moved(page)
    page.resize(800, 500)
    assert not page.sliding.sliding
    moved(page)
    theme.apply("dark")
    assert not page.sliding.sliding


def test_nothing_slides_where_less_motion_is_asked_for(
    desk: Desk, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert motion(desk.settings)
    monkeypatch.setenv(STILL, "1")
    assert not motion(desk.settings)
    monkeypatch.delenv(STILL)
    desk.settings.set("motion", False)
    page = shown(desk, qtbot)
    moved(page)
    assert not page.sliding.sliding
    assert texts(page, "#")[:2] == ["1", "2"]


def test_nothing_slides_in_a_long_table(desk: Desk, qtbot: QtBot) -> None:
    page = shown(desk, qtbot)
    view = page.view
    assert view is not None
    many = [dataclasses.replace(view.lines[0], agent=str(n), rank=n + 1) for n in range(MOST + 1)]
    page._answer(dataclasses.replace(view, lines=tuple(many)))
    page._answer(dataclasses.replace(view, lines=tuple(reversed(many))))
    assert not page.sliding.sliding
    page._answer(dataclasses.replace(view, lines=tuple(many[:MOST])))
    page._answer(dataclasses.replace(view, lines=tuple(reversed(many[:MOST]))))
    assert page.sliding.sliding


def line(agent: str, rank: int | None, **more: Any) -> Line:
    told = {"name": agent, "kind": "bot", "colour": "", "rating": 1200.0, "error": 40.0, "low": 1000.0, "high": 1400.0}
    return Line(rank, agent, **{**told, "total": Tally(), "forfeits": (), **more})


def test_a_changed_rank_is_marked_for_a_while() -> None:
    now = [0.0]
    movements = Movements(lambda: now[0])
    movements.see([line("a", 1), line("b", 2), line("c", 3)], anew=True)
    movements.see([line("b", 1), line("c", 2), line("a", 3)], anew=False)
    assert [movements.of(one) for one in "abc"] == [-2, 1, 1]
    now[0] = 5
    movements.see([line("c", 1), line("b", 2), line("a", 3)], anew=False)
    assert [movements.of(one) for one in "abc"] == [-2, 0, 2], "from where it was before it was first marked"
    now[0] = 9
    assert movements.fade()
    assert [movements.of(one) for one in "abc"] == [0, 0, 2]
    movements.see([line("a", 1)], anew=True)
    assert not movements.any


def test_marks_are_painted_and_told_in_words(desk: Desk, qtbot: QtBot) -> None:
    page = shown(desk, qtbot)
    moved(page)
    tip = page.model.data(page.model.index(0, 0), Qt.ItemDataRole.ToolTipRole)
    assert "up 5 places" in tip
    assert "down 1 place," in page.model.data(page.model.index(1, 0), Qt.ItemDataRole.ToolTipRole)


def test_ratings_and_forfeits_are_told_in_words() -> None:
    broken = (("illegal_action", 3), ("crash", 1))
    one = line("Tracker", 1, rating=1412.4, error=38.2, total=Tally(9), forfeits=broken)
    assert rating_words(one) == "Tracker: rated 1412, between 1374 and 1451 with 95 % confidence"
    assert forfeit_words(one) == "illegal action: 3\ncrash: 1"
    assert one.forfeited == 4
    assert (number(0.5), number(1234567.0), number(-3.25)) == ("0.5", "1,234,567", "-3.2")
    skill = line("Trio", 1, rating=27.31, error=3.2, low=10.0, high=40.0)
    assert rating_words(skill) == "Trio: rated 27.3, between 24.1 and 30.5 with 95 % confidence"


# The page as a whole


def test_a_hidden_part_is_filled_when_it_is_looked_at(desk: Desk, qtbot: QtBot) -> None:
    page = shown(desk, qtbot)
    assert page.crosstable.model().rowCount() == 0
    page.tabs.setCurrentIndex(1)
    assert page.crosstable.model().rowCount() == 6
    assert desk.settings.get("standings/tab") == 1
    again = shown(desk, qtbot)
    assert again.tabs.currentIndex() == 1


def test_names_widen_nothing(desk: Desk, qtbot: QtBot) -> None:
    for agent in desk.league.agents()[:3]:
        desk.league.league.change_agent(agent.id, name=f"{agent.name} {NASTY}"[:120])
    page = shown(desk, qtbot)
    for tab in range(3):
        page.tabs.setCurrentIndex(tab)
        assert page.minimumSizeHint().width() <= 730
        assert page.width() == 730
    page.tabs.setCurrentIndex(0)
    assert page.table.horizontalScrollBar().maximum() == 0, "the whole table is seen at once"


def test_everything_has_a_name_and_tab_leads_to_it(desk: Desk, qtbot: QtBot) -> None:
    page = shown(desk, qtbot)
    parts = (page.tabs, page.scope, page.filtered.field, page.anchor, page.export, page.table)
    for part in parts:
        assert part.accessibleName()
        assert part.focusPolicy() & Qt.FocusPolicy.TabFocus
    seen, at = set(), page.tabs.nextInFocusChain()
    while at is not page.tabs and len(seen) < 200:
        seen.add(at)
        at = at.nextInFocusChain()
    assert set(parts[1:]) <= seen


def test_a_question_that_is_under_way_is_not_asked_again(desk: Desk, qtbot: QtBot) -> None:
    page = shown(desk, qtbot)
    asked: list[str] = []
    real = desk.reads.ask

    def ask(key: str, *rest: Any) -> None:
        asked.append(key)
        real(key, *rest)

    desk.reads.ask = ask  # type: ignore[method-assign]
    for _ in range(5):
        page.refresh()
    assert asked == ["standings"]
    qtbot.waitUntil(lambda: len(asked) == 2)  # what came meanwhile is looked at afterwards, once


def test_garbage_waits_while_a_question_is_answered(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []
    real = model.table_of

    def looked(*given: object) -> object:
        seen.append(no_sweeping.going_on)
        return real(*given)

    monkeypatch.setattr(model, "table_of", looked)
    view = look(desk.league, QUICK, 99, "nobody by this name")
    assert seen == [True]
    assert not no_sweeping.going_on
    assert (view.scope, view.anchor) == (0, None), "what is not there is not insisted on"


def test_an_anchor_is_known_by_its_id_whatever_others_are_called(desk: Desk) -> None:
    league = desk.league.league
    league.change_agent("Lazy", name="Old Lazy")
    league.change_agent("Still", name="Lazy")
    view = look(desk.league, QUICK, 0, "Lazy")
    assert [line.name for line in view.lines if line.rank and line.rating == 1200 and line.error == 0] == ["Old Lazy"]


def test_a_table_slides_by_itself_when_it_is_sorted(desk: Desk, qtbot: QtBot) -> None:
    page = shown(desk, qtbot)
    header = page.table.horizontalHeader()
    at = QPoint(header.sectionViewportPosition(1) + 10, 10)
    qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=at)
    assert texts(page, "Agent") == sorted(texts(page, "Agent"))
    assert page.sliding.sliding
