"""Texts on the Match page: the caption, names of seats, and how the match ended."""

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
from league_app.gui.context import AppContext
from league_app.gui.dialogs.exhibition import ExhibitionDialog
from league_app.gui.match.actions import load_choices
from league_app.gui.match.header import MatchHeader, uses_seat_colours
from league_app.gui.match.info import MatchInfo, SeatInfo
from league_app.gui.match.page import MatchPage
from league_app.gui.widgets.basics import ElidedLabel
from tests.league_app.gui.test_match_page import opened, replayed, shown

SHOGI = new_game("shogi")
MATE_IN_ONE = "4k4/9/4P4/9/9/9/9/9/4K4 b G 1"


@pytest.fixture
def page(context: AppContext, qtbot: QtBot) -> Iterator[MatchPage]:
    yield from opened(context, qtbot)


@pytest.fixture(scope="module")
def mated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A replay of a match that is won by the first move."""
    master = [agent for agent in KINDS.get("shogi-bot").samples(SHOGI) if agent.id == "Master"]
    pebble = [agent for agent in KINDS.get("shogi-bot").samples(SHOGI) if agent.id == "Pebble"]
    spec = MatchSpec("mate", SHOGI.spec, (*master, *pebble), 1, start=MATE_IN_ONE)
    [result] = SequentialMatchExecutor().run([spec])
    path = tmp_path_factory.mktemp("mates") / "mate.replay"
    replay.save(path, spec, result)
    return path


def test_the_caption_describes_the_shown_step(page: MatchPage, qtbot: QtBot) -> None:
    player = replayed(page, qtbot)
    page.play_pause()
    line = page.view.caption
    assert (line.property("role"), line.textFormat()) == ("muted", Qt.TextFormat.PlainText)
    for step in (40, 12, player.steps):
        page.view.playback_bar.scrubber.setValue(step)
        assert line.text() == player.playback.scene().caption
    page.to_start()
    assert line.text() == "Pong, 0 to 0, step 0"
    page.stop()
    assert line.text() == ""


def test_the_caption_is_updated_ten_times_a_second_and_only_if_it_changed(
    page: MatchPage, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    player = replayed(page, qtbot)
    texts: list[str] = []
    line, first = page.view.caption, player.step
    monkeypatch.setattr(line, "setText", lambda text: (texts.append(text), ElidedLabel.setText(line, text)))
    qtbot.waitUntil(lambda: player.step > first + 60)
    assert 0 < len(texts) <= (player.step - first) / 4, "Pong takes sixty steps a second"
    page.play_pause()
    page._update()
    texts.clear()
    page._update()
    assert not texts


def test_named_seats_are_shown_by_name_and_not_by_colour(page: MatchPage, qtbot: QtBot, mated: Path) -> None:
    check_game(SHOGI)
    page.show_item(mated)
    shown(page, qtbot)
    head = page.view.header
    assert [plate.accessibleName() for plate in head.plates] == ["Seat 1, Black: Master", "Seat 2, White: Pebble"]
    assert [plate.text.split("  ")[0] for plate in head.plates] == ["Black", "White"]
    assert not any(plate.coloured for plate in head.plates)
    page.stop()
    scene = new_game("pong").boards(1).scene(0)
    assert uses_seat_colours(scene, named=True), "a board may have both"
    found = load_choices(SHOGI.spec, page.context.league)
    dialog = ExhibitionDialog(None, found.title, found.seats, (), print, found.people, names=found.names)
    qtbot.addWidget(dialog)
    assert [label.text() for label in dialog.findChildren(type(dialog.error)) if label.buddy()][:2] == [
        "Seat 1, Black",
        "Seat 2, White",
    ]


def test_a_win_by_checkmate_is_described_as_one(page: MatchPage, qtbot: QtBot, mated: Path) -> None:
    page.show_item(mated)
    shown(page, qtbot)
    assert page.view.caption.text() == "Shogi, move 1, Black to move, Black holds G"
    page.to_end()
    assert page.view.details.ending.text() == "\u200eMaster won by checkmate."
    assert "Black wins by checkmate" in page.view.caption.text()
    assert page.view.header.verdict.isHidden()


def test_a_win_by_resignation_replaces_the_score(page: MatchPage, qtbot: QtBot) -> None:
    state = page.context.league
    tracker = next(agent for agent in state.agents("pong") if agent.name == "Tracker")
    page.show_item(state.exhibit([person(), tracker.id], new_game("pong").spec, 3))
    player, head = shown(page, qtbot), page.view.header
    assert not head.score.isHidden()
    page._act(0, RESIGN)
    qtbot.waitUntil(lambda: player.at_end)
    qtbot.waitUntil(lambda: head.verdict.isVisible())
    assert (head.verdict.text(), head.score.isHidden()) == ("Tracker won: resignation", True)
    assert page.view.details.ending.text() == "\u200eTracker won. You resigned."
    assert [plate.mark for plate in head.plates] == ["resigned", "winner"]
    page.to_start()
    assert head.verdict.isHidden() == (player.steps > 0), "the result is not shown at the start"


def test_with_many_seats_each_score_is_below_its_name(qtbot: QtBot) -> None:
    theme.apply("light")
    head = MatchHeader()
    qtbot.addWidget(head)
    head.resize(720, 90)
    four = tuple(SeatInfo(name, name, "hunter") for name in "ABCD")
    head.set_info(MatchInfo("Treasure Hunt", four, 1))
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
    head.set_info(replace(MatchInfo("Treasure Hunt", four, 1), players=four[:2]))
    assert not head.score.isHidden()
