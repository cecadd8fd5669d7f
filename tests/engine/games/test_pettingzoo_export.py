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

from engine import pygame_headless as quiet
from engine.errors import BadValue, NotNow, RingsideError
from engine.games.pettingzoo import env
from engine.games.pettingzoo.loading import aside, require
from engine.registry import GAMES, PAINTERS, new_game
from engine.seeding import pick, purpose
from league_app.rendering import images as still
from tests.engine.relay import RelayGame

require()
with aside():  # its tests import an environment in a way that it warns of itself
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
# It warns of masks, which it wants in the observation, and of a board that is empty at first.
masks_are_fine = pytest.mark.filterwarnings(
    "ignore:Observation", "ignore:The observation contains negative", "ignore:Action mask"
)
odd_options_are_theirs = pytest.mark.filterwarnings("ignore:.*knows the option 'start' only")


@pytest.fixture(autouse=True)
def no_screen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Windows are opened nowhere, and at any pace."""

    class Hasty:
        def tick(self, pace: float) -> None:
            assert pace > 0

    monkeypatch.setitem(quiet.given, still.DRIVER, "dummy")
    monkeypatch.setattr(still.pygame.time, "Clock", Hasty)
    yield
    still.pygame.display.quit()


@pytest.fixture
def relay() -> Iterator[None]:
    GAMES.add("pettingzoo:relay_v0", RelayGame)
    yield
    GAMES.remove("pettingzoo:relay_v0")


def maker(name: str, options: dict[str, object]) -> Callable[..., Any]:
    return lambda render_mode=None: env(name, render_mode, **options)


@masks_are_fine
@odd_options_are_theirs
@pytest.mark.parametrize("name", TOGETHER)
def test_games_of_all_at_once_pass_the_tests_of_pettingzoo(name: str) -> None:
    make = maker(name, TOGETHER[name])
    assert isinstance(make(), ParallelEnv)
    parallel_api_test(make(), 100)
    parallel_seed_test(make, 100)
    api_test(parallel_to_aec(make()), 50)
    seed_test(lambda: parallel_to_aec(make()), 50)
    if ":" not in name:
        render_test(lambda render_mode: parallel_to_aec(make(render_mode)))


@masks_are_fine
@odd_options_are_theirs
@pytest.mark.parametrize("name", IN_TURN)
def test_games_in_turn_pass_the_tests_of_pettingzoo(name: str) -> None:
    make = maker(name, IN_TURN[name])
    assert isinstance(make(), AECEnv)
    api_test(make(), 50)
    seed_test(make, 50)
    if ":" not in name:
        render_test(make)


@odd_options_are_theirs
@pytest.mark.usefixtures("relay")
def test_who_has_left_is_asked_no_more_in_parallel_either() -> None:
    made = env("pettingzoo:relay_v0", length=3)  # every step one more leaves
    assert isinstance(made, ParallelEnv)
    assert made.metadata["is_parallelizable"]
    assert not made.game.info.simultaneous
    seen, infos = made.reset(seed=1)
    names, told = ["player_0", "player_1", "player_2"], []
    assert list(seen) == list(infos) == made.agents == names
    while made.agents:
        acting = made.agents
        parts = made.step(dict.fromkeys(acting, 1))
        assert [list(part) for part in parts] == [acting] * 5
        told.append((made.agents, list(parts[1].values()), list(parts[2].values()), list(parts[3].values())))
    assert told == [
        (names[1:], [1, 1, 1], [True, False, False], [False] * 3),
        (names[2:], [1, 1], [True, False], [False] * 2),
        ([], [1], [True], [False]),
    ]
    assert parts[4]["player_2"]["score"] == 3.0
    parallel_api_test(env("pettingzoo:relay_v0"), 30)


def test_an_environment_that_came_from_there_keeps_its_name() -> None:
    assert env("pettingzoo:rps_v2").metadata["name"] == "rps_v2"
    assert env("treasure-hunt").metadata["name"] == "treasure-hunt_v1"


def test_what_it_says_of_itself() -> None:
    made = env("pong", points=3)
    assert made.metadata["name"] == "pong_v1"
    assert made.metadata["render_fps"] == 60.0
    assert made.metadata["render_modes"] == ["human", "rgb_array", "ansi"]
    assert made.metadata["is_parallelizable"]
    assert not env("tictactoe").metadata["is_parallelizable"]
    assert made.possible_agents == ["player_0", "player_1"]
    assert made.action_space("player_1").n == 3
    assert made.observation_space("player_0").shape == (8,)
    assert set(env(new_game("tictactoe")).observation_space("player_0").spaces) == {"observation", "action_mask"}
    assert made.game.spec == new_game("pong", points=3).spec
    seen = env("treasure-hunt").observation_space("player_0")
    assert (seen.low.min(), seen.high.max()) == (0.0, 1.0)
    assert env("tictactoe").observation_space("player_0")["observation"].high.max() > 1e38, "which says nothing of it"


def test_pong_is_the_pong_of_our_boards_to_the_bit() -> None:
    made, boards = env("pong", points=2), new_game("pong", points=2).boards(1)
    lane, both = np.zeros(1, np.uint32), np.zeros(2, np.uint32)
    seats, kept = np.arange(2, dtype=np.uint32), []
    seen, infos = made.reset(seed=11, options={"start": "left"})
    boards.deal(lane, np.array([11], np.uint64), ["left"])
    total, ply = np.zeros(2), 0
    while made.agents:
        out = np.zeros((2, 8), np.float32)
        boards.observe(both, seats, out)
        assert [seen[agent].tobytes() for agent in made.possible_agents] == [row.tobytes() for row in out]
        kept.append((seen["player_0"], seen["player_0"].copy()))
        actions = [pick(3, 1, CHOICE, seat, ply) for seat in range(2)]
        seen, rewards, over, cut, infos = made.step({"player_0": np.int64(actions[0]), "player_1": actions[1]})
        boards.apply(lane, np.array([actions]))
        total += [rewards["player_0"], rewards["player_1"]]
        ply += 1
        assert total.tolist() == boards.scores()[0].tolist()
        assert set(over.values()) == {bool(boards.over()[0] == 1)}
        assert set(cut.values()) == {False}
    assert all(np.array_equal(one, before) for one, before in kept)  # what was given is not written over
    assert total.max() == 2
    names = new_game("pong").info.stats
    for seat, agent in enumerate(made.possible_agents):
        assert infos[agent]["stats"] == dict(zip(names, boards.stats(lane)[0, seat].tolist(), strict=True))
        assert infos[agent]["rank"] == (1 if total[seat] == 2 else 2)
        assert infos[agent]["score"] == total[seat]
    assert made.step({}) == ({}, {}, {}, {}, {})


def test_a_match_that_a_limit_ends_is_truncated() -> None:
    made = env("pong", step_limit=60)
    made.reset(seed=1)
    for _ in range(60):
        _, _, over, cut, _ = made.step({"player_0": 0, "player_1": 0})
    assert (set(over.values()), set(cut.values())) == ({False}, {True})
    assert made.agents == []


def test_a_seed_deals_that_match_and_those_that_follow_from_it() -> None:
    def deals(made: Any, seed: int | None) -> list[bytes]:
        return [made.reset(seed=one)[0]["player_0"].tobytes() for one in (seed, None, None)]

    made, other = env("pong"), env("pong")
    first = deals(made, 7)
    assert len(set(first)) == 3
    assert deals(other, 7) == first
    assert deals(made, 8) != first
    assert deals(made, 7) == first
    assert deals(env("pong"), None) != deals(env("pong"), None)  # from nowhere
    for seed in (-1, 2**64, 0.5):
        with pytest.raises(BadValue, match=r"seed = .*: must be a whole number from 0"):
            made.reset(seed=seed)


def test_within_one_step_nobody_sees_what_another_chose() -> None:
    made = env("mixed")
    for first in (0, 2):
        made.reset(seed=0)
        assert made.agent_selection == "player_0"
        before = made.observe("player_1")
        made.step(first)
        assert made.agent_selection == "player_1"
        assert set(made.rewards.values()) == {0}
        after, reward, *_ = made.last()
        assert reward == 0
        assert all(np.array_equal(before[part], after[part]) for part in before)
        made.step(1)
        assert made.agent_selection == ("player_1" if first == 0 else "player_0")  # the higher bid begins


def test_an_action_that_cannot_be_is_told() -> None:
    toe = env("tictactoe")
    toe.reset(seed=1)
    toe.step(4)
    with pytest.raises(
        BadValue, match="action of player_1 = 4: must be a legal one, as action_mask says: 0, 1, 2, 3, 5"
    ):
        toe.step(4)
    toe.step(0)  # it is still its turn
    assert toe.agent_selection == "player_0"
    assert toe.observe("player_1")["action_mask"].sum() == 0  # not its turn
    pong = env("pong")
    pong.reset(seed=1)
    for wrong in (3, -1, None, 1.0):
        with pytest.raises(BadValue, match=r"action of player_1 = .*: must be a whole number from 0 to 2"):
            pong.step({"player_0": 0, "player_1": wrong})
    with pytest.raises(BadValue, match="one for each of player_0, player_1"):
        pong.step({"player_0": 0})
    for made in (env("pong"), env("tictactoe")):
        with pytest.raises(NotNow, match=r"reset\(\) comes before step\(\)"):
            made.step(0)


@pytest.mark.filterwarnings("ignore:.*There is nothing to render")
def test_pictures_words_and_windows() -> None:
    made = env("pong", "rgb_array")
    with pytest.raises(NotNow):
        made.render()
    made.reset(seed=1)
    before = made.render()
    assert (before.shape, before.dtype) == ((600, 800, 3), np.uint8)
    for _ in range(20):
        made.step({"player_0": 1, "player_1": 2})
    assert not np.array_equal(made.render(), before)
    words = env("pong", "ansi")
    words.reset(seed=1)
    assert "0" in words.render()
    assert env("pong").render() is None
    with pytest.raises(BadValue, match="render_mode = 'video': must be 'human', 'rgb_array', 'ansi' or None"):
        env("pong", "video")
    shown = env("tictactoe", "human")
    shown.reset(seed=1)
    assert still.pygame.display.get_surface().get_size() == (600, 600)
    assert still.pygame.display.get_caption()[0] == "Tic-tac-toe"
    blank = still.pygame.image.tobytes(still.pygame.display.get_surface(), "RGB")
    shown.step(4)
    assert still.pygame.image.tobytes(still.pygame.display.get_surface(), "RGB") != blank
    still.pygame.font.init()
    shown.close()
    assert not still.pygame.display.get_init()
    assert still.pygame.font.get_init()  # somebody else may be writing


def test_without_a_painter_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PAINTERS, "_points", {})
    monkeypatch.setattr(PAINTERS, "_loaded", {})
    made = env("pong", "rgb_array")
    made.reset(seed=1)
    with pytest.raises(RingsideError, match="nothing that draws scenes is installed"):
        made.render()


def test_a_screen_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(quiet.given, still.DRIVER, "nowhere")
    monkeypatch.setenv(still.DRIVER, "nowhere")
    with pytest.raises(RingsideError, match=r"no window can be opened here .*: use render_mode = 'rgb_array'"):
        env("pong", "human").reset(seed=1)


def test_playing_loads_no_window_and_drawing_no_qt() -> None:
    code = (
        "import sys; from engine.games.pettingzoo import env; one = env('pong', 'rgb_array'); one.reset(seed=1)\n"
        "print('pygame' in sys.modules); one.render(); print('pygame' in sys.modules, 'PySide6' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout == "False\nTrue False\n", done.stderr


def test_the_process_of_others_stays_as_it_was() -> None:
    code = (
        "import os; before = dict(os.environ); from engine.games.pettingzoo import env\n"
        "for name in ('pong', 'pettingzoo:connect_four_v3', 'pettingzoo:cooperative_pong_v6'):\n"
        "    one = env(name, 'rgb_array'); one.reset(seed=1); print(one.render().any()); one.close()\n"
        "print({*os.environ.items()} ^ {*before.items()})"
    )
    bare = {name: value for name, value in os.environ.items() if name not in quiet.SILENT}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=bare)
    assert done.stdout == "True\nTrue\nTrue\nset()\n", done.stderr
    assert done.stderr == ""  # nor does pygame greet anybody


# Copies


@pytest.mark.parametrize("name", ["pong", "bids", "tictactoe", "mixed", "pettingzoo:leduc_holdem_v4"])
def test_a_copy_goes_on_by_itself(name: str) -> None:
    made = env(name, "ansi")
    made.reset(seed=3)
    moved(made, 0, 3)
    for copied in (copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))):
        before = story(made)
        twin, other = copied(made), copied(made)
        moved(twin, 5, 3)
        assert story(made) == before
        moved(other, 5, 3)
        assert story(other) == story(twin)
        fresh = env(name, "ansi")
        fresh.reset(seed=3)
        moved(fresh, 0, 3)
        moved(fresh, 5, 3)
        assert story(fresh) == story(twin)


def test_a_copy_does_not_share_what_draws() -> None:
    made = env("pong", "rgb_array")
    made.reset(seed=1)
    shown = made.render()
    assert np.array_equal(copy.deepcopy(made).render(), shown)


def moved(made: Any, first: int, steps: int) -> None:
    """Actions that change from step to step and from seat to seat."""
    for ply in range(first, first + steps):
        asked = made.agents if isinstance(made, ParallelEnv) else [made.agent_selection]
        done = {}
        for agent in asked:
            space = made.action_space(agent)
            mask = made.observe(agent)["action_mask"] if isinstance(made, AECEnv) and made._masked else np.ones(space.n)
            legal = np.flatnonzero(mask).tolist()
            done[agent] = legal[pick(len(legal), 1, CHOICE, made.possible_agents.index(agent), ply)] if legal else None
        if made.agents:
            made.step(done if isinstance(made, ParallelEnv) else done[made.agent_selection])


def story(made: Any) -> object:
    scores = made._boards.scores().tolist(), made._boards.over().tolist(), made._boards.acting().tolist()
    return made.render(), made.agents, scores, made._boards.stats(np.zeros(1, np.uint32)).tolist()


# What is asked at the wrong time, or in the wrong way


def test_what_comes_too_early_or_too_late_is_told() -> None:
    made = env("tictactoe")
    for asked in (made.last, lambda: made.observe("player_0"), lambda: made.step(0)):
        with pytest.raises(NotNow, match=r"reset\(\) comes before"):
            asked()
    made.reset(seed=1)
    for action in (0, 3, 1, 4, 2, None, None):
        made.step(action)
    for asked in (made.last, lambda: made.step(0)):
        with pytest.raises(NotNow, match=r"the match is over.*reset\(\) begins another"):
            asked()


def test_options_that_nobody_knows_are_told() -> None:
    made = env("pong")
    with pytest.warns(UserWarning, match=r"reset\(\) knows the option 'start' only: 'begin' does nothing"):
        made.reset(options={"begin": "left"})
    with pytest.raises(BadValue, match=r"options = \[1\]: must be a dict, or None"):
        made.reset(options=[1])
    with pytest.raises(BadValue, match=r"options = {'points': 1}: must be none: the pong that was given"):
        env(new_game("pong"), points=1)
