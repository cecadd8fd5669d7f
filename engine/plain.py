"""Plain Python in lanes: one board and one player at a time, lifted into what the arena needs.

This is how a newcomer writes a game or a bot; nothing else changes. A game is a subclass of `PlainGame` whose `new`
returns a `PlainBoard`; a bot is an object, or a module, with `act(view) -> int`.
"""

from __future__ import annotations

import copy
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.errors import BadValue
from engine.game import (RESIGN, AgentKind, Bools, Floats, GameInfo, Indices, Ints, NoAction, Observations, Position, Seeds, Views)
from engine.play.match import AgentSpec, MatchResult
from engine.registry import spec_of
from engine.scene import Scene, Text
from engine.seeding import pick, purpose

BOT_CHOICE = purpose("plain.bot")
BLOCK = 4096  # bytes of observations that stay in memory as long as a bot keeps one of them
RELEARN = 256  # calls
NO_ACTION = 2**62  # beyond the actions of any game: a plain bot cannot say that it is still thinking


class PlainBoard(ABC):
    """One match. Whatever it draws comes from `engine.seeding` and the seed it was given."""

    truncated = False  # set it when the match ended by a limit rather than by the rules
    no_contest = False  # set it when the match ended with no result

    @abstractmethod
    def acting(self) -> Sequence[int]:
        """The seats that move now; none when the match is over."""

    @abstractmethod
    def play(self, actions: Mapping[int, int]) -> None:
        """One step: an action for each acting seat."""

    @abstractmethod
    def scores(self) -> Sequence[float]:
        """By seat."""

    @abstractmethod
    def observe(self, seat: int) -> ArrayLike:
        """What this seat sees, in the shape that the game's info says."""

    def legal(self, seat: int) -> Sequence[int]:
        """What this seat may do; asked only of games that are `masked`."""
        return ()

    def stats(self, seat: int) -> Sequence[float]:
        """In the order of `info.stats`."""
        return ()

    def position(self, seat: int) -> Position | None:
        return None

    def scene(self) -> Scene:
        text = f"Scores {', '.join(f'{score:g}' for score in self.scores())}"
        return Scene(4 / 3, "101826", (Text(2 / 3, 0.5, text, 0.06, "E6E9EF"),), text)


class PlainGame(ABC):
    """The rules with their options. Subclasses set name, version, Options and info, and make boards."""

    name: ClassVar[str]
    version: ClassVar[int]
    Options: ClassVar[type]
    info: GameInfo

    def __init__(self, options: Any) -> None:
        self.options = options
        self.spec = spec_of(self.name, self.version, options)

    @abstractmethod
    def new(self, seed: int, start: str | None) -> PlainBoard:
        """A fresh match."""

    def check_start(self, start: str | None) -> None:
        if start is not None:
            raise BadValue("start", start, f"None: {self.name} always begins in the same way")

    def boards(self, lanes: int) -> PlainBoards:
        return PlainBoards(self, lanes)


class PlainBoards:
    """Plain boards, one for each lane."""

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
            raise ValueError(f"scores() must return {self._game.info.seats} numbers, one for each seat, not {scores}")
        self._scores[lane] = scores


class View:
    """What a plain bot sees when it has to move."""

    __slots__ = ("_call", "_number", "_obs")

    _call: _Call
    _number: int  # of its row, from 1
    _obs: Observations | None  # a copy that was made beforehand, until it is read

    @property
    def obs(self) -> Observations:
        """A new copy each time: a bot may keep and change it."""
        ready, self._obs = self._obs, None
        return self._call.look(self._number - 1) if ready is None else ready

    @property
    def seat(self) -> int:
        return self._call.seats[self._number - 1]

    @property
    def ply(self) -> int:
        return self._call.plies[self._number - 1]

    @property
    def seed(self) -> int:
        return self._call.seeds[self._number - 1]

    @property
    def legal(self) -> list[int] | None:
        """The legal actions; None when all are."""
        legal = self._call.views.legal
        return None if legal is None else np.flatnonzero(legal[self._number - 1]).tolist()

    @property
    def position(self) -> Position | None:
        return self._call.views.position(self._number - 1)

    def pick(self, count: int, k: int = 0) -> int:
        """A random number below `count`: always the same one for this match, seat, ply and k."""
        return pick(count, self.seed, BOT_CHOICE, 0, self.ply, k)


class PlainBot(Protocol):
    def act(self, view: View) -> int: ...


def _action(answer: object) -> int:
    """A plain bot answers at once: an action, or RESIGN."""
    try:
        action = operator.index(answer)  # type: ignore[arg-type]
    except TypeError:
        raise NoAction(f"act() must return a whole number, not {answer!r}") from None
    return action if action == RESIGN or 0 <= action < 2**62 else NO_ACTION


class _Call:
    """One call of a pilot: what its views have in common, in lists, because arrays are slow to read one by one."""

    __slots__ = ("looked", "plies", "seats", "seeds", "views")

    def __init__(self, views: Views, seeds: Sequence[int]) -> None:
        self.views, self.seeds = views, seeds
        self.seats: list[int] = views.seats.tolist()
        self.plies: list[int] = views.plies.tolist()
        self.looked = 0  # how many observations were copied one by one

    def look(self, row: int) -> Observations:
        self.looked += 1
        seen: Observations = self.views.obs[row]
        return seen.copy()  # the arena overwrites its own row


def _copies(obs: Observations) -> list[Observations]:
    """A copy of each row. Rows share memory of up to `BLOCK` bytes: one copy each takes three times as long."""
    rows = max(BLOCK // max(obs.strides[0], 1), 1)
    return [row for first in range(0, len(obs), rows) for row in obs[first : first + rows].copy()]


def _ask(call: _Call, bots: Sequence[PlainBot], seen: Sequence[Observations | None]) -> list[Any]:
    """The answers of all rows. Every line of the loop counts: a simple bot takes 0.2 us itself."""
    answers = []
    turn = call.views.turn
    for number, bot, obs in zip(count(1), bots, seen):
        turn[0] = number  # as `views.asking` does, without the call
        view = View()
        view._call = call
        view._number = number
        view._obs = obs
        answers.append(bot.act(view))  # each by itself: no row alters another
    return answers


def _actions(answers: list[Any], views: Views) -> Ints:
    """What plain bots answered, a row each."""
    views.asking(-1)  # an answer may be an object whose code runs here: until it raises, any row may be at fault
    try:
        return np.frombuffer(bytes(answers), np.uint8).astype(np.int64)  # the fastest way, for actions below 256
    except Exception:  # find out whose answer it was
        actions = []
        for row, answer in enumerate(answers):
            views.asking(row)
            actions.append(_action(answer))
        return np.array(actions, np.int64)


class PlainPilot:
    """Plays plain bots, each slot with one of its own.

    Observations are filled in before the bots are asked if most bots read theirs; one call in `RELEARN` finds out.
    """

    capacity = None

    def __init__(self, make: Callable[[bytes], PlainBot]) -> None:
        self._make = make
        self._payloads: list[bytes] = []
        self._bots: dict[int, tuple[PlainBot, int]] = {}  # by slot, with its seed
        self._slots = b""  # of the last call, and who plays on them:
        self._asked: Sequence[PlainBot] = ()
        self._seeds: Sequence[int] = ()
        self._filled = 0  # calls in which observations are still to be filled in

    def load(self, agent: AgentSpec) -> int:
        self._make(agent.payload)  # a payload that cannot be read fails here, not in the middle of a match
        self._payloads.append(agent.payload)
        return len(self._payloads) - 1

    def begin(self, slots: Indices, agents: Indices, seeds: Seeds) -> None:
        self._slots = b""
        for slot, agent, seed in zip(slots.tolist(), agents.tolist(), seeds.tolist(), strict=True):
            self._bots[slot] = (self._make(self._payloads[agent]), seed)

    def act(self, views: Views) -> Ints:
        slots = views.slots.tobytes()
        if slots != self._slots:
            self._asked, self._seeds = zip(*map(self._bots.__getitem__, views.slots.tolist()), strict=True)
            self._slots = slots
        call = _Call(views, self._seeds)
        if self._filled:
            self._filled -= 1
            answers = _ask(call, self._asked, _copies(views.obs))
        else:
            answers = _ask(call, self._asked, [None] * len(views))
            if 2 * call.looked >= len(views):
                self._filled = RELEARN - 1
        return _actions(answers, views)

    def end(self, slots: Indices, results: Sequence[MatchResult] | None) -> None:
        self._slots = b""
        for slot in slots.tolist():
            del self._bots[slot]

    def close(self) -> None:
        self._bots.clear()


def plain_kind(
    name: str, version: int, make: Callable[[bytes], PlainBot], games: Sequence[str], samples: Mapping[str, bytes]
) -> AgentKind:
    """A kind of agent from `make(payload) -> bot`; `samples` are ready-made agents, name and payload."""
    return AgentKind(
        name=name,
        version=version,
        pilot=lambda game, slots: PlainPilot(make),
        plays=lambda game: game.spec.name in games,
        samples=lambda game: [AgentSpec(one, name, payload, version) for one, payload in samples.items()],
    )
