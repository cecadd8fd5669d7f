"""The window and the command line ask trainers and agent kinds, and know none of them by name."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import engine.league
import league_app
from agents.training.trainer import Ends, Metric, Reading
from engine.league.records import RunState
from engine.league.storage.session_rows import Session
from engine.registry import new_game
from league_app.core.trainers import TrainerFacts, trainer_facts

FACTS = TrainerFacts({"train/loss": Metric("", Reading.LOSS)}, "train/loss", "epoch", Ends("epochs", "minutes", "goal"))


def source_files() -> list[Path]:
    return [path for package in (league_app, engine.league) for path in Path(package.__path__[0]).rglob("*.py")]


@pytest.mark.parametrize("words", [r"\bgenerations?\b", "validation/", r"[\"']neat[\"']"])
def test_no_source_of_the_application_names_a_trainer_its_units_or_metrics(words: str) -> None:
    files = source_files()
    assert len(files) > 100
    exempt = {"garbage_collection.py", "population.py"}  # generations of objects, and of any population
    assert [path.name for path in files if re.search(words, path.read_text()) and path.name not in exempt] == []


def test_a_trainer_that_is_not_installed_has_empty_declarations() -> None:
    facts = trainer_facts("not-installed")
    assert (facts, facts.unit, facts.reading) == (TrainerFacts(), "step", Reading.SCORE)


def test_the_best_value_follows_the_reading_of_the_headline() -> None:
    values = np.array([0.5, np.nan, 0.25, np.inf, 0.75])
    assert (FACTS.best(values), FACTS.headline_text(0.25)) == (0.25, "0.25")
    assert trainer_facts("neat").best(values) == 0.75
    assert trainer_facts("neat").headline_text(0.744) == "74 %"
    assert FACTS.best(np.array([np.nan])) is None
    assert [FACTS.metric_of_player(role) for role in ("", "Left")] == ["train/loss", "train/Left"]


@pytest.mark.parametrize(
    ("config", "steps"),
    [
        ([("epochs", 100)], 100),
        ([("epochs", 100), ("minutes", 0.0), ("goal", 0.0)], 100),
        ([("epochs", 100), ("minutes", 1.0)], 0),
        ([("epochs", 100), ("goal", 0.1)], 0),
        ([], 0),
    ],
)
def test_a_number_of_steps_is_planned_unless_something_else_may_end_it_first(
    config: list[tuple[str, float]], steps: int
) -> None:
    session = Session(1, "one", "any", new_game("pong").spec, tuple(config), RunState.STOPPED, 0.0)
    assert FACTS.planned_steps(session) == steps
