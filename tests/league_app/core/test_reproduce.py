"""Reproducing a recorded match, and saving it as a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.errors import BadValue
from engine.play import replay
from engine.registry import new_game
from league_app.core.reproduce import reproduce, save_replay
from league_app.core.state import LeagueState


@pytest.fixture
def state(tmp_path: Path) -> Iterator[LeagueState]:
    with LeagueState.new(tmp_path / "my.league") as state:
        state.add_samples("shogi", ["Dice", "Pebble"])
        state.start_tournament(game=new_game("shogi", move_limit=4).spec, seed=1).wait()
        yield state


def test_a_match_is_reproduced(state: LeagueState) -> None:
    assert reproduce(state, "1.1") == ("1.1 was reproduced exactly", "good")


def test_reproducing_a_match_can_be_cancelled(state: LeagueState) -> None:
    assert reproduce(state, "1.1", lambda: True) == ("1.1 was not played to its end", "info")


def test_the_suffix_decides_the_file_format(state: LeagueState, tmp_path: Path) -> None:
    assert save_replay(state, "1.1", tmp_path / "one.replay") == ("1.1 was saved as one.replay", "good")
    assert replay.load(tmp_path / "one.replay")[0].result.steps == 4
    save_replay(state, "1.1", tmp_path / "one.csa")
    written = (tmp_path / "one.csa").read_text().splitlines()
    assert {"N+Dice", "N-Pebble"} <= set(written)
    assert written[-1] == "%MAX_MOVES"
    with pytest.raises(BadValue, match="can be written"):
        save_replay(state, "1.1", tmp_path / "no such folder" / "one.csa")
