"""Human players: key bindings, and games that are played from a list."""

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
from league_app.gui.context import AppContext
from league_app.gui.dialogs.exhibition import YOU, ExhibitionDialog
from league_app.gui.match.human_input import WAIT, HumanInputBar
from league_app.gui.match.key_bindings import KeyBindings
from league_app.gui.match.page import MatchPage
from tests.league_app.gui.test_match_page import LONG, stub
from tests.plugins.tictactoe import TicTacToe

KEY = Qt.Key
PONG = new_game("pong").info
STAY, UP, DOWN = 0, 1, 2


def test_one_player_may_use_letters_and_arrows_and_the_last_key_wins() -> None:
    bindings = KeyBindings(PONG, [1])
    assert bindings.covers_all_actions
    assert bindings.press(KEY.Key_W) == (1, UP)
    assert bindings.press(KEY.Key_Down) == (1, DOWN)
    assert bindings.release(KEY.Key_Down) == (1, UP), "the other one is still held"
    assert bindings.release(KEY.Key_W) == (1, STAY)
    assert bindings.release(KEY.Key_W) is None
    assert not bindings.binds(KEY.Key_Left), "it steps back"
    bindings.press(KEY.Key_S)
    assert bindings.release_all() == [(1, STAY)]


def test_two_players_at_one_keyboard_have_separate_keys() -> None:
    bindings = KeyBindings(PONG, [0, 1])
    assert (bindings.press(KEY.Key_S), bindings.press(KEY.Key_Up)) == ((0, DOWN), (1, UP))
    assert bindings.release(KEY.Key_S) == (0, STAY)
    assert bindings.release_all() == [(1, STAY)]
    assert (bindings.describe(0), bindings.describe(1)) == ("W/S", "up/down arrows")


def test_a_game_without_keys_is_played_from_a_list(qtbot: QtBot) -> None:
    bar = HumanInputBar()
    qtbot.addWidget(bar)
    board = TicTacToe(TicTacToe.Options())
    bindings = KeyBindings(board.info, [0])
    assert not bindings.covers_all_actions
    acted: list[tuple[int, int]] = []
    bar.acted.connect(lambda seat, action: acted.append((seat, action)))
    bar.set_turn(bindings, board.info, ["You", "Other"], 0, [2, 5, 7], "Action {}".format)
    bar.show()
    assert bar.list.count() == 3
    bar.list.setCurrentIndex(1)
    QTest.mouseClick(bar.play, Qt.MouseButton.LeftButton)
    assert acted == [(0, 5)]
    bar.set_turn(bindings, board.info, ["You", "Other"], -1, [], str)
    assert not bar.play.isEnabled()
    QTest.mouseClick(bar.play, Qt.MouseButton.LeftButton)
    assert acted == [(0, 5)]


def test_bound_keys_are_not_intercepted_by_the_list(qtbot: QtBot) -> None:
    """In a game with directions and other actions, the list offers the others."""
    bar = HumanInputBar()
    qtbot.addWidget(bar)
    info = dataclasses.replace(PONG, actions=4, action_names=(*PONG.action_names, "fire"))
    bindings = KeyBindings(info, [0])
    assert bindings.describe(0)
    assert not bindings.covers_all_actions
    bar.set_turn(bindings, info, ["You", "Other"], 0, [0, 1, 2, 3], info.action_names.__getitem__)
    bar.show()
    assert bar.list.isVisible()
    assert not bar.focus_input()
    assert not bar.list.hasFocus()


def test_one_of_many_actions_is_typed(qtbot: QtBot) -> None:
    bar = HumanInputBar()
    qtbot.addWidget(bar)
    game = new_game("shogi")
    boards, lane = game.boards(1), np.array([0], np.uint32)
    boards.deal(lane, np.array([1], np.uint64), ["startpos"])
    position = boards.position(0, 0)
    acted: list[tuple[int, int]] = []
    bar.acted.connect(lambda seat, action: acted.append((seat, action)))
    choices = position.legal().tolist()
    bar.set_turn(KeyBindings(game.info, [0]), game.info, ["You", "Other"], 0, choices, position.name)
    bar.show()
    assert [bar.list.itemText(n) for n in range(2)] == ["1g1f", "1i1h"]
    for typed in ("7g7e", "7g7f"):
        enter(bar, typed)
    assert acted == [(0, position.action("7g7f"))]


def enter(bar: HumanInputBar, typed: str) -> None:
    """Type over the selection and press Enter."""
    edit = bar.list.lineEdit()
    assert edit is not None
    QTest.keyClicks(edit, typed)
    QTest.keyClick(edit, Qt.Key.Key_Return)


def test_an_illegal_move_shows_an_error_and_stays_selected(qtbot: QtBot) -> None:
    bar = HumanInputBar()
    qtbot.addWidget(bar)
    game = new_game("shogi")
    position = game.boards(1).position(0, 0).from_sfen("4k4/9/9/9/9/9/4P4/9/4K4 b G 1")
    acted: list[tuple[int, int]] = []
    bar.acted.connect(lambda seat, action: acted.append((seat, action)))
    bindings, names, choices = KeyBindings(game.info, [0]), ["You", "Other"], position.legal().tolist()
    bar.set_turn(bindings, game.info, names, 0, choices, position.name, position.mistake)
    bar.show()
    errors = {
        "5g5e": "5g5e is not legal here",
        "P*1e": "P*1e is not legal here",
        "pawn": "pawn is not a move: write moves like 7g7f, 8h2b+ or P*5e",
        "<b>up and away we go": "<b>up and away w\u2026 is not a move: write moves like 7g7f, 8h2b+ or P*5e",
    }
    edit = bar.list.lineEdit()
    assert edit is not None
    for typed, wrong in errors.items():
        enter(bar, typed)
        assert (bar.error.text(), bar.error.isVisible(), bar.turn.isVisible()) == (wrong, True, False)
        assert (edit.selectedText(), bar.list.property("wrong")) == (typed, True)
        assert bar.list.accessibleDescription() == wrong
    assert bar.error.textFormat() == Qt.TextFormat.PlainText
    QTest.keyClicks(edit, "g")
    assert (bar.error.isVisible(), bar.turn.isVisible(), bar.list.property("wrong")) == (False, True, False)
    edit.clear()
    enter(bar, "g*4e")
    assert acted == [(0, position.action("G*4e"))], "case is ignored if only one action fits"
    enter(bar, "")
    assert not bar.error.isVisible(), "Qt reports Enter twice"
    bar.set_turn(bindings, game.info, names, -1, [], position.name, position.mistake)
    enter(bar, "5g5f")
    assert (len(acted), bar.error.text()) == (1, WAIT)
    bar.set_turn(bindings, game.info, names, 0, choices, position.name, position.mistake)
    assert (edit.text(), bar.error.text()) == ("5g5f", ""), "text typed ahead is kept"
    QTest.keyClick(edit, Qt.Key.Key_Return)
    assert acted[1:] == [(0, position.action("5g5f"))]


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)  # from menus without a screen
def test_the_field_keeps_the_focus_and_resign_never_gets_it(context: AppContext, qtbot: QtBot) -> None:
    """In a match of Shogi the field has the focus at every turn, and resigning asks for confirmation."""
    page = MatchPage(context)
    stack, other = QStackedWidget(), QLineEdit()
    stack.addWidget(page)
    stack.addWidget(other)
    qtbot.addWidget(stack)
    stack.show()
    stack.activateWindow()
    stack.setCurrentIndex(1)
    other.setFocus()
    commands: list[list[object]] = []
    game = new_game("shogi", opening="none")
    bot = KINDS.get("shogi-bot").samples(game)[0]
    live = stub(MatchSpec("mine", game.spec, (person(), bot), 1), commands=commands)
    page.show_item(live)
    bar = page.view.human_input
    qtbot.waitUntil(lambda: page.shown is not None)
    assert other.hasFocus(), "the focus is not taken from another widget"
    stack.setCurrentIndex(0)
    qtbot.waitUntil(lambda: bar.isVisible() and bar.list.hasFocus())
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
    assert [command[0] for command in commands if command[0] == "act"] == ["act"] * 2
    bar.play.setFocus()
    bar.set_turn(KeyBindings(game.info, [0]), game.info, ["You", "Other"], -1, [], str)
    assert bar.list.hasFocus(), "not the next widget"
    bar.resign.setFocus()
    for key in (KEY.Key_Return, KEY.Key_Space, KEY.Key_Space, KEY.Key_Return):
        QTest.keyClick(QApplication.activePopupWidget() or bar.resign, key)
    assert not any(command[-1] == RESIGN for command in commands), "resigning is confirmed in a menu"
    bar.menu.close()
    page.stop()


def test_a_human_can_be_chosen_for_a_seat(context: AppContext, qtbot: QtBot) -> None:
    chosen: list[tuple[list[str], int]] = []
    agents = context.league.agents("pong")
    dialog = ExhibitionDialog(None, "Pong", 2, agents, lambda players, seed: chosen.append((players, seed)), seed=4)
    qtbot.addWidget(dialog)
    assert dialog.seats[0].itemText(0) == YOU
    dialog.seats[0].setCurrentIndex(0)
    dialog.seats[1].setCurrentIndex(3)
    dialog.go.click()
    assert chosen == [(["", agents[2].id], 4)]


def test_a_key_reaches_the_live_match_and_is_released_with_the_page(context: AppContext, qtbot: QtBot) -> None:
    page = MatchPage(context)
    qtbot.addWidget(page)
    page.show()
    commands: list[list[object]] = []
    bots = list(KINDS.get("pong-bot").samples(new_game("pong")))
    live = stub(MatchSpec("mine", LONG, (bots[0], person()), 1), commands=commands)
    page.show_item(live)
    qtbot.waitUntil(lambda: page.shown is not None)
    QTest.keyPress(page.view.canvas, KEY.Key_Up)
    qtbot.waitUntil(lambda: ["act", 1, UP] in commands)
    page.hide()
    qtbot.waitUntil(lambda: commands[-1] == ["act", 1, STAY])
    page.stop()


def test_a_human_in_a_tournament_plays_its_live_match(context: AppContext, qtbot: QtBot) -> None:
    state = context.league
    state.league.add_agent("Me", "pong", person("Me"))
    page = MatchPage(context)
    qtbot.addWidget(page)
    page.show()
    state.show_visuals = True
    state.start_tournament(game=LONG, agents=["Me", "Tracker"], options={"rounds": 1}, seed=3)
    qtbot.waitUntil(lambda: page.shown is not None and page.shown.steps > 0)
    player = page.shown
    assert player is not None
    assert page.view.human_input.isVisible()
    seat = [agent.id for agent in player.spec.players].index("Me")
    QTest.keyPress(page.view.canvas, KEY.Key_S)
    qtbot.waitUntil(lambda: player.actions_of(seat)[-5:] == [DOWN] * 5)
    page.stop()
