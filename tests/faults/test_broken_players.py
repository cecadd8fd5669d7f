"""Every kind of failure, alone and in a tournament of 200 matches on two workers: each match has the right result."""

from __future__ import annotations

import dataclasses
import re

import pytest

from engine.errors import GameFailed
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import Clock, EndingKind, Limits, MatchResult, MatchSpec
from engine.registry import new_game
from tests.faults.league import (
    SHORT_WATCHDOG,
    WATCHDOG,
    WELL,
    digest,
    make_executor,
    mixed,
    patience,
    play,
    sick,
    sick_matches,
    well_matches,
    within,
)

BREAKS = {  # the endings of plain bots
    "raise": EndingKind.EXCEPTION,
    "long": EndingKind.EXCEPTION,
    "unspeakable": EndingKind.EXCEPTION,
    "exit": EndingKind.EXCEPTION,
    "interrupt": EndingKind.EXCEPTION,
    "garbage": EndingKind.CRASH,
    "segfault": EndingKind.CRASH,
    "kill": EndingKind.CRASH,
    "exit0": EndingKind.CRASH,
    "exit3": EndingKind.CRASH,
    "sleep": EndingKind.TIMEOUT,
    "deaf": EndingKind.TIMEOUT,
    "hog": EndingKind.MEMORY,
    "nonsense": EndingKind.PROTOCOL,
    "huge": EndingKind.ILLEGAL_ACTION,
    "load": EndingKind.CANNOT_START,
    "load-segfault": EndingKind.CANNOT_START,
}
SHARED = {**BREAKS, "shape": EndingKind.PROTOCOL}
del SHARED["huge"]
CASES = [("fault", *case) for case in BREAKS.items()] + [("shared-fault", *case) for case in SHARED.items()]


def cases(usual: str, *left_out: str) -> list[object]:
    """All cases; slow tests are those of the other kind and those that are `left_out` of the usual ones."""
    return [
        pytest.param(*case, marks=[] if case[0] == usual and case[1] not in left_out else [pytest.mark.slow])
        for case in CASES
    ]


HARMLESS = ("flood", "reseed")


@pytest.fixture(scope="module")
def healthy() -> dict[str, MatchResult]:
    """The results of the matches between healthy players, played in this process."""
    with SequentialMatchExecutor(32) as executor:
        return {result.id: result for result in executor.execute_matches(well_matches(180))}


def check(result: MatchResult, seat: int, kind: EndingKind) -> None:
    if result.ending.kind is EndingKind.QUARANTINED:
        assert not result.ending.kind.rated
    else:
        assert (result.ending.kind, result.ranks) == (kind, (2, 1) if seat == 0 else (1, 2)), result
        assert result.ending.reason
        assert len(result.ending.reason) < 5000
        assert result.repeatable == (kind not in (EndingKind.MEMORY, EndingKind.TIMEOUT))
        assert result.steps == (0 if kind is EndingKind.CANNOT_START else 2), "steps before the failure count"
    assert result.ending.seats == (seat,)


@pytest.mark.parametrize(("kind", "fault", "ending"), cases("fault", "sleep", "deaf"))
def test_a_broken_player_forfeits_with_the_right_kind_of_ending(kind: str, fault: str, ending: EndingKind) -> None:
    specs = sick_matches(sick(fault, kind), 2)
    with within(60):
        results = play(specs, watchdog=patience(ending))
    for seat, spec in enumerate(specs):
        check(results[spec.id], seat, ending)


@pytest.mark.parametrize(("kind", "fault", "ending"), cases("shared-fault", "deaf"))
def test_a_broken_player_affects_no_other_match_of_a_tournament(
    kind: str, fault: str, ending: EndingKind, healthy: dict[str, MatchResult]
) -> None:
    well, ill = well_matches(180), sick_matches(sick(fault, kind), 20)
    with within(120):
        results = play(mixed(well, ill), watchdog=patience(ending))
    assert digest(results, well) == digest(healthy, well), "the other results equal those of a run without it"
    for n, spec in enumerate(ill):
        check(results[spec.id], n % 2, ending)
    failed = sum(results[spec.id].ending.kind is ending for spec in ill)
    assert failed == 20 if ending is EndingKind.ILLEGAL_ACTION else 3 <= failed <= 5, "then it is quarantined"


@pytest.mark.parametrize("kind", ["fault", "shared-fault"])
@pytest.mark.parametrize("fault", HARMLESS)
def test_output_and_changed_globals_have_no_effect(kind: str, fault: str, healthy: dict[str, MatchResult]) -> None:
    well, ill = well_matches(180), sick_matches(sick(fault, kind), 20)
    with within(120):
        results = play(mixed(well, ill))
    assert digest(results, well) == digest(healthy, well)
    as_well = sick_matches(sick("", kind, f"sick {fault}"), 20)
    with SequentialMatchExecutor(32) as executor:
        expected = {result.id: result for result in executor.execute_matches(as_well)}
    assert digest(results, ill) == digest(expected, as_well), "it plays as without the output"


@pytest.mark.parametrize("kind", ["fault", "shared-fault"])
def test_a_player_that_fails_on_one_side_fails_only_there(kind: str, healthy: dict[str, MatchResult]) -> None:
    well, ill = well_matches(180), sick_matches(sick("segfault@left", kind), 10)
    with within(120):
        results = play(mixed(well, ill), quarantine_after=None)
    assert digest(results, well) == digest(healthy, well)
    for n, spec in enumerate(ill):
        if n % 2 == 0:
            check(results[spec.id], 0, EndingKind.CRASH)
        else:
            assert results[spec.id].ending.kind in (EndingKind.FINISHED, EndingKind.STEP_LIMIT)


def test_the_result_of_a_crash_says_how_and_where() -> None:
    spec = sick_matches(sick("segfault"), 1)[0]
    reason = play([spec])[spec.id].ending.reason
    assert reason.startswith(
        "its process was killed by SIGSEGV; it last printed: Fatal Python error: Segmentation fault | "
    )
    assert re.search(r" \| ringside_faults.py, line \d+, in _segfault \| ", reason), "without the frames of the engine"
    assert "plain.py" not in reason


def test_slow_output_is_kept_completely() -> None:
    spec = sick_matches(sick("crumbs"), 1)[0]
    assert "it last printed: the first word, and another" in play([spec])[spec.id].ending.reason


@pytest.mark.parametrize("record", [True, False])
def test_a_crash_loses_the_match_but_keeps_its_actions(record: bool) -> None:
    spec = sick_matches(sick("segfault"), 1)[0]
    result = play([spec], record=record)[spec.id]
    well = MatchSpec(spec.id, spec.game, (sick("", name=spec.players[0].id), spec.players[1]), spec.seed)
    with SequentialMatchExecutor(1) as here:
        until_then = here.execute_match(dataclasses.replace(well, limits=Limits(2)))
    assert (result.steps, result.scores, result.stats) == (2, until_then.scores, until_then.stats)
    assert result.actions == (until_then.actions if record else b"")


def test_a_loss_on_time_is_a_loss_and_no_failure() -> None:
    """Three losses on time do not quarantine a player."""
    slow = sick("slow")
    specs = [dataclasses.replace(spec, limits=Limits(clock=Clock(move=1.0))) for spec in sick_matches(slow, 6)]
    with within(60):
        results = play(specs)
    for n, spec in enumerate(specs):
        assert (results[spec.id].ending.kind, results[spec.id].ending.seats) == (EndingKind.TIMEOUT, (n % 2,))


def test_two_players_that_fail_in_the_same_call_are_both_found(healthy: dict[str, MatchResult]) -> None:
    well = well_matches(180)
    crashing, other = (sick_matches(sick(fault, "shared-fault"), 10) for fault in ("segfault", "raise"))
    with within(120):
        results = play(mixed(well, [spec for pair in zip(crashing, other, strict=True) for spec in pair]))
    assert digest(results, well) == digest(healthy, well)
    for n in range(10):
        check(results[crashing[n].id], n % 2, EndingKind.CRASH)
        check(results[other[n].id], n % 2, EndingKind.EXCEPTION)


@pytest.mark.parametrize("fault", ["segfault", "kill", pytest.param("sleep", marks=pytest.mark.slow)])
def test_rules_that_kill_their_process_void_the_match(fault: str, healthy: dict[str, MatchResult]) -> None:
    broken = new_game("broken-rules", fault=fault)
    well = well_matches(30)
    count = 1 if fault == "sleep" else 2  # each try takes as long as the watchdog
    ill = [MatchSpec(f"b{n}", broken.spec, (WELL[n], WELL[n + 1]), n) for n in range(count)]
    with within(120):
        results = play([*well[:15], *ill, *well[15:]], watchdog=SHORT_WATCHDOG if fault == "sleep" else WATCHDOG)
    for spec in ill:
        result = results[spec.id]
        assert (result.ending.kind, result.ending.seats, result.ranks) == (EndingKind.VOID, (), (1, 1))
        assert "while no player was being called" in result.ending.reason
    assert digest(results, well) == digest(healthy, well)


def test_an_error_in_the_rules_ends_the_run_and_names_the_game() -> None:
    game = new_game("broken-rules", fault="raise")
    with make_executor(2) as executor:
        with pytest.raises(GameFailed, match="the game 'broken-rules' failed: RuntimeError: I give up"):
            executor.execute_match(MatchSpec("m", game.spec, (WELL[0], WELL[1]), 1))
        well = well_matches(20)
        assert len(executor.execute_matches(well)) == 20, "and the executor still works"
