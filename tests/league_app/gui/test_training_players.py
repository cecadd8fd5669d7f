"""The players that training produces: watched, entered into the league and placed there."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from agents.human import person
from agents.training.events import Player
from engine.league.storage.sessions import SessionStore
from engine.play.match import AgentSpec
from engine.registry import KINDS, draw_agent
from league_app.core.queries.sessions import load_players
from league_app.core.state import LeagueState
from league_app.core.training_job import TrainingJob
from league_app.gui import placement_matches
from league_app.gui.context import AppContext
from league_app.gui.training.chart_specs import MetricCurve
from tests.agents.training.session_helpers import registered_trainers
from tests.league_app.gui.conftest import BOTS, QUICK
from tests.league_app.gui.training_helpers import Notifications, page_of, recorded, until, with_trainers


@pytest.fixture(autouse=True)
def trainers() -> Iterator[None]:
    with registered_trainers():
        yield


@pytest.fixture
def context(bare: AppContext, played: Path) -> AppContext:
    return with_trainers(bare, played)


# Players


def test_each_player_is_shown_once_and_entering_it_places_it(
    context: AppContext, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placement_matches, "MATCHES", 12)
    number = recorded(context.league)
    page, notes = page_of(context, qtbot), Notifications(context)
    until(qtbot, lambda: page.players.view.cards)
    assert page.tabs.tabText(1) == "Players (2)"
    cards = page.players.view.cards
    until(qtbot, lambda: cards[0].title.text() == "Generations 20\u201330 \u00b7 67 %")
    assert cards[1].title.text() == "Generation 10 \u00b7 33 %"
    assert cards[0].main_button.text() == "Add to league"
    page.tabs.setCurrentIndex(1)
    context.league.start_tournament(game=QUICK, agents=BOTS, options={"rounds": 50}, seed=77).pause()
    cards[0].main_button.click()
    until(qtbot, lambda: "will play its placement matches after" in notes.text)
    until(qtbot, lambda: cards[0].status.text() == "one waits for placement matches")
    assert not cards[0].main_button.isEnabled()
    context.league.job.stop(cancel=True)  # type: ignore[union-attr]
    until(qtbot, lambda: "one: placed " in notes.text)
    until(qtbot, lambda: cards[0].main_button.text() == "Show" and cards[0].main_button.isEnabled())
    assert "\u00b1" in cards[0].status.text()
    [entered, other] = load_players(context.league, number)[0]
    assert (entered.name, entered.last_step, other.agent) == ("one", 30, None)
    cards[0].main_button.click()
    assert notes.shown[-1] == ("agent", entered.agent)


def test_the_header_offers_the_first_player_of_the_latest_checkpoint(context: AppContext, qtbot: QtBot) -> None:
    sessions = SessionStore(context.league.league)
    number = sessions.add("team", "neat", QUICK, []).number
    orders = {10: ("agent 1", "agent 2", "agent 3"), 20: ("agent 2", "agent 3", "agent 1")}
    for step, order in orders.items():  # agent 2 stays the same player
        players = [Player("dice", 1, b"same" if role == "agent 2" else f"{role} {step}".encode(), "", role)
                   for role in order]  # fmt: skip
        sessions.add_checkpoint(number, step, b"state", players)
    found = [(player.role, player.first_step, player.last_step) for player in load_players(context.league, number)[0]]
    assert found[:3] == [("agent 2", 10, 20), ("agent 3", 20, 20), ("agent 1", 20, 20)]
    assert found[3:] == [("agent 1", 10, 10), ("agent 3", 10, 10)]
    page = page_of(context, qtbot)
    until(qtbot, lambda: page.header.player.title.text() == "agent 2 \u00b7 Generations 10\u201320")


def test_a_card_shows_no_result_of_an_earlier_validation(context: AppContext, qtbot: QtBot) -> None:
    """Players and metrics are read by two queries: after a checkpoint the curve may end before its validation."""
    recorded(context.league)
    page = page_of(context, qtbot)
    title = page.header.player.title
    until(qtbot, lambda: title.text() == "Generations 20\u201330 \u00b7 67 %")
    known = page._curves[page.number]["validation/share"]
    before = MetricCurve(known.steps[:19], known.at[:19], known.values[:19])
    page.players.set_curves({"validation/share": before})
    assert title.text() == "Generations 20\u201330"
    page.players.set_curves({"validation/share": known})
    assert title.text() == "Generations 20\u201330 \u00b7 67 %"


def test_a_player_is_watched_against_the_chosen_opponent(
    context: AppContext, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    seated: list[Any] = []

    def exhibit(state: LeagueState, players: list[Any], game: object = None, seed: int = 1) -> str:
        seated.append((players, game))
        return "a live match"

    monkeypatch.setattr(LeagueState, "exhibit", exhibit)
    number = recorded(context.league)
    you = person()
    context.league.add_agent("You", "pong", you.kind, you.payload)
    page, notes = page_of(context, qtbot), Notifications(context)
    until(qtbot, lambda: page.players.view.cards)
    view = page.players.view
    assert view.opponent.currentText() == "Random", "the weakest opponent"
    assert view.opponent.findText("You") < 0
    view.opponent.setCurrentIndex(view.opponent.findText("Tracker"))
    view.cards[1].watch_button.click()
    until(qtbot, lambda: ("match", "a live match") in notes.shown)
    [([player, opponent], game)] = seated
    assert (player.kind, player.payload) == ("dice", b"best of 0")
    assert opponent == context.league.league.agent("Tracker", "pong").id
    assert game == context.league.training.sessions.session(number).game
    page.players.play_against(opponent, QUICK)
    until(qtbot, lambda: len(seated) == 2)
    assert seated[1] == ([you, opponent], QUICK)


def test_the_current_player_of_a_running_session_is_watched(context: AppContext, qtbot: QtBot) -> None:
    job = context.league.training.start("counting", {"steps": 1_000_000, "nap": 0.02, "every": 10_000}, game=QUICK)
    page, notes = page_of(context, qtbot), Notifications(context)
    header = page.header
    until(qtbot, lambda: header.watch_button.isVisible() and page.players.view.opponent.count())
    page.players.view.opponent.setCurrentIndex(page.players.view.opponent.findText("Tracker"))
    header.watch_button.click()
    until(qtbot, lambda: [what for where, what in notes.shown if where == "match"])
    [live] = [what for where, what in notes.shown if where == "match"]
    assert "starts after the step in progress" in notes.text
    first, second = live.spec.players  # type: ignore[attr-defined]
    assert (first.kind, first.payload) == ("dice", b"\x00%d" % job.current.step)  # type: ignore[union-attr]
    assert second.id == context.league.league.agent("Tracker", "pong").id
    live.close()  # type: ignore[attr-defined]
    job.pause()
    until(qtbot, lambda: not header.watch_button.isEnabled())
    job.stop()
    until(qtbot, lambda: not header.watch_button.isVisible())


def test_a_session_that_ends_before_it_shows_its_player_says_so(
    context: AppContext, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TrainingJob, "request_player", lambda job: job.stop())
    context.league.training.start("counting", {"steps": 1_000_000, "nap": 0.02, "every": 10_000}, game=QUICK)
    page, notes = page_of(context, qtbot), Notifications(context)
    until(qtbot, lambda: page.header.watch_button.isVisible() and page.players.view.opponent.count())
    page.header.watch_button.click()
    until(qtbot, lambda: "ended before it could show its player" in notes.text)
    assert not [where for where, _ in notes.shown if where == "match"]


def test_the_thumbnail_of_an_evolved_player_is_its_network(context: AppContext) -> None:
    league = context.league.league
    evolved = league.spec(league.agent("Evolved", "pong").id)
    diagram = draw_agent(evolved)
    assert diagram is not None
    roles = [node.role for node in diagram.nodes]
    assert roles.count("input") == 8
    assert roles.count("output") == 3
    assert diagram.links
    assert all(0 <= node.x <= 1 and 0 <= node.y <= 1 for node in diagram.nodes)
    for kind, payload in (("neat", b"no genome"), ("neat", b""), ("dice", evolved.payload), ("not-installed", b"")):
        assert draw_agent(AgentSpec("other", kind, payload)) is None


def test_a_kind_that_fails_to_draw_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(agent: AgentSpec) -> None:
        raise ZeroDivisionError("no picture")

    monkeypatch.setattr(KINDS, "problems", {})
    monkeypatch.setitem(KINDS._loaded, "dice", dataclasses.replace(KINDS.get("dice"), draw=fail))
    assert draw_agent(AgentSpec("Random", "dice")) is None
    assert "fails when asked to draw 'Random': ZeroDivisionError: no picture" in KINDS.problems["dice"]
