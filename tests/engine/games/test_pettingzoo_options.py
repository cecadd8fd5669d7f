"""What a league file can ask of an environment: to be made with options that nobody has tried."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.errors import BrokenPlugin
from engine.games.pettingzoo import boards, loading, probe
from engine.league import standings as tables
from engine.league.storage.tournaments import Book
from engine.league.entries import Entry
from engine.league.records import Settings, State
from engine.play.match import AgentSpec, Ending, EndingKind, GameSpec, MatchResult
from engine.registry import GAMES, new_game, usual_game
from league_app.cli.leagues import match_rows
from league_app.core.queries.agent_profile import portrait
from league_app.core.state import LeagueState
from league_app.gui.match.info import bill_of
from tests.engine.moody import Moody, MoodyGame, moody

NAME = "pettingzoo:moody_v0"


@pytest.fixture
def registered() -> Iterator[None]:
    GAMES.add(NAME, MoodyGame)
    yield
    GAMES.remove(NAME)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "PATIENCE", 4.0)


def played(state: LeagueState, game: GameSpec) -> None:
    """Two who have met twice, whatever that looked like."""
    settings = Settings(game, options=(("rounds", 1),))
    book = Book(state.league, state.league.add_tournament("t", settings, ["A", "B"]).number)
    entries = []
    for one in book.missing():
        ids = tuple(player.id for player in one.spec.players)
        stats = ((1.0, 2.0, 3.0), (4.0, 5.0, 6.0))
        result = MatchResult(one.spec.id, ids, (1.0, 0.0), (1, 2), 9, Ending(EndingKind.FINISHED), stats, b"")
        entries.append(Entry(one.place, one.spec, result))
    book.record(entries)
    book.settle(State.FINISHED)


def test_what_was_played_is_read_without_making_the_game(tmp_path: Path, registered: None) -> None:
    usual_game(NAME)
    spec = moody(length=77).spec
    with LeagueState.new(tmp_path / "m.league") as state:
        for name in "AB":
            state.league.add_agent(name, NAME, AgentSpec(name, "dice"))
        played(state, spec)
        known = len(Moody.made)
        boards.ZooGame.measured.pop((MoodyGame, tuple(one for one in spec.options if one[0] != "step_limit")))
        assert state.game_of() == state.game_of(NAME) == spec
        table = tables.standings(state.league, spec)
        assert (table.seats, table.matches) == (2, 2)
        assert portrait(state, spec, "A").statistics
        assert portrait(state, spec, "A").title == "Moody (PettingZoo)"
        one = tables.match(state.league, "1.1")
        assert bill_of(state, one.spec, 1).game == "Moody (PettingZoo)"
        assert next(match_rows(state.league, 1))["gained0"] == 2.0
        assert len(Moody.made) == known


def test_the_seats_of_a_pool_are_known_before_anything_was_played(tmp_path: Path, registered: None) -> None:
    with LeagueState.new(tmp_path / "m.league") as state:
        four = dataclasses.replace(spec := new_game("treasure-hunt").spec, options=(*spec.options, ("seats", 4)))
        for game, seats in ((four, 4), (GameSpec(NAME, 1, (("mood", "nan"),)), 2), (GameSpec("gone", 1), 2)):
            assert tables.standings(state.league, game).seats == seats


@pytest.mark.usefixtures("hasty")
def test_options_with_which_it_never_gets_ready_are_refused() -> None:
    for longest in (30.0, 1.0):  # what came of it is kept
        since = time.monotonic()
        with pytest.raises(BrokenPlugin, match=r"pursuit_v5 cannot be a game here: it does not come to an end when"):
            new_game("pettingzoo:pursuit_v5", x_size=1)
        assert time.monotonic() - since < longest


@pytest.mark.usefixtures("hasty")
def test_others_need_not_wait_for_one_that_never_gets_ready() -> None:
    refused: list[BrokenPlugin] = []

    def endless() -> None:
        try:
            new_game("pettingzoo:pursuit_v5", y_size=1)
        except BrokenPlugin as error:
            refused.append(error)

    thread = threading.Thread(target=endless)
    thread.start()
    time.sleep(0.5)
    moody(length=78)
    assert not refused
    thread.join()
    assert refused


def test_options_that_end_the_process_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "CHILD", "import os; os.abort()")
    with pytest.raises(BrokenPlugin, match="it ends the process that makes it with these options"):
        new_game("pettingzoo:go_v5", board_size=7)


def test_usual_options_are_tried_in_this_process_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", lambda *words, **more: pytest.fail("a process was started"))
    monkeypatch.setattr(boards.ZooGame, "measured", {})
    new_game("pettingzoo:rps_v2", step_limit=7)


def test_what_a_table_knows_is_tried_in_another_process_once(monkeypatch: pytest.MonkeyPatch, registered: None) -> None:
    started = []
    popen = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda words, **more: started.append(words) or popen(words, **more))
    for limit in (1, 2):
        moody(length=80, step_limit=limit)
    assert [words[0] for words in started] == [sys.executable]


def test_a_thread_that_is_stuck_in_an_environment_holds_up_nobody_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "LONGEST", 0.2)
    there, done = threading.Event(), threading.Event()

    def stuck() -> None:
        with loading.aside():
            there.set()
            done.wait()

    thread = threading.Thread(target=stuck)
    thread.start()
    there.wait()
    with pytest.raises(BrokenPlugin, match=r"another environment is being tried .*does not come to an end"):
        moody(length=81)
    done.set()
    thread.join()
    assert moody(length=81).info.seats == 2
