"""The settings of experience collection: every option has its effect, or is refused with the right value."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import numpy as np
import pytest

from agents.nets.architecture import Architecture
from agents.training.selfplay.manager import ParallelManager
from agents.training.selfplay.parallel_config import EnvConfig, ModelConfig, ParallelConfig, RewardStructure
from engine.errors import BadValue, UnknownName
from engine.play.match import Ending, EndingKind, MatchResult
from engine.play.rollout import Trajectories
from engine.registry import new_game


def test_the_defaults_are_those_of_the_document() -> None:
    config = ParallelConfig.read({})
    assert (config.num_workers, config.games_per_worker, config.max_game_length) == (4, 10, 200)
    assert (config.experience_batch_size, config.model_sync_interval, config.worker_reset_interval) == (64, 100, 1000)
    assert (config.timeout, config.compression_enabled) == (30.0, True)
    assert (config.lanes, config.steps) == (16, 4)


@pytest.mark.parametrize(
    ("size", "boards", "lanes"),
    [(64, 0, 16), (60, 0, 15), (3, 0, 3), (10, 0, 10), (25, 0, 5), (96, 32, 32)],
)
def test_boards_are_a_divisor_of_the_batch_size(size: int, boards: int, lanes: int) -> None:
    config = ParallelConfig.read({"experience_batch_size": size, "boards": boards})
    assert (config.lanes, config.steps) == (lanes, size // lanes)


def test_values_out_of_range_are_refused() -> None:
    with pytest.raises(BadValue, match=r"experience_batch_size = 10: must be a multiple of boards \(4\), such as 12"):
        ParallelConfig.read({"experience_batch_size": 10, "boards": 4})
    with pytest.raises(BadValue, match="num_workers = 0"):
        ParallelConfig.read({"num_workers": 0})
    with pytest.raises(BadValue, match="timeout = '30'"):
        ParallelConfig.read({"timeout": "30"})
    assert ParallelConfig.read({"timeout": 5}).timeout == 5.0


@pytest.mark.parametrize(("size", "near", "boards"), [(127, 128, "1 board"), (34, 32, "2 boards"), (17, 16, "1 board")])
def test_a_batch_size_that_leaves_few_boards_is_refused_with_a_better_one(size: int, near: int, boards: str) -> None:
    text = f"experience_batch_size = {size}: must be a multiple of 16, such as {near}: .* among {boards}"
    with pytest.raises(BadValue, match=text):
        ParallelConfig.read({"experience_batch_size": size})


def test_settings_that_are_no_mapping_are_refused_by_name() -> None:
    for given, text in (
        (("shogi", {}, {}), "env_config = 'shogi': must be a mapping of names to values, such as"),
        (({}, [64], {}), r"model_config = \[64\]: must be a mapping"),
        (({}, {}, 4), "parallel_config = 4: must be a mapping"),
        (({}, {}, []), r"parallel_config = \[\]: must be a mapping"),
    ):
        with pytest.raises(BadValue, match=text):
            ParallelManager(*given)  # type: ignore[arg-type]


@pytest.mark.parametrize("game", [3, ["x"], None])
def test_a_game_is_named_by_text(game: object) -> None:
    with pytest.raises(BadValue, match=r"game = .*: must be the name of a game, such as 'shogi'"):
        EnvConfig.read({"game": game})


@pytest.mark.parametrize("plan", ["x:y", "engine.play.rollout_plans:y", "json:__name__", ".:y", "x", 3])
def test_a_plan_that_cannot_be_found_is_refused(plan: object) -> None:
    with pytest.raises(BadValue, match=f"plan = {plan!r}: must be "):
        ParallelManager({"game": "pong"}, plan=plan)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("env", "text"),
    [
        ({"game": "pong", "max_moves": None}, "max_moves = None: must be of type int"),
        ({"max_moves": -1}, "max_moves = -1: must be from"),
        ({"max_moves": math.nan}, "max_moves = nan: must be of type int"),
        ({"game": "treasure-hunt", "board_size": None}, "board_size = None: must be of type int"),
        ({"game": "treasure-hunt", "board_size": 999}, "board_size = 999: must be from"),
        ({"game": "pong", "options": {"points": None}}, "points = None: must be of type int"),
        ({"game": "pong", "options": {3: 4}}, "a name in options = 3: must be text"),
    ],
)
def test_errors_name_the_key_that_was_given(env: dict[str, object], text: str) -> None:
    with pytest.raises(BadValue, match=f"^{text}"):
        EnvConfig.read(env)


def test_batches_that_need_too_much_memory_are_refused_by_the_names_of_the_settings() -> None:
    huge = {"experience_batch_size": 1 << 24, "boards": 64, "queue_size": 1024}
    text = (
        r"^experience_batch_size = 16777216: must be smaller: 1024 batches of 16,777,216 experiences "
        r"need \d+ GB in one process. Lower it or queue_size$"
    )
    with pytest.raises(BadValue, match=text):
        ParallelManager({"game": "pong"}, {}, huge)
    text = r"^steps = 9: must be smaller: .* Lower it or streams$"
    with pytest.raises(BadValue, match=text):
        ParallelManager({"game": "pong"}, {}, huge, size_settings={"steps": 9, "streams": 7})


def test_unknown_keys_suggest_the_nearest_known_one() -> None:
    with pytest.raises(UnknownName, match="option of parallel_config 'num_worker': did you mean 'num_workers'"):
        ParallelConfig.read({"num_worker": 2})
    with pytest.raises(UnknownName, match="option of env_config 'max_move': did you mean 'max_moves'"):
        EnvConfig.read({"max_move": 2})
    with pytest.raises(UnknownName, match="option of model_config 'hiden_dim': did you mean 'hidden_dim'"):
        ModelConfig.read({"hiden_dim": 2}, new_game("pong"))
    with pytest.raises(UnknownName, match="option of reward_structure 'wins': did you mean 'win'"):
        EnvConfig.read({"reward_structure": {"wins": 2.0}})
    with pytest.raises(UnknownName, match="option of architecture 'channel': did you mean 'channels'"):
        ModelConfig.read({"architecture": {"channel": [8]}}, new_game("shogi"))


def test_the_environment_is_shogi_unless_it_names_another_game() -> None:
    env = EnvConfig.read({"board_size": 9, "max_moves": 150})
    assert (env.game.spec.name, dict(env.game.spec.options)["move_limit"]) == ("shogi", 150)
    assert dict(EnvConfig.read({"game": "pong", "max_moves": 90}).game.spec.options)["step_limit"] == 90
    options = dict(EnvConfig.read({"game": "treasure-hunt", "board_size": 7, "max_moves": 30}).game.spec.options)
    assert (options["width"], options["height"], options["turns"]) == (7, 7, 30)
    assert dict(EnvConfig.read({"game": "pong", "options": {"points": 3}}).game.spec.options)["points"] == 3


def test_an_environment_that_contradicts_itself_is_refused() -> None:
    with pytest.raises(BadValue, match="board_size = 19: must be 9, the size of the board of shogi"):
        EnvConfig.read({"board_size": 19})
    with pytest.raises(BadValue, match="board_size = 9: must be left out: there is no board of squares in pong"):
        EnvConfig.read({"game": "pong", "board_size": 9})
    with pytest.raises(BadValue, match="max_moves = 9: must be 12, as `options` says with move_limit"):
        EnvConfig.read({"max_moves": 9, "options": {"move_limit": 12}})
    with pytest.raises(BadValue, match="max_moves = 9: must be left out, because tictactoe has no such option"):
        EnvConfig.read({"game": "tictactoe", "max_moves": 9})
    with pytest.raises(BadValue, match="reward_structure = 3"):
        EnvConfig.read({"reward_structure": 3})


def test_sizes_of_the_network_are_derived() -> None:
    shogi = new_game("shogi")
    assert ModelConfig.read({}, shogi).architecture == Architecture("mlp", (64, 64))
    given = {"input_dim": 46 * 81, "hidden_dim": 512, "action_dim": 2187, "num_layers": 3, "seed": 5}
    config = ModelConfig.read(given, shogi)
    assert (config.architecture, config.seed) == (Architecture("mlp", (512, 512, 512)), 5)
    resnet = {"type": "resnet", "channels": [16], "blocks": 2, "hidden": [32]}
    wanted = Architecture("resnet", (32,), (16,), 2)
    assert ModelConfig.read({"architecture": resnet}, shogi).architecture == wanted
    assert ModelConfig.read({"architecture": wanted}, shogi).architecture == wanted
    stack = {"type": "stack", "hidden": [8, 8], "activations": ["elu", "silu"]}
    wanted = Architecture("stack", (8, 8), activations=("elu", "silu"))
    assert ModelConfig.read({"architecture": stack}, shogi).architecture == wanted


def test_sizes_that_contradict_the_game_are_refused_with_the_right_value() -> None:
    shogi = new_game("shogi")
    text = r"input_dim = 1134: must be 3726, the numbers in an observation of shogi \(46 x 9 x 9\)"
    with pytest.raises(BadValue, match=text):
        ModelConfig.read({"input_dim": 81 * 14}, shogi)
    with pytest.raises(BadValue, match="action_dim = 13527: must be 2187, the actions of shogi"):
        ModelConfig.read({"action_dim": 13527}, shogi)
    with pytest.raises(BadValue, match="hidden_dim = 8: must be left out, because `architecture` describes all layers"):
        ModelConfig.read({"hidden_dim": 8, "architecture": {"hidden": [8]}}, shogi)
    with pytest.raises(BadValue, match="observation"):
        ModelConfig.read({"architecture": {"type": "resnet", "channels": [8], "blocks": 1}}, new_game("pong"))


def segment(ends: list[list[int]], rewards: list[list[list[float]]], ranks: list[tuple[int, ...]]) -> Trajectories:
    shape = np.shape(rewards)
    zeros = np.zeros(shape, np.float32)
    results = [
        MatchResult("m", ("a", "b"), (0.0, 0.0), rank, steps, Ending(EndingKind.FINISHED), (), b"")
        for rank, steps in zip(ranks, [0, *[3] * (len(ranks) - 1)], strict=True)
    ]
    return Trajectories(
        zeros, None, np.zeros(shape, np.int64), zeros, zeros, np.array(rewards, np.float32), np.ones(shape, np.bool_),
        np.array(ends, np.int8), zeros, tuple(results),
    )  # fmt: skip


def test_rewards_are_added_at_the_end_of_a_match_by_the_rules() -> None:
    """The first result is of a match that was over at its start, so it has no step."""
    ends = [[1, 0, 2], [3, 1, 0]]
    rewards = [[[0.5, -0.5], [1, 0], [0, 2]], [[0, 0], [0, 1], [4, 4]]]
    trajectory = segment(ends, rewards, [(1, 2), (2, 1), (1, 2), (1, 1), (1, 2)])
    RewardStructure(score=2.0, step=-0.25, win=10.0, draw=3.0, loss=-5.0).apply(trajectory)
    assert trajectory.rewards.tolist() == [
        [[0.75 - 5, -1.25 + 10], [1.75, -0.25], [-0.25, 3.75]],
        [[-0.25 + 3, -0.25 + 3], [-0.25 + 10, 1.75 - 5], [7.75, 7.75]],
    ]
    same = segment(ends, rewards, [(1, 2), (2, 1), (1, 2), (1, 1), (1, 2)])
    RewardStructure().apply(same)
    assert same.rewards.tolist() == rewards


def test_settings_are_read_without_torch() -> None:
    code = (
        "import sys; from agents.training.selfplay import ParallelConfig, ParallelManager; import json;"
        "manager = ParallelManager({'game': 'pong'}, {}, {'num_workers': 1});"
        "print(json.dumps([ParallelConfig.read({}).steps, 'torch' in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert json.loads(done.stdout) == [4, False], done.stderr
