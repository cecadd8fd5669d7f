"""neat-python's activation and aggregation functions, compiled, with identical results."""

from __future__ import annotations

import math

from agents.neat.genome import ACTIVATIONS, AGGREGATIONS
from engine.kernels import inline, kernel

(
    TANH, SIGMOID, RELU, IDENTITY, CLAMPED, SIN, GAUSS, ELU, LELU, SELU, SOFTPLUS, INV, LOG, EXP, ABS, HAT, SQUARE,
    CUBE,
) = range(len(ACTIVATIONS))  # fmt: skip
SUM, PRODUCT, MAX, MIN, MAXABS, MEDIAN, MEAN = range(len(AGGREGATIONS))
SELU_SCALE = 1.0507009873554804934193349852946
SELU_ALPHA = 1.6732632423543772848170429916717


@inline
def between(low, high, z):  # type: ignore[no-untyped-def]
    """max(low, min(high, z)) as Python computes it: NaN becomes `high`."""
    bounded = z if z < high else high
    return bounded if bounded > low else low


@kernel
def activation(which, z, two, three):  # type: ignore[no-untyped-def]
    """One of neat-python's functions. The exponents are arguments: for constants the compiler would multiply instead,
    which may round differently from the C library's `pow`."""
    if which == TANH:
        return math.tanh(between(-60.0, 60.0, 2.5 * z))
    if which == SIGMOID:
        return 1.0 / (1.0 + math.exp(-between(-60.0, 60.0, 5.0 * z)))
    if which == RELU:
        return z if z > 0.0 else 0.0
    if which == IDENTITY:
        return z
    if which == CLAMPED:
        return between(-1.0, 1.0, z)
    if which == SIN:
        return math.sin(between(-60.0, 60.0, 5.0 * z))
    if which == GAUSS:
        return math.exp(-5.0 * between(-3.4, 3.4, z) ** two)
    if which == ELU:
        return z if z > 0.0 else math.exp(z) - 1.0
    if which == LELU:
        return z if z > 0.0 else 0.005 * z
    if which == SELU:
        return SELU_SCALE * z if z > 0.0 else SELU_SCALE * SELU_ALPHA * (math.exp(z) - 1.0)
    if which == SOFTPLUS:
        return 0.2 * math.log(1.0 + math.exp(between(-60.0, 60.0, 5.0 * z)))
    if which == INV:
        return 1.0 / z if z != 0.0 else 0.0
    if which == LOG:
        return math.log(z if z > 1e-7 else 1e-7)
    if which == EXP:
        return math.exp(between(-60.0, 60.0, z))
    if which == ABS:
        return abs(z)
    if which == HAT:
        high = 1.0 - abs(z)
        return high if high > 0.0 else 0.0
    return z**two if which == SQUARE else z**three


@inline
def _added(values, first, last, compensated):  # type: ignore[no-untyped-def]
    """Python's sum() of floats."""
    total = 0.0
    lost = 0.0
    for i in range(first, last):
        x = values[i]
        new = total + x
        if compensated:
            lost += (total - new) + x if abs(total) >= abs(x) else (x - new) + total
        total = new
    return total + lost if compensated and lost != 0.0 and math.isfinite(lost) else total


@inline
def _sort(terms, n):  # type: ignore[no-untyped-def]
    """Sorts fewer than 64 values as Python's sort() does, so that NaN ends up in the same place: a first run, reversed
    if it descends, then binary insertion."""
    run = 2
    falls = terms[1] < terms[0]
    while run < n and (terms[run] < terms[run - 1]) == falls:
        run += 1
    if falls:
        for i in range(run // 2):
            terms[i], terms[run - 1 - i] = terms[run - 1 - i], terms[i]
    for i in range(run, n):
        x = terms[i]
        low, high = 0, i
        while low < high:
            middle = (low + high) // 2
            if x < terms[middle]:
                high = middle
            else:
                low = middle + 1
        for at in range(i, low, -1):
            terms[at] = terms[at - 1]
        terms[low] = x


@kernel
def aggregated(which, terms, n, compensated):  # type: ignore[no-untyped-def]
    """Any aggregation but the plain sum; may reorder `terms`."""
    if which == SUM:
        return _added(terms, 0, n, compensated)
    if which == PRODUCT:
        product = 1.0
        for i in range(n):
            product *= terms[i]
        return product
    if n == 0:
        return 0.0
    if which == MEAN or (which == MEDIAN and n <= 2):
        return _added(terms, 0, n, compensated) / float(n)
    if which == MEDIAN:
        _sort(terms, n)
        return terms[n // 2] if n % 2 == 1 else (terms[n // 2 - 1] + terms[n // 2]) / 2.0
    best = terms[0]
    for i in range(1, n):
        x = terms[i]
        if which == MAX:
            best = x if x > best else best
        elif which == MIN:
            best = x if x < best else best
        else:
            best = x if abs(x) > abs(best) else best
    return best
