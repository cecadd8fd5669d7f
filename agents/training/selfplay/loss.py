"""The loss of proximal policy optimisation (Schulman et al. 2017), in torch."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

import torch
from torch import Tensor

from engine.errors import RingsideError

ILLEGAL = -1e9  # logit of an illegal action: its probability is exactly 0, and 0 * -1e9 is no NaN
Number = TypeVar("Number", Tensor, float)


class Diverged(RingsideError):  # noqa: N818
    """The loss, a gradient or the weights are no longer finite."""


class Batch(NamedTuple):
    """Turns to learn from, one in each row."""

    obs: Tensor
    legal: Tensor | None
    actions: Tensor
    log_probs: Tensor  # of the actions, when they were chosen
    values: Tensor  # as they were estimated then
    advantages: Tensor
    returns: Tensor

    @property
    def size(self) -> int:
        return len(self.actions)

    def rows(self, chosen: Tensor) -> Batch:
        return Batch(*(column if column is None else column[chosen] for column in self))  # type: ignore[arg-type]


class Loss(NamedTuple, Generic[Number]):
    """The parts of the loss of a minibatch, and what tells how far the policy has moved; all are means."""

    policy: Number
    value: Number
    entropy: Number
    kl: Number  # from the policy that played, estimated as in Schulman 2020: (ratio - 1) - log(ratio)
    clipped: Number  # share of ratios beyond the clip


def _legal_logits(logits: Tensor, legal: Tensor) -> Tensor:
    """The logits of legal actions, side by side, and `ILLEGAL` for what is left of each row. Of the 2,187 actions of
    Shogi some 60 are legal: the loss of all of them took three times as long."""
    counts = legal.sum(dim=1)
    rows, actions = legal.nonzero(as_tuple=True)
    places = torch.arange(len(rows), device=legal.device) - (counts.cumsum(0) - counts)[rows]
    index = torch.zeros(len(legal), int(counts.max()), dtype=torch.int64, device=legal.device)
    index[rows, places] = actions
    empty = torch.arange(index.shape[1], device=legal.device) >= counts[:, None]
    return logits.gather(1, index).masked_fill(empty, ILLEGAL)


def ppo_loss(logits: Tensor, values: Tensor, batch: Batch, clip: float, value_clip: float) -> Loss[Tensor]:
    """The loss of the network's outputs for a minibatch."""
    chosen = logits.gather(1, batch.actions[:, None])
    if batch.legal is not None:
        logits = _legal_logits(logits, batch.legal)
    every = torch.log_softmax(logits, dim=1)
    log_probs = (chosen - torch.logsumexp(logits, dim=1, keepdim=True)).squeeze(1)
    log_ratio = log_probs - batch.log_probs
    ratio = log_ratio.exp()
    policy = -torch.min(batch.advantages * ratio, batch.advantages * ratio.clamp(1 - clip, 1 + clip)).mean()
    error = (values - batch.returns) ** 2
    if value_clip:
        near = batch.values + (values - batch.values).clamp(-value_clip, value_clip)
        error = torch.max(error, (near - batch.returns) ** 2)
    entropy = -(every.exp() * every).sum(dim=1).mean()
    with torch.no_grad():
        kl = (ratio - 1 - log_ratio).mean()
        clipped = ((ratio - 1).abs() > clip).float().mean()
    return Loss(policy, 0.5 * error.mean(), entropy, kl, clipped)
