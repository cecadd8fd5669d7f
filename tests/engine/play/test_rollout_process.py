"""Rollouts in processes of their own: the same trajectories to the bit, for any number of them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from agents.nets.network import dump
from agents.nets.pilot import mlp_of
from agents.nets.torch_pilot import TORCH_NET
from engine.errors import BadSpec, BadValue, PolicyFailed, RingsideError
from engine.game import AgentKind
from engine.play.match import AgentSpec, MatchSpec
from engine.play.rollout import Rollout, Trajectories
from engine.play.rollout_columns import joined
from engine.play.rollout_messages import ARRAYS, pack_trajectories, unpack_trajectories
from engine.play.rollout_process import RolloutFailed, RolloutProcess
from engine.processes.channel import ProtocolError
from engine.registry import GAMES, KINDS, game_of, new_game
from tests.agents.training.session_helpers import runs
from tests.plugins import nets, networks, plans, policies, stones

NAMES = ["pong", "treasure-hunt", "stones"]
PLUGINS = ["tests.plugins.plans", "tests.plugins.policies"]

for kind in policies.ALL:  # importing them registers them for rollout processes; here they are for these tests alone
    KINDS.remove(kind.name)


@pytest.fixture(autouse=True, scope="module")
def registered() -> Iterator[None]:
    GAMES.add("stones", stones.Stones)
    for kind in policies.ALL:
        KINDS.add(kind.name, kind)
    yield
    for kind in policies.ALL:
        KINDS.remove(kind.name)


def me(name: str, seed: int = 7, **more: bool) -> AgentSpec:
    return nets.agent("me", game_of(plans.game_spec(name)), [12, 20], seed, **more)


def process(name: str, streams: Sequence[int], plan: str = "mixed", *others: AgentSpec) -> RolloutProcess:
    game = plans.game_spec(name)
    settings: dict[str, object] = {"game": name}
    if plan == "mixed":
        settings["seats"] = game_of(game).info.seats
    named = f"tests.plugins.plans:{plan}"
    return RolloutProcess(game, streams, named, [me(name), *others], settings=settings, plugins=PLUGINS)


def here(name: str, streams: Sequence[int], steps: Sequence[int]) -> list[Trajectories]:
    """The same in this process."""
    game, agents = game_of(plans.game_spec(name)), {"me": me(name)}

    def plan(stream: int, k: int) -> MatchSpec:
        return plans.mixed(agents, stream, k, name, game.info.seats)

    with Rollout(game, streams, plan) as rollout:
        return [rollout.collect(count) for count in steps]


def check_equal(trajectories: Trajectories, other: Trajectories) -> None:
    for name in ARRAYS:
        assert np.array_equal(getattr(trajectories, name), getattr(other, name)), name
    assert [result.digest() for result in trajectories.results] == [result.digest() for result in other.results]
    assert [result.stats for result in trajectories.results] == [result.stats for result in other.results]


@pytest.mark.parametrize("name", NAMES)
def test_a_rollout_process_gives_the_trajectories_of_a_rollout(name: str) -> None:
    with process(name, range(5)) as rollout:
        for wanted in here(name, range(5), [40, 1, 150]):
            segment = rollout.collect(len(wanted.ends[0]))
            check_equal(segment, wanted)
            assert segment.obs.flags.writeable
    assert wanted.results, "some matches ended"


@pytest.mark.parametrize("shares", [[[0, 1, 2, 3]], [[0, 1], [2, 3]], [[0], [1, 2], [3]]])
def test_any_number_of_processes_gives_the_same_trajectories(shares: list[list[int]]) -> None:
    rollouts = [process("pong", share) for share in shares]
    try:
        for wanted in here("pong", range(4), [200, 60]):
            for rollout in rollouts:
                rollout.begin(len(wanted.ends[0]))
            parts = [rollout.receive() for rollout in rollouts]
            check_equal(joined([part for part in parts if part is not None]), wanted)
    finally:
        for rollout in rollouts:
            rollout.close()


def policy_processes(name: str, agent: AgentSpec, shares: Sequence[Sequence[int]]) -> list[RolloutProcess]:
    game = plans.game_spec(name)
    settings = {"game": name, "seats": game_of(game).info.seats}
    plan = "tests.plugins.plans:mixed"
    return [RolloutProcess(game, share, plan, [agent], settings=settings, plugins=PLUGINS) for share in shares]


def collected(rollouts: list[RolloutProcess], counts: Sequence[int], second: AgentSpec) -> list[Trajectories]:
    """Segments of several processes, the last with other weights."""
    segments = []
    try:
        for steps in counts:
            for rollout in rollouts:
                if steps == counts[-1]:
                    rollout.replace(second)
                rollout.begin(steps)
            parts = [rollout.receive() for rollout in rollouts]
            segments.append(joined([part for part in parts if part is not None]))
    finally:
        for rollout in rollouts:
            rollout.close()
    return segments


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", [policies.PYTHON, TORCH_NET], ids=lambda kind: kind.name)
def test_policies_that_are_not_compiled_give_the_same_trajectories_in_any_number_of_processes(
    name: str, kind: AgentKind
) -> None:
    torch, game = kind is TORCH_NET, game_of(plans.game_spec(name))
    drawn = [networks.drawn(networks.SMALL, game, seed) for seed in (7, 8)]
    first, second = (AgentSpec("me", kind.name, dump(network) if torch else b"") for network in drawn)
    counts = (60, 1, 80)
    together = collected(policy_processes(name, first, [range(7)]), counts, second)
    two = collected(policy_processes(name, first, [range(3), range(3, 7)]), counts, second)
    for left, right in zip(together, two, strict=True):
        check_equal(left, right)
    if torch:
        segment = together[0]
        at = np.nonzero(segment.acted)
        legal = np.ones((len(at[0]), game.info.actions), np.bool_) if segment.legal is None else segment.legal
        chances, values = nets.exact(mlp_of(drawn[0]), segment.obs, legal)
        chosen = chances[np.arange(len(legal)), segment.actions[at]]
        np.testing.assert_allclose(segment.log_probs[at], chosen, atol=5e-6)
        np.testing.assert_allclose(segment.values[at], values, atol=5e-6)


WITHOUT_TORCH = """
import sys
from tests.engine.play import test_rollout_process as tests

def main():
    for kind in tests.policies.ALL:
        tests.KINDS.add(kind.name, kind)
    network = tests.networks.drawn(tests.networks.SMALL, tests.game_of(tests.plans.game_spec("pong")))
    agent = tests.AgentSpec("me", "torch-net", tests.dump(network))
    (rollout,) = tests.policy_processes("pong", agent, [range(3)])
    with rollout:
        assert rollout.collect(20).acted.any()
        in_child = "libtorch" in open(f"/proc/{rollout.pid}/maps").read() if sys.platform == "linux" else True
    print(in_child, "torch" in sys.modules)

if __name__ == "__main__":
    main()
"""


def test_torch_is_imported_in_the_rollout_process_only() -> None:
    """In a fresh interpreter, because other tests import torch here."""
    child = subprocess.run([sys.executable, "-c", WITHOUT_TORCH], capture_output=True, text=True, timeout=300)
    assert (child.stdout, child.stderr) == ("True False\n", "")


def test_a_policy_that_hangs_is_reported_and_its_process_is_ended() -> None:
    hanging, game = AgentSpec("me", policies.PYTHON.name, b"hang"), plans.game_spec("pong")
    plan, settings, agents = "tests.plugins.plans:two", {"game": "pong"}, [hanging, AgentSpec("other", "dice")]
    with RolloutProcess(game, [0, 1], plan, agents, settings=settings, plugins=PLUGINS) as rollout:
        rollout.collect(3)
        pid = rollout.pid
        rollout.time_limit = 0.2
        rollout.begin(9)
        while rollout.activity != "it was asking 'me'":  # its time begins with `receive`
            pass
        assert rollout.receive(timeout=0.0) is None
        text = (
            r"did not play 9 steps of 2 streams within 0\.2 s, so it was ended: a policy may hang; it was asking 'me'"
        )
        with pytest.raises(RolloutFailed, match=text):
            rollout.receive()
        with pytest.raises(RolloutFailed, match="a rollout process was killed by SIGKILL"):
            rollout.collect(9)
    assert pid is not None
    assert not runs(pid)


def test_weights_are_replaced_in_running_matches() -> None:
    game, other = game_of(plans.game_spec("pong")), nets.agent("other", new_game("pong"), [8], 3)
    agents = {"me": me("pong"), "other": other}
    with (
        process("pong", [0, 1], "two", other) as rollout,
        Rollout(game, [0, 1], lambda stream, k: plans.two(agents, stream, k, "pong")) as local,
    ):
        check_equal(rollout.collect(10), local.collect(10))
        agents["me"] = me("pong", 8)
        rollout.replace(agents["me"])
        local.replace(agents["me"])
        check_equal(rollout.collect(200), local.collect(200))


def test_errors_are_those_of_a_rollout_and_it_can_be_used_afterwards() -> None:
    dice, broken = AgentSpec("other", "dice"), me("pong", 7, nan=True)
    with process("pong", [0], "two", dice) as rollout:
        before = rollout.collect(5)
        rollout.replace(broken)
        with pytest.raises(PolicyFailed, match=r"stream 0, match '0\.0', step 5: 'me' has no answer"):
            rollout.collect(5)
        rollout.replace(AgentSpec("other", "dice", b"new"))
        with pytest.raises(BadSpec, match="'other', of kind 'dice', cannot be replaced"):
            rollout.collect(5)
        rollout.replace(dice)
        rollout.replace(me("pong"))
        with pytest.raises(BadSpec, match="cannot be replaced"):
            rollout.collect(5)
        after = rollout.collect(5)
    assert before.obs.shape == after.obs.shape
    with process("pong", [0], "wrong") as rollout, pytest.raises(BadSpec, match="needs 2 players"):
        rollout.collect(1)


def test_a_process_that_dies_is_reported_and_leaves_nothing() -> None:
    with process("pong", [0], "killing", AgentSpec("other", "dice")) as rollout:
        with pytest.raises(RolloutFailed, match="a rollout process was killed by SIGKILL"):
            rollout.collect(1000)
        pid = rollout.pid
    assert pid is not None
    assert not runs(pid)
    with process("pong", [0], "no_such_plan") as rollout, pytest.raises(RolloutFailed, match="no_such_plan"):
        rollout.collect(1)


def test_calls_in_the_wrong_order_are_refused() -> None:
    with process("pong", [0]) as rollout:
        with pytest.raises(RingsideError, match="call `begin` first"):
            rollout.receive()
        with pytest.raises(BadValue, match="steps = 0"):
            rollout.begin(0)
        rollout.begin(1)
        with pytest.raises(RingsideError, match="call `receive` first"):
            rollout.begin(1)


WRONG_FIELDS: dict[int, list[object]] = {
    0: [0, 3],
    1: [-1, "9"],
    2: [-1, 519, 2.0],
    3: [True],
    4: [[], [["a", "b"]]],
    5: [[], [1, 2, 3, {}]],
}


@pytest.mark.parametrize(("place", "value"), [(at, value) for at, values in WRONG_FIELDS.items() for value in values])
def test_trajectories_that_do_not_fit_are_a_protocol_error(place: int, value: object) -> None:
    info = game_of(plans.game_spec("pong")).info
    [segment] = here("pong", range(2), [130])
    fields, body = pack_trajectories(segment)
    check_equal(unpack_trajectories(fields, body, info), segment)
    changed = [value if at == place else field for at, field in enumerate(fields)]
    with pytest.raises(ProtocolError, match="invalid"):
        unpack_trajectories(changed, body, info)
    with pytest.raises(ProtocolError, match="invalid"):
        unpack_trajectories(fields, body + b"x", info)


@pytest.mark.parametrize(("name", "value"), [("actions", 3), ("actions", -1), ("ends", 4), ("acted", 2), ("acted", 0)])
def test_values_that_no_game_has_are_a_protocol_error(name: str, value: int) -> None:
    info = game_of(plans.game_spec("pong")).info
    [segment] = here("pong", range(2), [10])
    array = getattr(segment, name)
    (array.view(np.uint8) if name == "acted" else array).flat[0] = value
    with pytest.raises(ProtocolError, match="sent invalid trajectories"):
        unpack_trajectories(*pack_trajectories(segment), info)
