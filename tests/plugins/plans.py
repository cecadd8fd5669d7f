"""Plans of matches for rollout processes, which find them by name."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping

from engine.play.match import AgentSpec, GameSpec, Limits, MatchSpec
from engine.registry import GAMES, KINDS, new_game
from engine.seeding import derive
from tests.plugins import nets, stones

GAMES.add("stones", stones.Stones)
KINDS.add(nets.KIND.name, nets.KIND)
OPTIONS = {"pong": {"points": 1, "step_limit": 120}, "treasure-hunt": {"seats": 3, "turns": 25, "frames": 2}}


def game_spec(name: str) -> GameSpec:
    return new_game(name, **OPTIONS.get(name, {})).spec


def mixed(agents: Mapping[str, AgentSpec], stream: int, k: int, game: str, seats: int) -> MatchSpec:
    """Matches in which `me` plays one seat or all, dice the others; some have limits."""
    own = 1 + (stream + k) % seats
    players = [agents["me"]] * own + [AgentSpec("Dice", "dice")] * (seats - own)
    turned = players[k % seats :] + players[: k % seats]
    limits = Limits(steps=4 + stream if k % 3 == 1 else None)
    return MatchSpec(f"{stream}.{k}", game_spec(game), tuple(turned), derive("rollout", stream, k), None, limits)


def two(agents: Mapping[str, AgentSpec], stream: int, k: int, game: str) -> MatchSpec:
    return MatchSpec(f"{stream}.{k}", game_spec(game), (agents["me"], agents["other"]), derive(stream, k))


def killing(agents: Mapping[str, AgentSpec], stream: int, k: int, game: str) -> MatchSpec:
    """Kills its process at the second match."""
    if k == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return two(agents, stream, k, game)


def wrong(agents: Mapping[str, AgentSpec], stream: int, k: int, game: str) -> MatchSpec:
    return MatchSpec("m", game_spec(game), (agents["me"],), 1)
