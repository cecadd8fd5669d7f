"""The trainer `neat`: its events, when it ends, and what it refuses."""

from __future__ import annotations

import dataclasses
import itertools
import json
import random
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agents.neat.payload import dump, load
from agents.neat.pilot import KIND
from agents.training.events import Champion, Checkpoint, Current, Ended, How, Log, Metrics, Progress
from agents.training.neat import trainer as neuroevolution
from agents.training.neat.config import NeatConfig
from agents.training.neat.modes import MODES
from agents.training.neat.state import EvolutionRun
from engine.errors import BadValue, RingsideError, UnknownName
from engine.options import build
from engine.play.match import AgentSpec
from engine.registry import TRAINERS, new_game
from tests.agents.neat.sample_genomes import all_of, bred
from tests.agents.training.fake_context import (
    GAME,
    QUICK,
    last_state,
    measured,
    of,
    stay_in_process,
    trained,
    trainer,
    write_config,
)


@pytest.fixture(autouse=True)
def _in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    stay_in_process(monkeypatch)


@pytest.fixture
def crowd(tmp_path: Path) -> str:
    return write_config(tmp_path / "crowd.txt")


# What it tells


@pytest.mark.parametrize("mode", sorted(MODES))
def test_a_run_is_repeatable_and_its_metrics_are_documented(mode: str, crowd: str) -> None:
    config = trainer(crowd, mode=mode)
    random.seed(5)
    before = random.getstate()
    events = trained(config)
    assert random.getstate() == before
    found = measured(events)
    assert list(found) == [1, 2, 3, 4, 5]
    random.seed(6)
    assert measured(trained(config)) == found
    assert measured(trained(replace(config, seed=2))) != found
    for event in of(Metrics, events):
        for name, value in event.values:
            group = name.partition("/")[0]
            assert name in config.metrics or f"{group}/*" in config.metrics, name
            assert isinstance(value, float)
    assert [("validation/share" in values) for values in found.values()] == [True, False, True, False, True]
    assert all({"validation/Lazy", "validation/Tracker"} <= set(found[step]) for step in (1, 3, 5))


def test_every_documented_metric_is_reported_by_some_mode(crowd: str) -> None:
    reported = {
        name for mode in MODES for event in of(Metrics, trained(trainer(crowd, mode=mode))) for name, _ in event.values
    }
    assert {name for name in NeatConfig.metrics if not name.endswith("*")} <= reported
    assert all(metric.about for metric in NeatConfig.metrics.values())


def test_the_last_events_are_a_checkpoint_a_champion_and_an_end(crowd: str) -> None:
    events = trained(trainer(crowd, mode="against-bots"))
    *_, checkpoint, champion, end = events
    assert isinstance(checkpoint, Checkpoint)
    assert isinstance(champion, Champion)
    assert end == Ended(How.FINISHED, "5 generations")
    assert checkpoint.step == 5
    assert checkpoint.players == (champion.player,)
    assert (champion.player.kind, champion.player.version) == (KIND.name, KIND.version)
    assert load(champion.player.payload).inputs == 8
    assert f"against-bots, generation {champion.step}, genome " in champion.player.about
    best = max(values["validation/share"] for values in measured(events).values() if "validation/share" in values)
    assert f"validated at {best:.0%}" in champion.player.about


def test_progress_has_step_total_and_time_left(crowd: str) -> None:
    events = trained(trainer(crowd))
    found = of(Progress, events)
    assert [(progress.step, progress.total) for progress in found] == [(step, 5) for step in range(1, 6)]
    assert all(progress.seconds_left is not None and progress.seconds_left >= 0 for progress in found)
    assert "species" in found[0].text
    assert "validated" in found[0].text


def test_checkpoints_come_every_checkpoint_every_generations(crowd: str) -> None:
    events = trained(trainer(crowd, checkpoint_every=2))
    assert [checkpoint.step for checkpoint in of(Checkpoint, events)] == [2, 4, 5]


def test_a_new_level_is_logged(crowd: str) -> None:
    events = trained(trainer(crowd, mode="against-bots", bots="Still,Lazy", mastery=0.1, games=2))
    levels = [values["population/level"] for values in measured(events).values()]
    assert levels == [0.0, 1.0, 1.0, 1.0, 1.0]
    assert [log.text for log in of(Log, events) if "next: Lazy" in log.text]


def test_extinction_is_logged_and_training_continues(tmp_path: Path) -> None:
    dying = write_config(tmp_path / "dying.txt", max_stagnation=1, species_elitism=0)
    config = trainer(
        dying, mode="against-bots", generations=6, bots="Predictor", steps=20
    )  # no genome scores: nothing improves
    events = trained(config)
    assert [log.text for log in of(Log, events) if "died out" in log.text]
    assert list(measured(events)) == list(range(1, 7))


# When it ends


def test_training_ends_at_the_target_fitness(crowd: str) -> None:
    events = trained(trainer(crowd, mode="against-bots", target_fitness=0.1))
    assert events[-1].how is How.FINISHED
    assert "reached 0.1" in events[-1].reason
    assert list(measured(events)) == [1]


def test_training_ends_at_the_fitness_threshold_of_the_configuration(tmp_path: Path) -> None:
    own = {"no_fitness_termination": False, "fitness_threshold": 0.1}
    events = trained(trainer(write_config(tmp_path / "a.txt", **own), mode="against-bots"))
    assert list(measured(events)) == [1]
    events = trained(trainer(write_config(tmp_path / "b.txt", **own), mode="against-bots", target_fitness=1000.0))
    assert list(measured(events)) == [1, 2, 3, 4, 5], "the trainer's setting comes first"


def test_training_ends_when_validation_does_not_improve(crowd: str) -> None:
    # against an opponent that no genome beats, the first validation stays the best
    config = trainer(crowd, generations=30, patience=3, validate_bots="Predictor", validate_every=1)
    events = trained(config)
    shares = [values["validation/share"] for values in measured(events).values()]
    assert events[-1].reason == "no better validation in 3 generations"
    assert len(shares) < 30
    assert max(shares) == max(shares[:-3]), "none of the last three was better"
    assert shares.index(max(shares)) == len(shares) - 4


def test_training_ends_after_the_given_minutes(crowd: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count(0.0, 3.0)
    monkeypatch.setattr(neuroevolution, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    events = trained(trainer(crowd, generations=1000, minutes=1.0))
    assert events[-1] == Ended(How.FINISHED, "1 min")
    assert 1 <= len(measured(events)) < 20
    left = [progress.seconds_left for progress in of(Progress, events)]
    assert left == sorted(left, reverse=True), "the clock runs out before the generations do"


def test_a_stopped_run_yields_a_checkpoint(crowd: str) -> None:
    events = trained(trainer(crowd), stop_after=0)
    assert [type(event) for event in events] == [Checkpoint, Ended]
    assert events[-1].how is How.STOPPED
    assert (events[0].step, events[0].players) == (0, ())


# Where it begins


def ancestor(**changes: object) -> AgentSpec:
    genome = max(all_of(bred(True, generations=6, num_inputs=8, num_outputs=3)), key=lambda genome: len(genome.key))
    return replace(AgentSpec("old hand", KIND.name, dump(genome), KIND.version), **changes)


def test_the_first_generation_has_the_ancestor_and_its_copies(crowd: str) -> None:
    config, old = trainer(crowd, generations=2), ancestor()
    run = EvolutionRun.start(config, GAME, old)
    payloads = [spec.payload for spec in run.specs().values()]
    assert payloads[0] == old.payload
    assert len(set(payloads)) > 5
    found = measured(trained(config, ancestor=old))
    assert found == measured(trained(config, ancestor=old))
    assert found != measured(trained(config))
    assert found[1]["genome/nodes"] >= 3


def test_an_ancestor_of_another_kind_is_refused_by_name(crowd: str) -> None:
    with pytest.raises(BadValue, match="ancestor = 'old hand': must be an agent of kind neat, but it is a pong-bot"):
        EvolutionRun.start(trainer(crowd), GAME, ancestor(kind="pong-bot"))
    with pytest.raises(RingsideError):
        EvolutionRun.start(trainer(crowd), GAME, ancestor(payload=b"\x80\x04pickle"))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": "other"}, "file.format = 'other'"),
        ({"version": 2}, "file.version = 2"),
        ({"level": "1"}, "file.level = '1'"),
        ({"evolution": None}, "file.evolution"),
        ({"behaviours": [[1.0], [1.0, 2.0]]}, "behaviours"),
        ({"pickle": 1}, "pickle"),
    ],
    ids=str,
)
def test_a_checkpoint_that_does_not_fit_is_refused(changes: dict[str, object], words: str, crowd: str) -> None:
    config = trainer(crowd, generations=2)
    raw = json.loads(last_state(trained(config)))
    assert EvolutionRun.from_checkpoint(json.dumps(raw).encode(), config, GAME).evolution.generation == 2
    with pytest.raises(BadValue, match=words):
        EvolutionRun.from_checkpoint(json.dumps({**raw, **changes}).encode(), config, GAME)


def test_a_checkpoint_of_another_game_is_refused(crowd: str) -> None:
    config = trainer(crowd, generations=1)
    state = last_state(trained(config))
    with pytest.raises(BadValue, match="checkpoint"):
        EvolutionRun.from_checkpoint(state, config, new_game("tictactoe"))


HOSTILE = "a checkpoint's hall, best, level and behaviours are not looked at closely"


@pytest.mark.parametrize("field", ["level", "stale", "best", "hall", "behaviours"])
def test_every_field_of_a_checkpoint_is_checked(field: str, crowd: str) -> None:
    config = trainer(crowd, mode="self-play", generations=3)
    raw = json.loads(last_state(trained(config)))
    other = {**raw["hall"][0]["genome"], "inputs": 9}
    raw[field] = {
        "level": -1,
        "stale": -(10**30),
        "best": {**raw["best"], "genome": other},
        "hall": [{**raw["hall"][0], "genome": other}],
        "behaviours": [[1.0]],
    }[field]
    with pytest.raises(BadValue, match=field):
        EvolutionRun.from_checkpoint(json.dumps(raw).encode(), config, GAME)


# Settings


@pytest.mark.parametrize("preset", sorted(NeatConfig.presets))
def test_a_preset_builds_and_fits_pong(preset: str) -> None:
    build(NeatConfig, NeatConfig.presets[preset]).check(new_game("pong"), None, False)


def test_the_trainer_is_registered_and_every_field_is_explained() -> None:
    assert TRAINERS.get("neat") is NeatConfig
    for field in dataclasses.fields(NeatConfig):
        assert field.metadata["help"], field.name
    assert {"self-play", "competitive", "against-bots"} == set(MODES)
    NeatConfig().check(new_game("pong"), None, False)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"mode": "solitaire"}, "mode = 'solitaire'"),
        ({"generations": 0}, "generations = 0"),
        ({"generations": 1.5}, "generations = 1.5"),
        ({"minutes": -1.0}, "minutes = -1.0"),
        ({"minutes": float("nan")}, "minutes = nan"),
        ({"population": -1}, "population = -1"),
        ({"seed": -1}, "seed = -1"),
        ({"seed": True}, "seed = True"),
        ({"hall_share": 1.5}, "hall_share = 1.5"),
        ({"mastery": 2.0}, "mastery = 2.0"),
        ({"neighbours": 0}, "neighbours = 0"),
        ({"neat_config": 3}, "neat_config = 3"),
        ({"steps": -1}, "steps = -1"),
        ({"target_fitness": float("inf")}, "target_fitness = inf"),
    ],
    ids=str,
)
def test_a_setting_out_of_range_is_named(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(BadValue, match=words):
        build(NeatConfig, settings)
    with pytest.raises(UnknownName, match="did you mean 'generations'"):
        build(NeatConfig, {"generatoins": 3})


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"neat_config": "/nowhere/neat.txt"}, "neat_config = '/nowhere/neat.txt'"),
        ({"population": 1}, "population = 1"),
        ({"validate_bots": "Trakker"}, "'Trakker': did you mean 'Tracker'"),
        ({"bots": "Lazy,Trakker", "mode": "against-bots"}, "did you mean 'Tracker'"),
        ({"behaviour": "hits,kisses"}, "unknown statistic of pong 'kisses'"),
        ({"rewards": "kisses=1", "mode": "against-bots"}, "unknown statistic of pong 'kisses'"),
        ({"rewards": "hits=much", "mode": "against-bots"}, "rewards = 'hits=much'"),
        ({"rewards": "hits=1,hits=2", "mode": "against-bots"}, "must be one weight for each name; hits has two"),
        ({"rewards": "hits=inf", "mode": "against-bots"}, "rewards = 'hits=inf': must be a weight from"),
        ({"ramp": "speed=1", "mode": "against-bots"}, "unknown option of pong 'speed'"),
    ],
    ids=str,
)
def test_a_setting_that_does_not_fit_the_game_is_named(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(RingsideError, match=words):
        build(NeatConfig, settings).check(new_game("pong"), None, False)


def test_settings_override_the_ringside_section_of_a_configuration(tmp_path: Path) -> None:
    advised = tmp_path / "advised.txt"
    place = write_config(tmp_path / "plain.txt")
    text = Path(place).read_text(encoding="utf-8")
    advised.write_text(f"[Ringside]\nrewards = hits=50\n\n{text}", encoding="utf-8")
    plain = measured(trained(trainer(place, mode="against-bots")))
    assert measured(trained(trainer(str(advised), mode="against-bots", rewards="none"))) == plain
    rewarded = measured(trained(trainer(str(advised), mode="against-bots")))
    assert rewarded == measured(trained(trainer(place, mode="against-bots", rewards="hits=50")))
    assert rewarded != plain
    advised.write_text(f"[Ringside]\nreward = hits=50\n\n{text}", encoding="utf-8")
    with pytest.raises(UnknownName, match="'reward': did you mean 'rewards'"):
        trainer(str(advised), mode="against-bots").check(GAME, None, False)


def test_a_game_for_one_cannot_be_learned() -> None:
    with pytest.raises(BadValue, match="game = 'bids': must be a game with two or more seats"):
        NeatConfig().check(new_game("bids", seats=1), None, False)


@pytest.mark.parametrize("mode", sorted(MODES))
def test_a_game_with_masks_and_turns_can_be_learned(mode: str, crowd: str) -> None:
    names = {"bots": "Anyhow,Perfect", "validate_bots": "Anyhow"}
    found = measured(trained(trainer(crowd, mode=mode, **names), game=new_game("tictactoe").spec))
    assert list(found) == list(range(1, QUICK["generations"] + 1))
    assert {values["trouble/failed"] for values in found.values()} == {0.0}


def test_the_fittest_genome_is_shown_on_request_and_evolution_stays_the_same(crowd: str) -> None:
    plain, watched = trained(trainer(crowd)), trained(trainer(crowd), watched=True)
    assert last_state(watched) == last_state(plain)
    assert measured(watched) == measured(plain)
    shown = of(Current, watched)
    assert [event.step for event in shown] == [1, 2, 3, 4, 5]
    for event in shown:
        assert event.player.kind == KIND.name
        assert f"generation {event.step}, genome " in event.player.about
        assert f"fitness {measured(watched)[event.step]['fitness/best']:.4g}" in event.player.about
        load(event.player.payload)
