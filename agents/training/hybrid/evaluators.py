"""Trains the models of a search: in this process, in threads or in processes, with the same outcomes to the bit.

`new_evaluator` makes an `Evaluator` (`evaluation.py`) with the workers of a mode (`workers.py`, `process_workers.py`).
Stacks of models with equal layers are no mode: torch computes a product of stacked matrices in another way, so outcomes
would depend on which models happen to be alike.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agents.training.events import Span
from agents.training.hybrid.arrays import SharedTask, TaskArrays, local_arrays, shared_task
from agents.training.hybrid.capacity import Capacity, Note
from agents.training.hybrid.data import Task
from agents.training.hybrid.evaluation import Evaluator
from agents.training.hybrid.memory import LINUX
from agents.training.hybrid.model_process import FIT
from agents.training.hybrid.outcome import LearningPlan
from agents.training.hybrid.process_workers import ProcessLimits, ProcessWorkers
from agents.training.hybrid.workers import Job, SequentialWorkers, ThreadWorkers, Workers
from engine.errors import BadValue
from engine.options import option, validate

CPU = "cpu"
DEVICE = re.compile(r"cpu|cuda(:\d+)?")
DEVICES = "cpu, cuda:0, cuda:1 and so on, separated by commas"
MODES = SEQUENTIAL, THREADS, PROCESSES, AUTO = ("sequential", "threads", "processes", "auto")
LIMITED = (PROCESSES, AUTO)  # modes in which `model_memory` has an effect
START = 2.0  # seconds until processes train: their server imports torch
SPEED = 20e9  # multiplications a second of one core
PASSES = 3  # as many multiplications as for an answer, for an answer and both gradients


@dataclass(frozen=True)
class ConcurrencySettings:
    """How many models are trained at a time, and where. Only time depends on it, unless there are devices of several
    sorts."""

    concurrent_models: int = option(2, help="models that are trained at a time, as far as there are cores and memory")
    max_concurrent_models: int = option(4, low=1, high=64, help="maximum number of models that are trained at a time")
    mode: str = option(
        AUTO, choices=MODES,
        help="sequential: one model after the other; threads: several, with little memory; processes: several, with "
        "the best use of cores; auto: processes, once they save more time than their start takes",
    )  # fmt: skip
    devices: str = option(CPU, help="assigned to models in turn: cpu, cuda:0, cuda:1 and so on, separated by commas")
    dynamic: bool = option(False, help="train fewer models at a time while other programs use the cores")
    model_memory: int = option(
        0, low=0, high=1 << 20, help="megabytes that a model may use in a process of its own; 0: no limit"
    )

    def __post_init__(self) -> None:
        validate(self)
        device_names(self.devices)


def device_names(text: str) -> tuple[str, ...]:
    """The devices that a setting names. Raises BadValue for one that torch does not know."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise BadValue("devices", text, DEVICES)
    for name in names:
        if not DEVICE.fullmatch(name):
            raise BadValue("devices", name, DEVICES)
    return names


def check_available(names: Sequence[str]) -> None:
    """Raise BadValue for a device that this machine lacks."""
    if all(name == CPU for name in names):
        return
    import torch  # takes a second

    count = torch.cuda.device_count()
    known = ", ".join([CPU, *(f"cuda:{k}" for k in range(count))])
    for name in names:
        if name != CPU and int(name.partition(":")[2] or 0) >= count:
            raise BadValue("devices", name, f"a device of this machine: {known}")


class _Maker:
    """Makes workers; the examples are arranged once."""

    def __init__(self, task: Task, plan: LearningPlan, devices: Sequence[str], fit: str, limits: ProcessLimits) -> None:
        self._task, self._plan, self._devices, self._fit, self._limits = task, plan, devices, fit, limits
        self._local: TaskArrays | None = None
        self._shared: SharedTask | None = None

    def make(self, mode: str) -> Workers:
        if mode == PROCESSES:
            self._shared, self._local = self._shared or shared_task(self._task), None  # `auto` stays with processes
            return ProcessWorkers(self._shared, self._plan, self._devices, self._limits, self._fit)
        from agents.training.hybrid.fitting import tensors_of

        self._local = self._local or local_arrays(self._task)
        module, _, name = self._fit.partition(":")
        fit = getattr(importlib.import_module(module), name)
        if mode == SEQUENTIAL:
            return SequentialWorkers(tensors_of(self._local, self._devices[0]), self._plan, fit)
        tensors = {device: tensors_of(self._local, device) for device in self._devices}
        return ThreadWorkers([tensors[device] for device in self._devices], self._plan, fit)


class _Chooser:
    """Chooses the mode. `auto` begins in this process, and changes to processes once it is clear that they save more
    time than it takes to start them."""

    def __init__(self, mode: str, devices: Sequence[str], limited: bool, capacity: Capacity, updates: int) -> None:
        """`limited`: whether the memory of a model is. `updates`: times that a model computes with each weight."""
        self._given, self._devices, self._limited, self._capacity = mode, devices, limited, capacity
        self._updates = updates
        self._mode = mode if mode != AUTO else ""

    def choose(self, jobs: Sequence[Job], seconds: float) -> tuple[str, str]:
        """The mode for these jobs, and why it was chosen; all models so far have taken so many seconds."""
        if self._mode == PROCESSES or self._given != AUTO:
            return self._mode, ""
        self._mode, reason = self._suited(jobs, seconds)
        return self._mode, reason

    def _suited(self, jobs: Sequence[Job], seconds: float) -> tuple[str, str]:
        limit = self._capacity.limit
        if self._limited:
            return PROCESSES, "only the memory of a process can be limited"
        if limit == 1:
            return SEQUENTIAL, ""
        if all(device != CPU for device in self._devices):
            return THREADS, "processes would each load torch's libraries to the GPU"
        left = sum(job.work for job in jobs) * self._updates / SPEED
        if (seconds + left) * (1 - 1 / limit) >= START:
            return PROCESSES, "each on cores of its own"
        return SEQUENTIAL, f"they take less time so far than starting processes would, about {START:g} s"


def new_evaluator(
    task: Task,
    plan: LearningPlan,
    settings: ConcurrencySettings,
    *,
    cores: int,
    note: Note,
    span: Callable[[Span], None] | None = None,
    capacity: Capacity | None = None,
    limits: ProcessLimits | None = None,
    fit: str = FIT,
) -> Evaluator:
    """An evaluator for this task. `note` gets a text, and whether it is a warning; `span` the time of every model.

    `cores`: that models may use together. The others replace what the settings say and, for tests, the function that
    trains a model, as "module:function".
    """
    devices = device_names(settings.devices)
    check_available(devices)
    capacity = capacity or Capacity(
        settings.concurrent_models,
        settings.max_concurrent_models,
        plan.threads,
        cores,
        note,
        dynamic=settings.dynamic,
    )
    limits = limits or ProcessLimits(memory=settings.model_memory << 20 or None)
    if limits.memory and (settings.mode not in LIMITED or not LINUX):
        where = f"in mode {settings.mode}: only processes have one" if LINUX else "on this system: only Linux has one"
        note(f"the limit of memory for a model (model_memory) has no effect {where}", True)
    maker = _Maker(task, plan, devices, fit, limits)
    updates = PASSES * len(task.train) * plan.epochs
    chooser = _Chooser(settings.mode, devices, limits.memory is not None, capacity, updates)
    return Evaluator(plan, task.shape, task.outputs, capacity, chooser.choose, maker.make, note, span)
