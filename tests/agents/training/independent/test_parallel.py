"""The switches of the accelerations, and the settings of experiments and of the trainer."""

from __future__ import annotations

from typing import Any

import pytest

from agents.training.independent.config import IndependentConfig, stacked_frames
from agents.training.independent.experiment import ExperimentSettings
from agents.training.independent.parallel import PROCESSES, SEQUENTIAL, STACKED, THREADS, ParallelSettings
from engine.errors import BadValue, UnknownName
from engine.play.match import AgentSpec
from engine.registry import new_game

DOCUMENTED = {
    "enabled": True, "parallel_actions": True, "parallel_training": True, "async_learning": True, "train_interval": 4,
    "num_workers": None, "use_threads": False,
}  # fmt: skip
HUNT = new_game("treasure-hunt", seats=5)


def test_the_documented_configuration_is_read() -> None:
    found = ParallelSettings.read(DOCUMENTED)
    assert {name: getattr(found, name) for name in DOCUMENTED} == DOCUMENTED
    assert ParallelSettings.read(None) == ParallelSettings()
    assert found.asynchronous
    assert found.together


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"paralel_actions": True}, "did you mean 'parallel_actions'"),
        ({"enabled": 1}, "enabled.*True or False"),
        ({"train_interval": 0}, "train_interval.*from 1"),
        ({"train_interval": 2.0}, "train_interval.*from 1"),
        ({"num_workers": 0}, "num_workers.*or None"),
        ({"training_mode": "stack"}, "did you mean 'stacked'"),
        ({"training_mode": "stacked", "parallel_training": False}, "parallel_training is off"),
        ({"training_mode": "processes", "use_threads": True}, "use_threads.*False with training_mode 'processes'"),
        ({"training_mode": "stacked", "use_threads": True}, "use_threads.*False with training_mode 'stacked'"),
        ({"parallel_training": False, "use_threads": True}, "use_threads.*parallel_training is off"),
        ({"async_learning": True, "training_mode": "threads"}, "training_mode.*auto with async_learning"),
        ({"async_learning": True, "use_threads": True}, "use_threads.*processes"),
    ],
)
def test_wrong_switches_are_refused(given: dict[str, Any], match: str) -> None:
    with pytest.raises((BadValue, UnknownName), match=match):
        ParallelSettings.read(given)


def test_a_configuration_that_is_no_mapping_is_refused() -> None:
    with pytest.raises(BadValue, match="a mapping"):
        ParallelSettings.read(4)  # type: ignore[arg-type]


def test_disabled_switches_are_the_sequential_reference() -> None:
    plain = ParallelSettings.read({**DOCUMENTED, "enabled": False})
    assert (plain.together, plain.asynchronous, plain.candidates) == (False, False, (SEQUENTIAL,))


def test_disabled_switches_that_were_set_are_named() -> None:
    read = ParallelSettings.read
    assert read(DOCUMENTED).without_effect == []
    assert read({"enabled": False, "train_interval": 8, "training_mode": SEQUENTIAL}).without_effect == []
    assert read({**DOCUMENTED, "enabled": False, "num_workers": 2}).without_effect == ["async_learning", "num_workers"]


def test_switches_choose_the_ways_to_train() -> None:
    read = ParallelSettings.read
    assert read({}).candidates == (SEQUENTIAL, STACKED, PROCESSES)
    assert read({"use_threads": True}).candidates == (SEQUENTIAL, STACKED, THREADS)
    assert read({"training_mode": "threads"}).candidates == (THREADS,)
    assert read({"parallel_training": False}).candidates == (SEQUENTIAL,)


def test_workers_are_as_many_as_agents_cores_or_the_setting_allow() -> None:
    assert [ParallelSettings().workers(agents, cores) for agents, cores in ((5, 2), (1, 8), (5, 0))] == [2, 1, 1]
    assert ParallelSettings(num_workers=3).workers(5, 2) == 3
    assert ParallelSettings(num_workers=9).workers(5, 2) == 5


def test_unknown_settings_of_an_experiment_suggest_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'epochs'"):
        ExperimentSettings.read({"epoch": 3})
    with pytest.raises(UnknownName, match="did you mean 'parallel'"):
        ExperimentSettings.read({"paralel": {}})
    with pytest.raises(BadValue, match=r"learn_after = 60000: must be at most 50,000"):
        ExperimentSettings.read({"learn_after": 60_000})


def test_epsilon_and_updates_follow_from_epochs_and_turns_alone() -> None:
    settings = ExperimentSettings(epsilon=1.0, last_epsilon=0.2, epsilon_epochs=4, turns_per_update=10, learn_after=50)
    assert [settings.epsilon_at(epoch) for epoch in (0, 1, 4, 9)] == pytest.approx([1.0, 0.8, 0.2, 0.2])
    assert [settings.bounds.due(turns) for turns in (0, 49, 50, 69)] == [0, 0, 5, 6]


# The trainer's settings


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"batch": 100}, "batch.*multiple of 32"),
        ({"dueling": True}, "dueling"),
        ({"hidden": "64,x"}, "hidden.*64,64"),
        ({"async_learning": True, "use_threads": True}, "use_threads"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(given: dict[str, Any], match: str) -> None:
    with pytest.raises(BadValue, match=match):
        IndependentConfig(**given)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"frozen": "agent 9"}, "learning agent 'agent 9'"),
        ({"frozen": ",".join(f"agent {k}" for k in range(1, 6))}, "frozen = .*fewer than all 5 learning agents"),
        ({"rewards": "bump=1"}, "did you mean 'bumps'"),
        ({"references": "Magpi"}, "did you mean 'Magpie'"),
        ({"opponents": "A,B,C,D,E"}, "at most 4 names"),
        ({"buffer": 10_000_000}, "buffer = 10000000: must be at most .*256 MiB"),
        ({"hidden": "4096,4096"}, "hidden.*smaller layers"),
        ({"batch": 65_536}, "buffer = 50000: must be at least 65,584, for minibatches of 65,536 turns with 3 steps"),
        ({"buffer": 256, "learn_after": 0}, "buffer = 256: must be at least 304"),
        ({"match_steps": 3}, "match_steps = 3: must be 0, or more than the 3 steps of a return"),
    ],
)
def test_settings_that_do_not_fit_the_game_are_refused(given: dict[str, Any], match: str) -> None:
    with pytest.raises((BadValue, UnknownName), match=match):
        IndependentConfig(**given).check(HUNT, None, False)


def test_games_that_do_not_fit_are_refused_with_a_sentence() -> None:
    with pytest.raises(BadValue, match="a game in which all players act at every step"):
        IndependentConfig().check(new_game("shogi"), None, False)
    with pytest.raises(BadValue, match="begin with new networks"):
        IndependentConfig().check(HUNT, AgentSpec("Ada", "net"), False)


def test_the_settings_are_those_of_an_experiment() -> None:
    config = IndependentConfig(lanes=3, hidden="8", enabled=False, num_workers=2, buffer=30, learn_after=9)
    values = config.experiment()
    assert values["parallel"] == ParallelSettings(enabled=False, num_workers=2)
    assert ExperimentSettings.read({k: v for k, v in values.items() if k != "parallel"}).buffer_rows == 10
    assert config.learner().hidden == (8,)


def test_frames_that_the_game_stacks_are_stored_once() -> None:
    assert stacked_frames(HUNT) == 1
    assert stacked_frames(new_game("treasure-hunt", frames=3)) == 3
    assert IndependentConfig().learner(new_game("treasure-hunt", frames=3)).frames == 3


def test_names_of_reference_bots_are_written_out() -> None:
    assert IndependentConfig().resolved(HUNT).references.startswith("Dice")
    assert IndependentConfig(references="none").resolved(HUNT).references == "none"
