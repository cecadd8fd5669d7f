"""Why training a model failed, as text: it may come from another process."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from engine.errors import RingsideError

LONGEST = 500  # characters
# In torch's RuntimeErrors, when memory is short. oneDNN, which computes convolutions, says no more than the last one;
# "could not create a primitive descriptor" has other causes.
NO_MEMORY = re.compile(
    r"not enough memory|can't allocate memory|out of memory|std::bad_alloc"
    r"|could not create a (primitive|memory object)$"
)


@dataclass(frozen=True)
class Failure:
    """An attempt to train a model that ended without an outcome."""

    text: str
    memory: bool = False  # it ran out of memory
    died: bool = False  # its process ended

    @property
    def by_others(self) -> bool:
        """Whether models that were trained at the same time may have been the cause."""
        return self.memory or self.died


def failure_of(error: BaseException) -> Failure:
    """What an exception says."""
    text = " ".join(str(error).split())[:LONGEST]
    if isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and NO_MEMORY.search(text)):
        return Failure("it ran out of memory", memory=True)
    if isinstance(error, RingsideError):
        return Failure(text)
    return Failure(f"{type(error).__name__}: {text}" if text else type(error).__name__)


def describe(failures: Sequence[Failure]) -> str:
    """Why a model has no fitness, after all its attempts."""
    *earlier, last = failures
    alone = ", also when it was trained alone" if last.by_others and any(one.by_others for one in earlier) else ""
    advice = ". Smaller minibatches or smaller models need less" if last.memory else ""
    return f"{last.text}{alone}{advice}"
