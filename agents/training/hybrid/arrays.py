"""The examples of a task as models read them, which processes can share.

Images have their channels last, because convolutions on the CPU are fastest then. Weights are divided by their mean: an
average example counts 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.training.hybrid.data import Examples, Task
from engine.processes import launcher

ALIGNMENT = 64  # bytes: a cache line
NAMES = ("inputs", "targets", "weights", "legal")
PARTS = ("train", "select")


@dataclass(frozen=True, eq=False)
class ExampleArrays:
    """Examples, a row for each."""

    inputs: NDArray[np.float32]  # [rows, values]
    targets: NDArray[Any]  # labels as int64 [rows], or probabilities as float32 [rows, outputs]
    weights: NDArray[np.float32]  # [rows], 1 on average
    legal: NDArray[np.uint8] | None  # [rows, outputs]

    def __len__(self) -> int:
        return len(self.inputs)


@dataclass(frozen=True, eq=False)
class TaskArrays:
    """What models learn from, and what they are compared on."""

    shape: tuple[int, ...]  # of one input: values, or planes, rows and columns
    outputs: int
    train: ExampleArrays
    select: ExampleArrays


@dataclass(frozen=True)
class Place:
    """Where an array is in the shared memory."""

    type: str
    shape: tuple[int, ...]
    offset: int  # bytes

    def view(self, memory: Any) -> NDArray[Any]:
        count = math.prod(self.shape)
        return np.frombuffer(memory, np.dtype(self.type), count, self.offset).reshape(self.shape)


@dataclass(frozen=True, eq=False)
class SharedTask:
    """The arrays of a task in memory without a name, which child processes map: it exists once, whatever their number,
    and is gone when the last of them has ended."""

    shape: tuple[int, ...]
    outputs: int
    places: Mapping[str, Place]  # by part and name, such as "train.inputs"
    memory: Any

    def arrays(self) -> TaskArrays:
        """Views of the memory."""
        found = {name: place.view(self.memory) for name, place in self.places.items()}
        parts = [ExampleArrays(*(found.get(f"{part}.{name}") for name in NAMES)) for part in PARTS]  # type: ignore[arg-type]
        return TaskArrays(self.shape, self.outputs, *parts)


def local_arrays(task: Task) -> TaskArrays:
    """The arrays in memory of this process; those that need no change are not copied."""
    parts = []
    for examples in (task.train, task.select):
        inputs = np.ascontiguousarray(_rows(examples).reshape(len(examples), -1))
        parts.append(ExampleArrays(inputs, examples.targets, _weights(examples), examples.legal))
    return TaskArrays(task.shape, task.outputs, *parts)


def shared_task(task: Task) -> SharedTask:
    """The arrays copied to memory that processes share."""
    places, end = {}, 0
    for part in PARTS:
        examples: Examples = getattr(task, part)
        for name in NAMES:
            if (array := getattr(examples, name)) is None:
                continue
            shape = (len(examples), math.prod(task.shape)) if name == "inputs" else array.shape
            places[f"{part}.{name}"] = Place(array.dtype.str, shape, end)
            end += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
    shared = SharedTask(task.shape, task.outputs, places, launcher.shared_memory(end))
    for part, arrays in (("train", shared.arrays().train), ("select", shared.arrays().select)):
        examples = getattr(task, part)
        rows = _rows(examples)
        arrays.inputs.reshape(rows.shape)[...] = rows
        arrays.targets[...] = examples.targets
        arrays.weights[...] = _weights(examples)
        if arrays.legal is not None and examples.legal is not None:
            arrays.legal[...] = examples.legal
    return shared


def _rows(examples: Examples) -> NDArray[np.float32]:
    """The inputs with their channels last."""
    return examples.inputs.transpose(0, 2, 3, 1) if examples.inputs.ndim == 4 else examples.inputs


def _weights(examples: Examples) -> NDArray[np.float32]:
    found: NDArray[np.float32] = (examples.weights / examples.weights.mean(dtype=np.float64)).astype(np.float32)
    return found
