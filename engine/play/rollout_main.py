"""The main function of a rollout process: receives agents, plays their matches and sends trajectories."""

from __future__ import annotations

import functools
import select
import socket
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from engine.errors import RingsideError
from engine.foreign_code import LONGEST_MESSAGE, text_of
from engine.play.match import AgentSpec, GameSpec
from engine.play.rollout import Rollout
from engine.play.rollout_calls import RolloutCalls
from engine.play.rollout_messages import PIECE, pieces_of, split_trajectories, unpack_agent
from engine.play.rollout_plans import NamedPlan, read_settings
from engine.processes.bootstrap import OUT_OF_MEMORY
from engine.processes.channel import Channel, ProtocolError
from engine.registry import game_of


def serve(
    end: socket.socket,
    game: GameSpec,
    streams: Sequence[int],
    plan: str,
    settings: str,
    learners: Sequence[str] | None,
    rewards: Mapping[str, float],
    memory: Any,
) -> int:
    """Play until the parent closes the connection; returns the exit status."""
    named = NamedPlan(plan, read_settings(settings))
    try:
        own = game_of(game)
        calls = RolloutCalls(len(streams) * own.info.seats, memory)
        with Rollout(own, streams, named, learners, agents=named.agents, rewards=rewards, calls=calls) as rollout:
            RolloutLoop(Channel(end), rollout, named).run()
    except MemoryError:
        return OUT_OF_MEMORY
    except ProtocolError:  # the parent has closed the connection
        return 0
    return 0


Answer = tuple[list[Any], list[memoryview]]  # the fields of a message, and the parts of its body


class RolloutLoop:
    """Handles the messages of the parent one after the other."""

    def __init__(self, channel: Channel, rollout: Rollout, plan: NamedPlan) -> None:
        self._channel, self._rollout, self._plan = channel, rollout, plan
        self._error: RingsideError | None = None  # of an agent that could not be replaced; reported by the next segment
        self._not_restored: RingsideError | None = None  # reported by every answer

    def run(self) -> None:
        while True:
            select.select([self._channel.socket], [], [])
            for fields, body in self._channel.get():
                match fields:
                    case ["agent", *rest]:
                        self._on_agent(unpack_agent(rest, body))
                    case ["settings", settings]:
                        self._plan.configure(read_settings(settings))
                    case ["restore"]:
                        self._on_restore(body)
                    case ["save"]:
                        self._answer(lambda: (["saved"], [memoryview(self._rollout.save())]))
                    case ["collect", steps, save]:
                        self._answer(functools.partial(self._collect, steps, save))

    def _on_agent(self, agent: AgentSpec) -> None:
        self._plan.agents[agent.id] = agent
        if self._rollout.has_loaded(agent):
            try:
                self._rollout.replace(agent)
            except RingsideError as error:
                self._error = error

    def _on_restore(self, saved: bytes) -> None:
        try:
            self._rollout.restore(saved)
        except RingsideError as error:
            self._not_restored = error

    def _collect(self, steps: int, save: bool) -> Answer:
        error, self._error = self._error, None
        if error is not None:
            raise error
        fields, columns = split_trajectories(self._rollout.collect(steps))
        saved = self._rollout.save(checked=False) if save else b""
        return ["segment", len(saved), *fields], [*columns, memoryview(saved)]

    def _answer(self, make: Callable[[], Answer]) -> None:
        """Send what `make` returns, or its error. What is too large for one message is sent in pieces before it."""
        try:
            if self._not_restored is not None:
                raise self._not_restored
            fields, parts = make()
        except RingsideError as error:
            fields, parts = ["failed", type(error).__name__, text_of(error, LONGEST_MESSAGE)], []
        if sum(map(len, parts)) > PIECE:
            for piece in pieces_of(parts):
                self._channel.send(["piece"], piece)
            parts = []
        self._channel.send(fields, b"".join(parts))
