"""Models with equal layers as `torch.func` stacks them: one loss of one model, differentiated and vectorised.

The benchmark compares it with models that are updated one after the other. No search trains models so: their
numbers would depend on which of them happen to be alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch.func import grad_and_value, vmap
from torch.nn import functional

from agents.training.hybrid.module import Model

Weights = Mapping[str, Tensor]  # of one model inside `vmap`; outside the models are the first dimension


class StackedModels:
    """Several models of one genome with ReLU, without normalisation and dropout, in one update by Adam."""

    def __init__(self, models: Sequence[Model]) -> None:
        """It begins with the weights of these models."""
        self._genome, self._shape = models[0].genome, models[0].shape
        parts = [model.parameters.values for model in models]
        self.weights = {name: torch.stack([part[name].clone() for part in parts]) for name in parts[0]}
        self._optimiser = torch.optim.Adam(self.weights.values(), self._genome.learning_rate, fused=True)
        self._gradient = vmap(grad_and_value(self._loss))

    def update(self, inputs: Tensor, labels: Tensor) -> Tensor:
        """A step for a minibatch of each model, [models, rows, values] and [models, rows]; returns the losses."""
        gradients, losses = self._gradient(self.weights, inputs, labels)
        for name, gradient in gradients.items():
            self.weights[name].grad = gradient
        self._optimiser.step()
        found: Tensor = losses
        return found

    def _loss(self, weights: Weights, inputs: Tensor, labels: Tensor) -> Tensor:
        """Of one model."""
        x = inputs
        if self._genome.convs:
            planes, height, width = self._shape
            x = x.view(-1, height, width, planes).permute(0, 3, 1, 2)
        for k, gene in enumerate(self._genome.convs):
            weight = weights[f"convs.{k}.weight"].permute(0, 3, 1, 2)
            x = functional.relu(functional.conv2d(x, weight, weights[f"convs.{k}.bias"], gene.stride, gene.kernel // 2))
        if self._genome.convs:
            x = x.permute(0, 2, 3, 1).flatten(1)
        for k in range(len(self._genome.dense)):
            x = functional.relu(functional.linear(x, weights[f"layers.{k}.weight"], weights[f"layers.{k}.bias"]))
        logits = functional.linear(x, weights["policy.weight"], weights["policy.bias"])
        return functional.cross_entropy(logits, labels)
