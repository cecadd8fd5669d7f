"""How a model is trained, and what comes of it: these cross between the process of a search and those of its models."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.errors import RingsideError
from engine.foreign_code import name_and_text, text_of
from engine.options import option, validate

# In torch's RuntimeErrors, when memory is short. oneDNN, which computes convolutions, says no more than the last one;
# "could not create a primitive descriptor" has other causes.
NO_MEMORY = re.compile(
    r"not enough memory|can't allocate memory|out of memory|std::bad_alloc"
    r"|could not create a (primitive|memory object)$"
)


@dataclass(frozen=True)
class LearningPlan:
    """How every model of a search is trained. A model's result depends on this, its genome and the data alone."""

    seed: int = option(0, low=0, high=2**63 - 1, help="models with the same genome and seed have the same result")
    epochs: int = option(10, low=1, high=10_000, help="maximum number of passes over the training examples")
    batch_size: int = option(
        128, low=1, high=65_536, help="maximum number of examples in a minibatch; all minibatches are of one size"
    )
    patience: int = option(3, low=0, high=1000, help="epochs without a smaller loss before a model ends; 0: all epochs")
    threads: int = option(1, low=1, high=256, help="threads of one model; other numbers give other bits")

    def __post_init__(self) -> None:
        validate(self)


@dataclass(frozen=True)
class Outcome:
    """A trained model. Times and attempts do not count when outcomes are compared."""

    key: str  # of the genome
    parameters: int
    fitness: float | None = None  # weighted share of correct answers to the examples for selection; None: it failed
    loss: float | None = None  # mean cross-entropy of the same epoch
    train_loss: float | None = None
    epochs: int = 0  # that it was trained for; the weights are those of the best one
    tensors: bytes = b""  # safetensors of the network that plays, normalisation included in its weights
    error: str = ""  # why there is no fitness
    seconds: float = field(default=0.0, compare=False)
    attempts: int = field(default=1, compare=False)
    peak_bytes: int = field(default=0, compare=False)  # memory of its process above what that had before; 0: unknown


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


Result = Outcome | Failure | None  # of an attempt to train a model; None: it was stopped


def failure_of(error: BaseException) -> Failure:
    """What an exception says."""
    text = text_of(error)
    if isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and NO_MEMORY.search(text)):
        return Failure("it ran out of memory", memory=True)
    if isinstance(error, RingsideError):
        return Failure(text)
    return Failure(name_and_text(error))


def describe_failures(failures: Sequence[Failure]) -> str:
    """Why a model has no fitness, after all its attempts."""
    *earlier, last = failures
    was_alone = any(failure.by_others for failure in earlier)
    alone = ", also when it was trained alone" if last.by_others and was_alone else ""
    advice = ". Smaller minibatches or smaller models need less" if last.memory else ""
    return f"{last.text}{alone}{advice}"
