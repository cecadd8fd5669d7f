"""The agents of a plan in worker processes: frozen, forgotten, and such that fail."""

from __future__ import annotations

import socket
from dataclasses import replace

import pytest

from agents.training.selfplay.shared_weights import SharedWeights
from agents.training.selfplay.slots import Activity, Slots
from agents.training.selfplay.worker import SelfPlayWorker, WorkerSpec
from engine.errors import BadSpec, BadValue, RingsideError, UnknownName
from engine.play.match import AgentSpec
from engine.processes.channel import Channel
from tests.agents.training.selfplay.helpers import (  # noqa: F401 - a fixture
    PLAN,
    PLUGINS,
    collect,
    collect_until,
    new_manager,
    nothing_is_left,
    wait_for,
)

pytestmark = pytest.mark.usefixtures("nothing_is_left")


def test_frozen_opponents_stay_as_they_are() -> None:
    """The learner's weights change; the opponent was made of its first ones."""
    manager = new_manager(num_workers=1, more={**PLAN, "settings": {"opponent": "frozen"}})
    frozen = AgentSpec("frozen", manager.learner().kind, manager.learner().payload)
    with manager:
        manager.set_agents([frozen])
        manager.start_workers()
        manager.load({name: 0 * tensor for name, tensor in manager.model.tensors().items()})
        manager.sync_model_to_workers()
        [*_, batch] = collect_until(manager, lambda found: bool(found) and found[-1].version == 2)
        assert batch.trajectories.acted[:, :, 0].all()
        assert not batch.trajectories.acted[:, :, 1].any()
        with pytest.raises(BadValue, match="settings"):
            manager.configure({"opponent": {1, 2}})
        manager.set_agents([AgentSpec("bot", "dice")])
        manager.configure({"opponent": "bot"})
        collect_until(manager, lambda found: any("bot" in r.players for b in found for r in b.trajectories.results))


def test_agents_that_are_forgotten_finish_their_games_and_leave_the_memory() -> None:
    """A worker in this process."""
    manager = new_manager(num_workers=1, more={**PLAN, "settings": {"opponent": "old"}})
    bare, info = replace(manager.learner(), payload=b""), manager.game.info
    rewards = manager.env.reward_structure
    spec = WorkerSpec(
        manager.game.spec, tuple(range(4)), (0,) * 4, 8, 99, PLAN["plan"], {"opponent": "old"}, bare, 0, 0, {}, rewards
    )  # fmt: skip
    manager.synchronizer.publish(manager.learner().payload)
    fields, body = manager.synchronizer.message()
    old, new = AgentSpec("old", "dice"), AgentSpec("new", "dice")
    ours, theirs = socket.socketpair()
    channel = Channel(ours)
    slots, weights = Slots(Slots.new_memory(info, 4, 8, 99), 99), SharedWeights(SharedWeights.new_memory(len(body)))
    with ours, theirs, SelfPlayWorker(Channel(theirs), spec, slots, weights) as worker:

        def players() -> set[str]:
            """Of the next games that end."""
            while True:
                worker._play()
                for _, *rest in [message for message, _ in channel.get() if message[0] == "batch"]:
                    labels = rest[-2]
                    if labels:
                        return {player for _, *some in labels for player in some}

        worker._control(1, "agent", [old.id, old.kind, old.version], b"")
        worker._control(2, "agent", [new.id, new.kind, new.version], b"")
        worker._control(3, "weights", fields, body)
        worker._play()
        worker._control(4, "settings", [{"opponent": "new"}], b"")
        worker._control(5, "forget", [["old"]], b"")
        assert players() == {"learner", "old"}, "a game that was running"
        while players() != {"learner", "new"}:
            pass
        assert worker._rollout is not None
        assert worker._rollout.has_loaded(old), "it was still playing"
        worker._control(6, "forget", [[]], b"")
        worker._play()
        assert not worker._rollout.has_loaded(old)
        assert worker._rollout.has_loaded(new)


def test_agents_of_the_plan_can_be_forgotten() -> None:
    more = {**PLAN, "settings": {"opponent": "old"}, "agents": [AgentSpec("old", "dice"), AgentSpec("new", "dice")]}
    with new_manager(num_workers=1, more=more) as manager:
        manager.start_workers()
        collect(manager, 1)
        manager.configure({"opponent": "new"})
        manager.forget_agents(["old"])
        collect_until(manager, lambda found: any("new" in r.players for b in found for r in b.trajectories.results))
        assert manager.get_status()["restarts"] == 0
        with pytest.raises(UnknownName, match="old"):
            manager.forget_agents(["old"])


@pytest.mark.parametrize("id", ["learner", "me"])
def test_an_agent_of_the_plan_cannot_take_the_place_of_the_learner(id: str) -> None:
    """Batches would name versions of weights that did not play them."""
    agents, more = [AgentSpec("other", "dice"), AgentSpec(id, "dice")], {**PLAN, "learner": id}
    refused = f"agent = '{id}': must be the id of another agent: the learner has this one"
    with pytest.raises(BadValue, match=refused):
        new_manager(more={**more, "agents": agents})
    manager = new_manager(more=more)
    with pytest.raises(BadValue, match=refused):
        manager.set_agents(agents)
    assert not manager._agents, "nothing has changed"
    with pytest.raises(BadValue, match=refused):
        manager.forget_agents([id])


def test_an_agent_may_be_named_twice_when_it_is_forgotten() -> None:
    manager = new_manager(more={**PLAN, "agents": [AgentSpec("old", "dice"), AgentSpec("new", "dice")]})
    manager.forget_agents(["old", "old"])
    assert list(manager._agents) == ["new"]


def test_a_plan_that_fails_is_an_error_that_names_the_worker() -> None:
    with new_manager(num_workers=1, more={"plan": "tests.plugins.self_play:one_player", "plugins": PLUGINS}) as manager:
        manager.start_workers()
        for _ in range(2):
            with pytest.raises(BadSpec, match="worker 0: match 'm': pong needs 2 players, not 1"):
                manager.collect_experiences()
        status = manager.get_status()
        assert (status["workers"][0]["state"], status["active_workers"]) == ("failed", 0)
        assert status["lost"]["batches"] == 1


def test_a_worker_that_failed_plays_again_with_other_agents() -> None:
    more = {**PLAN, "settings": {"opponent": "it"}, "agents": [AgentSpec("it", "python-policy", b"raise")]}
    with new_manager(num_workers=1, more=more) as manager:
        manager.start_workers()
        with pytest.raises(RingsideError, match=r"worker 0: stream 0, .* step 3: 'it' .*no way on"):
            manager.collect_experiences()
        manager.set_agents([AgentSpec("it", "python-policy", b"")])
        assert collect(manager, 2)


def test_an_error_is_raised_although_the_worker_plays_again_already() -> None:
    """Both messages are read in one call, which does not raise it."""
    more = {**PLAN, "settings": {"opponent": "it"}, "agents": [AgentSpec("it", "python-policy", b"raise")]}
    with new_manager(num_workers=1, more=more) as manager:
        manager.start_workers()
        link = manager.communicator[0]
        assert link is not None
        wait_for(lambda: link.slots.activity is Activity.FAILED)
        manager.set_agents([AgentSpec("it", "python-policy", b"")])
        assert manager.get_status()["lost"]["batches"] == 1
        with pytest.raises(RingsideError, match=r"worker 0: stream 0, .* step 3: 'it' .*no way on"):
            manager.collect_experiences()
        assert collect(manager, 2)
        assert manager.get_status()["lost"]["batches"] == 1
