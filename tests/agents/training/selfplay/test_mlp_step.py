"""The written-out step of small networks compared with torch's automatic differentiation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from agents.nets.architecture import Architecture
from agents.nets.modules import PolicyValueNet
from agents.training.selfplay.config import PpoConfig
from agents.training.selfplay.learner import Learner
from agents.training.selfplay.loss import Batch, Diverged
from agents.training.selfplay.mlp_step import MlpStep
from agents.training.selfplay.torch_step import MOMENTS, Step, TorchStep
from engine.registry import new_game
from tests.agents.training.selfplay.test_learner import HUNT, PONG, batch_of, one_thread  # noqa: F401

STEPS = (MlpStep, TorchStep)


def net_of(hidden: tuple[int, ...], inputs: int = 8, actions: int = 3) -> PolicyValueNet:
    net = PolicyValueNet(Architecture("mlp", hidden), (inputs,), actions)
    net.draw_tensors(torch.Generator().manual_seed(4))
    with torch.no_grad():
        net.policy.weight.mul_(60.0)  # so that actions have different chances
    return net


def near_batch(net: PolicyValueNet, masked: bool, rows: int = 40) -> Batch:
    """Turns whose ratios and values are partly within and partly beyond the clips."""
    batch = batch_of(rows, masked=masked)
    with torch.no_grad():
        logits, values = net(batch.obs)
        if batch.legal is not None:
            logits = logits.masked_fill(~batch.legal, -1e9)
        chosen = torch.log_softmax(logits, 1).gather(1, batch.actions[:, None]).squeeze(1)
    return batch._replace(log_probs=chosen + 0.6 * batch.log_probs + 0.4, values=values + 0.3 * batch.values)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("value_clip", [0.0, 0.2])
@pytest.mark.parametrize("hidden", [(8,), (16, 5, 7)])
def test_loss_and_gradient_are_those_of_torch(masked: bool, value_clip: float, hidden: tuple[int, ...]) -> None:
    settings, found = PpoConfig(value_clip=value_clip, gradient_norm=0.0), []
    chosen = torch.tensor([3, 0, 17, 39, 8, 9, 21, 30, 31, 2, 1])
    for kind in STEPS:
        net = net_of(hidden)
        step: Step = kind(net, settings)
        step.begin(near_batch(net, masked), 0.0)
        found.append((step.step(chosen, 0.05), step.moments()))
    (ours, own), (theirs, other) = found
    assert ours == pytest.approx(theirs, rel=1e-4, abs=1e-6)
    assert 0 < theirs.clipped < 1
    assert own.keys() == other.keys()
    for name, moments in other.items():  # the mean of Adam is a tenth of the first gradient
        for key in MOMENTS:
            assert own[name][key].dtype == moments[key].dtype
            assert own[name][key] == pytest.approx(moments[key], rel=1e-3, abs=1e-6 if key != "exp_avg_sq" else 1e-10)
        assert moments["exp_avg"].any(), name


def test_steps_lead_to_the_weights_of_torch() -> None:
    settings, found = PpoConfig(), []
    for kind in STEPS:
        net = net_of((16, 16))
        step: Step = kind(net, settings)
        step.begin(near_batch(net, False), 1e-2)
        for first in (0, 10, 20):
            step.step(torch.arange(first, first + 20), 0.01)
        found.append(net.tensors())
    for name, tensor in found[1].items():
        assert found[0][name] == pytest.approx(tensor, abs=1e-4), name


def test_a_long_gradient_is_shortened() -> None:
    """Adam's first mean is a tenth of the gradient, whose norm is at most `gradient_norm`."""
    for kind in STEPS:
        net = net_of((8,))
        step: Step = kind(net, PpoConfig(gradient_norm=1e-3))
        step.begin(near_batch(net, False), 1e-3)
        step.step(torch.arange(40), 0.0)
        norm = np.sqrt(sum((moments["exp_avg"].astype(float) ** 2).sum() for moments in step.moments().values()))
        assert norm == pytest.approx(1e-4, rel=0.01)


@pytest.mark.parametrize("kind", STEPS)
@pytest.mark.parametrize("column", ["obs", "log_probs", "advantages", "returns"])
def test_numbers_that_are_not_finite_change_no_weight(kind: type[Step], column: str) -> None:
    net = net_of((8,))
    step, before, batch = kind(net, PpoConfig()), net.tensors(), near_batch(net, False)  # type: ignore[call-arg]
    getattr(batch, column)[5] = float("nan")
    step.begin(batch, 1e-2)
    with pytest.raises(Diverged, match="the loss became nan"):
        step.step(torch.arange(40), 0.01)
    assert all((net.tensors()[name] == tensor).all() for name, tensor in before.items())


@pytest.mark.parametrize(("first", "second"), [STEPS, STEPS[::-1]])
def test_moments_pass_from_one_kind_of_step_to_the_other(first: type[Step], second: type[Step]) -> None:
    """A session may be resumed on another device, which takes the other kind."""
    net, other = net_of((8,)), net_of((8,))
    step, resumed = first(net, PpoConfig()), second(other, PpoConfig())  # type: ignore[call-arg]
    batch = near_batch(net, False)
    assert step.moments() == {}
    step.begin(batch, 1e-2)
    step.step(torch.arange(20), 0.01)
    other.set_tensors(net.tensors())
    resumed.set_moments(step.moments())
    resumed.begin(batch, 1e-2)
    for current in (step, resumed):
        current.step(torch.arange(20, 40), 0.01)
    for name, tensor in net.tensors().items():
        assert other.tensors()[name] == pytest.approx(tensor, abs=1e-4), name


def test_small_networks_take_the_written_out_step() -> None:
    settings = PpoConfig(channels="4", hidden="8")
    plain = replace(settings, channels="")
    assert isinstance(Learner(plain, PONG, plain.architecture(PONG))._step, MlpStep)
    assert isinstance(Learner(settings, HUNT, settings.architecture(HUNT))._step, TorchStep)
    large, shogi = PpoConfig(network="mlp", hidden="512"), new_game("shogi")
    assert isinstance(Learner(large, shogi, large.architecture(shogi))._step, TorchStep)
