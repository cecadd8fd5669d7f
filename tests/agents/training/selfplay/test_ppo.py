"""The trainer `ppo`: the same results for any number of workers, after any interruption, and what it reports."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load

from agents.nets import network as networks
from agents.nets.pilot import agent
from agents.training.events import Champion, Checkpoint, Current, Ended, Event, How, Metrics, Spans, Workers
from agents.training.selfplay import ppo
from agents.training.selfplay.config import MODE_NAMES, NETWORKS, PpoConfig
from agents.training.selfplay.learner import Learner
from agents.training.selfplay.loss import Batch
from agents.training.selfplay.mlp_step import MlpStep
from agents.training.selfplay.opponents import BOT, SNAPSHOT
from agents.training.selfplay.state import Best, PpoRun
from agents.training.session import TrainingSession
from engine.errors import BadValue, UnknownName
from engine.play.match import AgentSpec
from engine.play.rollout import Trajectories
from engine.registry import new_game
from tests.agents.training.fake_context import GAME, last_state, of, stay_in_process, trained
from tests.plugins.networks import STACK, drawn

QUICK: dict[str, Any] = {
    "updates": 6, "streams": 7, "steps": 24, "hidden": "8", "minibatch": 64, "epochs": 2, "seed": 3,
    "schedule_updates": 6,
    "snapshot_every": 2, "snapshots": 2, "self_share": 0.3, "bot_share": 0.3, "bots": "Lazy,Tracker",
    "validate_every": 3, "validate_pairs": 1, "validate_bots": "Lazy,Tracker", "checkpoint_every": 2,
}  # fmt: skip
ADA = AgentSpec("Ada", "pong-bot", b'{"style": "tracker"}')


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> PpoConfig:
    stay_in_process(monkeypatch)
    return PpoConfig(**QUICK)


def measured(events: list[Event]) -> dict[int, dict[str, float]]:
    """Metrics by update, without those of speed."""
    found: dict[int, dict[str, float]] = {}
    for event in of(Metrics, events):
        values = {name: value for name, value in event.values if not name.startswith("speed/")}
        assert not values.keys() & found.get(event.step, {}).keys(), "each of them once"
        found.setdefault(event.step, {}).update(values)
    return found


def test_a_session_has_metrics_checkpoints_a_champion_and_an_end(quick: PpoConfig) -> None:
    events = trained(quick)
    assert [event.step for event in of(Metrics, events)] == [1, 2, 3, 3, 4, 5, 6, 6], "validated at 3 and 6"
    assert [event.step for event in of(Checkpoint, events)] == [2, 4, 6]
    assert events[-1] == Ended(How.FINISHED, "6 updates")
    [champion] = of(Champion, events)
    assert networks.load(champion.player.payload).game == "pong"
    assert "ppo, update" in champion.player.about
    for event in of(Metrics, events):
        for name, value in event.values:
            assert np.isfinite(value), name
            known = quick.metrics
            assert name in known or f"{name.partition('/')[0]}/*" in known


def test_the_same_bits_come_from_any_number_of_workers(quick: PpoConfig) -> None:
    runs = [trained(quick, workers=count, agents=(ADA,)) for count in (1, 2, 3)]
    for other in runs[1:]:
        assert measured(other) == measured(runs[0])
        assert last_state(other) == last_state(runs[0])


@pytest.mark.parametrize("chosen", [0, 1])
def test_a_resumed_session_equals_an_uninterrupted_one(quick: PpoConfig, chosen: int) -> None:
    whole = trained(quick, agents=(ADA,))
    checkpoint = of(Checkpoint, whole)[chosen]
    rest = trained(quick, state=checkpoint.state, workers=2)
    assert measured(rest) == {step: values for step, values in measured(whole).items() if step > checkpoint.step}
    assert last_state(rest) == last_state(whole)


def test_a_stopped_session_continues_as_if_nothing_had_happened(quick: PpoConfig) -> None:
    whole = trained(quick)
    part = trained(quick, stop_after=30)
    assert part[-1].how is How.STOPPED
    rest = trained(quick, state=last_state(part))
    assert measured([*part, *rest]) == measured(whole)
    assert last_state(rest) == last_state(whole)


def test_a_killed_session_is_resumed_from_its_last_checkpoint(quick: PpoConfig) -> None:
    whole = trained(quick)
    events: list[Event] = []
    with TrainingSession("ppo", {**QUICK, "updates": 1_000_000}, GAME.spec, workers=1) as session:
        session.start()
        while not of(Checkpoint, events):
            events += session.wait(60)
        assert session.pid is not None
        os.kill(session.pid, signal.SIGKILL)
        while not session.over:
            events += session.wait(60)
    assert of(Ended, events)[-1].how is How.FAILED
    first = of(Checkpoint, events)[0]
    rest = trained(quick, state=first.state)
    assert last_state(rest) == last_state(whole)


def test_the_current_network_is_shown_on_request_and_training_stays_the_same(quick: PpoConfig) -> None:
    plain, watched = trained(quick), trained(quick, watched=True)
    assert measured(watched) == measured(plain)
    assert last_state(watched) == last_state(plain)
    assert not of(Current, plain)
    shown = of(Current, watched)
    assert [event.step for event in shown] == list(range(7))
    assert len({event.player.payload for event in shown}) == 7, "another network after each update"
    run = PpoRun.from_checkpoint(last_state(watched), quick, GAME)
    assert shown[-1].player.payload == agent("any", run.learner.network(quick.temperature)).payload
    assert shown[-1].player.about.startswith("ppo, update 6, ")


def test_snapshots_are_frozen(quick: PpoConfig) -> None:
    """Their bytes never change, and are those of the network at the update that they are named after."""
    seen: dict[str, bytes] = {}
    for checkpoint in of(Checkpoint, trained(quick)):
        run = PpoRun.from_checkpoint(checkpoint.state, quick, GAME)
        names = [id for id, member in run.pool.members.items() if member.group == SNAPSHOT]
        assert len(names) == min(checkpoint.step // 2, 2)
        for id, member in run.pool.members.items():
            assert seen.setdefault(id, member.agent.payload) == member.agent.payload
        assert run.pool.members[f"snapshot {checkpoint.step}"].agent.payload == run.spec().payload
    snapshots = {payload for id, payload in seen.items() if id.startswith(SNAPSHOT)}
    assert len(snapshots) == 3, "each is a different network"


def test_bots_join_a_session_that_is_resumed_with_a_share_for_them(quick: PpoConfig) -> None:
    alone = trained(PpoConfig(**{**QUICK, "updates": 2, "bot_share": 0.0}))
    resumed = trained(PpoConfig(**{**QUICK, "updates": 6, "bot_share": 0.7}), state=last_state(alone))
    assert not any("bots/share" in values for values in measured(alone).values())
    assert any("bots/share" in values for values in measured(resumed).values())
    run = PpoRun.from_checkpoint(last_state(resumed), quick, GAME)
    assert [id for id, member in run.pool.members.items() if member.group == BOT] == ["bot Lazy", "bot Tracker"]


def test_a_wrong_name_of_a_bot_is_an_error_even_without_a_share_for_bots() -> None:
    with pytest.raises(UnknownName, match="did you mean 'Tracker'"):
        PpoConfig(bots="Traker", bot_share=0.0).check(GAME, None, False)
    PpoConfig(bots="Tracker", bot_share=0.0).check(GAME, None, False)
    PpoConfig(bots="Traker", bot_share=0.0).check(GAME, None, True)  # sessions of before can be resumed


def test_a_loss_that_is_not_finite_ends_training_with_the_last_good_checkpoint(
    quick: PpoConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = MlpStep.begin, []

    def broken(step: MlpStep, batch: Batch, learning_rate: float) -> None:
        calls.append(1)
        real(step, batch._replace(returns=batch.returns * float("nan")) if len(calls) > 4 else batch, learning_rate)

    monkeypatch.setattr(MlpStep, "begin", broken)
    events = trained(quick)
    end = events[-1]
    assert end.how is How.FAILED
    assert "the loss became nan" in end.reason
    assert "lower learning_rate" in end.reason
    assert f"the last checkpoint is that of update {of(Checkpoint, events)[-1].step}:" in end.reason
    assert of(Checkpoint, events), "there is one to resume from"
    for checkpoint in of(Checkpoint, events):
        assert all(np.isfinite(tensor).all() for tensor in load(checkpoint.state).values() if tensor.dtype.kind == "f")


def test_training_that_fails_in_its_first_update_names_no_checkpoint(
    quick: PpoConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = MlpStep.begin
    broken = lambda step, batch, rate: real(step, batch._replace(returns=batch.returns * float("nan")), rate)  # noqa: E731
    monkeypatch.setattr(MlpStep, "begin", broken)
    events = trained(quick)
    assert not of(Checkpoint, events)
    assert "there is no checkpoint yet: lower learning_rate" in events[-1].reason


def test_rewards_for_what_the_game_does_not_count_are_refused_with_the_known_names() -> None:
    shogi = new_game("shogi")
    for text, words in (
        ("materiel=0.03", "unknown statistic or measure of shogi 'materiel'.*material"),
        ("material", "rewards = 'material': must be NAME=WEIGHT, such as material=0.03"),
        ("material=much", "rewards = 'material=much': must be NAME=WEIGHT"),
        ("material=nan", "rewards = 'material=nan': must be a weight from"),
    ):
        with pytest.raises((BadValue, UnknownName), match=words):
            PpoConfig(rewards=text).check(shogi, None, False)
    assert PpoConfig(rewards=" material=0.03, checks = 1").reward_weights(shogi) == {"material": 0.03, "checks": 1.0}
    assert PpoConfig().reward_weights(shogi) == PpoConfig(rewards="none").reward_weights(shogi) == {}


@pytest.mark.parametrize("mode", MODE_NAMES)
def test_the_network_learns_from_rewards_for_statistics(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def batch(played: Trajectories, *rest: Any) -> Batch:
        seen.append(played.rewards)
        return usual(played, *rest)

    usual = ppo.batch_of
    monkeypatch.setattr(ppo, "batch_of", batch)
    trained(PpoConfig(**{**QUICK, "mode": mode, "updates": 1, "rewards": "distance=0.1"}))
    assert (np.abs(seen[0]) % 1 != 0).any()  # points are whole numbers


def test_batches_that_workers_cannot_send_are_refused_by_the_name_of_the_setting() -> None:
    for mode in ("synchronous", "asynchronous"):
        with pytest.raises(BadValue, match="steps = 65536: must be at most 256 with 65,536 streams"):
            PpoConfig(mode=mode, streams=65_536, steps=65_536)
        with pytest.raises(
            BadValue,
            match=r"steps = 256: must be smaller: 1 batch of 16,777,216 experiences need 2\d\d GB",
        ):
            PpoConfig(mode=mode, streams=65_536, steps=256).check(new_game("shogi"), None, False)


def test_training_starts_from_an_ancestor(quick: PpoConfig) -> None:
    settings = PpoConfig(**{**QUICK, "hidden": "", "updates": 1, "learning_rate": 0.0, "last_learning_rate": 0.0})
    source = Learner(PpoConfig(hidden="8", seed=77), GAME, PpoConfig(hidden="8").architecture(GAME))
    ancestor = agent("Ancestor", source.network(0.0))
    settings.check(GAME, ancestor, False)
    events = trained(settings, ancestor=ancestor)
    tensors = networks.load(of(Champion, events)[0].player.payload).tensors
    for name, tensor in source.network(0.0).tensors.items():
        assert tensors[name] == pytest.approx(tensor, abs=1e-5)


def test_a_stack_continues_to_learn(quick: PpoConfig) -> None:
    settings = PpoConfig(**{**QUICK, "hidden": "", "updates": 4})
    ancestor = agent("Ancestor", drawn(STACK, GAME, seed=3))
    settings.check(GAME, ancestor, False)
    events = trained(settings, ancestor=ancestor)
    assert networks.load(of(Champion, events)[-1].player.payload).architecture == STACK
    first, second = of(Checkpoint, events)[0], of(Checkpoint, events)[-1]
    assert last_state(trained(settings, state=first.state)) == second.state


def test_an_ancestor_is_not_changed_by_a_stop_before_the_first_update(quick: PpoConfig) -> None:
    settings = PpoConfig(**{**QUICK, "hidden": "", "updates": 1, "learning_rate": 0.0, "last_learning_rate": 0.0})
    source = Learner(PpoConfig(hidden="8", seed=77), GAME, PpoConfig(hidden="8").architecture(GAME))
    stopped = trained(settings, ancestor=agent("Ancestor", source.network(0.0)), stop_after=0)
    [checkpoint] = of(Checkpoint, stopped)
    assert checkpoint.step == 0
    events = trained(settings, state=checkpoint.state)
    tensors = networks.load(of(Champion, events)[0].player.payload).tensors
    for name, tensor in source.network(0.0).tensors.items():
        assert tensors[name] == pytest.approx(tensor, abs=1e-5)


def test_an_ancestor_that_cannot_be_one_is_refused(quick: PpoConfig) -> None:
    with pytest.raises(BadValue, match="an agent of kind net or torch-net, but it is a pong-bot"):
        quick.check(GAME, ADA, False)
    other = Learner(PpoConfig(hidden="9"), GAME, PpoConfig(hidden="9").architecture(GAME))
    with pytest.raises(BadValue, match="that of the agent to start from"):
        quick.check(GAME, agent("Other", other.network(0.0)), False)
    with pytest.raises(BadValue, match="pong"):
        quick.check(new_game("treasure-hunt"), agent("Other", other.network(0.0)), False)


def test_a_checkpoint_of_another_game_or_a_damaged_one_is_refused(quick: PpoConfig) -> None:
    state = last_state(trained(quick))
    with pytest.raises(BadValue, match="pong"):
        PpoRun.from_checkpoint(state, quick, new_game("treasure-hunt"))
    for damaged in (state[:-100], b"", b"\0" * 100, state.replace(b"net.layers.0.bias", b"net.layers.9.bias")):
        with pytest.raises(BadValue):
            PpoRun.from_checkpoint(damaged, quick, GAME)


def test_a_checkpoint_holds_a_best_network_of_any_size(quick: PpoConfig) -> None:
    run = PpoRun.start(quick, GAME, None, ())
    run.best = Best(3, 0.5, "large", "torch-net", 1, bytes(50 << 20))
    saved = run.dump(b"")
    assert len(saved) < (51 << 20)
    assert PpoRun.from_checkpoint(saved, quick, GAME).best == run.best


def test_settings_whose_checkpoints_would_be_too_large_are_refused() -> None:
    large = PpoConfig(hidden="2048,1024,1024")  # 3.2 million weights
    with pytest.raises(BadValue, match=r"snapshots = 16: .*at most 10 with 3,170,308 weights"):
        large.check(GAME, None, False)
    replace(large, snapshots=10).check(GAME, None, False)
    replace(large, updates=200).check(GAME, None, False)  # it makes ten of them
    with pytest.raises(BadValue, match="at most 2 with"):
        replace(large, snapshots=10).check_size(3_170_308, others=100 << 20)
    with pytest.raises(BadValue, match="smaller layers"):
        PpoConfig(hidden="4096,3072", snapshots=0).check(GAME, None, False)


def test_checkpoints_are_as_large_as_their_check_expects(quick: PpoConfig) -> None:
    settings = PpoConfig(**{**QUICK, "hidden": "128,128", "updates": 3, "snapshot_every": 1, "snapshots": 1})
    last = of(Checkpoint, trained(settings))[-1]
    run = PpoRun.from_checkpoint(last.state, settings, GAME)
    assert run.best is not None
    networks = NETWORKS + 1 + len(run.pool.retired)
    size = len(last.state) + len(last.players[0].payload)
    assert size == pytest.approx(4 * run.learner.weights * networks, rel=0.1)


def test_training_ends_at_its_target(quick: PpoConfig) -> None:
    events = trained(PpoConfig(**{**QUICK, "target_share": 1e-9, "updates": 1000, "validate_bots": "Still"}))
    assert events[-1].how is How.FINISHED
    assert "validation/share" in events[-1].reason


def test_workers_and_spans_are_reported(quick: PpoConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.training.selfplay.timing.EVERY", 0.0)
    events = trained(quick)
    states = [state for event in of(Workers, events) for state in event.workers]
    assert {(state.name, state.pid) for state in states} == {("learner", os.getpid())}, "its threads play"
    assert [state.state for state in states[:6]] == ["playing", "learning"] * 3
    assert [state.state for state in states[6:9]] == ["validating", "playing", "learning"]
    assert states[-1].done == "6 updates"
    spans = [span for event in of(Spans, events) for span in event.spans]
    assert {span.name for span in spans} == {"rollout", "learning", "sync", "validation", "checkpoint"}
    for event in of(Metrics, events):
        shares = [value for name, value in event.values if name.startswith("speed/") and name != "speed/samples"]
        assert not shares or sum(shares) == pytest.approx(1.0)


def test_snapshots_that_have_left_are_unloaded_without_changing_anything(
    quick: PpoConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = PpoConfig(**{**QUICK, "snapshots": 1, "snapshot_every": 1})
    kept = trained(settings)
    monkeypatch.setattr("agents.training.selfplay.collector.SPARE", 0)
    assert measured(trained(settings)) == measured(kept)
