"""Collects experience of self-play in worker processes, for a training loop.

    manager = ParallelManager({"game": "pong"}, {"hidden_dim": 64}, {"num_workers": 2})
    with manager:
        manager.start_workers()
        for step in range(100):
            for batch in manager.collect_experiences():
                learn(manager.model, batch.trajectories)
            manager.sync_model_to_workers()

Workers continue to play while the loop learns, so a batch may be older than the current weights: it names its version,
and a batch that is too old is refused and counted.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agents.nets.network import Tensors
from agents.training.selfplay.communicator import WorkerCommunicator
from agents.training.selfplay.link import ExperienceBatch, WorkerLink
from agents.training.selfplay.model import LearnerModel
from agents.training.selfplay.opponents import LEARNER
from agents.training.selfplay.parallel_config import EnvConfig, ModelConfig, ParallelConfig, Settings
from agents.training.selfplay.records import Meter, Totals, WorkerRecord
from agents.training.selfplay.shared_weights import SharedWeights
from agents.training.selfplay.slots import Slots
from agents.training.selfplay.supervision import Supervisor
from agents.training.selfplay.synchronizer import ModelSynchronizer
from agents.training.selfplay.worker import SELF_PLAY, WorkerSpec
from engine.closing import Closing
from engine.errors import BadValue, RingsideError, UnknownName
from engine.play.match import AgentSpec
from engine.play.rollout_messages import pack_agent
from engine.play.rollout_plans import NamedPlan
from engine.play.rollout_rewards import weights_of
from engine.play.workers.entry import PRELOAD
from engine.processes.bootstrap import ChildSetup
from engine.processes.channel import Message
from engine.registry import libraries_of

if TYPE_CHECKING:
    from agents.nets.modules import PolicyValueNet

logger = logging.getLogger(__name__)

LONG_WAIT = 1.0  # seconds without a batch after which a warning says what the workers are doing


class ParallelManager(Closing):
    """Workers that play the learner's games, and the learner's current weights.

    `plan`, `settings` and `agents` are as for a `RolloutProcess`: they let other agents take part, such as frozen
    opponents. Without them, the learner plays all seats. The learner's id is `learner`.
    """

    def __init__(
        self,
        env_config: Settings | None = None,
        model_config: Settings | None = None,
        parallel_config: Settings | ParallelConfig | None = None,
        *,
        plan: str = SELF_PLAY,
        settings: Mapping[str, Any] | None = None,
        agents: Iterable[AgentSpec] = (),
        learner: str = LEARNER,
        rewards: Mapping[str, float] | None = None,
        plugins: Sequence[str] = (),
        size_settings: Mapping[str, int] | None = None,
        worker_names: Sequence[str] | None = None,
    ) -> None:
        """`rewards`: as for a `Rollout`. `plugins`: modules that the workers import, because they register games or
        kinds. `size_settings`: names and values of the caller's settings that the size of a batch follows from, for an
        error. `worker_names`: for messages and the status, instead of `worker 0` and so on."""
        given = {} if parallel_config is None else parallel_config
        self.env = EnvConfig.read({} if env_config is None else env_config)
        self.game = self.env.game
        self.model_config = ModelConfig.read({} if model_config is None else model_config, self.game)
        self.config = config = given if isinstance(given, ParallelConfig) else ParallelConfig.read(given)
        own_names = {"experience_batch_size": config.experience_batch_size, "queue_size": config.queue_size}
        sizes = config.lanes, config.steps, config.queue_size
        Slots.check_size(self.game.info, *sizes, own_names if size_settings is None else size_settings)
        self.communicator = WorkerCommunicator(config.num_workers, config.queue_size, config.timeout)
        self.synchronizer = ModelSynchronizer(config.compression_enabled, config.model_sync_interval)
        self.step = 0  # calls of `collect_experiences` that returned something
        self._reset_step = 0
        self._learner_id, self._plan, self._plugins = learner, plan, tuple(plugins)
        self._learner = LearnerModel(self.model_config, self.game, learner)
        self._rewards = dict(rewards or {})
        weights_of(self.game, self._rewards)  # raises if a name is unknown
        self._settings = dict(settings or {}) if plan != SELF_PLAY else self._self_play_settings(settings)
        self._named_plan = NamedPlan(plan, self._settings)  # raises if there is none, or if they are no plain values
        self._agents = self._others(agents)
        self._totals, self._meter = Totals(), Meter()
        names = worker_names or [f"worker {index}" for index in range(config.num_workers)]
        self._supervisor = Supervisor(self.communicator, config, self._totals, self._connect, names)
        self._records = self._supervisor.records
        self._lock = threading.RLock()  # `get_status` may be called by another thread

    def _self_play_settings(self, given: Mapping[str, Any] | None) -> dict[str, Any]:
        if given:
            raise BadValue("settings", given, "left out without a plan")
        spec = self.game.spec
        options, seats = [list(pair) for pair in spec.options], self.game.info.seats
        return {
            "game": spec.name, "version": spec.version, "options": options, "seats": seats,
            "seed": self.config.seed, "learner": self._learner_id,
        }  # fmt: skip

    # The model

    @property
    def model(self) -> PolicyValueNet:
        """The learner's network as a torch module: train it, then call `sync_model_to_workers`."""
        return self._learner.module

    def load(self, tensors: Tensors) -> None:
        """Set the learner's weights, by name; `sync_model_to_workers` passes them on. Imports no torch."""
        self._learner.load(tensors)

    def learner(self) -> AgentSpec:
        """The learner with its current weights."""
        return self._learner.agent()

    # Workers

    def start_workers(self) -> None:
        """Start all worker processes. They begin to play in the background."""
        with self._lock:
            if self._supervisor.started:
                raise RingsideError("the workers run already: call `stop_workers` first")
            learner = self.learner()
            self.synchronizer.publish(learner.payload, self.step)
            self._bare_learner = replace(learner, payload=b"")
            self._shared_weights = SharedWeights(SharedWeights.new_memory(len(learner.payload)))
            self._meter.start()
            self._supervisor.start()
            logger.info("started %d workers for %s", len(self._records), self.game.spec.name)

    def _connect(self, record: WorkerRecord) -> WorkerLink:
        """Start the process of a worker, and send it agents and weights."""
        config, lanes = self.config, self.config.lanes
        streams = tuple(range(record.index * lanes, (record.index + 1) * lanes))
        spec = WorkerSpec(
            self.game.spec, streams, record.first, config.steps, config.queue_size, self._plan, self._settings,
            self._bare_learner, config.max_game_length, config.games_per_worker, self._rewards,
            self.env.reward_structure,
        )  # fmt: skip
        kinds = [self._bare_learner.kind, *(agent.kind for agent in self._agents.values())]
        setup = ChildSetup(server=PRELOAD, libraries=libraries_of(kinds), plugins=self._plugins)
        link = WorkerLink(record.index, record.name, spec, self.game.info, setup, self._shared_weights.memory)
        for agent in self._agents.values():
            fields, body = pack_agent(agent)
            link.send("agent", fields, body)
        link.send("weights", *self._weights_message())
        if not record.paused:
            link.send("resume")
        return link

    def _weights_message(self) -> Message:
        in_use = self.communicator.is_unanswered("weights")
        return self._shared_weights.write(self.synchronizer.message(), in_use)

    @property
    def unfinished(self) -> list[str]:
        """The workers that did not finish their batch when they were stopped last, and what they were doing."""
        return self._supervisor.unfinished

    def collect_experiences(self, timeout: float | None = None) -> list[ExperienceBatch]:
        """All batches that wait; if there are none, wait for one, at most `timeout` seconds (those of the settings).

        Raises the error of a worker whose game or agents failed, and CollectionFailed if no worker is left. After
        `stop_workers`, these are the batches that were sent before.
        """
        if not self.synchronizer.version:
            raise RingsideError("there are no workers: call `start_workers` first")
        seconds = self.config.timeout if timeout is None else timeout
        until = time.monotonic() + seconds
        if self._supervisor.started:
            self._do_what_is_due()
        while True:
            with self._lock:
                self._supervisor.pump(0.0)
                self._supervisor.raise_failures()
                batches = self._take()
                if batches:
                    self.step += 1
                    return batches
                left = until - time.monotonic()
                if left <= 0 or not self._supervisor.started:
                    self._log_missing(seconds)
                    return []
                self._supervisor.pump(left)

    def _log_missing(self, seconds: float) -> None:
        """No batch came within so many seconds: what every worker is doing. Short waits are those of a loop that does
        other things meanwhile."""
        level = logging.WARNING if seconds >= LONG_WAIT and self._supervisor.started else logging.DEBUG
        if logger.isEnabledFor(level):
            doing = [f"{record.name}: {self._doing(record)}" for record in self._records]
            logger.log(level, "no batch within %g s. %s", seconds, ". ".join(doing))

    def _doing(self, record: WorkerRecord) -> str:
        link = self.communicator[record.index]
        return record.state(None, self._supervisor.started) if link is None else link.activity

    def _do_what_is_due(self) -> None:
        if self.synchronizer.due(self.step):
            self.sync_model_to_workers()
        every = self.config.worker_reset_interval
        if every and self.step - self._reset_step >= every:
            self.reset_workers()

    def _take(self) -> list[ExperienceBatch]:
        """The batches that wait, without those that are too old."""
        found = []
        for batch in self.communicator.take():
            games, late = len(batch.trajectories.results), self.synchronizer.version - batch.version
            record = self._records[batch.worker]
            record.add(games)
            if late > self.config.max_staleness:
                self._totals.refuse(len(batch))
                logger.warning(
                    "%s: batch %d was played by model version %d, %d versions ago, and is refused",
                    record.name, batch.number, batch.version, late,
                )  # fmt: skip
                continue
            self._totals.add(len(batch), games, late)
            self._meter.add(len(batch), games)
            logger.debug("%s: batch %d, %d games, staleness %d", record.name, batch.number, games, late)
            found.append(replace(batch, staleness=late))
        return found

    # Control

    def sync_model_to_workers(self, wait: bool = True) -> int:
        """Pass the current weights to all workers, also to those that are paused; returns their version.

        Weights that have not changed keep their version. If not `wait`, workers install them before their next batch.
        """
        with self._lock:
            payload = self.learner().payload
            self._supervisor.pump(0.0)  # reads the answers to the last weights: then all workers have read these
            if self.synchronizer.publish(payload, self.step) and self._supervisor.started:
                sent = self.communicator.send("weights", range(len(self._records)), *self._weights_message())
                logger.info("model version %d to %d workers", self.synchronizer.version, len(sent))
                if wait:
                    self._supervisor.wait_for(sent)
            return self.synchronizer.version

    def reset_workers(self, workers: Collection[int] | None = None) -> None:
        """Begin new games on all boards. Running games are abandoned and counted; batches that wait are kept."""
        with self._lock:
            chosen = self._checked(workers)
            self._reset_step = self.step
            sent = self._control("reset", chosen)
            self._totals.abandoned_games += self.config.lanes * len(sent)

    def pause_workers(self, workers: Collection[int] | None = None) -> None:
        """Pause workers after their current batch, and wait until they are. A paused worker uses no processor time."""
        with self._lock:
            chosen = self._checked(workers)
            for index in chosen:
                self._records[index].paused = True
            self._control("pause", chosen)

    def resume_workers(self, workers: Collection[int] | None = None) -> None:
        """Resume workers that are paused, or whose game or agents failed."""
        with self._lock:
            chosen = self._checked(workers)
            for index in chosen:
                self._records[index].paused = False
            self._control("resume", chosen)

    def set_agents(self, agents: Iterable[AgentSpec], wait: bool = True) -> None:
        """Add agents for the plan, or replace them, also in running games. They stay as they are: frozen."""
        with self._lock:
            for id, agent in self._others(agents).items():
                self._agents[id] = agent
                fields, body = pack_agent(agent)
                sent = self.communicator.send("agent", range(len(self._records)), fields, body)
                if wait:
                    self._supervisor.wait_for(sent)

    def forget_agents(self, ids: Collection[str], wait: bool = True) -> None:
        """Remove agents that the plan no longer uses. Workers unload them after their next batch; those whose games are
        still running finish them, and are unloaded later: at the next set-up of players, or the next call."""
        with self._lock:
            unwanted = sorted(set(ids))
            for id in unwanted:
                self._check_other(id)
                if id not in self._agents:
                    raise UnknownName("agent", id, self._agents)
            for id in unwanted:
                del self._agents[id]
            sent = self.communicator.send("forget", range(len(self._records)), [unwanted])
            if wait:
                self._supervisor.wait_for(sent)

    def configure(self, settings: Mapping[str, Any], wait: bool = True) -> None:
        """Replace the settings of the plan, for games that begin from now on."""
        with self._lock:
            self._named_plan.configure(settings)
            self._settings = dict(settings)
            sent = self.communicator.send("settings", range(len(self._records)), [self._settings])
            if wait:
                self._supervisor.wait_for(sent)

    def _others(self, agents: Iterable[AgentSpec]) -> dict[str, AgentSpec]:
        """Agents of the plan by id; raises BadValue if one of them has the learner's."""
        given = list(agents)
        for agent in given:
            self._check_other(agent.id)
        return {agent.id: agent for agent in given}

    def _check_other(self, id: str) -> None:
        if id == self._learner_id:
            needed = "the id of another agent: the learner has this one. `load` or `model`, then "
            raise BadValue("agent", id, f"{needed}`sync_model_to_workers` change its weights")

    def _checked(self, workers: Collection[int] | None) -> list[int]:
        """The numbers of these workers, None for all; raises an error if they do not run, or one is unknown."""
        if not self._supervisor.started:
            raise RingsideError("there are no workers: call `start_workers` first")
        known = range(len(self._records))
        if workers is None:
            return list(known)
        if not isinstance(workers, Collection) or isinstance(workers, str | bytes):
            raise BadValue("workers", workers, "a list of numbers of workers, such as [0], or None for all")
        for index in workers:
            if type(index) is not int or index not in known:
                raise BadValue("worker", index, f"from 0 to {len(known) - 1}")
        return sorted(set(workers))

    def _control(self, name: str, chosen: Sequence[int]) -> list[tuple[WorkerLink, int]]:
        sent = self.communicator.send(name, chosen)
        logger.info("%s: %s", name, ", ".join(link.name for link, _ in sent))
        self._supervisor.wait_for(sent)
        return sent

    # State and end

    def get_status(self) -> dict[str, Any]:
        """The state of the workers and queues, rates, and what was collected, refused and lost; also for other
        threads."""
        if self._lock.acquire(blocking=False):  # another thread may be collecting
            try:
                self._supervisor.pump(0.0)
            finally:
                self._lock.release()
        started = self._supervisor.started
        workers = [record.view(self.communicator[record.index], started) for record in self._records]
        active = sum(worker["state"] in ("starting", "playing", "waiting") for worker in workers)
        return {
            "active_workers": active,
            "workers": workers,
            "queue_info": self.communicator.get_queue_info(),
            "rates": self._meter.rates(),
            "model_version": self.synchronizer.version,
            "steps": self.step,
            "restarts": sum(record.restarts for record in self._records),
            **self._totals.view(self.config.max_staleness),
        }

    def stop_workers(self) -> None:
        """Stop all workers: they finish their batch, which can be collected afterwards. Takes a few seconds at most;
        workers that take longer are killed, and what they were playing is counted as lost. Idempotent."""
        with self._lock:
            self._supervisor.stop()
            logger.info("stopped all workers")

    def close(self) -> None:
        self.stop_workers()
