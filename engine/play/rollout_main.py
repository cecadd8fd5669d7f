"""The main function of a rollout process: receives agents, plays their matches and sends trajectories."""

from __future__ import annotations

import select
import socket
from collections.abc import Mapping, Sequence
from typing import Any

from engine.errors import RingsideError
from engine.play.match import AgentSpec, GameSpec
from engine.play.rollout import Rollout
from engine.play.rollout_messages import pack_trajectories, unpack_agent
from engine.play.rollout_plans import NamedPlan
from engine.processes.bootstrap import OUT_OF_MEMORY
from engine.processes.channel import Channel, ProtocolError
from engine.registry import game_of


def serve(
    end: socket.socket,
    game: GameSpec,
    streams: Sequence[int],
    plan: str,
    settings: Mapping[str, Any],
    learners: Sequence[str] | None,
) -> int:
    """Play until the parent closes the connection; returns the exit status."""
    named = NamedPlan(plan, settings)
    try:
        with Rollout(game_of(game), streams, named, learners) as rollout:
            RolloutLoop(Channel(end), rollout, named.agents).run()
    except MemoryError:
        return OUT_OF_MEMORY
    except ProtocolError:  # the parent has closed the connection
        return 0
    return 0


class RolloutLoop:
    """Handles the messages of the parent one after the other."""

    def __init__(self, channel: Channel, rollout: Rollout, agents: dict[str, AgentSpec]) -> None:
        self._channel, self._rollout, self._agents = channel, rollout, agents
        self._error: RingsideError | None = None  # of an agent that could not be replaced; reported by the next segment

    def run(self) -> None:
        while True:
            select.select([self._channel.socket], [], [])
            for fields, body in self._channel.get():
                match fields:
                    case ["agent", *rest]:
                        self._on_agent(unpack_agent(rest, body))
                    case ["collect", steps]:
                        self._on_collect(steps)

    def _on_agent(self, agent: AgentSpec) -> None:
        self._agents[agent.id] = agent
        if self._rollout.has_loaded(agent):
            try:
                self._rollout.replace(agent)
            except RingsideError as error:
                self._error = error

    def _on_collect(self, steps: int) -> None:
        try:
            error, self._error = self._error, None
            if error is not None:
                raise error
            fields, body = pack_trajectories(self._rollout.collect(steps))
        except RingsideError as error:
            self._channel.send(["failed", type(error).__name__, str(error)])
        else:
            self._channel.send(["segment", *fields], body)
