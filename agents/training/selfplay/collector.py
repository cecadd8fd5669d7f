"""Plays training matches for the learner, on as many cores as the session has."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, NamedTuple, Protocol

from agents.training.events import Log, WorkerState
from agents.training.rollouts import RolloutPool
from agents.training.selfplay.config import PpoConfig
from agents.training.selfplay.opponents import LEARNER
from agents.training.selfplay.state import PpoRun
from agents.training.selfplay.timing import ROLLOUT
from agents.training.trainer import Context
from engine.closing import Closing
from engine.errors import RingsideError
from engine.play.match import GameSpec
from engine.play.rollout import Trajectories
from engine.play.rollout_worker import RolloutCancelled
from engine.registry import game_of

PLAN = "agents.training.selfplay.opponents:match"
PULSE = 0.1  # seconds between two calls of `Context.attend` while matches are played
PATIENCE = 3.0  # seconds that matches are waited for when the session is stopped
SPARE = 32  # retired snapshots that pilots may keep in memory before they are loaded anew without them


class CollectionStopped(RingsideError):  # noqa: N818
    """The session was stopped, so the experience of the next update is not waited for."""


class Collected(NamedTuple):
    """The experience of one update."""

    played: Trajectories
    staleness: float = 0.0  # mean number of updates since the weights that played it
    waiting: int = 0  # batches that are left in queues
    refused: int = 0  # batches that were refused since the last update, because their weights were too old
    lost: int = 0  # batches that were lost since then, because the process that played them has ended

    def metrics(self) -> dict[str, float]:
        values = {"staleness": self.staleness, "depth": self.waiting, "refused": self.refused, "lost": self.lost}
        return {f"queue/{name}": float(value) for name, value in values.items()}


class Collector(Protocol):
    """Plays until it is closed."""

    @property
    def streams(self) -> range:
        """The streams of matches that run at the same time."""

    @property
    def unfinished(self) -> str:
        """Which processes did not finish what they played when the session was stopped, and what they did. Complete
        after `close`."""

    @property
    def threads(self) -> bool:
        """Whether threads of this process play, and no worker processes."""

    def collect(self) -> Collected:
        """The experience of the next update. Requests of the session are handled meanwhile. Raises CollectionStopped if
        it should stop and this takes too long: `save` then returns the matches before."""

    def publish(self) -> None:
        """Sends the current weights, new opponents and the chances of all opponents. Weights take effect at once,
        the rest in matches that begin from now on."""

    def save(self) -> bytes:
        """The running matches, for a checkpoint."""

    def save_after_error(self) -> bytes:
        """The running matches, for a checkpoint of the last completed update; empty if they cannot be continued.
        Afterwards only `take_logs` and `close` may be called."""

    def workers(self, part: str) -> Sequence[WorkerState]:
        """The processes that play, with their states in this part of an update."""

    def take_logs(self) -> list[Log]:
        """What was lost since the last call, and why. Complete after `close`."""

    def close(self) -> None: ...


class SynchronousCollector(Closing):
    """All turns of an update are played with the current weights, in fixed streams of matches. The trajectories are the
    same to the bit for any number of workers."""

    def __init__(self, settings: PpoConfig, context: Context, run: PpoRun) -> None:
        self._settings, self._context, self._run = settings, context, run
        self.streams = range(settings.streams)
        self.unfinished = ""
        self._learned_from: int | None = None  # the update that the last experience is for
        self._thread = ThreadPoolExecutor(1, "ringside-collector")
        self._known: set[str] = set()  # ids of opponents that the rollouts have received
        self._rollouts = self._open(run.rollout or None)

    def _open(self, saved: bytes | None) -> RolloutPool:
        agents = [self._run.spec(), *self._run.pool.agents]
        self._known = {agent.id for agent in agents}
        plan = plan_settings(self._settings, self._context.game, self._run)
        rewards = self._settings.reward_weights(game_of(self._context.game))
        return self._context.rollouts(
            self.streams, PLAN, agents, settings=plan, learners=[LEARNER], rewards=rewards, saved=saved
        )

    def collect(self) -> Collected:
        """The next steps of every stream."""
        self._learned_from = self._run.update
        segment = self._thread.submit(self._rollouts.collect, self._settings.steps)
        until = None  # when the session was stopped: how long to wait for the segment
        while not wait([segment], PULSE).done:
            if self._context.attend() and until is None:
                until = time.monotonic() + PATIENCE
            if until is None or time.monotonic() < until or (ended := self._rollouts.cancel()) is None:
                continue
            self.unfinished = "; ".join(ended)
            if isinstance(error := segment.exception(), RolloutCancelled | None):
                raise CollectionStopped("the session was stopped") from error
        return Collected(segment.result())

    def publish(self) -> None:
        if len(self._known) > len(self._run.pool.agents) + SPARE:
            saved = self._rollouts.save()
            self._rollouts.close()
            self._rollouts = self._open(saved)
            return
        self._rollouts.replace(self._run.spec())
        for agent in self._run.pool.agents:
            if agent.id not in self._known:
                self._known.add(agent.id)
                self._rollouts.replace(agent)
        self._rollouts.configure(plan_settings(self._settings, self._context.game, self._run))

    def save(self) -> bytes:
        return self._rollouts.save()

    def save_after_error(self) -> bytes:
        """If the error came before the last experience was learned from, these are the matches before it was played.
        Threads have only the matches as they are now."""
        try:
            if self._run.update == self._learned_from:
                self._rollouts.cancel()
            return self._rollouts.save()
        except RingsideError:
            return b""

    @property
    def threads(self) -> bool:
        return not self._rollouts.processes

    def workers(self, part: str) -> Sequence[WorkerState]:
        state = "playing" if part == ROLLOUT else "idle"
        return [
            WorkerState(f"rollout {k}", state, restarts=len(worker.restarts), pid=worker.pid)
            for k, worker in enumerate(self._rollouts.rollout_workers, 1)
        ]

    def take_logs(self) -> list[Log]:
        return []  # the context logs processes that were started again; nothing is lost

    def close(self) -> None:
        self._rollouts.close()
        self._thread.shutdown()


def plan_settings(settings: PpoConfig, game: GameSpec, run: PpoRun, seed: int | None = None) -> dict[str, Any]:
    """The settings of the plan, with the opponents as they are now."""
    fixed = {
        "game": [game.name, game.version, [list(pair) for pair in game.options]],
        "seats": game_of(game).info.seats,
        "seed": settings.seed if seed is None else seed,
        "steps": settings.match_steps,
        "self_share": settings.self_share,
        "bot_share": settings.bot_share,
    }
    return fixed | run.pool.plan_settings(settings.sampling)
