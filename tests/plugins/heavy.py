"""Agents that need torch, and agents that tell whether it is imported: for tests of what workers import.

Payload `tell`: raises an error that says whether torch was imported before the agent was created.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

from engine.plain import plain_kind
from engine.registry import KINDS

GAMES = ["pong"]


class Spy:
    """Plays at random, and knows whether torch is imported."""

    def __init__(self, payload: bytes) -> None:
        self._tell, self._imported = payload == b"tell", "torch" in sys.modules

    def act(self, view: Any) -> int:
        if self._tell:
            raise RuntimeError(f"torch was imported: {self._imported}, now: {'torch' in sys.modules}")
        return int(view.pick(3))


class TorchBot(Spy):
    """A linear policy computed by torch."""

    def __init__(self, payload: bytes) -> None:
        super().__init__(payload)
        import torch

        self._torch = torch
        self._weights = (torch.arange(24, dtype=torch.float32).reshape(8, 3) * 0.7).sin()

    def act(self, view: Any) -> int:
        super().act(view)
        with self._torch.inference_mode():
            return int((self._torch.from_numpy(view.obs) @ self._weights).argmax())


SPY = plain_kind("spy", 1, Spy, GAMES, {"Spy": b""})
TORCH = replace(plain_kind("torch-bot", 1, TorchBot, GAMES, {"Torch": b""}), preload=("torch",))

for kind in (SPY, TORCH):
    KINDS.add(kind.name, kind)
