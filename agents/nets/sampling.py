"""How a network's outputs become an action: by sampling from the softmax of the logits of legal actions, or greedily.

The draw depends only on the seed of the match, the seat and the ply. Nothing calls the C library, so equal logits give
the same action and log-probability on every machine.
"""

from __future__ import annotations

import numpy as np

from agents.nets.arithmetic import exp_below, log_above
from engine.game import BROKEN
from engine.kernels import bare, row
from engine.seeding import draw, purpose, unit

SAMPLE = purpose("net.sample")
LARGEST = 1e30  # outputs beyond it, and NaN, are invalid
INVALID = "an output of its network is NaN or too large"

CHOICE = np.dtype([("actions", "i8"), ("scale", "f8"), ("greedy", "u1")], align=True)
"""How one network chooses: by the logits times `scale`, or the largest of them."""


def choice_of(actions: int, temperature: float) -> tuple[int, float, bool]:
    """The values of a `CHOICE`."""
    return actions, 1.0 / temperature if temperature else 1.0, temperature == 0.0


@row
def choose(net, logits, legal, mark, chances, out):  # type: ignore[no-untyped-def]
    """The action at `mark`, from 0 to 1, among the legal ones; its log-probability goes to out[0]."""
    top = -LARGEST
    best = np.int64(BROKEN)
    fine = True
    for action in range(net.actions):
        if legal[action] != 0:
            logit = float(logits[action])
            fine &= abs(logit) < LARGEST
            if logit > top:
                top = logit
                best = np.int64(action)
    if not fine:
        return np.int64(BROKEN)
    total = 0.0
    for action in range(net.actions):
        if legal[action] != 0:
            chances[action] = exp_below((float(logits[action]) - top) * net.scale)
            total += chances[action]
    if net.greedy == 0:
        left = mark * total
        for action in range(net.actions):
            if legal[action] != 0:
                left -= chances[action]
                if left < 0.0:
                    best = np.int64(action)
                    break
    out[0] = (float(logits[best]) - top) * net.scale - log_above(total)
    return best


@row
def answer(net, seed, ply, logits, value, legal, chances, out):  # type: ignore[no-untyped-def]
    """The action for these outputs, with its log-probability in out[0]; BROKEN if one is invalid."""
    action = choose(net, logits, legal, unit(draw(seed, SAMPLE, 0, ply, 0)), chances, out)
    return action if abs(value) < LARGEST else np.int64(BROKEN)


@bare
def answer_rows(choices, seeds, asked, logits, values, legal, masked, chances, actions, log_probs):  # type: ignore[no-untyped-def]
    """Answer all rows of a call from the outputs of their networks."""
    agents, slots, plies = asked
    for i in range(actions.size):
        net, seed, mask = choices[agents[i]], seeds[slots[i]], legal[i if masked else 0]
        actions[i] = answer(net, seed, plies[i], logits[i], values[i], mask, chances, log_probs[i : i + 1])
