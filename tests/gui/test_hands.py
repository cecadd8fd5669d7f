"""People at the keyboard: which keys are whose, and games that need no keys at all."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from agents.human import person
from engine.play.match import MatchSpec
from engine.registry import KINDS, new_game
from league_app.desk import Desk
from league_app.pages.match import MatchPage
from league_app.sheets.exhibition import YOU, ExhibitionSheet
from league_app.visual.hands import Hands
from league_app.widgets.human import HumanBar
from tests.gui.test_match import LONG, PATIENCE, stub
from tests.plugins.tictactoe import TicTacToe

KEY = Qt.Key
PONG = new_game("pong").info
STAY, UP, DOWN = 0, 1, 2


def test_one_person_may_use_letters_and_arrows_and_the_last_key_counts() -> None:
    hands = Hands(PONG, [1])
    assert hands.complete
    assert hands.press(KEY.Key_W) == (1, UP)
    assert hands.press(KEY.Key_Down) == (1, DOWN)
    assert hands.release(KEY.Key_Down) == (1, UP), "the other one is still held"
    assert hands.release(KEY.Key_W) == (1, STAY)
    assert hands.release(KEY.Key_W) is None
    assert not hands.knows(KEY.Key_Left), "which steps back"
    hands.press(KEY.Key_S)
    assert hands.let_go() == [(1, STAY)]


def test_two_at_one_keyboard_do_not_get_in_each_others_way() -> None:
    hands = Hands(PONG, [0, 1])
    assert (hands.press(KEY.Key_S), hands.press(KEY.Key_Up)) == ((0, DOWN), (1, UP))
    assert hands.release(KEY.Key_S) == (0, STAY)
    assert hands.let_go() == [(1, STAY)]
    assert (hands.words(0), hands.words(1)) == ("W/S", "up/down arrows")


def test_a_game_without_keys_is_played_from_a_list(qtbot: QtBot) -> None:
    bar = HumanBar()
    qtbot.addWidget(bar)
    board = TicTacToe(TicTacToe.Options())
    hands = Hands(board.info, [0])
    assert not hands.complete
    acted: list[tuple[int, int]] = []
    bar.acted.connect(lambda seat, action: acted.append((seat, action)))
    bar.set_turn(hands, board.info, ["You", "Other"], 0, [2, 5, 7], "Action {}".format)
    bar.show()
    assert bar.list.count() == 3
    bar.list.setCurrentIndex(1)
    QTest.mouseClick(bar.play, Qt.MouseButton.LeftButton)
    assert acted == [(0, 5)]
    bar.set_turn(hands, board.info, ["You", "Other"], -1, [], str)
    assert not bar.play.isEnabled()
    QTest.mouseClick(bar.play, Qt.MouseButton.LeftButton)
    assert acted == [(0, 5)]


def test_among_many_actions_one_is_typed(qtbot: QtBot) -> None:
    bar = HumanBar()
    qtbot.addWidget(bar)
    game = new_game("shogi")
    boards, lane = game.boards(1), np.array([0], np.uint32)
    boards.deal(lane, np.array([1], np.uint64), ["startpos"])
    position = boards.position(0, 0)
    acted: list[tuple[int, int]] = []
    bar.acted.connect(lambda seat, action: acted.append((seat, action)))
    choices = position.legal().tolist()
    bar.set_turn(Hands(game.info, [0]), game.info, ["You", "Other"], 0, choices, position.name)
    bar.show()
    assert [bar.list.itemText(n) for n in range(2)] == ["1g1f", "1i1h"]
    for typed in ("7g7e", "7g7f"):
        bar.list.lineEdit().clear()
        QTest.keyClicks(bar.list.lineEdit(), typed)
        QTest.keyClick(bar.list.lineEdit(), Qt.Key.Key_Return)
    assert acted == [(0, position.action("7g7f"))]


def test_a_person_can_be_chosen_for_a_seat(desk: Desk, qtbot: QtBot) -> None:
    chosen: list[tuple[list[str], int]] = []
    agents = desk.league.agents("pong")
    sheet = ExhibitionSheet(None, "Pong", 2, agents, lambda players, seed: chosen.append((players, seed)), seed=4)
    qtbot.addWidget(sheet)
    assert sheet.seats[0].itemText(0) == YOU
    sheet.seats[0].setCurrentIndex(0)
    sheet.seats[1].setCurrentIndex(3)
    sheet.go.click()
    assert chosen == [(["", agents[2].id], 4)]


def test_a_key_reaches_whoever_plays_the_match_and_is_let_go_with_the_page(desk: Desk, qtbot: QtBot) -> None:
    page = MatchPage(desk)
    qtbot.addWidget(page)
    page.show()
    told: list[list[object]] = []
    bots = list(KINDS.get("pong-bot").samples(new_game("pong")))
    live = stub(MatchSpec("mine", LONG, (bots[0], person()), 1), told=told)
    page.show_what(live)
    qtbot.waitUntil(lambda: page.shown is not None, timeout=PATIENCE)
    QTest.keyPress(page.ring.canvas, KEY.Key_Up)
    qtbot.waitUntil(lambda: ["act", 1, UP] in told)
    page.hide()
    qtbot.waitUntil(lambda: told[-1] == ["act", 1, STAY])
    page.stop()


def test_a_person_in_a_tournament_plays_its_live_match(desk: Desk, qtbot: QtBot) -> None:
    state = desk.league
    state.league.add_agent("Me", "pong", person("Me"))
    page = MatchPage(desk)
    qtbot.addWidget(page)
    page.show()
    state.show_visuals = True
    state.start_tournament(game=LONG, agents=["Me", "Tracker"], options={"rounds": 1}, seed=3)
    qtbot.waitUntil(lambda: page.shown is not None and page.shown.steps > 0, timeout=PATIENCE)
    show = page.shown
    assert show is not None
    assert page.ring.human.isVisible()
    seat = [one.id for one in show.spec.players].index("Me")
    QTest.keyPress(page.ring.canvas, KEY.Key_S)
    qtbot.waitUntil(lambda: show.actions_of(seat)[-5:] == [DOWN] * 5, timeout=PATIENCE)
    page.stop()
