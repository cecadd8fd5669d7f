"""Games and bots in plain Python, one board and one player at a time; adapters run them in lanes.

This is the easiest way to write a game or a bot. A game is a subclass of `PlainGame` whose `new` returns a
`PlainBoard`. A bot is an object, or a module, with `act(view) -> int`.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.errors import BadValue
from engine.game import (
    AgentKind,
    Bools,
    Floats,
    GameInfo,
    Indices,
    Ints,
    Observations,
    Position,
    Seeds,
)
from engine.plain_pilot import PlainBot, PlainPilot, View
from engine.play.match import AgentSpec
from engine.registry import spec_of
from engine.scene import Scene, Text

__all__ = ["PlainBoard", "PlainBoards", "PlainBot", "PlainGame", "PlainPilot", "View", "plain_kind"]


class PlainBoard(ABC):
    """One match. Random numbers must come from `engine.seeding` and the seed of the match."""

    truncated = False  # set it if a limit ended the match, not the rules
    no_contest = False  # set it if the match ended without a result

    @abstractmethod
    def acting(self) -> Sequence[int]:
        """The seats that must act now; empty when the match is over."""

    @abstractmethod
    def play(self, actions: Mapping[int, int]) -> None:
        """Play one step; `actions` holds one action for each acting seat."""

    @abstractmethod
    def scores(self) -> Sequence[float]:
        """The score so far of each seat."""

    @abstractmethod
    def observe(self, seat: int) -> ArrayLike:
        """The observation of this seat, in the shape `info.observation`."""

    def legal(self, seat: int) -> Sequence[int]:
        """The legal actions of this seat. Called only if the game is `masked`."""
        return ()

    def stats(self, seat: int) -> Sequence[float]:
        """The statistics of this seat, in the order of `info.stats`."""
        return ()

    def measures(self, seat: int) -> Sequence[float]:
        """Values of this seat that training may reward, in the order of `info.measures`."""
        return ()

    def position(self, seat: int) -> Position | None:
        """The position, for agents that search; None if the game has hidden information."""
        return None

    def scene(self) -> Scene:
        text = f"Scores {', '.join(f'{score:g}' for score in self.scores())}"
        return Scene(4 / 3, "101826", (Text(2 / 3, 0.5, text, 0.06, "E6E9EF"),), text)


class PlainGame(ABC):
    """The rules with their options. Subclasses set name, version, Options and info, and define `new`."""

    name: ClassVar[str]
    version: ClassVar[int]
    Options: ClassVar[type]
    info: GameInfo

    def __init__(self, options: Any) -> None:
        self.options = options
        self.spec = spec_of(self.name, self.version, options)

    @abstractmethod
    def new(self, seed: int, start: str | None) -> PlainBoard:
        """The board of a new match."""

    def check_start(self, start: str | None) -> None:
        if start is not None:
            raise BadValue("start", start, f"None: {self.name} has only one start")

    def boards(self, lanes: int) -> PlainBoards:
        return PlainBoards(self, lanes)


class PlainBoards:
    """Implements `engine.game.Boards` with one PlainBoard per lane."""

    def __init__(self, game: PlainGame, lanes: int) -> None:
        self._game = game
        self._boards: list[PlainBoard | None] = [None] * lanes
        self._acting: Bools = np.zeros((lanes, game.info.seats), np.bool_)
        self._over: NDArray[np.int8] = np.ones(lanes, np.int8)
        self._scores: Floats = np.zeros((lanes, game.info.seats))

    def deal(self, lanes: Indices, seeds: Seeds, starts: Sequence[str | None]) -> None:
        for lane, seed, start in zip(lanes.tolist(), seeds.tolist(), starts, strict=True):
            self._boards[lane] = self._game.new(seed, start)
            self._update(lane)

    def acting(self) -> Bools:
        return self._acting

    def over(self) -> NDArray[np.int8]:
        return self._over

    def observe(self, lanes: Indices, seats: Indices, out: Observations) -> None:
        for row, (lane, seat) in enumerate(zip(lanes.tolist(), seats.tolist(), strict=True)):
            out[row] = self._board(lane).observe(seat)

    def legal(self, lanes: Indices, seats: Indices, out: Bools) -> None:
        out[:] = False
        for row, (lane, seat) in enumerate(zip(lanes.tolist(), seats.tolist(), strict=True)):
            out[row, list(self._board(lane).legal(seat))] = True

    def apply(self, lanes: Indices, actions: Ints) -> None:
        for lane in lanes.tolist():
            self._board(lane).play({seat: int(actions[lane, seat]) for seat in self._board(lane).acting()})
            self._update(lane)

    def scores(self) -> Floats:
        return self._scores

    def stats(self, lanes: Indices) -> Floats:
        seats = range(self._game.info.seats)
        rows = [[self._board(lane).stats(seat) for seat in seats] for lane in lanes.tolist()]
        return np.array(rows, np.float64).reshape(len(rows), len(seats), len(self._game.info.stats))

    def measures(self, lanes: Indices) -> Floats:
        seats = range(self._game.info.seats)
        rows = [[self._board(lane).measures(seat) for seat in seats] for lane in lanes.tolist()]
        return np.array(rows, np.float64).reshape(len(rows), len(seats), len(self._game.info.measures))

    def copy(self, source: int, target: int) -> None:
        self._boards[target] = copy.deepcopy(self._boards[source])
        self._update(target)

    def position(self, lane: int, seat: int) -> Position | None:
        return self._board(lane).position(seat)

    def scene(self, lane: int) -> Scene:
        return self._board(lane).scene()

    def _board(self, lane: int) -> PlainBoard:
        board = self._boards[lane]
        assert board is not None, f"lane {lane} was never dealt"
        return board

    def _update(self, lane: int) -> None:
        board = self._board(lane)
        acting = list(board.acting())
        self._acting[lane] = False
        self._acting[lane, acting] = True
        self._over[lane] = 0 if acting else 3 if board.no_contest else 2 if board.truncated else 1
        scores = list(board.scores())
        if len(scores) != self._game.info.seats:
            raise ValueError(f"scores() must return {self._game.info.seats} numbers, one per seat, not {scores}")
        self._scores[lane] = scores


def plain_kind(
    name: str, version: int, make: Callable[[bytes], PlainBot], games: Sequence[str], samples: Mapping[str, bytes]
) -> AgentKind:
    """An agent kind from `make(payload) -> bot`; `samples` maps names of ready-made agents to their payloads."""
    return AgentKind(
        name=name,
        version=version,
        pilot=lambda game, slots: PlainPilot(make),
        plays=lambda game: game.spec.name in games,
        samples=lambda game: [AgentSpec(sample, name, payload, version) for sample, payload in samples.items()],
    )
