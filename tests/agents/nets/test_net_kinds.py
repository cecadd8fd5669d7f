"""The kinds `net` and `torch-net`: they pass the checks of every kind, and a row does not depend on other rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from agents.nets.architecture import Architecture
from agents.nets.inference import CHUNK
from agents.nets.modules import PolicyValueNet
from agents.nets.network import dump
from agents.nets.pilot import LARGEST, NET, agent, kind_for
from agents.nets.torch_pilot import TORCH_NET, TorchPilot
from engine.checks import check_kind
from engine.errors import BadValue
from engine.game import AgentKind, Game
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import AgentSpec, EndingKind, MatchSpec
from engine.registry import KINDS, describe_agent, new_game
from tests.plugins.networks import CONV, RESNET, SMALL, drawn

PONG, HUNT, SHOGI = (
    new_game("pong", points=1, step_limit=200),
    new_game("treasure-hunt", turns=20),
    new_game("shogi", move_limit=20),
)
CASES = [(SMALL, PONG), (CONV, HUNT), (RESNET, HUNT), (RESNET, SHOGI)]


def spec(
    name: str, kind: AgentKind, architecture: Architecture, game: Game, seed: int = 0, at: float = 1.0
) -> AgentSpec:
    return AgentSpec(name, kind.name, dump(drawn(architecture, game, seed, at)), kind.version)


def test_both_kinds_are_registered() -> None:
    assert KINDS.get("net") is NET
    assert KINDS.get("torch-net") is TORCH_NET


@pytest.mark.parametrize("game", [PONG, HUNT])
def test_small_networks_pass_the_checks_of_every_kind(game: Game) -> None:
    agents = [spec("a", NET, SMALL, game, 1), spec("b", NET, Architecture("mlp", (5,)), game, 2, 0.0)]
    check_kind(NET, game, matches=3, agents=agents)


@pytest.mark.parametrize(("architecture", "game"), CASES)
def test_networks_in_torch_pass_the_checks_of_every_kind(architecture: Architecture, game: Game) -> None:
    agents = [spec("a", TORCH_NET, architecture, game, 1), spec("b", TORCH_NET, architecture, game, 2, 0.5)]
    check_kind(TORCH_NET, game, matches=3, agents=agents)


@pytest.mark.parametrize(("architecture", "game"), CASES)
def test_the_bits_of_a_row_do_not_depend_on_its_place_or_on_other_rows(architecture: Architecture, game: Game) -> None:
    """At every place of a chunk, among zeros, small and large numbers, with layers of all widths around a multiple."""
    rng = np.random.default_rng(7)
    for width in (1, 5, 7, 11, 16, 17, 33) if game is not SHOGI else (8, 11):
        widened = replace(
            architecture,
            hidden=(width,) * len(architecture.hidden),
            channels=(width,) * len(architecture.channels),
        )
        pilot = TorchPilot(game, 1)
        pilot.load(spec("a", TORCH_NET, widened, game, seed=width))
        row = rng.standard_normal(game.info.observation).astype(np.float32)
        found = set()
        for place in range(CHUNK):
            for scale in (0.0, 1.0, 100.0):
                obs = (rng.standard_normal((CHUNK + place, *game.info.observation)) * scale).astype(np.float32)
                obs[place] = row
                logits, values = pilot._evaluate(np.zeros(len(obs), np.uint32), obs)
                found.add((logits[place].tobytes(), values[place].tobytes()))
        assert len(found) == 1, f"width {width}"


@pytest.mark.parametrize(("architecture", "game"), CASES)
def test_torch_computes_the_network_that_the_module_describes(architecture: Architecture, game: Game) -> None:
    network = drawn(architecture, game, seed=3)
    module = PolicyValueNet(architecture, game.info.observation, game.info.actions)
    module.set_tensors(network.tensors)
    obs = np.random.default_rng(1).standard_normal((20, *game.info.observation)).astype(np.float32)
    with torch.inference_mode():
        logits, values = (found.numpy() for found in module(torch.from_numpy(obs)))
    pilot = TorchPilot(game, 20)
    pilot.load(AgentSpec("a", TORCH_NET.name, dump(network), TORCH_NET.version))
    for found, expected in zip(pilot._evaluate(np.zeros(20, np.uint32), obs), (logits, values), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_compiled_code_and_torch_compute_the_same_network() -> None:
    obs = np.random.default_rng(1).standard_normal((20, *PONG.info.observation)).astype(np.float32)
    values = []
    for kind in (NET, TORCH_NET):
        pilot = kind.pilot(PONG, 20)
        assert pilot.load(spec("a", kind, SMALL, PONG)) == 0
        values.append(pilot.evaluate(np.zeros(20, np.uint32), obs))
    np.testing.assert_allclose(*values, rtol=1e-5, atol=1e-6)


def test_threads_of_torch_are_as_before_after_a_call() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        pilot = TorchPilot(PONG, 1)
        pilot.load(spec("a", TORCH_NET, SMALL, PONG))
        pilot.evaluate(np.zeros(1, np.uint32), np.zeros((1, *PONG.info.observation), np.float32))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("kind", [NET, TORCH_NET])
def test_replaced_weights_are_used_at_once(kind: AgentKind) -> None:
    obs = np.random.default_rng(1).standard_normal((3, *PONG.info.observation)).astype(np.float32)
    agents, pilot, other = np.zeros(3, np.uint32), kind.pilot(PONG, 3), kind.pilot(PONG, 3)
    pilot.load(spec("a", kind, SMALL, PONG, 1))
    other.load(spec("a", kind, SMALL, PONG, 2))
    before = pilot.evaluate(agents, obs).tolist()
    pilot.replace(0, spec("a", kind, SMALL, PONG, 2))
    assert pilot.evaluate(agents, obs).tolist() == other.evaluate(agents, obs).tolist() != before


@pytest.mark.parametrize("kind", [NET, TORCH_NET])
def test_a_network_of_other_sizes_cannot_replace_another(kind: AgentKind) -> None:
    pilot = kind.pilot(PONG, 3)
    pilot.load(spec("a", kind, SMALL, PONG))
    with pytest.raises(BadValue, match="as in the network that it replaces"):
        pilot.replace(0, spec("a", kind, Architecture("mlp", (64, 8)), PONG))
    with pytest.raises(BadValue, match=r"network.game = 'treasure-hunt': must be pong"):
        pilot.replace(0, spec("a", kind, SMALL, HUNT))


def test_the_kind_of_a_network_follows_from_its_size() -> None:
    assert kind_for(SMALL, (8,), 3) is NET
    assert kind_for(Architecture("mlp", (512, 512)), (8,), 3) is NET
    assert kind_for(Architecture("mlp", (600, 600)), (8,), 3) is TORCH_NET
    assert kind_for(CONV, (3, 5, 5), 5) is TORCH_NET
    assert agent("a", drawn(SMALL, PONG)).kind == NET.name


def test_networks_that_compiled_code_cannot_play_well_name_the_kind_that_can() -> None:
    with pytest.raises(BadValue, match=f"weights = 368404: must be at most {LARGEST:,}; the kind torch-net"):
        NET.pilot(PONG, 1).load(spec("a", NET, Architecture("mlp", (600, 600)), PONG))
    with pytest.raises(
        BadValue, match=r"architecture = 'conv': must be mlp, or stack without conv.*; the kind torch-net"
    ):
        NET.pilot(HUNT, 1).load(spec("a", NET, CONV, HUNT))


def test_an_output_that_is_not_a_usable_number_is_an_error_of_the_agent() -> None:
    network = drawn(SMALL, PONG)
    tensors = {**network.tensors, "value.bias": np.full(1, 3e38, np.float32)}
    large = replace(network, tensors=tensors)
    for kind in (NET, TORCH_NET):
        player = AgentSpec("a", kind.name, dump(large), kind.version)
        with SequentialMatchExecutor(1) as executor:
            result = executor.execute_match(MatchSpec("m", PONG.spec, (player, player), 1))
        assert result.ending.kind is EndingKind.EXCEPTION
        assert "an output of its network is NaN or too large" in result.ending.reason


def test_a_kind_that_fails_to_describe_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(agent: AgentSpec) -> list[tuple[str, str]]:
        raise ZeroDivisionError("no words")

    small = spec("a", NET, SMALL, PONG)
    assert ("Weights", "316") in describe_agent(small)
    assert describe_agent(replace(small, payload=b"damaged")) == ()
    assert describe_agent(replace(small, kind="not-installed")) == ()
    monkeypatch.setattr(KINDS, "problems", {})
    monkeypatch.setitem(KINDS._loaded, "net", replace(NET, describe=fail))
    assert describe_agent(small) == ()
    assert "fails when asked to describe 'a': ZeroDivisionError: no words" in KINDS.problems["net"]
