"""A step of gradient descent by torch: any network, on any device."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Protocol

import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from agents.nets.modules import PolicyValueNet
from agents.training.selfplay.config import PpoConfig
from agents.training.selfplay.loss import Batch, Diverged, Loss, ppo_loss

EPSILON = 1e-5  # of Adam, as usual for PPO (Huang et al. 2022)
STEP, MEAN, SQUARES = MOMENTS = ("step", "exp_avg", "exp_avg_sq")  # what Adam remembers of each parameter
Moments = Mapping[str, Mapping[str, NDArray[Any]]]  # by parameter, then by name


class Step(Protocol):
    """Changes a network by gradient descent with Adam."""

    def begin(self, batch: Batch, learning_rate: float) -> None:
        """Steps that follow learn from this batch."""

    def step(self, chosen: Tensor, entropy: float) -> Loss[float]:
        """One step on some rows of the batch; `entropy` is its weight. Raises Diverged
        before the network changes if the loss or its gradient is not finite."""

    def moments(self) -> Moments:
        """Copies of what Adam remembers; empty before the first step."""

    def set_moments(self, moments: Moments) -> None: ...


class TorchStep:
    """By torch's automatic differentiation and its Adam."""

    def __init__(self, net: PolicyValueNet, settings: PpoConfig) -> None:
        self._net, self._settings = net, settings
        self._optimiser = torch.optim.Adam(net.parameters(), lr=settings.learning_rate, eps=EPSILON, fused=True)
        self._batch: Batch | None = None

    def begin(self, batch: Batch, learning_rate: float) -> None:
        self._batch = batch
        for group in self._optimiser.param_groups:
            group["lr"] = learning_rate

    def step(self, chosen: Tensor, entropy: float) -> Loss[float]:
        assert self._batch is not None
        settings, batch = self._settings, self._batch.rows(chosen)
        logits, values = self._net(batch.obs)
        loss = ppo_loss(logits, values, batch, settings.clip, settings.value_clip)
        total = loss.policy + settings.value_weight * loss.value - entropy * loss.entropy
        self._optimiser.zero_grad()
        total.backward()  # type: ignore[no-untyped-call]
        norm = clip_grad_norm_(self._net.parameters(), settings.gradient_norm or float("inf"))
        found = torch.stack([part.detach() for part in (*loss, total, norm)]).tolist()
        check_finite(*found[-2:])
        self._optimiser.step()
        return Loss(*found[:-2])

    def moments(self) -> Moments:
        found = {name: self._optimiser.state.get(parameter, {}) for name, parameter in self._net.named_parameters()}
        return {
            name: {key: kept[key].detach().cpu().numpy().copy() for key in MOMENTS}
            for name, kept in found.items()
            if kept
        }

    def set_moments(self, moments: Moments) -> None:
        for name, parameter in self._net.named_parameters():
            if name in moments:
                kept = {key: torch.from_numpy(moments[name][key].copy()).to(parameter.device) for key in MOMENTS}
                self._optimiser.state[parameter] = kept


def check_finite(total: float, norm: float) -> None:
    if not math.isfinite(total + norm):
        raise Diverged(f"the loss became {total} with a gradient of norm {norm}")
