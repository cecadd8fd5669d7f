"""Plans of self-play, also such that fail."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path

from engine.play.match import AgentSpec, MatchSpec
from engine.registry import new_game
from engine.seeding import derive

GAME = {"points": 1, "step_limit": 60}


def match(agents: Mapping[str, AgentSpec], stream: int, k: int, opponent: str = "learner") -> MatchSpec:
    players = (agents["learner"], agents[opponent])
    return MatchSpec(f"{stream}.{k}", new_game("pong", **GAME).spec, players, derive("test", stream, k))


def killed_once(agents: Mapping[str, AgentSpec], stream: int, k: int, marker: str) -> MatchSpec:
    """Kills its process, the first time, when a game ends and others are running."""
    if k == 1 and not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return match(agents, stream, k)


def exits(agents: Mapping[str, AgentSpec], stream: int, k: int) -> MatchSpec:
    os._exit(3)


def one_player(agents: Mapping[str, AgentSpec], stream: int, k: int) -> MatchSpec:
    return MatchSpec("m", new_game("pong", **GAME).spec, (agents["learner"],), 1)
