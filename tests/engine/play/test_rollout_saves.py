"""Running matches can be saved: a rollout that continues them gives the same trajectories to the bit."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.errors import BadSpec, BadValue, PolicyFailed, RingsideError
from engine.play.match import AgentSpec, MatchSpec
from engine.play.rollout import Rollout, Trajectories
from engine.play.rollout_plans import NamedPlan, read_settings, write_settings
from engine.play.rollout_process import RolloutProcess
from engine.play.rollout_saves import joined_saves, unpack
from engine.processes.channel import HEADER, frame
from engine.registry import GAMES, KINDS, game_of
from tests.engine.play.dense import spread
from tests.engine.play.test_rollout_ticks import assert_same
from tests.plugins import nets, opponents, plans, policies

NAMES = ["pong", "treasure-hunt", "stones"]
OTHERS = ["me", "frozen", "Recurrent", "remembering", "Dice"]
PLAN = "tests.plugins.opponents:against"
PLUGINS = ["tests.plugins.opponents"]
KINDS_HERE = (*policies.ALL, opponents.REMEMBERING)


for kind in KINDS_HERE:  # importing them registers them for rollout processes; here they are for these tests alone
    KINDS.remove(kind.name)


@pytest.fixture(autouse=True, scope="module")
def registered() -> Iterator[None]:
    GAMES.add("stones", plans.stones.Stones)
    for kind in KINDS_HERE:
        KINDS.add(kind.name, kind)
    yield
    for kind in KINDS_HERE:
        KINDS.remove(kind.name)


def settings_of(name: str, others: Sequence[str] = OTHERS) -> dict[str, Any]:
    return {"game": name, "seats": game_of(plans.game_spec(name)).info.seats, "others": list(others)}


class Run:
    """A rollout whose learning agent gets new weights and whose plan gets other opponents after each segment."""

    def __init__(self, name: str, learner: str = nets.KIND.name, streams: Sequence[int] = range(4)) -> None:
        self.name, self.learner, self.streams, self.played = name, learner, streams, 0
        self.game = game_of(plans.game_spec(name))

    def agents(self) -> dict[str, AgentSpec]:
        return opponents.agents_of(self.name, self.learner, 7 + self.played)

    def plan(self) -> NamedPlan:
        plan = NamedPlan(PLAN, self.settings())
        plan.agents.update(self.agents())
        return plan

    def settings(self) -> dict[str, Any]:
        return settings_of(self.name, OTHERS[self.played % 3 :])

    def rollout(self, saved: bytes | None = None, streams: Sequence[int] | None = None, **options: bool) -> Rollout:
        plan = self.plan()
        own = self.streams if streams is None else streams
        return Rollout(self.game, own, plan, ["me"], agents=plan.agents, saved=saved, **options)

    def collect(self, rollout: Rollout, steps: int) -> Trajectories:
        segment = rollout.collect(steps)
        self.played += 1
        plan = rollout._plan
        assert isinstance(plan, NamedPlan)
        plan.agents.update(self.agents())
        if self.learner == nets.KIND.name:
            rollout.replace(plan.agents["me"])
        plan.configure(self.settings())
        return segment


def whole(name: str, learner: str, steps: Sequence[int], **options: bool) -> tuple[list[Trajectories], list[bytes]]:
    """Segments without interruption, and the saved matches after each."""
    run = Run(name, learner)
    with run.rollout(**options) as rollout:
        pairs = [(run.collect(rollout, count), rollout.save()) for count in steps]
    return [segment for segment, _ in pairs], [saved for _, saved in pairs]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(NAMES),
    st.sampled_from([nets.KIND.name, policies.PYTHON.name]),
    st.lists(st.integers(1, 60), min_size=2, max_size=4),
    st.data(),
)
def test_restored_matches_continue_to_the_bit(name: str, learner: str, steps: list[int], data: st.DataObject) -> None:
    expected, saves = whole(name, learner, steps)
    cut = data.draw(st.integers(1, len(steps) - 1))
    compiled = data.draw(st.booleans())
    run = Run(name, learner)
    run.played = cut
    order = data.draw(st.permutations(range(4)))
    edges = sorted({0, 4, *data.draw(st.lists(st.integers(1, 3), max_size=2))})
    for first, last in itertools.pairwise(edges):  # in parts, with the streams in any order
        own = order[first:last]
        part = Run(name, learner, own)
        part.played = cut
        with part.rollout(saves[cut - 1], compiled=compiled) as rollout:
            assert rollout.save() == joined_saves([saved_streams(saves[cut - 1], run.game, own)], run.game)
            found = [part.collect(rollout, count) for count in steps[cut:]]
        for one, other in zip(map(spread, expected[cut:]), map(spread, found), strict=True):
            for column, a, b in zip(one._fields[:-1], one[:-1], other[:-1], strict=True):
                assert a is b is None or a[own].tobytes() == b.tobytes(), column
            results = [result for stream in own for result in one.results if result.id.startswith(f"{stream}.")]
            assert [result.digest() for result in results] == [result.digest() for result in other.results]
            assert [result.stats for result in results] == [result.stats for result in other.results]


def saved_streams(saved: bytes, game: Any, streams: Sequence[int]) -> bytes:
    """The saved matches of these streams alone."""
    state = unpack(saved, game)
    known = {stream.stream: stream for stream in state.streams}
    return replace(state, streams=tuple(known[stream] for stream in streams)).pack()


@pytest.mark.parametrize("name", NAMES)
def test_compiled_and_ticked_rollouts_save_the_same_bytes(name: str) -> None:
    compiled, ticked = (whole(name, nets.KIND.name, [17, 30, 1], compiled=marching) for marching in (True, False))
    assert_same(compiled[0], ticked[0])
    assert compiled[1] == ticked[1]


def test_a_long_match_has_room_for_its_actions() -> None:
    game = game_of(plans.new_game("pong", points=9, step_limit=100_000).spec)
    me = nets.agent("me", game, [8], 1)
    plan = lambda stream, k: MatchSpec(f"{stream}.{k}", game.spec, (me, me), 1)  # noqa: E731
    with Rollout(game, range(2), plan) as rollout:
        for _ in range(5):
            rollout.collect(700)
        saved, expected = rollout.save(), rollout.collect(900)
    with Rollout(game, range(2), plan, saved=saved) as rollout:
        assert_same([rollout.collect(900)], [expected])


def test_saved_matches_of_a_new_rollout_are_its_first_ones() -> None:
    run = Run("stones")
    with run.rollout() as rollout:
        saved, expected = rollout.save(), rollout.collect(20)
    with run.rollout(saved) as rollout:
        assert_same([rollout.collect(20)], [expected])


def test_players_that_the_rollout_was_not_given_are_saved_with_their_matches() -> None:
    run = Run("pong")
    agents = run.agents()
    plan = lambda stream, k: opponents.against(agents, stream, k, **settings_of("pong"))  # noqa: E731
    with Rollout(run.game, run.streams, plan) as rollout:
        rollout.collect(30)
        saved, expected = rollout.save(), rollout.collect(50)
    with Rollout(run.game, run.streams, plan, saved=saved) as rollout:
        assert_same([rollout.collect(50)], [expected])


def saved_run(steps: int = 12) -> tuple[Run, bytes]:
    """After so many steps, all opponents are in running matches."""
    run = Run("pong", streams=range(16))
    with run.rollout() as rollout:
        run.collect(rollout, steps)
        return run, rollout.save()


def test_a_player_that_is_missing_is_named() -> None:
    run, saved = saved_run()
    plan = run.plan()
    for id in ("frozen", "Recurrent"):
        agents = {name: agent for name, agent in plan.agents.items() if name != id}
        with pytest.raises(
            BadSpec, match=f"saved match '.*': its player '{id}', of kind '.*', is not among the agents"
        ):
            Rollout(run.game, run.streams, plan, ["me"], agents=agents, saved=saved)


def test_a_player_that_has_changed_is_named() -> None:
    run, saved = saved_run()
    plan = run.plan()
    for other in (nets.agent("frozen", run.game, [8], 4), opponents.recurrent(run.game, 2)):
        agents = {**plan.agents, other.id: other}
        with pytest.raises(BadSpec, match=f"their player '{other.id}' has changed since they were saved"):
            Rollout(run.game, run.streams, plan, ["me"], agents=agents, saved=saved)


def test_a_player_that_answers_differently_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    run, saved = saved_run()
    monkeypatch.setitem(opponents.row_kind.__globals__["ANSWERS"], "remembering", lambda state, views, row: 1)
    with pytest.raises(PolicyFailed, match=r"match '.*', step \d+: 'remembering' answers 1, but answered [02] before"):
        run.rollout(saved)


def changed(saved: bytes, change: Any) -> bytes:
    """Saved matches with other fields and another body."""
    line, _ = HEADER.unpack_from(saved)
    fields = json.loads(saved[HEADER.size : HEADER.size + line])
    body = bytearray(saved[HEADER.size + line :])
    change(fields, body)
    return frame(fields, bytes(body))


def running(fields: list[Any]) -> list[Any]:
    return next(stream for stream in fields[4] if len(stream) > 2)


DAMAGES: dict[str, tuple[Any, str]] = {
    "short": (lambda fields, body: body.pop(), "damaged"),
    "long": (lambda fields, body: body.append(1), "damaged"),
    "word": (lambda fields, body: fields.__setitem__(0, "other"), "damaged"),
    "format": (lambda fields, body: fields.__setitem__(1, 9), "format 9; this version of Ringside reads format 1"),
    "game": (lambda fields, body: fields[2].__setitem__(0, "shogi"), "are of shogi .*, but the rollout plays"),
    "player": (lambda fields, body: fields[3][0].__setitem__(0, 3), "damaged"),
    "seat": (lambda fields, body: running(fields)[6].__setitem__(0, 99), "damaged"),
    "seats": (lambda fields, body: running(fields)[6].pop(), "needs 2 players"),
    "seed": (lambda fields, body: running(fields).__setitem__(3, -1), "seed = -1"),
    "limit": (lambda fields, body: running(fields).__setitem__(5, 3), "it has ended, but it was saved as a running"),
    "action": (lambda fields, body: body.__setitem__(-1, 3), "it has the action 3, which is not legal"),
    "stream": (lambda fields, body: fields[4][0].__setitem__(0, 77), "have no stream 0"),
}


@pytest.mark.parametrize("how", DAMAGES)
def test_damaged_saves_are_refused(how: str) -> None:
    run, saved = saved_run()
    change, message = DAMAGES[how]
    with pytest.raises(BadSpec, match=message):
        run.rollout(changed(saved, change))


@pytest.mark.parametrize("data", [b"", b"x" * 7, b"\x05\0\0\0\0\0\0\0[[[[["])
def test_anything_else_is_refused(data: bytes) -> None:
    with pytest.raises(BadSpec, match="damaged, or were not saved by a rollout"):
        Run("pong").rollout(data)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 255))
def test_no_byte_of_a_save_can_do_harm(at: int, value: int) -> None:
    """Damaged saves are refused, or lead to matches that can be played."""
    saved = SAVED.setdefault("stones", whole("stones", nets.KIND.name, [5])[1][0])
    damaged = bytearray(saved)
    damaged[at % len(saved)] = value
    try:
        with Run("stones").rollout(bytes(damaged)) as rollout:
            rollout.collect(8)
    except RingsideError:
        pass


SAVED: dict[str, bytes] = {}


def processes(run: Run, shares: Sequence[Sequence[int]], saved: bytes | None = None) -> list[RolloutProcess]:
    def start(share: Sequence[int]) -> RolloutProcess:
        return RolloutProcess(
            run.game.spec, share, PLAN, run.agents().values(), settings=run.settings(), learners=["me"],
            plugins=PLUGINS, saved=saved,
        )  # fmt: skip

    return [start(share) for share in shares]


def test_rollout_processes_save_and_continue_what_a_rollout_does() -> None:
    steps = [25, 40]
    expected, saves = whole("pong", nets.KIND.name, steps)
    run = Run("pong")
    parts = processes(run, [[0], [1, 2, 3]])
    try:
        first = [part.collect(steps[0]) for part in parts]
        run.played = 1
        for part in parts:
            part.replace(run.agents()["me"])
            part.configure(run.settings())
        assert joined_saves([part.save() for part in parts], run.game) == saves[0]
    finally:
        for part in parts:
            part.close()
    assert sum(len(segment.results) for segment in first) == len(expected[0].results)
    (alone,) = processes(run, [[3, 2]], saves[0])
    with alone:
        assert alone.save() == saved_streams(saves[0], run.game, [3, 2])
        second = alone.collect(steps[1])
    assert second.actions.tobytes() == expected[1].actions[[3, 2]].tobytes()
    assert second.rewards.tobytes() == expected[1].rewards[[3, 2]].tobytes()


def test_a_process_that_cannot_restore_says_so_at_every_call() -> None:
    run = Run("pong")
    (rollout,) = processes(run, [[0]], b"nothing")
    with rollout:
        for call in (rollout.save, lambda: rollout.collect(3), rollout.save):
            with pytest.raises(BadSpec, match="damaged"):
                call()
        rollout.begin(1)
        with pytest.raises(RingsideError, match="call `receive` first"):
            rollout.save()


@pytest.mark.parametrize("value", [{"a": {1, 2}}, b"x"])
def test_settings_of_plans_are_json(value: object) -> None:
    with pytest.raises(BadValue, match=r"settings = .*: must be numbers, texts, lists, dicts and GameSpecs"):
        NamedPlan(PLAN, {"value": value})
    with pytest.raises(BadValue, match="settings = "):
        Run("pong").plan().configure({"value": value})


def test_settings_are_the_same_in_every_process() -> None:
    game = plans.game_spec("treasure-hunt")
    given = {"game": game, "pair": (1, 2.5), "games": [{"one": game}]}
    assert read_settings(write_settings(given)) == {**given, "pair": [1, 2.5]}
