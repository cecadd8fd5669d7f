"""Who plays whom in training, and that frozen snapshots stay frozen."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from agents.training.selfplay.opponents import (
    BOT,
    LEAGUE,
    LEARNER,
    SAMPLING,
    SNAPSHOT,
    Opponent,
    OpponentPool,
    match,
    priorities,
)
from engine.play.match import AgentSpec, Ending, EndingKind, MatchResult
from engine.registry import new_game

GAME = new_game("pong")
GAME_FIELDS = (GAME.spec.name, GAME.spec.version, GAME.spec.options)


def spec(id: str) -> AgentSpec:
    return AgentSpec(id, "net", id.encode())


def result(id: str, players: tuple[str, ...], ranks: tuple[int, ...], kind: EndingKind = EndingKind.FINISHED) -> Any:
    return MatchResult(id, players, tuple(map(float, ranks)), ranks, 10, Ending(kind), (), b"")


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        ("squared", [0.7570, 0.2336, 0.0093]),
        ("variance", [0.2093, 0.5814, 0.2093]),
        ("linear", [0.6, 0.3333, 0.0667]),
        ("capped", [0.4545, 0.4545, 0.0909]),
    ],
)
def test_opponents_have_the_published_chances(sampling: str, expected: list[float]) -> None:
    assert priorities([0.1, 0.5, 0.9], sampling) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize("sampling", SAMPLING)
def test_where_all_weights_vanish_all_opponents_are_drawn_alike(sampling: str) -> None:
    assert priorities([1.0, 1.0, 1.0], sampling) == pytest.approx([1 / 3] * 3)


def test_old_matches_against_an_opponent_count_less() -> None:
    snapshot = Opponent(spec("snapshot 1"))
    assert snapshot.share == 0.5
    for points in (0.0, 1.0, 1.0):
        snapshot.count(points)
    assert snapshot.games == pytest.approx(1 + 0.99 + 0.99**2)
    assert snapshot.share == pytest.approx((1 + 0.99) / (1 + 0.99 + 0.99**2))


def test_results_count_for_the_opponents_that_the_network_met() -> None:
    pool = OpponentPool()
    pool.add(SNAPSHOT, "20", spec("a"))
    pool.add(BOT, "Tracker", spec("b"))
    points = pool.count(
        [
            result("0.0", (LEARNER, "snapshot 20"), (1, 2)),
            result("0.1", ("snapshot 20", LEARNER), (1, 2)),
            result("1.0", ("bot Tracker", LEARNER), (1, 1)),
            result("1.1", (LEARNER, LEARNER), (1, 2)),
            result("2.0", ("bot Tracker", LEARNER), (1, 2), EndingKind.CANCELLED),
        ]
    )
    assert points == {"snapshot 20": [1.0, 0.0], "bot Tracker": [0.5]}
    assert pool.members["bot Tracker"].games == 1.0


def test_a_network_on_several_seats_gets_the_mean_of_their_points() -> None:
    pool = OpponentPool()
    pool.add(BOT, "Dice", spec("d"))
    players = (LEARNER, LEARNER, "bot Dice", "bot Dice")
    assert pool.count([result("0.0", players, (1, 3, 2, 4))]) == {"bot Dice": [0.5, 1.0]}


def test_the_oldest_snapshots_leave_and_stay_known_while_a_match_may_need_them() -> None:
    pool = OpponentPool()
    pool.add(LEAGUE, "Ada", spec("ada"))
    for k in range(3):
        pool.add(SNAPSHOT, str(k), spec(f"s{k}"))
    pool.retire(1, range(2))
    assert list(pool.members) == ["league Ada", "snapshot 2"]
    assert [agent.id for agent in pool.agents] == ["league Ada", "snapshot 2", "snapshot 0", "snapshot 1"]
    pool.count([result("0.4", (LEARNER, "snapshot 0"), (1, 2)), result("0.5", (LEARNER, LEARNER), (1, 2))])
    assert len(pool.agents) == 4, "the match of stream 1 may still be against them"
    pool.count([result("1.9", (LEARNER, LEARNER), (1, 2))])
    assert [agent.id for agent in pool.agents] == ["league Ada", "snapshot 2"]


def test_matches_are_a_function_of_the_plan_and_seats_alternate() -> None:
    agents = {id: spec(id) for id in (LEARNER, "snapshot 1", "snapshot 2", "bot Lazy")}
    settings: Any = {"game": GAME_FIELDS, "seats": 2, "seed": 5, "steps": 300, "self_share": 0.5, "bot_share": 0.2}
    settings |= {"bots": [["bot Lazy", 1.0]], "pool": [["snapshot 1", 0.75], ["snapshot 2", 0.25]]}
    drawn: Counter[str] = Counter()
    seats: Counter[int] = Counter()
    for stream in range(40):
        for k in range(50):
            drawn_match = match(agents, stream, k, **settings)
            assert drawn_match == match(agents, stream, k, **settings)
            assert drawn_match.limits.steps == 300
            players = [player.id for player in drawn_match.players]
            assert LEARNER in players
            other = next((id for id in players if id != LEARNER), LEARNER)
            drawn[other] += 1
            if other != LEARNER:
                seats[players.index(LEARNER)] += 1
    assert drawn[LEARNER] / 2000 == pytest.approx(0.5, abs=0.04)
    assert drawn["bot Lazy"] / 2000 == pytest.approx(0.2, abs=0.04)
    assert drawn["snapshot 1"] / (drawn["snapshot 1"] + drawn["snapshot 2"]) == pytest.approx(0.75, abs=0.06)
    assert seats[0] / seats.total() == pytest.approx(0.5, abs=0.05)
    assert len({match(agents, stream, k, **settings).seed for stream in range(40) for k in range(50)}) == 2000


def test_without_opponents_the_network_plays_itself() -> None:
    settings: Any = {"game": GAME_FIELDS, "seats": 2, "seed": 5, "steps": 0, "self_share": 0.0, "bot_share": 0.0}
    drawn_match = match({LEARNER: spec(LEARNER)}, 0, 0, **settings, bots=[], pool=[])
    assert [player.id for player in drawn_match.players] == [LEARNER, LEARNER]
    assert drawn_match.limits.steps is None
