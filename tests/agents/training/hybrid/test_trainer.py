"""The trainer `hybrid`: events, validation, resuming, stopping, and what its checkpoints hold."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import fields
from typing import Any

import pytest

from agents.nets import network as networks
from agents.training.events import (
    Champion,
    Checkpoint,
    Ended,
    Event,
    How,
    Level,
    Log,
    Metrics,
    Progress,
    Span,
    Spans,
    Workers,
)
from agents.training.hybrid.config import HybridConfig
from agents.training.hybrid.run import MODEL
from agents.training.hybrid.search import Search
from agents.training.hybrid.state import read
from agents.training.hybrid.trainer import covered
from agents.training.matchmaking import ready_bots
from agents.training.trainer import metric_of
from agents.training.validation import share_of, validate
from engine.errors import BadValue, UnknownName
from engine.play.match import AgentSpec
from engine.registry import TRAINERS, new_game
from tests.agents.training.fake_context import GAME, FakeContext, InProcessEvaluator, of, trained
from tests.agents.training.hybrid.clocks import HOUR, Clock

TEACHER = AgentSpec("Tracker", "pong-bot", b'{"style": "tracker"}')
QUICK: dict[str, Any] = {
    "from_league": "", "teacher": "Tracker", "bots": "Still,Lazy", "matches": 20, "examples": 400, "max_generations": 3,
    "population_size": 4, "max_width": 16, "max_dense": 2, "epochs": 2, "batch_size": 64, "seed": 5,
    "mode": "sequential", "validate_bots": "Still,Lazy", "validate_pairs": 2,
}  # fmt: skip


def hybrid(**settings: Any) -> HybridConfig:
    return HybridConfig(**{**QUICK, **settings})


def session(config: HybridConfig, **context: Any) -> list[Event]:
    return trained(config, agents=(TEACHER,), **context)


def measured(events: Sequence[Event]) -> dict[int, dict[str, float]]:
    """Metrics by generation, without those of speed."""
    found: dict[int, dict[str, float]] = {}
    for event in of(Metrics, events):
        values = {name: value for name, value in event.values if not name.startswith("speed/")}
        assert not values.keys() & found.get(event.step, {}).keys(), "each of them once"
        found.setdefault(event.step, {}).update(values)
    return found


def outcome_of(events: Sequence[Event]) -> tuple[Any, ...]:
    """What the last checkpoint holds, without times."""
    checkpoint = of(Checkpoint, events)[-1]
    saved = read(checkpoint.state)
    search = Search.load(saved.search)
    return saved.about, saved.lessons, saved.player, search.individuals, checkpoint.players


@pytest.fixture(scope="module")
def whole() -> Sequence[Event]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FakeContext, "evaluator", InProcessEvaluator)
        return session(hybrid())


@pytest.fixture(autouse=True)
def _in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FakeContext, "evaluator", InProcessEvaluator)


def test_the_trainer_is_registered() -> None:
    assert TRAINERS.get("hybrid") is HybridConfig


def test_its_settings_are_read_without_torch() -> None:
    code = "import sys; from agents.training.hybrid.config import HybridConfig; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_setting_is_explained_once() -> None:
    names = [field.name for field in fields(HybridConfig)]
    assert len(names) == len(set(names))
    assert all(field.metadata["help"] for field in fields(HybridConfig))


def test_a_session_has_metrics_checkpoints_and_a_champion(whole: Sequence[Event]) -> None:
    values = measured(whole)
    assert list(values) == [1, 2, 3]
    for name in {name for found in values.values() for name in found}:
        assert metric_of(name, HybridConfig.metrics)[0] is not None, name
    best = [values[step]["fitness/best"] for step in values]
    assert best == sorted(best)
    assert values[1]["models/trained"] == 4
    assert list(dict.fromkeys(checkpoint.step for checkpoint in of(Checkpoint, whole))) == [0, 1, 2, 3]
    [champion] = of(Champion, whole)
    assert champion.player == of(Checkpoint, whole)[-1].players[0]
    networks.load(champion.player.payload).check_game(GAME)
    assert "of the positions for selection, validated at" in champion.player.about
    assert whole[-1] == Ended(How.FINISHED, "3 generations")


def test_the_log_says_what_models_learn_from(whole: Sequence[Event]) -> None:
    texts = [log.text for log in of(Log, whole)]
    assert any("Tracker" in text for text in texts)
    assert any(text.startswith("models learn from") for text in texts)
    shown = [event.text for event in of(Progress, whole)]
    assert any("positions to learn from" in text for text in shown)
    assert any("of 4 models of generation 1" in text for text in shown)


def test_workers_and_spans_are_reported(whole: Sequence[Event]) -> None:
    assert of(Workers, whole)[-1].workers
    spans = [span for event in of(Spans, whole) for span in event.spans]
    assert len(spans) >= 4, "one for each model"


def test_a_new_best_model_is_validated_once(whole: Sequence[Event]) -> None:
    values = measured(whole)
    improved = [
        step for step in values if values[step]["fitness/best"] > values.get(step - 1, {}).get("fitness/best", 0)
    ]
    assert [step for step in values if "validation/share" in values[step]] == improved


def test_a_champion_takes_the_points_that_its_validation_says(whole: Sequence[Event]) -> None:
    player, saved = of(Champion, whole)[0].player, read(of(Checkpoint, whole)[-1].state).about.best
    champion = AgentSpec(MODEL, player.kind, player.payload, player.version)
    found = validate([champion], ready_bots(GAME, "Still,Lazy"), 2, 5, GAME, FakeContext())
    assert found is not None
    assert saved is not None
    assert share_of(found[MODEL]) == (saved.share, saved.low, saved.high)


def test_a_resumed_session_equals_an_uninterrupted_one(whole: Sequence[Event]) -> None:
    first = of(Checkpoint, whole)[0]
    rest = trained(hybrid(), state=first.state)
    assert measured(rest) == {step: values for step, values in measured(whole).items() if step > first.step}
    assert outcome_of(rest) == outcome_of(whole)


@pytest.mark.parametrize("calls", [2, 16, 40, 80, 130, 160])
def test_a_session_that_is_stopped_anywhere_continues_as_if_nothing_had_happened(
    whole: Sequence[Event], calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agents.training.hybrid.fitting.INTERVAL", -1.0)  # look after each minibatch
    part = session(hybrid(), stop_after=calls)
    assert part[-1].how is How.STOPPED
    monkeypatch.undo()
    monkeypatch.setattr(FakeContext, "evaluator", InProcessEvaluator)
    rest = trained(hybrid(), state=of(Checkpoint, part)[-1].state)
    assert measured([*part, *rest]) == measured(whole)
    assert outcome_of(rest) == outcome_of(whole)


def test_a_session_that_is_stopped_in_its_last_validation_has_a_champion_when_it_is_resumed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("agents.training.hybrid.trainer.validate", lambda *_: None)  # as if stopped in it
        part = session(hybrid(max_generations=1))
    assert part[-1].how is How.STOPPED
    assert not of(Champion, part)
    rest = trained(hybrid(max_generations=1), state=of(Checkpoint, part)[-1].state)
    assert of(Champion, rest) == of(Champion, session(hybrid(max_generations=1)))
    assert len(of(Champion, rest)) == 1


def test_rates_count_the_models_that_were_trained_since_the_session_was_resumed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agents.training.hybrid.trainer.SAVE_EVERY", 0.0)  # a checkpoint after each model
    events = session(hybrid(max_generations=1))
    state = next(
        checkpoint.state
        for checkpoint in reversed(of(Checkpoint, events))
        if Search.load(read(checkpoint.state).search).pending()
    )
    [genome] = Search.load(read(state).search).pending()
    rest = trained(hybrid(max_generations=1), state=state)
    rates = dict(of(Metrics, rest)[0].values)
    members = Search.load(read(of(Checkpoint, rest)[-1].state).search).members
    [seconds] = [member.outcome.seconds for member in members if member.genome == genome and member.outcome]
    assert 60 * rates["speed/concurrent"] / rates["speed/models"] == pytest.approx(seconds), "of one model"


def test_pauses_do_not_count_in_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, "fitting", "trainer")
    monkeypatch.setattr(FakeContext, "attend", lambda self: clock.pause())
    rates = dict(of(Metrics, session(hybrid(max_generations=1)))[0].values)
    assert rates["speed/concurrent"] == pytest.approx(1.0, abs=0.05)
    assert rates["speed/models"] > 60 * 60 / HOUR, "4 models in several hours, but hardly any of that in training"


def test_rates_are_of_the_time_in_which_models_were_trained() -> None:
    assert covered([]) == 0
    assert covered([Span("a", "train", 5.0, 1.0), Span("b", "train", 0.0, 2.0), Span("a", "train", 1.0, 3.0)]) == 5.0


@pytest.mark.parametrize(("killed", "done"), [("new_evaluator", 0), ("validate", 1)])
def test_a_killed_session_keeps_its_lessons_and_complete_generations(
    killed: str, done: int, whole: Sequence[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`killed`: the function in which it ends."""

    def kill(*_: Any, **__: Any) -> None:
        raise InterruptedError

    events: list[Event] = []
    with monkeypatch.context() as patch, closing(FakeContext(agents=(TEACHER,))) as context:
        patch.setattr(f"agents.training.hybrid.trainer.{killed}", kill)
        with pytest.raises(InterruptedError):
            events.extend(hybrid().train(context))
    checkpoint = of(Checkpoint, events)[-1]
    assert checkpoint.step == done
    rest = trained(hybrid(), state=checkpoint.state)
    assert measured([*events, *rest]) == measured(whole)
    assert outcome_of(rest) == outcome_of(whole)


def test_a_missing_device_is_refused_before_lessons_are_made() -> None:
    context = FakeContext(agents=(TEACHER,))
    with pytest.raises(BadValue, match="a device of this machine"):
        list(hybrid(devices="cuda:63").train(context))
    assert not of(Progress, context.events)


def test_a_session_that_is_stopped_among_its_lessons_has_no_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.training.hybrid.lessons.players.CALL", -1.0)
    events = session(hybrid(), stop_after=0)
    assert not of(Checkpoint, events)
    assert events[-1].how is How.STOPPED


def test_other_modes_and_workers_give_the_same_models(whole: Sequence[Event]) -> None:
    other = session(hybrid(mode="processes"), workers=2)
    assert measured(other) == measured(whole)
    assert outcome_of(other) == outcome_of(whole)


def test_a_finished_session_goes_on_with_a_higher_limit(whole: Sequence[Event]) -> None:
    state = of(Checkpoint, whole)[-1].state
    events = trained(hybrid(max_generations=4), state=state)
    assert list(measured(events)) == [4]
    assert trained(hybrid(), state=state)[-1] == Ended(How.FINISHED, "3 generations")


def test_without_validation_the_best_answers_count() -> None:
    events = session(hybrid(validate_pairs=0, max_generations=1))
    assert not [name for found in measured(events).values() for name in found if name.startswith("validation/")]
    [champion] = of(Champion, events)
    assert "validated" not in champion.player.about


def test_a_target_ends_the_search() -> None:
    events = session(hybrid(target_fitness=0.2))
    assert events[-1].reason == "fitness/best reached 0.2 after 1 generation"


def test_a_time_limit_ends_it_after_a_generation() -> None:
    events = session(hybrid(minutes=1e-6))
    assert list(measured(events)) == [1]
    assert "min" in events[-1].reason


def test_a_model_that_fails_is_logged_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    events = session(hybrid(max_generations=1, population_size=6, batch_size=1, seed=2))
    failed = measured(events)[1]["models/failed"]
    warnings = [
        log.text for log in of(Log, events) if log.level is Level.WARNING and "could not be trained" in log.text
    ]
    assert failed > 0, "models with batch normalisation need more than one example in a batch"
    assert len(warnings) == failed
    population = HybridConfig.population_of(of(Checkpoint, events)[-1].state)
    assert population is not None
    assert sum(bool(individual.error) for individual in population.individuals) == failed
    assert all(individual.fitness is None for individual in population.individuals if individual.error)


def test_the_population_is_read_from_a_checkpoint(whole: Sequence[Event]) -> None:
    population = HybridConfig.population_of(of(Checkpoint, whole)[-1].state)
    assert population is not None
    assert population.generation == 3
    assert [individual.number for individual in population.individuals] == list(
        range(1, len(population.individuals) + 1)
    )
    best = population.individuals[(population.best or 0) - 1]
    assert best.fitness == measured(whole)[3]["fitness/best"]
    assert best.diagram is not None


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"from_league": "", "teacher": ""}, "from_league"),
        ({"teacher": "Tracker,Lazy"}, "teacher"),
        ({"population_size": 1}, "population_size"),
        ({"mutation_rate_min": 0.9}, "mutation_rate_min"),
        ({"devices": "gpu7"}, "devices"),
        ({"mode": "magic"}, "mode"),
        ({"temperature": 1e-9}, "temperature"),
        ({"concurrent_models": "2"}, "concurrent_models"),
    ],
)
def test_wrong_settings_are_refused_by_name(settings: dict[str, Any], named: str) -> None:
    with pytest.raises((BadValue, UnknownName), match=named):
        hybrid(**settings).check(GAME, None, False)


def test_an_agent_to_start_from_and_unknown_bots_are_refused() -> None:
    with pytest.raises(BadValue, match="ancestor"):
        hybrid().check(GAME, TEACHER, False)
    with pytest.raises(UnknownName, match="Nobody"):
        hybrid(validate_bots="Nobody").check(GAME, None, False)


@pytest.mark.parametrize("state", [b"", b"{}", b"\x08" + bytes(40)])
def test_a_checkpoint_of_something_else_is_refused(state: bytes) -> None:
    with pytest.raises(BadValue, match="checkpoint"):
        trained(hybrid(), state=state)


def test_a_checkpoint_of_another_game_or_search_is_refused(whole: Sequence[Event]) -> None:
    state = of(Checkpoint, whole)[-1].state
    with pytest.raises(BadValue, match="game"):
        trained(hybrid(), state=state, game=new_game("treasure-hunt").spec)
    with pytest.raises(BadValue, match="population_size"):
        trained(hybrid(population_size=6), state=state)


def test_a_limit_that_is_lowered_ends_a_session_without_another_generation(
    whole: Sequence[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agents.training.hybrid.fitting.INTERVAL", -1.0)  # look after each minibatch
    part = session(hybrid(), stop_after=130)
    state = of(Checkpoint, part)[-1].state
    done = Search.load(read(state).search).generation
    assert done == 1
    assert part[-1].how is How.STOPPED
    rest = trained(hybrid(max_generations=done), state=state)
    assert not [metrics for metrics in of(Metrics, rest) if metrics.step > done]
    assert rest[-1].how is How.FINISHED
