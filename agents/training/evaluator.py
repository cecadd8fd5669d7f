"""Plays the matches of a trainer on an executor."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.closing import Closing
from engine.play.executors import DEFAULT, new_executor
from engine.play.match import GameSpec, MatchSpec
from engine.play.play_settings import PlaySettings
from engine.play.results import ResultBatch
from engine.registry import game_of, new_game
from engine.telemetry import WorkerView


class MatchEvaluator(Closing):
    """An executor without records of actions and without quarantine: an agent that fails gives a failed
    result in each of its matches, and the other matches continue."""

    def __init__(
        self,
        max_workers: int | None = None,
        batch_size: int = 10,
        *,
        game: str | GameSpec = "pong",
        plugins: Sequence[str] = (),
        on: str = DEFAULT,
    ) -> None:
        """`max_workers`: defaults to one less than the number of cores. `plugins`: modules that workers import.
        `on`: the name of the executor."""
        self.game = new_game(game) if isinstance(game, str) else game_of(game)
        settings = PlaySettings(max_workers, batch_size, record=False, quarantine_after=None, plugins=tuple(plugins))
        self._executor = new_executor(on, settings)

    def play(self, specs: Sequence[MatchSpec], stopping: Callable[[], bool] = lambda: False) -> ResultBatch | None:
        """Returns results in the order of the specs, or None if `stopping` returned True; it is called several times a
        second. A match that was not played has zeros for statistics."""
        stopped = False

        def check_stop() -> bool:
            nonlocal stopped
            stopped = stopping()
            return stopped

        seats, stats = self.game.info.seats, len(self.game.info.stats)
        batches = [ResultBatch.empty(seats, stats)]
        for batch in self._executor.batches(specs, check_stop):
            batches.append(batch if batch.shape[1] == stats else batch.without_stats(stats))
        return None if stopped else ResultBatch.joined(batches).in_order(specs)

    def worker_views(self) -> Sequence[WorkerView]:
        """The workers and what they do. It may be called at any time, also while it plays."""
        return self._executor.status().workers

    @property
    def workers(self) -> int:
        return self._executor.workers

    @workers.setter
    def workers(self, count: int) -> None:
        if count != self._executor.workers:
            self._executor.workers = count

    def close(self) -> None:
        """Ends the workers."""
        self._executor.close()
