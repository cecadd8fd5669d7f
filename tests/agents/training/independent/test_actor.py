"""The actor: the same turns for one call and for many, the same matches as in a league, agents that leave early."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from agents.nets.architecture import Architecture
from agents.nets.network import Network
from agents.nets.pilot import agent
from agents.training.independent.actor import NO_ACTION, Actor
from agents.training.independent.ends import End
from agents.training.independent.exploration import draws, explore, starts_of
from agents.training.matchmaking import ready_bots
from engine.errors import BadValue, PolicyFailed
from engine.game import Game, GameInfo
from engine.plain import PlainBoard, PlainGame
from engine.play.executors import SequentialMatchExecutor
from engine.play.match import AgentSpec, GameSpec, MatchSpec
from engine.play.pilots import PilotPool
from engine.registry import new_game
from engine.seeding import bits, purpose
from tests.engine.games.relay_env import RelayGame

HUNT = new_game("treasure-hunt", seats=3, turns=12)
PONG = new_game("pong", points=1, step_limit=150)
SEEDS = np.array([5, 6, 2**64 - 1, 8], np.uint64)


def network(game: Game, name: str, seed: int, hidden: int = 8) -> AgentSpec:
    architecture, rng = Architecture(hidden=(hidden,)), np.random.default_rng(seed)
    shapes = architecture.shapes(game.info.observation, game.info.actions)
    tensors = {key: rng.standard_normal(shape).astype(np.float32) for key, shape in shapes.items()}
    return agent(name, Network(game.spec.name, game.info.observation, game.info.actions, architecture, tensors))


def played(actor: Actor, epsilons: Any = (), seeds: Any = SEEDS) -> list[tuple[Any, ...]]:
    actor.begin(seeds, epsilons)
    turns = []
    while actor.running:
        obs, *rest = actor.take_turn()
        turns.append((np.array(obs), *(array.copy() for array in rest)))
    return turns


def test_draws_are_those_of_the_engine() -> None:
    seats, plies = np.array([0, 3, 9, 1], np.uint32), np.array([0, 7, 2**32 - 1, 12], np.uint32)
    for k in (0, 1, 5):
        found = draws(starts_of(SEEDS, purpose("x")), seats, plies, k).tolist()
        places = zip(SEEDS.tolist(), seats.tolist(), plies.tolist(), strict=True)
        assert found == [bits(seed, purpose("x"), seat, ply, k) for seed, seat, ply in places]


def test_exploration_has_the_given_share_and_draws_all_actions_equally() -> None:
    count, actions = 40_000, np.full(40_000, 9, np.int64)
    plies, starts = np.arange(count, dtype=np.uint32), np.repeat(starts_of(SEEDS[:1]), count)
    explore(actions, starts, plies * 0, plies, np.full(count, 0.3), 4)
    shares = [float(np.mean(actions == action)) for action in (0, 1, 2, 3, 9)]
    assert shares == pytest.approx([0.075, 0.075, 0.075, 0.075, 0.7], abs=0.01)


@pytest.mark.parametrize("game", [HUNT, PONG], ids=lambda game: game.spec.name)
def test_one_call_for_all_agents_gives_the_same_turns_as_one_for_each(game: Game) -> None:
    players = [network(game, f"agent {k}", k, 8 + 8 * (k % 2)) for k in range(game.info.seats)]
    runs = []
    for together in (False, True):
        with Actor(game, players, range(game.info.seats), 4, together=together) as actor:
            runs.append([played(actor, [0.3] * game.info.seats), actor.scores.tolist()])
    (first, scores), (other, others) = runs
    assert scores == others
    assert len(first) == len(other) > 5
    for mine, theirs in zip(first, other, strict=True):
        for left, right in zip(mine, theirs, strict=True):
            np.testing.assert_array_equal(left, right)


def test_matches_without_exploration_are_those_of_a_league() -> None:
    bots = ready_bots(HUNT, "Magpie,Drifter")
    players = (network(HUNT, "Ada", 1), *bots)
    specs = [MatchSpec(f"m{k}", HUNT.spec, players, seed, None) for k, seed in enumerate(SEEDS.tolist())]
    with SequentialMatchExecutor(4) as executor:
        results = executor.execute_matches(specs)
    with Actor(HUNT, players, [0], 4, together=True) as actor:
        turns = played(actor)
        assert actor.scores.tolist() == [list(result.scores) for result in results]
    rewards = sum(turn[2] for turn in turns)
    assert rewards[0].tolist() == [result.scores[0] for result in results], "rewards add up to the score"
    assert [turn[3][0].tolist() for turn in turns] == [[End.NONE] * 4] * 11 + [[End.TERMINATED] * 4]


def test_rewards_have_a_scale_and_may_count_statistics() -> None:
    players = [network(HUNT, f"agent {k}", k) for k in range(3)]
    with Actor(HUNT, players, range(3), 4, together=True, rewards={"bumps": -2.0}, reward_scale=0.1) as actor:
        turns = played(actor, [0.5] * 3)
        bumps = actor.boards.stats(np.arange(4, dtype=np.uint32))[:, :, HUNT.info.stats.index("bumps")]
        expected = 0.1 * (actor.scores - 2.0 * bumps)
    assert bumps.any()
    np.testing.assert_allclose(sum(turn[2] for turn in turns), expected.T, rtol=1e-5)


def test_a_limit_truncates_matches() -> None:
    players = [network(HUNT, f"agent {k}", k) for k in range(3)]
    with Actor(HUNT, players, range(3), 4, together=True, match_steps=5) as actor:
        turns = played(actor)
    assert len(turns) == 5
    assert (turns[-1][3] == End.TRUNCATED).all()
    assert not any(turn[3].any() for turn in turns[:-1])


@pytest.mark.parametrize("together", [False, True])
def test_an_agent_that_leaves_a_match_early_has_ended_and_acts_no_more(together: bool) -> None:
    game = RelayGame(RelayGame.Options())
    players = [network(game, f"agent {k}", k) for k in range(3)]
    with Actor(game, players, range(3), 2, together=together) as actor:
        turns = played(actor, [0.5] * 3, SEEDS[:2])
    ends = np.array([turn[3] for turn in turns])[:, :, 0]  # [turns, agents] of the first lane
    assert [np.flatnonzero(ends[:, seat]).tolist() for seat in range(3)] == [[6], [7], [8]]
    actions = np.array([turn[1] for turn in turns])
    assert [int((actions[:, seat] != NO_ACTION).sum()) for seat in range(3)] == [14, 16, 18]
    for seat in range(3):
        idle = actions[:, seat] == NO_ACTION
        seen = np.array([turn[0][seat] for turn in turns])
        assert not seen[idle].any()
        np.testing.assert_array_equal(np.array([turn[2][seat] for turn in turns])[~idle], actions[:, seat][~idle])


class OddBoard(PlainBoard):
    """Only odd actions are legal in odd turns, only even ones in even turns."""

    def __init__(self) -> None:
        self.played: list[dict[int, int]] = []

    def acting(self) -> list[int]:
        return [] if len(self.played) == 40 else [0, 1]

    def play(self, actions: Mapping[int, int]) -> None:
        assert all(action in self.legal(seat) for seat, action in actions.items())
        self.played.append(dict(actions))

    def scores(self) -> list[float]:
        return [float(sum(turn[seat] for turn in self.played)) for seat in (0, 1)]

    def observe(self, seat: int) -> list[float]:
        return [float(len(self.played)), float(seat)]

    def legal(self, seat: int) -> list[int]:
        return [action for action in range(5) if action % 2 == len(self.played) % 2]


class OddGame(PlainGame):
    name, version, Options = "odd", 1, SimpleNamespace
    info = GameInfo("Odd", 2, 5, (2,), simultaneous=True, masked=True)

    def __init__(self) -> None:
        self.options, self.spec = None, GameSpec("odd", 1, ())

    def new(self, seed: int, start: str | None) -> OddBoard:
        return OddBoard()


@pytest.mark.parametrize("together", [False, True])
def test_illegal_actions_are_replaced_and_remembered_as_they_were_drawn(together: bool) -> None:
    game = OddGame()
    with Actor(game, [network(game, f"agent {k}", k) for k in (0, 1)], [0, 1], 4, together=together) as actor:
        turns = played(actor, [0.5, 0.0])
    for ply, (_, actions, rewards, _) in enumerate(turns):
        assert (actions[1] % 2 == ply % 2).all(), "without exploration only legal actions are chosen"
        legal = [action for action in range(5) if action % 2 == ply % 2]
        executed = [action if action in legal else legal[action % len(legal)] for action in actions[0].tolist()]
        assert rewards[0].tolist() == executed
    assert any((turn[1][0] % 2 != ply % 2).any() for ply, turn in enumerate(turns)), "some draws were illegal"


def test_a_frozen_agent_that_fails_is_named() -> None:
    with pytest.raises(BadValue, match=r"'You'.*plays treasure-hunt without a person"):
        Actor(HUNT, [AgentSpec("You", "human")] * 3, [], 1, together=True)
    broken = network(HUNT, "Broken", 1)
    with Actor(HUNT, [broken] * 3, [0], 1, together=True) as actor:
        actor.begin(SEEDS[:1])
        actor._seats[0][0].pilot._weights.fill(np.nan)  # type: ignore[attr-defined]
        with pytest.raises(PolicyFailed, match="Broken"):
            actor.take_turn()


def test_all_pilots_are_closed_although_one_fails_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    [magpie] = ready_bots(HUNT, "Magpie")
    closed: list[object] = []
    actor = Actor(HUNT, [network(HUNT, "Ada", 1), magpie, magpie], [0], 1, together=True)
    kinds = len(list(actor._pilots))
    monkeypatch.setattr(PilotPool, "close", lambda pool, loaded: closed.append(loaded))
    actor.begin(SEEDS[:1])

    def fail(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(actor._groups[0].loaded.pilot, "end", fail)
    with pytest.raises(PolicyFailed, match="Ada"):
        actor.close()
    assert len(closed) == kinds == 2
