"""Games and bots in plain Python, one board and one player at a time; adapters run them in lanes.

This is the easiest way to write a game or a bot. A game is a subclass of `PlainGame` whose `new` returns a
`PlainBoard`. A bot is an object, or a module, with `act(view) -> int`.
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
from engine.game import (
    RESIGN,
    AgentKind,
    Bools,
    Floats,
    GameInfo,
    Indices,
    Ints,
    NoAction,
    Observations,
    Position,
    Seeds,
    Views,
)
from engine.play.match import AgentSpec, MatchResult
from engine.registry import spec_of
from engine.scene import Scene, Text
from engine.seeding import pick, purpose

BOT_CHOICE = purpose("plain.bot")
BLOCK_BYTES = 4096  # observations that share one block; a bot that keeps one of them keeps the whole block
PREFILL_CALLS = 256  # calls of `act` until the use of observations is measured again
NO_ACTION = 2**62  # illegal in every game: a plain bot cannot answer PENDING


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


class View:
    """What a plain bot sees when it must act."""

    __slots__ = ("_call", "_number", "_obs")

    _call: _Call
    _number: int  # of the row, from 1
    _obs: Observations | None  # a copy made in advance, until it is read

    @property
    def obs(self) -> Observations:
        """The observation; a new copy on each access, which the bot may keep and change."""
        prefilled, self._obs = self._obs, None
        return self._call.copy_observation(self._number - 1) if prefilled is None else prefilled

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
        """The legal actions; None if all are always legal."""
        legal = self._call.views.legal
        return None if legal is None else np.flatnonzero(legal[self._number - 1]).tolist()

    @property
    def position(self) -> Position | None:
        return self._call.views.position(self._number - 1)

    def pick(self, count: int, k: int = 0) -> int:
        """A random number below `count`, which depends only on match, seat, ply and k."""
        return pick(count, self.seed, BOT_CHOICE, 0, self.ply, k)


class PlainBot(Protocol):
    """A bot that plays one match."""

    def act(self, view: View) -> int: ...


def _action(answer: object) -> int:
    """The answer of a bot as an int: an action, RESIGN, or NO_ACTION for any other number."""
    try:
        action = operator.index(answer)  # type: ignore[arg-type]
    except TypeError:
        raise NoAction(f"act() must return a whole number, not {answer!r}") from None
    return action if action == RESIGN or 0 <= action < 2**62 else NO_ACTION


class _Call:
    """Data shared by the views of one call of `PlainPilot.act`; lists, because reading array elements is slow."""

    __slots__ = ("copied", "plies", "seats", "seeds", "views")

    def __init__(self, views: Views, seeds: Sequence[int]) -> None:
        self.views, self.seeds = views, seeds
        self.seats: list[int] = views.seats.tolist()
        self.plies: list[int] = views.plies.tolist()
        self.copied = 0  # number of observations copied one by one

    def copy_observation(self, row: int) -> Observations:
        self.copied += 1
        obs: Observations = self.views.obs[row]
        return obs.copy()  # the arena overwrites its own row


def _copies(obs: Observations) -> list[Observations]:
    """A copy of each row. Rows share blocks of up to `BLOCK_BYTES`: separate copies take three times as long."""
    rows = max(BLOCK_BYTES // max(obs.strides[0], 1), 1)
    return [row for first in range(0, len(obs), rows) for row in obs[first : first + rows].copy()]


def _ask_bots(call: _Call, bots: Sequence[PlainBot], observations: Sequence[Observations | None]) -> list[Any]:
    """The answers of all rows. The loop is optimised, because a simple bot takes only 0.2 us."""
    answers = []
    turn = call.views.turn
    for number, bot, obs in zip(count(1), bots, observations):
        turn[0] = number  # as `views.asking` does, without the call
        view = View()
        view._call = call
        view._number = number
        view._obs = obs
        answers.append(bot.act(view))  # each bot sees only its own row
    return answers


def _actions(answers: list[Any], views: Views) -> Ints:
    """The answers of plain bots as actions."""
    views.asking(-1)  # converting an answer may run its code: until it raises, any row may be at fault
    try:
        return np.frombuffer(bytes(answers), np.uint8).astype(np.int64)  # the fastest way, for actions below 256
    except Exception:  # convert one by one, to find the row at fault
        actions = []
        for row, answer in enumerate(answers):
            views.asking(row)
            actions.append(_action(answer))
        return np.array(actions, np.int64)


class PlainPilot:
    """Plays plain bots, one per slot.

    If most bots read their observation, all are copied in advance; one call in `PREFILL_CALLS` measures this.
    """

    capacity = None

    def __init__(self, make: Callable[[bytes], PlainBot]) -> None:
        self._make = make
        self._payloads: list[bytes] = []
        self._bots: dict[int, tuple[PlainBot, int]] = {}  # by slot, with its seed
        self._current_slots = b""  # of the last call, with their bots and seeds:
        self._current_bots: Sequence[PlainBot] = ()
        self._current_seeds: Sequence[int] = ()
        self._prefill_left = 0  # calls left in which observations are copied in advance

    def load(self, agent: AgentSpec) -> int:
        self._make(agent.payload)  # an unreadable payload fails here, not during a match
        self._payloads.append(agent.payload)
        return len(self._payloads) - 1

    def begin(self, slots: Indices, agents: Indices, seeds: Seeds) -> None:
        self._current_slots = b""
        for slot, agent, seed in zip(slots.tolist(), agents.tolist(), seeds.tolist(), strict=True):
            self._bots[slot] = (self._make(self._payloads[agent]), seed)

    def act(self, views: Views) -> Ints:
        slots = views.slots.tobytes()
        if slots != self._current_slots:
            self._current_bots, self._current_seeds = zip(
                *map(self._bots.__getitem__, views.slots.tolist()), strict=True
            )
            self._current_slots = slots
        call = _Call(views, self._current_seeds)
        if self._prefill_left:
            self._prefill_left -= 1
            answers = _ask_bots(call, self._current_bots, _copies(views.obs))
        else:
            answers = _ask_bots(call, self._current_bots, [None] * len(views))
            if 2 * call.copied >= len(views):
                self._prefill_left = PREFILL_CALLS - 1
        return _actions(answers, views)

    def end(self, slots: Indices, results: Sequence[MatchResult] | None) -> None:
        self._current_slots = b""
        for slot in slots.tolist():
            del self._bots[slot]

    def close(self) -> None:
        self._bots.clear()


def plain_kind(
    name: str, version: int, make: Callable[[bytes], PlainBot], games: Sequence[str], samples: Mapping[str, bytes]
) -> AgentKind:
    """An agent kind from `make(payload) -> bot`; `samples` maps names of ready-made agents to their payloads."""
    return AgentKind(
        name=name,
        version=version,
        pilot=lambda game, slots: PlainPilot(make),
        plays=lambda game: game.spec.name in games,
        samples=lambda game: [AgentSpec(one, name, payload, version) for one, payload in samples.items()],
    )
