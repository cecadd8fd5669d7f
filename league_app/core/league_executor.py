"""LeagueExecutor: the executor that a league plays on, and the settings that it is made from."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from engine.closing import Closing
from engine.foreign_code import name_and_text
from engine.play.executors import DEFAULT, Executor, check_executor_name, new_executor
from engine.play.live import LiveMatch, game_pace
from engine.play.match import MatchSpec
from engine.play.play_settings import PlaySettings
from engine.telemetry import Status
from league_app.core.formatting import plural
from league_app.core.validation import check_batch_size

IN_PROCESS = "sequential"  # the executor of leagues that were saved with `use_concurrent = False`

log = logging.getLogger("ringside")


class LeagueExecutor(Closing):
    """Makes the executor when it is needed, and keeps it for the next tournament. Not thread-safe."""

    def __init__(self, saved: Mapping[str, Any], lanes: int, plugins: tuple[str, ...], on: str | None = None) -> None:
        """`saved`: the settings of the league. `on`: a name that is used instead of the saved one."""
        self.saved_name = str(saved.get("executor") or (DEFAULT if saved.get("use_concurrent", True) else IN_PROCESS))
        self.name_now = on
        self.batch_size = check_batch_size(saved.get("batch_size", 10))
        self.speed = 1.0  # factor for the pace of live matches; 0 for full speed
        self._lanes, self._plugins = lanes, plugins
        self._executor: Executor | None = None
        self._problem = ""  # why the executor reports no status; logged once

    @property
    def name(self) -> str:
        return self.name_now or self.saved_name

    @property
    def concurrent(self) -> bool:
        """Whether workers play, and not this process."""
        return self.name.partition(":")[0] != IN_PROCESS

    @property
    def most_workers(self) -> int:
        return check_executor_name(self.name)[0].most_workers

    @property
    def current(self) -> Executor | None:
        """The executor, if anything was played."""
        return self._executor

    def where_text(self, workers: int) -> str:
        """Where the next matches are played, such as "on 2 workers"."""
        if not self.concurrent:
            return "in this process"
        return f"on {plural(workers, 'worker')}{'' if self.name == DEFAULT else f' of {self.name}'}"

    def get(self, workers: int) -> Executor:
        """The executor, with this many workers."""
        if self._executor is None:
            settings = PlaySettings(workers, self.batch_size, self._lanes, plugins=self._plugins)
            self._executor = new_executor(self.name, settings)
        self._executor.workers = workers
        return self._executor

    def status(self) -> Status | None:
        """None if nothing was played, or if the executor fails to report it: the panels then do without."""
        executor, problem, found = self._executor, "", None
        try:
            found = executor.status() if executor is not None else None
        except Exception as error:  # an executor may be a plug-in, and its machines out of reach
            problem = f"executor {self.name!r} reports no status: {name_and_text(error)}"
        if problem and problem != self._problem:
            log.warning(problem)
        self._problem = problem
        return found

    def watch(self, spec: MatchSpec, workers: int, skip: int) -> LiveMatch:
        return (self._executor or self.get(workers)).watch(spec, self.pace(spec), skip)

    def pace(self, spec: MatchSpec) -> float:
        """The steps a second at which a live match is shown."""
        return game_pace(spec) * self.speed

    def to_save(self) -> dict[str, Any]:
        concurrent = self.saved_name.partition(":")[0] != IN_PROCESS  # read by older versions
        return {"use_concurrent": concurrent, "batch_size": self.batch_size, "executor": self.saved_name}

    def close(self) -> None:
        """End the executor; the next one is made with the current settings."""
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.close()
