"""Agents that change the state of the process they share: only their own matches end, and for that reason."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from engine import float_mode
from engine.errors import PolicyFailed
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import AgentSpec, EndingKind, MatchResult, MatchSpec
from engine.play.rollout import Rollout
from engine.seeding import derive
from tests.faults.league import (
    GAME,
    SHORT_WATCHDOG,
    WATCHDOG,
    WELL,
    digest,
    make_executor,
    mixed,
    play,
    sick,
    sick_matches,
    well_matches,
    within,
)

MODES = {  # what the reason names
    "upward": "changed how numbers are rounded in its process",
    "truncate": "changed how numbers are rounded in its process",
    "flush": "changed how denormal numbers are treated in its process",
    "signal": "changed which errors are signalled in its process",
    "upward@begin": "changed how numbers are rounded in its process",
    "upward@end": "changed how numbers are rounded in its process",
}
DESCRIPTORS = ("close", "duplicate", "close all", "close@begin", "close@end")
KINDS = ("harm", "shared-harm")
known = pytest.mark.skipif(not float_mode.KNOWN, reason="the floating-point mode of this processor cannot be read")


def cases(faults: Iterable[str], usual: str) -> list[object]:
    """Each fault and kind that has it; those of the other kind, and those of other calls, are slow tests."""
    found = []
    for kind in KINDS:
        for fault in faults:
            if kind == "shared-harm" or "@end" not in fault:
                quick = kind == usual and "@" not in fault
                found.append(pytest.param(kind, fault, marks=[] if quick else [pytest.mark.slow]))
    return found


@pytest.fixture(scope="module")
def healthy() -> dict[str, MatchResult]:
    """The results of the matches between healthy players, played in this process."""
    with SequentialMatchExecutor(32) as executor:
        return {result.id: result for result in executor.execute_matches(well_matches(180))}


def check(result: MatchResult, seat: int, kind: EndingKind, reason: str) -> bool:
    """Whether it failed; otherwise it is not played, because it has failed too often."""
    assert result.ending.seats == (seat,), result
    if result.ending.kind is EndingKind.QUARANTINED:
        return False
    assert (result.ending.kind, result.ranks) == (kind, (2, 1) if seat == 0 else (1, 2)), result
    assert reason in result.ending.reason
    return True


@known
@pytest.mark.parametrize(("kind", "fault"), cases(MODES, "harm"))
def test_a_changed_floating_point_mode_is_the_failure_of_its_agent(
    kind: str, fault: str, healthy: dict[str, MatchResult]
) -> None:
    well, ill = well_matches(180), sick_matches(sick(fault, kind), 20)
    with within(120):
        results = play(mixed(well, ill))
    assert digest(results, well) == digest(healthy, well), "the other results equal those of a run without it"
    failed = [check(results[spec.id], n % 2, EndingKind.PROTOCOL, MODES[fault]) for n, spec in enumerate(ill)]
    assert 3 <= sum(failed) <= 5, "then it is quarantined"


@known
@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_mode_has_the_same_ending_in_this_process(kind: str, healthy: dict[str, MatchResult]) -> None:
    well, ill = well_matches(180), sick_matches(sick("flush", kind), 4)
    with SequentialMatchExecutor(32, quarantine_after=None) as executor:
        results = {result.id: result for result in executor.execute_matches(mixed(well, ill))}
    assert float_mode.read_mode() == float_mode.NORMAL
    assert digest(results, well) == digest(healthy, well)
    assert all(check(results[spec.id], n % 2, EndingKind.PROTOCOL, MODES["flush"]) for n, spec in enumerate(ill))


@known
def test_a_mode_that_is_changed_while_an_agent_is_loaded_is_restored() -> None:
    """As by a library that it imports: that harms nobody."""
    ill = sick_matches(sick("flush@load", "shared-harm", "x"), 10)
    as_well = sick_matches(sick("", "shared-harm", "x"), 10)
    with SequentialMatchExecutor(32) as executor:
        expected = {result.id: result for result in executor.execute_matches(as_well)}
        here = {result.id: result for result in executor.execute_matches(ill)}
    with within(60):
        results = play(ill)
    assert digest(results, ill) == digest(here, ill) == digest(expected, as_well)
    assert {result.ending.kind for result in results.values()} <= {EndingKind.FINISHED, EndingKind.STEP_LIMIT}


@known
@pytest.mark.parametrize("fault", ["flush", "flush@begin", "flush@end"])
def test_a_rollout_names_the_agent_that_changes_the_mode(fault: str) -> None:
    def plan(stream: int, k: int) -> MatchSpec:
        players = (sick(fault, "shared-harm", "x"), AgentSpec("Random", "dice"))
        return MatchSpec(f"{stream}.{k}", GAME.spec, players, derive("mode", stream, k))

    with Rollout(GAME, range(2), plan) as rollout:
        with pytest.raises(PolicyFailed, match=r"(x|shared-harm).* failed: changed how denormal numbers are treated"):
            rollout.collect(300)
        assert float_mode.read_mode() == float_mode.NORMAL


@pytest.mark.parametrize(("kind", "fault"), cases(DESCRIPTORS, "shared-harm"))
def test_closed_and_replaced_descriptors_are_the_failure_of_their_agent(
    kind: str, fault: str, healthy: dict[str, MatchResult]
) -> None:
    well, ill = well_matches(180), sick_matches(sick(fault, kind), 20)
    with within(120):
        results = play(mixed(well, ill))
    assert digest(results, well) == digest(healthy, well)
    reason = "closed "  # descriptors; or the connection, if it was noticed before the process had exited
    usual = EndingKind.CANNOT_START if "@begin" in fault else EndingKind.CRASH
    failed = [check(results[spec.id], n % 2, usual, reason) for n, spec in enumerate(ill)]
    assert 3 <= sum(failed) <= 5, "then it is quarantined"


def test_a_live_match_ends_as_well_if_descriptors_are_closed() -> None:
    spec = sick_matches(sick("close", "harm"), 1)[0]
    with within(60), make_executor(1) as executor, executor.watch(spec) as live:
        result = live.wait(300)
    assert result is not None
    assert check(result, 0, EndingKind.CRASH, "closed ")


@pytest.mark.slow
def test_a_player_that_thinks_for_ever_times_out(healthy: dict[str, MatchResult]) -> None:
    well, ill = well_matches(180), sick_matches(sick("pending", "shared-harm"), 6)
    with within(120):
        results = play(mixed(well, ill), watchdog=SHORT_WATCHDOG)
    assert digest(results, well) == digest(healthy, well)
    reason = f"answered PENDING for {SHORT_WATCHDOG:g} s"
    failed = [check(results[spec.id], n % 2, EndingKind.TIMEOUT, reason) for n, spec in enumerate(ill)]
    assert 3 <= sum(failed) <= 5


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_player_that_fills_the_memory_slowly_runs_out_of_memory(kind: str) -> None:
    """Also if that takes longer than a call may."""
    specs = sick_matches(sick("hog", kind), 2)
    with within(120):
        results = play(specs, watchdog=SHORT_WATCHDOG)
    for seat, spec in enumerate(specs):
        assert check(results[spec.id], seat, EndingKind.MEMORY, "")


def test_healthy_agents_of_these_kinds_play() -> None:
    specs = [MatchSpec(f"m{n}", GAME.spec, (sick("", kind, kind), WELL[0]), n) for n, kind in enumerate(KINDS)]
    with within(60):
        results = play(specs, watchdog=WATCHDOG)
    assert {result.ending.kind for result in results.values()} <= {EndingKind.FINISHED, EndingKind.STEP_LIMIT}
