"""The trainer `independent`: events, resuming, stopping, players of all agents, and what it reports."""

from __future__ import annotations

import math
import os
import signal
from typing import Any

import numpy as np
import pytest

from agents.nets import network as networks
from agents.training.events import Champion, Checkpoint, Current, Ended, Event, How, Level, Log, Metrics, Spans, Workers
from agents.training.independent.config import IndependentConfig
from agents.training.independent.trainer import learner_cores
from agents.training.session import TrainingSession
from agents.training.trainer import metric_of
from engine.errors import BadValue
from engine.game import Game
from engine.play.match import AgentSpec
from engine.registry import TRAINERS, new_game
from tests.agents.training.fake_context import last_state, of, trained

HUNT = new_game("treasure-hunt", seats=3, turns=20)
QUICK: dict[str, Any] = {
    "epochs": 8, "lanes": 4, "seed": 3, "buffer": 300, "learn_after": 100, "turns_per_update": 16, "epsilon_epochs": 6,
    "reward_scale": 0.1, "evaluate_every": 4, "evaluate_matches": 4, "references": "Dice", "train_interval": 2,
    "hidden": "8", "batch": 32, "checkpoint_every": 4, "calibrate": False, "training_mode": "stacked",
}  # fmt: skip
ROLES = ["agent 1", "agent 2", "agent 3"]


def independent(**settings: Any) -> IndependentConfig:
    return IndependentConfig(**{**QUICK, **settings})


def session(config: IndependentConfig, **context: Any) -> list[Event]:
    return trained(config, game=HUNT.spec, **context)


def measured(events: list[Event]) -> dict[int, dict[str, float]]:
    """Metrics by epoch, without those of speed."""
    found: dict[int, dict[str, float]] = {}
    for event in of(Metrics, events):
        values = {name: value for name, value in event.values if not name.startswith(("speed/", "speedup/"))}
        assert not values.keys() & found.get(event.step, {}).keys(), "each of them once"
        found.setdefault(event.step, {}).update(values)
    return found


@pytest.fixture(scope="module")
def whole() -> list[Event]:
    return session(independent())


def test_a_session_without_an_update_says_so(whole: list[Event]) -> None:
    [log] = [log for log in of(Log, session(independent(epochs=2, learn_after=280))) if log.level is Level.WARNING]
    text = "no agent made an update: they begin after 280 turns, with enough of them for a minibatch, and each had 160"
    assert log.text == text
    assert not [log for log in of(Log, whole) if log.level is Level.WARNING]


def test_the_log_has_the_scores_of_bots_when_they_are_measured(whole: list[Event]) -> None:
    texts = [log.text for log in of(Log, whole)]
    assert texts[0].startswith("measuring the bots")
    assert texts[1] == f"measured Dice: {measured(whole)[4]['evaluation/Dice']:.4g}"


def test_switches_that_are_off_are_named_in_the_log() -> None:
    events = session(independent(enabled=False, async_learning=True, training_mode="auto", epochs=2))
    text = "enabled is false, so async_learning has no effect: agents act and learn one after the other"
    assert text in [log.text for log in of(Log, events)]


PONG = new_game("pong")
BOTS = "Still,Tracker,Predictor"


@pytest.mark.parametrize(
    ("game", "settings", "warned"),
    [
        (PONG, {"references": BOTS}, "all bots score about the same against themselves (3."),
        (PONG, {"references": "none"}, "if one agent wins what the other loses"),
        (PONG, {"references": BOTS, "opponents": "Rival"}, ""),
        (new_game("treasure-hunt", seats=2), {"references": "Dice,Magpie"}, ""),
        (new_game("treasure-hunt", seats=3), {"references": "Dice,Badger,Magpie"}, ""),
        (new_game("treasure-hunt", seats=3), {"references": "none"}, ""),
    ],
)
def test_a_game_whose_scores_say_little_about_strength_is_named(
    game: Game, settings: dict[str, Any], warned: str
) -> None:
    rival = AgentSpec("Rival", "pong-bot", b'{"style": "still"}')
    config = independent(**{"epochs": 1, "evaluate_matches": 16, "match_steps": 50, **settings})
    events = trained(config, game=game.spec, agents=(rival,) if "opponents" in settings else (), stop_after=None)
    texts = [log.text for log in of(Log, events) if log.level is Level.WARNING and "strength" in log.text]
    assert len(texts) == bool(warned)
    assert all(text.startswith(warned) for text in texts)


def test_the_trainer_is_registered() -> None:
    assert TRAINERS.get("independent") is IndependentConfig


def test_a_session_has_metrics_of_every_agent_checkpoints_and_a_champion(whole: list[Event]) -> None:
    values = measured(whole)
    assert list(values) == [2, 4, 6, 8]
    for step in values:
        for group in ("score", "loss", "epsilon", "updates", "staleness"):
            assert {f"{group}/{role}" for role in ROLES} <= values[step].keys()
    assert [step for step in values if "evaluation/score" in values[step]] == [4, 8]
    last = values[8]
    assert last["evaluation/low"] <= last["evaluation/score"] <= last["evaluation/high"]
    assert last["evaluation/score"] == pytest.approx(np.mean([last[f"evaluation/{role}"] for role in ROLES]))
    assert last["evaluation/Dice"] == values[4]["evaluation/Dice"]
    for name in {name for metrics in of(Metrics, whole) for name, _ in metrics.values}:
        assert metric_of(name, IndependentConfig.metrics)[0] is not None, name
    assert [checkpoint.step for checkpoint in of(Checkpoint, whole)] == [4, 8]
    [champion] = of(Champion, whole)
    assert champion.player.role in ROLES
    best = max(max(values[step][f"evaluation/{role}"] for role in ROLES) for step in (4, 8))
    assert f"scored {best:.4g} without exploration" in champion.player.about
    who = f"champion: {champion.player.role} of epoch {champion.step}, score {best:.4g}"
    assert whole[-1] == Ended(How.FINISHED, f"8 epochs; {who}"), "`train show` and the window name it"


def test_every_learner_is_a_player_of_each_checkpoint(whole: list[Event]) -> None:
    for checkpoint in of(Checkpoint, whole):
        assert sorted(player.role for player in checkpoint.players) == ROLES
        payloads = {player.payload for player in checkpoint.players}
        assert len(payloads) == 3, "each has its own network"
        for payload in payloads:
            networks.load(payload).check_game(HUNT)


def test_the_best_of_the_latest_evaluation_is_the_first_player_of_a_checkpoint(whole: list[Event]) -> None:
    values = measured(whole)
    for checkpoint in of(Checkpoint, whole):
        scores = [values[checkpoint.step][f"evaluation/{player.role}"] for player in checkpoint.players]
        assert scores == sorted(scores, reverse=True)
        assert len(set(scores)) > 1


def test_the_best_agent_so_far_is_first_until_a_resumed_session_evaluates(whole: list[Event]) -> None:
    settings = independent(evaluate_every=0, epochs=6, checkpoint_every=1)
    first = of(Checkpoint, session(settings, state=of(Checkpoint, whole)[0].state))[0]
    assert first.step == 6
    assert first.players[0].role == of(Checkpoint, whole)[0].players[0].role


@pytest.mark.parametrize("mode", [{"enabled": False}, {"training_mode": "threads", "calibrate": True}], ids=str)
def test_the_same_bits_come_from_other_modes(whole: list[Event], mode: dict[str, Any]) -> None:
    other = session(independent(**mode), workers=2)
    assert measured(other) == measured(whole)
    assert last_state(other) == last_state(whole)


def test_a_resumed_session_equals_an_uninterrupted_one(whole: list[Event]) -> None:
    checkpoint = of(Checkpoint, whole)[0]
    rest = session(independent(enabled=False), state=checkpoint.state)
    assert measured(rest) == {step: values for step, values in measured(whole).items() if step > checkpoint.step}
    assert last_state(rest) == last_state(whole)


def test_a_resume_that_begins_with_a_training_reports_no_score_for_it() -> None:
    """As after an asynchronous session whose learners were behind at its end."""
    before = session(independent(epochs=2, learn_after=280))
    assert measured(before)[2]["updates/agent 1"] == 0
    values = measured(session(independent(learn_after=100), state=last_state(before)))
    assert list(values) == [2, 4, 6, 8]
    assert values[2]["updates/agent 1"] > 0
    assert "score/agent 1" not in values[2]
    assert "score/agent 1" in values[4]


def test_a_session_that_is_stopped_between_metrics_names_both_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.training.independent.environment.PULSE", -1.0)  # look after each turn and update
    events = session(independent(train_interval=4, references="none"), stop_after=30)
    assert of(Checkpoint, events)[-1].step == 1
    assert events[-1] == Ended(How.STOPPED, "stopped after 1 epoch, with metrics up to epoch 0")


@pytest.mark.parametrize("calls", [1, 30, 70, 120, 200])
def test_a_session_that_is_stopped_anywhere_continues_as_if_nothing_had_happened(
    whole: list[Event], calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agents.training.independent.environment.PULSE", -1.0)  # look after each turn and update
    part = session(independent(), stop_after=calls)
    assert part[-1].how is How.STOPPED
    monkeypatch.undo()
    rest = session(independent(), state=last_state(part))
    assert measured([*part, *rest]) == measured(whole)
    assert last_state(rest) == last_state(whole)


def test_a_killed_session_is_resumed_from_its_last_checkpoint(whole: list[Event]) -> None:
    events: list[Event] = []
    settings = {**QUICK, "epochs": 1_000_000, "references": "none"}
    with TrainingSession("independent", settings, HUNT.spec, workers=1) as running:
        running.start()
        while not of(Checkpoint, events):
            events += running.wait(60)
        assert running.pid is not None
        os.kill(running.pid, signal.SIGKILL)
        while not running.over:
            events += running.wait(60)
    assert of(Ended, events)[-1].how is How.FAILED
    first = of(Checkpoint, events)[0]
    rest = session(independent(references="none"), state=first.state)
    known = {step: values for step, values in measured(whole).items() if step > first.step}
    for step, values in measured(rest).items():
        assert values == {name: value for name, value in known[step].items() if name != "evaluation/Dice"}


def test_the_current_player_is_shown_on_request_and_training_stays_the_same(whole: list[Event]) -> None:
    watched = session(independent(), watched=True)
    assert measured(watched) == measured(whole)
    shown = of(Current, watched)
    assert [event.step for event in shown] == [0, 2, 4, 6, 8]
    assert {event.player.role for event in shown} <= set(ROLES)


def test_agents_of_the_league_take_the_last_seats_and_stay_after_a_resume() -> None:
    rival = AgentSpec("Rival", "hunter", b'{"style": "greedy"}')
    settings = independent(opponents="Rival")
    events = session(settings, agents=(rival,))
    assert sorted(player.role for player in of(Checkpoint, events)[-1].players) == ROLES[:2]
    rest = session(settings, state=of(Checkpoint, events)[0].state)
    assert last_state(rest) == last_state(events)


def test_an_agent_of_the_league_may_take_several_seats() -> None:
    rival = AgentSpec("Rival", "hunter", b'{"style": "greedy"}')
    events = session(independent(opponents="Rival, Rival", references="none"), agents=(rival,))
    assert [player.role for player in of(Checkpoint, events)[-1].players] == ROLES[:1]


def test_frozen_agents_keep_their_networks_after_a_resume(whole: list[Event]) -> None:
    first = of(Checkpoint, whole)[0]
    rest = session(independent(frozen="agent 1, agent 3"), state=first.state)
    before, after = (
        [player.payload for player in sorted(checkpoint.players, key=lambda player: player.role)]
        for checkpoint in (first, of(Checkpoint, rest)[-1])
    )
    assert [old == other for old, other in zip(before, after, strict=True)] == [True, False, True]


@pytest.mark.parametrize(
    ("workers", "machine", "cores"),
    [(1, 2, 2), (1, 1, 1), (3, 4, 4), (2, 8, 3), (3, 2, 2)],
)
def test_learners_use_the_core_of_the_actor_too(
    workers: int, machine: int, cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.processes.bootstrap.cores", lambda: machine)
    assert learner_cores(workers) == cores


@pytest.mark.parametrize(("given", "learners"), [(0, 2), (1, 1)])
def test_asynchronous_learners_are_one_more_than_workers_unless_set(
    given: int, learners: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.processes.bootstrap.cores", lambda: 2)
    settings = independent(async_learning=True, training_mode="auto", num_workers=given, epochs=4, references="none")
    events = session(settings, workers=1)
    names = {worker.name for event in of(Workers, events) for worker in event.workers}
    assert names == {"actor", "learner 1", "learner 2"} - ({"learner 2"} if learners == 1 else set())


@pytest.mark.parametrize(("given", "used"), [(0, "2 workers"), (1, "1 worker")])
def test_the_log_says_how_many_workers_could_learn(given: int, used: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.processes.bootstrap.cores", lambda: 2)
    events = session(independent(training_mode="auto", use_threads=True, num_workers=given, epochs=4))
    [log] = [log.text for log in of(Log, events) if log.text.startswith("training mode")]
    assert log.endswith(f"with {used}")


def test_a_session_is_resumed_although_a_bot_is_no_longer_installed(
    whole: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agents.training.matchmaking.agents_for", lambda _: {})
    rest = session(independent(), state=of(Checkpoint, whole)[0].state)
    assert last_state(rest) == last_state(whole)


def test_training_ends_at_the_target_score(whole: list[Event]) -> None:
    score = measured(whole)[4]["evaluation/score"]
    events = session(independent(target_score=score))
    assert events[-1].reason.startswith(f"evaluation/score {score:.4g} reached {score:g}; champion: ")
    assert of(Checkpoint, events)[-1].step == 4


def test_training_ends_after_its_minutes() -> None:
    events = session(independent(epochs=1_000_000, minutes=1e-9))
    assert events[-1].how is How.FINISHED
    assert events[-1].reason.startswith("1e-09 min")


def test_a_finished_session_has_nothing_left_to_do(whole: list[Event]) -> None:
    events = session(independent(), state=last_state(whole))
    assert events[-1].how is How.FINISHED
    assert not of(Metrics, events)


def test_a_checkpoint_of_other_settings_is_refused(whole: list[Event]) -> None:
    with pytest.raises(BadValue, match="lanes"):
        session(independent(lanes=5), state=last_state(whole))
    with pytest.raises(BadValue, match="state"):
        session(independent(hidden="16"), state=last_state(whole))


def test_spans_and_workers_of_the_shortest_session_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.training.independent.trainer.EVERY", math.inf)  # however fast the machine is
    events = session(independent(calibrate=True))
    spans = [span for event in of(Spans, events) for span in event.spans]
    assert {"collect", "act", "learn", "publish", "evaluate"} <= {span.name for span in spans if span.track == "actor"}
    assert all(span.seconds >= 0 for span in spans)
    assert {worker.name for event in of(Workers, events) for worker in event.workers} == {"actor"}
    assert any("speedup/measured" in dict(event.values) for event in of(Metrics, events))
    assert any("compared with" in event.text for event in of(Log, events))
