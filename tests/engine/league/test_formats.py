"""Formats and schedules: pairings, their number, sides, seeds and match ids."""

from __future__ import annotations

import hashlib
import itertools
import os
import subprocess
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engine.errors import BadValue
from engine.league.formats import Board, Meeting, gauntlet, round_robin, sprt
from engine.league.records import Lineup, TournamentSettings
from engine.league.schedule import MOST_MATCHES, Schedule, ScheduledMatch, fingerprint
from engine.league.storage.league import League
from engine.play.match import AgentSpec, GameSpec
from engine.registry import FORMATS, new_game
from engine.seeding import derive
from tests.plugins.pilots import agent

TOE, MIXED = new_game("tictactoe").spec, new_game("mixed").spec
STARTS = ("0", "8", "20")


def names(count: int) -> tuple[str, ...]:
    return tuple(f"agent {n}" for n in range(count))


def bids(seats: int) -> GameSpec:
    return new_game("bids", seats=seats).spec


def whole(lineups: Sequence[Lineup], game: GameSpec = TOE, format: str = "round-robin", **more: object) -> Schedule:
    """The schedule of a format that does not depend on results; format options are keyword arguments in capitals."""
    options = tuple(sorted((name.lower(), value) for name, value in more.items() if name.isupper()))
    rest = {name: value for name, value in more.items() if not name.isupper()}
    plan = Schedule(TournamentSettings(game, format, options, **rest), lineups)  # type: ignore[arg-type]
    while not plan.complete:
        plan.extend(lambda *_: ())
    return plan


def plan_of(count: int, *args: object, **more: object) -> Schedule:
    return whole([Lineup(1, 0, names(count))], *args, **more)  # type: ignore[arg-type]


def matches(plan: Schedule) -> list[ScheduledMatch]:
    agents = {name: AgentSpec(name, "fast") for lineup in plan._lineups for name in lineup.entrants}
    found = list(plan.matches(agents))
    assert [planned.place for planned in found] == list(range(1, plan.length + 1))
    return found


@given(st.integers(0, 2**64 - 1), st.booleans(), st.integers(1, 3), st.sampled_from([(), STARTS]))
@settings(max_examples=20)
def test_ids_and_seeds_are_hashes_of_the_place_in_the_schedule(
    seed: int, swap: bool, games: int, starts: tuple[str, ...]
) -> None:
    """As they are defined: files of earlier versions are resumed by them."""
    entrants = ("it's", 'a "b"', "zwei ²", "back\\slash")
    plan = whole([Lineup(3, 0, entrants)], ROUNDS=2, seed=seed, swap=swap, games=games, starts=starts)
    identity, expected = fingerprint(plan.settings, entrants), []
    for number, (version, _, groups) in enumerate(plan._rounds):
        for (board, group), encounter, turn in itertools.product(enumerate(groups), range(games), range(1 + swap)):
            text = repr((identity, version, number, board, group, encounter, turn))
            own = derive(seed, number, board, *sorted(group), encounter)
            start = starts[derive(own, "start") % len(starts)] if starts else None
            seated = round_robin.turned(group, turn if swap else encounter)
            expected.append((hashlib.blake2b(text.encode(), digest_size=16).hexdigest(), own, start, seated))
    assert [
        (planned.spec.id, planned.spec.seed, planned.spec.start, players(planned)) for planned in matches(plan)
    ] == expected


def test_matches_of_the_same_players_share_their_tuple() -> None:
    """What is known of players is found by the identity of their tuple."""
    found = matches(plan_of(4, ROUNDS=6))
    assert len(found) == 72
    assert len({players(planned) for planned in found}) == 12
    assert (
        len({id(planned.spec.players) for planned in found}) == 24
    )  # as the turns of a group, and of the group reversed


def players(planned: ScheduledMatch) -> tuple[str, ...]:
    return tuple(player.id for player in planned.spec.players)


def meetings(plan: Schedule) -> Counter[frozenset[str]]:
    return Counter(frozenset(players(planned)) for planned in matches(plan))


def spread(counts: Counter[tuple[str, int]], names: Sequence[str], seats: int) -> int:
    """The largest difference between an entrant's games on its most and its least frequent seat."""
    seated = [[counts[name, seat] for seat in range(seats)] for name in names]
    return max(max(counts) - min(counts) for counts in seated)


def seatings(plan: Schedule) -> Counter[tuple[str, int]]:
    return Counter((name, seat) for planned in matches(plan) for seat, name in enumerate(players(planned)))


# Round robin


@given(st.integers(2, 11), st.integers(1, 5), st.integers(1, 3), st.booleans())
def test_all_entrants_meet_equally_often(count: int, rounds: int, games: int, swap: bool) -> None:
    plan = plan_of(count, ROUNDS=rounds, games=games, swap=swap)
    pairs = [frozenset(pair) for pair in itertools.combinations(names(count), 2)]
    assert meetings(plan) == dict.fromkeys(pairs, rounds * games * (1 + swap))


@given(st.integers(2, 11), st.integers(1, 4))
def test_no_entrant_plays_twice_in_a_round_and_no_round_is_wasted(count: int, rounds: int) -> None:
    plan = plan_of(count, ROUNDS=rounds)
    seen = Counter((number, name) for number, group in plan.pairings() for name in group)
    assert set(seen.values()) == {1}
    assert plan.rounds == rounds * (count - 1 + count % 2)
    bounds = [plan.round_of(planned.place) for planned in matches(plan)]
    assert bounds == [number for number, _ in plan.pairings() for _ in range(plan.per_meeting)]


@given(st.integers(2, 11), st.integers(1, 4), st.integers(1, 3), st.booleans())
def test_both_sides_are_played_equally_often(count: int, rounds: int, games: int, swap: bool) -> None:
    """With sides swapped exactly, against each opponent; without, as nearly as the number of games allows."""
    plan = plan_of(count, ROUNDS=rounds, games=games, swap=swap)
    allowed = 0 if swap else 1
    assert spread(seatings(plan), names(count), 2) <= allowed
    directed = Counter(players(planned) for planned in matches(plan))
    assert max(abs(directed[a, b] - directed[b, a]) for a, b in directed) <= allowed


@settings(max_examples=30)
@given(st.integers(2, 5), st.integers(0, 3), st.integers(1, 3), st.booleans())
def test_with_more_seats_every_combination_of_players_meets(seats: int, more: int, rounds: int, swap: bool) -> None:
    count = seats + more
    plan = plan_of(count, bids(seats), ROUNDS=rounds, swap=swap)
    groups = [frozenset(group) for group in itertools.combinations(names(count), seats)]
    assert meetings(plan) == dict.fromkeys(groups, rounds * (seats if swap else 1))


@settings(max_examples=40)
@given(st.integers(3, 5), st.integers(0, 3), st.integers(1, 3), st.sampled_from(["swap", "rounds", "games"]))
def test_with_more_seats_every_player_takes_every_seat(seats: int, more: int, times: int, how: str) -> None:
    """By swapping, or by as many rounds or games as there are seats."""
    often = {"swap": {"ROUNDS": times}, "rounds": {"ROUNDS": seats * times}, "games": {"games": seats * times}}[how]
    plan = plan_of(seats + more, bids(seats), swap=how == "swap", **often)
    each = Counter(
        (frozenset(players(planned)), name, seat)
        for planned in matches(plan)
        for seat, name in enumerate(players(planned))
    )
    assert len(set(each.values())) == 1, "also within every group"
    assert len(each) == len(meetings(plan)) * seats * seats


def test_too_many_groups_are_refused_with_an_error_that_names_the_field() -> None:
    with pytest.raises(BadValue, match="20 agents at 10 seats"):
        plan_of(20, bids(10))
    with pytest.raises(BadValue, match="at most"):
        plan_of(2, ROUNDS=1_000_000, games=MOST_MATCHES // 1_000_000)


# Gauntlet


@given(st.integers(2, 11), st.integers(1, 4), st.integers(1, 4), st.booleans())
def test_in_a_gauntlet_only_challengers_meet_the_other_entrants(
    count: int, challengers: int, rounds: int, swap: bool
) -> None:
    assume(challengers < count)
    plan = plan_of(count, format="gauntlet", CHALLENGERS=challengers, ROUNDS=rounds, swap=swap)
    first, field = names(count)[:challengers], names(count)[challengers:]
    assert meetings(plan) == {frozenset(pair): rounds * (1 + swap) for pair in itertools.product(first, field)}
    everybody = seatings(plan)
    assert spread(everybody, first, 2) <= (0 if swap else 1)
    assert spread(everybody, field, 2) <= (0 if swap else 1), "no other entrant always has the same side"


def test_a_gauntlet_of_challengers_only_is_refused() -> None:
    with pytest.raises(BadValue, match="challengers"):
        plan_of(3, format="gauntlet", CHALLENGERS=3)
    with pytest.raises(BadValue, match="challengers"):
        plan_of(4, bids(3), "gauntlet", CHALLENGERS=3)
    assert len(meetings(plan_of(6, bids(3), "gauntlet", CHALLENGERS=2))) == 2 * 6


# Formats are pure functions


@given(st.sampled_from(["round-robin", "gauntlet"]), st.integers(2, 8), st.integers(1, 3))
def test_the_same_arguments_give_the_same_rounds(format: str, count: int, rounds: int) -> None:
    kind = FORMATS.get(format)
    ask: Callable[[list[list[Meeting]]], list[list[tuple[str, ...]]]] = lambda played: [  # noqa: E731
        list(groups) for groups in kind.rounds(names(count), played, Board(2, 2), kind.Options(rounds=rounds))
    ]
    answer = ask([])
    assert ask([]) == answer
    assert ask([[Meeting(group, 2, lambda: (1.0, 0.0)) for group in groups] for groups in answer]) == [], (
        "nothing is left"
    )


def results_of(script: Sequence[float]) -> Callable[[int, int, tuple[str, ...]], tuple[float, float]]:
    def scores(first: int, games: int, group: tuple[str, ...]) -> tuple[float, float]:
        own = script[(first - 1) // games % len(script)]
        return own, 1 - own

    return scores


def play_test(script: Sequence[float], **options: object) -> tuple[Schedule, int]:
    """Plays a sequential test to its end; returns how many times the format was called."""
    chosen = tuple(sorted(options.items()))
    plan = Schedule(TournamentSettings(TOE, "sequential-test", chosen), [Lineup(1, 0, names(2))])  # type: ignore[arg-type]
    asked = 0
    while plan.extend(results_of(script)):
        asked += 1
    assert plan.complete
    return plan, asked


def test_a_sequential_test_ends_when_it_is_decided() -> None:
    won, _ = play_test([1.0, 0.75, 0.5], step=4, elo1=100.0)
    lost, _ = play_test([0.0, 0.25, 0.5], step=4, elo1=100.0)
    even, asked = play_test([0.75, 0.25], step=4, most=100, elo0=-3.0, elo1=3.0)
    assert won.length < 200 > lost.length
    assert even.length == 200, "two games for each of `most` encounters, and no more"
    assert asked > 5, "it is evaluated after every step"


@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=1, max_size=20), st.integers(1, 9))
@settings(max_examples=20)
def test_a_sequential_test_depends_on_results_alone(script: list[float], step: int) -> None:
    first, second = [play_test(script, step=step, most=60)[0] for _ in range(2)]
    assert [planned.spec.id for planned in matches(first)] == [planned.spec.id for planned in matches(second)]
    scores = results_of(script)
    played = [Meeting(names(2), 2, partial(scores, 1 + 2 * n, 2, names(2))) for n in range(first.length // 2)]
    options = sprt.Options(step=step, most=60)
    assert sprt.stand([played], options).verdict is not None or len(played) == 60
    before = sprt.stand([played[: -max(step, len(played) // 9)]], options)
    assert len(played) <= step or before.verdict is None, "it was undecided one step before"


def test_a_sequential_test_refuses_a_change_of_opponent() -> None:
    """Results of two agents are no evidence about two others."""
    decided = [[Meeting(("old", "rival"), 2, lambda: (1.0, 0.0))] * 100]
    options = sprt.Options()
    assert not list(sprt.rounds(("old", "rival"), decided, Board(2, 2), options))
    with pytest.raises(BadValue, match="entrants"):
        list(sprt.rounds(("new", "rival"), decided, Board(2, 2), options))


def test_wrong_options_of_a_sequential_test_are_refused_at_once(tmp_path: Path) -> None:
    with League.new(tmp_path / "a.league") as league:
        for name in "abc":
            league.add_agent(name, "tictactoe", agent("fast", name))
        with pytest.raises(BadValue, match="entrants"):
            league.add_tournament("t", TournamentSettings(TOE, "sequential-test"), "abc")
        with pytest.raises(BadValue, match="elo0"):
            league.add_tournament(
                "t", TournamentSettings(TOE, "sequential-test", (("elo0", 20.0), ("elo1", 10.0))), "ab"
            )
        with pytest.raises(BadValue, match="games"):
            league.add_tournament("t", TournamentSettings(TOE, "sequential-test", games=5), "ab")
        assert not league.tournaments()


# Joining and leaving


def career(data: st.DataObject, rounds: int, swap: bool) -> list[Lineup]:
    """An agent joins, leaves or returns at each change, from any round without a played match."""
    pool, present = [f"agent {n}" for n in range(8)], names(data.draw(st.integers(2, 5)))
    lineups = [Lineup(1, 0, present)]
    for version in range(2, 2 + data.draw(st.integers(1, 3))):
        low, high = lineups[-1].first_round + 1, whole(lineups, ROUNDS=rounds, swap=swap).rounds
        if low > high:
            break
        leaving = data.draw(st.sets(st.sampled_from(present), max_size=len(present) - 2))
        joining = data.draw(st.sets(st.sampled_from(pool), max_size=2)) - set(present)
        present = (*(name for name in present if name not in leaving), *sorted(joining))
        lineups.append(Lineup(version, data.draw(st.integers(low, high)), present))
    return lineups


@given(st.data(), st.integers(1, 3), st.booleans())
def test_remaining_entrants_have_met_the_right_number_of_times(data: st.DataObject, rounds: int, swap: bool) -> None:
    lineups = career(data, rounds, swap)
    plan = whole(lineups, ROUNDS=rounds, swap=swap)
    often = rounds * (1 + swap)
    met = meetings(plan)
    for pair in itertools.combinations(lineups[-1].entrants, 2):
        assert met[frozenset(pair)] == often
    assert max(met.values()) <= often, "agents that left have not met too often either"
    for number, group in plan.pairings():
        line = [lineup for lineup in lineups if lineup.first_round <= number][-1]
        assert set(group) <= set(line.entrants), "no agent plays before joining or after leaving"
    seen = Counter((number, name) for number, group in plan.pairings() for name in group)
    assert set(seen.values()) == {1}
    ids = [planned.spec.id for planned in matches(plan)]
    assert len(set(ids)) == len(ids)
    for n in range(1, len(lineups)):
        before = whole(lineups[:n], ROUNDS=rounds, swap=swap)
        kept = [planned for planned in matches(before) if before.round_of(planned.place) < lineups[n].first_round]
        assert matches(plan)[: len(kept)] == kept, "earlier matches stay the same"


@given(st.integers(2, 6), st.integers(1, 3), st.integers(1, 2))
def test_a_late_entrant_of_a_gauntlet_meets_all_challengers(count: int, rounds: int, challengers: int) -> None:
    assume(challengers < count)
    lineups = [Lineup(1, 0, names(count)), Lineup(2, 1, (*names(count), "late"))]
    plan = whole(lineups, format="gauntlet", CHALLENGERS=challengers, ROUNDS=rounds)
    pairs = itertools.product(names(count)[:challengers], [*names(count)[challengers:], "late"])
    assert meetings(plan) == {frozenset(pair): 2 * rounds for pair in pairs}


# Seeds, starts and ids


@given(st.integers(2, 6), st.integers(1, 3), st.integers(1, 3), st.integers(0, 2**64 - 1), st.sampled_from([2, 3]))
def test_only_games_of_one_encounter_share_seed_and_start(
    count: int, rounds: int, games: int, seed: int, seats: int
) -> None:
    assume(count >= seats)
    game, starts = (MIXED, STARTS) if seats == 2 else (bids(seats), ())
    found = matches(plan_of(count, game, ROUNDS=rounds, games=games, seed=seed, starts=starts))
    encounters = [found[at : at + seats] for at in range(0, len(found), seats)]
    for encounter in encounters:
        assert len({(planned.spec.seed, planned.spec.start) for planned in encounter}) == 1
        turns = [players(planned) for planned in encounter]
        assert len(set(turns)) == seats, "every player takes every seat"
        assert {frozenset(turn) for turn in turns} == {frozenset(turns[0])}
    assert len({encounter[0].spec.seed for encounter in encounters}) == len(encounters)
    assert all(planned.spec.start in (starts or (None,)) for planned in found)


def test_starts_are_all_drawn_and_the_seed_decides_which() -> None:
    drawn = [
        [planned.spec.start for planned in matches(plan_of(6, MIXED, games=4, starts=STARTS, seed=n))] for n in (1, 2)
    ]
    assert {*drawn[0]} == {*STARTS} == {*drawn[1]}
    assert drawn[0] != drawn[1]
    with pytest.raises(BadValue, match="start"):
        plan_of(3, MIXED, starts=("9",))


def test_every_difference_between_tournaments_changes_the_match_ids() -> None:
    plans = [
        plan_of(4),
        plan_of(5),
        plan_of(4, seed=2),
        plan_of(4, games=2),
        plan_of(4, swap=False),
        plan_of(4, MIXED),
        plan_of(4, ROUNDS=2),
        plan_of(4, format="gauntlet"),
        whole([Lineup(1, 0, names(4)[::-1])]),
    ]
    ids = [planned.spec.id for plan in plans for planned in matches(plan)]
    assert len(set(ids)) == len(ids)
    assert len(ids[0]) == 32


SCRIPT = """
from tests.engine.league.test_formats import *
plan = whole([Lineup(1, 0, names(5)), Lineup(2, 2, (*names(4), "late"))], MIXED, ROUNDS=2, games=2, starts=STARTS)
for planned in matches(plan):
    print((planned.spec.id, planned.spec.seed, planned.spec.start, players(planned)))
"""


def test_another_process_computes_the_same_schedule() -> None:
    """Hash randomisation must not affect it."""
    plans = [
        subprocess.run(
            [sys.executable, "-c", f"import tests.conftest\n{SCRIPT}"],
            cwd=Path(__file__).parents[3],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert plans[0] == plans[1]
    assert plans[0].count("\n") > 80


def test_a_million_matches_are_scheduled_in_little_memory() -> None:
    tracemalloc.start()
    try:
        plan = plan_of(100, ROUNDS=102)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()
    assert plan.length == 102 * 9900
    agents = {name: AgentSpec(name, "fast") for name in names(100)}
    present = bytearray(b"\1") * plan.length  # place 0 is unused, so the last one is missing
    assert [planned.place for planned in plan.matches(agents, present)] == [plan.length]
    first = list(itertools.islice(plan.matches(agents), 1000))
    assert len({planned.spec.id for planned in first}) == 1000


def test_round_robin_and_gauntlet_have_descriptions() -> None:
    assert (round_robin.FORMAT.adaptive, gauntlet.FORMAT.adaptive, sprt.FORMAT.adaptive) == (False, False, True)
