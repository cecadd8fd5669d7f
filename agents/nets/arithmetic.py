"""tanh, exp and log from + - * / alone: functions of the C library differ between platforms in their last bits."""

from __future__ import annotations

import numpy as np

from engine.kernels import row

# tanh(x) = x P(x^2) / Q(x^2), fitted to the least relative error on [0, 7.9], which is 1.3e-7. tanh(7.9) is 1 - 2.7e-7.
TOP = np.float32(7.9)
P0, P1, P2, P3 = (np.float32(value) for value in (0.99999987, 0.12934419, 0.0029604752, 1.1531858e-05))
Q1, Q2, Q3, Q4 = (np.float32(value) for value in (0.46267646, 0.023854091, 0.00024001231, 2.4925535e-07))
ONE = np.float32(1.0)

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
