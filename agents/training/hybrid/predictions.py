"""Answers of a trained network to many inputs, computed as when it plays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agents.nets.network import Network
from engine.errors import BadValue


def logits_of(network: Network, inputs: NDArray[np.float32]) -> NDArray[np.float32]:
    """The logits of all outputs, a row for each input."""
    from agents.nets.inference import CHUNK, evaluating, inference_of  # here, because it imports torch

    if inputs.shape[1:] != network.observation:
        raise BadValue("inputs", inputs.shape, f"[rows, {', '.join(map(str, network.observation))}]")
    obs = np.ascontiguousarray(inputs, np.float32)
    logits, values = np.zeros((len(obs), network.actions), np.float32), np.zeros(len(obs), np.float32)
    with evaluating():
        inference = inference_of(network)
        for at in range(0, len(obs), CHUNK):
            inference.run(obs, logits, values, slice(at, at + CHUNK))
    return logits
