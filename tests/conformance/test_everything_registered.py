"""Every registered game and agent kind passes the checks, and the checks find faults."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from agents.nets.network import dump
from agents.nets.onnx.export import to_onnx
from engine.checks import check_game, check_kind
from engine.game import AgentKind
from engine.games.pong.game import Pong, PongBoards, PongOptions
from engine.kernels import row
from engine.plain import PlainPilot
from engine.play.match import AgentSpec
from engine.registry import GAMES, KINDS, new_game
from tests.plugins import bids, everyone, marchers, networks, pilots, tictactoe

# Not `names()`: other test modules register games and kinds when they are imported, and remove them later.
GAME_NAMES = [*GAMES.own(), *(game.name for game in everyone.NEW_GAMES)]
OTHERS = ("usi",)  # external programs without samples: see tests/agents/usi
NETWORK_KINDS = ("net", "torch-net", "onnx")  # they have no samples
KIND_NAMES = [
    name
    for name in (*KINDS.own(), *(kind.name for kind in everyone.NEW_KINDS))
    if name not in ("raising", "illegal", "left-only", "resigning", *OTHERS, *NETWORK_KINDS)
]


@pytest.mark.parametrize("name", GAME_NAMES)
def test_a_registered_game_passes_the_checks(name: str) -> None:
    check_game(new_game(name))


@pytest.mark.parametrize("kind_name", KIND_NAMES)
def test_a_registered_kind_passes_the_checks_in_every_game_it_plays(kind_name: str) -> None:
    kind = KINDS.get(kind_name)
    games = [game for game in map(new_game, GAME_NAMES) if kind.plays(game) and (kind.live or kind.samples(game))]
    assert games, f"{kind_name} plays no game"
    for game in games:
        check_kind(kind, game)


@pytest.mark.parametrize("name", GAME_NAMES)
@pytest.mark.parametrize("kind", NETWORK_KINDS)
def test_networks_pass_the_checks_in_every_game(kind: str, name: str) -> None:
    game = new_game(name)
    image = {"treasure-hunt": networks.CONV, "shogi": networks.RESNET} if kind != "net" else {}
    drawn = networks.drawn(image.get(name, networks.SMALL), game)
    payload = to_onnx(drawn) if kind == "onnx" else dump(drawn)
    check_kind(KINDS.get(kind), game, matches=3, agents=[AgentSpec("drawn", kind, payload)])


@pytest.mark.parametrize("name", GAME_NAMES)
@pytest.mark.parametrize("kind", NETWORK_KINDS)
def test_stacks_pass_the_checks_in_every_game(kind: str, name: str) -> None:
    game = new_game(name)
    image = kind != "net" and len(game.info.observation) == 3
    drawn = networks.drawn(networks.CONV_STACK if image else networks.STACK, game)
    payload = to_onnx(drawn) if kind == "onnx" else dump(drawn)
    check_kind(KINDS.get(kind), game, matches=3, agents=[AgentSpec("drawn", kind, payload)])


@pytest.mark.parametrize("seats", [1, 2, 10])
def test_a_game_may_have_from_one_to_ten_seats(seats: int) -> None:
    game = new_game("bids", seats=seats)
    check_game(game)
    check_kind(KINDS.get("bidder"), game)


@pytest.mark.parametrize("kind", ["fast", "slow", "remembering", "vandal"])
@pytest.mark.parametrize("game", ["pong", "tictactoe", "bids", "mixed"])
def test_slow_and_stateful_agents_pass_the_checks(kind: str, game: str) -> None:
    check_kind(KINDS.get(kind), new_game(game, **({"points": 1} if game == "pong" else {})), matches=4)


class SharedRandomness(bids.BidsBoard):
    """Draws prizes from a generator that all boards share."""

    stream = np.random.default_rng(0)

    def __init__(self, options: bids.BidsOptions, seed: int) -> None:
        super().__init__(options, int(self.stream.integers(1 << 30)))


class LeakyBoards(PongBoards):
    """Applies actions to all lanes."""

    def apply(self, lanes: np.ndarray, actions: np.ndarray) -> None:
        super().apply(np.arange(len(self.records), dtype=np.uint32), np.abs(actions))


class ShallowCopies(PongBoards):
    def copy(self, source: int, target: int) -> None:
        self.records[target]["x"] = self.records[source]["x"]


class OutOfBounds(PongBoards):
    """Observations exceed info.bounds."""

    def observe(self, lanes: np.ndarray, seats: np.ndarray, out: np.ndarray) -> None:
        super().observe(lanes, seats, out)
        out += 3.0


class ObserverEffect(tictactoe.TicTacToeBoard):
    """Observing a board plays a move."""

    def observe(self, seat: int) -> list[float]:
        observation = super().observe(seat)
        self._now = self._now.play(99)
        return observation


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
            board = SharedRandomness if kind == "stream" else Endless
            game.new = lambda seed, start: board(game.options, seed)
        case "bounds":
            game = Pong(PongOptions(points=1))
            game.boards = lambda lanes: OutOfBounds(game.options, lanes)  # type: ignore[method-assign]
        case "look":
            game = tictactoe.TicTacToe(tictactoe.NoOptions())
            game.new = lambda seed, start: ObserverEffect(start)
        case _:
            game = bids.Bids(bids.BidsOptions())
            game.check_start = lambda start: None
    return game


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("lanes", "no action was applied"),
        ("copy", "copied lane"),
        ("stream", "other lanes"),
        ("look", "reading a board changes it"),
        ("endless", "needs a step limit"),
        ("bounds", r"outside info.bounds \(-2 to 2\)"),
        ("start", "check_start accepts any text"),
    ],
)
def test_the_fault_of_a_broken_game_is_named(kind: str, sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.checks.MAX_STEPS", 2000)
    with pytest.raises(AssertionError, match=sentence):
        check_game(broken_game(kind))


class SharedState(PlainPilot):
    """Keeps one counter for all slots."""

    count = 0

    def act(self, views: pilots.Views) -> np.ndarray:
        answers = []
        for at in range(len(views)):
            SharedState.count += 1
            legal = np.flatnonzero(views.legal[at])
            answers.append(int(legal[SharedState.count % legal.size]))
        return np.array(answers)


def test_agents_that_depend_on_other_lanes_are_found() -> None:
    kind = AgentKind(
        "shared-state",
        1,
        lambda game, slots: SharedState(lambda payload: tictactoe.Anyhow()),
        lambda game: True,
        lambda game: [pilots.agent("shared-state")],
    )
    KINDS.add("shared-state", kind)
    try:
        with pytest.raises(AssertionError, match=r"play differently in other lanes|depend on the order"):
            check_kind(kind, new_game("tictactoe"))
    finally:
        KINDS.remove("shared-state")


def test_the_error_of_a_failing_kind_is_shown() -> None:
    with pytest.raises(AssertionError, match="I give up"):
        check_kind(KINDS.get("raising"), new_game("pong"))


def test_samples_must_have_the_version_of_their_kind() -> None:
    with pytest.raises(AssertionError, match="version"):
        check_kind(dataclasses.replace(KINDS.get("bidder"), version=2), new_game("bids"))


def test_a_row_function_that_cannot_be_compiled_is_found() -> None:
    """A league would silently play it by ticks, correctly but slowly."""

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
