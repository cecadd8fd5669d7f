"""A real engine, Debian's fairy-stockfish, in matches and tournaments with our own players.

Where it is missing this is skipped, unless RINGSIDE_TESTS=all says that it must be there.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from agents.usi import approvals, transcript
from agents.usi.approvals import approve
from agents.usi.engine_spec import EngineSpec, payload_of
from agents.usi.pilot import KIND
from agents.usi.protocol import ask_engine
from engine.checks import check_kind
from engine.errors import NotConfirmed
from engine.league import played_matches
from engine.play.concurrent import ConcurrentMatchExecutor
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import Clock, EndingKind, Limits, MatchSpec, run_digest
from engine.registry import agents_for, new_game
from league_app.cli.main import main
from league_app.core.state import LeagueState
from tests.agents.usi.engines import FAIRY, confirmed, needs_fairy

pytestmark = needs_fairy
SHORT = new_game("shogi", move_limit=24)
QUICK = EngineSpec(FAIRY, options=(("Hash", "1"),), nodes=60)


@pytest.fixture(autouse=True)
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGSIDE_HOME", str(tmp_path / "home"))


def test_its_identity_is_read_and_it_plays_shogi() -> None:
    found = ask_engine(FAIRY)
    assert found.name.startswith("Fairy-Stockfish")
    assert "shogi" in found.option("UCI_Variant").choices
    assert (found.option("Skill Level").low, found.option("Clear Hash").kind) == (-20, "button")


def test_with_a_node_limit_it_is_repeatable_in_any_order() -> None:
    check_kind(KIND, SHORT, matches=4, agents=[confirmed(QUICK), confirmed(replace(QUICK, nodes=90), "Deeper")])


def test_its_matches_are_the_same_on_worker_processes() -> None:
    fairy, dice = confirmed(QUICK), agents_for(SHORT)["dice"][0]
    pairs = [(fairy, dice), (dice, fairy), (fairy, fairy)]
    specs = [MatchSpec(f"m{n}", SHORT.spec, pair, 5 + n) for n, pair in enumerate(pairs)]
    with SequentialMatchExecutor() as executor:
        here = executor.execute_matches(specs)
    with ConcurrentMatchExecutor(2) as executor:
        there = executor.execute_matches(specs)
    assert run_digest(here) == run_digest(there)
    assert all(result.repeatable and not result.ending.seats for result in here), here


def test_with_a_clock_it_keeps_its_time() -> None:
    fairy, dice = confirmed(QUICK), agents_for(SHORT)["dice"][0]
    for clock in (Clock(8.0), Clock(8.0, increment=0.5), Clock(move=2.0)):
        spec = MatchSpec("m", SHORT.spec, (fairy, dice), 1, limits=Limits(3, clock))
        with SequentialMatchExecutor() as executor:
            result = executor.execute_match(spec)
        assert (result.ending.kind, result.steps, result.repeatable) == (EndingKind.STEP_LIMIT, 3, False), result.ending


def test_it_receives_its_own_time_for_both_sides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(transcript.FOLDER, str(tmp_path))
    fairy, dice = confirmed(QUICK), agents_for(SHORT)["dice"][0]
    spec = MatchSpec("m", SHORT.spec, (dice, fairy), 1, limits=Limits(4, Clock(8.0)))
    with SequentialMatchExecutor() as executor:
        executor.execute_match(spec)
    [log] = tmp_path.glob("*.log")
    clocks = re.findall(r"> go btime (\d+) wtime (\d+) byoyomi 0\n", log.read_text())
    assert len(clocks) == 2
    assert all(black == white for black, white in clocks)


def test_it_plays_tournaments_with_our_own_players_once_it_is_confirmed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with LeagueState.new(tmp_path / "engines.league") as state:
        state.add_samples("shogi", ["Dice", "Pebble"])
        agent = state.add_agent("Fairy", "shogi", "usi", payload_of(QUICK), origin="from elsewhere")
        with pytest.raises(NotConfirmed, match=f"the engine 'Fairy' .* It would run: {FAIRY}"):
            state.start_tournament(game=SHORT.spec, seed=1)
        with pytest.raises(NotConfirmed, match="'Fairy'"):
            state.exhibit(["Fairy", "Dice"], SHORT.spec)
        assert not state.league.tournaments()
        approve(QUICK)
        job = state.start_tournament(game=SHORT.spec, options={"rounds": 2}, seed=1)
        job.wait()
        rows = {row.name: row for row in state.standings("shogi").rows}
        assert rows[agent.name].total.played == 8
        assert not any(row.forfeits for row in rows.values())
        first = played_matches.match(state.league, "1.1")
        approvals.place().unlink()  # as if the league had gone to another machine
        for again in (
            lambda: state.take_over(first.spec, 0, [], 0),
            lambda: state.start_tournament(game=SHORT.spec, seed=2),
        ):
            with pytest.raises(NotConfirmed, match="It would run"):
                again()
        with pytest.raises(SystemExit):
            main(["reproduce", str(state.league.path), "1.1"])
        assert "It would run" in capsys.readouterr().err


@pytest.mark.slow
def test_an_idle_worker_takes_matches_that_another_has_not_started() -> None:
    """Fewer matches than are given to a worker at once, each of them long."""
    fairy, dice = confirmed(EngineSpec(FAIRY, nodes=60_000)), agents_for(SHORT)["dice"][0]
    specs = [MatchSpec(f"m{n}", SHORT.spec, (fairy, dice), n) for n in range(8)]
    with ConcurrentMatchExecutor(2) as executor:
        assert {result.worker for result in executor.execute_matches(specs)} == {0, 1}
