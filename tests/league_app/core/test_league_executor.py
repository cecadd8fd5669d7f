"""The executor of a league: plug-ins, faulty ones, and which one is remembered."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import pytest

from engine.errors import BrokenPlugin, UnknownName
from engine.league.records import RunState
from engine.play.executors import SequentialMatchExecutor
from engine.play.failures import unplayed_result
from engine.play.match import EndingKind, MatchSpec
from engine.play.play_settings import PlaySettings
from engine.play.results import ResultBatch
from engine.registry import EXECUTORS
from engine.telemetry import Status
from league_app.cli.main import main
from league_app.core.state import LeagueState
from tests.league_app.core.state_helpers import PLAN, same
from tests.plugins.two_nodes import TwoNodes
from tests.waiting import until


@pytest.fixture
def two_nodes() -> Iterator[None]:
    EXECUTORS.add("two-nodes", TwoNodes)
    yield
    EXECUTORS.remove("two-nodes")


def test_an_executor_of_a_plug_in_gives_the_same_results_and_is_remembered(
    state: LeagueState, two_nodes: None, expected: str
) -> None:
    with pytest.raises(UnknownName, match="did you mean 'two-nodes'"):
        state.executor = "two-node"
    state.executor = "two-nodes:nodes=2"
    assert state.toggle_text == "the next tournament runs on 2 workers of two-nodes:nodes=2"
    state.show_visuals = True
    job = state.start_tournament(**PLAN)
    until(lambda: job.run.watched)
    state.show_visuals = False
    job.wait()
    same(state, job.number, expected)
    long = state.start_tournament(**PLAN | {"options": {"rounds": 6000}})
    until(lambda: long.progress().played > 2)
    status = state.status()
    assert [node.name for node in status.nodes] == ["node-1", "node-2"]
    assert {worker.node for worker in status.workers} <= {"node-1", "node-2"}
    assert status.workers
    long.pause()
    until(lambda: long.progress().state is RunState.PAUSED)
    long.stop()
    long.wait()
    with LeagueState(state.league.path, read_only=True) as again:
        assert again.executor == "two-nodes:nodes=2"
        assert again.use_concurrent
    with LeagueState(state.league.path, read_only=True, on="sequential") as again:
        assert (again.executor, again.use_concurrent) == ("sequential", False)


class Unreliable(SequentialMatchExecutor):
    """Breaks a promise: which one is its option."""

    name, about = "unreliable", "an executor with a fault"

    @dataclass(frozen=True)
    class Options:
        fault: str = "none"

    def __init__(self, fault: str) -> None:
        super().__init__()
        self.fault = fault

    @classmethod
    def create(cls, settings: PlaySettings, options: Unreliable.Options) -> Unreliable:
        if options.fault == "start":
            raise ConnectionError("no cluster at this address")
        return cls(options.fault)

    def batches(self, specs: Iterable[MatchSpec], stopping: Callable[[], bool] | None = None) -> Iterator[ResultBatch]:
        for n, batch in enumerate(super().batches(specs, stopping)):
            if self.fault == "others":
                yield ResultBatch.of([replace(spec, id=f"other {spec.id}") for spec in batch.specs], list(batch))
            elif self.fault == "cancelled":
                reason = "this machine was shut down"
                void = [unplayed_result(spec, EndingKind.CANCELLED, reason) for spec in batch.specs]
                yield ResultBatch.of(batch.specs, void)
            elif self.fault == "raises" and n == 1:
                raise ConnectionError("the cluster is gone")
            elif n or self.fault != "lost":  # a run loses its first results
                yield batch

    def status(self) -> Status:
        if self.fault == "status":
            raise ConnectionError("no answer")
        return super().status()


@pytest.fixture
def unreliable() -> Iterator[None]:
    EXECUTORS.add("unreliable", Unreliable)
    yield
    EXECUTORS.remove("unreliable")


def test_an_executor_that_cannot_be_started_says_why(state: LeagueState, unreliable: None) -> None:
    state.use_executor("unreliable:start")
    with pytest.raises(BrokenPlugin, match="'unreliable:start' cannot be started: ConnectionError: no cluster"):
        state.start_tournament(**PLAN)
    state.use_executor("sequential")
    assert state.start_tournament().wait().state is RunState.FINISHED


def test_an_executor_without_status_is_reported_once(
    state: LeagueState, unreliable: None, caplog: pytest.LogCaptureFixture
) -> None:
    state.use_executor("unreliable:status")
    state.start_tournament(**PLAN).wait()
    assert [state.status() for _ in range(3)] == [None] * 3
    assert [record.message for record in caplog.records] == [
        "executor 'unreliable:status' reports no status: ConnectionError: no answer"
    ]


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("others", "'unreliable' gave a result for 'other .*', which it was"),
        ("lost", r"gave no result for \d+ match(es)?: choose another"),
        ("cancelled", r"'unreliable' cancelled \d+ match(es)? without being asked to: choose another"),
        ("raises", r"'unreliable' failed \(ConnectionError: the cluster is gone\): choose another, or try again"),
    ],
)
def test_an_executor_that_breaks_its_promises_ends_the_run(
    state: LeagueState, unreliable: None, expected: str, fault: str, sentence: str
) -> None:
    state.use_executor(f"unreliable:{fault}")
    job = state.start_tournament(**PLAN)
    with pytest.raises(BrokenPlugin, match=sentence):
        job.wait()
    ended = state.league.tournament(job.number)
    assert ended.state is RunState.STOPPED
    assert re.search(sentence, ended.note)
    state.use_executor("sequential")
    state.resume_tournament(job.number).wait()
    same(state, job.number, expected)


def test_an_executor_that_fails_is_a_sentence_on_the_command_line(
    state: LeagueState, unreliable: None, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(state.league.path)
    state.close()
    arguments = ["tournament", "run", path, "--agents", "Lazy", "Tracker", "--rounds", "200", "--steps", "50"]
    with pytest.raises(SystemExit) as status:
        main([*arguments, "--on", "unreliable:raises"])
    assert status.value.code == 2
    assert "executor 'unreliable' failed (ConnectionError: the cluster is gone)" in capsys.readouterr().err
    main(["tournament", "resume", path, "--on", "sequential"])
    with LeagueState(path, read_only=True) as again:
        assert again.league.tournament(1).state is RunState.FINISHED


def test_a_league_whose_executor_is_not_installed_opens_and_says_so_when_it_plays(state: LeagueState) -> None:
    state.league.save_setting("play", {"executor": "two-nodes"})
    path = state.league.path
    state.close()
    with LeagueState(path) as again:
        assert again.executor == "two-nodes"
        with pytest.raises(UnknownName, match="unknown executor 'two-nodes'"):
            again.start_tournament(**PLAN)
        again.use_executor("sequential")
        assert again.start_tournament().wait().state is RunState.FINISHED
    with LeagueState(path, read_only=True) as again:
        assert again.executor == "two-nodes", "another one was used, but not saved"


@pytest.mark.parametrize(("saved", "executor"), [({"use_concurrent": False}, "sequential"), ({}, "local")])
def test_the_choice_of_an_older_version_is_kept(state: LeagueState, saved: dict, executor: str) -> None:
    state.league.save_setting("play", saved)
    path = state.league.path
    state.close()
    with LeagueState(path) as again:
        assert again.executor == executor
