"""A training session: runs a trainer in its own process, and pauses, resumes or stops it.

with TrainingSession("neat", {"generations": 40}, game.spec, workers=2) as session:
    session.start()
    while not session.over:
        for event in session.wait():
            ...
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence

from agents.training.events import Ended, Event
from agents.training.job_spec import TrainingJobSpec
from agents.training.records import MatchRecord
from agents.training.trainer import Trainer
from agents.training.trainer_process import TrainerProcess
from engine.closing import Closing
from engine.errors import BadValue, RingsideError
from engine.options import build, items
from engine.play.executors import DEFAULT, check_executor_name
from engine.play.match import AgentSpec, GameSpec
from engine.play.play_settings import MOST_WORKERS, check_number, check_plugins, default_workers
from engine.registry import TRAINERS, game_of, kind_of


class TrainingSession(Closing):
    """One run of a trainer, from the start or a checkpoint to exactly one `Ended`.

    Only one thread at a time may call `poll` or `wait`; other methods may be called from any thread at any time, and do
    nothing after the end.
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
        agents: Sequence[AgentSpec] = (),
        records: Sequence[MatchRecord] = (),
        plugins: Sequence[str] = (),
        on: str = DEFAULT,
    ) -> None:
        """`workers`: processes that the trainer may use; defaults to one less than the number of cores. `state`: of the
        checkpoint to resume from. `ancestor`: an agent to start from. `agents`: those that the trainer's settings
        name (`Trainer.agent_settings`). `records`: the matches that it asks for (`Trainer.records`). `plugins`: modules
        that its process and its workers import, because they register games, agents or trainers. `on`: the name of the
        executor that plays matches; see `engine.play.executors.new_executor`. Raises an error if the settings are
        invalid."""
        self.trainer: Trainer = build(TRAINERS.get(trainer), settings, f"setting of {trainer}")
        self.game = game
        self._workers = default_workers() if workers is None else workers
        check_number("workers", self._workers, 1, MOST_WORKERS)
        if state is not None and not isinstance(state, bytes):
            raise BadValue("state", state, "the bytes of a checkpoint, or None")
        for agent in (*agents, *([] if ancestor is None else [ancestor])):
            kind_of(agent)
        check_executor_name(on)
        self.trainer.check(game_of(game), ancestor, state is not None)
        self._state, self._ancestor, self._plugins, self._on = state, ancestor, check_plugins(plugins), on
        self._agents, self._records = tuple(agents), tuple(records)
        self._process: TrainerProcess | None = None
        self._end: weakref.finalize[[], TrainingSession] | None = None
        self._paused = self._stopping = self._closed = self._over = False

    def start(self) -> None:
        """Starts the process without waiting for it; if that fails, the session ends with an event."""
        if self._process is not None or self._closed:
            raise RingsideError("a session can be started only once: create another one, from its last checkpoint")
        job = TrainingJobSpec(
            self.trainer.name,
            items(self.trainer),
            self.game,
            self._workers,
            self._state,
            self._ancestor,
            self._agents,
            self._plugins,
            self._on,
            self._records,
        )
        self._process = process = TrainerProcess(job)
        self._end = weakref.finalize(self, process.close)  # at the latest at exit
        if self._paused:
            process.send("pause")
        if self._stopping:
            process.send("stop")

    def poll(self) -> list[Event]:
        """Returns the events since the last call, without waiting."""
        return self.wait(0.0)

    def wait(self, timeout: float | None = None) -> list[Event]:
        """Returns the events since the last call; waits for the first one, at most `timeout` seconds."""
        if self._process is None:
            return []
        events = self._process.receive(timeout)
        if events and isinstance(events[-1], Ended):
            self._over = True
        return events

    @property
    def over(self) -> bool:
        """Whether its last event has been polled."""
        return self._over

    @property
    def pid(self) -> int | None:
        """Process id, or None before the process has started."""
        return self._process.pid if self._process is not None else None

    def pause(self) -> None:
        """Pauses when the trainer next calls `Context.attend`."""
        if not self._stopping:
            self._paused = True
            self._send("pause")

    def resume(self) -> None:
        self._paused = False
        self._send("resume")

    @property
    def paused(self) -> bool:
        """Whether a pause was requested."""
        return self._paused and not self._over

    def request_player(self) -> None:
        """Asks for a `Current` event, after the step that is in progress. Only trainers with `shows_current` answer."""
        self._send("player")

    def stop(self) -> None:
        """Asks the trainer to write a last checkpoint and end, even if it is paused."""
        self._stopping, self._paused = True, False
        self._send("stop")

    def kill(self) -> None:
        """Ends the process at once: progress since the last checkpoint is lost. Its events can still be polled."""
        if self._process is not None:
            self._process.kill()

    @property
    def workers(self) -> int:
        """Number of worker processes the trainer may use; can be changed while it runs."""
        return self._workers

    @workers.setter
    def workers(self, count: int) -> None:
        check_number("workers", count, 1, MOST_WORKERS)
        self._workers = count
        self._send("workers", count)

    def _send(self, *words: object) -> None:
        if self._process is not None:
            self._process.send(*words)

    def close(self) -> None:
        """Kills the process if it still runs, and waits until it and its children are gone. Its last events can
        still be polled."""
        self._closed = True
        if self._process is not None:
            self._process.close()
