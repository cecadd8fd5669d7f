"""tanh, exp, log and the activations of layers from + - * / alone: functions of the C library differ between platforms
in their last bits."""

from __future__ import annotations

import numpy as np

from engine.kernels import row

# tanh(x) = x P(x^2) / Q(x^2), fitted to the least relative error on [0, 7.9], which is 1.3e-7. tanh(7.9) is 1 - 2.7e-7.
TOP = np.float32(7.9)
P0, P1, P2, P3 = (np.float32(value) for value in (0.99999987, 0.12934419, 0.0029604752, 1.1531858e-05))
Q1, Q2, Q3, Q4 = (np.float32(value) for value in (0.46267646, 0.023854091, 0.00024001231, 2.4925535e-07))
ZERO, ONE = np.float32(0.0), np.float32(1.0)

LEAK = np.float32(0.01)  # slope of leaky_relu below 0, as in torch
# exp(r) = 1 + r + r^2 E(r) for |r| <= log(2) / 2: the coefficients of expf in the Cephes library, error 2e-7.
E0, E1, E2, E3, E4, E5 = (
    np.float32(value)
    for value in (5.0000001201e-1, 1.6666665459e-1, 4.1665795894e-2, 8.3334519073e-3, 1.3981999507e-3, 1.9875691500e-4)
)
LOWEST = np.float32(-87.0)  # exp of it is the smallest result; it is 1.6e-38, just above the subnormal numbers
PER_LOG_2 = np.float32(1.44269504)
LOG_2, LOG_2_REST = np.float32(0.693359375), np.float32(-2.12194440e-4)  # the first has 9 bits: n * LOG_2 is exact
WHOLE = np.float32(12582912.0)  # 1.5 * 2^23: a float32 near it is a whole number, the number that was added
EXPONENT, BIAS = 23, 127  # of float32: first bit, and the value that stands for 0

LEAST = -80.0  # below it exp is taken to be exp(-80), which is 2e-35
LOG2_E, LN_2 = 1.4426950408889634, 0.6931471805599453
POWERS = 0.5 ** np.arange(117)  # powers of 1/2, up to that of -LEAST * LOG2_E


@row
def tanh_row(values, count):  # type: ignore[no-untyped-def]
    """tanh of the first `count` values, in place, in float32; NaN stays NaN."""
    for k in range(count):
        x = values[k]
        x = TOP if x > TOP else x
        x = -TOP if x < -TOP else x
        z = x * x
        above = x * (P0 + z * (P1 + z * (P2 + z * P3)))
        values[k] = above / (ONE + z * (Q1 + z * (Q2 + z * (Q3 + z * Q4))))


@row
def relu_row(values, count):  # type: ignore[no-untyped-def]
    """The first `count` values, in place, with 0 for those below it; NaN stays NaN here and in the rows below."""
    for k in range(count):
        x = values[k]
        values[k] = ZERO if x < ZERO else x


@row
def leaky_relu_row(values, count):  # type: ignore[no-untyped-def]
    """In place: x above 0, else 0.01 x."""
    for k in range(count):
        x = values[k]
        values[k] = x * LEAK if x < ZERO else x


@row
def _exp_parts(x):  # type: ignore[no-untyped-def]
    """exp(x) as s + s p for x from LOWEST to 0 in float32: s = 2^n, and p = exp(r) - 1 with r near 0. Nothing but bits
    is converted to an integer: that of NaN would be undefined."""
    shifted = np.float32(x * PER_LOG_2 + WHOLE)
    n = shifted - WHOLE
    r = (x - n * LOG_2) - n * LOG_2_REST
    p = r + r * r * (E0 + r * (E1 + r * (E2 + r * (E3 + r * (E4 + r * E5)))))
    s = np.int32((shifted.view(np.int32) + BIAS) << EXPONENT).view(np.float32)
    return s, p


@row
def elu_row(values, count):  # type: ignore[no-untyped-def]
    """In place: x above 0, else exp(x) - 1, with an error below 2e-7, also relative to results near 0."""
    for k in range(count):
        x = values[k]
        low = ZERO if x > ZERO else x
        low = LOWEST if low < LOWEST else low
        s, p = _exp_parts(low)
        values[k] = x if x > ZERO else s * p + (s - ONE)


@row
def silu_row(values, count):  # type: ignore[no-untyped-def]
    """In place: x / (1 + exp(-x)), from exp(-|x|), which cannot overflow."""
    for k in range(count):
        x = values[k]
        low = -x if x > ZERO else x
        s, p = _exp_parts(LOWEST if low < LOWEST else low)
        e = ZERO if low < LOWEST else s + s * p
        values[k] = (x if x > ZERO else x * e) / (ONE + e)


@row
def exp_below(x):  # type: ignore[no-untyped-def]
    """exp(x) for x <= 0 in float64, with a relative error below 1e-11: 2**-n * exp(r) with r near 0."""
    x = max(x, LEAST)
    n = np.int64(0.5 - x * LOG2_E)
    r = x + n * LN_2
    series = 1.0 + r * (1.0 / 9.0)
    for k in range(8, 0, -1):
        series = 1.0 + r * series * (1.0 / k)
    return series * POWERS[n]


@row
def log_above(x):  # type: ignore[no-untyped-def]
    """log(x) for x >= 1 in float64, with an error below 1e-12: n * log(2) + 2 * atanh(s)."""
    n = 0.0
    while x > 1.4142135623730951:
        x *= 0.5
        n += 1.0
    s = (x - 1.0) / (x + 1.0)
    z = s * s
    series = 1.0 / 15.0
    for k in range(13, 0, -2):
        series = 1.0 / k + z * series
    return n * LN_2 + 2.0 * s * series
