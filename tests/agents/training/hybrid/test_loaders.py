"""Examples from data loaders of all kinds, and what is said of wrong ones."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader, TensorDataset

from agents.training.hybrid.data import Examples
from agents.training.hybrid.loaders import digest, examples_of, task_of
from engine.errors import BadValue

Array = NDArray[Any]


def images(rows: int = 12) -> Array:
    return np.arange(rows * 2 * 3 * 4, dtype=np.float32).reshape(rows, 2, 3, 4)


def labels(rows: int = 12, classes: int = 3) -> Array:
    return np.arange(rows) % classes


def shares(rows: int = 12) -> Array:
    one_hot = np.eye(3, dtype=np.float32)[labels(rows)]
    return one_hot * np.float32(0.7) + np.float32(0.1)


def rows_of(examples: Examples) -> set[bytes]:
    pairs = zip(examples.inputs, examples.targets, examples.weights, strict=True)
    return {inputs.tobytes() + target.tobytes() + weight.tobytes() for inputs, target, weight in pairs}


def test_a_data_loader_of_torch_is_read() -> None:
    data = TensorDataset(torch.from_numpy(images()), torch.from_numpy(labels()))
    examples = examples_of(DataLoader(data, batch_size=5), "train_loader")
    assert examples.shape == (2, 3, 4)
    assert (len(examples), examples.outputs) == (12, 3)
    assert examples.targets.dtype == np.int64
    assert rows_of(examples) == rows_of(examples_of((images(), labels()), "train_loader"))


def test_policy_targets_and_weights_are_read() -> None:
    tensors = (torch.from_numpy(images().reshape(12, -1)), torch.from_numpy(shares()), torch.linspace(0, 2, 12))
    examples = examples_of(DataLoader(TensorDataset(*tensors), batch_size=4), "train_loader")
    assert examples.targets.dtype == np.float32
    assert (examples.shape, examples.outputs) == ((24,), 3)
    assert sorted(examples.weights.tolist()) == pytest.approx(np.linspace(0, 2, 12).tolist())


@pytest.mark.parametrize(
    "loader",
    [
        [(images()[:7].tolist(), labels()[:7].tolist()), (images()[7:].tolist(), labels()[7:].tolist())],
        [[images(), labels().reshape(12, 1)]],
        ((images()[k : k + 1], labels()[k : k + 1]) for k in range(12)),
        (images().astype(np.float64), labels().astype(np.uint8)),
        (torch.from_numpy(images()), torch.from_numpy(labels()), np.ones(12)),
        [(images()[:0], labels()[:0]), (images(), labels())],
    ],
    ids=["lists", "a column of labels", "a generator", "other types", "tensors with weights", "an empty batch"],
)
def test_batches_of_all_kinds_give_the_same_examples(loader: object) -> None:
    expected = examples_of((images(), labels()), "train_loader")
    found = examples_of(loader, "train_loader")
    for name in ("inputs", "targets", "weights"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_one_hot_labels_are_probabilities() -> None:
    examples = examples_of((images(), np.eye(3, dtype=np.int64)[labels()]), "train_loader")
    assert examples.targets.dtype == np.float32
    assert examples.outputs == 3


def test_shuffling_makes_no_difference() -> None:
    def loader(seed: int) -> object:
        data = TensorDataset(torch.from_numpy(images()), torch.from_numpy(labels()))
        return DataLoader(data, batch_size=5, shuffle=True, generator=torch.Generator().manual_seed(seed))

    first, second = (task_of(loader(seed), (images(4), labels(4))) for seed in (1, 2))
    assert digest(first) == digest(second)
    np.testing.assert_array_equal(first.train.inputs, second.train.inputs)
    np.testing.assert_array_equal(first.train.targets, second.train.targets)
    other = task_of((images(11), labels(11)), (images(4), labels(4)))
    assert digest(other) != digest(first)


def test_classes_without_test_examples_are_outputs_too() -> None:
    assert task_of((images(), labels()), (images(2), labels(2, 2))).outputs == 3
    assert task_of((images(), labels()), (images(2), labels(2, 2)), outputs=7).outputs == 7


ROWS = images()
NAN = ROWS.copy()
NAN[4, 1, 2, 3] = np.nan
LATER = [(ROWS[:6], labels(6)), (ROWS[6:], labels(6)), (ROWS[:6, :1], labels(6))]


@pytest.mark.parametrize(
    ("loader", "message"),
    [
        ([], r"train_loader = 'no examples': must be batches of \(inputs, targets\)"),
        (iter(()), "an iterator can be read only once"),
        (7, "train_loader = 'int'"),
        ([ROWS], "train_loader, batch 1 = 'ndarray'"),
        ([{"x": ROWS}], "train_loader, batch 1 = 'dict'"),
        ([(ROWS, labels(), np.ones(12), 1)], "train_loader, batch 1"),
        ((ROWS[:, 0], labels()), r"shape of inputs = \(12, 3, 4\): must be .*planes, height, width"),
        ((ROWS[:, 0, 0, 0], labels()), r"shape of inputs = \(12,\)"),
        ((ROWS, labels(11)), r"shape of targets = \(11,\): must be 12 rows"),
        ((ROWS, labels(), np.ones(3)), r"shape of weights = \(3,\)"),
        ((ROWS, labels(), np.ones((12, 2))), r"weights = \(12, 2\)"),
        ((ROWS, labels(), -np.ones(12)), "a number from 0"),
        ((ROWS, labels(), np.zeros(12)), "weights of 0 only"),
        ((NAN, labels()), "inputs = 'nan or inf in row 4'"),
        ((ROWS.astype(np.float64) * 1e300, labels()), "inputs = 'nan or inf in row 0'"),
        ((ROWS, labels() - 1), "targets = -1: must be labels from 0"),
        ((ROWS, labels() * 0), "of one class only"),
        ((ROWS, labels().astype(np.float32)), "labels as whole numbers"),
        ((ROWS, shares() * 2), "targets, row 0 = .* probabilities, which add up to 1"),
        ((ROWS, shares() * np.float32("nan")), "nan or inf"),
        ((ROWS, shares() - np.float32(0.2)), "probabilities"),
        (LATER, r"inputs of an example = 'float32 \(1, 3, 4\)'.*as in the first batch"),
        ([(ROWS, labels()), (ROWS, shares())], "targets of an example"),
        ((ROWS.astype(str), labels()), "of numbers"),
        ([([[1.0, 2.0], [1.0]], [0, 1])], "an array or a tensor of numbers"),
        ((ROWS, np.array(["a"] * 12)), "of numbers"),
    ],
)
def test_wrong_loaders_are_refused(loader: Any, message: str) -> None:
    with pytest.raises(BadValue, match=message):
        examples_of(loader, "train_loader")


def test_a_label_beyond_the_classes_is_refused() -> None:
    with pytest.raises(BadValue, match="test_loader: largest label = 2: must be from 0 to 1"):
        task_of((images(), labels(12, 2)), (images(), labels()))
    with pytest.raises(BadValue, match=r"train_loader: targets = .*of 5 outputs"):
        task_of((images(), shares()), (images(), shares()), outputs=5)


def test_loaders_of_different_shapes_are_refused() -> None:
    with pytest.raises(BadValue, match="test examples"):
        task_of((images(), labels()), (images()[:, :1], labels()))


def test_an_endless_loader_is_refused() -> None:
    with pytest.raises(BadValue, match=r"110 examples or more.*max_examples"):
        examples_of(itertools.repeat((images(10), labels(10))), "train_loader", most=100)
    with pytest.raises(BadValue, match="batches without examples"):
        examples_of(itertools.repeat((images(0), labels(0))), "train_loader", most=100)
