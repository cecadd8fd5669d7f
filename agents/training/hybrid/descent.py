"""Steps of gradient descent by which a model learns."""

from __future__ import annotations

from collections.abc import Callable

import torch

from agents.training.hybrid.genome import ADAM, ADAMW, SGD, Genome
from agents.training.hybrid.layers import Parameters

MOMENTUM = 0.9
EPSILON, DECAYS = 1e-8, (0.9, 0.999)  # torch's defaults for Adam


def new_step(genome: Genome, parameters: Parameters) -> Callable[[], None]:
    """A function that changes the parameters by their gradient.

    It calls what torch's optimisers call in the end: they need 35 us for each step of a small model, the call itself 5.
    """
    return {ADAM: _adam, ADAMW: _adam, SGD: _sgd}[genome.optimiser](genome, parameters)


def _adam(genome: Genome, parameters: Parameters) -> Callable[[], None]:
    """Adam (Kingma and Ba 2015), or AdamW (Loshchilov and Hutter 2019): its weight decay is no part of the gradient."""
    call = torch._fused_adamw_ if genome.optimiser == ADAMW else torch._fused_adam_
    mean, squares = torch.zeros_like(parameters.flat), torch.zeros_like(parameters.flat)
    steps = torch.zeros((), device=parameters.flat.device)

    def step() -> None:
        steps.add_(1.0)
        call(
            [parameters.flat], [parameters.gradient], [mean], [squares], [], [steps], lr=genome.learning_rate,
            beta1=DECAYS[0], beta2=DECAYS[1], weight_decay=genome.weight_decay, eps=EPSILON, amsgrad=False,
            maximize=False,
        )  # fmt: skip

    return step


def _sgd(genome: Genome, parameters: Parameters) -> Callable[[], None]:
    """Gradient descent with momentum."""
    momentum = torch.zeros_like(parameters.flat)

    def step() -> None:
        torch._fused_sgd_(
            [parameters.flat], [parameters.gradient], [momentum], weight_decay=genome.weight_decay, momentum=MOMENTUM,
            lr=genome.learning_rate, dampening=0.0, nesterov=False, maximize=False, is_first_step=False,
        )  # fmt: skip

    return step
