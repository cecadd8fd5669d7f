"""Our games as environments of PettingZoo: its own tests hold, and what they show is what our boards show."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from engine import pygame_headless
from engine.errors import BadValue, NotNow, RingsideError
from engine.games.pettingzoo import env
from engine.games.pettingzoo.discovery import exclusive, require
from engine.registry import GAMES, PAINTERS, new_game
from engine.seeding import pick, purpose
from league_app.rendering import images
from tests.engine.games.relay_env import RelayGame

require()
with exclusive():  # its tests import an environment in a deprecated way
    from pettingzoo import AECEnv, ParallelEnv
    from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, render_test, seed_test
    from pettingzoo.utils import parallel_to_aec

CHOICE = purpose("tests.environment")
TOGETHER: dict[str, dict[str, object]] = {
    "pong": {"points": 1},
    "bids": {"seats": 3},
    "treasure-hunt": {"seats": 3, "turns": 60},
    "pettingzoo:rps_v2": {},
    "pettingzoo:knights_archers_zombies_v11": {},
}
IN_TURN: dict[str, dict[str, object]] = {"tictactoe": {}, "mixed": {}, "shogi": {}, "pettingzoo:leduc_holdem_v4": {}}
# Expected warnings: about action masks in dict observations, and observations that are all zeros at first.
masks_are_fine = pytest.mark.filterwarnings(
    "ignore:Observation", "ignore:The observation contains negative", "ignore:Action mask"
)
unknown_options_are_fine = pytest.mark.filterwarnings("ignore:.*it accepts only 'start'")


@pytest.fixture(autouse=True)
def no_screen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No window opens on a screen, and frames are not delayed."""

    class Hasty:
        def tick(self, pace: float) -> None:
            assert pace > 0

    monkeypatch.setitem(pygame_headless.user_environment, images.DRIVER, "dummy")
    monkeypatch.setattr(images.pygame.time, "Clock", Hasty)
    yield
    images.pygame.display.quit()


@pytest.fixture
def relay() -> Iterator[None]:
    GAMES.add("pettingzoo:relay_v0", RelayGame)
    yield
    GAMES.remove("pettingzoo:relay_v0")


def maker(name: str, options: dict[str, object]) -> Callable[..., Any]:
    return lambda render_mode=None: env(name, render_mode, **options)


@masks_are_fine
@unknown_options_are_fine
@pytest.mark.parametrize("name", TOGETHER)
def test_parallel_environments_pass_the_tests_of_pettingzoo(name: str) -> None:
    make = maker(name, TOGETHER[name])
    assert isinstance(make(), ParallelEnv)
    parallel_api_test(make(), 100)
    parallel_seed_test(make, 100)
    api_test(parallel_to_aec(make()), 50)
    seed_test(lambda: parallel_to_aec(make()), 50)
    if ":" not in name:
        render_test(lambda render_mode: parallel_to_aec(make(render_mode)))


@masks_are_fine
@unknown_options_are_fine
@pytest.mark.parametrize("name", IN_TURN)
def test_aec_environments_pass_the_tests_of_pettingzoo(name: str) -> None:
    make = maker(name, IN_TURN[name])
    assert isinstance(make(), AECEnv)
    api_test(make(), 50)
    seed_test(make, 50)
    if ":" not in name:
        render_test(make)


@unknown_options_are_fine
@pytest.mark.usefixtures("relay")
def test_agents_that_left_do_not_act_in_a_parallel_environment() -> None:
    wrapped = env("pettingzoo:relay_v0", length=3)  # one agent leaves at each step
    assert isinstance(wrapped, ParallelEnv)
    assert wrapped.metadata["is_parallelizable"]
    assert not wrapped.game.info.simultaneous
    seen, infos = wrapped.reset(seed=1)
    names, steps = ["player_0", "player_1", "player_2"], []
    assert list(seen) == list(infos) == wrapped.agents == names
    while wrapped.agents:
        acting = wrapped.agents
        parts = wrapped.step(dict.fromkeys(acting, 1))
        assert [list(part) for part in parts] == [acting] * 5
        steps.append((wrapped.agents, list(parts[1].values()), list(parts[2].values()), list(parts[3].values())))
    assert steps == [
        (names[1:], [1, 1, 1], [True, False, False], [False] * 3),
        (names[2:], [1, 1], [True, False], [False] * 2),
        ([], [1], [True], [False]),
    ]
    assert parts[4]["player_2"]["score"] == 3.0
    parallel_api_test(env("pettingzoo:relay_v0"), 30)


def test_an_imported_environment_keeps_its_name_when_exported() -> None:
    assert env("pettingzoo:rps_v2").metadata["name"] == "rps_v2"
    assert env("treasure-hunt").metadata["name"] == "treasure-hunt_v1"


def test_metadata_and_spaces_of_an_environment() -> None:
    wrapped = env("pong", points=3)
    assert wrapped.metadata["name"] == "pong_v1"
    assert wrapped.metadata["render_fps"] == 60.0
    assert wrapped.metadata["render_modes"] == ["human", "rgb_array", "ansi"]
    assert wrapped.metadata["is_parallelizable"]
    assert not env("tictactoe").metadata["is_parallelizable"]
    assert wrapped.possible_agents == ["player_0", "player_1"]
    assert wrapped.action_space("player_1").n == 3
    assert wrapped.observation_space("player_0").shape == (8,)
    assert set(env(new_game("tictactoe")).observation_space("player_0").spaces) == {"observation", "action_mask"}
    assert wrapped.game.spec == new_game("pong", points=3).spec
    seen = env("treasure-hunt").observation_space("player_0")
    assert (seen.low.min(), seen.high.max()) == (0.0, 1.0)
    assert env("tictactoe").observation_space("player_0")["observation"].high.max() > 1e38, "it declares no bounds"


def test_exported_pong_equals_our_boards_to_the_bit() -> None:
    wrapped, boards = env("pong", points=2), new_game("pong", points=2).boards(1)
    lane, both = np.zeros(1, np.uint32), np.zeros(2, np.uint32)
    seats, kept = np.arange(2, dtype=np.uint32), []
    seen, infos = wrapped.reset(seed=11, options={"start": "left"})
    boards.deal(lane, np.array([11], np.uint64), ["left"])
    total, ply = np.zeros(2), 0
    while wrapped.agents:
        out = np.zeros((2, 8), np.float32)
        boards.observe(both, seats, out)
        assert [seen[agent].tobytes() for agent in wrapped.possible_agents] == [row.tobytes() for row in out]
        kept.append((seen["player_0"], seen["player_0"].copy()))
        actions = [pick(3, 1, CHOICE, seat, ply) for seat in range(2)]
        seen, rewards, over, cut, infos = wrapped.step({"player_0": np.int64(actions[0]), "player_1": actions[1]})
        boards.apply(lane, np.array([actions]))
        total += [rewards["player_0"], rewards["player_1"]]
        ply += 1
        assert total.tolist() == boards.scores()[0].tolist()
        assert set(over.values()) == {bool(boards.over()[0] == 1)}
        assert set(cut.values()) == {False}
    assert all(np.array_equal(observation, before) for observation, before in kept)  # arrays are not overwritten
    assert total.max() == 2
    names = new_game("pong").info.stats
    for seat, agent in enumerate(wrapped.possible_agents):
        assert infos[agent]["stats"] == dict(zip(names, boards.stats(lane)[0, seat].tolist(), strict=True))
        assert infos[agent]["rank"] == (1 if total[seat] == 2 else 2)
        assert infos[agent]["score"] == total[seat]
    assert wrapped.step({}) == ({}, {}, {}, {}, {})


def test_a_match_that_a_limit_ends_is_truncated() -> None:
    wrapped = env("pong", step_limit=60)
    wrapped.reset(seed=1)
    for _ in range(60):
        _, _, over, cut, _ = wrapped.step({"player_0": 0, "player_1": 0})
    assert (set(over.values()), set(cut.values())) == ({False}, {True})
    assert wrapped.agents == []


def test_a_seed_determines_this_match_and_the_following_ones() -> None:
    def deals(wrapped: Any, seed: int | None) -> list[bytes]:
        return [wrapped.reset(seed=given_seed)[0]["player_0"].tobytes() for given_seed in (seed, None, None)]

    wrapped, other = env("pong"), env("pong")
    first = deals(wrapped, 7)
    assert len(set(first)) == 3
    assert deals(other, 7) == first
    assert deals(wrapped, 8) != first
    assert deals(wrapped, 7) == first
    assert deals(env("pong"), None) != deals(env("pong"), None)  # without a seed
    for seed in (-1, 2**64, 0.5):
        with pytest.raises(BadValue, match=r"seed = .*: must be a whole number from 0"):
            wrapped.reset(seed=seed)


def test_choices_of_one_step_stay_hidden_until_all_have_acted() -> None:
    wrapped = env("mixed")
    for first in (0, 2):
        wrapped.reset(seed=0)
        assert wrapped.agent_selection == "player_0"
        before = wrapped.observe("player_1")
        wrapped.step(first)
        assert wrapped.agent_selection == "player_1"
        assert set(wrapped.rewards.values()) == {0}
        after, reward, *_ = wrapped.last()
        assert reward == 0
        assert all(np.array_equal(before[part], after[part]) for part in before)
        wrapped.step(1)
        assert wrapped.agent_selection == ("player_1" if first == 0 else "player_0")  # the higher bid begins


def test_an_illegal_action_raises_an_error_that_names_it() -> None:
    toe = env("tictactoe")
    toe.reset(seed=1)
    toe.step(4)
    with pytest.raises(BadValue, match="action of player_1 = 4: must be legal according to action_mask: 0, 1, 2, 3, 5"):
        toe.step(4)
    toe.step(0)  # still the same agent's turn
    assert toe.agent_selection == "player_0"
    assert toe.observe("player_1")["action_mask"].sum() == 0  # not its turn
    pong = env("pong")
    pong.reset(seed=1)
    for wrong in (3, -1, None, 1.0):
        with pytest.raises(BadValue, match=r"action of player_1 = .*: must be a whole number from 0 to 2"):
            pong.step({"player_0": 0, "player_1": wrong})
    with pytest.raises(BadValue, match="one for each of player_0, player_1"):
        pong.step({"player_0": 0})
    for wrapped in (env("pong"), env("tictactoe")):
        with pytest.raises(NotNow, match=r"call reset\(\) before step\(\)"):
            wrapped.step(0)


@pytest.mark.filterwarnings("ignore:.*render.. needs an environment")
def test_render_modes() -> None:
    wrapped = env("pong", "rgb_array")
    with pytest.raises(NotNow):
        wrapped.render()
    wrapped.reset(seed=1)
    before = wrapped.render()
    assert (before.shape, before.dtype) == ((600, 800, 3), np.uint8)
    for _ in range(20):
        wrapped.step({"player_0": 1, "player_1": 2})
    assert not np.array_equal(wrapped.render(), before)
    words = env("pong", "ansi")
    words.reset(seed=1)
    assert "0" in words.render()
    assert env("pong").render() is None
    with pytest.raises(BadValue, match="render_mode = 'video': must be 'human', 'rgb_array', 'ansi' or None"):
        env("pong", "video")
    shown = env("tictactoe", "human")
    shown.reset(seed=1)
    assert images.pygame.display.get_surface().get_size() == (600, 600)
    assert images.pygame.display.get_caption()[0] == "Tic-tac-toe"
    blank = images.pygame.image.tobytes(images.pygame.display.get_surface(), "RGB")
    shown.step(4)
    assert images.pygame.image.tobytes(images.pygame.display.get_surface(), "RGB") != blank
    images.pygame.font.init()
    shown.close()
    assert not images.pygame.display.get_init()
    assert images.pygame.font.get_init()  # other code may still use fonts


def test_rendering_without_a_painter_raises_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PAINTERS, "_points", {})
    monkeypatch.setattr(PAINTERS, "_loaded", {})
    wrapped = env("pong", "rgb_array")
    wrapped.reset(seed=1)
    with pytest.raises(RingsideError, match="no painter is installed"):
        wrapped.render()


def test_a_missing_display_raises_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(pygame_headless.user_environment, images.DRIVER, "nowhere")
    monkeypatch.setenv(images.DRIVER, "nowhere")
    with pytest.raises(RingsideError, match=r"no window can be opened here .*: use render_mode = 'rgb_array'"):
        env("pong", "human").reset(seed=1)


def test_playing_loads_no_pygame_and_drawing_no_qt() -> None:
    code = (
        "import sys; from engine.games.pettingzoo import env\n"
        "wrapped = env('pong', 'rgb_array'); wrapped.reset(seed=1)\n"
        "print('pygame' in sys.modules); wrapped.render(); print('pygame' in sys.modules, 'PySide6' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout == "False\nTrue False\n", done.stderr


def test_the_global_state_of_the_process_is_unchanged() -> None:
    code = (
        "import os; before = dict(os.environ); from engine.games.pettingzoo import env\n"
        "for name in ('pong', 'pettingzoo:connect_four_v3', 'pettingzoo:cooperative_pong_v6'):\n"
        "    wrapped = env(name, 'rgb_array'); wrapped.reset(seed=1); print(wrapped.render().any()); wrapped.close()\n"
        "print({*os.environ.items()} ^ {*before.items()})"
    )
    bare = {name: value for name, value in os.environ.items() if name not in pygame_headless.HEADLESS_ENVIRONMENT}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=bare)
    assert done.stdout == "True\nTrue\nTrue\nset()\n", done.stderr
    assert done.stderr == ""  # pygame prints no greeting


# Copies


@pytest.mark.parametrize("name", ["pong", "bids", "tictactoe", "mixed", "pettingzoo:leduc_holdem_v4"])
def test_a_copy_is_independent(name: str) -> None:
    wrapped = env(name, "ansi")
    wrapped.reset(seed=3)
    moved(wrapped, 0, 3)
    for copied in (copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))):
        before = story(wrapped)
        twin, other = copied(wrapped), copied(wrapped)
        moved(twin, 5, 3)
        assert story(wrapped) == before
        moved(other, 5, 3)
        assert story(other) == story(twin)
        fresh = env(name, "ansi")
        fresh.reset(seed=3)
        moved(fresh, 0, 3)
        moved(fresh, 5, 3)
        assert story(fresh) == story(twin)


def test_a_copy_does_not_share_the_painter() -> None:
    wrapped = env("pong", "rgb_array")
    wrapped.reset(seed=1)
    shown = wrapped.render()
    assert np.array_equal(copy.deepcopy(wrapped).render(), shown)


def moved(wrapped: Any, first: int, steps: int) -> None:
    """Actions that change from step to step and from seat to seat."""
    for ply in range(first, first + steps):
        asked = wrapped.agents if isinstance(wrapped, ParallelEnv) else [wrapped.agent_selection]
        done = {}
        for agent in asked:
            space = wrapped.action_space(agent)
            mask = (
                wrapped.observe(agent)["action_mask"]
                if isinstance(wrapped, AECEnv) and wrapped._masked
                else np.ones(space.n)
            )
            legal = np.flatnonzero(mask).tolist()
            done[agent] = (
                legal[pick(len(legal), 1, CHOICE, wrapped.possible_agents.index(agent), ply)] if legal else None
            )
        if wrapped.agents:
            wrapped.step(done if isinstance(wrapped, ParallelEnv) else done[wrapped.agent_selection])


def story(wrapped: Any) -> object:
    scores = wrapped._boards.scores().tolist(), wrapped._boards.over().tolist(), wrapped._boards.acting().tolist()
    return wrapped.render(), wrapped.agents, scores, wrapped._boards.stats(np.zeros(1, np.uint32)).tolist()


# Misuse


def test_calls_before_reset_or_after_the_end_raise_errors() -> None:
    wrapped = env("tictactoe")
    for asked in (wrapped.last, lambda: wrapped.observe("player_0"), lambda: wrapped.step(0)):
        with pytest.raises(NotNow, match=r"call reset\(\) before"):
            asked()
    wrapped.reset(seed=1)
    for action in (0, 3, 1, 4, 2, None, None):
        wrapped.step(action)
    for asked in (wrapped.last, lambda: wrapped.step(0)):
        with pytest.raises(NotNow, match=r"the match is over: call reset\(\)"):
            asked()


def test_unknown_options_are_reported() -> None:
    wrapped = env("pong")
    with pytest.warns(UserWarning, match=r"reset\(\) ignores the option 'begin'; it accepts only 'start'"):
        wrapped.reset(options={"begin": "left"})
    with pytest.raises(BadValue, match=r"options = \[1\]: must be a dict, or None"):
        wrapped.reset(options=[1])
    with pytest.raises(BadValue, match=r"options = {'points': 1}: must be empty: the given pong"):
        env(new_game("pong"), points=1)
