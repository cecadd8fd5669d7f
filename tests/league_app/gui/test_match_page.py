"""The Match page: live, replayed and played; it follows, it stays, and it never waits for anybody."""

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

from engine.league import standings as tables
from engine.play import replay
from engine.play.concurrent import ConcurrentMatchExecutor
from engine.play.live import LiveMatch
from engine.play.match import Ending, EndingKind, MatchSpec
from engine.registry import GAMES, KINDS, new_game
from league_app.gui import theme
from league_app.gui.context import Desk
from league_app.gui.match.page import MatchPage
from league_app.gui.dialogs.exhibition import ExhibitionSheet
from league_app.gui.match.player import Show
from league_app.gui.match.view import NOTHING
from tests.faults.conftest import SITE
from tests.faults.league import sick

PATIENCE = 30_000
LIVE = new_game("pong", points=1, step_limit=600).spec
LONG = new_game("pong", step_limit=100_000, paddle_height=300.0, top_speed=7.0).spec


@pytest.fixture
def page(desk: Desk, qtbot: QtBot) -> Iterator[MatchPage]:
    yield from opened(desk, qtbot)


def opened(desk: Desk, qtbot: QtBot) -> Iterator[MatchPage]:
    made = MatchPage(desk)
    qtbot.addWidget(made)
    desk.wanted.connect(lambda name, what: made.show_what(what))  # as a window does
    made.resize(900, 640)
    made.show()
    yield made
    made.stop()


def shown(page: MatchPage, qtbot: QtBot) -> Show:
    qtbot.waitUntil(lambda: page.shown is not None, timeout=PATIENCE)
    assert page.shown is not None
    return page.shown


def replayed(page: MatchPage, qtbot: QtBot, reference: str = "1.5") -> Show:
    page.show_what(reference)
    show = shown(page, qtbot)
    qtbot.waitUntil(lambda: page.ring.head.plates[0].text.count("\u00b1") == 1, timeout=PATIENCE)
    return show


def watching(page: MatchPage, qtbot: QtBot, **plan: object) -> Show:
    """A tournament with visual mode on, and its first match."""
    state = page.desk.league
    state.show_visuals = True
    chosen = {"game": LIVE, "agents": ["Tracker", "Shaky", "Predictor"], "seed": 5, **plan}
    state.start_tournament(options={"rounds": 1}, **chosen)
    qtbot.waitUntil(lambda: page.shown is not None and page.shown.kind == "live", timeout=PATIENCE)
    show = page.shown
    assert show is not None
    qtbot.waitUntil(lambda: show.steps > 0, timeout=PATIENCE)
    return show


# Replays


def test_without_a_match_there_is_a_sentence_and_one_button(bare: Desk, qtbot: QtBot) -> None:
    page = next(opened(bare, qtbot))
    assert page.ring.layers.currentWidget() is page.ring.empty
    assert page.ring.empty.sentence.text() == NOTHING
    page.show_what("1.1")
    for doing in (page.watch_live, page.play_pause, page.skip, page.take_over, page.watch, page.stop):
        doing()
    assert page.shown is None


def test_a_match_of_the_league_plays_by_itself_and_ends_as_it_was_recorded(page: MatchPage, qtbot: QtBot) -> None:
    show = replayed(page, qtbot)
    record = tables.match(page.desk.league.league, "1.5")
    ring = page.ring
    qtbot.waitUntil(lambda: show.step > 3)
    assert (ring.head.badge.text, show.steps) == ("REPLAY", record.result.steps)
    assert [plate.toolTip() != "" for plate in ring.head.plates] == [True, True]
    assert ring.head.plates[0].accessibleName() == f"Seat 1: {record.spec.players[0].id}"
    page.to_end()
    assert show.step == record.result.steps
    assert ring.head.score.text() == " \u2013 ".join(f"{one:g}" for one in record.result.scores)
    assert ring.stats.values == record.result.stats
    winner = record.result.ranks.index(1)
    assert [plate.mark for plate in ring.head.plates][winner] == "winner"
    assert "Finished by the rules" in ring.facts.ending.text()
    assert ring.canvas.accessibleDescription() == show.playback.scene().caption
    qtbot.waitUntil(lambda: not page._timer.isActive())


def test_keys_drive_it(page: MatchPage, qtbot: QtBot) -> None:
    show = replayed(page, qtbot)
    board = page.ring.canvas
    QTest.keyClick(board, Qt.Key.Key_Space)
    assert show.paused
    at = show.step
    places = []
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Left, Qt.Key.Key_End, Qt.Key.Key_Home):
        QTest.keyClick(board, key)
        places.append(show.step)
    assert places == [at + 1, at + 2, at + 1, show.steps, 0]
    speeds = []
    for key in [Qt.Key.Key_Plus] * 5 + [Qt.Key.Key_Minus] * 7:
        QTest.keyClick(board, key)
        speeds.append(show.speed)
    assert speeds == [2, 4, 8, 16, 16, 8, 4, 2, 1, 0.5, 0.25, 0.25]
    assert page.ring.transport.speed.currentText() == "0.25\u00d7"
    page.ring.transport.speed.setCurrentIndex(3)
    assert show.speed == 2
    QTest.keyClick(board, Qt.Key.Key_Space)
    assert not show.paused


def test_the_scrubber_goes_where_it_is_put_and_shows_where_points_were_made(page: MatchPage, qtbot: QtBot) -> None:
    show = replayed(page, qtbot)
    page.play_pause()
    scrubber = page.ring.transport.scrubber
    scrubber.setValue(40)
    assert show.step == 40
    middle = QPoint(scrubber.width() // 2, scrubber.height() // 2)
    QTest.mouseClick(scrubber, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, middle)
    assert show.step == pytest.approx(show.steps / 2, abs=show.steps / 50)
    assert len(scrubber.marks) == sum(tables.match(page.desk.league.league, "1.5").result.scores)
    assert page.ring.transport.place.text() == f"{show.step:,} / {show.steps:,}"


def test_a_match_can_be_kept_as_a_file_and_opened_from_it(page: MatchPage, qtbot: QtBot, tmp_path: Path) -> None:
    replayed(page, qtbot)
    record = tables.match(page.desk.league.league, "1.5")
    page.ring.command.click()
    assert QGuiApplication.clipboard().text() == f"ringside reproduce {page.desk.league.league.path} 1.5"
    file = tmp_path / "one.replay"
    page.guests.save_to(str(file))
    qtbot.waitUntil(file.exists)
    assert replay.load(file)[0].result.digest() == record.result.digest()
    page.show_what(file)
    qtbot.waitUntil(lambda: page.program.shown is not None and page.program.shown.bill.event == "one.replay")
    assert not page.ring.command.isEnabled()
    assert page.shown is not None
    assert page.shown.steps == record.result.steps


def test_a_replay_that_cannot_be_read_is_told_and_what_was_shown_stays(
    page: MatchPage, qtbot: QtBot, tmp_path: Path
) -> None:
    show = replayed(page, qtbot)
    bad = tmp_path / "bad.replay"
    bad.write_text("{}")
    heard: list[object] = []
    page.desk.failed.disconnect()
    page.desk.failed.connect(heard.append)
    page.show_what(bad)
    qtbot.waitUntil(lambda: bool(heard))
    assert "bad.replay" in str(heard[0])
    assert page.shown is show


def test_a_forfeit_is_explained(page: MatchPage, qtbot: QtBot) -> None:
    record = tables.match(page.desk.league.league, "1.5")
    live = stub(record.spec)
    page.show_what(live)
    shown(page, qtbot)
    ending = Ending(EndingKind.EXCEPTION, (1,), "RuntimeError: I give up; it last printed: <b>oh</b>")
    live.end(replace(record.result, ending=ending, ranks=(1, 2), steps=0))
    qtbot.waitUntil(lambda: bool(page.ring.facts.ending.text()))
    name = record.spec.players[1].id
    assert f"{name} forfeits: its code raised an error" in page.ring.facts.ending.text()
    assert page.ring.facts.reason.toPlainText() == ending.reason
    assert [plate.mark for plate in page.ring.head.plates] == ["winner", "forfeit"]


def test_names_are_texts_and_never_widen_the_page(page: MatchPage, qtbot: QtBot) -> None:
    state = page.desk.league
    state.change_agent("Tracker", name="<b>bold</b> & " + "W" * 100)
    state.change_agent("Shaky", name="\U0001f3d3" * 60)
    reference = next(
        one.reference
        for one in tables.history(state.league, tournament=1)
        if {player.id for player in one.spec.players} == {"Tracker", "Shaky"}
    )
    replayed(page, qtbot, reference)
    page.to_end()
    page.resize(730, 560)
    for look in ("light", "dark"):
        theme.apply(look)
        assert page.grab().width() == 730
    assert page.ring.minimumSizeHint().width() <= 730
    assert "&lt;b&gt;" in page.ring.head.plates[0].toolTip() + page.ring.head.plates[1].toolTip()


# Live


def stub(spec: MatchSpec, told: list[list[object]] | None = None) -> LiveMatch:
    """Played by the test itself."""
    heard: list[list[object]] = [] if told is None else told
    return LiveMatch(spec, 60.0, lambda live, words: heard.append(words), lambda live: heard.append(["close"]))


def test_the_live_match_is_followed_to_its_record_and_then_the_next(page: MatchPage, qtbot: QtBot) -> None:
    first = watching(page, qtbot)
    state = page.desk.league
    assert (page.ring.head.badge.text, first.following) == ("LIVE", True)
    page.set_speed(16.0)
    assert state.job is not None
    assert state.job.stage.speed == 16.0, "the next ones too"
    page.skip()
    qtbot.waitUntil(lambda: first.at_end, timeout=PATIENCE)
    assert page.shown is first, "its end is held for a moment"
    result = first.result
    assert result is not None
    assert (first.playback.scores(), first.playback.stats()) == (result.scores, result.stats)
    qtbot.waitUntil(lambda: page.shown is not first, timeout=PATIENCE)
    second = page.shown
    assert second is not None
    assert second.kind == "live"
    recorded = [one for one in tables.history(state.league, tournament=3) if one.spec.id == first.spec.id]
    assert [one.result.digest() for one in recorded] == [result.digest()]


def test_pausing_what_is_followed_pauses_the_match_itself(page: MatchPage, qtbot: QtBot) -> None:
    show = watching(page, qtbot, game=LONG)
    job = page.desk.league.job
    assert job is not None
    page.play_pause()
    qtbot.waitUntil(lambda: job.progress().text == "paused")
    qtbot.waitUntil(lambda: page.ring.head.badge.text == "PAUSED")
    page.play_pause()
    qtbot.waitUntil(lambda: job.progress().text == "live")
    qtbot.waitUntil(lambda: page.ring.head.badge.text == "LIVE")
    page.step(-5)
    at, steps = show.step, show.steps
    qtbot.waitUntil(lambda: show.steps > steps + 10, timeout=PATIENCE)
    assert show.step == at, "who looks back stays there while the match goes on"
    assert job.progress().text == "live"
    page.to_end()
    assert show.following
    page.skip()
    qtbot.waitUntil(lambda: show.steps > 1000, timeout=PATIENCE)


def test_with_visual_mode_off_the_end_of_the_match_is_shown(page: MatchPage, qtbot: QtBot) -> None:
    show = watching(page, qtbot)
    page.desk.league.show_visuals = False
    qtbot.waitUntil(lambda: show.at_end, timeout=PATIENCE)
    qtbot.waitUntil(lambda: not page.desk.league.running, timeout=PATIENCE)
    assert page.shown is show
    assert show.result is not None
    page._ask_reference()
    qtbot.waitUntil(lambda: page.program.shown is not None and page.program.shown.bill.reference != "")
    assert page.ring.command.isEnabled()


def test_an_open_replay_stays_and_offers_the_live_match(page: MatchPage, qtbot: QtBot) -> None:
    show = replayed(page, qtbot)
    state = page.desk.league
    state.show_visuals = True
    state.start_tournament(game=LONG, agents=["Tracker", "Shaky"], options={"rounds": 1}, seed=5)
    qtbot.waitUntil(page.ring.pill.isVisible, timeout=PATIENCE)
    assert page.shown is show
    assert page.ring.head.badge.text == "REPLAY"
    assert page.ring.pill.text().startswith("Live: ")
    assert page.ring.pill.text().endswith(", watch")
    page.ring.pill.click()
    qtbot.waitUntil(lambda: page.shown is not None and page.shown.kind == "live", timeout=PATIENCE)
    qtbot.waitUntil(lambda: not page.ring.pill.isVisible())


def test_nothing_is_painted_while_the_page_is_hidden_and_coming_back_catches_up(page: MatchPage, qtbot: QtBot) -> None:
    show = watching(page, qtbot, game=LONG)
    page.hide()
    assert not page._timer.isActive()
    at = show.step
    live = show.live
    assert live is not None
    qtbot.waitUntil(lambda: len(live._actions) > 60, timeout=PATIENCE)
    assert show.step == at
    page.show()
    qtbot.waitUntil(lambda: show.step > at + 20, timeout=PATIENCE)


# Exhibitions


def test_two_agents_are_watched_and_the_match_ends_with_the_page(page: MatchPage, qtbot: QtBot) -> None:
    page.watch()
    qtbot.waitUntil(lambda: page.findChild(ExhibitionSheet) is not None)
    sheet = page.findChild(ExhibitionSheet)
    assert isinstance(sheet, ExhibitionSheet)
    best = [row.name for row in page.desk.league.standings().rows][:2]
    assert [seat.currentText() for seat in sheet.seats] == best, "the match that is most worth watching"
    sheet.go.click()
    show = shown(page, qtbot)
    qtbot.waitUntil(lambda: show.step > 2, timeout=PATIENCE)
    assert page.ring.head.badge.text == "EXHIBITION"
    page.play_pause()
    qtbot.waitUntil(lambda: page.ring.head.badge.text == "PAUSED")
    live = show.live
    assert live is not None
    page.stop()
    qtbot.waitUntil(lambda: live.result is not None)
    assert live.result is not None
    assert live.result.ending.kind is EndingKind.CANCELLED
    assert page.ring.layers.currentWidget() is page.ring.empty


def test_showing_something_else_ends_an_exhibition(page: MatchPage, qtbot: QtBot) -> None:
    told: list[list[object]] = []
    live = stub(tables.match(page.desk.league.league, "1.1").spec, told)
    page.show_what(live)
    shown(page, qtbot)
    page.show_what("1.5")
    qtbot.waitUntil(lambda: ["close"] in told)
    qtbot.waitUntil(lambda: page.shown is not None and page.shown.kind == "replay")


def test_nonsense_from_a_worker_is_told_on_the_page(page: MatchPage, qtbot: QtBot) -> None:
    live = stub(tables.match(page.desk.league.league, "1.1").spec)
    page.show_what(live)
    shown(page, qtbot)
    live.add([0, 0, 9, 9])
    qtbot.waitUntil(page.ring.notice.isVisible)
    assert "makes no sense" in page.ring.notice.text()
    assert not page.ring.transport.skip.isEnabled()


def test_an_agent_that_hangs_holds_up_nobody_but_itself(page: MatchPage, qtbot: QtBot) -> None:
    sys.path.append(SITE)
    for registry in (GAMES, KINDS):
        registry.rescan()
    try:
        spec = MatchSpec("hangs", LIVE, (sick("", name="well"), sick("sleep", name="hangs")), 1)
        with ConcurrentMatchExecutor(1, watchdog=1.0, lanes=4) as executor:
            live = executor.watch(spec)
            page.show_what(live)
            show = shown(page, qtbot)
            ticks: list[int] = []
            page._timer.timeout.connect(lambda: ticks.append(show.steps))
            qtbot.waitUntil(lambda: show.complete, timeout=PATIENCE)
            assert show.result is not None
            assert ticks.count(show.steps) > 5, "the window goes on while the agent does not"
            assert (show.result.ending.kind, show.result.ending.seats) == (EndingKind.TIMEOUT, (1,))
            qtbot.waitUntil(lambda: "took too long" in page.ring.facts.ending.text())
            page.stop()
    finally:
        sys.path.remove(SITE)
        GAMES.remove("broken-rules")
        for name in ("fault", "shared-fault"):
            KINDS.remove(name)
        for registry in (GAMES, KINDS):
            registry.rescan()


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)  # of menus, where there is no screen
def test_a_seat_is_taken_over_and_played_with_keys(page: MatchPage, qtbot: QtBot) -> None:
    show = replayed(page, qtbot)
    page.to_start()
    page.step(30)
    page.take_over()
    menu = page.guests.menu
    assert len(menu.actions()) == 2
    menu.hide()
    menu.actions()[0].trigger()
    qtbot.waitUntil(lambda: page.shown is not show, timeout=PATIENCE)
    mine = page.shown
    assert mine is not None
    qtbot.waitUntil(lambda: mine.step >= 30, timeout=PATIENCE)
    assert mine.spec.players[1] == show.spec.players[1]
    assert page.ring.human.isVisible()
    assert "W/S" in page.ring.human.words.text()
    board = page.ring.canvas
    qtbot.waitUntil(lambda: mine.step > 32, timeout=PATIENCE)
    for pressed, action in ((QTest.keyPress, 1), (QTest.keyRelease, 0)):
        pressed(board, Qt.Key.Key_W)
        qtbot.waitUntil(lambda action=action: mine.actions_of(0)[-5:] == [action] * 5, timeout=PATIENCE)
    assert page.ring.head.badge.text == "EXHIBITION"
