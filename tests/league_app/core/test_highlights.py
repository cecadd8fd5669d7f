"""Highlights: upsets, close matches, the latest results, and the summary of a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.league import played_matches, standings
from engine.league.records import RunState
from engine.league.storage import tournament_rows
from engine.league.storage.league import League
from engine.league.storage.schema import PLACES
from engine.registry import new_game
from league_app.core.formatting import byte_size, match_rate
from league_app.core.queries import highlights
from league_app.core.queries.highlights import RunFacts
from league_app.core.state import LeagueState

QUICK = new_game("pong", points=2, step_limit=2000).spec
OTHER = new_game("pong", points=1, step_limit=300).spec
NEVER = new_game("pong", points=3).spec
BOTS = ("Tracker", "Shaky", "Predictor", "Lazy", "Random", "Still")


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LeagueState]:
    """Two tournaments of six under one set of rules, one of two under another."""
    with LeagueState.new(tmp_path_factory.mktemp("highlights") / "one.league") as state:
        state.add_samples("pong", BOTS)
        state.use_concurrent = False
        for seed in (1, 2):
            state.start_tournament(game=QUICK, agents=BOTS, options={"rounds": 2}, seed=seed).wait()
        state.start_tournament(game=OTHER, agents=("Still", "Random"), seed=3).wait()
        yield state


@pytest.fixture(scope="module")
def league(state: LeagueState) -> League:
    return state.league


@pytest.mark.parametrize("tournament", [None, 1, 2])
def test_an_upset_is_a_match_that_the_weaker_agent_won(league: League, tournament: int | None) -> None:
    ratings = {row.agent: row.rating for row in standings.standings(league, QUICK).rows}
    found = highlights.upsets(league, tournament, QUICK)
    assert found
    for upset in found:
        assert ratings[upset.winner] == upset.winner_rating < upset.loser_rating == ratings[upset.loser]
        match = played_matches.match(league, upset.match)
        assert match.spec.game == QUICK
        assert tournament in (None, match.tournament)
        seats = {agent: seat for seat, agent in enumerate(match.result.players)}
        assert match.result.ranks[seats[upset.winner]] < match.result.ranks[seats[upset.loser]]
        assert match.result.actions
        assert upset.text == f"Upset: {upset.winner} beat {upset.loser}"
        assert upset.times >= 1
    chances = [upset.chance for upset in found]
    assert chances == sorted(chances)
    assert chances[-1] < highlights.UPSET


def test_upsets_are_limited_and_empty_without_matches(league: League) -> None:
    assert len(highlights.upsets(league, None, QUICK, limit=1)) == 1
    assert highlights.upsets(league, None, NEVER) == []
    assert highlights.best_match(league, NEVER) is None
    assert highlights.recent(league, NEVER, 5) == []


def test_a_win_by_forfeit_is_not_an_upset(state: LeagueState, tmp_path: Path) -> None:
    state.league.backup(tmp_path / "copy.league")
    with League(tmp_path / "copy.league") as copy:
        first = highlights.upsets(copy, None, QUICK)[0]
        with copy.file.transaction() as db:
            db.execute("UPDATE matches SET ending = 'crash', blamed = 1")
        assert first not in highlights.upsets(copy, None, QUICK)


def test_the_best_match_is_between_strong_agents_and_can_be_replayed(league: League) -> None:
    found = highlights.best_match(league, QUICK)
    assert found is not None
    match = played_matches.match(league, found)
    strong = [row.agent for row in standings.standings(league, QUICK).rows[:3]]
    assert set(match.result.players) <= set(strong)
    assert match.result.actions
    assert match.result.ending.kind.value == "finished"


def test_a_close_long_match_is_more_exciting_than_a_short_or_clear_one() -> None:
    close = highlights._excitement((5.0, 4.0), (1, 2), 3000, 60.0)
    assert close > highlights._excitement((5.0, 0.0), (1, 2), 3000, 60.0)
    assert close > highlights._excitement((5.0, 4.0), (1, 2), 300, 60.0)
    assert close > highlights._excitement((4.0, 4.0), (1, 1), 3000, 60.0)
    assert highlights._excitement((0.0, 0.0), (1, 1), 10, 60.0) < 0.0


def test_recent_results_are_the_newest_of_the_pool(league: League) -> None:
    found = highlights.recent(league, QUICK, 70)
    whole = [match for match in played_matches.history(league, limit=200) if match.spec.game == QUICK]
    assert [match.match for match in found] == [match.reference for match in whole[:70]]
    assert found[0].match == "2.60"
    for light, match in zip(found, whole, strict=False):
        assert light.scores == match.result.scores
        assert light.players == match.result.players
        assert not light.failed
        winners = [seat for seat, rank in enumerate(match.result.ranks) if rank == 1]
        assert light.winner == (winners[0] if len(winners) == 1 else None)


def test_a_summary_has_the_table_and_the_duration(league: League) -> None:
    summary = highlights.summary(league, 1, RunFacts(0, 4.0, 0, 0.0))
    assert (summary.state, summary.played, summary.total, summary.matches, summary.watched) == (
        RunState.FINISHED,
        60,
        60,
        60,
        0,
    )
    assert summary.sentence == "60 matches in 4.0 s"
    assert summary.rate == 15.0
    best = standings.standings(league, QUICK, 1).rows[0]
    assert (summary.top[0].name, summary.top[0].rating) == (best.name, best.rating)
    assert len(summary.top) == 3
    assert summary.upsets == tuple(highlights.upsets(league, 1, QUICK))
    assert (summary.failures, summary.failing, summary.overload) == (0, (), "")


def test_a_summary_separates_watched_matches_from_the_others(state: LeagueState, tmp_path: Path) -> None:
    """One match watched for ten seconds, then the rest within 1.8 s."""
    state.league.backup(tmp_path / "copy.league")
    with League(tmp_path / "copy.league") as copy:
        with copy.file.transaction() as db:
            low, high = played_matches.span(2)
            db.execute("UPDATE matches SET at = 1011.8 WHERE number BETWEEN ? AND ?", (low, high))
            db.execute("UPDATE matches SET worker = -2, at = 1010.0 WHERE number = ?", (2 * PLACES + 1,))
            row = tournament_rows.read_row(db, 2)
            row[tournament_rows.CREATED] = 1000.0
            tournament_rows.write_row(db, row)
        for summary in (highlights.summary(copy, 2), highlights.summary(copy, 2, RunFacts(0, 11.8, 1, 10.0))):
            assert summary.sentence == "1 watched, 59 in 1.8 s"
            assert summary.rate == pytest.approx(59 / 1.8)
        assert highlights.summary(copy, 2, RunFacts(1, 1.8, 0, 0.0)).sentence == "59 matches in 1.8 s"


def test_a_summary_counts_failures_but_not_resignations(state: LeagueState, tmp_path: Path) -> None:
    state.league.backup(tmp_path / "copy.league")
    with League(tmp_path / "copy.league") as copy:
        lazy, still = copy.number("Lazy"), copy.number("Still")
        with copy.file.transaction() as db:
            db.execute("INSERT INTO forfeits VALUES (1, ?, 'exception', 2, 5)", (lazy,))
            db.execute("INSERT INTO forfeits VALUES (1, ?, 'resigned', 4, 6)", (still,))
        summary = highlights.summary(copy, 1)
        assert (summary.failures, summary.failing) == (2, ("Lazy",))


def test_a_summary_counts_void_matches_as_failures(state: LeagueState, tmp_path: Path) -> None:
    state.league.backup(tmp_path / "copy.league")
    with League(tmp_path / "copy.league") as copy:
        with copy.file.transaction() as db:
            db.execute("UPDATE matches SET ending = 'void' WHERE number = ?", (PLACES + 3,))
        summary = highlights.summary(copy, 1)
        assert (summary.failures, summary.failing) == (1, ("no agent at fault",))


def test_rates_and_memory_have_suitable_units() -> None:
    assert [match_rate(rate) for rate in (1234.5, 3.21, 0.05)] == ["1,234 a second", "3.2 a second", "3.0 a minute"]
    assert [byte_size(size) for size in (300 << 20, 3 << 30)] == ["300 MB", "3.0 GB"]
