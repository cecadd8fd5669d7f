"""Engines to test against: small programs of our own that misbehave in one way each, and Debian's fairy-stockfish."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from agents.usi.approvals import approve
from agents.usi.engine_spec import EngineSpec, agent
from engine.play.match import AgentSpec

FAULTY = str(Path(__file__).parent / "faulty.py")
FAIRY = "/usr/games/fairy-stockfish"
needs_fairy = pytest.mark.skipif(
    not os.path.exists(FAIRY) and os.environ.get("RINGSIDE_TESTS") != "all",
    reason="not installed: fairy-stockfish",
)


def faulty(*fault: str, **more: object) -> EngineSpec:
    """An engine with this fault only."""
    engine = EngineSpec(sys.executable, ("-I", "-S", FAULTY, *fault), nodes=10, startup=110.0, patience=110.0)
    return replace(engine, **more)  # type: ignore[arg-type]


def confirmed(engine: EngineSpec, name: str = "Engine") -> AgentSpec:
    approve(engine)
    return agent(name, engine)
