"""A rollout process that is started again if it dies.

After each segment it sends its running matches. A new process continues them with the current agents and plays the
segment again: the trajectories are those of a process that did not die.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from engine.closing import Closing
from engine.errors import RingsideError
from engine.play.match import AgentSpec, GameSpec
from engine.play.rollout_columns import Trajectories
from engine.play.rollout_process import RolloutDied, RolloutFailed, RolloutProcess

RESTARTS = 3  # for one call
Answer = TypeVar("Answer")


class RolloutWorker(Closing):
    """As `RolloutProcess`, but started again up to three times in each call. `restarts` lists why, one text for each
    time."""

    def __init__(
        self,
        game: GameSpec,
        streams: Sequence[int],
        plan: str,
        agents: Iterable[AgentSpec],
        *,
        settings: Mapping[str, Any] | None = None,
        learners: Collection[str] | None = None,
        rewards: Mapping[str, float] | None = None,
        plugins: Sequence[str] = (),
        saved: bytes | None = None,
    ) -> None:
        self._game, self._streams, self._plan, self._learners = game, tuple(streams), plan, learners
        self._plugins, self._settings, self._saved = plugins, dict(settings or {}), saved
        self._rewards = rewards
        self._agents = {agent.id: agent for agent in agents}
        self.restarts: list[str] = []
        self._process = self._start()

    def _start(self) -> RolloutProcess:
        return RolloutProcess(
            self._game,
            self._streams,
            self._plan,
            self._agents.values(),
            settings=self._settings,
            learners=self._learners,
            rewards=self._rewards,
            plugins=self._plugins,
            saved=self._saved,
        )

    @property
    def pid(self) -> int | None:
        return self._process.pid

    def replace(self, agent: AgentSpec) -> None:
        """Add an agent, or replace its weights, also in running matches."""
        self._agents[agent.id] = agent
        self._process.replace(agent)

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Replace the settings of the plan, for matches that start later."""
        self._settings = dict(settings)
        self._process.configure(settings)

    def collect(self, steps: int) -> Trajectories:
        """See `Rollout.collect`."""
        return self._call(lambda: self._collect(steps))

    def _collect(self, steps: int) -> Trajectories:
        process = self._process
        process.begin(steps, save=True)
        try:
            segment = process.receive()
        except RolloutFailed:
            raise
        except RingsideError:  # of an agent: the matches stay where they are now
            self._saved = process.save()
            raise
        assert segment is not None
        self._saved = process.saved
        return segment

    def save(self) -> bytes:
        """See `Rollout.save`."""
        return self._call(lambda: self._process.save())

    def _call(self, call: Callable[[], Answer]) -> Answer:
        for _ in range(RESTARTS):
            try:
                return call()
            except RolloutDied as died:
                self.restarts.append(str(died))
                self._process.close()
                self._process = self._start()
        try:
            return call()
        except RolloutDied as died:
            text = f"{died}. It was started again {RESTARTS} times for this segment, and died each time"
            raise RolloutFailed(text) from None

    def close(self) -> None:
        self._process.close()
