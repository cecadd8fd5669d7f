"""A rollout process that is started again if it dies.

After each segment it sends its running matches. A new process continues them with the current agents and plays the
segment again: the trajectories are those of a process that did not die.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from engine.closing import Closing
from engine.errors import RingsideError
from engine.play.match import AgentSpec, GameSpec
from engine.play.rollout_columns import Trajectories
from engine.play.rollout_process import RolloutDied, RolloutFailed, RolloutProcess

RESTARTS = 3  # for one call
Answer = TypeVar("Answer")


class RolloutCancelled(RolloutFailed):
    """The segment was given up on request. `save` returns the matches of the last `remember`."""


class RolloutWorker(Closing):
    """As `RolloutProcess`, but started again up to three times in each call. `restarts` lists why, one text for each
    time. `name` begins the texts of errors."""

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
        name: str = "a rollout process",
    ) -> None:
        self.name = name
        self._game, self._streams, self._plan, self._learners = game, tuple(streams), plan, learners
        self._plugins, self._settings, self._saved = plugins, dict(settings or {}), saved
        self._rewards = rewards
        self._agents = {agent.id: agent for agent in agents}
        self._before = saved  # see `remember`
        self._playing = self._cancelled = False
        self._starting = threading.Lock()  # a process that is started during `cancel` is ended too
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
            name=self.name,
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
        with self._starting:
            self._check_cancelled()
            self._playing = True
        try:
            return self._call(lambda: self._collect(steps))
        finally:
            self._playing = False

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

    def remember(self) -> None:
        """The matches as they are now are those that `save` returns after `cancel`."""
        self._before = self._saved

    def cancel(self) -> str:
        """Give up the segment that another thread collects; it raises RolloutCancelled. Afterwards only `save` and
        `close` may be called. Returns what the process was doing; an empty text if it was not playing."""
        with self._starting:
            self._cancelled = True
            if not self._playing:
                return ""
            text = "; ".join(filter(None, (f"{self.name} (process {self.pid}) was ended", self._process.activity)))
            self._process.kill()
            return text

    def save(self) -> bytes:
        """See `Rollout.save`. After `cancel`, the matches of the last `remember`; empty if there were none."""
        if self._cancelled:
            return self._before or b""
        return self._call(lambda: self._process.save())

    def _call(self, call: Callable[[], Answer]) -> Answer:
        for _ in range(RESTARTS):
            try:
                return call()
            except RolloutDied as died:
                with self._starting:
                    self._check_cancelled()
                    self.restarts.append(str(died))
                    self._process.close()
                    self._process = self._start()
        try:
            return call()
        except RolloutDied as died:
            self._check_cancelled()
            text = f"{died}. It was started again {RESTARTS} times for this segment, and died each time"
            raise RolloutFailed(text) from None

    def _check_cancelled(self) -> None:
        if self._cancelled:
            raise RolloutCancelled(f"{self.name} was ended on request") from None

    def close(self) -> None:
        self._process.close()
