"""Examples that models learn from, and on which they are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.errors import BadValue

SUM_ERROR = 1e-3  # by which the sum of probabilities may differ from 1


@dataclass(frozen=True, eq=False)
class Examples:
    """Inputs and what a model should answer, a row for each example."""

    inputs: NDArray[np.float32]  # [rows, ...]: images as planes, rows and columns, or vectors
    targets: NDArray[Any]  # labels as int64 [rows], or probabilities as float32 [rows, outputs]
    weights: NDArray[np.float32]  # [rows]: how much an example counts
    outputs: int  # number of labels or actions
    legal: NDArray[np.uint8] | None = None  # [rows, outputs]: 0 for outputs that cannot be chosen

    def __post_init__(self) -> None:
        rows = len(self.inputs)
        if rows < 1 or self.inputs.ndim not in (2, 4) or self.inputs.dtype != np.float32:
            needed = "float32 with at least one row: [rows, values] or [rows, planes, height, width]"
            raise BadValue("inputs", f"{self.inputs.dtype} {self.inputs.shape}", needed)
        labels = self.targets.dtype == np.int64 and self.targets.shape == (rows,)
        shares = self.targets.dtype == np.float32 and self.targets.shape == (rows, self.outputs)
        if not (labels or shares):
            needed = f"int64 labels of {rows:,} rows, or float32 probabilities of {rows:,} x {self.outputs:,}"
            raise BadValue("targets", f"{self.targets.dtype} {self.targets.shape}", needed)
        if labels and not 0 <= self.targets.min() <= self.targets.max() < self.outputs:
            raise BadValue("targets", f"{self.targets.min()} to {self.targets.max()}", f"0 to {self.outputs - 1}")
        if self.weights.dtype != np.float32 or self.weights.shape != (rows,) or not (self.weights >= 0).all():
            raise BadValue("weights", f"{self.weights.dtype} {self.weights.shape}", f"{rows:,} numbers from 0")
        if not (np.isfinite(self.inputs).all() and np.isfinite(self.weights).all()):
            raise BadValue("inputs", "nan or inf", "finite numbers")
        if not self.weights.any():
            raise BadValue("weights", "0 for all examples", "above 0 for one example at least")
        if shares and not (np.abs(self.targets.sum(1) - 1) < SUM_ERROR).all():
            raise BadValue("targets", "probabilities that do not add up to 1", "1 in each row")
        if self.legal is not None and (self.legal.dtype != np.uint8 or self.legal.shape != (rows, self.outputs)):
            raise BadValue("legal", f"{self.legal.dtype} {self.legal.shape}", f"uint8 {(rows, self.outputs)}")
        if self.legal is not None:
            wrong = (
                self.legal[np.arange(rows), self.targets] == 0 if labels else (self.targets * (self.legal == 0)).any(1)
            )
            if wrong.any():
                row = int(np.argmax(wrong))
                raise BadValue(f"targets, row {row}", self.targets[row].tolist(), "outputs that `legal` allows")

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one input."""
        return self.inputs.shape[1:]


@dataclass(frozen=True, eq=False)
class Task:
    """What models learn: training examples, and others on which the search compares them."""

    train: Examples
    select: Examples

    def __post_init__(self) -> None:
        if self.train.shape != self.select.shape or self.train.outputs != self.select.outputs:
            found = f"{self.select.shape} to {self.select.outputs}"
            raise BadValue("test examples", found, f"{self.train.shape} to {self.train.outputs}, as for training")

    @property
    def shape(self) -> tuple[int, ...]:
        return self.train.shape

    @property
    def outputs(self) -> int:
        return self.train.outputs
