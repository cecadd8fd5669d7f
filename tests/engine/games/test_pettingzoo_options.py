"""Options of environments in league files, which may never have been tried."""

from __future__ import annotations

import dataclasses
import queue
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.errors import BrokenPlugin, RingsideError
from engine.games.pettingzoo import boards, discovery, probe_process
from engine.league import played_matches, standings
from engine.league.records import RunState, TournamentSettings
from engine.league.storage.result_columns import PlayedEntry
from engine.league.storage.tournaments import TournamentStore
from engine.play.match import AgentSpec, Ending, EndingKind, GameSpec, MatchResult
from engine.processes import launcher
from engine.processes.child import ChildProcess
from engine.registry import GAMES, new_game, usual_game
from league_app.core.export import match_rows
from league_app.core.queries.agent_profile import load_profile
from league_app.core.state import LeagueState
from league_app.gui.match.info import match_info
from tests.engine.games.faulty_env import Moody, MoodyGame, moody

NAME = "pettingzoo:moody_v0"


@pytest.fixture
def registered() -> Iterator[None]:
    GAMES.add(NAME, MoodyGame)
    yield
    GAMES.remove(NAME)


@pytest.fixture
def short_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_process, "PROBE_SECONDS", 4.0)


def played(state: LeagueState, game: GameSpec) -> None:
    """Record two matches between two agents."""
    settings = TournamentSettings(game, options=(("rounds", 1),))
    book = TournamentStore(state.league, state.league.add_tournament("t", settings, ["A", "B"]).number)
    entries = []
    for planned in book.missing():
        ids = tuple(player.id for player in planned.spec.players)
        stats = ((1.0, 2.0, 3.0), (4.0, 5.0, 6.0))
        result = MatchResult(planned.spec.id, ids, (1.0, 0.0), (1, 2), 9, Ending(EndingKind.FINISHED), stats, b"")
        entries.append(PlayedEntry(planned.place, planned.spec, result))
    book.record(entries)
    book.settle(RunState.FINISHED)


def test_results_are_read_without_creating_the_game(tmp_path: Path, registered: None) -> None:
    usual_game(NAME)
    spec = moody(length=77).spec
    with LeagueState.new(tmp_path / "m.league") as state:
        for name in "AB":
            state.league.add_agent(name, NAME, AgentSpec(name, "dice"))
        played(state, spec)
        known = len(Moody.made)
        boards.ZooGame.probe_results.pop(
            (MoodyGame, tuple(option for option in spec.options if option[0] != "step_limit"))
        )
        assert state.game_of() == state.game_of(NAME) == spec
        table = standings.standings(state.league, spec)
        assert (table.seats, table.matches) == (2, 2)
        assert load_profile(state, spec, "A").statistics
        assert load_profile(state, spec, "A").title == "Moody (PettingZoo)"
        match = played_matches.match(state.league, "1.1")
        assert match_info(state, match.spec, 1).game == "Moody (PettingZoo)"
        assert next(match_rows(state.league, 1))["gained0"] == 2.0
        assert len(Moody.made) == known


def test_the_seats_of_a_pool_are_known_before_the_first_match(tmp_path: Path, registered: None) -> None:
    with LeagueState.new(tmp_path / "m.league") as state:
        four = dataclasses.replace(spec := new_game("treasure-hunt").spec, options=(*spec.options, ("seats", 4)))
        for game, seats in ((four, 4), (GameSpec(NAME, 1, (("mood", "nan"),)), 2), (GameSpec("gone", 1), 2)):
            assert standings.standings(state.league, game).seats == seats


@pytest.mark.usefixtures("short_probe")
def test_options_with_which_the_constructor_hangs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for probed in (False, True):
        if probed:
            monkeypatch.setattr(probe_process, "ChildProcess", lambda *words, **more: pytest.fail("it is cached"))
        with pytest.raises(BrokenPlugin, match="pursuit_v5 cannot be used as a game: its constructor does not"):
            new_game("pettingzoo:pursuit_v5", x_size=1)


def test_other_games_do_not_wait_for_a_hanging_constructor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_process, "PROBE_SECONDS", 600.0)
    refused: list[BrokenPlugin] = []
    children: queue.Queue[ChildProcess] = queue.Queue()

    def start(*words: Any, **more: Any) -> ChildProcess:
        children.put(child := ChildProcess(*words, **more))
        return child

    def endless() -> None:
        try:
            new_game("pettingzoo:pursuit_v5", y_size=1)
        except BrokenPlugin as error:
            refused.append(error)

    monkeypatch.setattr(probe_process, "ChildProcess", start)
    thread = threading.Thread(target=endless)
    thread.start()
    child = children.get()  # the thread waits for it from now on
    try:
        moody(length=78)
        assert not refused
        while child.pid is None:
            time.sleep(0.01)
    finally:
        child.kill()
        thread.join()
    assert "crashes the process" in str(refused)


def test_options_that_crash_the_process_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_process, "PROBE", "tests.engine.games.faulty_env:abort")
    with pytest.raises(BrokenPlugin, match="its constructor crashes the process with these options"):
        new_game("pettingzoo:go_v5", board_size=7)


def test_a_child_process_that_cannot_try_the_options_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing is remembered: the next attempt may succeed. No other test may try these options before."""
    with monkeypatch.context() as patch:
        patch.setattr(probe_process, "PROBE", "tests.engine.games.faulty_env:refuse")
        with pytest.raises(RingsideError) as caught:
            new_game("pettingzoo:go_v5", board_size=6)
    tried = "pettingzoo:go_v5 could not be tried with options that differ from its defaults"
    ended = "the child process exited with status 1; it last printed: ImportError: not on this machine"
    assert str(caught.value) == f"{tried}: {ended}"
    with monkeypatch.context() as patch:
        patch.setattr(launcher, "_start", lambda *_: (_ for _ in ()).throw(OSError("no more processes")))
        with pytest.raises(RingsideError) as caught:
            new_game("pettingzoo:go_v5", board_size=6)
    assert str(caught.value) == f"{tried}: the child process could not be started: no more processes"
    assert new_game("pettingzoo:go_v5", board_size=6).info.seats == 2


def test_a_constructor_that_ends_the_child_process_is_an_error(
    monkeypatch: pytest.MonkeyPatch, registered: None
) -> None:
    monkeypatch.setattr(probe_process, "PROBE", "tests.engine.games.faulty_env:leave")
    with pytest.raises(RingsideError, match=r"the child process exited with status 4$"):
        moody(length=82)


def test_default_options_are_probed_in_this_process_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_process, "ChildProcess", lambda *words, **more: pytest.fail("a process was started"))
    monkeypatch.setattr(boards.ZooGame, "probe_results", {})
    new_game("pettingzoo:rps_v2", step_limit=7)


def test_a_registered_class_is_probed_once_in_a_child(monkeypatch: pytest.MonkeyPatch, registered: None) -> None:
    started = []
    start = probe_process.ChildProcess
    monkeypatch.setattr(
        probe_process, "ChildProcess", lambda *words, **more: started.append(words) or start(*words, **more)
    )
    for limit in (1, 2):
        moody(length=80, step_limit=limit)
    assert [words[0] for words in started] == [probe_process.PROBE]


def test_waiting_for_a_hanging_thread_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "LOCK_TIMEOUT", 0.2)
    there, done = threading.Event(), threading.Event()

    def stuck() -> None:
        with discovery.exclusive():
            there.set()
            done.wait()

    thread = threading.Thread(target=stuck)
    thread.start()
    there.wait()
    with pytest.raises(BrokenPlugin, match="another environment is being loaded in this process and does not finish"):
        moody(length=81)
    done.set()
    thread.join()
    assert moody(length=81).info.seats == 2
