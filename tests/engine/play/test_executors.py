"""Executors are made by name."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.errors import BadValue, BrokenPlugin, UnknownName
from engine.play.concurrent import ConcurrentMatchExecutor
from engine.play.executors import MatchExecutor, SequentialMatchExecutor, check_executor_name, new_executor
from engine.play.match import AgentSpec, EndingKind, MatchSpec, run_digest
from engine.registry import EXECUTORS, Registry, new_game
from tests.plugins.two_nodes import ClusterOptions, TwoNodes


@pytest.fixture(autouse=True)
def two_nodes() -> Iterator[None]:
    EXECUTORS.add("two-nodes", TwoNodes)
    yield
    EXECUTORS.remove("two-nodes")


def test_ringside_comes_with_a_sequential_and_a_local_executor() -> None:
    assert set(EXECUTORS.own()) == {"sequential", "local"}
    with new_executor("sequential") as executor, new_executor(workers=2, lanes=4) as two:
        assert (type(executor), executor.workers, executor.isolated) == (SequentialMatchExecutor, 1, False)
        assert (type(two), two.workers, two.isolated) == (ConcurrentMatchExecutor, 2, True)


@pytest.mark.parametrize(
    ("text", "nodes"), [("two-nodes", 2), ("two-nodes:nodes=3", 3), ("two-nodes:4", 4), ("two-nodes:", 2)]
)
def test_options_follow_the_name_of_an_executor(text: str, nodes: int) -> None:
    assert check_executor_name(text) == (TwoNodes, ClusterOptions(nodes))


@pytest.mark.parametrize(
    ("text", "error", "sentence"),
    [
        ("locl", UnknownName, "unknown executor 'locl': did you mean 'local'"),
        ("", UnknownName, "unknown executor ''"),
        (None, BadValue, "executor = None"),
        ("local:3", BadValue, "local, without options"),
        ("local:x=3", UnknownName, "unknown option of local 'x'"),
        ("two-nodes:nods=3", UnknownName, "did you mean 'nodes'"),
        ("two-nodes:nodes=99", BadValue, "nodes = 99"),
        ("two-nodes:nodes=2,3", BadValue, "two-nodes, or two-nodes:NAME=VALUE"),
    ],
)
def test_a_wrong_name_or_option_is_an_error_that_says_what_to_do(
    text: str, error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        new_executor(text)


def test_without_entry_points_the_error_says_that_the_installation_is_old() -> None:
    """They are read from the metadata that was written when Ringside was installed."""
    table: Registry[object] = Registry("executor", "ringside.no-such-group")
    with pytest.raises(UnknownName, match=r"no executor is registered, because .* `python3 launch.py`"):
        table.get("local")


class Incomplete(MatchExecutor):
    name = about = "incomplete"


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("incomplete", Incomplete, "does not implement batches, close, create, hold, recall"),
        ("other", TwoNodes, "'other', the name it is registered under"),
        ("two:nodes", TwoNodes, "without a colon"),
        ("object", object, "it has no name, about, isolated"),
        ("instance", new_game("pong"), "is not an executor"),
    ],
)
def test_only_complete_executors_can_be_registered(name: str, value: object, sentence: str) -> None:
    with pytest.raises((TypeError, BadValue, BrokenPlugin), match=sentence):
        EXECUTORS.add(name, value)  # type: ignore[arg-type]


def test_a_run_that_is_released_from_hold_continues() -> None:
    game = new_game("pong", points=1).spec
    players = (AgentSpec("a", "dice"), AgentSpec("b", "dice"))
    specs = [MatchSpec(f"m{n}", game, players, n) for n in range(2000)]
    with new_executor("sequential", lanes=4) as executor:
        expected = run_digest(executor.run(specs))
        stream = executor.run(specs)
        results = [next(stream)]
        executor.hold(True)
        executor.hold(False)
        results += stream
        assert run_digest(results) == expected


def test_stopping_now_breaks_off_a_match_that_is_played_alone() -> None:
    """A match of a player that failed before is played in an arena of its own."""
    from engine.play import check_agents

    with check_agents.registered(), new_executor("sequential", lanes=4, quarantine_after=None) as executor:
        raising, waiting = (check_agents.check_agent(behaviour) for behaviour in ("raises", "waits"))
        game = new_game("pong").spec
        other = check_agents.check_agent("plays")
        first = MatchSpec("first", game, (raising, other), 1)
        later = MatchSpec("later", game, (raising, waiting), 1)
        stream = executor.run([first, later])
        assert next(stream).ending.kind is EndingKind.EXCEPTION
        executor.stop(now=True)
        assert [result.ending.kind for result in stream] == [EndingKind.CANCELLED]


def test_workers_and_events_of_several_machines_are_told_apart() -> None:
    players = (AgentSpec("a", "dice"), AgentSpec("b", "dice"))
    specs = [MatchSpec(f"m{n}", new_game("pong", points=1).spec, players, n) for n in range(2000)]
    with new_executor("two-nodes", workers=4, lanes=4) as executor:
        assert len(list(executor.run(specs))) == 2000
        status, (count, events) = executor.status(), executor.events()
    keys = {(worker.node, worker.id) for worker in status.workers}
    assert {("node-1", 0), ("node-2", 0)} <= keys
    assert len(keys) == len(status.workers)
    assert [node.name for node in status.nodes] == ["node-1", "node-2"]
    assert status.run.done == status.run.total == 2000
    assert {event.node for event in events} == {"node-1", "node-2"}
    assert len(events) == count
