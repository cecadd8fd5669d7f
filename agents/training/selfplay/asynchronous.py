"""Plays training matches while the network learns, in worker processes."""

from __future__ import annotations

from collections.abc import Sequence

from agents.training.events import Level, Log, WorkerState
from agents.training.selfplay.collector import PLAN, PULSE, SPARE, Collected, CollectionStopped, plan_settings
from agents.training.selfplay.config import PpoConfig
from agents.training.selfplay.link import ExperienceBatch
from agents.training.selfplay.manager import ParallelManager
from agents.training.selfplay.opponents import LEARNER
from agents.training.selfplay.parallel_config import ParallelConfig
from agents.training.selfplay.state import PpoRun
from agents.training.trainer import Context
from engine.closing import Closing
from engine.errors import RingsideError
from engine.play.rollout_columns import joined
from engine.play.rollout_process import TIME_LIMIT
from engine.registry import game_of
from engine.seeding import derive

GIVEN_UP = "given up"
ENDED = ("restarting", GIVEN_UP)  # states of a worker whose process has ended


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
            size_settings={"steps": settings.steps, "streams": settings.streams},
            worker_names=[f"rollout {k}" for k in range(1, count + 1)],
        )
        self._manager.load(run.learner.network(1.0).tensors)
        self._manager.start_workers()
        self._noticed = self._counted = self._manager.get_status()  # for the log; for metrics
        self._logs: list[Log] = []
        if left := settings.streams - len(self.streams):
            played = f"{count} processes play {boards} stream{'s' * (boards > 1)} each"
            are = "is" if left == 1 else "are"
            self._logs.append(Log(f"{played}: {left} of {settings.streams} streams {are} not played"))
        self._unused: list[ExperienceBatch] = []  # batches that were collected, but are not learned from

    def collect(self) -> Collected:
        """At least as many steps as all streams play between two updates, from whichever workers have them."""
        needed = len(self.streams) * self._settings.steps
        batches = self._unused  # until there are enough of them
        while sum(map(len, batches)) < needed:
            if self._context.attend():
                raise CollectionStopped("the session was stopped")
            try:
                batches += self._manager.collect_experiences(PULSE)
            finally:
                self._notice()
        self._unused = []
        total = sum(map(len, batches))
        staleness = sum(batch.staleness * len(batch) for batch in batches) / total
        before, now = self._counted, self._noticed
        self._counted = now
        refused, lost = (now[what]["batches"] - before[what]["batches"] for what in ("refused", "lost"))
        waiting = now["queue_info"]["experience_total"]
        return Collected(joined([batch.trajectories for batch in batches]), staleness, waiting, refused, lost)

    def _notice(self) -> None:
        """Compares the state of the workers with the last one, for the log."""
        before, now = self._noticed, self._manager.get_status()
        self._noticed = now
        for was, worker in zip(before["workers"], now["workers"], strict=True):
            ended = worker["state"] in ENDED or worker["restarts"] > was["restarts"]
            if ended and was["state"] not in ENDED:
                again = "is not" if worker["state"] == GIVEN_UP else "is"
                self._warn(f"{worker['name']} {worker['last_failure']}. It {again} started again")
        batches, games = (now["lost"][what] - before["lost"][what] for what in ("batches", "games"))
        if batches or games:
            self._warn(f"lost with their workers: {_number(batches, 'batch')}, {_number(games, 'match')}")

    def _warn(self, text: str) -> None:
        self._logs.append(Log(text, Level.WARNING))

    def take_logs(self) -> list[Log]:
        taken, self._logs = self._logs, []
        return taken

    @property
    def threads(self) -> bool:
        return False

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

    def save_after_error(self) -> bytes:
        return b""

    def workers(self, part: str) -> Sequence[WorkerState]:
        found = []
        for worker in self._manager.get_status()["workers"]:
            done = _number(worker["batches"], "batch")
            found.append(WorkerState(worker["name"], worker["state"], "", done, worker["restarts"], worker["pid"]))
        return found

    def close(self) -> None:
        self._manager.close()
        self._take_last_batches()
        self._notice()
        if self._unused:
            steps, batches = sum(map(len, self._unused)), _number(len(self._unused), "batch")
            self._logs.append(Log(f"played, but not learned from, because training ended: {batches}, {steps:,} steps"))
            self._unused = []

    def _take_last_batches(self) -> None:
        """Those of the other workers, too, if one has failed."""
        while True:
            try:
                self._unused += self._manager.collect_experiences(0.0)
                return
            except RingsideError as error:  # each is raised once
                self._warn(str(error))


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}{'es' * (count != 1)}"
