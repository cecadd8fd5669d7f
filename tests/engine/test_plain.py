"""Plain bots: use of views, order of calls, and blame for wrong answers."""

from __future__ import annotations

import ctypes
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from sys import getrefcount
from typing import Any

import numpy as np
import pytest

from agents.scripted.pong import KIND as SCRIPTED
from engine.array_headers import references, same_header
from engine.game import RESIGN, Boards, Indices, NoAction, Observations, Views
from engine.games.pong.game import Pong, PongOptions
from engine.plain import PlainPilot, View, plain_kind
from engine.plain_pilot import NO_ACTION, OBS_AT
from engine.play.executors import SequentialMatchExecutor
from engine.play.heartbeat import PilotCall, private_heartbeat
from engine.play.match import AgentSpec, MatchResult, MatchSpec
from engine.registry import KINDS
from engine.seeding import derive

GAME = Pong(PongOptions(points=1))
ROWS = 300  # of Pong: more than one block of observations
CALLS = 6


class CountingBoards:
    """Boards that count how often they are observed."""

    def __init__(self, boards: Boards) -> None:
        self._boards, self.observed = boards, 0

    def observe(self, lanes: Indices, seats: Indices, out: Observations) -> None:
        self.observed += 1
        self._boards.observe(lanes, seats, out)


class Table:
    """Boards with the left seat of each lane played by a plain bot."""

    def __init__(self, act: Callable[[View], Any], rows: int = ROWS) -> None:
        bot = type("Bot", (), {"act": lambda self, view: act(view)})
        self.lanes = np.arange(rows, dtype=np.uint32)
        self.boards = GAME.boards(rows)
        self.boards.deal(self.lanes, self.lanes.astype(np.uint64), [None] * rows)
        self.counting, self.marks = CountingBoards(self.boards), private_heartbeat(rows)
        self.pilot = PlainPilot(lambda payload: bot())
        self.pilot.begin(2 * self.lanes, np.full(rows, self.pilot.load(AgentSpec("a", "plain"))), self.lanes)
        self._rows = np.zeros((5, rows), np.uint32)
        self._rows[0], self._rows[1] = 2 * self.lanes, self.lanes
        self._out = np.zeros((rows, 8), np.float32)

    def ask(self) -> list[int]:
        views = Views(self.counting, self._rows, self._out, None, self.marks.turn)
        self.marks.begin_call(PilotCall.ACT, self.lanes, self.lanes)
        answers = self.pilot.act(views).tolist()
        self.advance()
        return answers

    def advance(self) -> None:
        self.boards.apply(self.lanes, np.ones((len(self.lanes), 2), np.int64))
        self._rows[4] += 1

    def observations(self) -> Observations:
        out = np.zeros_like(self._out)
        self.boards.observe(self.lanes, np.zeros_like(self.lanes), out)
        return out


def test_a_bot_may_keep_and_change_its_observation() -> None:
    kept: list[tuple[Observations, bytes]] = []

    def act(view: View) -> int:
        first, second = view.obs, view.obs
        assert first.tobytes() == second.tobytes() == expected[view.seed].tobytes()
        kept.append((second, second.tobytes()))
        first[:] = 7.0
        first.shape = (2, 4)
        assert view.obs.tobytes() == second.tobytes()
        assert (view.obs.shape, view.obs.dtype) == ((8,), np.float32)
        return 0

    table = Table(act)
    for _ in range(CALLS):
        expected = table.observations()
        table.ask()
    assert len(kept) == CALLS * ROWS
    assert all(obs.tobytes() == then for obs, then in kept)


def set_dtype(obs: Observations) -> None:
    obs.dtype = np.int32  # type: ignore[assignment]


def set_shape(obs: Observations) -> None:
    obs.shape = (2, 4)


def set_strides(obs: Observations) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        obs.strides = (0,)


@pytest.mark.parametrize("change", [set_dtype, set_shape, set_strides, lambda obs: obs.setflags(write=False)])
@pytest.mark.parametrize("from_call", [0, 3])
def test_an_observation_changed_in_place_is_not_given_out_again(
    change: Callable[[Observations], None], from_call: int
) -> None:
    """One bot of many changes it, and keeps no reference."""
    found: list[tuple[object, ...]] = []

    def act(view: View) -> int:
        obs = view.obs
        found.append((obs.shape, obs.strides, obs.dtype, obs.flags.writeable))
        assert obs.tobytes() == expected[view.seed].tobytes()
        if view.seed == 70 and view.ply >= from_call:
            change(obs)
        return 0

    table = Table(act)
    for _ in range(CALLS):
        expected = table.observations()
        table.ask()
    assert set(found) == {((8,), (4,), np.dtype(np.float32), True)}
    assert len(found) == CALLS * ROWS


def test_observations_with_changed_elements_alone_are_used_again() -> None:
    """Otherwise every call would copy them, which takes longer."""
    places: list[int] = []

    def act(view: View) -> int:
        obs = view.obs
        obs *= 2.0
        places.append(obs.ctypes.data)
        return 0

    table = Table(act)
    for _ in range(CALLS):
        table.ask()
    assert len({tuple(places[first : first + ROWS]) for first in range(ROWS, CALLS * ROWS, ROWS)}) == 1


@pytest.mark.parametrize("shape", [(3, 4, 5), (8,)])
def test_arrays_of_another_shape_type_or_flag_are_found(shape: tuple[int, ...]) -> None:
    block = np.zeros((6, *shape), np.float32)
    model, rows = block[0], list(block)
    rows[1] = rows[1].T.reshape(shape[::-1])
    rows[2] = rows[2].view(np.int32)
    rows[3] = rows[3][::-1]
    rows[4].setflags(write=False)
    same = [same_header(id(model), id(row)) for row in rows]
    assert same == [True, len(shape) == 1, False, False, False, True]


def test_references_are_counted_as_python_counts_them() -> None:
    kept: list[object] = []
    for thing in (object(), np.zeros(3), View()):
        for _ in range(3):
            assert references(id(thing)) == getrefcount(thing) - 1
            kept.append(thing)


def test_a_view_refers_to_its_observation_where_the_kernel_looks() -> None:
    view = View()
    view._obs = obs = np.zeros(8, np.float32)
    assert ctypes.c_size_t.from_address(id(view) + OBS_AT).value == id(obs)


def test_what_bots_keep_stays_also_if_others_read_nothing() -> None:
    """Of two bots, one reads its observation; some keep it, or a part of it, after calls in which they did not."""
    kept: list[tuple[Observations, bytes]] = []

    def act(view: View) -> int:
        if (view.seed + view.ply) % 2:
            obs = view.obs
            assert obs.tobytes() == expected[view.seed].tobytes()
            if view.ply >= 3 and view.seed % 50 == 10:
                kept.append((obs, obs.tobytes()))
            if view.ply >= 3 and view.seed % 50 == 21:
                kept.append((obs[2:], obs[2:].tobytes()))
        return 0

    table = Table(act)
    for _ in range(CALLS):
        expected = table.observations()
        table.ask()
    assert len(kept) == 18
    assert all(obs.tobytes() == then for obs, then in kept)


def test_no_two_bots_share_an_observation() -> None:
    kept: list[Observations] = []
    table = Table(lambda view: kept.append(view.obs) or 0)
    for _ in range(CALLS):
        table.ask()
    order = sorted(kept, key=lambda obs: obs.ctypes.data)
    ends = [obs.ctypes.data + obs.nbytes for obs in order]
    assert all(end <= later.ctypes.data for end, later in zip(ends, order[1:], strict=False))


def test_a_kept_observation_keeps_little_else_in_memory() -> None:
    kept: list[Observations] = []
    table = Table(lambda view: kept.append(view.obs) or 0)
    for _ in range(CALLS):
        table.ask()
    assert max(obs.nbytes if obs.base is None else obs.base.nbytes for obs in kept) <= 4096


def test_copied_observations_take_no_memory_after_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.plain_pilot.REUSED_BYTES", 0)
    given: list[weakref.ref[Observations]] = []
    table = Table(lambda view: given.append(weakref.ref(view.obs)) or 0)
    for _ in range(CALLS):
        table.ask()
        assert not any(obs() is not None for obs in given)
    assert len(given) == CALLS * ROWS


def test_a_kept_view_still_has_its_ply_seed_and_seat() -> None:
    kept: list[View] = []
    table = Table(lambda view: kept.append(view) or 0)
    for _ in range(CALLS):
        table.ask()
    assert [(view.ply, view.seed, view.seat) for view in kept] == [(n, m, 0) for n in range(CALLS) for m in range(ROWS)]


def test_a_view_kept_in_a_call_in_which_a_bot_raises_still_has_its_ply() -> None:
    kept: list[View] = []

    def act(view: View) -> int:
        if view.ply == 3 and view.seed == 1:
            kept.append(view)
        if view.ply == 3 and view.seed == 4:
            raise ZeroDivisionError
        return int(view.obs[0] > 2)

    table = Table(act, rows=5)
    for ply in range(CALLS):
        with pytest.raises(ZeroDivisionError) if ply == 3 else nullcontext():
            table.ask()
        if ply == 3:
            table.advance()
    assert [(view.ply, view.seed) for view in kept] == [(3, 1)]


def test_the_observation_of_a_view_cannot_be_replaced() -> None:
    def act(view: View) -> int:
        with pytest.raises(AttributeError):
            view.obs = np.zeros(8, np.float32)  # type: ignore[misc]
        return 0

    Table(act).ask()


def test_no_observations_are_computed_for_bots_that_do_not_read_them() -> None:
    table = Table(lambda view: view.pick(3))
    for _ in range(CALLS):
        table.ask()
    assert table.counting.observed == 0


def test_observations_stop_when_bots_no_longer_read_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.plain_pilot.PREFILL_CALLS", 4)
    table = Table(lambda view: int(view.ply < 4 and view.obs[0] > 2))
    for _ in range(20):
        table.ask()
    assert table.counting.observed == 4


def test_bots_act_in_the_order_of_rows_and_are_marked_before() -> None:
    asked: list[tuple[int, int | None, int]] = []
    table = Table(
        lambda view: asked.append((view.seed, table.marks.current_row, table.marks.pulse)) or int(view.obs[0] > 2)
    )
    for _ in range(CALLS):
        table.ask()
    assert [call[:2] for call in asked] == [(row, row) for _ in range(CALLS) for row in range(ROWS)]
    assert len({pulse for *_, pulse in asked}) == CALLS * ROWS, "otherwise a watchdog would report a hang"


def test_a_slot_with_a_new_match_has_a_new_bot() -> None:
    table = Table(lambda view: view.seed % 3)
    assert table.ask() == [row % 3 for row in range(ROWS)]
    slots = np.array([2, 8], np.uint32)
    table.pilot.end(slots, None)
    table.pilot.begin(slots, np.zeros(2, np.uint32), np.array([300, 302], np.uint64))
    assert table.ask() == [row % 3 if row not in (1, 4) else {1: 0, 4: 2}[row] for row in range(ROWS)]


class IndexAnswer:
    """An answer whose conversion runs code."""

    def __init__(self, action: Any) -> None:
        self._action = action

    def __index__(self) -> int:
        if isinstance(self._action, Exception):
            raise self._action
        return self._action


@pytest.mark.parametrize(
    ("answer", "action"),
    [
        (2, 2),
        (True, 1),
        (np.int32(1), 1),
        (IndexAnswer(2), 2),
        (300, 300),
        (RESIGN, RESIGN),
        (-1, NO_ACTION),
        (2**70, NO_ACTION),
        (-(2**70), NO_ACTION),
    ],
)
def test_integers_of_any_type_are_valid_answers(answer: object, action: int) -> None:
    assert Table(lambda view: answer if view.seed == 3 else 1, rows=5).ask() == [1, 1, 1, action, 1]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (None, NoAction),
        (1.0, NoAction),
        ("1", NoAction),
        (np.bool_(True), NoAction),
        (IndexAnswer(RuntimeError("none")), RuntimeError),
        (IndexAnswer(ValueError("none")), ValueError),
    ],
)
def test_an_answer_that_is_not_an_integer_is_blamed_on_its_row(answer: object, error: type[Exception]) -> None:
    table = Table(lambda view: answer if view.seed == 3 else 1, rows=5)
    with pytest.raises(error):
        table.ask()
    assert table.marks.current_row == 3


def test_a_bot_that_raises_is_blamed_by_its_row() -> None:
    table = Table(lambda view: 1 // (3 - view.seed) * 0, rows=5)
    with pytest.raises(ZeroDivisionError):
        table.ask()
    assert table.marks.current_row == 3


class Chaser:
    """Remembers its observation; unless tidy, it also overwrites the arrays it received."""

    def __init__(self, tidy: bool) -> None:
        self._tidy, self._before = tidy, np.zeros(8, np.float32)

    def act(self, view: View) -> int:
        obs = view.obs
        aim = float(obs[5]) + 0.5 * float(obs[5] - self._before[5])
        self._before = obs
        if not self._tidy:
            view.obs[:] = 9.0
            self._before = view.obs
            obs *= -1.0
        return 1 if aim > 0.03 else 2 if aim < -0.03 else view.pick(3)


@pytest.fixture
def chasers() -> Iterator[None]:
    KINDS.add("chasers", plain_kind("chasers", 1, lambda payload: Chaser(payload == b"tidy"), ["pong"], {}))
    yield
    KINDS.remove("chasers")


@pytest.mark.usefixtures("chasers")
@pytest.mark.parametrize("lanes", [1, 7, 64])
def test_changes_to_views_do_not_affect_a_match(lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.plain_pilot.PREFILL_CALLS", 5)
    tidy, untidy = AgentSpec("a", "chasers", b"tidy"), AgentSpec("b", "chasers", b"untidy")
    other = SCRIPTED.samples(GAME)[1]

    def play(*mine: AgentSpec) -> list[MatchResult]:
        specs = [MatchSpec(str(n), GAME.spec, (mine[n % len(mine)], other), derive("plain", n)) for n in range(24)]
        with SequentialMatchExecutor(lanes) as executor:
            return executor.execute_matches(specs)

    results = [
        [(result.actions, result.stats, result.ranks) for result in play(*mine)] for mine in ([tidy], [untidy, tidy])
    ]
    assert results[0] == results[1]
