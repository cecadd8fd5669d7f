"""What a model's answers to examples are worth: cross-entropy with its gradient, and the share of correct answers."""

from __future__ import annotations

import torch
from torch import Tensor

from agents.training.hybrid.arrays import ExampleArrays

ILLEGAL = -1e9  # the logit of outputs that cannot be chosen; with infinity, 0 times its logarithm would be nan


class ExampleTensors:
    """Examples on a device. On the CPU, inputs and targets are the arrays themselves."""

    def __init__(self, arrays: ExampleArrays, device: torch.device) -> None:
        self.rows = len(arrays)
        self.inputs, self.targets = (torch.from_numpy(array).to(device) for array in (arrays.inputs, arrays.targets))
        # A copy, because it begins at a cache line: elsewhere, sums of products have other bits.
        self.weights = torch.from_numpy(arrays.weights).clone().to(device)
        self.legal = None if arrays.legal is None else torch.from_numpy(arrays.legal).to(device)
        self.labels = self.targets.ndim == 1

    def inputs_of(self, rows: Tensor) -> Tensor:
        return self.inputs.index_select(0, rows)

    def loss(self, logits: Tensor, rows: Tensor, total: Tensor) -> Tensor:
        """The gradient of the mean cross-entropy of these rows by the logits, which are overwritten; the sum of their
        cross-entropies is added to `total`."""
        weights, targets = self.weights.index_select(0, rows), self.targets.index_select(0, rows)
        logs = self._log_chances(logits, rows)
        if self.labels:
            places = targets.unsqueeze(1)
            total.sub_(torch.dot(logs.gather(1, places).squeeze(1), weights))
            slope = logs.exp_().scatter_add_(1, places, torch.full_like(places, -1.0, dtype=logs.dtype))
        else:
            total.sub_(torch.dot((logs * targets).sum(1), weights))
            slope = logs.exp_().sub_(targets)
        return slope.mul_(weights.div_(len(rows)).unsqueeze(1))

    def score(self, logits: Tensor, rows: slice, totals: Tensor) -> None:
        """Adds to `totals` the sums over these rows of cross-entropies, of weights of correct answers, and of weights.

        If the targets are probabilities, each of the most probable answers is correct."""
        weights, targets = self.weights[rows], self.targets[rows]
        logs = self._log_chances(logits, rows)
        chosen = logs.argmax(1, keepdim=True)
        if self.labels:
            entropies, right = logs.gather(1, targets.unsqueeze(1)).squeeze(1), chosen.squeeze(1) == targets
        else:
            entropies = (logs * targets).sum(1)
            right = targets.gather(1, chosen).squeeze(1) == targets.amax(1)
        totals[0] -= torch.dot(entropies, weights)
        totals[1] += torch.dot(right.float(), weights)
        totals[2] += weights.sum()

    def _log_chances(self, logits: Tensor, rows: Tensor | slice) -> Tensor:
        if self.legal is not None:
            legal = self.legal[rows] if isinstance(rows, slice) else self.legal.index_select(0, rows)
            logits = logits.masked_fill_(legal == 0, ILLEGAL)
        return torch.log_softmax(logits, 1)
