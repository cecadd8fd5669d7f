"""The Match page with live matches, replays and human players."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from agents.human import person
from engine.league import played_matches
from engine.play import replay
from engine.play.concurrent import ConcurrentMatchExecutor
from engine.play.live import LiveMatch
from engine.play.match import Ending, EndingKind, MatchSpec
from engine.registry import GAMES, KINDS, new_game
from league_app.gui import theme
from league_app.gui.context import AppContext
from league_app.gui.dialogs.exhibition import ExhibitionDialog
from league_app.gui.match.page import MatchPage
from league_app.gui.match.player import MatchPlayer
from league_app.gui.match.view import BEGINS_AGAIN, NOTHING
from tests.faults.conftest import SITE
from tests.faults.league import SHORT_WATCHDOG, sick

LIVE = new_game("pong", points=1, step_limit=600).spec
LONG = new_game("pong", step_limit=100_000, paddle_height=300.0, top_speed=7.0).spec


@pytest.fixture
def page(context: AppContext, qtbot: QtBot) -> Iterator[MatchPage]:
    yield from opened(context, qtbot)


def opened(context: AppContext, qtbot: QtBot) -> Iterator[MatchPage]:
    page = MatchPage(context)
    qtbot.addWidget(page)
    context.navigation_requested.connect(lambda name, what: page.show_item(what))  # as the window does
    page.resize(900, 640)
    page.show()
    yield page
    page.stop()


def shown(page: MatchPage, qtbot: QtBot) -> MatchPlayer:
    qtbot.waitUntil(lambda: page.shown is not None)
    assert page.shown is not None
    return page.shown


def replayed(page: MatchPage, qtbot: QtBot, reference: str = "1.5") -> MatchPlayer:
    page.show_item(reference)
    player = shown(page, qtbot)
    qtbot.waitUntil(lambda: page.view.header.plates[0].text.count("\u00b1") == 1)
    return player


def watching(page: MatchPage, qtbot: QtBot, **plan: object) -> MatchPlayer:
    """Start a tournament with visual mode on; return its first match."""
    state = page.context.league
    state.show_visuals = True
    chosen = {"game": LIVE, "agents": ["Tracker", "Shaky", "Predictor"], "seed": 5, **plan}
    state.start_tournament(options={"rounds": 1}, **chosen)
    qtbot.waitUntil(lambda: page.shown is not None and page.shown.kind == "live")
    player = page.shown
    assert player is not None
    qtbot.waitUntil(lambda: player.steps > 0)
    return player


# Replays


def test_the_empty_page_has_a_sentence_and_one_button(bare: AppContext, qtbot: QtBot) -> None:
    page = next(opened(bare, qtbot))
    assert page.view.layers.currentWidget() is page.view.empty
    assert page.view.empty.sentence.text() == NOTHING
    page.show_item("1.1")
    for doing in (page.watch_live, page.play_pause, page.skip, page.take_over, page.watch, page.stop):
        doing()
    assert page.shown is None


def test_a_recorded_match_plays_back_to_its_recorded_result(page: MatchPage, qtbot: QtBot) -> None:
    player = replayed(page, qtbot)
    record = played_matches.match(page.context.league.league, "1.5")
    view = page.view
    qtbot.waitUntil(lambda: player.step > 3)
    assert (view.header.badge.text, player.steps) == ("REPLAY", record.result.steps)
    assert [plate.toolTip() != "" for plate in view.header.plates] == [True, True]
    assert view.header.plates[0].accessibleName() == f"Seat 1: {record.spec.players[0].id}"
    page.to_end()
    assert player.step == record.result.steps
    assert view.header.score.text() == " \u2013 ".join(f"{score:g}" for score in record.result.scores)
    assert view.stats.values == record.result.stats
    winner = record.result.ranks.index(1)
    assert [plate.mark for plate in view.header.plates][winner] == "winner"
    assert "Finished by the rules" in view.details.ending.text()
    assert view.canvas.accessibleDescription() == player.playback.scene().caption
    qtbot.waitUntil(lambda: not page._timer.isActive())


def test_keys_control_playback(page: MatchPage, qtbot: QtBot) -> None:
    player = replayed(page, qtbot)
    board = page.view.canvas
    QTest.keyClick(board, Qt.Key.Key_Space)
    assert player.paused
    at = player.step
    places = []
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Left, Qt.Key.Key_End, Qt.Key.Key_Home):
        QTest.keyClick(board, key)
        places.append(player.step)
    assert places == [at + 1, at + 2, at + 1, player.steps, 0]
    speeds = []
    for key in [Qt.Key.Key_Plus] * 5 + [Qt.Key.Key_Minus] * 7:
        QTest.keyClick(board, key)
        speeds.append(player.speed)
    assert speeds == [2, 4, 8, 16, 16, 8, 4, 2, 1, 0.5, 0.25, 0.25]
    assert page.view.playback_bar.speed.currentText() == "0.25\u00d7"
    page.view.playback_bar.speed.setCurrentIndex(3)
    assert player.speed == 2
    QTest.keyClick(board, Qt.Key.Key_Space)
    assert not player.paused


def test_the_scrubber_seeks_and_marks_scores(page: MatchPage, qtbot: QtBot) -> None:
    player = replayed(page, qtbot)
    page.play_pause()
    scrubber = page.view.playback_bar.scrubber
    scrubber.setValue(40)
    assert player.step == 40
    middle = QPoint(scrubber.width() // 2, scrubber.height() // 2)
    QTest.mouseClick(scrubber, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, middle)
    assert player.step == pytest.approx(player.steps / 2, abs=player.steps / 50)
    assert len(scrubber.marks) == sum(played_matches.match(page.context.league.league, "1.5").result.scores)
    assert page.view.playback_bar.position.text() == f"{player.step:,} / {player.steps:,}"


def test_a_match_can_be_saved_as_a_file_and_opened_from_it(page: MatchPage, qtbot: QtBot, tmp_path: Path) -> None:
    replayed(page, qtbot)
    record = played_matches.match(page.context.league.league, "1.5")
    page.view.copy_button.click()
    assert QGuiApplication.clipboard().text() == f"ringside reproduce {page.context.league.league.path} 1.5"
    file = tmp_path / "one.replay"
    page.match_actions.save_to(str(file))
    qtbot.waitUntil(file.exists)
    assert replay.load(file)[0].result.digest() == record.result.digest()
    page.show_item(file)
    qtbot.waitUntil(lambda: page.queue.shown is not None and page.queue.shown.info.event == "one.replay")
    assert not page.view.copy_button.isEnabled()
    assert page.shown is not None
    assert page.shown.steps == record.result.steps


def test_an_unreadable_replay_is_reported_and_the_shown_match_stays(
    page: MatchPage, qtbot: QtBot, tmp_path: Path
) -> None:
    player = replayed(page, qtbot)
    bad = tmp_path / "bad.replay"
    bad.write_text("{}")
    errors: list[object] = []
    page.context.failed.disconnect()
    page.context.failed.connect(errors.append)
    page.show_item(bad)
    qtbot.waitUntil(lambda: bool(errors))
    assert "bad.replay" in str(errors[0])
    assert page.shown is player


def test_a_forfeit_is_explained(page: MatchPage, qtbot: QtBot) -> None:
    record = played_matches.match(page.context.league.league, "1.5")
    live = stub(record.spec)
    page.show_item(live)
    shown(page, qtbot)
    ending = Ending(EndingKind.EXCEPTION, (1,), "RuntimeError: I give up; it last printed: <b>oh</b>")
    live.end(replace(record.result, ending=ending, ranks=(1, 2), steps=0))
    qtbot.waitUntil(lambda: bool(page.view.details.ending.text()))
    name = record.spec.players[1].id
    assert f"{name} forfeited: its code raised an error" in page.view.details.ending.text()
    assert page.view.details.reason.toPlainText() == ending.reason
    assert [plate.mark for plate in page.view.header.plates] == ["winner", "forfeit"]


def test_names_are_plain_text_and_never_widen_the_page(page: MatchPage, qtbot: QtBot) -> None:
    state = page.context.league
    state.change_agent("Tracker", name="<b>bold</b> & " + "W" * 100)
    state.change_agent("Shaky", name="\U0001f3d3" * 60)
    reference = next(
        match.reference
        for match in played_matches.history(state.league, tournament=1)
        if {player.id for player in match.spec.players} == {"Tracker", "Shaky"}
    )
    replayed(page, qtbot, reference)
    page.to_end()
    page.resize(730, 560)
    for look in ("light", "dark"):
        theme.apply(look)
        assert page.grab().width() == 730
    assert page.view.minimumSizeHint().width() <= 730
    assert "&lt;b&gt;" in page.view.header.plates[0].toolTip() + page.view.header.plates[1].toolTip()


# Live


def stub(spec: MatchSpec, commands: list[list[object]] | None = None) -> LiveMatch:
    """A live match that is played by the test."""
    received: list[list[object]] = [] if commands is None else commands
    return LiveMatch(spec, 60.0, lambda live, words: received.append(words), lambda live: received.append(["close"]))


def test_the_live_match_is_followed_to_its_record_and_then_the_next(page: MatchPage, qtbot: QtBot) -> None:
    first = watching(page, qtbot)
    state = page.context.league
    assert (page.view.header.badge.text, first.following) == ("LIVE", True)
    page.set_speed(16.0)
    assert state.job is not None
    assert state.speed == 16.0, "the speed applies to the next matches too"
    page.skip()
    qtbot.waitUntil(lambda: first.at_end)
    assert page.shown is first, "its end is shown for a moment"
    result = first.result
    assert result is not None
    assert (first.playback.scores(), first.playback.stats()) == (result.scores, result.stats)
    qtbot.waitUntil(lambda: page.shown is not first)
    second = page.shown
    assert second is not None
    assert second.kind == "live"
    recorded = [match for match in played_matches.history(state.league, tournament=3) if match.spec.id == first.spec.id]
    assert [match.result.digest() for match in recorded] == [result.digest()]


def test_pausing_a_followed_match_pauses_the_match_itself(page: MatchPage, qtbot: QtBot) -> None:
    player = watching(page, qtbot, game=LONG)
    job = page.context.league.job
    assert job is not None
    page.play_pause()
    qtbot.waitUntil(lambda: job.progress().text == "paused")
    qtbot.waitUntil(lambda: page.view.header.badge.text == "PAUSED")
    page.play_pause()
    qtbot.waitUntil(lambda: job.progress().text == "live")
    qtbot.waitUntil(lambda: page.view.header.badge.text == "LIVE")
    page.step(-5)
    at, steps = player.step, player.steps
    qtbot.waitUntil(lambda: player.steps > steps + 10)
    assert player.step == at, "the shown step stays while the match goes on"
    assert job.progress().text == "live"
    page.to_end()
    assert player.following
    page.skip()
    qtbot.waitUntil(lambda: player.steps > 1000)


def test_with_visual_mode_off_the_end_of_the_match_is_shown(page: MatchPage, qtbot: QtBot) -> None:
    player = watching(page, qtbot)
    page.context.league.show_visuals = False
    qtbot.waitUntil(lambda: player.at_end)
    qtbot.waitUntil(lambda: not page.context.league.running)
    assert page.shown is player
    assert player.result is not None
    page._load_reference()
    qtbot.waitUntil(lambda: page.queue.shown is not None and page.queue.shown.info.reference != "")
    assert page.view.copy_button.isEnabled()


def test_an_open_replay_stays_and_offers_the_live_match(page: MatchPage, qtbot: QtBot) -> None:
    player = replayed(page, qtbot)
    state = page.context.league
    state.show_visuals = True
    state.start_tournament(game=LONG, agents=["Tracker", "Shaky"], options={"rounds": 1}, seed=5)
    qtbot.waitUntil(page.view.live_button.isVisible)
    assert page.shown is player
    assert page.view.header.badge.text == "REPLAY"
    assert page.view.live_button.text().startswith("Watch live: ")
    page.view.live_button.click()
    qtbot.waitUntil(lambda: page.shown is not None and page.shown.kind == "live")
    qtbot.waitUntil(lambda: not page.view.live_button.isVisible())


def test_nothing_is_painted_while_the_page_is_hidden_and_coming_back_catches_up(page: MatchPage, qtbot: QtBot) -> None:
    player = watching(page, qtbot, game=LONG)
    page.hide()
    assert not page._timer.isActive()
    at = player.step
    live = player.live
    assert live is not None
    qtbot.waitUntil(lambda: len(live._actions) > 60)
    assert player.step == at
    page.show()
    qtbot.waitUntil(lambda: player.step > at + 20)


# Exhibitions


def test_an_exhibition_is_shown_and_ends_with_the_page(page: MatchPage, qtbot: QtBot) -> None:
    page.watch()
    qtbot.waitUntil(lambda: page.findChild(ExhibitionDialog) is not None)
    dialog = page.findChild(ExhibitionDialog)
    assert isinstance(dialog, ExhibitionDialog)
    best = [row.name for row in page.context.league.standings().rows][:2]
    assert [seat.currentText() for seat in dialog.seats] == best, "the best agents"
    dialog.go.click()
    player = shown(page, qtbot)
    qtbot.waitUntil(lambda: player.step > 2)
    assert page.view.header.badge.text == "EXHIBITION"
    page.play_pause()
    qtbot.waitUntil(lambda: page.view.header.badge.text == "PAUSED")
    live = player.live
    assert live is not None
    page.stop()
    qtbot.waitUntil(lambda: live.result is not None)
    assert live.result is not None
    assert live.result.ending.kind is EndingKind.CANCELLED
    assert page.view.layers.currentWidget() is page.view.empty


def test_opening_another_match_ends_an_exhibition(page: MatchPage, qtbot: QtBot) -> None:
    commands: list[list[object]] = []
    live = stub(played_matches.match(page.context.league.league, "1.1").spec, commands)
    page.show_item(live)
    shown(page, qtbot)
    page.show_item("1.5")
    qtbot.waitUntil(lambda: ["close"] in commands)
    qtbot.waitUntil(lambda: page.shown is not None and page.shown.kind == "replay")


def test_invalid_actions_from_a_worker_are_reported_on_the_page(page: MatchPage, qtbot: QtBot) -> None:
    live = stub(played_matches.match(page.context.league.league, "1.1").spec)
    page.show_item(live)
    shown(page, qtbot)
    live.add([0, 0, 9, 9])
    qtbot.waitUntil(page.view.notice.isVisible)
    assert "not valid" in page.view.notice.text()
    assert not page.view.playback_bar.skip.isEnabled()


def test_a_hanging_agent_does_not_block_the_window(page: MatchPage, qtbot: QtBot) -> None:
    sys.path.append(SITE)
    for registry in (GAMES, KINDS):
        registry.rescan()
    try:
        spec = MatchSpec("hangs", LIVE, (sick("", name="well"), sick("sleep", name="hangs")), 1)
        with ConcurrentMatchExecutor(1, watchdog=SHORT_WATCHDOG, lanes=4) as executor:
            live = executor.watch(spec)
            page.show_item(live)
            player = shown(page, qtbot)
            ticks: list[int] = []
            page._timer.timeout.connect(lambda: ticks.append(player.steps))
            qtbot.waitUntil(lambda: player.complete)
            assert player.result is not None
            assert ticks.count(player.steps) > 5, "the window keeps running"
            assert (player.result.ending.kind, player.result.ending.seats) == (EndingKind.TIMEOUT, (1,))
            qtbot.waitUntil(lambda: "time limit exceeded" in page.view.details.ending.text())
            page.stop()
    finally:
        sys.path.remove(SITE)
        GAMES.remove("broken-rules")
        for name in ("fault", "shared-fault"):
            KINDS.remove(name)
        for registry in (GAMES, KINDS):
            registry.rescan()


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)  # from menus without a screen
def test_a_seat_is_taken_over_and_played_with_keys(page: MatchPage, qtbot: QtBot) -> None:
    player = replayed(page, qtbot)
    page.to_start()
    page.step(30)
    page.take_over()
    menu = page.match_actions.menu
    assert len(menu.actions()) == 2
    menu.hide()
    menu.actions()[0].trigger()
    qtbot.waitUntil(lambda: page.shown is not player)
    mine = page.shown
    assert mine is not None
    qtbot.waitUntil(lambda: mine.step >= 30)
    assert mine.spec.players[1] == player.spec.players[1]
    assert page.view.human_input.isVisible()
    assert "W/S" in page.view.human_input.turn.text()
    board = page.view.canvas
    qtbot.waitUntil(lambda: mine.step > 32)
    for pressed, action in ((QTest.keyPress, 1), (QTest.keyRelease, 0)):
        pressed(board, Qt.Key.Key_W)
        qtbot.waitUntil(lambda action=action: mine.actions_of(0)[-5:] == [action] * 5)
    assert page.view.header.badge.text == "EXHIBITION"


def test_a_match_of_a_human_player_that_was_lost_says_so_and_waits(page: MatchPage, qtbot: QtBot) -> None:
    commands: list[list[object]] = []
    spec = played_matches.match(page.context.league.league, "1.1").spec
    live = stub(replace(spec, players=(person(), spec.players[1])), commands)
    page.show_item(live)
    shown(page, qtbot)
    live.add([0, 0, 0, 0])
    qtbot.waitUntil(lambda: page.shown is not None and page.shown.steps == 2)
    assert not page.view.notice.isVisible()
    live.begin_again()
    qtbot.waitUntil(page.view.notice.isVisible)
    assert page.view.notice.text() == BEGINS_AGAIN
    assert page.view.playback_bar.play.isEnabled()
    page.controls.play_pause(page.shown, 0)
    qtbot.waitUntil(lambda: ["resume"] in commands)
    live.add([0, 0])
    qtbot.waitUntil(lambda: not page.view.notice.isVisible())
