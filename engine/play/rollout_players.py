"""Which players of a rollout are compiled, and what the compiled driver calls of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from engine.game import Boards, CompiledPilot, CompiledPolicy, Game, GameInfo
from engine.play.driver import Player
from engine.play.match import AgentSpec
from engine.play.pilots import LoadedPilot, PilotPool
from engine.play.rollout_driver import PolicyRows
from engine.registry import libraries_of


def can_march(game: Game, agents: Iterable[AgentSpec], weighted: bool = False) -> bool:
    """Whether the compiled driver plays matches of these agents; `weighted` as there. Imports no library that a kind
    declares."""
    kinds = {agent.kind: agent for agent in agents}
    if libraries_of(kinds) or not has_rows(game.boards(1), game.info, weighted):
        return False
    pilots = PilotPool(game, game.info.seats)
    loaded_pilots = [pilots.pilot_of(agent) for agent in kinds.values()]
    try:
        return all(map(is_compiled, loaded_pilots))
    finally:
        for loaded in loaded_pilots:
            pilots.close(loaded)


def has_rows(boards: Boards, info: GameInfo, weighted: bool = False) -> bool:
    rows = getattr(boards, "rows", None)
    if rows is None or rows.score_row is None or (weighted and rows.stats_row is None):
        return False
    return (rows.legal_row is not None) == info.masked


def is_compiled(loaded: LoadedPilot) -> bool:
    return loaded.compiled and hasattr(loaded.pilot, "policy_row") == hasattr(loaded.pilot, "decide")


def player_of(pilot: CompiledPilot) -> Player | PolicyRows:
    if hasattr(pilot, "policy_row"):
        policy = cast(CompiledPolicy, pilot)
        return PolicyRows(policy.policy_row, policy.value_row)
    return Player(pilot.act_row, pilot.observes)
