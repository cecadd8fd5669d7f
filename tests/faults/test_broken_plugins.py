"""Plug-ins that cannot be imported: matches of their agents end as `cannot_start`, all others are played."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from engine.errors import WorkersFailed
from engine.league import played_matches
from engine.league.records import RunState
from engine.league.storage.league import League
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import AgentSpec, EndingKind, MatchResult, MatchSpec, run_digest
from engine.play.workers import handle
from engine.registry import KINDS
from league_app.core.state import LeagueState
from tests.faults.league import (
    GAME,
    SHORT_WATCHDOG,
    WATCHDOG,
    digest,
    make_executor,
    mixed,
    sick_matches,
    well_matches,
    within,
    worker_pids,
)

KIND = "import-fault"
IMPORTS = {  # what each reason contains
    "raise": "'import-fault' of ringside-faults cannot be loaded: RuntimeError: not \ufffd here",
    "raise in worker": "'import-fault' of ringside-faults cannot be loaded: RuntimeError: not \ufffd here",
    "exit": "its process exited with status 3",
    "crash": "its process was killed by SIGSEGV; it last printed: Fatal Python error",
    "kill": "its process was killed by SIGKILL",
    "hang": "the import of its kind did not return within",
}
FEW = 10  # starts of workers, of which two play the healthy matches


def forget_import() -> None:
    sys.modules.pop("ringside_import", None)
    KINDS.remove(KIND)
    KINDS.rescan()


@pytest.fixture
def fault(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """How the import of the kind fails."""
    forget_import()
    monkeypatch.setenv("RINGSIDE_IMPORT_FAULT", request.param)
    yield request.param
    forget_import()


def faults(*usual: str) -> pytest.MarkDecorator:
    cases = [pytest.param(one, marks=[] if one in usual else [pytest.mark.slow]) for one in IMPORTS]
    return pytest.mark.parametrize("fault", cases, indirect=True)


def agent(name: str = "sick") -> AgentSpec:
    return AgentSpec(name, KIND)


def play_beside(fault: str, ill: list[MatchSpec]) -> tuple[dict[str, MatchResult], int]:
    """The results of these matches, played among healthy ones, and the number of workers that were started."""
    well = well_matches(60)
    with SequentialMatchExecutor(32) as executor:
        expected = {result.id: result for result in executor.execute_matches(well)}
    watchdog = SHORT_WATCHDOG if fault == "hang" else WATCHDOG
    with within(120), make_executor(2, watchdog=watchdog) as executor:
        results = {result.id: result for result in executor.run(mixed(well, ill))}
        starts = sum(event.what == "start" for event in executor.events()[1])
    assert digest(results, well) == digest(expected, well), "the other results equal those of a run without it"
    assert not worker_pids()
    return results, starts


@faults("raise", "raise in worker", "exit")
def test_a_kind_that_cannot_be_imported_fails_its_agents_alone(fault: str) -> None:
    ill = sick_matches(agent(), 20)
    results, starts = play_beside(fault, ill)
    failed = [spec for spec in ill if results[spec.id].ending.kind is EndingKind.CANNOT_START]
    assert 3 <= len(failed) <= 5, "then it is quarantined"
    for spec in ill:
        ending = results[spec.id].ending
        assert ending.kind is EndingKind.CANNOT_START or ending.kind is EndingKind.QUARANTINED
        assert [spec.players[seat] for seat in ending.seats] == [agent()]
    for spec in failed:
        assert IMPORTS[fault] in results[spec.id].ending.reason
    assert starts <= (2 * FEW if fault == "kill" else FEW), "a kill may have come from outside, so it is tried again"


@faults("exit")
def test_many_agents_of_a_kind_that_cannot_be_imported_cost_few_workers(fault: str) -> None:
    several = [sick_matches(agent(f"sick{n}"), 4) for n in range(5)]
    results, starts = play_beside(fault, [spec for some in several for spec in some])
    for some in several:
        kinds = [results[spec.id].ending.kind for spec in some]
        assert kinds.count(EndingKind.CANNOT_START) >= 3
    assert starts <= (5 * FEW if fault in ("raise in worker", "kill") else FEW)


@pytest.mark.parametrize("fault", ["raise"], indirect=True)
def test_the_endings_are_the_same_in_this_process(fault: str) -> None:
    """Also where two agents of that kind meet."""
    specs = [*sick_matches(agent(), 4), MatchSpec("both", GAME.spec, (agent(), agent("other")), 1)]
    with SequentialMatchExecutor(8, quarantine_after=None) as here:
        expected = here.execute_matches(specs)
    with within(60), make_executor(2, quarantine_after=None) as executor:
        results = executor.execute_matches(specs)
        with executor.watch(specs[0]) as live:
            shown = live.wait(300)
    assert run_digest(results) == run_digest(expected)
    assert shown is not None
    assert shown.digest() == expected[0].digest()
    assert [result.ending.seats for result in results] == [(0,), (1,), (0,), (1,), (0, 1)]
    for result in [shown, *results, *expected]:
        assert result.ending.kind is EndingKind.CANNOT_START
        assert IMPORTS[fault] in result.ending.reason


@pytest.mark.parametrize("fault", [""], indirect=True)
def test_a_tournament_is_played_although_a_plug_in_has_broken(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.league"
    with LeagueState.new(path) as state:
        for name in ("one", "two", "three"):
            state.add_agent(name, "pong", "fault", b"")
        state.add_agent("sick", "pong", KIND, b"")
        state.plan_tournament(game=GAME.spec, name="Before", options={"rounds": 2})
    forget_import()
    monkeypatch.setenv("RINGSIDE_IMPORT_FAULT", "raise")
    with within(120), LeagueState(path) as state:
        state.start_tournament(1).wait()
        state.start_tournament(game=GAME.spec, name="After", options={"rounds": 2}).wait()
        assert [one.state for one in state.league.tournaments()] == [RunState.FINISHED] * 2
    with League(path, read_only=True) as league:
        names, kinds = league.names(), {True: set[EndingKind](), False: set[EndingKind]()}
        for match in played_matches.every_match(league):
            kinds["sick" in [names[player] for player in match.result.players]].add(match.result.ending.kind)
    assert kinds[True] == {EndingKind.CANNOT_START, EndingKind.QUARANTINED}
    assert kinds[False] <= {EndingKind.FINISHED, EndingKind.STEP_LIMIT}


@pytest.mark.parametrize("module", ["ringside_broken", "ringside_exits"])
def test_a_module_of_plug_ins_that_cannot_be_imported_fails_the_agents_that_need_it(module: str) -> None:
    """`plugins` of an executor names modules that workers import."""
    KINDS.add("unknown", replace(KINDS.get("fault"), name="unknown"))
    try:
        well, ill = well_matches(60), sick_matches(AgentSpec("sick", "unknown"), 4)
        with within(120), make_executor(2, plugins=[module]) as executor:
            results = {result.id: result for result in executor.run(mixed(well, ill))}
    finally:
        KINDS.remove("unknown")
    assert {results[spec.id].ending.kind for spec in well} <= {EndingKind.FINISHED, EndingKind.STEP_LIMIT}
    reasons = [
        results[spec.id].ending.reason for spec in ill if results[spec.id].ending.kind is EndingKind.CANNOT_START
    ]
    assert len(reasons) >= 3
    raised = "unknown agent kind 'unknown', and the plug-in 'ringside_broken' cannot be imported: ImportError: not on"
    for reason in reasons:
        assert (raised if module == "ringside_broken" else "its process exited with status 4") in reason


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="signals of POSIX")
def test_workers_that_are_stopped_while_they_start_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handle, "RUN", "ringside_stuck:work")
    monkeypatch.setattr(handle, "SHORTEST_START", 0.3)
    reason = r"3 worker processes in a row .*: its process was not ready 0\.3 s after its start"
    with within(60), make_executor(2, watchdog=0.1) as executor, pytest.raises(WorkersFailed, match=reason):
        executor.execute_matches(well_matches(20))
    assert not worker_pids()
