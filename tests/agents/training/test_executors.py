"""The executor that plays a trainer's matches: chosen by name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agents.training.events import Champion, Checkpoint, Ended, Event, How, Log
from agents.training.session import TrainingSession
from engine.errors import RingsideError, UnknownName
from engine.registry import TRAINERS
from tests.agents.training.fake_context import GAME, QUICK, measured, of, write_config
from tests.agents.training.session_helpers import OURS, events_until, run, session


@pytest.fixture(autouse=True)
def trainers() -> Iterator[None]:
    for name, trainer in OURS.items():
        TRAINERS.add(name, trainer)
    yield
    for name in OURS:
        TRAINERS.remove(name)


# The choice


@pytest.mark.parametrize("on", ["local", "sequential"])
def test_the_context_has_the_name_of_the_executor(on: str) -> None:
    assert f"on {on}" in [log.text for log in of(Log, run(does="where", on=on))]


@pytest.mark.parametrize(
    ("on", "error", "text"),
    [
        ("locla", UnknownName, "unknown executor 'locla': did you mean 'local'"),
        ("local:2", RingsideError, "executor = 'local:2'"),
        (None, RingsideError, "executor = None: must be a name"),
    ],
)
def test_a_wrong_name_is_refused_before_a_process_starts(on: Any, error: type[RingsideError], text: str) -> None:
    with pytest.raises(error, match=text):
        session(on=on)


def evolved(on: str, config: str) -> list[Event]:
    settings = {**QUICK, "generations": 3, "neat_config": config}
    with TrainingSession("neat", settings, GAME.spec, workers=2, on=on) as one:
        one.start()
        return events_until(one)


def test_every_executor_gives_the_same_evolution_to_the_bit(tmp_path: Path) -> None:
    config = write_config(tmp_path / "crowd.txt")
    ours, theirs = evolved("local", config), evolved("sequential", config)
    assert ours[-1] == theirs[-1] == Ended(How.FINISHED, "3 generations")
    assert measured(ours) == measured(theirs)
    for kind in (Checkpoint, Champion):
        assert of(kind, ours) == of(kind, theirs) != []
