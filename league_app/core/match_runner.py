"""LocalMatchRunner: plays the matches of a tournament in worker processes, or in this process."""

from __future__ import annotations

from collections.abc import Sequence

from engine.play.arena import DEFAULT_LANES
from engine.play.concurrent import ConcurrentMatchExecutor
from engine.play.executors import Executor, SequentialMatchExecutor
from engine.play.live import LiveMatch
from engine.play.match import MatchSpec
from engine.registry import game_of


class LocalMatchRunner:
    """Plays matches; its worker processes are kept from one tournament to the next."""

    def __init__(
        self,
        workers: int,
        batch_size: int = 10,
        concurrent: bool = True,
        lanes: int = DEFAULT_LANES,
        plugins: Sequence[str] = (),
    ) -> None:
        self._workers = ConcurrentMatchExecutor(workers, batch_size, lanes=lanes, plugins=plugins)
        self._here = None if concurrent else SequentialMatchExecutor(lanes)
        self.speed = 1.0  # factor for live matches; 0 for full speed

    @property
    def workers(self) -> ConcurrentMatchExecutor:
        """The worker processes: their number, status and events."""
        return self._workers

    def executor(self) -> Executor:
        return self._here or self._workers

    def watch(self, spec: MatchSpec, skip: int = 0) -> LiveMatch:
        """Starts a live match at the game's pace, after `skip` steps at full speed."""
        return self._workers.watch(spec, self.pace(spec), skip)

    def pace(self, spec: MatchSpec) -> float:
        return game_of(spec.game).info.pace * self.speed

    @property
    def in_this_thread(self) -> bool:
        return self._here is not None

    def hold(self, yes: bool) -> None:
        """Only for worker processes: in this process the run itself decides after each match whether to continue."""
        if self._here is None:
            self._workers.hold(yes)

    @property
    def waiting(self) -> int:
        """Matches that were taken and have not started; 0 if they are played in this process."""
        return self._workers.waiting if self._here is None else 0

    def stop_now(self) -> None:
        if self._here is None:
            self._workers.stop(now=True)

    def close(self) -> None:
        self._workers.close()
        if self._here is not None:
            self._here.close()
