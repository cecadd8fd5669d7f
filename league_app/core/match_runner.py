"""Where the matches of a tournament are played: worker processes, or this process if that is asked for."""

from __future__ import annotations

from collections.abc import Sequence

from engine.play.arena import DEFAULT_LANES
from engine.play.concurrent import ConcurrentMatchExecutor
from engine.play.executors import Executor, SequentialMatchExecutor
from engine.play.live import LiveMatch
from engine.play.match import MatchSpec
from engine.registry import game_of


class Stage:
    """Keeps its worker processes from one tournament to the next."""

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
        self.speed = 1.0  # of live matches; 0 for as fast as they go

    @property
    def workers(self) -> ConcurrentMatchExecutor:
        """For its status and its events, and to change how many there are."""
        return self._workers

    def executor(self) -> Executor:
        return self._here or self._workers

    def watch(self, spec: MatchSpec, skip: int = 0) -> LiveMatch:
        """At the pace that suits the game, after so many steps at full speed."""
        return self._workers.watch(spec, self.pace(spec), skip)

    def pace(self, spec: MatchSpec) -> float:
        return game_of(spec.game).info.pace * self.speed

    @property
    def in_this_thread(self) -> bool:
        return self._here is not None

    def hold(self, yes: bool) -> None:
        """In this process a run looks by itself, after each match, whether it is to go on."""
        if self._here is None:
            self._workers.hold(yes)

    @property
    def waiting(self) -> int:
        """Matches that were taken and are not being played; in this process nobody knows."""
        return self._workers.waiting if self._here is None else 0

    def stop_now(self) -> None:
        if self._here is None:
            self._workers.stop(now=True)

    def close(self) -> None:
        self._workers.close()
        if self._here is not None:
            self._here.close()
