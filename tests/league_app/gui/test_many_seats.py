"""Games of more than two seats in the window."""

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
from engine.league import played_matches
from engine.registry import new_game
from engine.scene import Circle, Scene, Sprite, seat_colour
from league_app.core.formatting import join_names, outcome
from league_app.core.queries.agent_profile import load_profile
from league_app.core.queries.highlights import best_match, recent, upsets
from league_app.core.state import LeagueState
from league_app.gui import placement_matches
from league_app.gui.context import AppContext
from league_app.gui.dialogs.add_agents import ReadyMadeDialog
from league_app.gui.dialogs.exhibition import ExhibitionDialog
from league_app.gui.history.page import HistoryPage
from league_app.gui.league_files import LeagueFileActions
from league_app.gui.match.header import MatchHeader, uses_seat_colours
from league_app.gui.match.human_input import HumanInputBar
from league_app.gui.match.info import MatchInfo, SeatInfo, leaders
from league_app.gui.match.key_bindings import KeyBindings, max_humans
from league_app.gui.match.page import MatchPage
from league_app.gui.models.agents import agent_figures
from league_app.gui.models.standings import RankChanges, columns, load_standings, longest_points, rating_tip
from league_app.gui.pages.dashboard import DashboardPage
from league_app.gui.pages.standings import StandingsPage
from league_app.gui.pages.welcome import WelcomePage
from league_app.gui.widgets.basics import ElidedPairLabel
from league_app.gui.widgets.key_figures import KeyFigures

HUNT = new_game("treasure-hunt", turns=30)
HUNTERS = ("Dice", "Drifter", "Badger", "Magpie", "Squirrel")


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
def hunting(bare: AppContext, hunted: Path, tmp_path: Path) -> AppContext:
    bare.adopt(LeagueState(Path(shutil.copy(hunted, tmp_path / "hunted.league")), lanes=4))
    return bare


def test_every_plate_shows_its_score_and_outcome(hunting: AppContext, qtbot: QtBot) -> None:
    page = MatchPage(hunting)
    qtbot.addWidget(page)
    page.resize(900, 640)
    page.show()
    record = played_matches.match(hunting.league.league, "1.3")
    page.show_item("1.3")
    qtbot.waitUntil(lambda: page.shown is not None)
    head, player = page.view.header, page.shown
    assert player is not None
    assert not any(plate.leads for plate in head.plates), "all are level at the start"
    page.to_end()
    best = record.result.ranks.index(1)
    assert [plate.leads for plate in head.plates] == [seat == best for seat in range(4)]
    words = {1: "winner", 2: "2nd", 3: "3rd", 4: "4th"}
    assert [plate.mark for plate in head.plates] == [words[rank] for rank in record.result.ranks]
    description = head.plates[best].accessibleDescription()
    assert description.startswith(f"winner, {record.result.scores[best]:g}, ")
    assert not player.marks, "scores change all the time, so there are no marks"
    page.stop()


def test_tables_show_all_agents_and_the_certainty_of_their_order(hunting: AppContext, qtbot: QtBot) -> None:
    table = hunting.league.standings(HUNT.spec)
    assert table.superiority.shape == (5, 5)
    assert table.superiority[0, 4] > 0.9
    best, worst = table.rows[0], table.rows[-1]
    assert table.chance(best, worst) == pytest.approx(1 - table.chance(worst, best))
    page = StandingsPage(hunting)
    qtbot.addWidget(page)
    page.tabs.setCurrentIndex(2)
    page.show()
    qtbot.waitUntil(lambda: page.view is not None)
    assert page.heatmap.isVisible()
    page.tabs.setCurrentIndex(0)
    assert not page.anchor.isVisible(), "ratings of many seats have no anchor"
    league = hunting.league.league
    for upset in upsets(league, None, HUNT.spec, limit=10):
        assert upset.winner_rating < upset.loser_rating
        match = played_matches.match(league, upset.match).result
        places = [match.ranks[match.players.index(who)] for who in (upset.winner, upset.loser)]
        assert places[0] < places[1]


def test_a_result_of_many_seats_begins_with_the_winner(hunting: AppContext, qtbot: QtBot) -> None:
    [last] = recent(hunting.league.league, HUNT.spec, 1)
    page = HistoryPage(hunting)
    qtbot.addWidget(page)
    page.show()
    model = page.matches.model
    qtbot.waitUntil(lambda: model.rowCount() > 0)
    cell = model.players(model.rows[0])
    assert [player.score for player in cell.seats] == [f"{score:g}" for score in sorted(last.scores, reverse=True)]
    assert cell.seats[0].won
    front = DashboardPage(hunting)
    qtbot.addWidget(front)
    front.show()
    qtbot.waitUntil(lambda: front.results.count() > 0)
    assert outcome(("A", "B"), (-3, -14.5), (1, 2)) == "A -3 : -14.5 B"
    assert outcome(("A", "B", "C"), (4, 540, -4), (2, 1, 3)) == "B 540, A 4, C -4"
    assert join_names(("A", "B", "C")) == "A, B and C"
    assert (leaders((1, 3, 3)), leaders((0, 0))) == ({1, 2}, set())


def test_the_welcome_page_shows_the_best_match_of_the_selected_game(hunting: AppContext, qtbot: QtBot) -> None:
    page = WelcomePage(hunting, LeagueFileActions(hunting, None))  # type: ignore[arg-type]
    qtbot.addWidget(page)
    page.show()
    assert best_match(hunting.league.league, HUNT.spec) is not None
    qtbot.waitUntil(lambda: page.preview.playback is not None)
    assert page.games.itemText(0) == "Treasure Hunt: turns 30"
    shown: list[object] = []
    hunting.navigation_requested.connect(lambda name, what: shown.append(what))
    page.watch.click()
    qtbot.waitUntil(lambda: len(shown) == 1)
    [live] = shown
    assert len(live.spec.players) == 4  # type: ignore[attr-defined]
    live.close()  # type: ignore[attr-defined]
    page.watch.click()
    qtbot.waitUntil(lambda: len(shown) == 2)
    assert shown[1].spec.seed != live.spec.seed, "another one each time"  # type: ignore[attr-defined]
    shown[1].close()  # type: ignore[attr-defined]
    page.games.setCurrentIndex(page.games.findText("Pong"))
    page.games.activated.emit(page.games.currentIndex())
    assert hunting.game == "pong"
    page.preview.play(None)


def test_without_an_idle_action_the_match_waits_and_can_be_resigned(qtbot: QtBot) -> None:
    bar = HumanInputBar()
    qtbot.addWidget(bar)
    bindings = KeyBindings(HUNT.info, [2])
    bar.set_turn(bindings, HUNT.info, ["A", "B", "You", "D"], 2, [0, 1, 2, 3], str)
    assert bar.turn.text() == "Your move. Keys for seat 3: W/A/S/D or arrows"
    bar.set_turn(KeyBindings(HUNT.info, [0, 2]), HUNT.info, ["You 1", "B", "You 3", "D"], 0, [0, 1, 2, 3], str)
    assert bar.turn.text().endswith("Keys for seat 1: W/A/S/D; seat 3: arrows")
    bar.show()
    acted: list[tuple[int, int]] = []
    bar.acted.connect(lambda seat, action: acted.append((seat, action)))
    bar.menu.popup = lambda at: None  # type: ignore[method-assign, assignment]
    QTest.mouseClick(bar.resign, Qt.MouseButton.LeftButton)
    assert not acted, "resigning asks for confirmation"
    assert [action.text() for action in bar.menu.actions()][1].startswith("Resign as You 3")
    bar.menu.actions()[1].trigger()
    assert acted == [(2, RESIGN)]


def test_two_agents_are_enough_to_fill_all_seats(hunting: AppContext) -> None:
    with hunting.league.exhibit(["Magpie", "Badger"], HUNT.spec) as live:
        assert [player.id for player in live.spec.players] == ["Magpie", "Badger"] * 2
    with hunting.league.exhibit([person(), "Badger"], HUNT.spec) as live:
        assert [player.id for player in live.spec.players] == ["You", *["Badger"] * 3]


def test_a_failed_placement_gives_its_reason(hunting: AppContext) -> None:
    crowd = new_game("treasure-hunt", seats=10).spec
    with pytest.raises(NotNow, match="Treasure Hunt needs 10 agents, and this league has 5"):
        placement_matches.start_placement(hunting.league, placement_matches.Newcomer("Badger", "Badger", crowd))


def test_humans_at_one_keyboard_are_limited(hunting: AppContext, qtbot: QtBot) -> None:
    agents = hunting.league.agents("treasure-hunt")
    dialog = ExhibitionDialog(None, "Treasure Hunt", 4, agents, lambda players, seed: None, max_humans(HUNT.info))
    qtbot.addWidget(dialog)
    for seat, fits in ((0, True), (3, True), (1, False)):
        dialog.seats[seat].setCurrentIndex(0)
        assert dialog.go.isEnabled() == fits
    assert "2 people" in dialog.error.text()


def test_seats_have_no_colour_on_boards_made_of_sprites(qtbot: QtBot) -> None:
    picture = Sprite(0.0, 0.0, 1.0, 1.0, (1, 1), b"\xff\x00\x00")
    assert not uses_seat_colours(Scene(1.0, "000000", (picture,)))
    stone = Circle(0.5, 0.5, 0.1, seat_colour(1))
    assert uses_seat_colours(Scene(1.0, "000000", (picture, stone)))
    assert uses_seat_colours(Scene(1.0, "000000", ())), "an empty board"
    head = MatchHeader()
    qtbot.addWidget(head)
    head.resize(600, 60)
    head.set_info(MatchInfo("Connect Four", (SeatInfo("A", "A", "mcts"), SeatInfo("B", "B", "mcts")), 1))

    def shades() -> set[str]:
        drawn = head.grab().toImage()
        return {drawn.pixelColor(x, head.height() // 2).name()[1:].upper() for x in range(drawn.width())}

    assert {seat_colour(0), seat_colour(1)} <= shades()
    head.set_coloured(False)
    assert not {seat_colour(0), seat_colour(1)} & shades()
    head.set_scores((1, -1))
    assert head.score.text() == "1 : -1", "a dash would look like a second minus"


def test_a_match_of_four_is_one_game_and_three_meetings(hunting: AppContext, qtbot: QtBot) -> None:
    view = load_standings(hunting.league, HUNT.spec, 0, None)
    games = next(column for column in columns(RankChanges()) if column.title == "Games")
    texts = [games.text(line) for line in view.rows]
    assert sum(map(int, texts)) == view.matches * 4, "every seat counts the match"
    best = view.rows[0]
    assert games.cell_tip is not None
    assert games.cell_tip(best) == f"{best.games} matches of 4, which are {best.games * 3} meetings of two"
    found = load_profile(hunting.league, HUNT.spec, best.agent)
    figures = KeyFigures()
    qtbot.addWidget(figures)
    figures.show_figures(agent_figures(found.row, found.place, found.rated, found.seats))
    assert figures.score.detail.text() == f"of {best.games} matches"
    assert figures.record.text().startswith(f"{best.games * 3} meetings: ")
    near = replace(best, rating=-0.04, low=-10.0, high=10.0)
    assert rating_tip(near).startswith(f"{near.name}: rated 0.0,"), "and not -0.0"


def test_columns_are_as_wide_as_their_numbers(hunting: AppContext, qtbot: QtBot) -> None:
    page = StandingsPage(hunting)
    qtbot.addWidget(page)
    page.resize(900, 600)
    page.show()
    qtbot.waitUntil(lambda: bool(page.model.rows))
    points = next(place for place, column in enumerate(page.model.columns) if column.title == "Points")
    before, rows = page.table.columnWidth(points), page.model.rows
    rich = [replace(row, total=replace(row.total, scored=1e6, conceded=1e6)) for row in rows]
    page.model.set_rows(rich)
    page.table.resize_on_change(longest_points(rich))
    assert page.table.columnWidth(points) > before
    page.table.setColumnWidth(points, 40)
    page.table.resize_on_change(longest_points(rich))
    assert page.table.columnWidth(points) == 40, "the same rows change nothing"


def test_names_are_elided_before_other_words(qtbot: QtBot) -> None:
    label = ElidedPairLabel("Upset: {} beat {}", "a hunter of many games {}", "Dice")
    qtbot.addWidget(label)
    label.resize(200, 20)
    assert re.fullmatch("Upset: a .*\u2026 beat Dice", label.elided_text()), "a short name is not elided"
    label.resize(800, 20)
    assert label.elided_text() == "Upset: a hunter of many games {} beat Dice"


def test_the_list_says_that_a_game_is_being_loaded(hunting: AppContext, qtbot: QtBot) -> None:
    dialog = ReadyMadeDialog(hunting, "treasure-hunt")
    qtbot.addWidget(dialog)
    dialog.show()
    assert dialog.list.message.text() == "Loading Treasure Hunt..."
    qtbot.waitUntil(lambda: dialog.list.list.count() > 0)
    assert not dialog.list.message.isVisible()
