"""The arena: exactly one result for every match, whatever sits on its lanes."""

from __future__ import annotations

import dataclasses
import random
import sys
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import BadSpec, BadValue, GameFailed, RingsideError, UnknownName
from engine.game import AgentKind, Game, Views
from engine.plain import View, plain_kind
from engine.play.arena import Arena
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import AgentSpec, EndingKind, Limits, MatchResult, MatchSpec, run_digest
from engine.registry import KINDS, new_game
from tests.plugins import bids, pilots
from tests.plugins.pilots import RowPilot, agent

QUICK = {"points": 1, "step_limit": 300}
FAIR = ("fast", "slow", "remembering", "vandal", "resigning", "illegal")
CASES = st.lists(st.tuples(st.sampled_from(FAIR), st.sampled_from(FAIR), st.integers(0, 5)), min_size=1, max_size=25)


def specs_of(game: Game, cases: Sequence[tuple[str, str, int]]) -> list[MatchSpec]:
    return [MatchSpec(f"m{n}", game.spec, (agent(a), agent(b)), seed) for n, (a, b, seed) in enumerate(cases)]


def run(specs: Sequence[MatchSpec], lanes: int) -> dict[str, MatchResult]:
    with SequentialMatchExecutor(lanes) as executor:
        results = list(executor.run(specs))
    assert sorted(result.id for result in results) == sorted(spec.id for spec in specs), "one result for each match"
    return {result.id: result for result in results}


@given(CASES, st.integers(1, 30), st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_every_match_gives_the_same_record_in_any_company(cases: list, lanes: int, order: random.Random) -> None:
    specs = specs_of(new_game("pong", **QUICK), cases)
    reference = {spec.id: run([spec], 1)[spec.id] for spec in specs}
    shuffled = order.sample(specs, len(specs))
    assert run_digest(run(shuffled, lanes).values()) == run_digest(reference.values())


@given(CASES, st.integers(1, 12))
@settings(max_examples=25)
def test_every_slot_begins_and_ends_exactly_once(cases: list, lanes: int) -> None:
    made: list[pilots.RowPilot] = []
    for name in FAIR:
        KINDS.add(name, pilots.row_kind(name, made))
    try:
        specs = specs_of(new_game("pong", **QUICK), cases)
        run(specs, lanes)
    finally:
        for name in FAIR:
            KINDS.add(name, pilots.row_kind(name))
    begun = sum(event == "begin" for pilot in made for event, _ in pilot.log)
    ended = sum(event == "end" for pilot in made for event, _ in pilot.log)
    assert begun == ended == 2 * len(specs)  # RowPilot itself refuses a slot that begins twice or ends unbegun
    assert [pilot.log[-1] for pilot in made] == [("close", 0)] * len(made), "closed, with nothing going on"


@pytest.mark.parametrize("lanes", [1, 7, 256])
def test_a_league_of_bots_has_one_digest(lanes: int, pong: Game) -> None:
    bots = list(KINDS.get("pong-bot").samples(pong))
    others = [agent("remembering"), agent("slow"), agent("vandal")]
    specs = [
        MatchSpec(f"{a.id}-{b.id}", pong.spec, (a, b), n, None, Limits(1500))
        for n, (a, b) in enumerate((a, b) for a in bots + others for b in bots + others)
    ]
    random.Random(lanes).shuffle(specs)
    assert run_digest(run(specs, lanes).values()) == "b07036022dffffe122b2a2dc662871d4"


def test_an_agent_that_reseeds_every_generator_changes_nobody_elses_match(pong: Game) -> None:
    specs = specs_of(pong, [("remembering", "fast", n) for n in range(6)])
    alone = run(specs, 6)
    with_vandal = run([*specs, *(MatchSpec(f"v{n}", pong.spec, (agent("vandal"),) * 2, n) for n in range(6))], 4)
    assert run_digest(alone.values()) == run_digest(with_vandal[spec.id] for spec in specs)


def test_an_agent_may_play_itself_and_its_two_seats_differ(pong: Game) -> None:
    result = run([MatchSpec("m", pong.spec, (agent("fast"), agent("fast")), 3, None, Limits(50))], 1)["m"]
    actions = np.unpackbits(np.frombuffer(result.actions, np.uint8), bitorder="little").reshape(-1, 2, 2)
    assert actions[:, 0].tolist() != actions[:, 1].tolist()


def test_resigning_gives_the_match_to_the_other(pong: Game) -> None:
    for seats, ranks in ((("resigning", "fast"), (2, 1)), (("fast", "resigning"), (1, 2))):
        result = run(specs_of(pong, [(*seats, 1)]), 4)["m0"]
        assert (result.ending.kind, result.ending.seats, result.ranks, result.steps) == (
            EndingKind.RESIGNED,
            (seats.index("resigning"),),
            ranks,
            3,
        )


def test_both_resigning_in_one_step_is_nobodys_win(pong: Game) -> None:
    result = run(specs_of(pong, [("resigning", "resigning", 1)]), 4)["m0"]
    assert (result.ending.seats, result.ranks) == ((0, 1), (1, 1))


def test_whoever_forfeits_ranks_last_and_the_others_by_their_score() -> None:
    game = new_game("bids", seats=4)
    players = (agent("fast", "a"), agent("resigning"), agent("fast", "b"), agent("fast", "c"))
    result = run([MatchSpec("m", game.spec, players, 8)], 1)["m"]
    assert result.ending.seats == (1,)
    assert result.ranks[1] == 4
    rest = [
        (score, rank) for seat, (score, rank) in enumerate(zip(result.scores, result.ranks, strict=True)) if seat != 1
    ]
    assert sorted(rest, key=lambda one: -one[0]) == sorted(rest, key=lambda one: one[1])


def test_an_action_that_is_none_or_illegal_forfeits() -> None:
    result = run(specs_of(new_game("pong"), [("fast", "illegal", 1)]), 2)["m0"]
    assert (result.ending.kind, result.ending.seats, result.steps) == (EndingKind.ILLEGAL_ACTION, (1,), 0)
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


@pytest.mark.parametrize("lanes", [1, 5, 64])
def test_a_player_that_raises_forfeits_and_costs_nobody_else_anything(lanes: int, pong: Game) -> None:
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
    """Fails in the call it is told to."""

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


@pytest.mark.parametrize("capacity", [2, 3, 5])
def test_a_pilot_never_holds_more_slots_than_it_can(capacity: int) -> None:
    made: list[pilots.RowPilot] = []
    KINDS.add("narrow", pilots.row_kind("narrow", made, capacity, "fast"))
    try:
        game = new_game("pong", **QUICK)
        specs = [MatchSpec(f"m{n}", game.spec, (agent("narrow"), agent("narrow")), n) for n in range(9)]
        run(specs, 8)
        KINDS.add("narrow", pilots.row_kind("narrow", made, 1, "fast"))
        with pytest.raises(BadSpec, match="'m0' seats more players of one kind"):
            run(specs, 8)
    finally:
        KINDS.remove("narrow")
    held, most = 0, 0
    for event, _ in made[0].log:
        held += {"begin": 1, "end": -1, "close": 0}[event]
        most = max(most, held)
    assert most == capacity - capacity % 2


def test_a_limit_of_steps_ends_a_match_by_itself(pong: Game) -> None:
    result = run([MatchSpec("m", pong.spec, (agent("fast"), agent("fast")), 1, None, Limits(17))], 3)["m"]
    assert (result.steps, result.ending.kind) == (17, EndingKind.STEP_LIMIT)


def test_options_and_starts_may_differ_from_match_to_match() -> None:
    short, long = new_game("pong", points=1), new_game("pong", points=3)
    specs = [
        MatchSpec(f"{game.options.points}{start}{n}", game.spec, (agent("fast"), agent("fast")), n, start)
        for game in (short, long)
        for start in (None, "left", "right")
        for n in range(3)
    ]
    results = run(specs, 4)
    assert {max(results[spec.id].scores) for spec in specs if spec.game == short.spec} == {1}
    assert {max(results[spec.id].scores) for spec in specs if spec.game == long.spec} == {3}
    assert (
        results["1left0"].actions != results["1right0"].actions or results["1left0"].scores != results["1right0"].scores
    )


def test_many_games_in_one_arena_and_none_of_their_results_lost() -> None:
    games = [new_game("pong", points=1, paddle_speed=float(n)) for n in range(1, 15)]
    specs = [MatchSpec(f"g{n}", game.spec, (agent("fast"), agent("fast")), n) for n, game in enumerate(games)]
    run(specs, 2)


def test_rewards_add_up_to_the_scores() -> None:
    game = new_game("pong", points=2)
    with Arena(2, rewards=True) as arena:
        arena.add(MatchSpec("m", game.spec, (agent("fast"), agent("fast")), 1))
        total = np.zeros(2)
        while not arena.idle:
            for tick in arena.tick():
                assert tick.rewards is not None
                total += tick.rewards[tick.moved].sum(axis=0)
                if tick.ended.size:
                    assert tick.group.boards.scores()[tick.ended[0]].tolist() == total.tolist(), "readable at the end"
            results = arena.take_results()
    assert results[0].scores == tuple(total)


def test_without_recording_a_match_is_the_same_but_for_its_actions(pong: Game) -> None:
    spec = MatchSpec("m", pong.spec, (agent("fast"), agent("fast")), 1, None, Limits(99))
    with SequentialMatchExecutor(1, record=False) as bare, SequentialMatchExecutor(1) as full:
        one, other = bare.execute_match(spec), full.execute_match(spec)
    assert one.actions == b""
    assert len(other.actions) == (99 * 4 + 7) // 8
    assert (one.scores, one.stats, one.steps) == (other.scores, other.stats, other.steps)


def test_recalled_matches_are_the_ones_without_a_result(pong: Game) -> None:
    specs = specs_of(new_game("pong", **QUICK), [("fast", "fast", n) for n in range(50)])
    with SequentialMatchExecutor(4) as executor:
        coming = iter(specs)
        results = executor.run(coming)
        done = [next(results)]
        back = executor.recall()
        done += results
        left = list(coming)
        again = list(executor.run([*back, *left]))
    assert {result.id for result in done}.isdisjoint(spec.id for spec in [*back, *left])
    assert sorted(result.id for result in [*done, *again]) == sorted(spec.id for spec in specs)


def test_a_run_that_is_left_early_leaves_nothing_behind(pong: Game) -> None:
    specs = specs_of(new_game("pong", **QUICK), [("fast", "slow", n) for n in range(20)])
    with SequentialMatchExecutor(4) as executor:
        results = executor.run(specs)
        next(results)
        results.close()
        assert len(list(executor.run(specs))) == 20


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"players": (agent("fast"),)}, BadSpec, "pong has 2 seats, 1 players are given"),
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
    change: dict[str, object], error: type[Exception], words: str, pong: Game
) -> None:
    good = MatchSpec("good", pong.spec, (agent("fast"), agent("fast")), 1)
    bad = MatchSpec(**{**good.__dict__, "id": "bad", **change})
    with SequentialMatchExecutor(2) as executor:
        with pytest.raises(error, match=words):
            executor.execute_matches([good, bad])
        assert executor.execute_match(good).id == "good", "and the executor still works"


def test_two_matches_of_one_run_may_not_share_an_id(pong: Game) -> None:
    spec = MatchSpec("twice", pong.spec, (agent("fast"), agent("fast")), 1, None, Limits(5))
    with SequentialMatchExecutor(2) as executor, pytest.raises(BadSpec, match="'twice'"):
        executor.execute_matches([spec, spec])


def test_an_arena_needs_a_lane() -> None:
    with pytest.raises(BadSpec, match="lanes = 0"):
        Arena(0)


@pytest.mark.parametrize("where", ["new", "acting", "play", "scores", "observe", "stats"])
def test_rules_that_raise_are_nobodys_forfeit(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_match_that_is_over_when_it_is_dealt_gives_its_result_at_once() -> None:
    game = new_game("mixed")
    specs = [
        MatchSpec(f"m{n}", game.spec, (agent("fast"), agent("slow")), n, start)
        for n, start in enumerate(("0", "8") * 3)
    ]
    results = run(specs, 2)
    assert {results[f"m{n}"].steps for n in (0, 2, 4)} == {0}
    assert all(results[f"m{n}"].steps > 1 for n in (1, 3, 5))


def test_a_match_without_a_result_is_no_contest() -> None:
    game = new_game("mixed")
    specs = [MatchSpec(f"m{n}", game.spec, (agent("fast"), agent("fast")), n) for n in range(40)]
    kinds = {result.ending.kind for result in run(specs, 8).values()}
    assert kinds == {EndingKind.FINISHED, EndingKind.NO_CONTEST}


def test_steps_of_all_and_steps_of_one_do_not_mix_up_whom_to_ask() -> None:
    """Beside a slow match and alone, a match in which everybody acts only now and then goes the same way."""
    game = new_game("mixed")
    specs = [MatchSpec(f"m{n}", game.spec, (agent("remembering"), agent("fast")), n) for n in range(12)]
    slow = [MatchSpec(f"s{n}", game.spec, (agent("slow"), agent("fast")), n) for n in range(6)]
    together = run([*specs, *slow], 18)
    assert run_digest(together[spec.id] for spec in specs) == run_digest(run(specs, 1).values())
    assert not any(result.ending.seats for result in together.values())


class Keeper:
    """Compares what it sees with what it kept from the step before."""

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
        (lambda view: None, EndingKind.EXCEPTION),
        (lambda view: view.obs[5] > 0, EndingKind.EXCEPTION),
        (lambda view: sys.exit(3), EndingKind.EXCEPTION),
        (lambda view: view.position.legal(), EndingKind.EXCEPTION),
    ],
)
@pytest.mark.parametrize("lanes", [1, 16])
def test_a_plain_bot_that_answers_nonsense_loses_that_match_and_no_other(
    answer: Callable[[View], object], kind: EndingKind, lanes: int
) -> None:
    class Nonsense:
        act = staticmethod(answer)

    bots = {b"keeper": Keeper, b"nonsense": Nonsense}
    made = plain_kind(
        "plain", 1, lambda payload: bots[payload](), ["pong"], {"Keeper": b"keeper", "Nonsense": b"nonsense"}
    )
    KINDS.add("plain", made)
    try:
        game = new_game("pong", **QUICK)
        keeper, nonsense = made.samples(game)
        good = [MatchSpec(f"g{n}", game.spec, (keeper, keeper), n) for n in range(12)]
        bad = [MatchSpec(f"b{n}", game.spec, (keeper, nonsense), n) for n in range(4)]
        results = run([*good[:6], *bad, *good[6:]], lanes)
        assert run_digest(results[spec.id] for spec in good) == run_digest(run(good, 5).values())
        assert {(results[spec.id].ending.kind, results[spec.id].ending.seats) for spec in bad} == {(kind, (1,))}
    finally:
        KINDS.remove("plain")


@pytest.mark.parametrize("name", ["slots", "lanes", "seats", "agents", "plies", "legal"])
def test_a_pilot_cannot_change_what_the_arena_goes_by(name: str) -> None:
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


def test_fast_matches_do_not_wait_for_slow_ones() -> None:
    game = new_game("pong", **QUICK)
    KINDS.add("asleep", AgentKind("asleep", 1, lambda g, s: RowPilot(lambda *_: -1), lambda g: True, lambda g: []))
    try:
        with Arena(64) as arena:
            for n in range(60):
                arena.add(MatchSpec(f"s{n}", game.spec, (agent("asleep"), agent("fast")), n))
            for n in range(20):
                arena.add(MatchSpec(f"f{n}", game.spec, (agent("fast"), agent("fast")), n, None, Limits(5)))
            done: set[str] = set()
            for _ in range(300):
                arena.tick()
                done |= {result.id for result in arena.take_results()}
    finally:
        KINDS.remove("asleep")
    assert done == {f"f{n}" for n in range(20)}


def test_an_id_may_stand_for_another_agent_in_the_next_run(pong: Game) -> None:
    bots = {style: AgentSpec("x", "pong-bot", f'{{"style": "{style}"}}'.encode()) for style in ("still", "tracker")}
    still = next(one for one in KINDS.get("pong-bot").samples(pong) if one.id == "Still")
    with SequentialMatchExecutor(4) as executor:
        distances = [
            executor.execute_match(MatchSpec("m", pong.spec, (bot, still), 1)).stats[0][2] for bot in bots.values()
        ]
    assert distances[0] == 0
    assert distances[1] > 0


def test_nothing_of_a_run_that_was_left_comes_up_in_the_next(pong: Game) -> None:
    quick = new_game("pong", **QUICK)
    with SequentialMatchExecutor(8) as executor:
        first = executor.run(specs_of(quick, [("fast", "fast", n) for n in range(30)]))
        next(first)
        with pytest.raises(RingsideError, match="in the middle of another run"):
            next(executor.run([]))
        first.close()
        again = [result.id for result in executor.run([MatchSpec("z", quick.spec, (agent("fast"), agent("fast")), 1)])]
    assert again == ["z"]


def test_a_failing_agent_sends_few_innocent_matches_to_play_alone(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_records_tell_whether_a_match_is_repeatable(pong: Game) -> None:
    KINDS.add("moody", dataclasses.replace(pilots.row_kind("fast"), name="moody", repeatable=False))
    try:
        specs = [MatchSpec(n, pong.spec, (agent("fast"), agent(n)), 1, None, Limits(5)) for n in ("fast", "moody")]
        assert {name: result.repeatable for name, result in run(specs, 2).items()} == {"fast": True, "moody": False}
    finally:
        KINDS.remove("moody")


def test_a_seat_that_resigns_waits_for_the_others_answer(pong: Game) -> None:
    """Otherwise who is slow would decide whether one or two have resigned."""
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
