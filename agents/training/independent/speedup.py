"""How much faster a mode is than the sequential reference: measured, and as Amdahl's law predicts it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agents.training.independent.timeline import ACT, COLLECT, LEARN, PUBLISH, WAIT

PARTS = (COLLECT, ACT, LEARN, WAIT, PUBLISH)


@dataclass(frozen=True)
class Costs:
    """Seconds of the actor, per epoch."""

    collect: float  # the rules, and writing to buffers
    act: float  # observing and asking agents
    learn: float  # updates that the actor makes or waits for
    wait: float = 0.0  # for learners that are behind
    publish: float = 0.0  # passing new weights to the actor

    @classmethod
    def of(cls, seconds: Mapping[str, float], epochs: int) -> Costs:
        return cls(*(seconds.get(name, 0.0) / max(epochs, 1) for name in PARTS))

    @property
    def total(self) -> float:
        return self.collect + self.act + self.learn + self.wait + self.publish

    def shares(self) -> dict[str, float]:
        """By name, of the whole."""
        whole = max(self.total, 1e-12)
        return {name: getattr(self, name) / whole for name in PARTS}


def measured(reference: Costs, now: Costs) -> float:
    """Epochs per second now, over those of the reference."""
    return reference.total / max(now.total, 1e-12)


@dataclass(frozen=True)
class Resources:
    """What makes a mode faster than the reference."""

    acting_gain: float = 1.0  # factor by which agents act faster all at once than one by one
    learning_gain: float = 1.0  # the same of updates, on one core
    workers: int = 1  # that learn at the same time
    cores: int = 1
    asynchronous: bool = False  # learners and the actor work at the same time


def predicted(reference: Costs, resources: Resources) -> float:
    """The speed-up by Amdahl's law (1967): acting becomes faster by its gain, learning by its gain and the workers, and
    collecting remains. Asynchronous: the slowest of the actor, the learners and all cores together decides."""
    playing = reference.collect + reference.publish + reference.act / resources.acting_gain
    updates = reference.learn / resources.learning_gain
    whole = playing + updates / resources.workers
    if resources.asynchronous:
        whole = max(playing, updates / resources.workers, (playing + updates) / resources.cores)
    return reference.total / max(whole, 1e-12)
