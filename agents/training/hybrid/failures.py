"""Why training a model failed, as text: it may come from another process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.errors import RingsideError

LONGEST = 500  # characters
MEMORY_TEXTS = ("not enough memory", "can't allocate memory", "out of memory")  # of torch's RuntimeErrors


@dataclass(frozen=True)
class Failure:
    """An attempt to train a model that ended without an outcome."""

    text: str
    memory: bool = False  # it ran out of memory
    died: bool = False  # its process ended: what else ran on the machine may have been the cause


def failure_of(error: BaseException) -> Failure:
    """What an exception says."""
    text = " ".join(str(error).split())[:LONGEST]
    memory = isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and any(part in text for part in MEMORY_TEXTS)
    )
    if memory:
        return Failure("it ran out of memory", memory=True)
    if isinstance(error, RingsideError):
        return Failure(text)
    return Failure(f"{type(error).__name__}: {text}" if text else type(error).__name__)


def describe(failures: Sequence[Failure]) -> str:
    """Why a model has no fitness, after all its attempts."""
    last = failures[-1]
    if last.memory:
        return f"{last.text}, also when it was trained alone. Smaller minibatches or smaller models need less"
    alone = ", also when it was trained alone" if last.died and len(failures) > 1 else ""
    return f"{last.text}{alone}"
