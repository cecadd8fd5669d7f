"""Passes over the numbers of a stack of agents, compiled: what an update does besides multiplying matrices.

torch would need many calls and passes for each of them, and its results could differ in the last bit with the number of
agents: it computes blocks of numbers with vector instructions, and the remainder without. Here a number has the same
bits at every place, because there is no fused multiply-add, and sums have a fixed order. No kernel holds the
interpreter lock, so that threads can update different agents at the same time.

In all kernels the first dimension is the agent. `flat` has the parameters of each agent in a row, `slopes` their
gradient, which is zero before; `at` is where the parameters of a layer begin.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from agents.nets.arithmetic import tanh_row
from engine.kernels import NO_ALLOCATION, kernel
from engine.seeding import draw, unit

ZERO, HALF, ONE = np.float32(0.0), np.float32(0.5), np.float32(1.0)
LANES = 32  # partial sums; the rows of `flat` have a multiple of it


def _kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that allocates nothing and does not hold the interpreter lock."""
    return kernel(function, nogil=True, **NO_ALLOCATION)


@_kernel
def tanh_layer(x, flat, at):  # type: ignore[no-untyped-def]
    """x = tanh(x + bias)."""
    for g in range(x.shape[0]):
        bias = flat[g, at : at + x.shape[2]]
        for i in range(x.shape[1]):
            row = x[g, i]
            for k in range(row.size):
                row[k] += bias[k]
            tanh_row(row, row.size)


@_kernel
def relu_layer(x, flat, at):  # type: ignore[no-untyped-def]
    """x = max(x + bias, 0), where NaN stays NaN."""
    for g in range(x.shape[0]):
        bias = flat[g, at : at + x.shape[2]]
        for i in range(x.shape[1]):
            row = x[g, i]
            for k in range(row.size):
                value = row[k] + bias[k]
                row[k] = ZERO if value < ZERO else value


@_kernel
def back_through_tanh(slope, x, slopes, at):  # type: ignore[no-untyped-def]
    """Turns the gradient of the outputs `x` of `tanh_layer` into that of its inputs, and adds that of the bias."""
    for g in range(slope.shape[0]):
        bias = slopes[g, at : at + slope.shape[2]]
        for i in range(slope.shape[1]):
            row, outputs = slope[g, i], x[g, i]
            for k in range(row.size):
                row[k] *= ONE - outputs[k] * outputs[k]
                bias[k] += row[k]


@_kernel
def back_through_relu(slope, count, x, first, slopes, at):  # type: ignore[no-untyped-def]
    """As `back_through_tanh`, for the outputs `x` of `relu_layer` in `count` rows from `first`."""
    for g in range(slope.shape[0]):
        bias = slopes[g, at : at + slope.shape[2]]
        for i in range(count):
            row, outputs = slope[g, i], x[g, first + i]
            for k in range(row.size):
                row[k] = ZERO if outputs[k] <= ZERO else row[k]
                bias[k] += row[k]


@_kernel
def best_actions(q, first, count, flat, at, actions):  # type: ignore[no-untyped-def]
    """The one of `count` actions with the largest q + bias, in the rows from `first`."""
    for g in range(actions.shape[0]):
        for i in range(actions.shape[1]):
            row, best = q[g, first + i], 0
            for k in range(1, count):
                if row[k] + flat[g, at + k] > row[best] + flat[g, at + best]:
                    best = k
            actions[g, i] = best


@_kernel
def dqn_slopes(q, next_q, best, actions, rewards, discounts, flat, target, at, dueling, slope, slopes, losses):  # type: ignore[no-untyped-def]
    """The loss of DQN and its gradient by the outputs of the heads, which are Q or, if `dueling`, advantages and the
    value. `q` and `next_q` have no bias yet."""
    count = q.shape[2] - 1 if dueling else q.shape[2]
    share, part = ONE / np.float32(actions.shape[1]), ONE / np.float32(count)
    for g in range(actions.shape[0]):
        bias = slopes[g, at : at + q.shape[2]]
        losses[g] = 0.0
        for i in range(actions.shape[1]):
            action, after = actions[g, i], best[g, i]
            now = q[g, i, action] + flat[g, at + action]
            later = next_q[g, i, after] + target[g, at + after]
            if dueling:  # Q = V + A - mean A
                mean = next_mean = ZERO
                for k in range(count):
                    mean += q[g, i, k] + flat[g, at + k]
                    next_mean += next_q[g, i, k] + target[g, at + k]
                now += q[g, i, count] + flat[g, at + count] - part * mean
                later += next_q[g, i, count] + target[g, at + count] - part * next_mean
            error = now - (rewards[g, i] + discounts[g, i] * later)
            clipped = min(max(error, -ONE), ONE) if error == error else error
            losses[g] += share * clipped * (error - HALF * clipped)  # the Huber loss
            for k in range(count):
                chosen = ONE if k == action else ZERO
                slope[g, i, k] = share * clipped * (chosen - part if dueling else chosen)
                bias[k] += slope[g, i, k]
            if dueling:
                slope[g, i, count] = share * clipped
                bias[count] += slope[g, i, count]


@_kernel
def draw_fractions(seeds, fractions, first, cosines, next_cosines):  # type: ignore[no-untyped-def]
    """Draws quantile fractions tau, [agents, 2, fractions], for the prediction and the target, and sets their features
    cos(pi i tau), i = 1, 2, ... in the rows from `first`, each from the two before."""
    for g in range(seeds.size):
        for part in range(2):
            for j in range(fractions.shape[2]):
                fraction = unit(draw(seeds[g], 0, part, 0, j))
                fractions[g, part, j] = fraction
                row = cosines[g, first + j] if part == 0 else next_cosines[g, first + j]
                step = math.cos(math.pi * fraction)
                before, now = 1.0, step
                for i in range(row.size):
                    row[i] = now
                    before, now = now, 2.0 * step * now - before


@_kernel
def fold_quantiles(phi, count, flat, at, folded):  # type: ignore[no-untyped-def]
    """The weights of each action times the mean of the first rows of phi."""
    size, share = folded.shape[2], ONE / np.float32(count)
    for g in range(folded.shape[0]):
        mean = folded[g, 0]
        mean[:] = ZERO
        for i in range(count):
            for k in range(size):
                mean[k] += share * phi[g, i, k]
        for action in range(folded.shape[1] - 1, -1, -1):  # the first row, which has the mean, last
            for k in range(size):
                folded[g, action, k] = mean[k] * flat[g, at + action * size + k]


@_kernel
def action_products(x, actions, flat, at, out):  # type: ignore[no-untyped-def]
    """The features in the first rows of `x`, times the weights of the action of each row."""
    size = x.shape[2]
    for g in range(out.shape[0]):
        for i in range(out.shape[1]):
            begin = at + actions[g, i] * size
            weights, features, products = flat[g, begin : begin + size], x[g, i], out[g, i]
            for k in range(size):
                products[k] = features[k] * weights[k]


@_kernel
def back_through_products(slope, x, actions, flat, slopes, at):  # type: ignore[no-untyped-def]
    """Turns the gradient of `action_products` into that of the features, and adds that of the weights."""
    size = x.shape[2]
    for g in range(slope.shape[0]):
        for i in range(slope.shape[1]):
            begin = at + actions[g, i] * size
            weights, gradient = flat[g, begin : begin + size], slopes[g, begin : begin + size]
            row, features = slope[g, i], x[g, i]
            for k in range(size):
                gradient[k] += row[k] * features[k]
                row[k] *= weights[k]


@_kernel
def iqn_slopes(  # type: ignore[no-untyped-def]
    z, next_z, best, actions, rewards, discounts, fractions, flat, target, at, slope, slopes, scratch, losses
):
    """The quantile Huber loss and its gradient by the quantiles. `z` and `next_z` are [agents, fractions, rows] without
    bias; it is added here, and `next_z` becomes the goals. `scratch` has a number for each row."""
    rows, count = actions.shape[1], z.shape[1]
    share = ONE / np.float32(rows * count)
    for g in range(actions.shape[0]):
        for k in range(count):
            for i in range(rows):
                z[g, k, i] += flat[g, at + actions[g, i]]
                later = next_z[g, k, i] + target[g, at + best[g, i]]
                next_z[g, k, i] = rewards[g, i] + discounts[g, i] * later
        scratch[:] = ZERO
        for k in range(count):
            above = np.float32(fractions[g, 0, k])
            below = ONE - above
            prediction, gradient = z[g, k], slope[g, k]
            gradient[:] = ZERO
            for j in range(count):
                goal = next_z[g, j]
                for i in range(rows):
                    error = goal[i] - prediction[i]
                    clipped = ONE if error > ONE else error
                    clipped = -ONE if clipped < -ONE else clipped
                    weighted = (below if error < ZERO else above) * clipped
                    scratch[i] += weighted * (error - HALF * clipped)
                    gradient[i] -= share * weighted
            for i in range(rows):
                slopes[g, at + actions[g, i]] += gradient[i]
        losses[g] = 0.0
        for i in range(rows):
            losses[g] += share * scratch[i]


@_kernel
def norms(slopes, scratch, out):  # type: ignore[no-untyped-def]
    """The length of each agent's gradient; `scratch` has `LANES` numbers."""
    for g in range(slopes.shape[0]):
        row = slopes[g]
        scratch[:] = ZERO
        for first in range(0, row.size, LANES):
            for k in range(LANES):
                scratch[k] += row[first + k] * row[first + k]
        total = 0.0
        for k in range(LANES):
            total += scratch[k]
        out[g] = math.sqrt(total)


@_kernel
def adam(weights, targets, mean, squares, slopes, steps, decays, epsilon, tau):  # type: ignore[no-untyped-def]
    """A step of Adam for each agent, then the soft update of its target. The row of `steps` of an agent has the factor
    of its gradient, the size of the step, and the correction of the root of the squares, which begin at 0; if the size
    is negative, the agent stays as it is. `decays` are those of mean and squares."""
    first, second = np.float32(1.0 - decays[0]), np.float32(1.0 - decays[1])
    epsilon, tau = np.float32(epsilon), np.float32(tau)
    for g in range(weights.shape[0]):
        factor, size, root = steps[g, 0], steps[g, 1], steps[g, 2]
        if size < ZERO:
            continue
        w, t, m, s, row = weights[g], targets[g], mean[g], squares[g], slopes[g]
        for k in range(row.size):
            slope = row[k] * factor
            m[k] += first * (slope - m[k])
            s[k] += second * (slope * slope - s[k])
            w[k] -= size * m[k] / (np.sqrt(s[k]) * root + epsilon)
            t[k] += tau * (w[k] - t[k])
