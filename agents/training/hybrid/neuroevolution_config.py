"""The configuration of `HybridNeuroevolution`: one mapping with the settings of the search, of the training of a model,
and of how many models are trained at a time.

    CONFIG["concurrent_models"] = 3
    HybridNeuroevolution(CONFIG, train_loader, test_loader)
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar, cast

import numpy as np

from agents.training.hybrid.evaluators import ConcurrencySettings
from agents.training.hybrid.loaders import MOST_EXAMPLES
from agents.training.hybrid.outcome import LearningPlan
from agents.training.hybrid.search_settings import SearchSettings
from agents.training.hybrid.space import MOST_OUTPUTS
from engine.errors import BadValue, UnknownName
from engine.options import Value, build, option, validate
from engine.processes.bootstrap import cores as usable_cores

logger = logging.getLogger(__name__)

T = TypeVar("T")

EPOCHS = "num_epochs"  # the key of `LearningPlan.epochs`


@dataclass(frozen=True)
class DataSettings:
    """How the loaders are read, and the machine."""

    num_classes: int = option(
        0, low=0, high=MOST_OUTPUTS, help="classes of labels; 0: as many as the labels of the training examples say"
    )
    max_examples: int = option(
        MOST_EXAMPLES, low=1, high=2**40, help="maximum number of examples of a loader, which may be endless"
    )
    cores: int = option(0, low=0, high=4096, help="cores that models may use together; 0: all")

    def __post_init__(self) -> None:
        validate(self)


PARTS = (SearchSettings, LearningPlan, ConcurrencySettings, DataSettings)


@dataclass(frozen=True)
class NeuroevolutionConfig:
    """What a configuration says; `read` makes it of a mapping."""

    search: SearchSettings
    plan: LearningPlan
    concurrency: ConcurrencySettings
    data: DataSettings

    @classmethod
    def read(cls, config: Mapping[str, Any]) -> NeuroevolutionConfig:
        """Missing keys have their defaults; unknown ones are errors that suggest the nearest known one."""
        if not isinstance(config, Mapping):
            example = {"population_size": 6, "concurrent_models": 2}
            raise BadValue("CONFIG", config, f"a mapping of names to values, such as {example}")
        known = default_config()
        for name in config:
            if name not in known:
                raise UnknownName("key of CONFIG", name, known)
        values = {name: _plain(name, value) for name, value in config.items()}
        concurrency = _part(ConcurrencySettings, values)
        concurrency = _part(ConcurrencySettings, {**values, "concurrent_models": clamped(concurrency)})
        return cls(_part(SearchSettings, values), _part(LearningPlan, values), concurrency, _part(DataSettings, values))

    @property
    def cores(self) -> int:
        return self.data.cores or usable_cores()


def clamped(concurrency: ConcurrencySettings) -> int:
    """`concurrent_models` within 1 and `max_concurrent_models`; a change is logged as a warning."""
    wanted, most = concurrency.concurrent_models, concurrency.max_concurrent_models
    allowed = min(max(wanted, 1), most)
    if allowed != wanted:
        limit = "at least one model is trained at a time" if wanted < 1 else f"max_concurrent_models is {most}"
        logger.warning("concurrent_models = %d is changed to %d: %s", wanted, allowed, limit)
    return allowed


def explained() -> list[tuple[str, Value, str]]:
    """Key, default and meaning of every entry."""
    found: dict[str, tuple[str, Value, str]] = {}
    for part in PARTS:
        for field in fields(part):
            key, default = _key(part, field.name), cast(Value, field.default)
            found.setdefault(key, (key, default, field.metadata["help"]))
    return list(found.values())


def default_config() -> dict[str, Any]:
    """Every key with its default."""
    return {key: default for key, default, _ in explained()}


def _key(part: type, name: str) -> str:
    return EPOCHS if part is LearningPlan and name == "epochs" else name


def _part(kind: type[T], values: Mapping[str, Any]) -> T:
    """The settings of one kind among all values. `seed` is one of two kinds: both get it."""
    names = {field.name: _key(kind, field.name) for field in fields(kind)}  # type: ignore[arg-type]
    values = {"seed": SearchSettings.seed, **values}
    try:
        return build(kind, {name: values[key] for name, key in names.items() if key in values})
    except BadValue as error:
        raise BadValue(names.get(error.field, error.field), error.value, error.needed) from None


def _plain(name: str, value: Any) -> Any:
    """Numbers of numpy as those of Python, and lists of devices as texts."""
    if isinstance(value, np.generic):
        return value.item()
    if name == "devices" and isinstance(value, list | tuple) and all(isinstance(device, str) for device in value):
        return ",".join(value)
    return value


CONFIG: dict[str, Any] = default_config()
