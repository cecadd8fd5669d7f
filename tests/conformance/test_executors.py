"""Every registered executor passes the checks, and the checks find faults."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import pytest

from engine import executor_checks
from engine.checks import check_executor
from engine.play.executors import SequentialMatchExecutor, new_executor
from engine.play.match import MatchResult, MatchSpec
from engine.play.play_settings import PlaySettings
from engine.play.results import ResultBatch
from engine.registry import EXECUTORS, KINDS
from engine.telemetry import RunView, WorkerView
from tests.plugins.two_nodes import TwoNodes

NAMES = EXECUTORS.names()
Stopping = Callable[[], bool] | None


@pytest.mark.parametrize("name", NAMES)
def test_a_registered_executor_passes_the_checks(name: str) -> None:
    check_executor(partial(new_executor, name))


def test_an_executor_in_one_file_passes_the_checks() -> None:
    EXECUTORS.add("two-nodes", TwoNodes)
    try:
        check_executor(partial(new_executor, "two-nodes:nodes=2"))
    finally:
        EXECUTORS.remove("two-nodes")


def test_the_agents_of_the_checks_are_not_listed_afterwards() -> None:
    from engine.play import check_agents

    with check_agents.registered():
        assert check_agents.NAME in KINDS
    assert check_agents.NAME not in KINDS


class Loses(SequentialMatchExecutor):
    """Loses the result of one match."""

    def batches(self, specs: Iterable[MatchSpec], stopping: Stopping = None) -> Iterator[ResultBatch]:
        return super().batches((spec for spec in specs if spec.id != "m7"), stopping)


class Reseeds(SequentialMatchExecutor):
    """Plays a match with another seed."""

    def batches(self, specs: Iterable[MatchSpec], stopping: Stopping = None) -> Iterator[ResultBatch]:
        return super().batches((dataclasses.replace(spec, seed=spec.seed + 1) for spec in specs), stopping)


class Disorders(SequentialMatchExecutor):
    def execute_matches(self, specs: list[MatchSpec]) -> list[MatchResult]:  # type: ignore[override]
        return super().execute_matches(specs)[::-1]


class ForgetsRecalled(SequentialMatchExecutor):
    def recall(self) -> list[MatchSpec]:
        return super().recall()[1:]


class IgnoresHold(SequentialMatchExecutor):
    def hold(self, yes: bool) -> None:
        pass


class IgnoresStop(SequentialMatchExecutor):
    def stop(self, now: bool = False) -> None:
        pass


class CountsWrongly(SequentialMatchExecutor):
    def view(self) -> tuple[list[WorkerView], RunView]:
        workers, run = super().view()
        return workers * 2, dataclasses.replace(run, total=50)


class PlaysTwoRuns(SequentialMatchExecutor):
    def _check_free(self) -> None:
        self._open = False


class HidesErrors(SequentialMatchExecutor):
    def batches(self, specs: Iterable[MatchSpec], stopping: Stopping = None) -> Iterator[ResultBatch]:
        return super().batches(self._quiet(specs), stopping)

    def _quiet(self, specs: Iterable[MatchSpec]) -> Iterator[MatchSpec]:
        try:
            yield from specs
        except Exception:  # what the check must find
            return


@pytest.mark.parametrize(
    ("broken", "sentence"),
    [
        (Loses, "59 results of 60 matches"),
        (Reseeds, "run with an iterator: other results than those of the sequential executor"),
        (Disorders, "not in the order of the specs"),
        (ForgetsRecalled, "both played and recalled, or neither"),
        (IgnoresHold, "a run on hold starts more matches"),
        (IgnoresStop, "no match is cancelled, although many wait"),
        (CountsWrongly, "two workers have the same node and id"),
        (PlaysTwoRuns, "a second run is accepted"),
        (HidesErrors, "an exception of the iterator of specs is lost"),
    ],
)
def test_the_fault_of_a_broken_executor_is_named(broken: type[SequentialMatchExecutor], sentence: str) -> None:
    def factory(*, settings: PlaySettings) -> SequentialMatchExecutor:
        return broken.create(settings, broken.Options())

    with pytest.raises(AssertionError, match=sentence):
        check_executor(factory)


def test_an_executor_that_never_answers_fails_the_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor_checks, "TIME_LIMIT", 0.2)
    answer = threading.Event()

    class NeverAnswers(SequentialMatchExecutor):
        def execute_matches(self, specs: list[MatchSpec]) -> list[MatchResult]:  # type: ignore[override]
            answer.wait()
            return super().execute_matches(specs)

    def factory(*, settings: PlaySettings) -> SequentialMatchExecutor:
        return NeverAnswers.create(settings, NeverAnswers.Options())

    try:
        with pytest.raises(AssertionError, match="results: not done after 0 s"):
            check_executor(factory)
    finally:
        answer.set()
