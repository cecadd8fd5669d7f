"""The pilot of bots in plain Python: calls `act(view)` of each bot, one row after the other.

A simple bot takes 0.12 us for an answer, so the loop around it makes no objects: views and observations are used again
in the next call, unless the bot has kept a reference to them. With new observations in each call, a step of the guide's
bot takes 410 instead of 310 ns.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count, repeat
from sys import getrefcount
from typing import Any, Protocol

import numpy as np

from engine.array_headers import references, same_header, word_at
from engine.game import RESIGN, Indices, Ints, NoAction, Observations, Position, Seeds, Views
from engine.kernels import bare
from engine.play.match import AgentSpec, MatchResult
from engine.seeding import pick, purpose

BOT_CHOICE = purpose("plain.bot")
BLOCK_BYTES = 4096  # copied observations that share one block; a bot that keeps one of them keeps the whole block
REUSED_BYTES = 512  # larger observations are copied for each call: they would need much memory
PREFILL_CALLS = 256  # calls of `act` until the use of observations is measured again
VIEW, OBSERVATION = 1, 2  # what bots have kept
NO_ACTION = 2**62  # illegal in every game: a plain bot cannot answer PENDING


class View:
    """What a plain bot sees when it must act."""

    __slots__ = ("_call", "_key", "_obs", "_seed")

    _call: _Call
    _key: int  # of the row in the call
    _obs: Observations | None  # made in advance, until it is read
    _seed: int

    @property
    def obs(self) -> Observations:
        """The observation, which the bot may keep and change. Each access in a call gives another array; a later call
        may give the same one again, filled anew, if the bot has not kept it and has not changed its shape, type or
        flags."""
        prefilled, self._obs = self._obs, None
        return self._call.copy_observation(self._key) if prefilled is None else prefilled

    @property
    def seat(self) -> int:
        return self._call.seats[self._call.rows[self._key]]

    @property
    def ply(self) -> int:
        return self._call.plies[self._call.rows[self._key]]

    @property
    def seed(self) -> int:
        return self._seed

    @property
    def legal(self) -> list[int] | None:
        """The legal actions; None if all are always legal."""
        legal = self._call.views.legal
        return None if legal is None else np.flatnonzero(legal[self._call.rows[self._key]]).tolist()

    @property
    def position(self) -> Position | None:
        return self._call.views.position(self._call.rows[self._key])

    def pick(self, count: int, k: int = 0) -> int:
        """A random number below `count`, which depends only on match, seat, ply and k."""
        return pick(count, self._seed, BOT_CHOICE, 0, self.ply, k)


class PlainBot(Protocol):
    """A bot that plays one match."""

    def act(self, view: View) -> int: ...


Bots = Mapping[int, tuple[PlainBot, int]]  # by slot, with their seeds


class _Call:
    """Data shared by the views of one call of `PlainPilot.act`, computed when a bot first reads it.

    Lists, because reading array elements is slow.
    """

    __slots__ = ("_plies", "_rows", "_seats", "copies", "views")

    def __init__(self, views: Views) -> None:
        self.views = views
        self.copies: list[Observations] = []  # observations copied one by one
        self._rows: Mapping[int, int] | range | None = None
        self._seats: list[int] | None = None
        self._plies: list[int] | None = None

    def begin(self, views: Views, same_rows: bool) -> None:
        """Use these views from now on."""
        self.views, self._plies = views, None
        self.copies.clear()
        if not same_rows:
            self._rows = self._seats = None

    @property
    def rows(self) -> Mapping[int, int] | range:
        """The row of each view, by its key: usually the slot."""
        if self._rows is None:
            self._rows = dict(zip(self.views.slots.tolist(), count()))
        return self._rows

    @property
    def seats(self) -> list[int]:
        if self._seats is None:
            self._seats = self.views.seats.tolist()
        return self._seats

    @property
    def plies(self) -> list[int]:
        if self._plies is None:
            self._plies = self.views.plies.tolist()
        return self._plies

    def freeze(self, rows: range | None = None) -> None:
        """Compute everything now, for views that bots keep: the arena overwrites the arrays of this call."""
        self._rows = self.rows if rows is None else rows
        self._seats, self._plies = self.seats, self.plies

    def copy_observation(self, key: int) -> Observations:
        obs: Observations = self.views.obs[self.rows[key]].copy()  # the arena overwrites its own row
        self.copies.append(obs)
        return obs


@bare
def _scatter(obs, slots, out):  # type: ignore[no-untyped-def]
    for i in range(slots.size):
        for k in range(obs.shape[1]):
            out[slots[i], k] = obs[i, k]


OBS_AT = object.__basicsize__ + 8 * sorted(View.__slots__).index("_obs")  # where a view refers to its observation


@bare
def _find_used(addresses, slots, model):  # type: ignore[no-untyped-def]
    """0 if the views and observations of these slots can be used again, VIEW or OBSERVATION if a bot has kept one or,
    for an observation, has changed more than its elements. `addresses`: [2, slots], the `id` of both; `model`: of an
    array as all should be, 0 if only views are used again. In Python this would take 60 ns a row."""
    found = 0
    for i in range(slots.size):
        view, array = addresses[0, slots[i]], addresses[1, slots[i]]
        if references(view) != 2:  # by `_views` and `rows`
            return VIEW
        if model:
            unread = word_at(view + OBS_AT) == array
            if references(array) != 2 + unread or not same_header(model, array):  # by `_arrays` and `observations`
                found = OBSERVATION
    return found


def _copies(obs: Observations) -> list[Observations]:
    """A copy of each row. Rows share blocks of up to `BLOCK_BYTES`: separate copies take three times as long."""
    rows = max(BLOCK_BYTES // max(obs.strides[0], 1), 1)
    return [row for first in range(0, len(obs), rows) for row in obs[first : first + rows].copy()]


class FilledViews:
    """Views with observations, by slot, which are used again in the next call.

    If a bot has kept a view, an observation or a part of one, reference counts show it after the call: what it keeps
    must never change. An observation whose shape, type or flags a bot has changed is not used again either. From then
    on observations are new in each call, until `clear`.
    """

    def __init__(self) -> None:
        self._call: Any = None
        self.clear(copying=False)

    def clear(self, copying: bool) -> None:
        """Continue with new views; `copying`: with new observations in each call."""
        self._copying = copying
        self._views: dict[int, View] = {}  # by slot
        self._arrays: dict[int, Observations] = {}  # by slot: rows of the block, which the views hold too
        self._addresses: Ints = np.empty((2, 0), np.int64)  # by slot: of these views and observations
        self._block: Observations = np.empty((0, 0), np.float32)
        self._model: Observations = self._block  # later a row as all rows must be, which no bot gets
        self.rows: list[View] = []  # the views of the current rows, in order; empty: to be selected
        self.observations: list[Observations] = []  # and their observations
        self._block_count = 0  # references to the block, if no bot has kept any

    def remove(self, slot: int) -> None:
        self.rows = []
        self._views.pop(slot, None)
        self._arrays.pop(slot, None)

    def fill(self, views: Views, bots: Bots) -> None:
        """Make `rows` the views of a call, and `observations` its observations."""
        obs = views.obs
        if self._call is None:
            self._call = _Call(views)
        self._call.begin(views, bool(self.rows))
        if not self.rows:
            self._select(views.slots.tolist(), obs.shape[1:], bots)
        if self._copying:
            self.observations = _copies(obs)
        else:
            _scatter(obs if obs.ndim == 2 else obs.reshape(len(obs), -1), views.slots, self._flat)

    def _select(self, slots: list[int], shape: tuple[int, ...], bots: Bots) -> None:
        """Make these slots the current rows."""
        if max(slots) >= len(self._block):
            self.clear(self._copying or 4 * math.prod(shape) > REUSED_BYTES)
            self._block = np.empty((2 * max(bots) + 1, *([0] if self._copying else shape)), np.float32)
            self._flat = self._block.reshape(len(self._block), -1)
            self._addresses = np.zeros((2, len(self._block)), np.int64)
            self._model = self._block[0]
        try:
            self.rows = list(map(self._views.__getitem__, slots))
        except KeyError:
            for slot in slots:
                if slot not in self._views:
                    self._add(slot, bots[slot][1])
            self.rows = list(map(self._views.__getitem__, slots))
        self.observations = list(map(self._arrays.__getitem__, slots))
        self._block_count = getrefcount(self._block)

    def _add(self, slot: int, seed: int) -> None:
        view, obs = View(), self._block[slot]
        view._call, view._key, view._seed = self._call, slot, seed
        self._views[slot], self._arrays[slot], self._addresses[:, slot] = view, obs, (id(view), id(obs))

    def release(self) -> None:
        """After a call: use no more what bots have kept, or changed beyond its elements."""
        used = _find_used(self._addresses, self._call.views.slots, 0 if self._copying else id(self._model))
        if used == VIEW:
            self._call.freeze()
            self._call = None
            self.clear(copying=True)
        elif self._copying:
            self.observations = []  # else the next ones would be copied while these still take memory
        elif used or getrefcount(self._block) != self._block_count:
            self.clear(copying=True)


def _counts(objects: Iterable[object]) -> bytes:
    """The reference counts; empty if one is above 255."""
    try:
        return bytes(map(getrefcount, objects))
    except ValueError:
        return b""


UNSHARED = _counts([object()])  # of an object that only a list refers to


def _reusable(given: list[Observations], shape: tuple[int, ...]) -> bool:
    """Whether the bots that got these arrays have kept none, and have changed no shape or type in place."""
    kept = _counts(given) != len(given) * UNSHARED
    return not kept and all(obs.shape == shape and obs.dtype == np.float32 for obs in given)


def _action(answer: object) -> int:
    """The answer of a bot as an int: an action, RESIGN, or NO_ACTION for any other number."""
    try:
        action = operator.index(answer)  # type: ignore[arg-type]
    except TypeError:
        raise NoAction(f"act() must return a whole number, not {answer!r}") from None
    return action if action == RESIGN or 0 <= action < 2**62 else NO_ACTION


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

    If most bots read their observation, all views are filled with it; one call in `PREFILL_CALLS` measures this.
    """

    capacity = None

    def __init__(self, make: Callable[[bytes], PlainBot]) -> None:
        self._make = make
        self._payloads: list[bytes] = []
        self._bots: dict[int, tuple[PlainBot, int]] = {}  # by slot, with its seed
        self._slots: Indices | None = None  # of the last call; rows that are asked again have the same array
        self._slots_bytes = b""  # and their content, for other rows
        self._current_bots: list[PlainBot] = []
        self._filled = FilledViews()
        self._prefill_left = 0  # calls left in which views are filled
        self._turns: list[int] = []  # 1 to the largest number of rows: `count` would make them again in each call

    def load(self, agent: AgentSpec) -> int:
        self._make(agent.payload)  # an unreadable payload fails here, not during a match
        self._payloads.append(agent.payload)
        return len(self._payloads) - 1

    def begin(self, slots: Indices, agents: Indices, seeds: Seeds) -> None:
        self._slots, self._slots_bytes = None, b""
        for slot, agent, seed in zip(slots.tolist(), agents.tolist(), seeds.tolist(), strict=True):
            self._bots[slot] = (self._make(self._payloads[agent]), seed)

    def act(self, views: Views) -> Ints:
        if views.slots is not self._slots and views.slots.tobytes() != self._slots_bytes:
            self._slots_bytes = views.slots.tobytes()
            self._current_bots = [bot for bot, _ in map(self._bots.__getitem__, views.slots.tolist())]
            self._filled.rows = []
        self._slots = views.slots
        if self._prefill_left:
            self._prefill_left -= 1
            self._filled.fill(views, self._bots)
            try:
                answers = self._ask(self._filled.rows, self._filled.observations, views)
            finally:  # also if a bot raises: it, or one before it, may have kept a view
                self._filled.release()
        else:
            answers = self._ask_lazily(views)
        return _actions(answers, views)

    def _ask(self, rows: list[View], observations: Iterable[Observations | None], views: Views) -> list[Any]:
        """The answers of all rows; marks each row first, as `views.asking` does, without the call."""
        turn, turns = views.turn, self._turns
        if len(turns) < len(rows):
            turns += range(len(turns) + 1, len(rows) + 1)
        each = zip(turns, self._current_bots, rows, observations, strict=False)
        return [bot.act(view) for turn[0], bot, view, view._obs in each]  # type: ignore[has-type]

    def _ask_lazily(self, views: Views) -> list[Any]:
        """The answers of all rows; an observation is copied when a bot reads it."""
        call = _Call(views)
        call.freeze(range(len(views)))
        rows = []
        for row, (_, seed) in enumerate(map(self._bots.__getitem__, views.slots.tolist())):
            view = View()
            view._call, view._key, view._seed = call, row, seed
            rows.append(view)
        answers = self._ask(rows, repeat(None), views)
        if 2 * len(call.copies) >= len(views):
            self._prefill_left = PREFILL_CALLS - 1
            self._filled.clear(copying=not _reusable(call.copies, views.obs.shape[1:]))
        call.copies.clear()
        return answers

    def end(self, slots: Indices, results: Sequence[MatchResult] | None) -> None:
        self._slots, self._slots_bytes = None, b""
        for slot in slots.tolist():
            del self._bots[slot]
            self._filled.remove(slot)

    def close(self) -> None:
        self._bots.clear()
        self._filled.clear(copying=False)
