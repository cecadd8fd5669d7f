"""Faults of a single environment, and misuse of one by a league file."""

from __future__ import annotations

import io
import pickle
import sys
import threading
import warnings
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from gymnasium.utils import EzPickle

from engine.errors import BadReplay, BadValue, BrokenPlugin
from engine.games.pettingzoo.discovery import QUIET
from engine.games.pettingzoo.keyframes import MAX_KEYFRAMES, KeyframeCache, copy_table
from engine.play.match import AgentSpec, GameSpec, MatchSpec
from engine.play.replay import KEYS, Playback
from engine.registry import GAMES, all_games, new_game, usual_game
from league_app.core.queries import highlights
from tests.engine.games.faulty_env import LATE, Moody, MoodyGame, moody

LANE = np.zeros(1, np.uint32)


@pytest.fixture
def registered() -> Iterator[None]:
    GAMES.add("pettingzoo:moody_v0", MoodyGame)
    yield
    GAMES.remove("pettingzoo:moody_v0")


def playback(game: Any, steps: int) -> Playback:
    playback = Playback(MatchSpec("m", game.spec, (AgentSpec("A", "dice"), AgentSpec("B", "dice")), 3), game)
    playback.feed([(step * step + step // 3) % 3 for step in range(2 * steps)])
    assert playback.steps == steps
    return playback


@pytest.mark.parametrize(
    ("mood", "sentence"),
    [
        ("blind", r"a trial match fails \(RuntimeError: no observation\)"),
        ("nan", r"a trial match fails \(ValueError: the reward of left is nan\)"),
        ("dim", r"a trial match fails \(ValueError: the observation of right contains nan\)"),
        ("glare", r"a trial match fails \(ValueError: the observation of right contains inf\)"),
        ("small", r"an observation has the shape \(0,\); 1 to 500,000 values are supported"),
        ("empty", "no agent acts at the start"),
        ("many", "left has 20000 actions; at most 10,000 are supported"),
    ],
)
def test_faults_of_an_environment_are_named_and_cached(mood: str, sentence: str) -> None:
    counts = []
    for limit in (1, 2):
        with pytest.raises(BrokenPlugin, match=f"pettingzoo:moody_v0 cannot be used as a game: {sentence}"):
            moody(mood, step_limit=limit)  # the limit is not an option of the environment
        counts.append(Moody.made.count(mood))
    assert counts[0] == counts[1] > 0


def test_numeric_options_are_bounded_by_their_defaults() -> None:
    with pytest.raises(BadValue, match="board_size = 1000000: must be from -380 to 380"):
        new_game("pettingzoo:go_v5", board_size=1_000_000)
    with pytest.raises(BrokenPlugin, match="black_0 has 90001 actions"):
        new_game("pettingzoo:go_v5", board_size=300)
    with pytest.raises(BrokenPlugin, match=r"an observation has the shape \(0, 0, 17\)"):
        new_game("pettingzoo:go_v5", board_size=0)


def test_the_pace_of_a_match_needs_no_game_with_the_options_of_a_file(registered: None) -> None:
    usual_game("pettingzoo:moody_v0")
    known = len(Moody.made)
    spec = GameSpec("pettingzoo:moody_v0", 1, (("length", 2000), ("mood", ""), ("step_limit", 10)))
    assert highlights._pace(spec) == 2.0
    assert highlights._pace(GameSpec("pettingzoo:nothing_v0", 1, ())) == 1.0
    assert len(Moody.made) == known


def test_options_are_found_behind_a_wrapper_class() -> None:
    assert dict(new_game("pettingzoo:pursuit_v5", n_evaders=3, n_pursuers=2).spec.options)["n_evaders"] == 3
    fields = GAMES.get("pettingzoo:cooperative_pong_v6").Options.__dataclass_fields__  # type: ignore[attr-defined]
    assert {"ball_speed", "cake_paddle", "max_cycles"} < set(fields)
    assert not {"render_mode", "randomizer"} & set(fields)


def test_a_failing_game_is_left_out_and_reported(monkeypatch: pytest.MonkeyPatch, registered: None) -> None:
    monkeypatch.setattr(GAMES, "problems", {})
    monkeypatch.setattr(MoodyGame, "__init__", lambda self, options: 1 / 0)
    assert usual_game("pettingzoo:moody_v0") is None
    assert "pettingzoo:moody_v0" not in all_games(["pettingzoo:moody_v0"])
    assert "ZeroDivisionError" in GAMES.problems["pettingzoo:moody_v0"]


def test_output_and_warnings_of_an_environment_are_suppressed(capsys: pytest.CaptureFixture[str]) -> None:
    game = moody("loud")
    played = playback(game, 20)
    played.seek(3)
    played.scene()
    assert capsys.readouterr().out == ""  # and warnings are errors here
    print("back")  # noqa: T201 - output works again
    assert capsys.readouterr().out == "back\n"
    assert not QUIET._depth
    with pytest.warns(UserWarning, match="heard"):
        warnings.warn("heard", stacklevel=1)


def test_output_of_other_threads_still_goes_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    with QUIET:
        print("mine")  # noqa: T201
        thread = threading.Thread(target=print, args=("theirs",))
        thread.start()
        thread.join()
        with QUIET:
            sys.stdout.write("mine too\n")
    print("heard")  # noqa: T201
    output = capsys.readouterr()
    assert (output.out, output.err) == ("theirs\nheard\n", "mine\nmine too\n")


def test_a_stdout_replaced_meanwhile_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    own = io.StringIO()
    with QUIET:
        monkeypatch.setattr(sys, "stdout", own)
    assert sys.stdout is own
    monkeypatch.undo()
    sys.stdout = QUIET.stdout


def test_a_mask_that_appears_late_is_respected() -> None:
    played = playback(moody("late"), LATE)
    with pytest.raises(BadReplay, match=f"step {LATE}: seat 0 cannot play 1"):
        played.feed([1, 2])
    assert played.game.info.masked


def test_stepping_back_does_not_replay_the_whole_match() -> None:
    played = playback(moody(), 100)
    played.seek(100)
    played.scene()
    played.seek(99)
    shown, Moody.steps = {99: played.scene()}, 0
    for step in range(98, 79, -1):
        played.seek(step)
        shown[step] = played.scene()
    assert Moody.steps < 300  # up to fifteen for the board and for its picture: all would be 3,400
    other = playback(moody(), 100)
    for step in sorted(shown):
        other.seek(step)
        assert other.scene() == shown[step]
    assert len({scene.items for scene in shown.values()}) > 10


def test_a_full_cache_keeps_every_second_keyframe_and_the_newest() -> None:
    cache = KeyframeCache(lambda: pytest.fail("no match may be dealt"), lambda: True)
    for ply in range(1, MAX_KEYFRAMES + 2):
        cache.add(SimpleNamespace(steps=ply, env=SimpleNamespace()))
    assert len(cache._tables) == MAX_KEYFRAMES // 2 + 1
    assert cache.table([{}] * (MAX_KEYFRAMES + 1)).steps == MAX_KEYFRAMES + 1
    assert max(cache.until(9)._tables) == 9


def test_copying_a_table_has_no_side_effects(monkeypatch: pytest.MonkeyPatch) -> None:
    patched: list[bool] = []

    class Watcher:
        def __deepcopy__(self, memo: object) -> Watcher:
            patched.append(hasattr(EzPickle, "__deepcopy__"))
            return self

    table = moody().table(5)
    table.env.watcher = Watcher()
    monkeypatch.setattr(Moody, "__init__", lambda *given: pytest.fail("it was created again"))
    other = copy_table(table)
    assert patched == [False]
    assert other.env is not table.env
    assert other.env.total == table.env.total
    assert other.env.total is not table.env.total
    table.step({0: 1, 1: 1})
    assert other.env.turn == 0


def test_tables_that_share_something_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    assert moody().can_copy()
    monkeypatch.setattr(Moody, "__deepcopy__", lambda self, memo: self, raising=False)
    game = moody(length=99)
    assert not game.can_copy()
    played = playback(game, 99)
    played.seek(50)
    assert played.boards.scores()[KEYS - 2].tolist() != played.boards.scores()[KEYS - 1].tolist()


def test_the_caption_says_why_there_is_no_picture() -> None:
    played = playback(moody("shy"), 2)
    for _ in range(2):
        assert played.scene().caption.endswith("(no picture: OSError: no brush)")
        played.seek(1)


def test_boards_can_be_pickled(registered: None) -> None:
    boards = moody().boards(1)
    boards.deal(LANE, np.array([5], np.uint64), [None])
    boards.apply(LANE, np.array([[1, 2]]))
    twin = pickle.loads(pickle.dumps(boards))
    for copy in (boards, twin):
        copy.apply(LANE, np.array([[2, 0]]))
    assert twin.scores().tolist() == boards.scores().tolist()
    assert twin.scene(0) == boards.scene(0)


def test_a_given_start_is_refused() -> None:
    with pytest.raises(BadValue, match="None: the start of pettingzoo:moody_v0 follows from the seed alone"):
        moody().check_start("here")
