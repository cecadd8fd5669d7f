"""A step of gradient descent for small fully connected networks on the CPU, with the gradient written out.

For such a network torch spends its time on calls: a step of a 64-64 network on 64 turns needs 2 million operations,
and about 200 calls. Here torch multiplies the matrices, and compiled functions do the rest in a few passes.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agents.nets.arithmetic import tanh_row
from agents.nets.modules import PolicyValueNet
from agents.training.selfplay.config import PpoConfig
from agents.training.selfplay.loss import Batch, Loss
from agents.training.selfplay.torch_step import EPSILON, MEAN, SQUARES, STEP, Moments, check_finite
from engine.kernels import bare

DECAY_MEAN, DECAY_SQUARES = 0.9, 0.999  # of Adam: torch's defaults
TINY = 1e-6  # added to a norm before it divides, as in torch's clip_grad_norm_
ONE = np.float32(1.0)


@bare
def _tanh(values):  # type: ignore[no-untyped-def]
    tanh_row(values, values.size)


@bare
def _back_through_tanh(gradient, outputs, bias):  # type: ignore[no-untyped-def]
    """Turns the gradient of tanh's outputs into that of its inputs; `bias` becomes the sum over rows."""
    bias[:] = 0.0
    for i in range(gradient.shape[0]):
        for k in range(gradient.shape[1]):
            gradient[i, k] *= ONE - outputs[i, k] * outputs[i, k]
            bias[k] += gradient[i, k]


@bare
def _loss(outputs, columns, chosen, masked, weights, gradient, bias, chances, parts):  # type: ignore[no-untyped-def]
    """The loss of `ppo_loss` with its gradient. The last output is the value. `parts` gets its parts and the total."""
    legal, actions, log_probs, before, advantages, returns = columns
    clip, value_clip, value_weight, entropy_weight = weights
    last, share = outputs.shape[1] - 1, 1.0 / chosen.size
    parts[:] = 0.0
    bias[:] = 0.0
    for i in range(chosen.size):
        row = chosen[i]
        action, advantage = actions[row], advantages[row]
        top = outputs[i, action]
        for k in range(last):
            if (not masked or legal[row, k]) and outputs[i, k] > top:
                top = outputs[i, k]
        total = 0.0
        for k in range(last):
            chances[k] = math.exp(np.float64(outputs[i, k]) - top) if not masked or legal[row, k] else 0.0
            total += chances[k]
        log_total = top + math.log(total)
        entropy = 0.0
        for k in range(last):
            chances[k] /= total
            if chances[k] > 0.0:
                entropy -= chances[k] * (outputs[i, k] - log_total)
        log_ratio = outputs[i, action] - log_total - log_probs[row]
        ratio = math.exp(log_ratio)
        clipped_ratio = min(max(ratio, 1.0 - clip), 1.0 + clip)
        # The clipped ratio has no gradient. Comparisons with NaN are False: then the loss becomes NaN, and is reported.
        unclipped = not advantage * ratio > advantage * clipped_ratio
        policy_slope = -advantage * ratio if unclipped else 0.0
        for k in range(last):
            taken = 1.0 if k == action else 0.0
            slope = 0.0
            if chances[k] > 0.0:
                slope = entropy_weight * chances[k] * (outputs[i, k] - log_total + entropy)
            gradient[i, k] = share * (policy_slope * (taken - chances[k]) + slope)
            bias[k] += gradient[i, k]
        error = outputs[i, last] - returns[row]
        moved = outputs[i, last] - before[row]
        slope = error
        if value_clip > 0.0:
            clipped = before[row] + min(max(moved, -value_clip), value_clip) - returns[row]
            if clipped * clipped > error * error:
                error, slope = clipped, clipped if abs(moved) <= value_clip else 0.0
        gradient[i, last] = share * value_weight * slope
        bias[last] += gradient[i, last]
        parts[0] -= share * (advantage * ratio if unclipped else advantage * clipped_ratio)
        parts[1] += share * 0.5 * error * error
        parts[2] += share * entropy
        parts[3] += share * (ratio - 1.0 - log_ratio)
        parts[4] += share if abs(ratio - 1.0) > clip else 0.0
    parts[5] = parts[0] + value_weight * parts[1] - entropy_weight * parts[2]


@bare
def _adam(weights, gradient, mean, squares, factor, size, root):  # type: ignore[no-untyped-def]
    """`factor` of the gradient; `size` of the step; `root` corrects the squares, which begin at 0."""
    factor, size, root = np.float32(factor), np.float32(size), np.float32(root)
    for k in range(weights.size):
        slope = gradient[k] * factor
        mean[k] = np.float32(DECAY_MEAN) * mean[k] + np.float32(1.0 - DECAY_MEAN) * slope
        squares[k] = np.float32(DECAY_SQUARES) * squares[k] + np.float32(1.0 - DECAY_SQUARES) * slope * slope
        weights[k] -= size * mean[k] / (np.sqrt(squares[k]) * root + np.float32(EPSILON))


class Layer(NamedTuple):
    """Parts of the flat arrays of weights and gradients."""

    weight: Tensor  # [outputs, inputs]
    transposed: Tensor
    bias: Tensor
    weight_slope: Tensor  # the gradient, [outputs, inputs]
    bias_slope: NDArray[np.float32]


class Space(NamedTuple):
    """Memory for minibatches of one size: of each layer the inputs and the gradient of its outputs (slopes), as tensors
    and as arrays that share their memory. Views are made once: each costs a microsecond."""

    inputs: list[Tensor]
    slopes: list[Tensor]
    transposed: list[Tensor]  # of the slopes
    arrays: list[NDArray[np.float32]]
    slope_arrays: list[NDArray[np.float32]]
    outputs: Tensor
    output_array: NDArray[np.float32]


class MlpStep:
    """The parameters of the network become parts of one flat array, in which both heads are one layer."""

    def __init__(self, net: PolicyValueNet, settings: PpoConfig) -> None:
        self._settings, self._actions = settings, net.actions
        names = [f"layers.{k}.{part}" for k in range(len(net.layers)) for part in ("weight", "bias")]
        names += ["policy.weight", "value.weight", "policy.bias", "value.bias"]
        parameters = dict(net.named_parameters())
        self._shapes = {name: tuple(parameters[name].shape) for name in names}
        self._weights, self._gradient = torch.zeros((2, sum(map(math.prod, self._shapes.values()))))
        self._mean, self._squares = np.zeros((2, len(self._weights)), np.float32)
        self._steps = 0
        for name, part in self._parts(self._weights).items():
            part.copy_(parameters[name].detach())
            parameters[name].data = part
        self._layers = self._cut()
        self._spaces: dict[int, Space] = {}
        self._chances, self._found = np.zeros(net.actions), np.zeros(6)
        self._obs, self._masked = torch.zeros(0), False
        self._columns: tuple[NDArray[Any], ...] = ()
        self._rate = 0.0

    def _parts(self, flat: Any) -> dict[str, Any]:
        """A flat array or tensor as the parameters, by name."""
        found, at = {}, 0
        for name, shape in self._shapes.items():
            found[name] = flat[at : at + math.prod(shape)].reshape(shape)
            at += math.prod(shape)
        return found

    def _cut(self) -> list[Layer]:
        layers, at = [], 0
        sizes = [shape for name, shape in self._shapes.items() if name.startswith("layers.") and len(shape) == 2]
        for outputs, inputs in (*sizes, (self._actions + 1, self._shapes["value.weight"][1])):
            middle, end = at + outputs * inputs, at + outputs * (inputs + 1)
            layers.append(
                Layer(
                    self._weights[at:middle].view(outputs, inputs),
                    self._weights[at:middle].view(outputs, inputs).t(),
                    self._weights[middle:end],
                    self._gradient[at:middle].view(outputs, inputs),
                    self._gradient[middle:end].numpy(),
                )
            )
            at = end
        return layers

    def _space(self, rows: int) -> Space:
        if rows not in self._spaces:
            inputs = [torch.zeros(rows, len(layer.transposed)) for layer in self._layers]
            slopes = [torch.zeros(rows, len(layer.bias)) for layer in self._layers]
            outputs = torch.zeros(rows, self._actions + 1)
            arrays, slope_arrays = ([tensor.numpy() for tensor in some] for some in (inputs, slopes))
            self._spaces[rows] = Space(
                inputs, slopes, [tensor.t() for tensor in slopes], arrays, slope_arrays, outputs, outputs.numpy()
            )
        return self._spaces[rows]

    def begin(self, batch: Batch, learning_rate: float) -> None:
        self._spaces.clear()
        self._rate, self._obs, self._masked = learning_rate, batch.obs.flatten(1), batch.legal is not None
        legal = np.ones((1, 1), np.bool_) if batch.legal is None else batch.legal.numpy()
        rest = batch.actions, batch.log_probs, batch.values, batch.advantages, batch.returns
        self._columns = (legal, *(column.numpy() for column in rest))

    def step(self, chosen: Tensor, entropy: float) -> Loss[float]:
        space = self._space(len(chosen))
        with torch.no_grad():
            self._forward(chosen, space)
            total = self._slopes_of_outputs(chosen.numpy(), entropy, space)
            self._backward(space)
            norm = float(torch.linalg.vector_norm(self._gradient))
        check_finite(total, norm)
        self._descend(norm)
        return Loss(*self._found[:5].tolist())

    def _forward(self, chosen: Tensor, space: Space) -> None:
        torch.index_select(self._obs, 0, chosen, out=space.inputs[0])
        for k, layer in enumerate(self._layers[:-1]):
            torch.addmm(layer.bias, space.inputs[k], layer.transposed, out=space.inputs[k + 1])
            _tanh(space.arrays[k + 1].reshape(-1))
        torch.addmm(self._layers[-1].bias, space.inputs[-1], self._layers[-1].transposed, out=space.outputs)

    def _slopes_of_outputs(self, chosen: NDArray[np.int64], entropy: float, space: Space) -> float:
        settings = self._settings
        weights = settings.clip, settings.value_clip, settings.value_weight, entropy
        slopes, bias = space.slope_arrays[-1], self._layers[-1].bias_slope
        _loss(
            space.output_array, self._columns, chosen, self._masked, weights, slopes, bias, self._chances, self._found
        )
        return float(self._found[5])

    def _backward(self, space: Space) -> None:
        for k in range(len(self._layers) - 1, -1, -1):
            layer = self._layers[k]
            torch.mm(space.transposed[k], space.inputs[k], out=layer.weight_slope)
            if k:
                torch.mm(space.slopes[k], layer.weight, out=space.slopes[k - 1])
                _back_through_tanh(space.slope_arrays[k - 1], space.arrays[k], self._layers[k - 1].bias_slope)

    def _descend(self, norm: float) -> None:
        most = self._settings.gradient_norm or float("inf")
        self._steps += 1
        size = self._rate / (1.0 - DECAY_MEAN**self._steps)
        root = 1.0 / math.sqrt(1.0 - DECAY_SQUARES**self._steps)
        factor = min(most / (norm + TINY), 1.0)
        _adam(self._weights.numpy(), self._gradient.numpy(), self._mean, self._squares, factor, size, root)

    def moments(self) -> Moments:
        if not self._steps:
            return {}
        mean, squares, steps = self._parts(self._mean), self._parts(self._squares), np.float32(self._steps)
        return {
            name: {STEP: np.array(steps), MEAN: mean[name].copy(), SQUARES: squares[name].copy()}
            for name in self._shapes
        }

    def set_moments(self, moments: Moments) -> None:
        for flat, key in ((self._mean, MEAN), (self._squares, SQUARES)):
            for name, part in self._parts(flat).items():
                if name in moments:
                    part[...] = moments[name][key]
        self._steps = max((int(moment[STEP]) for moment in moments.values()), default=0)
