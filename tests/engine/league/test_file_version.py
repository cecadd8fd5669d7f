"""Cached rows of a league are dropped when its file changes, by this program or by another one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.errors import LeagueError
from engine.league.records import RunState, TournamentSettings
from engine.league.storage.league import League
from engine.play.match import AgentSpec
from engine.registry import new_game

GAME = new_game("tictactoe").spec


@pytest.fixture
def league(tmp_path: Path) -> Iterator[League]:
    with League.new(tmp_path / "x.league") as made:
        for name in ("a", "b"):
            made.add_agent(name, GAME.name, AgentSpec(name, "fast", name.encode()))
        yield made


def names(league: League) -> list[str]:
    return sorted(league.names().values())


def test_unchanged_agents_and_tournaments_are_read_once(league: League) -> None:
    league.add_tournament("cup", TournamentSettings(GAME, options=(("rounds", 1),)), ["a", "b"])
    assert (names(league), len(league.tournaments())) == (["a", "b"], 1)
    queries: list[str] = []
    league.file.reader().set_trace_callback(queries.append)
    for _ in range(5):
        names(league)
        league.ids()
        league.tournament("cup")
    league.file.reader().set_trace_callback(None)
    assert queries == []
    listed = league.tournaments()
    listed.clear()
    assert len(league.tournaments()) == 1, "a list of the caller's own"


def test_every_change_is_seen_at_once_by_writer_and_reader(league: League) -> None:
    with League(league.path, read_only=True) as reader:
        league.add_tournament("cup", TournamentSettings(GAME, options=(("rounds", 1),)), ["a", "b"])
        for number in range(20):
            league.change_agent("a", name=f"name {number}")
            assert names(league) == names(reader) == sorted(["b", f"name {number}"])
            league.update_tournament(1, note=f"note {number}")
            assert league.tournament(1).note == reader.tournament(1).note == f"note {number}"
        league.update_tournament(1, RunState.FINISHED)
        assert reader.tournament(1).state is RunState.FINISHED


def test_a_change_that_fails_changes_nothing(league: League) -> None:
    def change() -> None:
        with league.file.transaction():
            league.change_agent("a", name="other")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        change()
    assert names(league) == ["a", "b"]


def test_a_reader_of_an_earlier_state_keeps_nothing_of_it(league: League) -> None:
    assert names(league) == ["a", "b"]
    league.file.read("BEGIN")
    assert league.file.read("SELECT count(*) FROM agents") == [(2,)], "from now on this thread reads this state"
    thread = threading.Thread(target=league.change_agent, args=("a",), kwargs={"name": "c"})
    thread.start()
    thread.join()
    assert names(league) == ["a", "b"]
    league.file.read("COMMIT")
    assert names(league) == ["b", "c"]


def test_a_closed_league_gives_no_kept_data(league: League) -> None:
    names(league)
    league.close()
    with pytest.raises(LeagueError, match="has been closed"):
        names(league)
    with pytest.raises(LeagueError, match="has been closed"):
        league.tournaments()
