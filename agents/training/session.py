"""A training session: a trainer in a process of its own, told to pause, resume, stop, and heard through its events.

with TrainingSession("neat", {"generations": 40}, game.spec, workers=2) as session:
    session.start()
    while not session.over:
        for event in session.wait():
            ...
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from types import TracebackType

from agents.training.events import Ended, Event, Trainer
from agents.training.trainer_process import Keeper
from agents.training.job_spec import Task
from engine.errors import BadValue, RingsideError
from engine.options import build, items
from engine.play.concurrent import MOST_WORKERS, check_number, check_plugins, default_workers
from engine.play.match import AgentSpec, GameSpec
from engine.registry import TRAINERS, game_of, kind_of


class TrainingSession:
    """One run of a trainer, from a beginning or a checkpoint to exactly one `Ended`.

    `poll` and `wait` are for one thread at a time; everything else can be called from any thread at any time, and does
    nothing once it is over.
    """

    def __init__(
        self,
        trainer: str,
        settings: Mapping[str, object],
        game: GameSpec,
        *,
        workers: int | None = None,
        state: bytes | None = None,
        ancestor: AgentSpec | None = None,
        plugins: Sequence[str] = (),
    ) -> None:
        """`workers`: processes that the trainer may use; one less than there are cores, if not given. `state`: of the
        checkpoint to go on from. `ancestor`: an agent to start from. `plugins`: modules that its process and its
        workers import, for what is registered but not installed. An error if it could not be started so.
        """
        self.trainer: Trainer = build(TRAINERS.get(trainer), settings, f"setting of {trainer}")
        self.game = game
        self._workers = default_workers() if workers is None else workers
        check_number("workers", self._workers, 1, MOST_WORKERS)
        if state is not None and not isinstance(state, bytes):
            raise BadValue("state", state, "the bytes of a checkpoint, or None")
        if ancestor is not None:
            kind_of(ancestor)
        self.trainer.check(game_of(game), ancestor, state is not None)
        self._state, self._ancestor, self._plugins = state, ancestor, check_plugins(plugins)
        self._keeper: Keeper | None = None
        self._end: weakref.finalize[[], TrainingSession] | None = None
        self._paused = self._stopping = self._closed = self._over = False

    def start(self) -> None:
        """Does not wait for the process; how that went is an event too."""
        if self._keeper is not None or self._closed:
            raise RingsideError("a session is started once: make another one, from the last checkpoint, to go on")
        task = Task(
            self.trainer.name,
            items(self.trainer),
            self.game,
            self._workers,
            self._state,
            self._ancestor,
            self._plugins,
        )
        self._keeper = keeper = Keeper(task)
        self._end = weakref.finalize(self, keeper.close)  # at the latest when the program ends
        if self._paused:
            keeper.tell("pause")
        if self._stopping:
            keeper.tell("stop")

    # Hearing

    def poll(self) -> list[Event]:
        """What has happened since the last time; never waits."""
        return self.wait(0.0)

    def wait(self, timeout: float | None = None) -> list[Event]:
        """What has happened since the last time; if nothing has, wait for it, for so many seconds at most."""
        if self._keeper is None:
            return []
        events = self._keeper.take(timeout)
        if events and isinstance(events[-1], Ended):
            self._over = True
        return events

    @property
    def over(self) -> bool:
        """Whether its last event has been polled."""
        return self._over

    @property
    def pid(self) -> int | None:
        """Of its process, once it has one."""
        return self._keeper.pid if self._keeper is not None else None

    # Telling

    def pause(self) -> None:
        """From the next time that the trainer looks up, until it is resumed or stopped."""
        if not self._stopping:
            self._paused = True
            self._tell("pause")

    def resume(self) -> None:
        self._paused = False
        self._tell("resume")

    @property
    def paused(self) -> bool:
        """Whether it has been told to pause."""
        return self._paused and not self._over

    def stop(self) -> None:
        """Soon: the trainer is asked to make a last checkpoint and end, even if it is paused."""
        self._stopping, self._paused = True, False
        self._tell("stop")

    def kill(self) -> None:
        """Now: what came after its last checkpoint is lost. What it has told until now can still be polled."""
        if self._keeper is not None:
            self._keeper.kill()

    @property
    def workers(self) -> int:
        """How many worker processes the trainer may use; it can be changed while it runs."""
        return self._workers

    @workers.setter
    def workers(self, count: int) -> None:
        check_number("workers", count, 1, MOST_WORKERS)
        self._workers = count
        self._tell("workers", count)

    def _tell(self, *words: object) -> None:
        if self._keeper is not None:
            self._keeper.tell(*words)

    # Ending

    def close(self) -> None:
        """Kill it if it still runs, and wait until nothing of it is left. Its last events can still be polled."""
        self._closed = True
        if self._keeper is not None:
            self._keeper.close()

    def __enter__(self) -> TrainingSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
