"""A worker of self-play in this process: when it sets up its players again, and what it plays then."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from agents.training.selfplay.shared_weights import SharedWeights
from agents.training.selfplay.slots import Slots
from agents.training.selfplay.worker import SELF_PLAY, SelfPlayWorker, WorkerSpec
from engine.game import AgentKind, Game
from engine.play.match import AgentSpec, MatchSpec
from engine.play.rollout import Trajectories
from engine.play.rollout_messages import unpack_trajectories
from engine.processes.channel import Channel
from engine.registry import KINDS
from tests.agents.training.selfplay.helpers import check_equal, new_manager
from tests.plugins.pilots import RowPilot
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


@pytest.mark.parametrize(("plan", "settings"), [(SELF_PLAY, None), (MATCH, {"opponent": "old"})])
def test_players_are_set_up_again_after_so_many_games_and_running_games_continue(
    plan: str, settings: dict[str, Any] | None
) -> None:
    """What is played stays the same. The running games are repeated, which costs a tenth of the steps at most."""
    with worker_of(plan, settings, games=20) as worker, worker_of(plan, settings) as never:
        games = steps = resets = 0
        while resets < 2:
            rollout = worker._rollout
            batch = play(worker)
            check_equal(batch, play(never))
            games, steps = games + len(batch.results), steps + batch.ends.size
            assert (worker._rollout is not rollout) == (worker._slots.resets > resets)
            if worker._slots.resets > resets:
                resets += 1
                assert games >= 20
                assert 10 * sum(running_steps(worker)) <= steps
                games = steps = 0
        assert never._slots.resets == 0


def running_steps(worker: SelfPlayWorker) -> list[int]:
    """By board: the moves of its running game, in which both seats of Pong act at every step."""
    assert worker._rollout is not None
    running, counts = worker._rollout._running, worker._rollout._log.counts
    return [int(count) // 2 for count in counts[running != 0]]


def test_players_that_cannot_repeat_their_games_are_kept() -> None:
    """Each pilot of this kind always plays one action, and the next pilot another."""
    made: list[RowPilot] = []

    def fickle(game: Game, slots: int) -> RowPilot:
        action = len(made) % game.info.actions
        made.append(RowPilot(lambda state, views, row: action))
        return made[-1]

    KINDS.add("fickle", AgentKind("fickle", 1, fickle, lambda game: True, lambda game: [], repeatable=False))
    try:
        with worker_of(MATCH, {"opponent": "old"}, games=1) as worker:
            worker._control(3, "agent", ["old", "fickle", 1], b"")
            rollout = worker._rollout
            while len(made) < 3:
                play(worker)
            play(worker)
            assert worker._rollout is rollout
            assert worker._slots.resets == 0
    finally:
        KINDS.remove("fickle")


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
