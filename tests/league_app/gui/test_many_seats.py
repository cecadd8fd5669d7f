"""A game of more than two seats in the window: everybody is seen, told apart and told in order."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from agents.human import person
from engine.errors import NotNow
from engine.game import RESIGN
from engine.league import standings as tables
from engine.registry import new_game
from engine.scene import Circle, Scene, Sprite, seat_colour
from league_app.gui import placement_matches as placement
from league_app.gui.context import Desk
from league_app.core.queries.highlights import best_match, recent, upsets
from league_app.gui.league_files import Leagues
from league_app.gui.models.standings import Movements, columns, longest, look, rating_words
from league_app.gui.pages.dashboard import DashboardPage
from league_app.gui.history.page import HistoryPage
from league_app.gui.match.page import MatchPage
from league_app.gui.pages.standings import StandingsPage
from league_app.gui.pages.welcome import WelcomePage
from league_app.core.queries.agent_profile import portrait
from league_app.gui.dialogs.add_agents import ReadyMadeSheet
from league_app.gui.dialogs.exhibition import ExhibitionSheet
from league_app.core.state import LeagueState
from league_app.gui.match.info import Bill, Player, leaders
from league_app.gui.match.key_bindings import Hands, room
from league_app.gui.widgets.basics import Telling
from league_app.gui.widgets.key_figures import Figures
from league_app.gui.match.human_input import HumanBar
from league_app.gui.match.header import Head, in_our_colours
from league_app.core.formatting import listed, outcome

HUNT = new_game("treasure-hunt", turns=30)
HUNTERS = ("Dice", "Drifter", "Badger", "Magpie", "Squirrel")
PATIENCE = 30_000


@pytest.fixture(scope="module")
def hunted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hunts") / "hunted.league"
    with LeagueState.new(path) as state:
        state.add_samples("pong", ("Lazy", "Still"))
        state.add_samples("treasure-hunt", HUNTERS)
        state.use_concurrent = False
        state.start_tournament(game=HUNT.spec, options={"rounds": 2}, seed=1).wait()
    return path


@pytest.fixture
def hunting(bare: Desk, hunted: Path, tmp_path: Path) -> Desk:
    bare.adopt(LeagueState(Path(shutil.copy(hunted, tmp_path / "hunted.league")), lanes=4))
    return bare


def test_every_plate_has_its_score_and_says_what_came_of_it(hunting: Desk, qtbot: QtBot) -> None:
    page = MatchPage(hunting)
    qtbot.addWidget(page)
    page.resize(900, 640)
    page.show()
    record = tables.match(hunting.league.league, "1.3")
    page.show_what("1.3")
    qtbot.waitUntil(lambda: page.shown is not None, timeout=PATIENCE)
    head, show = page.ring.head, page.shown
    assert show is not None
    assert not any(plate.leads for plate in head.plates), "all are level at the start"
    page.to_end()
    best = record.result.ranks.index(1)
    assert [plate.leads for plate in head.plates] == [seat == best for seat in range(4)]
    words = {1: "winner", 2: "2nd", 3: "3rd", 4: "4th"}
    assert [plate.mark for plate in head.plates] == [words[rank] for rank in record.result.ranks]
    told = head.plates[best].accessibleDescription()
    assert told.startswith(f"winner, {record.result.scores[best]:g}, ")
    assert not show.marks, "somebody scores all the time: that marks nothing"
    page.stop()


def test_tables_tell_everybody_and_how_sure_their_order_is(hunting: Desk, qtbot: QtBot) -> None:
    table = hunting.league.standings(HUNT.spec)
    assert table.superiority.shape == (5, 5)
    assert table.superiority[0, 4] > 0.9
    best, worst = table.rows[0], table.rows[-1]
    assert table.chance(best, worst) == pytest.approx(1 - table.chance(worst, best))
    page = StandingsPage(hunting)
    qtbot.addWidget(page)
    page.tabs.setCurrentIndex(2)
    page.show()
    qtbot.waitUntil(lambda: page.view is not None, timeout=PATIENCE)
    assert page.heatmap.isVisible()
    page.tabs.setCurrentIndex(0)
    assert not page.anchor.isVisible(), "skills have no zero"
    league = hunting.league.league
    for one in upsets(league, None, HUNT.spec, limit=10):
        assert one.winner_rating < one.loser_rating
        match = tables.match(league, one.match).result
        places = [match.ranks[match.players.index(who)] for who in (one.winner, one.loser)]
        assert places[0] < places[1]


def test_a_result_of_many_begins_with_the_best(hunting: Desk, qtbot: QtBot) -> None:
    [last] = recent(hunting.league.league, HUNT.spec, 1)
    page = HistoryPage(hunting)
    qtbot.addWidget(page)
    page.show()
    model = page.matches.model
    qtbot.waitUntil(lambda: model.rowCount() > 0, timeout=PATIENCE)
    cell = model.players(model.rows[0])
    assert [one.score for one in cell.seats] == [f"{score:g}" for score in sorted(last.scores, reverse=True)]
    assert cell.seats[0].won
    front = DashboardPage(hunting)
    qtbot.addWidget(front)
    front.show()
    qtbot.waitUntil(lambda: front.results.count() > 0, timeout=PATIENCE)
    assert outcome(("A", "B"), (-3, -14.5), (1, 2)) == "A -3 : -14.5 B"
    assert outcome(("A", "B", "C"), (4, 540, -4), (2, 1, 3)) == "B 540, A 4, C -4"
    assert listed(("A", "B", "C")) == "A, B and C"
    assert (leaders((1, 3, 3)), leaders((0, 0))) == ({1, 2}, set())


def test_the_first_page_shows_the_best_match_of_the_game_that_is_chosen(hunting: Desk, qtbot: QtBot) -> None:
    page = WelcomePage(hunting, Leagues(hunting, None))  # type: ignore[arg-type]
    qtbot.addWidget(page)
    page.show()
    assert best_match(hunting.league.league, HUNT.spec) is not None
    qtbot.waitUntil(lambda: page.preview.playback is not None, timeout=PATIENCE)
    assert page.games.itemText(0) == "Treasure Hunt: turns 30"
    shown: list[object] = []
    hunting.wanted.connect(lambda name, what: shown.append(what))
    page.watch.click()
    [live] = shown
    assert len(live.spec.players) == 4  # type: ignore[attr-defined]
    live.close()  # type: ignore[attr-defined]
    page.watch.click()
    assert shown[1].spec.seed != live.spec.seed, "another one each time"  # type: ignore[attr-defined]
    shown[1].close()  # type: ignore[attr-defined]
    page.games.setCurrentIndex(page.games.findText("Pong"))
    page.games.activated.emit(page.games.currentIndex())
    assert hunting.game == "pong"
    page.preview.play(None)


def test_where_nobody_may_stand_still_the_match_waits_and_can_be_given_up(qtbot: QtBot) -> None:
    bar = HumanBar()
    qtbot.addWidget(bar)
    hands = Hands(HUNT.info, [2])
    bar.set_turn(hands, HUNT.info, ["A", "B", "You", "D"], 2, [0, 1, 2, 3], str)
    assert bar.words.text() == "Your move. You play seat 3: W/A/S/D or arrows"
    bar.set_turn(Hands(HUNT.info, [0, 2]), HUNT.info, ["You 1", "B", "You 3", "D"], 0, [0, 1, 2, 3], str)
    assert bar.words.text().endswith("You play seat 1: W/A/S/D; seat 3: arrows")
    bar.show()
    acted: list[tuple[int, int]] = []
    bar.acted.connect(lambda seat, action: acted.append((seat, action)))
    bar.menu.popup = lambda at: None  # type: ignore[method-assign, assignment]
    QTest.mouseClick(bar.resign, Qt.MouseButton.LeftButton)
    assert not acted, "it is asked about"
    assert [one.text() for one in bar.menu.actions()][1].startswith("Resign as You 3")
    bar.menu.actions()[1].trigger()
    assert acted == [(2, RESIGN)]


def test_two_are_enough_to_fill_a_board(hunting: Desk) -> None:
    with hunting.league.exhibit(["Magpie", "Badger"], HUNT.spec) as live:
        assert [one.id for one in live.spec.players] == ["Magpie", "Badger"] * 2
    with hunting.league.exhibit([person(), "Badger"], HUNT.spec) as live:
        assert [one.id for one in live.spec.players] == ["You", *["Badger"] * 3]


def test_who_cannot_be_placed_is_told_why(hunting: Desk) -> None:
    crowd = new_game("treasure-hunt", seats=10).spec
    with pytest.raises(NotNow, match="it takes 10 agents, and there are 5 for Treasure Hunt"):
        placement.begin(hunting.league, placement.Newcomer("Badger", "Badger", crowd))


def test_no_more_people_sit_down_than_the_keyboard_has_room_for(hunting: Desk, qtbot: QtBot) -> None:
    agents = hunting.league.agents("treasure-hunt")
    sheet = ExhibitionSheet(None, "Treasure Hunt", 4, agents, lambda players, seed: None, room(HUNT.info))
    qtbot.addWidget(sheet)
    for seat, fits in ((0, True), (3, True), (1, False)):
        sheet.seats[seat].setCurrentIndex(0)
        assert sheet.go.isEnabled() == fits
    assert "2 people" in sheet.wrong.text()


def test_seats_have_no_colour_where_a_game_brings_its_own_picture(qtbot: QtBot) -> None:
    picture = Sprite(0.0, 0.0, 1.0, 1.0, (1, 1), b"\xff\x00\x00")
    assert not in_our_colours(Scene(1.0, "000000", (picture,)))
    stone = Circle(0.5, 0.5, 0.1, seat_colour(1))
    assert in_our_colours(Scene(1.0, "000000", (picture, stone)))
    assert in_our_colours(Scene(1.0, "000000", ())), "an empty board"
    head = Head()
    qtbot.addWidget(head)
    head.resize(600, 60)
    head.set_bill(Bill("Connect Four", (Player("A", "A", "mcts"), Player("B", "B", "mcts")), 1))

    def shades() -> set[str]:
        drawn = head.grab().toImage()
        return {drawn.pixelColor(x, head.height() // 2).name()[1:].upper() for x in range(drawn.width())}

    assert {seat_colour(0), seat_colour(1)} <= shades()
    head.set_coloured(False)
    assert not {seat_colour(0), seat_colour(1)} & shades()
    head.set_scores((1, -1))
    assert head.score.text() == "1 : -1", "a dash would look like another minus"


def test_a_match_of_four_is_one_game_and_three_meetings(hunting: Desk, qtbot: QtBot) -> None:
    view = look(hunting.league, HUNT.spec, 0, None)
    games = next(one for one in columns(Movements()) if one.title == "Games")
    told = [games.text(line) for line in view.lines]
    assert sum(map(int, told)) == view.matches * 4, "everybody at the board has played it"
    best = view.lines[0]
    assert games.cell_tip is not None
    assert games.cell_tip(best) == f"{best.games} matches of 4, which are {best.games * 3} meetings of two"
    found = portrait(hunting.league, HUNT.spec, best.agent)
    figures = Figures()
    qtbot.addWidget(figures)
    figures.show_row(found.row, found.place, found.rated, found.seats)
    assert figures.score.aside.text() == f"of {best.games} matches"
    assert figures.record.text().startswith(f"{best.games * 3} meetings: ")
    near = replace(best, rating=-0.04, low=-10.0, high=10.0)
    assert rating_words(near).startswith(f"{near.name}: rated 0.0,"), "and not -0.0"


def test_columns_are_made_for_the_numbers_they_hold(hunting: Desk, qtbot: QtBot) -> None:
    page = StandingsPage(hunting)
    qtbot.addWidget(page)
    page.resize(900, 600)
    page.show()
    qtbot.waitUntil(lambda: bool(page.model.rows), timeout=PATIENCE)
    points = next(place for place, one in enumerate(page.model.columns) if one.title == "Points")
    before, rows = page.table.columnWidth(points), page.model.rows
    rich = [replace(one, total=replace(one.total, scored=1e6, conceded=1e6)) for one in rows]
    page.model.set_rows(rich)
    page.table.suit(longest(rich))
    assert page.table.columnWidth(points) > before
    page.table.setColumnWidth(points, 40)
    page.table.suit(longest(rich))
    assert page.table.columnWidth(points) == 40, "the same again changes nothing"


def test_names_give_way_before_words_do(qtbot: QtBot) -> None:
    told = Telling("Upset: {} beat {}", "a hunter of many games {}", "Dice")
    qtbot.addWidget(told)
    told.resize(200, 20)
    assert re.fullmatch("Upset: a .*\u2026 beat Dice", told.shown()), "and a short one stays whole"
    told.resize(800, 20)
    assert told.shown() == "Upset: a hunter of many games {} beat Dice"


def test_while_a_game_is_tried_the_list_says_so(hunting: Desk, qtbot: QtBot) -> None:
    sheet = ReadyMadeSheet(hunting, "treasure-hunt")
    qtbot.addWidget(sheet)
    sheet.show()
    assert sheet.list.words.text() == "Trying Treasure Hunt ..."
    qtbot.waitUntil(lambda: sheet.list.list.count() > 0, timeout=PATIENCE)
    assert not sheet.list.words.isVisible()
