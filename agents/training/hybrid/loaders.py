"""Examples from data loaders: iterables of batches such as torch's DataLoader, or pairs of arrays. Imports no torch."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.training.hybrid.data import SUM_ERROR, Examples, Task
from engine.errors import BadValue

MOST_EXAMPLES = 1_000_000  # unless the caller says more: a loader may be endless
MOST_BYTES = 16 << 30  # of inputs
BATCHES = "batches of (inputs, targets) or (inputs, targets, weights), or such a pair of arrays"


@dataclass(frozen=True, eq=False)
class _Batch:
    inputs: NDArray[np.float32]
    targets: NDArray[Any]  # int64 [rows], or float32 [rows, outputs]
    weights: NDArray[np.float32]


def task_of(train_loader: object, test_loader: object, outputs: int = 0, most: int = MOST_EXAMPLES) -> Task:
    """The examples of both loaders, each of which is read once. `outputs`: the number of classes; 0: as many as the
    labels of the training examples say. Examples are sorted by their content: the same examples give the same task in
    whatever order a loader shuffles them."""
    train = examples_of(train_loader, "train_loader", outputs, most)
    return Task(train, examples_of(test_loader, "test_loader", train.outputs, most))


def examples_of(loader: object, name: str, outputs: int = 0, most: int = MOST_EXAMPLES) -> Examples:
    """The examples of one loader; `name` is used in errors."""
    batches, rows = list[_Batch](), 0
    for batch in _batches(loader, name, most):
        if batches:
            _check_alike(batches[0], batch, name)
        batches.append(batch)
        rows += len(batch.inputs)
        if rows > most or rows * max(batch.inputs[0].nbytes, 1) > MOST_BYTES:
            needed = "a loader that ends earlier; `max_examples` allows more, as far as memory does"
            raise BadValue(name, f"{rows:,} examples or more", needed)
    if not batches:
        raise BadValue(name, "no examples", f"{BATCHES}; an iterator can be read only once")
    inputs, targets, weights = (
        np.concatenate([getattr(batch, part) for batch in batches]) for part in ("inputs", "targets", "weights")
    )
    if not weights.any():
        raise BadValue(name, "weights of 0 only", "examples of which one counts at least")
    count = _outputs(targets, outputs, name)
    order = _order(inputs, targets, weights)
    return Examples(inputs[order], targets[order], weights[order], count)


def digest(task: Task) -> str:
    """The same for equal examples only."""
    found = hashlib.blake2b(digest_size=16)
    for examples in (task.train, task.select):
        for array in (examples.inputs, examples.targets, examples.weights, examples.legal):
            if array is not None:
                found.update(f"{array.dtype.str} {array.shape} ".encode())
                found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def _batches(loader: object, name: str, most: int) -> Iterator[_Batch]:
    """The batches that have rows, of at most a bit more than `most` examples."""
    if isinstance(loader, tuple) and len(loader) in (2, 3) and hasattr(loader[0], "shape"):
        loader = [loader]
    if not isinstance(loader, Iterable):
        raise BadValue(name, type(loader).__name__, BATCHES)
    empty = 0
    for number, batch in enumerate(loader, 1):
        if not isinstance(batch, tuple | list) or len(batch) not in (2, 3):
            raise BadValue(f"{name}, batch {number}", type(batch).__name__, "(inputs, targets) or with weights too")
        found = _batch([_array(part, f"{name}, batch {number}") for part in batch], f"{name}, batch {number}")
        if len(found.inputs):
            yield found
        elif (empty := empty + 1) > most:
            raise BadValue(name, f"{empty:,} batches without examples", "a loader that ends earlier")


def _array(value: Any, where: str) -> NDArray[Any]:
    """A tensor of torch, an array or a list as an array of numbers."""
    try:
        array = np.asarray(value.detach().cpu().numpy() if hasattr(value, "detach") else value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise BadValue(where, type(value).__name__, f"an array or a tensor of numbers ({error})") from None
    if array.dtype.kind not in "buif":
        raise BadValue(where, f"{type(value).__name__} of {array.dtype}", "an array or a tensor of numbers")
    return array


def _batch(parts: list[NDArray[Any]], where: str) -> _Batch:
    inputs, targets = parts[:2]
    rows = len(inputs) if inputs.ndim else 0
    if inputs.ndim not in (2, 4):
        needed = "[rows, values], or [rows, planes, height, width] for images"
        raise BadValue(f"{where}: shape of inputs", inputs.shape, needed)
    weights = parts[2] if len(parts) > 2 else np.ones(rows)
    for what, array in (("targets", targets), ("weights", weights)):
        if not array.ndim or len(array) != rows:
            raise BadValue(f"{where}: shape of {what}", array.shape, f"{rows:,} rows, as the inputs have")
    with np.errstate(over="ignore"):  # too large for float32: found to be infinite
        batch = _Batch(inputs.astype(np.float32), _targets(targets, where), weights.astype(np.float32))
    for what, array in (("inputs", batch.inputs), ("targets", batch.targets), ("weights", batch.weights)):
        if not np.isfinite(array).all():
            row = int(np.argmin(np.isfinite(array).reshape(rows, -1).all(axis=1)))
            raise BadValue(f"{where}: {what}", f"nan or inf in row {row}", "finite numbers")
    if batch.weights.ndim != 1 or (batch.weights < 0).any():
        raise BadValue(f"{where}: weights", batch.weights.shape, "a number from 0 for each row")
    return batch


def _targets(targets: NDArray[Any], where: str) -> NDArray[Any]:
    """Labels as int64, or probabilities as float32."""
    whole = targets.dtype.kind in "bui"
    if whole and (targets.ndim == 1 or (targets.ndim == 2 and targets.shape[1] == 1)):
        labels = targets.reshape(-1).astype(np.int64)
        if len(labels) and labels.min() < 0:
            raise BadValue(f"{where}: targets", int(labels.min()), "labels from 0")
        return labels
    if targets.ndim != 2:
        needed = "labels as whole numbers [rows], or probabilities [rows, outputs]"
        raise BadValue(f"{where}: targets", f"{targets.dtype} {targets.shape}", needed)
    shares = targets.astype(np.float32)
    wrong = (shares < 0).any(axis=1) | (np.abs(shares.sum(axis=1) - 1) > SUM_ERROR)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise BadValue(f"{where}: targets, row {row}", shares[row].tolist(), "probabilities, which add up to 1")
    return shares


def _check_alike(first: _Batch, batch: _Batch, name: str) -> None:
    for what in ("inputs", "targets"):
        expected, found = getattr(first, what), getattr(batch, what)
        if found.shape[1:] != expected.shape[1:] or found.dtype != expected.dtype:
            needed = f"{expected.dtype} {expected.shape[1:]}, as in the first batch"
            raise BadValue(f"{name}: {what} of an example", f"{found.dtype} {found.shape[1:]}", needed)


def _outputs(targets: NDArray[Any], outputs: int, name: str) -> int:
    """The number of classes or actions."""
    if targets.ndim == 2:
        if outputs and targets.shape[1] != outputs:
            raise BadValue(f"{name}: targets", targets.shape, f"of {outputs:,} outputs")
        return int(targets.shape[1])
    largest = int(targets.max())
    if outputs and largest >= outputs:
        needed = f"from 0 to {outputs - 1:,}; `num_classes` sets another number of classes"
        raise BadValue(f"{name}: largest label", largest, needed)
    if not outputs and largest < 1:
        raise BadValue(f"{name}: labels", "of one class only", "of two classes or more")
    return outputs or largest + 1


def _order(*columns: NDArray[Any]) -> NDArray[np.int64]:
    """The order of rows by their content."""
    rows = len(columns[0])
    flat = [np.ascontiguousarray(column).reshape(rows, -1).view(np.uint8) for column in columns]
    keys = [hashlib.blake2b(b"".join(part[k].data for part in flat), digest_size=16).digest() for k in range(rows)]
    return np.array(sorted(range(rows), key=keys.__getitem__), np.int64)
