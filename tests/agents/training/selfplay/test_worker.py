"""A worker of self-play in this process: when it unloads agents, and what it plays then."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from agents.training.selfplay.shared_weights import SharedWeights
from agents.training.selfplay.slots import Slots
from agents.training.selfplay.worker import SELF_PLAY, SelfPlayWorker, WorkerSpec
from engine.play.match import AgentSpec, MatchSpec
from engine.play.rollout import Trajectories
from engine.play.rollout_messages import unpack_trajectories
from engine.processes.channel import Channel
from tests.agents.training.selfplay.helpers import check_equal, new_manager
from tests.plugins.self_play import match

BATCHES = 200  # that have room in its slots
MATCH = "tests.plugins.self_play:match"
DICE = f"{__name__}:against_new_dice"


def against_new_dice(agents: Mapping[str, AgentSpec], stream: int, k: int) -> MatchSpec:
    """A plan that makes the opponent itself, another one for each game."""
    opponent = AgentSpec(f"dice {k}", "dice")
    return match({**agents, opponent.id: opponent}, stream, k, opponent.id)


@contextmanager
def worker_of(plan: str, settings: dict[str, Any] | None = None, games: int = 0) -> Iterator[SelfPlayWorker]:
    """With weights and the agent `old`, and four boards; it plays when `play` is called."""
    manager = new_manager(num_workers=1)
    given = manager._settings if plan == SELF_PLAY else settings or {}
    spec = WorkerSpec(
        manager.game.spec, tuple(range(4)), (0,) * 4, 8, BATCHES, plan, given, replace(manager.learner(), payload=b""),
        0, games, {}, manager.env.reward_structure,
    )  # fmt: skip
    slots = Slots(Slots.new_memory(manager.game.info, 4, 8, BATCHES), BATCHES)
    manager.synchronizer.publish(manager.learner().payload)
    fields, body = manager.synchronizer.message()
    weights = SharedWeights(SharedWeights.new_memory(len(body)))
    ours, theirs = socket.socketpair()
    with ours, theirs, SelfPlayWorker(Channel(theirs), spec, slots, weights) as worker:
        worker._control(1, "agent", ["old", "dice", 1], b"")
        worker._control(2, "weights", fields, body)
        yield worker


def play(worker: SelfPlayWorker) -> Trajectories:
    """The next batch, from its slot."""
    slot, since = worker._free[0], worker._batch
    written: list[Any] = []
    write = worker._slots.write

    def keep(at: int, segment: Any) -> Any:
        written.append(write(at, segment))
        return written[0]

    worker._slots.write = keep  # type: ignore[method-assign]
    worker._play()
    worker._slots.write = write  # type: ignore[method-assign]
    assert (worker._batch, worker._failed) == (since + 1, False)
    [_, size, *fields], body = written[0]
    found: Trajectories = unpack_trajectories(
        fields, bytearray(worker._slots._views[slot][:size]) + body, worker._game.info
    )
    return found


def test_games_continue_in_the_same_rollout_while_no_agent_is_to_be_unloaded() -> None:
    """A new rollout would repeat the running games from their start."""
    with worker_of(SELF_PLAY, games=1) as alone, worker_of(MATCH, {"opponent": "old"}, games=1) as opposed:
        for worker in (alone, opposed):
            rollout, games = worker._rollout, 0
            while games < 12:
                games += len(play(worker).results)
            assert worker._rollout is rollout


def test_opponents_that_a_plan_makes_are_unloaded_after_their_games() -> None:
    with worker_of(DICE, games=4) as worker, worker_of(DICE) as never:
        games = 0
        while games < 40:
            batch = play(worker)
            check_equal(batch, play(never))
            games += len(batch.results)
        assert worker._rollout is not None
        assert never._rollout is not None
        assert len(never._rollout.idle_agents()) > len(worker._rollout.idle_agents())
        assert not worker._rollout.has_loaded(AgentSpec("dice 0", "dice"))


def test_agents_that_are_forgotten_are_unloaded_at_once_if_they_do_not_play() -> None:
    with worker_of(MATCH) as worker, worker_of(MATCH) as never:
        for each in (worker, never):
            each._plan.configure({"opponent": "old"})
            play(each)
            each._plan.configure({"opponent": "learner"})
        rollout = worker._rollout
        assert rollout is not None
        while "old" not in rollout.idle_agents():
            check_equal(play(worker), play(never))
        worker._control(3, "forget", [["old"]], b"")
        for _ in range(12):
            check_equal(play(worker), play(never))
        assert worker._rollout is not None
        assert worker._rollout is not rollout
        assert not worker._rollout.has_loaded(AgentSpec("old", "dice"))
