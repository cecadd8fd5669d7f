"""`check_game` finds an observation that marches compute differently, whichever number of it is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from engine.checks import check_game
from engine.game import Game
from engine.games.pong.game import PongBoards
from engine.games.shogi.game import ShogiBoards
from engine.games.treasure_hunt.game import TreasureHuntBoards
from engine.registry import new_game

HUNT = new_game("treasure-hunt", seats=2, turns=30)
SHOGI = new_game("shogi", move_limit=30)


def check_with_a_wrong_number(game: Game, boards: type, place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check a game whose batch kernel, but not its row function, has one number of each observation wrong."""
    observe = boards.observe  # type: ignore[attr-defined]

    def observe_wrongly(self: object, lanes: np.ndarray, seats: np.ndarray, out: np.ndarray) -> None:
        observe(self, lanes, seats, out)
        numbers = out.reshape(len(out), -1)
        numbers[:, place] = 1.0 - numbers[:, place]  # within the bounds of the game

    with monkeypatch.context() as patch:
        patch.setattr(boards, "observe", observe_wrongly)
        with pytest.raises(AssertionError, match="row functions and batch kernels play differently"):
            check_game(game, matches=1)


def test_every_wrong_number_of_an_observation_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the first and the last ones, with a number of actions that is a power of two."""
    for place in range(int(np.prod(HUNT.info.observation))):
        check_with_a_wrong_number(HUNT, TreasureHuntBoards, place, monkeypatch)


def test_a_number_that_differs_in_its_last_bit_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    observe = PongBoards.observe

    def observe_wrongly(self: PongBoards, lanes: np.ndarray, seats: np.ndarray, out: np.ndarray) -> None:
        observe(self, lanes, seats, out)
        out[:, 0] = np.nextafter(out[:, 0], np.float32(0.0))

    monkeypatch.setattr(PongBoards, "observe", observe_wrongly)
    with pytest.raises(AssertionError, match="row functions and batch kernels play differently"):
        check_game(new_game("pong", points=1, step_limit=60), matches=1)


def test_a_wrong_number_of_a_large_observation_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in (0, 1000, 1863, 2500, 3000, 3725):
        check_with_a_wrong_number(SHOGI, ShogiBoards, place, monkeypatch)
