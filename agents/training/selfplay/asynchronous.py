"""Plays training matches while the network learns, in worker processes."""

from __future__ import annotations

from collections.abc import Sequence

from agents.training.events import WorkerState
from agents.training.selfplay.collector import PLAN, PULSE, SPARE, Collected, CollectionStopped, plan_settings
from agents.training.selfplay.config import PpoConfig
from agents.training.selfplay.link import ExperienceBatch
from agents.training.selfplay.manager import ParallelManager
from agents.training.selfplay.opponents import LEARNER
from agents.training.selfplay.parallel_config import ParallelConfig
from agents.training.selfplay.state import PpoRun
from agents.training.trainer import Context
from engine.closing import Closing
from engine.play.rollout_columns import joined
from engine.play.rollout_process import TIME_LIMIT
from engine.registry import game_of
from engine.seeding import derive


class AsynchronousCollector(Closing):
    """Workers continue to play while the network learns, with weights that are at most `max_staleness` updates old.
    What they have played when it is needed depends on their speed, so results differ from run to run. Running matches
    are not part of checkpoints."""

    def __init__(self, settings: PpoConfig, context: Context, run: PpoRun) -> None:
        self._settings, self._context, self._run = settings, context, run
        count = min(max(context.workers - 1, 1), settings.streams)  # one core is left to the learner
        boards = settings.streams // count
        self.streams = range(boards * count)
        self._seed = derive(settings.seed, "asynchronous", run.update)  # a resumed session plays other matches
        self._known = {agent.id for agent in run.pool.agents}
        parallel = ParallelConfig(
            num_workers=count,
            boards=boards,
            experience_batch_size=boards * settings.steps,
            queue_size=1,
            max_staleness=settings.max_staleness,
            timeout=TIME_LIMIT,
            max_game_length=0,
            games_per_worker=0,
            model_sync_interval=0,
            worker_reset_interval=0,
        )
        self._manager = ParallelManager(
            {"game": context.game.name, "options": dict(context.game.options)},
            {"architecture": run.learner.architecture},
            parallel,
            plan=PLAN,
            settings=plan_settings(settings, context.game, run, self._seed),
            agents=run.pool.agents,
            learner=LEARNER,
            rewards=settings.reward_weights(game_of(context.game)),
            plugins=context.plugins,
        )
        self._manager.load(run.learner.network(1.0).tensors)
        self._manager.start_workers()

    def collect(self) -> Collected:
        """At least as many steps as all streams play between two updates, from whichever workers have them."""
        needed = len(self.streams) * self._settings.steps
        batches: list[ExperienceBatch] = []
        while sum(map(len, batches)) < needed:
            if self._context.attend():
                raise CollectionStopped("the session was stopped")
            batches += self._manager.collect_experiences(PULSE)
        total = sum(map(len, batches))
        staleness = sum(batch.staleness * len(batch) for batch in batches) / total
        waiting = self._manager.communicator.get_queue_info()["experience_total"]
        return Collected(joined([batch.trajectories for batch in batches]), staleness, waiting)

    @property
    def unfinished(self) -> str:
        return "; ".join(self._manager.unfinished)

    def publish(self) -> None:
        """Sends the current weights, new opponents and the chances of all opponents. Workers use them from their next
        batch on; the learner does not wait for that."""
        self._manager.load(self._run.learner.network(1.0).tensors)
        self._manager.sync_model_to_workers(wait=False)
        fresh = [agent for agent in self._run.pool.agents if agent.id not in self._known]
        self._known |= {agent.id for agent in fresh}
        self._manager.set_agents(fresh, wait=False)
        plan = plan_settings(self._settings, self._context.game, self._run, self._seed)
        self._manager.configure(plan, wait=False)
        left = self._known - {agent.id for agent in self._run.pool.agents}
        if len(left) > SPARE:
            self._manager.forget_agents(left, wait=False)
            self._known -= left

    def save(self) -> bytes:
        return b""

    def workers(self) -> Sequence[WorkerState]:
        return [
            WorkerState(f"rollout {k}", one["state"], "", f"{one['batches']:,} batches", one["restarts"], one["pid"])
            for k, one in enumerate(self._manager.get_status()["workers"], 1)
        ]

    def close(self) -> None:
        self._manager.close()
