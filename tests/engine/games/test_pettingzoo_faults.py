"""What a single environment can do wrong to a league, and what a league file can do with one."""

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
from engine.games.pettingzoo.loading import HUSHED
from engine.games.pettingzoo.shelf import MOST, Shelf, twin
from engine.play.match import AgentSpec, GameSpec, MatchSpec
from engine.play.replay import KEYS, Playback
from engine.registry import GAMES, all_games, new_game, usual_game
from league_app.core.queries import highlights
from tests.engine.moody import LATE, Moody, MoodyGame, moody

LANE = np.zeros(1, np.uint32)


@pytest.fixture
def registered() -> Iterator[None]:
    GAMES.add("pettingzoo:moody_v0", MoodyGame)
    yield
    GAMES.remove("pettingzoo:moody_v0")


def playback(game: Any, steps: int) -> Playback:
    made = Playback(MatchSpec("m", game.spec, (AgentSpec("A", "dice"), AgentSpec("B", "dice")), 3), game)
    made.feed([(step * step + step // 3) % 3 for step in range(2 * steps)])
    assert made.steps == steps
    return made


@pytest.mark.parametrize(
    ("mood", "sentence"),
    [
        ("blind", r"it fails when it is tried \(RuntimeError: nobody can see\)"),
        ("nan", r"it fails when it is tried \(ValueError: the reward of left is nan\)"),
        ("dim", r"it fails when it is tried \(ValueError: what right sees holds nan\)"),
        ("glare", r"it fails when it is tried \(ValueError: what right sees holds inf\)"),
        ("small", r"its seats see \(0,\) values, and that must make 1 to 500,000"),
        ("empty", "nobody acts when it begins"),
        ("many", "left has 20000 actions, and at most 10,000 can be played"),
    ],
)
def test_what_is_wrong_is_said_and_found_out_once(mood: str, sentence: str) -> None:
    made = []
    for limit in (1, 2):
        with pytest.raises(BrokenPlugin, match=f"pettingzoo:moody_v0 cannot be a game here: {sentence}"):
            moody(mood, step_limit=limit)  # the limit is ours: the environment is the same
        made.append(Moody.made.count(mood))
    assert made[0] == made[1] > 0


def test_a_number_from_a_file_stays_near_the_usual_one() -> None:
    with pytest.raises(BadValue, match="board_size = 1000000: must be from -380 to 380"):
        new_game("pettingzoo:go_v5", board_size=1_000_000)
    with pytest.raises(BrokenPlugin, match="black_0 has 90001 actions"):
        new_game("pettingzoo:go_v5", board_size=300)
    with pytest.raises(BrokenPlugin, match=r"its seats see \(0, 0, 17\) values"):
        new_game("pettingzoo:go_v5", board_size=0)


def test_the_pace_of_a_match_needs_no_game_with_the_options_of_a_file(registered: None) -> None:
    usual_game("pettingzoo:moody_v0")
    known = len(Moody.made)
    spec = GameSpec("pettingzoo:moody_v0", 1, (("length", 2000), ("mood", ""), ("step_limit", 10)))
    assert highlights._pace(spec) == 2.0
    assert highlights._pace(GameSpec("pettingzoo:nothing_v0", 1, ())) == 1.0
    assert len(Moody.made) == known


def test_options_are_found_behind_a_class_that_passes_anything_on() -> None:
    assert dict(new_game("pettingzoo:pursuit_v5", n_evaders=3, n_pursuers=2).spec.options)["n_evaders"] == 3
    fields = GAMES.get("pettingzoo:cooperative_pong_v6").Options.__dataclass_fields__  # type: ignore[attr-defined]
    assert {"ball_speed", "cake_paddle", "max_cycles"} < set(fields)
    assert not {"render_mode", "randomizer"} & set(fields)


def test_a_game_that_fails_in_any_way_is_left_out_and_told(monkeypatch: pytest.MonkeyPatch, registered: None) -> None:
    monkeypatch.setattr(GAMES, "problems", {})
    monkeypatch.setattr(MoodyGame, "__init__", lambda self, options: 1 / 0)
    assert usual_game("pettingzoo:moody_v0") is None
    assert "pettingzoo:moody_v0" not in all_games(["pettingzoo:moody_v0"])
    assert "ZeroDivisionError" in GAMES.problems["pettingzoo:moody_v0"]


def test_what_it_prints_and_warns_of_stays_with_it(capsys: pytest.CaptureFixture[str]) -> None:
    game = moody("loud")
    made = playback(game, 20)
    made.seek(3)
    made.scene()
    assert capsys.readouterr().out == ""  # and warnings are errors here
    print("back")  # noqa: T201 - is it heard again?
    assert capsys.readouterr().out == "back\n"
    assert not HUSHED._inside
    with pytest.warns(UserWarning, match="heard"):
        warnings.warn("heard", stacklevel=1)


def test_what_other_threads_print_meanwhile_goes_where_it_should(capsys: pytest.CaptureFixture[str]) -> None:
    with HUSHED:
        print("mine")  # noqa: T201
        thread = threading.Thread(target=print, args=("theirs",))
        thread.start()
        thread.join()
        with HUSHED:
            sys.stdout.write("mine too\n")
    print("heard")  # noqa: T201
    told = capsys.readouterr()
    assert (told.out, told.err) == ("theirs\nheard\n", "mine\nmine too\n")


def test_an_output_that_somebody_puts_there_meanwhile_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    own = io.StringIO()
    with HUSHED:
        monkeypatch.setattr(sys, "stdout", own)
    assert sys.stdout is own
    monkeypatch.undo()
    sys.stdout = HUSHED.stdout


def test_a_mask_that_comes_late_is_heeded() -> None:
    made = playback(moody("late"), LATE)
    with pytest.raises(BadReplay, match=f"step {LATE}: seat 0 cannot play 1"):
        made.feed([1, 2])
    assert made.game.info.masked


def test_stepping_back_does_not_play_the_whole_match_again() -> None:
    made = playback(moody(), 100)
    made.seek(100)
    made.scene()
    made.seek(99)
    shown, Moody.steps = {99: made.scene()}, 0
    for step in range(98, 79, -1):
        made.seek(step)
        shown[step] = made.scene()
    assert Moody.steps < 300  # up to fifteen for the board and for its picture: all would be 3,400
    other = playback(moody(), 100)
    for step in sorted(shown):
        other.seek(step)
        assert other.scene() == shown[step]
    assert len({scene.items for scene in shown.values()}) > 10


def test_a_full_shelf_keeps_every_second_table_and_the_newest() -> None:
    shelf = Shelf(lambda: pytest.fail("nothing has to be dealt"), lambda: True)
    for ply in range(1, MOST + 2):
        shelf.keep(SimpleNamespace(played=ply, env=SimpleNamespace()))
    assert len(shelf._kept) == MOST // 2 + 1
    assert shelf.table([{}] * (MOST + 1)).played == MOST + 1
    assert max(shelf.until(9)._kept) == 9


def test_copying_a_table_changes_nothing_for_anybody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    patched: list[bool] = []

    class Watcher:
        def __deepcopy__(self, memo: object) -> Watcher:
            patched.append(hasattr(EzPickle, "__deepcopy__"))
            return self

    table = moody().table(5)
    table.env.watcher = Watcher()
    monkeypatch.setattr(Moody, "__init__", lambda *given: pytest.fail("it was made anew"))
    other = twin(table)
    assert patched == [False]
    assert other.env is not table.env
    assert other.env.total == table.env.total
    assert other.env.total is not table.env.total
    table.step({0: 1, 1: 1})
    assert other.env.turn == 0


def test_tables_that_share_something_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    assert moody().copies()
    monkeypatch.setattr(Moody, "__deepcopy__", lambda self, memo: self, raising=False)
    game = moody(length=99)
    assert not game.copies()
    made = playback(game, 99)
    made.seek(50)
    assert made.boards.scores()[KEYS - 2].tolist() != made.boards.scores()[KEYS - 1].tolist()


def test_why_there_is_no_picture_is_told() -> None:
    made = playback(moody("shy"), 2)
    for _ in range(2):
        assert made.scene().caption.endswith("(no picture: OSError: no brush)")
        made.seek(1)


def test_boards_survive_a_pickle(registered: None) -> None:
    boards = moody().boards(1)
    boards.deal(LANE, np.array([5], np.uint64), [None])
    boards.apply(LANE, np.array([[1, 2]]))
    twin = pickle.loads(pickle.dumps(boards))
    for one in (boards, twin):
        one.apply(LANE, np.array([[2, 0]]))
    assert twin.scores().tolist() == boards.scores().tolist()
    assert twin.scene(0) == boards.scene(0)


def test_a_start_that_is_given_is_refused_truly() -> None:
    with pytest.raises(BadValue, match="None: how pettingzoo:moody_v0 begins follows from the seed alone"):
        moody().check_start("here")
