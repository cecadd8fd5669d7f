"""Players that fail, forfeit or answer invalid actions, and matches that cannot be played."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pytest

from engine.errors import BadSpec, BadValue, GameFailed, UnknownName
from engine.game import AgentKind, Game, Ints, Views
from engine.plain import View, plain_kind
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import AgentSpec, EndingKind, Limits, MatchResult, MatchSpec, run_digest
from engine.registry import KINDS, new_game
from tests.engine.play.play_matches import QUICK, run, specs_of
from tests.plugins import bids, pilots
from tests.plugins.pilots import RowPilot, agent, choose


def test_resigning_gives_the_match_to_the_other(pong: Game) -> None:
    for seats, ranks in ((("resigning", "fast"), (2, 1)), (("fast", "resigning"), (1, 2))):
        result = run(specs_of(pong, [(*seats, 1)]), 4)["m0"]
        assert (result.ending.kind, result.ending.seats, result.ranks, result.steps) == (
            EndingKind.RESIGNED,
            (seats.index("resigning"),),
            ranks,
            3,
        )


def test_both_players_resigning_in_one_step_is_a_draw(pong: Game) -> None:
    result = run(specs_of(pong, [("resigning", "resigning", 1)]), 4)["m0"]
    assert (result.ending.seats, result.ranks) == ((0, 1), (1, 1))


def test_a_player_that_forfeits_ranks_last_and_the_others_by_score() -> None:
    game = new_game("bids", seats=4)
    players = (agent("fast", "a"), agent("resigning"), agent("fast", "b"), agent("fast", "c"))
    result = run([MatchSpec("m", game.spec, players, 8)], 1)["m"]
    assert result.ending.seats == (1,)
    assert result.ranks[1] == 4
    rest = [
        (score, rank) for seat, (score, rank) in enumerate(zip(result.scores, result.ranks, strict=True)) if seat != 1
    ]
    assert sorted(rest, key=lambda pair: -pair[0]) == sorted(rest, key=lambda pair: pair[1])


def test_an_invalid_or_illegal_action_forfeits() -> None:
    result = run(specs_of(new_game("pong"), [("fast", "illegal", 1)]), 2)["m0"]
    assert (result.ending.kind, result.ending.seats, result.steps) == (EndingKind.ILLEGAL_ACTION, (1,), 0)
    assert result.ending.reason == "answered 3; actions are 0 to 2"
    occupied = AgentKind(
        "stubborn", 1, lambda game, slots: pilots.RowPilot(lambda *_: 4), lambda game: True, lambda _: []
    )
    KINDS.add("stubborn", occupied)
    try:
        spec = MatchSpec("m", new_game("tictactoe").spec, (agent("stubborn"), agent("stubborn")), 1)
        result = run([spec], 1)["m"]
    finally:
        KINDS.remove("stubborn")
    assert (result.ending.kind, result.ending.seats, result.steps) == (EndingKind.ILLEGAL_ACTION, (1,), 1)
    assert result.ending.reason == "answered 4, which was not legal"


@pytest.mark.parametrize("lanes", [1, 5, 64])
def test_a_player_that_raises_forfeits_and_affects_no_other_match(lanes: int, pong: Game) -> None:
    quick = new_game("pong", **QUICK)
    healthy = specs_of(quick, [("fast", "remembering", n) for n in range(10)])
    sick = [MatchSpec(f"s{n}", quick.spec, (agent("raising", f"r{n % 2}"), agent("fast")), n) for n in range(6)]
    expected = run(healthy, 8)
    mixed = run([*healthy[:5], *sick, *healthy[5:]], lanes)
    assert run_digest(mixed[spec.id] for spec in healthy) == run_digest(expected.values())
    for spec in sick:
        result = mixed[spec.id]
        assert (result.ending.kind, result.ending.seats, result.ranks, result.steps) == (
            EndingKind.EXCEPTION,
            (0,),
            (2, 1),
            2,
        )
        assert result.ending.reason.startswith("RuntimeError: I give up (pilots.py, line ")


def test_a_player_that_fails_only_on_one_side_fails_only_there(pong: Game) -> None:
    quick = new_game("pong", **QUICK)
    specs = [
        MatchSpec(f"{n}{side}", quick.spec, (agent("left-only"), agent("fast"))[:: 1 if side == "a" else -1], n)
        for n in range(4)
        for side in "ab"
    ]
    results = run(specs, 8)
    assert {results[f"{n}a"].ending.kind for n in range(4)} == {EndingKind.EXCEPTION}
    assert {results[f"{n}a"].ending.seats for n in range(4)} == {(0,)}
    assert all(results[f"{n}b"].ending.kind in (EndingKind.FINISHED, EndingKind.STEP_LIMIT) for n in range(4))


class BadPilot(pilots.RowPilot):
    """Fails in the call that its agent names."""

    def __init__(self, where: str) -> None:
        super().__init__(pilots.choose)
        self._where = where

    def load(self, spec: AgentSpec) -> int:
        if self._where == "load":
            raise OSError("no such weights")
        return super().load(spec)

    def begin(self, *arguments: object) -> None:
        if self._where == "begin":
            raise MemoryError("too many")
        super().begin(*arguments)

    def act(self, views: pilots.Views) -> object:
        right = super().act(views)
        answers = {
            "shape": right[:, None],
            "none": None,
            "float": right + 0.5,
            "list": right.tolist(),
            "bool": right > 1,
        }
        return answers.get(self._where, right)

    def end(self, *arguments: object) -> None:
        super().end(*arguments)
        if self._where == "end":
            raise ValueError("cannot stop")

    def close(self) -> None:
        super().close()
        if self._where == "close":
            raise ValueError("cannot close")


@pytest.mark.parametrize(
    ("where", "kind"),
    [
        ("make", EndingKind.CANNOT_START),
        ("load", EndingKind.CANNOT_START),
        ("begin", EndingKind.CANNOT_START),
        ("shape", EndingKind.PROTOCOL),
        ("none", EndingKind.PROTOCOL),
        ("float", EndingKind.PROTOCOL),
        ("list", EndingKind.PROTOCOL),
        ("bool", EndingKind.PROTOCOL),
        ("end", EndingKind.EXCEPTION),
        ("close", EndingKind.FINISHED),
    ],
)
@pytest.mark.parametrize("lanes", [1, 8])
def test_a_failure_in_any_call_is_the_failing_players_own(where: str, kind: EndingKind, lanes: int) -> None:
    def make(game: Game, slots: int) -> BadPilot:
        if where == "make":
            raise RuntimeError("cannot be made")
        return BadPilot(where)

    game = new_game("pong", points=1)
    healthy = specs_of(game, [("fast", "slow", n) for n in range(5)])
    sick = [MatchSpec(f"s{n}", game.spec, (agent("fast"), agent("bad")), n) for n in range(3)]
    KINDS.add("bad", AgentKind("bad", 1, make, lambda game: True, lambda game: []))
    try:
        results = run([*sick, *healthy], lanes)
    finally:
        KINDS.remove("bad")
    assert {results[spec.id].ending.kind for spec in sick} == {kind}
    if kind.failure:
        assert {results[spec.id].ending.seats for spec in sick} == {(1,)}
        assert {results[spec.id].ranks for spec in sick} == {(1, 2)}
        assert all(results[spec.id].ending.reason for spec in sick)
    assert run_digest(results[spec.id] for spec in healthy) == run_digest(run(healthy, 3).values())


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"players": (agent("fast"),)}, BadSpec, "pong needs 2 players, not 1"),
        ({"seed": -1}, BadSpec, "seed = -1"),
        ({"seed": 2**64}, BadSpec, "seed = 18446744073709551616"),
        ({"start": "up"}, BadValue, "start = 'up'"),
        ({"limits": Limits(0)}, BadSpec, "limits.steps = 0"),
        ({"players": (agent("fast"), agent("fasst"))}, UnknownName, "did you mean 'fast'"),
        ({"players": (agent("fast"), agent("bidder"))}, BadSpec, "'bidder', of kind 'bidder', cannot play pong"),
        ({"players": (AgentSpec("x", "fast", b"1"), AgentSpec("x", "fast", b"2"))}, BadSpec, "two different agents"),
    ],
)
def test_an_impossible_match_is_refused_before_anything_is_played(
    change: dict[str, object], error: type[Exception], message: str, pong: Game
) -> None:
    good = MatchSpec("good", pong.spec, (agent("fast"), agent("fast")), 1)
    bad = MatchSpec(**{**good.__dict__, "id": "bad", **change})
    with SequentialMatchExecutor(2) as executor:
        with pytest.raises(error, match=message):
            executor.execute_matches([good, bad])
        assert executor.execute_match(good).id == "good", "and the executor still works"


def test_two_matches_of_one_run_may_not_share_an_id(pong: Game) -> None:
    spec = MatchSpec("twice", pong.spec, (agent("fast"), agent("fast")), 1, None, Limits(5))
    with SequentialMatchExecutor(2) as executor, pytest.raises(BadSpec, match="'twice'"):
        executor.execute_matches([spec, spec])


@pytest.mark.parametrize("where", ["new", "acting", "play", "scores", "observe", "stats"])
def test_an_error_in_the_rules_is_no_forfeit(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object) -> None:
        raise ZeroDivisionError("the rules")

    game = new_game("bids")
    monkeypatch.setattr(*((bids.Bids, "new") if where == "new" else (bids.BidsBoard, where)), broken)
    players = (AgentSpec("Half", "bidder"), AgentSpec("Other", "bidder"), AgentSpec("Third", "bidder"))
    with (
        SequentialMatchExecutor(2) as executor,
        pytest.raises(GameFailed, match="the game 'bids' failed: ZeroDivision"),
    ):
        executor.execute_match(MatchSpec("m", game.spec, players, 1))


class Keeper:
    """Compares its observation with the one of the step before."""

    last: np.ndarray | None = None

    def act(self, view: View) -> int:
        before, self.last = self.last, view.obs
        return int(np.sum(before is not None and self.last > before)) % 3


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (lambda view: -1, EndingKind.ILLEGAL_ACTION),  # plain bots cannot say that they are still thinking
        (lambda view: -2, EndingKind.RESIGNED),
        (lambda view: 10**30, EndingKind.ILLEGAL_ACTION),
        (lambda view: None, EndingKind.PROTOCOL),
        (lambda view: view.obs[5] > 0, EndingKind.PROTOCOL),
        (lambda view: sys.exit(3), EndingKind.EXCEPTION),
        (lambda view: view.position.legal(), EndingKind.EXCEPTION),
    ],
)
@pytest.mark.parametrize("lanes", [1, 16])
def test_a_plain_bot_with_an_invalid_answer_loses_only_that_match(
    answer: Callable[[View], object], kind: EndingKind, lanes: int
) -> None:
    class Nonsense:
        act = staticmethod(answer)

    bots = {b"keeper": Keeper, b"nonsense": Nonsense}
    plain = plain_kind(
        "plain", 1, lambda payload: bots[payload](), ["pong"], {"Keeper": b"keeper", "Nonsense": b"nonsense"}
    )
    KINDS.add("plain", plain)
    try:
        game = new_game("pong", **QUICK)
        keeper, nonsense = plain.samples(game)
        good = [MatchSpec(f"g{n}", game.spec, (keeper, keeper), n) for n in range(12)]
        bad = [MatchSpec(f"b{n}", game.spec, (keeper, nonsense), n) for n in range(4)]
        results = run([*good[:6], *bad, *good[6:]], lanes)
        assert run_digest(results[spec.id] for spec in good) == run_digest(run(good, 5).values())
        assert {(results[spec.id].ending.kind, results[spec.id].ending.seats) for spec in bad} == {(kind, (1,))}
    finally:
        KINDS.remove("plain")


@pytest.mark.parametrize("name", ["slots", "lanes", "seats", "agents", "plies", "legal"])
def test_a_pilot_cannot_modify_the_arrays_of_the_arena(name: str) -> None:
    def scribble(state: dict, views: Views, row: int) -> int:
        getattr(views, name)[...] = 1
        return 0

    KINDS.add("scribbler", AgentKind("scribbler", 1, lambda g, s: RowPilot(scribble), lambda g: True, lambda g: []))
    try:
        spec = MatchSpec("m", new_game("tictactoe").spec, (agent("scribbler"), agent("fast")), 1)
        result = run([spec], 1)["m"]
    finally:
        KINDS.remove("scribbler")
    assert (result.ending.kind, result.ending.seats) == (EndingKind.EXCEPTION, (0,))
    assert "read-only" in result.ending.reason


@pytest.mark.parametrize("lanes", [1, 16])
def test_what_a_pilot_does_to_its_views_does_not_last(lanes: int) -> None:
    """The arena uses them again as long as it asks for the same rows."""

    class Pilot(RowPilot):
        def act(self, views: Views) -> Ints:
            obs = views.obs
            return ((views.slots % 2 + views.plies + (obs[:, 5] > 0)) % 3).astype(np.int16)

    class Untidy(Pilot):
        def act(self, views: Views) -> Ints:
            answers, obs = super().act(views), views.obs
            obs *= 2.0
            obs.shape = (-1,)
            views.plies = views.plies + np.uint32(1)
            views.lanes.shape = views.seats.shape = (1, -1)
            views.slots = views.slots[::-1]
            return answers

    game, digests = new_game("pong", **QUICK), []
    for pilot in (Pilot, Untidy):
        KINDS.add("own", AgentKind("own", 1, lambda g, s: pilot(choose), lambda g: True, lambda g: []))  # noqa: B023
        try:
            specs = [MatchSpec(str(n), game.spec, (agent("own"), agent("fast")), n) for n in range(20)]
            digests.append(run_digest(run(specs, lanes).values()))
        finally:
            KINDS.remove("own")
    assert digests[0] == digests[1]


def test_a_failing_agent_makes_few_other_matches_play_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    game = new_game("pong", **QUICK)
    alone: list[tuple[str, ...]] = []
    inner = SequentialMatchExecutor._play_alone

    def counted(self: SequentialMatchExecutor, spec: MatchSpec) -> MatchResult:
        alone.append(tuple(player.id for player in spec.players))
        return inner(self, spec)

    monkeypatch.setattr(SequentialMatchExecutor, "_play_alone", counted)
    kind = plain_kind("p", 1, lambda payload: Keeper() if payload else object(), ["pong"], {"Good": b"1", "Bad": b""})
    KINDS.add("p", kind)
    try:
        good, bad = kind.samples(game)
        specs = [MatchSpec(f"m{n}", game.spec, (good, bad if n % 10 == 0 else good), n) for n in range(100)]
        run(specs, 32)
    finally:
        KINDS.remove("p")
    assert sum("Bad" in players for players in alone) == 10
    assert sum("Bad" not in players for players in alone) <= 2


def test_a_seat_that_resigns_waits_for_the_others_answer(pong: Game) -> None:
    """Otherwise the speed of a player would decide whether one or two have resigned."""
    late = {"polls": 0}

    def resign_late(state: dict, views: Views, row: int) -> int:
        late["polls"] += 1
        return -1 if late["polls"] < 5 else -2

    KINDS.add("late", AgentKind("late", 1, lambda g, s: RowPilot(resign_late), lambda g: True, lambda g: []))
    KINDS.add("now", AgentKind("now", 1, lambda g, s: RowPilot(lambda *_: -2), lambda g: True, lambda g: []))
    try:
        result = run([MatchSpec("m", pong.spec, (agent("now"), agent("late")), 1)], 1)["m"]
    finally:
        KINDS.remove("late")
        KINDS.remove("now")
    assert result.ending.seats == (0, 1)


@pytest.mark.parametrize(("limit", "played"), [(3, 3), (1, 1), (None, 8)])
def test_an_agent_that_fails_too_often_is_quarantined_for_the_run(limit: int | None, played: int) -> None:
    game = new_game("pong", **QUICK)
    sick = [MatchSpec(f"s{n}", game.spec, (agent("raising"), agent("fast")), n) for n in range(8)]
    healthy = specs_of(game, [("fast", "slow", n) for n in range(5)])
    with SequentialMatchExecutor(2, quarantine_after=limit) as executor:
        for _ in range(2):  # a new run, a new chance
            results = {result.id: result for result in executor.execute_matches([*sick, *healthy])}
            kinds = [results[spec.id].ending.kind for spec in sick]
            assert kinds.count(EndingKind.EXCEPTION) == played
            assert kinds.count(EndingKind.QUARANTINED) == 8 - played
    for spec in sick:
        result = results[spec.id]
        if result.ending.kind is EndingKind.QUARANTINED:
            assert (result.ending.seats, result.ranks, result.repeatable) == ((0,), (1, 1), False)
            assert result.ending.reason == f"raising has failed {limit} times in this run"
    assert run_digest(results[spec.id] for spec in healthy) == run_digest(run(healthy, 3).values())
