"""What every executor is asked for: workers, lanes, limits, plug-ins; and the checks of these values."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from dataclasses import dataclass

from engine.errors import BadValue
from engine.play.arena import DEFAULT_LANES
from engine.play.failures import STRIKES
from engine.processes.bootstrap import cores

MOST_WORKERS = 256


@dataclass(frozen=True)
class PlaySettings:
    """How to play, whatever the executor; one that has no use for a value ignores it."""

    workers: int | None = None  # None for the executor's default
    batch_size: int = 10  # matches in a message to a worker; more if they are short
    lanes: int = DEFAULT_LANES  # matches at once in one worker
    record: bool = True  # keep the actions
    watchdog: float = 10.0  # seconds that one call of an agent may take
    memory_mb: int | None = 2048  # memory that the agents of a worker may take
    quarantine_after: int | None = STRIKES  # failures after which an agent plays no more in a run
    plugins: tuple[str, ...] = ()  # modules that workers import, for games and agents that are not installed


def default_workers() -> int:
    """One less than the number of usable cores, so that the machine stays responsive; at least one."""
    return max(cores() - 1, 1)


def check_number(name: str, value: object, low: float, high: float, whole: bool = True) -> None:
    number = isinstance(value, int) or (isinstance(value, float) and not whole)
    if isinstance(value, bool) or not number or not low <= value <= high:  # type: ignore[operator]
        raise BadValue(name, value, f"{'a whole number ' if whole else ''}from {low:,} to {high:,}")


def check_plugins(names: object) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise BadValue("plugins", names, "a list of module names")
    for name in (given := tuple(names)):
        try:
            found = isinstance(name, str) and importlib.util.find_spec(name) is not None
        except (ImportError, ValueError):
            found = False
        if not found:
            raise BadValue("plugins", name, "the name of a module that can be imported")
    return given
