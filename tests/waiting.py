"""Waiting for a condition, with a limit that only ends a hang."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 600.0  # seconds


def until(condition: Callable[[], object], every: float = 0.005) -> None:
    """Waits until a condition holds."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"still not true after {PATIENCE:.0f} s: {condition}"
        time.sleep(every)
