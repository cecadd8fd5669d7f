"""What happens in a match, in words: the line below the board, the names of seats, and how it ended."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from pytestqt.qtbot import QtBot

from agents.human import person
from engine.checks import check_game
from engine.game import RESIGN
from engine.play import replay
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import MatchSpec
from engine.registry import KINDS, new_game
from league_app.gui import theme
from league_app.gui.context import Desk
from league_app.gui.match.page import MatchPage
from league_app.gui.dialogs.exhibition import ExhibitionSheet
from league_app.gui.match.info import Bill, Player
from league_app.gui.match.actions import choice
from league_app.gui.widgets.basics import Elided
from league_app.gui.match.header import Head, in_our_colours
from tests.gui.test_match import PATIENCE, opened, replayed, shown

SHOGI = new_game("shogi")
MATE_IN_ONE = "4k4/9/4P4/9/9/9/9/9/4K4 b G 1"


@pytest.fixture
def page(desk: Desk, qtbot: QtBot) -> Iterator[MatchPage]:
    yield from opened(desk, qtbot)


@pytest.fixture(scope="module")
def mated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A match that is won at the first move."""
    master = [one for one in KINDS.get("shogi-bot").samples(SHOGI) if one.id == "Master"]
    pebble = [one for one in KINDS.get("shogi-bot").samples(SHOGI) if one.id == "Pebble"]
    spec = MatchSpec("mate", SHOGI.spec, (*master, *pebble), 1, start=MATE_IN_ONE)
    [result] = SequentialMatchExecutor().run([spec])
    path = tmp_path_factory.mktemp("mates") / "mate.replay"
    replay.save(path, spec, result)
    return path


def test_the_line_below_the_board_says_what_happened_wherever_one_looks(page: MatchPage, qtbot: QtBot) -> None:
    show = replayed(page, qtbot)
    page.play_pause()
    line = page.ring.caption
    assert (line.property("role"), line.textFormat()) == ("muted", Qt.TextFormat.PlainText)
    for step in (40, 12, show.steps):
        page.ring.transport.scrubber.setValue(step)
        assert line.text() == show.playback.scene().caption
    page.to_start()
    assert line.text() == "Pong, 0 to 0, step 0"
    page.stop()
    assert line.text() == ""


def test_the_line_is_told_anew_some_ten_times_a_second_and_only_if_it_is_another(
    page: MatchPage, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    show = replayed(page, qtbot)
    told: list[str] = []
    monkeypatch.setattr(page.ring.caption, "setText", lambda text: (told.append(text), Elided.setText(line, text)))
    line, first = page.ring.caption, show.step
    qtbot.waitUntil(lambda: show.step > first + 60, timeout=PATIENCE)
    assert 0 < len(told) <= (show.step - first) / 4, "Pong takes sixty steps a second"
    page.play_pause()
    page._update()
    told.clear()
    page._update()
    assert not told


def test_seats_that_have_names_are_called_by_them_and_not_by_our_colours(
    page: MatchPage, qtbot: QtBot, mated: Path
) -> None:
    check_game(SHOGI)
    page.show_what(mated)
    shown(page, qtbot)
    head = page.ring.head
    assert [plate.accessibleName() for plate in head.plates] == ["Seat 1, Black: Master", "Seat 2, White: Pebble"]
    assert [plate.text.split("  ")[0] for plate in head.plates] == ["Black", "White"]
    assert not any(plate.coloured for plate in head.plates)
    page.stop()
    scene = new_game("pong").boards(1).scene(0)
    assert in_our_colours(scene, named=True), "a board may have both"
    found = choice(SHOGI.spec, page.desk.league)
    sheet = ExhibitionSheet(None, found.title, found.seats, (), print, found.people, names=found.names)
    qtbot.addWidget(sheet)
    assert [one.text() for one in sheet.findChildren(type(sheet.wrong)) if one.buddy()][:2] == [
        "Seat 1, Black",
        "Seat 2, White",
    ]


def test_a_win_by_checkmate_is_told_as_one(page: MatchPage, qtbot: QtBot, mated: Path) -> None:
    page.show_what(mated)
    shown(page, qtbot)
    assert page.ring.caption.text() == "Shogi, move 1, Black to move, Black holds G"
    page.to_end()
    assert page.ring.facts.ending.text() == "\u200eMaster wins by checkmate."
    assert "Black wins by checkmate" in page.ring.caption.text()
    assert page.ring.head.verdict.isHidden()


def test_whoever_wins_by_resignation_is_told_in_the_place_of_the_score(page: MatchPage, qtbot: QtBot) -> None:
    state = page.desk.league
    tracker = next(one for one in state.agents("pong") if one.name == "Tracker")
    page.show_what(state.exhibit([person(), tracker.id], new_game("pong").spec, 3))
    show, head = shown(page, qtbot), page.ring.head
    assert not head.score.isHidden()
    page._act(0, RESIGN)
    qtbot.waitUntil(lambda: show.at_end, timeout=PATIENCE)
    qtbot.waitUntil(lambda: head.verdict.isVisible())
    assert (head.verdict.text(), head.score.isHidden()) == ("Tracker wins: resignation", True)
    assert page.ring.facts.ending.text() == "\u200eTracker wins. You resigned."
    assert [plate.mark for plate in head.plates] == ["resigned", "winner"]
    page.to_start()
    assert head.verdict.isHidden() == (show.steps > 0), "that is not known at the start"


def test_of_many_each_score_stands_below_its_own_name(qtbot: QtBot) -> None:
    theme.apply("light")
    head = Head()
    qtbot.addWidget(head)
    head.resize(720, 90)
    four = tuple(Player(name, name, "hunter") for name in "ABCD")
    head.set_bill(Bill("Treasure Hunt", four, 1))
    head.set_scores((80, 20, 10, 5))
    head.show()
    drawn, plate = head.grab().toImage(), head.plates[0]
    corner, accent = plate.mapTo(head, QPoint(0, 0)), theme.colour("accent").name()
    found = [
        x
        for x in range(plate.width())
        for y in range(plate.height())
        if drawn.pixelColor(corner.x() + x, corner.y() + y).name() == accent
    ]
    assert found
    assert max(found) < plate.width() / 2
    head.set_bill(replace(Bill("Treasure Hunt", four, 1), players=four[:2]))
    assert not head.score.isHidden()
