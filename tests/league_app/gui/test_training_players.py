"""The players that training makes: watched, entered into the league, placed there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from agents.human import person
from league_app.gui import placement_matches as placement
from league_app.gui.context import Desk
from league_app.gui.training.sessions_model import players
from league_app.core.state import LeagueState
from league_app.gui.training.network_sketch import sketch
from tests.gui.conftest import BOTS, QUICK
from tests.gui.training import Ear, our_trainers, page_of, recorded, until, with_trainers


@pytest.fixture(autouse=True)
def trainers() -> Iterator[None]:
    with our_trainers():
        yield


@pytest.fixture
def desk(bare: Desk, played: Path) -> Desk:
    return with_trainers(bare, played)


# Players


def test_each_player_is_shown_once_and_entering_it_places_it(
    desk: Desk, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placement, "MATCHES", 12)
    number = recorded(desk.league)
    page, ear = page_of(desk, qtbot), Ear(desk)
    until(qtbot, lambda: page.trainees.view.cards)
    assert page.tabs.tabText(1) == "Players (2)"
    cards = page.trainees.view.cards
    until(qtbot, lambda: cards[0].title.text() == "Steps 20\u201330 \u00b7 67 % of the points")
    assert cards[1].title.text() == "Step 10 \u00b7 33 % of the points"
    assert cards[0].main.text() == "Enter into league"
    page.tabs.setCurrentIndex(1)
    desk.league.start_tournament(game=QUICK, agents=BOTS, options={"rounds": 50}, seed=77).pause()
    cards[0].main.click()
    until(qtbot, lambda: "will be placed when the tournament" in ear.text)
    until(qtbot, lambda: cards[0].state.text() == "one waits for its placement")
    assert not cards[0].main.isEnabled()
    desk.league.job.stop(cancel=True)  # type: ignore[union-attr]
    until(qtbot, lambda: "one: new, " in ear.text)
    until(qtbot, lambda: cards[0].main.text() == "Show" and cards[0].main.isEnabled())
    assert "\u00b1" in cards[0].state.text()
    [entered, other] = players(desk.league, number)[0]
    assert (entered.name, entered.last, other.agent) == ("one", 30, None)
    cards[0].main.click()
    assert ear.shown[-1] == ("agent", entered.agent)


def test_a_player_is_watched_against_whom_one_chooses(
    desk: Desk, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    seated: list[Any] = []

    def exhibit(state: LeagueState, players: list[Any], game: object = None, seed: int = 1) -> str:
        seated.append((players, game))
        return "a live match"

    monkeypatch.setattr(LeagueState, "exhibit", exhibit)
    number = recorded(desk.league)
    you = person()
    desk.league.add_agent("You", "pong", you.kind, you.payload)
    page, ear = page_of(desk, qtbot), Ear(desk)
    until(qtbot, lambda: page.trainees.view.cards)
    view = page.trainees.view
    assert view.opponent.currentText() == "Random", "the first that is beaten"
    assert view.opponent.findText("You") < 0
    view.opponent.setCurrentIndex(view.opponent.findText("Tracker"))
    view.cards[1].watch_button.click()
    until(qtbot, lambda: ("match", "a live match") in ear.shown)
    [([player, opponent], game)] = seated
    assert (player.kind, player.payload) == ("dice", b"best of 0")
    assert opponent == desk.league.league.agent("Tracker", "pong").id
    assert game == desk.league.training.sessions.session(number).game
    page.trainees.play(opponent, QUICK)
    until(qtbot, lambda: len(seated) == 2)
    assert seated[1] == ([you, opponent], QUICK)


def test_the_picture_of_an_evolved_player_is_its_network(desk: Desk) -> None:
    league = desk.league.league
    evolved = league.spec(league.agent("Evolved", "pong").id)
    found = sketch(evolved.kind, evolved.payload)
    assert found is not None
    roles = [one.role for one in found.nodes]
    assert roles.count("input") == 8
    assert roles.count("output") == 3
    assert found.links
    assert all(0 <= one.x <= 1 and 0 <= one.y <= 1 for one in found.nodes)
    for kind, payload in (("neat", b"no genome"), ("neat", b""), ("dice", evolved.payload)):
        assert sketch(kind, payload) is None
