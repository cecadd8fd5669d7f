"""Every registered game and kind of agent keeps its promises, and checks.py notices when one does not."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from engine.checks import check_game, check_kind
from engine.game import AgentKind
from engine.games.pong import Pong, PongBoards, PongOptions
from engine.kernels import row
from engine.plain import PlainPilot
from engine.registry import GAMES, KINDS, new_game
from tests.plugins import bids, marchers, pilots, tictactoe

GAME_NAMES = GAMES.names()
OTHERS = ("usi",)  # other people's programs, none of them ready-made: see tests/agents/test_usi_play.py
KIND_NAMES = [name for name in KINDS.names() if name not in ("raising", "illegal", "left-only", "resigning", *OTHERS)]


@pytest.mark.parametrize("name", GAME_NAMES)
def test_a_registered_game_keeps_its_promises(name: str) -> None:
    check_game(new_game(name))


@pytest.mark.parametrize("kind_name", KIND_NAMES)
def test_a_registered_kind_keeps_its_promises_in_every_game_it_plays(kind_name: str) -> None:
    kind = KINDS.get(kind_name)
    games = [game for game in map(new_game, GAME_NAMES) if kind.plays(game) and (kind.live or kind.samples(game))]
    assert games, f"{kind_name} plays nothing"
    for game in games:
        check_kind(kind, game)


@pytest.mark.parametrize("seats", [1, 2, 10])
def test_a_game_may_have_from_one_to_ten_seats(seats: int) -> None:
    game = new_game("bids", seats=seats)
    check_game(game)
    check_kind(KINDS.get("bidder"), game)


@pytest.mark.parametrize("kind", ["fast", "slow", "remembering", "vandal"])
@pytest.mark.parametrize("game", ["pong", "tictactoe", "bids", "mixed"])
def test_slow_and_remembering_players_keep_their_promises(kind: str, game: str) -> None:
    check_kind(KINDS.get(kind), new_game(game, **({"points": 1} if game == "pong" else {})), matches=4)


class SharedRandomness(bids.BidsBoard):
    """Draws its prizes from a stream that all boards share."""

    stream = np.random.default_rng(0)

    def __init__(self, options: bids.BidsOptions, seed: int) -> None:
        super().__init__(options, int(self.stream.integers(1 << 30)))


class LeakyBoards(PongBoards):
    """Moves one lane too many."""

    def apply(self, lanes: np.ndarray, actions: np.ndarray) -> None:
        super().apply(np.arange(len(self.records), dtype=np.uint32), np.abs(actions))


class ShallowCopies(PongBoards):
    def copy(self, source: int, target: int) -> None:
        self.records[target]["x"] = self.records[source]["x"]


class Glaring(PongBoards):
    """More is seen than its info says."""

    def observe(self, lanes: np.ndarray, seats: np.ndarray, out: np.ndarray) -> None:
        super().observe(lanes, seats, out)
        out += 3.0


class TwitchyTicTacToe(tictactoe.TicTacToeBoard):
    """Cannot be looked at without a move being made."""

    def observe(self, seat: int) -> list[float]:
        seen = super().observe(seat)
        self._now = self._now.play(99)
        return seen


class Endless(bids.BidsBoard):
    def acting(self) -> range:
        return range(self._options.seats)


def broken_game(kind: str) -> object:
    match kind:
        case "lanes":
            game = Pong(PongOptions(points=1))
            game.boards = lambda lanes: LeakyBoards(game.options, lanes)  # type: ignore[method-assign]
        case "copy":
            game = Pong(PongOptions(points=1))
            game.boards = lambda lanes: ShallowCopies(game.options, lanes)  # type: ignore[method-assign]
        case "stream" | "endless":
            game = bids.Bids(bids.BidsOptions())
            made = SharedRandomness if kind == "stream" else Endless
            game.new = lambda seed, start: made(game.options, seed)
        case "bounds":
            game = Pong(PongOptions(points=1))
            game.boards = lambda lanes: Glaring(game.options, lanes)  # type: ignore[method-assign]
        case "look":
            game = tictactoe.TicTacToe(tictactoe.NoOptions())
            game.new = lambda seed, start: TwitchyTicTacToe(start)
        case _:
            game = bids.Bids(bids.BidsOptions())
            game.check_start = lambda start: None
    return game


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("lanes", "never moved"),
        ("copy", "copied lane"),
        ("stream", "other lanes"),
        ("look", "looking at a board changes it"),
        ("endless", "needs a limit"),
        ("bounds", "not from -2 to 2, as `bounds` says"),
        ("start", "check_start takes any text"),
    ],
)
def test_a_broken_game_is_told_what_is_broken(kind: str, sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.checks.STEPS", 2000)
    with pytest.raises(AssertionError, match=sentence):
        check_game(broken_game(kind))


class Forgetful(PlainPilot):
    """Keeps one state for all its slots."""

    count = 0

    def act(self, views: pilots.Views) -> np.ndarray:
        answers = []
        for at in range(len(views)):
            Forgetful.count += 1
            legal = np.flatnonzero(views.legal[at])
            answers.append(int(legal[Forgetful.count % legal.size]))
        return np.array(answers)


def test_a_kind_whose_agents_depend_on_their_company_is_found_out() -> None:
    kind = AgentKind(
        "forgetful",
        1,
        lambda game, slots: Forgetful(lambda payload: tictactoe.Anyhow()),
        lambda game: True,
        lambda game: [pilots.agent("forgetful")],
    )
    KINDS.add("forgetful", kind)
    try:
        with pytest.raises(AssertionError, match=r"play differently in company|depends on the order"):
            check_kind(kind, new_game("tictactoe"))
    finally:
        KINDS.remove("forgetful")


def test_a_kind_that_fails_is_told_by_its_own_words() -> None:
    with pytest.raises(AssertionError, match="I give up"):
        check_kind(KINDS.get("raising"), new_game("pong"))


def test_samples_must_be_of_the_kinds_own_version() -> None:
    with pytest.raises(AssertionError, match="version"):
        check_kind(dataclasses.replace(KINDS.get("bidder"), version=2), new_game("bids"))


def test_a_row_function_that_cannot_be_compiled_is_found_out() -> None:
    """In a league it would be played by ticks, correctly and slowly, without a word."""

    @row
    def allocating(arrays, slot, agent, ply, obs, legal, position):  # type: ignore[no-untyped-def]
        return np.zeros(ply + 1).size - 1

    class Allocating(marchers.MarcherPilot):
        act_row = staticmethod(allocating)

    kind = dataclasses.replace(marchers.KIND, pilot=Allocating)
    KINDS.remove(kind.name)
    KINDS.add(kind.name, kind)
    try:
        with pytest.raises(AssertionError, match="row functions cannot be compiled"):
            check_kind(kind, new_game("pong", points=1), matches=2)
    finally:
        KINDS.remove(kind.name)
        KINDS.add(kind.name, marchers.KIND)
