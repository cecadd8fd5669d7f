"""The loss of PPO against values worked out in plain numpy, and the network around it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch

from agents.nets.architecture import Architecture
from agents.nets.network import dump
from agents.training.selfplay.config import PpoConfig
from agents.training.selfplay.learner import InputScale, Learner, device_of, explained_variance
from agents.training.selfplay.loss import Batch, Diverged, ppo_loss
from engine.errors import BadValue
from engine.game import Game
from engine.registry import new_game
from tests.plugins.networks import CONV_STACK, STACK, drawn

PONG, HUNT = new_game("pong"), new_game("treasure-hunt")
SMALL = PpoConfig(hidden="8", minibatch=16, epochs=2)


CONV = PpoConfig(hidden="8", channels="4").architecture(HUNT)
LAYERS = [(Architecture("mlp", (8,)), PONG), (CONV, HUNT), (STACK, PONG), (STACK, HUNT), (CONV_STACK, HUNT)]
LAYERS += [(Architecture("stack", ()), PONG)]  # both heads see the observation


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """More of them wait for each other on a busy machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def learner_of(settings: PpoConfig = SMALL, game=PONG) -> Learner:
    return Learner(settings, game, settings.architecture(game))


def batch_of(rows: int = 48, seed: int = 3, game=PONG, masked: bool = False) -> Batch:
    draws = np.random.default_rng(seed)
    actions = game.info.actions
    legal = draws.random((rows, actions)) < 0.6 if masked else None
    chosen = draws.integers(0, actions, rows)
    if legal is not None:
        legal[np.arange(rows), chosen] = True
    floats = draws.normal(size=(4, rows)).astype(np.float32)
    return Batch(
        torch.from_numpy(draws.normal(size=(rows, *game.info.observation)).astype(np.float32) * 3 + 1),
        None if legal is None else torch.from_numpy(legal),
        torch.from_numpy(chosen),
        torch.from_numpy(-np.abs(floats[0])),
        *map(torch.from_numpy, floats[1:]),
    )


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("value_clip", [0.0, 0.2])
def test_the_loss_has_the_values_of_a_plain_loop(masked: bool, value_clip: float) -> None:
    batch, clip = batch_of(masked=masked), 0.2
    draws = np.random.default_rng(8)
    logits, values = draws.normal(size=(48, 3)).astype(np.float32), draws.normal(size=48).astype(np.float32)
    policy, value, entropy, kl, clipped = [], [], [], [], []
    for row in range(48):
        legal = range(3) if batch.legal is None else np.flatnonzero(batch.legal[row].numpy())
        total = sum(math.exp(float(logits[row, action])) for action in legal)
        chances = {int(action): math.exp(float(logits[row, action])) / total for action in legal}
        ratio = chances[int(batch.actions[row])] / math.exp(float(batch.log_probs[row]))
        advantage = float(batch.advantages[row])
        policy.append(-min(advantage * ratio, advantage * min(max(ratio, 1 - clip), 1 + clip)))
        before, target, now = float(batch.values[row]), float(batch.returns[row]), float(values[row])
        near = before + min(max(now - before, -value_clip), value_clip)
        value.append(0.5 * max((now - target) ** 2, (near - target) ** 2 if value_clip else 0.0))
        entropy.append(-sum(chance * math.log(chance) for chance in chances.values()))
        kl.append(ratio - 1 - math.log(ratio))
        clipped.append(float(abs(ratio - 1) > clip))
    found = ppo_loss(torch.from_numpy(logits), torch.from_numpy(values), batch, clip, value_clip)
    for got, expected in zip(found, (policy, value, entropy, kl, clipped), strict=True):
        assert float(got) == pytest.approx(np.mean(expected), rel=1e-5)


def test_illegal_actions_get_no_gradient() -> None:
    batch = batch_of(masked=True)
    assert batch.legal is not None
    logits = torch.zeros((48, 3), requires_grad=True)
    loss = ppo_loss(logits, batch.values, batch, 0.2, 0.0)
    (loss.policy - loss.entropy).backward()
    assert logits.grad is not None
    assert torch.isfinite(logits.grad).all()
    assert not logits.grad[~batch.legal].any()
    assert logits.grad[batch.legal].any()


def test_inputs_are_scaled_as_numpy_says_in_any_portions() -> None:
    obs = np.random.default_rng(1).normal(3.0, [0.5, 2.0], (500, 2)).astype(np.float32)
    scale = InputScale((2,), flat=True)
    for part in np.split(obs, [10, 11, 300]):
        scale.add(part)
    assert scale.mean == pytest.approx(obs.mean(axis=0, dtype=np.float64))
    assert scale.factor == pytest.approx(1 / obs.std(axis=0, dtype=np.float64), rel=1e-5)
    assert scale.shift == pytest.approx(obs.mean(axis=0) / obs.std(axis=0), rel=1e-5)


@pytest.mark.parametrize(("architecture", "game"), LAYERS)
def test_the_published_network_has_the_scale_in_its_first_layer(architecture: Architecture, game: Game) -> None:
    learner, batch = Learner(SMALL, game, architecture), batch_of(game=game)
    learner.add_to_scale(batch.obs.numpy())
    with torch.no_grad():
        expected = learner.net(learner._scaled(batch.obs))
        learner.net.set_tensors(learner.network(1.0).tensors)
        published = learner.net(batch.obs)
    for expected_output, output in zip(expected, published, strict=True):
        assert expected_output.numpy() == pytest.approx(output.numpy(), abs=1e-4)


@pytest.mark.parametrize(("architecture", "game"), LAYERS)
def test_a_change_of_scale_does_not_change_how_a_network_plays(architecture: Architecture, game: Game) -> None:
    learner = Learner(SMALL, game, architecture)
    learner.add_to_scale(batch_of(game=game).obs.numpy())
    before = learner.network(1.0).tensors
    learner.add_to_scale(batch_of(seed=9, game=game).obs.numpy() * 5 + 2)
    after = learner.network(1.0).tensors
    assert all(after[name] == pytest.approx(before[name], abs=1e-5) for name in before)


@pytest.mark.parametrize(("architecture", "game"), LAYERS[2:])
def test_a_stack_learns_from_where_another_network_of_its_layers_is(architecture: Architecture, game: Game) -> None:
    source = drawn(architecture, game, seed=4)
    settings = PpoConfig(minibatch=64, epochs=4)
    assert settings.architecture(game, architecture) == architecture
    learner, batch = Learner(settings, game, architecture), batch_of(200, game=game)
    learner.start_from(source)
    learner.add_to_scale(batch.obs.numpy())
    before = learner.network(0.0).tensors
    assert all(before[name] == pytest.approx(tensor, abs=1e-5) for name, tensor in source.tensors.items())
    losses = [learner.update(batch, 5, 3e-3, 0.0, lambda: None)["loss/value"] for _ in range(4)]
    assert losses[-1] < losses[0]
    resumed = Learner(settings, game, architecture)
    resumed.set_tensors(learner.tensors())
    assert dump(resumed.network(0.0)) == dump(learner.network(0.0))


def test_settings_that_contradict_the_stack_to_start_from_are_refused() -> None:
    own = r"that of the agent to start from, stack: 8, 16 relu, 12 silu, 9 elu, .*, or left to it"
    for changed in ({"hidden": "16,16"}, {"network": "mlp"}, {"blocks": 2}, {"channels": "4"}):
        with pytest.raises(BadValue, match=own):
            PpoConfig(**changed).architecture(PONG, STACK)


def test_an_update_lowers_the_loss_and_is_the_same_every_time() -> None:
    batch, results = batch_of(400), []
    for _ in range(2):
        learner = learner_of(replace(SMALL, epochs=20))
        metrics = [learner.update(batch, 5, 3e-3, 0.0, lambda: None) for _ in range(4)]
        results.append((metrics, learner.network(0.0).tensors))
    (first, tensors), (second, others) = results
    assert first == second
    assert all((tensors[name] == others[name]).all() for name in tensors)
    assert first[-1]["loss/value"] < first[0]["loss/value"]
    assert first[-1]["loss/policy"] < first[0]["loss/policy"]


def test_an_update_ends_when_the_policy_has_moved_far_enough() -> None:
    learner = learner_of(replace(SMALL, epochs=50, target_kl=1e-9))
    assert learner.update(batch_of(), 5, 1e-2, 0.0, lambda: None)["policy/epochs"] == 1.0


def test_numbers_that_are_not_finite_are_reported_before_the_weights_change() -> None:
    learner, step = learner_of(), learner_of()
    learner.update(batch_of(seed=4), 6, 1e-2, 0.0, lambda: None)  # Adam remembers it
    before, weights, batch = learner.tensors(), step.net.tensors(), batch_of()
    batch.returns[7] = float("nan")
    step._step.begin(batch, 1e-2)
    with pytest.raises(Diverged, match="the loss became nan"):
        step._step.step(torch.arange(batch.size), 0.0)
    assert all((weights[name] == tensor).all() for name, tensor in step.net.tensors().items())
    with pytest.raises(Diverged, match="the loss became nan"):
        learner.update(batch, 5, 1e-2, 0.0, lambda: None)
    after = learner.tensors()
    assert before.keys() == after.keys()
    assert all((before[name] == after[name]).all() for name in before), "also after several minibatches"


def test_a_checkpoint_of_the_learner_gives_the_same_next_update() -> None:
    learner, other = learner_of(), learner_of(replace(SMALL, seed=9))
    learner.update(batch_of(), 5, 1e-2, 0.01, lambda: None)
    learner.add_to_scale(batch_of().obs.numpy())
    other.set_tensors(learner.tensors())
    assert learner.update(batch_of(seed=4), 6, 1e-2, 0.0, lambda: None) == other.update(
        batch_of(seed=4), 6, 1e-2, 0.0, lambda: None
    )
    learned, restored = learner.tensors(), other.tensors()
    assert learned.keys() == restored.keys()
    assert all((learned[name] == restored[name]).all() for name in learned)


def test_torchs_global_generator_is_not_used() -> None:
    before = torch.get_rng_state()
    learner_of().update(batch_of(), 5, 1e-2, 0.0, lambda: None)
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_missing_device_is_an_error_and_auto_takes_what_there_is() -> None:
    with pytest.raises(BadValue, match="finds no CUDA device"):
        device_of("cuda")
    assert device_of("auto").type == "cpu"


def test_explained_variance_tells_how_good_values_are() -> None:
    returns = np.array([1.0, 2.0, 3.0, 6.0], np.float32)
    assert explained_variance(returns, returns) == 1.0
    assert explained_variance(np.full(4, 3.0, np.float32), returns) == pytest.approx(0.0)
    assert explained_variance(-returns, returns) < 0


def test_layers_follow_the_game_unless_settings_say_otherwise() -> None:
    assert PpoConfig().architecture(PONG) == Architecture("mlp", (64, 64))
    assert PpoConfig().architecture(HUNT).type == "conv"
    assert PpoConfig().architecture(new_game("shogi")).type == "resnet"
    assert PpoConfig(network="mlp", hidden="32, 16").architecture(HUNT) == Architecture("mlp", (32, 16))
    with pytest.raises(BadValue, match="hidden"):
        PpoConfig(hidden="64 64 x")


def test_weights_that_overflow_are_reported() -> None:
    learner = learner_of(replace(SMALL, gradient_norm=0.0))
    before = learner.net.tensors()
    with pytest.raises(Diverged, match=r"the weights are no longer finite|the loss became"):
        learner.update(batch_of(), 5, 1e38, 0.0, lambda: None)
    assert all((before[name] == tensor).all() for name, tensor in learner.net.tensors().items())
