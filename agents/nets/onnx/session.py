"""Evaluates a network by onnxruntime, one position at a time.

An answer then depends on its position alone: a network may compute across its batch, and libraries choose their loops
by the size of a call (see `agents.nets.inference`). Only pilots that play import this module.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from agents.nets.onnx.signature import Signature

FATAL = 4  # level of messages: errors are raised
LOAD_FORMAT = "session.load_model_format"  # otherwise a file may be both ONNX, which was checked, and onnxruntime's own
SMALLEST = 1e-38  # probability, so that its logarithm is a number

onnxruntime.disable_telemetry_events()  # of Windows; other systems have none up to the newest version that is allowed


class Session:
    """One network of one agent."""

    def __init__(self, payload: bytes, signature: Signature, actions: int) -> None:
        self.signature, self._actions = signature, actions
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        options.use_deterministic_compute = True
        options.log_severity_level = FATAL
        options.enable_cpu_mem_arena = False  # returns memory when a call ends: many agents may be loaded
        options.add_session_config_entry(LOAD_FORMAT, "ONNX")
        self._session = onnxruntime.InferenceSession(payload, options, providers=["CPUExecutionProvider"])
        self._outputs = [signature.output]

    def evaluate(self, obs: NDArray[np.float32], legal: NDArray[np.bool_]) -> NDArray[np.float32]:
        """The logits for one observation."""
        found = self._run(obs, legal)
        if found.dtype != np.float32 or found.shape != (1, self._actions):
            raise ValueError(f"its network gave {found.dtype} {list(found.shape)}, not float32 {[1, self._actions]}")
        if self.signature.probabilities:
            found = np.log(np.where(found < SMALLEST, np.where(found < 0, np.nan, SMALLEST), found))
        logits: NDArray[np.float32] = found[0]
        return logits

    def choose(self, obs: NDArray[np.float32], legal: NDArray[np.bool_]) -> int:
        """The action for one observation."""
        found = self._run(obs, legal)
        if found.size != 1 or found.dtype.kind != "i":
            raise ValueError(f"its network gave {found.dtype} {list(found.shape)}, not one action")
        action = int(found.reshape(-1)[0])
        if not 0 <= action < self._actions:  # negative numbers have other meanings: see `engine.game.PENDING`
            raise ValueError(f"its network chose action {action}, which is not from 0 to {self._actions - 1}")
        return action

    def _run(self, obs: NDArray[np.float32], legal: NDArray[np.bool_]) -> NDArray[Any]:
        inputs: dict[str, NDArray[Any]] = {self.signature.observation: obs.reshape(self.signature.shape)}
        if self.signature.mask:
            inputs[self.signature.mask] = legal.reshape(1, -1).astype(self.signature.mask_dtype)
        found = self._session.run(self._outputs, inputs)[0]
        if not isinstance(found, np.ndarray):
            raise ValueError(f"its network gave {type(found).__name__}, not a tensor")
        return found
