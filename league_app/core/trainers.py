"""What a trainer declares, for the window and the command line, also if it is not installed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from agents.training.trainer import Ends, Metric, Reading, Trainer, metric_of
from engine.errors import RingsideError
from engine.game import Floats
from engine.league.storage.session_rows import Session
from engine.registry import TRAINERS

SEED = "seed"  # a setting; by default the number of the session, so that no session repeats an earlier one


@dataclass(frozen=True)
class TrainerFacts:
    """The declarations of a trainer; those of a trainer that is not installed are empty."""

    metrics: Mapping[str, Metric] = field(default_factory=dict)
    headline: str = ""
    unit: str = "step"
    ends: Ends = Ends()  # noqa: RUF009 - frozen
    fixed: tuple[str, ...] = ()
    defaults: Mapping[str, object] = field(default_factory=dict)  # settings
    shows_current: bool = False
    starts_from_agent: bool = True
    guide: str = "training"
    has_population: bool = False  # whether its checkpoints have one, see `Trainer.population_of`

    @property
    def reading(self) -> Reading:
        """How the headline metric is read."""
        metric, _ = metric_of(self.headline, self.metrics)
        return metric.reading if metric is not None else Reading.SCORE

    def best(self, values: Floats) -> float | None:
        """The best value of the headline metric; None if there is none."""
        finite = values[np.isfinite(values)]
        return float(finite.min() if self.reading.lower_is_better else finite.max()) if len(finite) else None

    def headline_text(self, value: float) -> str:
        return reading_text(value, self.reading)

    def metric_of_player(self, role: str) -> str:
        """The metric that a player is judged by: a player with a role has its own, in the group of the headline."""
        return f"{self.headline.partition('/')[0]}/{role}" if role else self.headline

    def planned_steps(self, session: Session) -> int:
        """The number of steps after which a session ends; 0 if something else may end it first."""
        config = dict(session.config)
        count = config.get(self.ends.count)
        others = any(config.get(name) for name in (self.ends.minutes, self.ends.target))
        return count if type(count) is int and not others else 0


def trainer_facts(name: str) -> TrainerFacts:
    try:
        kind: Any = TRAINERS.get(name)
    except RingsideError:  # not installed, or broken: the doctor reports it
        return TrainerFacts()
    defaults = {field.name: field.default for field in fields(kind)}
    optional = {  # a plug-in need not inherit from `Trainer`
        name: getattr(kind, name) for name in ("shows_current", "starts_from_agent", "guide") if hasattr(kind, name)
    }
    optional["has_population"] = _has_population(kind)
    return TrainerFacts(
        dict(kind.metrics), kind.headline, kind.unit, kind.ends, tuple(kind.fixed), defaults, **optional
    )


def _has_population(kind: type) -> bool:
    """Whether it overrides `Trainer.population_of`."""
    method, inherited = getattr(kind, "population_of", None), vars(Trainer)["population_of"].__func__
    return method is not None and getattr(method, "__func__", method) is not inherited


def reading_text(value: float, reading: Reading) -> str:
    """A value of a metric, such as 74 % or 0.0312."""
    return f"{value * 100:.0f} %" if reading is Reading.SHARE else f"{value:.3g}"
