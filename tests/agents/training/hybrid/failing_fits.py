"""Functions that train models in place of `fit`, and fail for models whose first layer has a certain width."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import torch

from agents.training.hybrid.fitting import TaskTensors, Watch, fit
from agents.training.hybrid.genome import DenseGene, Genome
from agents.training.hybrid.outcome import LearningPlan, Outcome
from engine.errors import BadValue

HERE = "tests.agents.training.hybrid.failing_fits"
FOLDER = "RINGSIDE_TEST_FOLDER"  # variable: where functions note what they have done
TOO_LARGE = "fit_with_all_memory"
RAISES, DIES, STALLS, HUNGRY, REFUSES, ONCE = 31, 32, 33, 34, 35, 36  # widths
FICKLE, OTHER = 40, 41


def __getattr__(name: str) -> object:
    """There is not enough memory for a function of this name."""
    if name == TOO_LARGE:
        raise MemoryError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def failing(width: int) -> Genome:
    return Genome((), (DenseGene(width),))


def fit_or_fail(genome: Genome, task: TaskTensors, plan: LearningPlan, watch: Watch) -> Outcome:
    """Fails in the second epoch."""
    width = genome.dense[0].width if genome.dense else 0

    def fail_at(epoch: int) -> bool:
        stop = watch(epoch)
        if epoch == 2:
            _fail(width)
        return stop

    return fit(genome, task, plan, fail_at)


def _fail(width: int) -> None:
    match width:
        case 31:
            raise ValueError("the number 31\nis not liked")
        case 32:
            os.kill(os.getpid(), signal.SIGKILL)
        case 33:
            threading.Event().wait()
        case 34:
            torch.zeros(1 << 30)  # 4 GB
        case 35:
            raise BadValue("width", width, "another number")
        case 36:
            if not _noted("once"):
                raise RuntimeError("only the first time")


def _noted(name: str) -> bool:
    """Whether this was called before, in any process."""
    file = Path(os.environ[FOLDER]) / name
    try:
        file.touch(exist_ok=False)
    except FileExistsError:
        return True
    return False


def fit_at_the_same_time(genome: Genome, task: TaskTensors, plan: LearningPlan, watch: Watch) -> Outcome:
    """Notes how many models are trained at the same time, and dies once for one of them."""
    folder = Path(os.environ[FOLDER])
    running = folder / f"running-{genome.key}"
    running.touch()
    names = sorted(file.name for file in folder.glob("running-*"))
    with (folder / "log").open("a") as log:
        log.write(f"{genome.key} {len(names)}\n")
    if genome.dense[0].width == DIES and not _noted("died"):
        running.unlink()
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        return fit(genome, task, plan, watch)
    finally:
        running.unlink()


def fit_beside_others(genome: Genome, task: TaskTensors, plan: LearningPlan, watch: Watch) -> Outcome:
    """A model raises ValueError at first, and then its process dies each time. The other one trains until that has
    happened."""
    if genome.dense[0].width == OTHER:
        while not (_made("died") or watch(1)):
            time.sleep(0.005)
        return fit(genome, task, plan, watch)
    watch(1)
    if not _noted("raised"):
        raise ValueError("the first time")
    _noted("died")
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def _made(name: str) -> bool:
    return (Path(os.environ[FOLDER]) / name).exists()


def fit_until_ctrl_c(genome: Genome, task: TaskTensors, plan: LearningPlan, watch: Watch) -> Outcome:
    """Notes which models are trained; the second one is interrupted in its second epoch."""
    file = Path(os.environ[FOLDER]) / "log"
    with file.open("a") as log:
        log.write(f"{genome.key}\n")

    def press_at(epoch: int) -> bool:
        if epoch == 2 and len(file.read_text().split()) == 2:
            raise KeyboardInterrupt
        return watch(epoch)

    return fit(genome, task, plan, press_at)


def fit_at_once(genome: Genome, task: TaskTensors, plan: LearningPlan, watch: Watch) -> Outcome:
    """Trains nothing."""
    watch(1)
    return Outcome(genome.key, 1, 0.5, 0.5, 0.5, 1)


def fit_for_ever(genome: Genome, task: TaskTensors, plan: LearningPlan, watch: Watch) -> Outcome:
    """Trains in its second epoch until it is stopped or killed, unless it was killed before."""
    if os.environ.get(FOLDER) and _noted(f"begun-{genome.key}"):
        return fit(genome, task, plan, watch)

    def wait(epoch: int) -> bool:
        if epoch < 2:
            return watch(epoch)
        while not watch(epoch):
            time.sleep(0.005)
        return True

    return fit(genome, task, plan, wait)
