"""Data that small networks learn in a moment."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader, TensorDataset

Pair = tuple[NDArray[np.float32], NDArray[Any]]


def images(rows: int, seed: int = 0) -> Pair:
    """A bright quarter of an image of 6 x 6, in noise: four classes."""
    draws = np.random.default_rng(seed)
    labels = draws.integers(0, 4, rows)
    inputs = draws.normal(0.0, 0.7, (rows, 1, 6, 6)).astype(np.float32)
    for row, label in enumerate(labels.tolist()):
        inputs[row, 0, 3 * (label // 2) :, 3 * (label % 2) :][:3, :3] += 1.0
    return inputs, labels


def vectors(rows: int, seed: int = 0) -> Pair:
    """Points around three centres, with the probabilities of their centres as targets."""
    draws = np.random.default_rng(seed)
    centres = np.random.default_rng(7).normal(0.0, 1.5, (3, 5))
    inputs = (centres[draws.integers(0, 3, rows)] + draws.normal(0.0, 1.0, (rows, 5))).astype(np.float32)
    near = np.exp(-0.5 * np.square(inputs[:, None] - centres).sum(axis=2))
    return inputs, (near / near.sum(axis=1, keepdims=True)).astype(np.float32)


def loader(pair: Pair, batch_size: int = 32, shuffle: bool = True) -> DataLoader[Any]:
    return DataLoader(TensorDataset(*map(torch.from_numpy, pair)), batch_size, shuffle=shuffle)
