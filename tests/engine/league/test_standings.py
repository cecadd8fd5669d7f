"""Standings and reports of tournaments: forfeits and reasons, overload, ratings over time, notes, estimates."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from engine.game import Floats
from engine.league import failure_report, played_matches, standings
from engine.league.estimate import estimate, rate_name
from engine.league.ratings import START, rate
from engine.league.records import RunState, TournamentSettings
from engine.league.storage.league import League
from engine.league.storage.result_columns import PlayedEntry
from engine.league.storage.tournaments import TournamentStore
from engine.play.match import Clock, Ending, EndingKind, Limits, MatchResult, MatchSpec
from engine.registry import KINDS, new_game

GAME = new_game("pong", points=1)
Outcome = Callable[[MatchSpec], MatchResult]


@pytest.fixture
def league(tmp_path: Path) -> Iterator[League]:
    with League.new(tmp_path / "t.league") as league:
        for agent in KINDS.get("pong-bot").samples(GAME):
            league.add_agent(agent.id, "pong", agent)
        yield league


def decided(spec: MatchSpec, winner: str, ending: Ending | None = None, actions: bytes = b"") -> MatchResult:
    players = tuple(player.id for player in spec.players)
    scores = tuple(float(player == winner) for player in players)
    ranks = tuple(1 if player == winner else 2 for player in players)
    ending = ending or Ending(EndingKind.FINISHED)
    return MatchResult(spec.id, players, scores, ranks, 100, ending, ((), ()), actions or spec.id.encode())


def stronger(spec: MatchSpec) -> MatchResult:
    """The player whose name comes first in the alphabet wins."""
    return decided(spec, min(player.id for player in spec.players))


def late(*agents: str) -> Outcome:
    """Of the players, these lose on time."""

    def outcome(spec: MatchSpec) -> MatchResult:
        players = [player.id for player in spec.players]
        losers = [seat for seat, player in enumerate(players) if player in agents]
        if not losers:
            return stronger(spec)
        ending = Ending(EndingKind.TIMEOUT, (losers[0],), "took 0.3 s too long; it wrote: thinking hard")
        return decided(spec, players[1 - losers[0]], ending)

    return outcome


def play(league: League, outcome: Outcome, entrants: list[str], rounds: int = 2, **more: object) -> TournamentStore:
    settings = TournamentSettings(GAME.spec, options=(("rounds", rounds),), **more)
    store = TournamentStore(league, league.add_tournament("t", settings, entrants).number)
    store.record([PlayedEntry(planned.place, planned.spec, outcome(planned.spec)) for planned in store.missing()])
    store.settle(RunState.FINISHED)
    return store


def test_forfeits_are_listed_by_agent_and_kind_with_reason_and_match(league: League) -> None:
    store = play(league, late("Lazy"), ["Lazy", "Still", "Tracker"])
    [failure] = failure_report.failures(league, store.tournament.number)
    assert (failure.agent, failure.ending, failure.times) == ("Lazy", "timeout", 8)
    assert "it wrote: thinking hard" in failure.reason
    match = played_matches.match(league, failure.match)
    assert match.result.players[match.result.ending.seats[0]] == "Lazy"
    rows = {row.name: row for row in standings.standings(league, GAME.spec).rows}
    assert rows["Lazy"].forfeits == {"timeout": 8}
    assert rows["Still"].forfeits == {}


def test_resigning_is_not_a_failure(league: League) -> None:
    def resigned(spec: MatchSpec) -> MatchResult:
        return decided(spec, spec.players[0].id, Ending(EndingKind.RESIGNED, (1,)))

    assert failure_report.failures(league, play(league, resigned, ["Lazy", "Still"]).tournament.number) == []


@pytest.mark.parametrize(
    ("losers", "overloaded"), [(["Lazy", "Still", "Random"], True), (["Lazy"], False), ([], False)]
)
def test_time_losses_of_many_agents_suggest_an_overload(league: League, losers: list[str], overloaded: bool) -> None:
    agents = ["Lazy", "Still", "Tracker", "Random"]
    store = play(league, late(*losers), agents, limits=Limits(clock=Clock(move=0.1)))
    hint = failure_report.overload(league, store.tournament)
    assert (hint is not None) == overloaded
    if hint:
        assert "the machine may be overloaded" in hint


def test_a_void_match_blames_no_agent_and_is_not_rated(league: League) -> None:
    def void(spec: MatchSpec) -> MatchResult:
        return decided(spec, "none", Ending(EndingKind.VOID, (), "killed from outside, three times"))

    store = play(league, void, ["Lazy", "Still"])
    [failure] = failure_report.failures(league, store.tournament.number)
    assert (failure.agent, failure.reason) == ("no agent at fault", "killed from outside, three times")
    assert not any(row.total.played for row in standings.standings(league, GAME.spec).rows)


def test_the_ratings_of_a_pool_are_saved_at_the_end_of_each_tournament(league: League) -> None:
    for seed in (1, 2):
        play(league, stronger, ["Lazy", "Still", "Tracker"], seed=seed)
    first, second = standings.rating_history(league, GAME.spec)
    assert first.at < second.at
    now = {row.agent: row.rating for row in standings.standings(league, GAME.spec).rows if row.total.played}
    assert {agent: rating for agent, rating, _ in second.ratings} == pytest.approx(now)
    assert {agent for agent, _, _ in first.ratings} == {"Lazy", "Still", "Tracker"}


def test_running_elo_starts_at_1200_and_follows_schedule_order(league: League) -> None:
    store = play(league, stronger, ["Lazy", "Still"], rounds=3)
    lines = standings.elo_lines(league, store.tournament.number)
    assert lines["Lazy"][:2] == [START, START + 16]
    assert len(lines["Lazy"]) == 7
    assert [a + b for a, b in zip(lines["Lazy"], lines["Still"], strict=True)] == pytest.approx([2 * START] * 7)


def test_groups_that_never_met_and_perfect_scores_are_finite_and_noted(league: League) -> None:
    play(league, stronger, ["Lazy", "Still"])
    table = standings.standings(league, GAME.spec)
    assert table.notes[0].startswith("Still has lost every game against the others: a virtual draw")
    play(league, stronger, ["Tracker", "Random"])
    table = standings.standings(league, GAME.spec)
    assert "2 groups have never met" in table.notes[0]
    assert all(abs(row.rating) < 5000 and row.error < 5000 for row in table.rows)


def test_a_note_names_agents_that_have_only_lost_to_the_others(league: League) -> None:
    everybody = ["Lazy", "Still", "Tracker", "Random", "Shaky", "Predictor"]

    def against(weak: list[str]) -> Outcome:
        """These lose to the others; among themselves, and among the others, the first seat wins."""

        def outcome(spec: MatchSpec) -> MatchResult:
            first, second = (player.id for player in spec.players)
            return decided(spec, second if first in weak and second not in weak else first)

        return outcome

    for seed, (weak, words) in enumerate(
        [
            (everybody[1:3], "Still and Tracker have lost every game"),
            (everybody[1:], "Lazy has won every game"),
            (everybody[:3], "Lazy, Still and Tracker have lost every game"),
        ]
    ):
        store = play(league, against(weak), everybody, seed=seed)
        [note] = standings.standings(league, GAME.spec, store.tournament.number).notes
        assert note == f"{words} against the others: a virtual draw with the mean bounds the ratings"
    big = rate(list("abcdefgh"), *split_in_halves())
    assert "".join(big.losers) == "abcd"
    assert standings._notes(big, {})[0].startswith("some have only lost to, or only won against, all of the others")


def split_in_halves() -> tuple[Floats, Floats]:
    """Points and games of eight: the first four have lost every game against the others, and draw among themselves."""
    points = np.full((8, 8), 1.0)
    points[:4, 4:], points[4:, :4] = 0.0, 2.0
    np.fill_diagonal(points, 0.0)
    return points, points + points.T


def test_the_table_has_its_model_and_superiority_in_row_order(league: League) -> None:
    play(league, stronger, ["Lazy", "Still", "Tracker"], rounds=20)
    table = standings.standings(league, GAME.spec)
    assert "mean of the table at 1200" in table.model
    played = [row for row in table.rows if row.total.played]
    assert [row.name for row in played] == ["Lazy", "Still", "Tracker"]
    assert table.superiority.shape == (3, 3)
    assert table.superiority[0, 2] > table.superiority[0, 1] > 0.5 > table.superiority[2, 0]
    anchored = standings.standings(league, GAME.spec, anchor="Tracker")
    assert next(row for row in anchored.rows if row.name == "Tracker").rating == START
    assert "Tracker at 1200" in anchored.model


def test_identical_games_are_counted_by_players_and_seats(league: League) -> None:
    def always(spec: MatchSpec) -> MatchResult:
        return decided(spec, spec.players[0].id, actions=b"the same")

    store = play(league, always, ["Lazy", "Still"], rounds=5)
    assert played_matches.identical_games(league, store.tournament.number) == 8, (
        "of ten games, one for each seating is new"
    )
    store = play(league, stronger, ["Lazy", "Still"], rounds=5, seed=2)
    assert played_matches.identical_games(league, store.tournament.number) == 0


def test_an_estimate_uses_the_known_rate_or_measures_it(league: League) -> None:
    settings = TournamentSettings(GAME.spec, options=(("rounds", 10),))
    store = TournamentStore(league, league.add_tournament("t", settings, ["Lazy", "Still", "Tracker"]).number)
    played: list[MatchResult] = []
    tried = estimate(league, store.plan, store.agents(), workers=1, played=played)
    assert tried.measured
    assert tried.matches == 60
    assert tried.seconds == pytest.approx(60 / tried.rate)
    assert tried.seconds_shown is not None
    league.save_setting(rate_name(GAME.spec), 30.0)
    known = estimate(league, store.plan, store.agents(), workers=2, played=played)
    assert not known.measured
    assert known.seconds == pytest.approx(1.0)
    assert known.width == tried.width


def test_order_of_arrival_does_not_change_the_table(league: League, tmp_path: Path) -> None:
    store = play(league, stronger, ["Lazy", "Still", "Tracker"], rounds=5)
    before = standings.standings(league, GAME.spec)
    with League.new(tmp_path / "other.league") as other:
        for agent in reversed(KINDS.get("pong-bot").samples(GAME)):
            other.add_agent(agent.id, "pong", agent)
        settings = store.tournament.settings
        again = TournamentStore(other, other.add_tournament("t", settings, ["Lazy", "Still", "Tracker"]).number)
        entries = [PlayedEntry(planned.place, planned.spec, stronger(planned.spec)) for planned in again.missing()]
        for entry in reversed(entries):
            again.record([entry])
        after = standings.standings(other, GAME.spec)
        assert played_matches.digest(other, 1) == played_matches.digest(league, 1)
    assert [dataclasses.replace(row, rating=0, error=0) for row in before.rows] == [
        dataclasses.replace(row, rating=0, error=0) for row in after.rows
    ]
    for line, other_row in zip(before.rows, after.rows, strict=True):
        assert (line.rating, line.error) == pytest.approx((other_row.rating, other_row.error))
