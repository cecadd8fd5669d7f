"""The switches of the three accelerations: actions of all agents at once, updates of all agents at once, and learning
while the actor plays. They are made from a mapping by `read`; unknown keys are errors that suggest the nearest one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from engine.errors import BadValue, UnknownName

AUTO, SEQUENTIAL, STACKED, THREADS, PROCESSES = TRAINING_MODES = (
    "auto", "sequential", "stacked", "threads", "processes",
)  # fmt: skip
MOST_INTERVAL, MOST_WORKERS = 100_000, 256


@dataclass(frozen=True)
class ParallelSettings:
    """What runs at the same time. With `enabled` off all other switches are off too: every agent is observed, asked
    and trained one after the other, which is the reference for everything else."""

    enabled: bool = True
    parallel_actions: bool = True  # observations of all agents in one call, and their actions in another
    parallel_training: bool = True  # updates of all agents at once, in the way that `training_mode` says
    async_learning: bool = False  # learner processes learn while the actor plays
    train_interval: int = 4  # epochs between two trainings; asynchronous: between two reports
    num_workers: int | None = None  # processes or threads that learn; None: one for each agent, at most the cores
    use_threads: bool = False  # workers are threads of this process, not processes
    training_mode: str = AUTO  # of parallel training; auto measures the possible ones and chooses the fastest

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.type == "bool" and type(getattr(self, field.name)) is not bool:
                raise BadValue(field.name, getattr(self, field.name), "True or False")
        _check_count("train_interval", self.train_interval, MOST_INTERVAL)
        if self.num_workers is not None:
            _check_count("num_workers", self.num_workers, MOST_WORKERS, " or None")
        if self.training_mode not in TRAINING_MODES:
            raise UnknownName("training_mode", self.training_mode, TRAINING_MODES)
        self._check_together()

    def _check_together(self) -> None:
        """Raise BadValue for switches that contradict each other: none of them is ignored."""
        if not self.enabled:
            return
        mode, threads = self.training_mode, self.use_threads
        if not self.parallel_training and mode not in (AUTO, SEQUENTIAL):
            raise BadValue("training_mode", mode, "auto or sequential, because parallel_training is off")
        if self.async_learning and threads:
            raise BadValue("use_threads", threads, "False with async_learning, whose learners are processes")
        if self.async_learning and self.parallel_training and mode != AUTO:
            raise BadValue("training_mode", mode, "auto with async_learning, whose learners are processes with stacks")
        if threads and not self.parallel_training:
            raise BadValue("use_threads", threads, "False, because parallel_training is off")
        if threads and mode not in (AUTO, THREADS):
            raise BadValue("use_threads", threads, f"False with training_mode {mode!r}")

    @classmethod
    def read(cls, values: Mapping[str, Any] | ParallelSettings | None) -> ParallelSettings:
        """The settings that a mapping describes; missing keys have their defaults."""
        if isinstance(values, ParallelSettings):
            return values
        if values is None:
            return cls()
        if not isinstance(values, Mapping):
            raise BadValue("parallel", values, "a mapping of names to values")
        known = [field.name for field in fields(cls)]
        for name in values:
            if name not in known:
                raise UnknownName("option of parallel", name, known)
        return cls(**values)

    @property
    def together(self) -> bool:
        """Whether all agents are observed and asked at once."""
        return self.enabled and self.parallel_actions

    @property
    def without_effect(self) -> list[str]:
        """The switches that were set although `enabled` is off."""
        if self.enabled:
            return []
        given = {field.name: (getattr(self, field.name), field.default) for field in fields(self)}
        del given["train_interval"]  # it counts all the same
        return [name for name, (value, usual) in given.items() if value not in (usual, False, SEQUENTIAL)]

    @property
    def asynchronous(self) -> bool:
        return self.enabled and self.async_learning

    @property
    def candidates(self) -> tuple[str, ...]:
        """The ways to train that these settings allow; if there are several, they are measured."""
        if not self.enabled or not self.parallel_training:
            return (SEQUENTIAL,)
        if self.training_mode != AUTO:
            return (self.training_mode,)
        return (SEQUENTIAL, STACKED, THREADS if self.use_threads else PROCESSES)

    def workers(self, learners: int, cores: int) -> int:
        """How many workers learn for so many learning agents."""
        return max(min(learners, self.num_workers or max(cores, 1)), 1)


def _check_count(name: str, value: object, most: int, more: str = "") -> None:
    if type(value) is not int or not 1 <= value <= most:
        raise BadValue(name, value, f"a whole number from 1 to {most}{more}")
