"""A clock that tests set, in place of the real one of some modules."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

HOUR = 3600.0  # seconds


class Clock:
    """The real time, and an hour for each pause. With a `step`, `perf_counter` counts how often it is read instead: so
    many seconds each time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *modules: str, step: float | None = None) -> None:
        self._step, self._steps, self._paused = step, 0, 0.0
        clock = SimpleNamespace(
            time=lambda: time.time() + self._paused,
            monotonic=lambda: time.monotonic() + self._paused,
            perf_counter=self._perf_counter,
            monotonic_ns=time.monotonic_ns,
            sleep=time.sleep,
        )
        for module in modules:
            monkeypatch.setattr(f"agents.training.hybrid.{module}.time", clock)

    def _perf_counter(self) -> float:
        if self._step is None:
            return time.perf_counter() + self._paused
        self._steps += 1
        return self._step * self._steps

    def pause(self) -> bool:
        """In place of `stop` or `attend`: returns False after an hour."""
        self._paused += HOUR
        return False
