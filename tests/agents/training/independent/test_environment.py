"""An experiment: the same results in every synchronous mode and after any interruption, frozen agents, any game."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from agents.nets import network as networks
from agents.training.independent import LearnerSettings, ParallelEnvironment, population
from agents.training.independent.calibration import Calibration
from agents.training.independent.reports import ExperimentResult
from agents.training.independent.speedup import Resources
from agents.training.independent.state import read
from agents.training.matchmaking import ready_bots
from engine.errors import BadValue, UnknownName, VersionMismatch
from engine.game import Game
from engine.play.match import AgentSpec
from engine.registry import new_game
from tests.engine.games.relay_env import RelayGame

HUNT = new_game("treasure-hunt", seats=3, turns=20)
IQN = LearnerSettings(hidden=(8,), batch=32)
DQN = LearnerSettings("dqn", hidden=(8, 16), batch=32, dueling=True, n_steps=2)
QUICK: dict[str, Any] = {
    "epochs": 8, "lanes": 4, "seed": 3, "buffer": 300, "learn_after": 100, "turns_per_update": 16, "epsilon_epochs": 6,
    "reward_scale": 0.1, "evaluate_every": 4, "evaluate_matches": 4, "references": "none", "calibrate": False,
}  # fmt: skip
SYNCHRONOUS: dict[str, dict[str, Any]] = {
    "parallel actions": {"parallel_training": False},
    "stacked updates": {"parallel_actions": False, "training_mode": "stacked"},
    "stacked": {"training_mode": "stacked"},
    "threads": {"training_mode": "threads", "num_workers": 2},
}


def experiment(
    parallel: Mapping[str, Any] | None = None,
    *,
    game: Game = HUNT,
    agents: Any = (IQN, DQN, IQN),
    saved: bytes | None = None,
    stopping: Callable[[], bool] = lambda: False,
    **settings: Any,
) -> ParallelEnvironment:
    config = {
        **QUICK,
        **settings,
        "parallel": {"train_interval": 2, "enabled": parallel is not None, **(parallel or {})},
    }
    return ParallelEnvironment(game, agents, config, saved=saved, stopping=stopping, cores=2)


def run(*arguments: Any, **settings: Any) -> tuple[ExperimentResult, bytes]:
    with experiment(*arguments, **settings) as environment:
        return environment.run_experiment(), environment.save()


def outcome(result: ExperimentResult) -> list[Any]:
    """What must be the same in all modes."""
    reports = [(report.epoch, report.scores, report.updates, report.epsilons) for report in result.reports]
    return [reports, np.array(result.losses).tolist(), result.evaluations, result.scores]


@pytest.fixture(scope="module")
def reference() -> tuple[ExperimentResult, bytes]:
    return run()


def test_the_reference_plays_learns_and_evaluates(reference: tuple[ExperimentResult, bytes]) -> None:
    result, _ = reference
    assert result.mode == "sequential"
    assert result.roles == ("agent 1", "agent 2", "agent 3")
    assert [report.epoch for report in result.reports] == [2, 4, 6, 8]
    assert result.updates == (8 * 20 * 4 // 16,) * 3
    assert [evaluation.epoch for evaluation in result.evaluations] == [4, 8]
    assert np.isfinite(result.losses).all()
    assert [report.epsilons[0] for report in result.reports] == sorted(
        (report.epsilons[0] for report in result.reports), reverse=True
    )
    assert len(result.scores) == 8
    assert np.mean(result.scores[:2], axis=0) == pytest.approx(result.reports[0].scores)
    assert {"collect", "act", "learn", "publish", "evaluate"} == result.seconds.keys()


@pytest.mark.parametrize("mode", SYNCHRONOUS)
def test_every_synchronous_mode_has_the_same_results_to_the_bit(
    mode: str, reference: tuple[ExperimentResult, bytes]
) -> None:
    result, saved = run(SYNCHRONOUS[mode])
    assert outcome(result) == outcome(reference[0])
    assert saved == reference[1]


def test_calibration_changes_no_result_and_gives_the_speedup(reference: tuple[ExperimentResult, bytes]) -> None:
    result, saved = run({"training_mode": "stacked"}, calibrate=True)
    assert result.mode == "stacked"
    assert outcome(result) == outcome(reference[0])
    assert saved == reference[1]
    assert [report.speedup is not None for report in result.reports] == [False, True, True, True]
    for report in result.reports[1:]:
        assert report.speedup is not None
        assert min(report.speedup) > 0


def test_the_calibration_after_a_resume_leaves_out_the_first_update_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code is loaded or compiled in the first update of every process."""
    _, saved = run(epochs=4)
    counted: list[int] = []
    real = Calibration.finish

    def finish(found: Calibration, publishing: float, updates_per_epoch: float) -> None:
        counted.append(found._updates)
        real(found, publishing, updates_per_epoch)

    monkeypatch.setattr(Calibration, "finish", finish)
    run({"training_mode": "stacked"}, saved=saved, epochs=6, calibrate=True)
    assert counted == [2 * 20 * 4 // 16 - 1]


def test_the_predicted_speedup_is_for_the_cores_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A session has one worker less than there are cores, but its actor uses one, too."""
    monkeypatch.setattr("engine.processes.bootstrap.cores", lambda: 4)
    found: list[Resources] = []
    monkeypatch.setattr(Calibration, "set_resources", lambda _, resources: found.append(resources))
    config = {**QUICK, "epochs": 4, "calibrate": True}
    config |= {"parallel": {"train_interval": 2, "training_mode": "threads", "num_workers": 3}}
    with ParallelEnvironment(HUNT, [IQN] * 3, config, cores=1) as environment:
        environment.run_experiment()
    assert [(resources.workers, resources.cores) for resources in found] == [(3, 4)]


def test_auto_measures_and_says_what_it_chose(reference: tuple[ExperimentResult, bytes]) -> None:
    with experiment({"use_threads": True}) as environment:
        result = environment.run_experiment()
        assert environment.save() == reference[1]
        [note] = environment.notes
    assert result.mode in ("sequential", "stacked", "threads")
    assert result.reason in note.text
    assert f"the fastest way to update 3 agents: {result.mode} " in result.reason


@pytest.mark.parametrize("calls", [3, 50, 95, 130])
def test_a_run_that_is_interrupted_anywhere_continues_in_any_mode_with_the_same_bits(
    calls: int, reference: tuple[ExperimentResult, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of an epoch, of a training or of an evaluation."""
    monkeypatch.setattr("agents.training.independent.environment.PULSE", -1.0)  # look after each turn and update
    asked: list[int] = []

    def stopping() -> bool:
        asked.append(1)
        return len(asked) > calls

    first, saved = run({"training_mode": "stacked"}, stopping=stopping)
    assert first.stopped
    assert len(first.reports) < 4
    second, last = run({"training_mode": "stacked"}, saved=saved, calibrate=True)
    assert last == reference[1]
    _, last = run(None, saved=saved)
    assert last == reference[1]
    whole = outcome(reference[0])
    assert outcome(second)[0] == whole[0][len(first.reports) :], "reports of whole intervals"
    assert outcome(second)[1] == whole[1][len(first.reports) :]


LAST_INTERVAL = {"train_interval": 4, "training_mode": "stacked"}


def test_the_last_epochs_are_trained_too() -> None:
    result, _ = run(LAST_INTERVAL, epochs=7)
    assert [report.epoch for report in result.reports] == [4, 7]
    assert result.updates == (7 * 20 * 4 // 16,) * 3


def test_a_run_that_is_interrupted_in_its_last_training_makes_the_rest_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.training.independent.environment.PULSE", -1.0)  # look after each update
    _, whole = run(LAST_INTERVAL, epochs=7)
    with experiment(LAST_INTERVAL, epochs=7, stopping=lambda: environment.updates == 25) as environment:
        assert environment.run_experiment().stopped
        assert not environment.finished
        part = environment.save()
    result, saved = run(LAST_INTERVAL, epochs=7, saved=part)
    assert [report.epoch for report in result.reports] == [7]
    assert saved == whole


def test_a_result_without_an_update_says_so(reference: tuple[ExperimentResult, bytes]) -> None:
    result, _ = run(epochs=2, learn_after=300)
    assert [note.text for note in result.notes if note.warning] == [
        "no agent made an update: they begin after 300 turns, with enough of them for a minibatch, and each had 160"
    ]
    assert not [note for note in reference[0].notes if note.warning]


def test_bots_that_have_a_score_need_not_be_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    result, saved = run(epochs=4, references="Dice")
    monkeypatch.setattr("agents.training.matchmaking.agents_for", lambda _: {})
    rest, _ = run(epochs=6, references="Dice", saved=saved)
    assert rest.references == result.references
    with pytest.raises(UnknownName, match="Magpie"):
        run(epochs=6, references="Dice,Magpie", saved=saved)


def test_a_report_without_epochs_has_no_speed() -> None:
    """After a resume, updates may be due before the next epoch."""
    _, saved = run(epochs=2, learn_after=300)
    with experiment(saved=saved, learn_after=100) as environment:
        report = environment.advance()
        assert report is not None
        assert report.updates == (2 * 20 * 4 // 16,) * 3
        assert (report.epochs, report.costs, report.speedup) == (0, None, None)


def test_an_epoch_can_be_played_turn_by_turn() -> None:
    with experiment() as environment:
        turns = 1
        while environment.take_turn():
            turns += 1
        assert (turns, environment.epoch, environment.turns) == (20, 1, 80)
        assert environment.train(), "nothing is due yet"
        assert environment.updates == 0


def test_frozen_agents_keep_their_weights_and_do_not_explore() -> None:
    with experiment(frozen="agent 2") as environment:
        before = {seat: player.payload for seat, player in environment.population.players.items()}
        result = environment.run_experiment()
        after = {seat: player.payload for seat, player in environment.population.players.items()}
        saved = environment.save()
    assert [before[seat] == after[seat] for seat in range(3)] == [False, True, False]
    assert result.updates[1] == 0
    assert result.updates[0] > 0
    assert [report.epsilons[1] for report in result.reports] == [0.0] * 4
    with experiment(saved=saved, epochs=10) as environment:  # it may learn later
        assert environment.run_experiment().updates[1] > 0


def test_frozen_agents_alone_are_not_calibrated() -> None:
    """Without updates there is no calibration that could end, and agents would be asked one by one for ever."""
    with experiment({}, frozen="agent 1,agent 2,agent 3", calibrate=True) as environment:
        environment.advance()
        assert len(environment.actor._groups) == 1


def test_agents_that_do_not_learn_take_seats_and_are_saved() -> None:
    [magpie] = ready_bots(HUNT, "Magpie")
    result, saved = run({"training_mode": "stacked"}, agents=[IQN, magpie, IQN], references="Dice")
    assert result.roles == ("agent 1", "agent 3")
    assert result.references.keys() == {"Dice"}
    other, again = run(agents=[IQN, magpie, IQN], references="Dice")
    assert outcome(other) == outcome(result)
    assert again == saved
    with pytest.raises(BadValue, match="as in the checkpoint"):
        experiment(saved=saved)


@pytest.mark.parametrize(
    ("other", "match"),
    [
        ({"lanes": 5}, "lanes = 5: must be 4, as in the checkpoint"),
        ({"seed": 4}, "seed = 4: must be 3, as in the checkpoint"),
        ({"turns_per_update": 1}, "turns_per_update = 1: must be 16, as in the checkpoint"),
        ({"evaluate_matches": 8}, "evaluate_matches = 8: must be 4, as in the checkpoint"),
        (
            {"game": new_game("treasure-hunt", seats=3, turns=7)},
            "option turns of treasure-hunt = 7: must be 20, as in the checkpoint",
        ),
        ({"game": new_game("pong"), "agents": [IQN] * 2}, r"checkpoint\.game = 'treasure-hunt': must be pong"),
    ],
)
def test_a_checkpoint_of_another_experiment_is_refused(
    other: dict[str, Any], match: str, reference: tuple[ExperimentResult, bytes]
) -> None:
    with pytest.raises(BadValue, match=match):
        experiment(saved=reference[1], **other)


def test_a_checkpoint_of_another_version_of_the_game_is_refused(reference: tuple[ExperimentResult, bytes]) -> None:
    later = replace(HUNT.spec, version=HUNT.spec.version + 1)
    with pytest.raises(VersionMismatch, match="'treasure-hunt' was recorded with version"):
        read(reference[1], later)


def test_players_are_the_networks_of_the_learners() -> None:
    with experiment({"training_mode": "stacked"}) as environment:
        environment.run_experiment()
        for seat, spec in environment.population.players.items():
            group, k = environment.population.place(seat)
            tensors = networks.load(spec.payload).tensors
            for name, numbers in group.playing(k).items():
                np.testing.assert_array_equal(tensors[name], numbers)


@pytest.mark.parametrize("parallel", [None, {"training_mode": "stacked"}], ids=["sequential", "stacked"])
def test_an_agent_whose_loss_is_not_finite_stops_and_the_others_go_on(
    parallel: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with experiment(parallel, agents=[IQN] * 3, evaluate_every=0) as environment:
        environment.advance()
        environment.advance()
        kept = environment.population.players[1].payload
        buffer = environment.population.buffers[1]
        buffer.set_tensors(buffer.tensors() | {"rewards": np.full_like(buffer.tensors()["rewards"], np.nan)})
        report = environment.advance()
        assert report is not None
        assert environment.population.players[1].payload == kept
        assert report.updates[0] == report.updates[2] > report.updates[1]
        assert "agent 2 has stopped learning" in environment.notes[-1].text
        assert environment.still_learning


@pytest.mark.parametrize("parallel", [None, {"training_mode": "stacked"}], ids=["sequential", "stacked"])
def test_an_imported_environment_that_agents_leave_is_learned(parallel: Any) -> None:
    game = RelayGame(RelayGame.Options())
    result, _ = run(parallel, game=game, agents=[IQN] * 3, epochs=24, learn_after=40, reward_scale=1.0)
    assert result.updates == (24 * 9 * 4 // 16,) * 3
    assert np.isfinite(result.losses[-1]).all()


def test_pong_with_two_seats_is_learned() -> None:
    game = new_game("pong", points=1, step_limit=120)
    result, _ = run({"training_mode": "stacked"}, game=game, agents=[DQN] * 2, epochs=4, turns_per_update=64)
    assert result.updates[0] > 3


def test_frames_that_the_game_stacks_give_the_same_results_whether_they_are_stored_once_or_not() -> None:
    game = new_game("treasure-hunt", seats=2, turns=20, frames=3)
    agents = [[LearnerSettings(hidden=(8,), batch=32, frames=frames)] * 2 for frames in (1, 3)]
    results = [run(game=game, agents=some, buffer=1000)[0] for some in agents]  # nothing is overwritten
    assert outcome(results[0]) == outcome(results[1])
    with pytest.raises(BadValue, match="frames = 2: must be 1 or 3"):
        experiment(game=game, agents=[LearnerSettings(frames=2)] * 2)
    with pytest.raises(BadValue, match="the same for all learners"):
        experiment(game=game, agents=[LearnerSettings(frames=1), LearnerSettings(frames=3)])


@pytest.mark.parametrize(
    ("agents", "match"),
    [
        (2, "agents = 2: must be 3, one for each seat of treasure-hunt; or set its option seats=2"),
        (-1, "agents = -1: must be 3, one for each seat of treasure-hunt$"),
        (10**20, "agents = 100000000000000000000: must be 3"),
        ("abc", "a number of learners, or a sequence"),
        ([IQN, IQN, "x"], r"agents\[2\]"),
        ([AgentSpec("A", "dice")] * 3, "at least one learner"),
    ],
)
def test_agents_that_do_not_fit_are_refused(agents: Any, match: str) -> None:
    with pytest.raises(BadValue, match=match):
        experiment(agents=agents)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"game": "treasure-hunt"}, "game = 'treasure-hunt': must be a game, such as"),
        ({"config": [1, 2]}, r"config = \[1, 2\]: must be a mapping"),
        ({"saved": "abc"}, "saved = 'abc': must be the bytes"),
        ({"cores": -3}, "cores = -3: must be a whole number from 1"),
        ({"cores": float("nan")}, "cores = nan: must be a whole number from 1"),
        ({"stopping": None}, "stopping = None: must be a function without arguments"),
    ],
)
def test_arguments_of_the_wrong_type_are_refused(arguments: Any, match: str) -> None:
    with pytest.raises(BadValue, match=match):
        ParallelEnvironment(**{"game": HUNT, "agents": 3, **arguments})


def test_games_and_settings_that_do_not_fit_are_refused() -> None:
    with pytest.raises(BadValue, match="all players act at every step"):
        experiment(game=new_game("shogi"), agents=2)
    with pytest.raises(UnknownName, match="did you mean 'lanes'"):
        experiment(lane=3)
    with pytest.raises(BadValue, match="buffer = 40: must be at least 44"):
        experiment(buffer=40, learn_after=0)
    with pytest.raises(UnknownName, match="learning agent"):
        experiment(frozen="agent 7")


@pytest.mark.parametrize("training_mode", ["stacked", "processes"])
def test_buffers_that_memory_has_no_room_for_are_refused_with_the_largest_that_fits(
    monkeypatch: pytest.MonkeyPatch, training_mode: str
) -> None:
    monkeypatch.setattr(population.psutil, "virtual_memory", lambda: SimpleNamespace(available=8 << 20))
    with pytest.raises(BadValue, match="buffers of 3 agents take") as error:
        experiment(buffer=50_000, parallel={"training_mode": training_mode})
    most = int(re.search(r"at most ([\d,]+)", str(error.value))[1].replace(",", ""))  # type: ignore[index]
    with experiment(buffer=most, parallel={"training_mode": training_mode}):
        pass


def test_a_number_stands_for_so_many_learners_and_a_spec_for_its_game() -> None:
    with ParallelEnvironment(HUNT.spec, 3) as environment:
        assert environment.roles == ("agent 1", "agent 2", "agent 3")
        assert environment.game.spec == HUNT.spec
