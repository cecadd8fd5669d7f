"""People at the keyboard: which keys are whose, and games that need no keys at all."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QStackedWidget
from pytestqt.qtbot import QtBot

from agents.human import person
from engine.game import RESIGN
from engine.play.match import MatchSpec
from engine.play.replay import HEAD
from engine.registry import KINDS, new_game
from league_app.gui.context import Desk
from league_app.gui.match.page import MatchPage
from league_app.gui.dialogs.exhibition import YOU, ExhibitionSheet
from league_app.gui.match.key_bindings import Hands
from league_app.gui.match.human_input import WAIT, HumanBar
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


def test_keys_that_play_are_not_taken_by_the_list_beside_them(qtbot: QtBot) -> None:
    """A game with directions and something else besides: the list is for that, the keys for the rest."""
    bar = HumanBar()
    qtbot.addWidget(bar)
    info = dataclasses.replace(PONG, actions=4, action_names=(*PONG.action_names, "fire"))
    hands = Hands(info, [0])
    assert hands.words(0)
    assert not hands.complete
    bar.set_turn(hands, info, ["You", "Other"], 0, [0, 1, 2, 3], info.action_names.__getitem__)
    bar.show()
    assert bar.list.isVisible()
    assert not bar.take_keyboard()
    assert not bar.list.hasFocus()


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
        enter(bar, typed)
    assert acted == [(0, position.action("7g7f"))]


def enter(bar: HumanBar, typed: str) -> None:
    """Over what is selected, as a person does."""
    edit = bar.list.lineEdit()
    assert edit is not None
    QTest.keyClicks(edit, typed)
    QTest.keyClick(edit, Qt.Key.Key_Return)


def test_a_move_that_cannot_be_is_told_at_the_field_and_stays_selected(qtbot: QtBot) -> None:
    bar = HumanBar()
    qtbot.addWidget(bar)
    game = new_game("shogi")
    position = game.boards(1).position(0, 0).from_sfen("4k4/9/9/9/9/9/4P4/9/4K4 b G 1")
    acted: list[tuple[int, int]] = []
    bar.acted.connect(lambda seat, action: acted.append((seat, action)))
    hands, names, choices = Hands(game.info, [0]), ["You", "Other"], position.legal().tolist()
    bar.set_turn(hands, game.info, names, 0, choices, position.name, position.mistake)
    bar.show()
    told = {
        "5g5e": "5g5e is not legal here",
        "P*1e": "P*1e is not legal here",
        "pawn": "pawn is no move: write 7g7f, 8h2b+ or P*5e",
        "<b>up and away we go": "<b>up and away w\u2026 is no move: write 7g7f, 8h2b+ or P*5e",
    }
    edit = bar.list.lineEdit()
    assert edit is not None
    for typed, wrong in told.items():
        enter(bar, typed)
        assert (bar.wrong.text(), bar.wrong.isVisible(), bar.words.isVisible()) == (wrong, True, False)
        assert (edit.selectedText(), bar.list.property("wrong")) == (typed, True)
        assert bar.list.accessibleDescription() == wrong
    assert bar.wrong.textFormat() == Qt.TextFormat.PlainText
    QTest.keyClicks(edit, "g")
    assert (bar.wrong.isVisible(), bar.words.isVisible(), bar.list.property("wrong")) == (False, True, False)
    edit.clear()
    enter(bar, "g*4e")
    assert acted == [(0, position.action("G*4e"))], "small letters will do where they can mean only one"
    enter(bar, "")
    assert not bar.wrong.isVisible(), "Qt tells of Enter twice"
    bar.set_turn(hands, game.info, names, -1, [], position.name, position.mistake)
    enter(bar, "5g5f")
    assert (len(acted), bar.wrong.text()) == (1, WAIT)
    bar.set_turn(hands, game.info, names, 0, choices, position.name, position.mistake)
    assert (edit.text(), bar.wrong.text()) == ("5g5f", ""), "what was typed ahead is still there"
    QTest.keyClick(edit, Qt.Key.Key_Return)
    assert acted[1:] == [(0, position.action("5g5f"))]


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)  # of menus, where there is no screen
def test_the_keyboard_is_the_fields_and_resign_never_gets_it_by_itself(desk: Desk, qtbot: QtBot) -> None:
    """A match of Shogi that a person plays: what is typed comes to the field, at every turn, and giving up is asked."""
    page = MatchPage(desk)
    stack, other = QStackedWidget(), QLineEdit()
    stack.addWidget(page)
    stack.addWidget(other)
    qtbot.addWidget(stack)
    stack.show()
    stack.activateWindow()
    stack.setCurrentIndex(1)
    other.setFocus()
    told: list[list[object]] = []
    game = new_game("shogi", opening="none")
    bot = KINDS.get("shogi-bot").samples(game)[0]
    live = stub(MatchSpec("mine", game.spec, (person(), bot), 1), told=told)
    page.show_what(live)
    bar = page.ring.human
    qtbot.waitUntil(lambda: page.shown is not None, timeout=PATIENCE)
    assert other.hasFocus(), "whoever is elsewhere is left alone"
    stack.setCurrentIndex(0)
    qtbot.waitUntil(lambda: bar.isVisible() and bar.list.hasFocus(), timeout=PATIENCE)
    for mine, answer in (("7g7f", "3c3d"), ("2g2f", "8c8d")):
        QTest.keyClicks(QApplication.focusWidget(), mine)
        QTest.keyClick(QApplication.focusWidget(), Qt.Key.Key_Return)
        for move in (mine, answer):
            assert page.shown is not None
            wanted = page.shown.steps + 1
            live.add([page.shown.playback.boards.position(HEAD, 0).action(move)])
            qtbot.waitUntil(lambda wanted=wanted: page.shown is not None and page.shown.step == wanted)
            page._update()
            assert bar.list.hasFocus()
    assert [one[0] for one in told if one[0] == "act"] == ["act"] * 2
    bar.play.setFocus()
    bar.set_turn(Hands(game.info, [0]), game.info, ["You", "Other"], -1, [], str)
    assert bar.list.hasFocus(), "and not what comes after the button"
    bar.resign.setFocus()
    for key in (KEY.Key_Return, KEY.Key_Space, KEY.Key_Space, KEY.Key_Return):
        QTest.keyClick(QApplication.activePopupWidget() or bar.resign, key)
    assert not any(one[-1] == RESIGN for one in told), "it is a choice in a menu"
    bar.menu.close()
    page.stop()


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
