"""How many models are trained at a time: what the settings say, as far as cores, load and memory allow."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from agents.training.hybrid.load import Clock, Load, LoadControl, OtherPrograms
from agents.training.hybrid.memory import available_memory
from agents.training.hybrid.workers import Job, Worker

Note = Callable[[str, bool], None]  # a text, and whether it is a warning

RESERVE = 256 << 20  # bytes that are left to other programs
AGAIN = 1.25  # times the memory that a model needs must be available before there is room again


class Capacity:
    """Limits the number of models. Every change is noted."""

    def __init__(
        self,
        wanted: int,
        most: int,
        threads: int,
        cores: int,
        note: Note,
        *,
        dynamic: bool = False,
        load: Load | None = None,
        clock: Clock = time.monotonic,
        available: Callable[[], int] = available_memory,
    ) -> None:
        self._threads, self._note, self._available = threads, note, available
        self._wanted = min(max(wanted, 1), most)
        if self._wanted != wanted:
            note(
                f"concurrent_models = {wanted}: {models(self._wanted)} at a time, from 1 to max_concurrent_models", True
            )
        self._control = LoadControl(self._wanted, threads, load or OtherPrograms(), clock) if dynamic else None
        self._cramped = False  # memory for another model was missing
        self._factor = 1.0  # how many times its estimate a model has needed at most
        self.limit = 0
        self.set_cores(cores)

    def set_cores(self, cores: int) -> None:
        """The number of cores that models may use together has changed."""
        before, self.limit = self.limit, min(self._wanted, max(cores // self._threads, 1))
        if self._control is not None:
            self._control.set_most(self.limit)
        if self.limit not in (before, self._wanted) or (before and self.limit != before):
            each = "one thread" if self._threads == 1 else f"{self._threads} threads"
            text = f"{models(self.limit)} at a time, of {self._wanted} wanted: each uses {each}"
            self._note(f"{text}, and {_cores(cores)}", self.limit < self._wanted)
        if self._threads > cores and not before:
            self._note(f"a model uses {self._threads} threads, but {_cores(cores)}: training is slower", True)

    @property
    def models(self) -> int:
        """The number of models at the moment, as far as cores and load allow."""
        if self._control is None:
            return self.limit
        before = min(self._control.models, self.limit)
        now = min(self._control.sample(), self.limit)
        if now != before:
            text = f"{models(now)} at a time instead of {before}: other programs use {self._control.load:.1f} cores"
            self._note(text, False)
        return now

    def add_peak(self, job: Job, size: int) -> None:
        """A model has needed so many bytes: if these are more than was estimated, others may need more too."""
        self._factor = max(self._factor, size / job.need)

    def has_memory(self, job: Job, training: Sequence[Worker]) -> bool:
        """Whether there is enough memory for another model beside those that train: they may still grow to what they
        need."""
        if not training:
            return True
        need = self._expected(job)
        growing = sum(max(self._expected(worker.job) - (worker.grown or 0), 0) for worker in training if worker.job)
        available = self._available()
        enough = available - RESERVE - growing >= need * (AGAIN if self._cramped else 1)
        if enough == self._cramped:
            self._cramped = not enough
            if enough:
                self._note("there is enough memory for more models at a time again", False)
            else:
                text = f"{models(len(training))} at a time for now: another one may need {_size(need)}"
                grow = f", those that train {_size(growing)} more" if growing else ""
                self._note(f"{text}{grow}, and {_size(available)} are available", True)
        return enough

    def _expected(self, job: Job) -> int:
        return round(job.need * self._factor)


def models(count: int) -> str:
    return "one model" if count == 1 else f"{count} models"


def _cores(count: int) -> str:
    return "one core may be used" if count == 1 else f"{count} cores may be used"


def _size(size: int) -> str:
    return f"{size / 2**30:.1f} GB" if size >= 1 << 30 else f"{size / 2**20:.0f} MB"
