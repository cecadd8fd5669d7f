"""Advantages of trajectories, compared with values worked out transition by transition in plain Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from agents.training.advantages import estimate, margins
from engine.game import GameInfo
from engine.options import option
from engine.plain import PlainBoard, PlainGame
from engine.play.match import AgentSpec, MatchSpec
from engine.play.rollout import Rollout
from engine.play.rollout_columns import NO_CONTEST, TERMINATED, TRUNCATED, Trajectories
from engine.registry import KINDS
from tests.plugins import policies

for kind in policies.ALL:  # importing them registers them for rollout processes; here they are for single tests
    KINDS.remove(kind.name)

GAMMA, LAMBDA = 0.9, 0.7


def trajectories(rewards: Any, values: Any, acted: Any, ends: Any, bootstrap: Any = None) -> Trajectories:
    """One stream; rows are steps, columns seats."""
    columns = [np.array(column, np.float32)[None] for column in (rewards, values)]
    shape = columns[0].shape
    zeros = np.zeros(shape, np.float32)
    return Trajectories(
        obs=zeros[..., None],
        legal=None,
        actions=np.zeros(shape, np.int64),
        log_probs=zeros,
        values=columns[1],
        rewards=columns[0],
        acted=np.array(acted, np.bool_)[None],
        ends=np.array(ends, np.int8)[None],
        bootstrap=zeros if bootstrap is None else np.array(bootstrap, np.float32)[None],
        results=(),
    )


def by_hand(played: Trajectories, together: bool) -> dict[tuple[int, int, int], tuple[float, float]]:
    """Advantages and returns by stream, step and seat: first the list of a seat's transitions, then their sums."""
    found = {}
    streams, steps, seats = played.acted.shape
    for stream in range(streams):
        for seat in range(seats):
            chains: list[list[dict[str, Any]]] = [[]]  # transitions of a match, in order
            for step in range(steps):
                chain = chains[-1]
                if played.acted[stream, step, seat]:
                    if chain:
                        chain[-1]["next"] = float(played.values[stream, step, seat])
                    chain.append({"step": step, "reward": 0.0, "value": float(played.values[stream, step, seat])})
                if chain:
                    chain[-1]["reward"] += float(played.rewards[stream, step, seat])
                end = int(played.ends[stream, step])
                if end or step == steps - 1:
                    if chain and end == TERMINATED:
                        chain[-1]["next"] = 0.0
                    elif chain and end != NO_CONTEST and together:
                        chain[-1]["next"] = float(played.bootstrap[stream, step, seat])
                    chains.append([])
            for chain in chains:
                for first in range(len(chain)):
                    if "next" not in chain[first]:
                        continue
                    total = 0.0
                    for k, turn in enumerate(chain[first:]):
                        if "next" in turn:
                            total += (GAMMA * LAMBDA) ** k * (turn["reward"] + GAMMA * turn["next"] - turn["value"])
                    found[stream, chain[first]["step"], seat] = total, total + chain[first]["value"]
    return found


def assert_same(played: Trajectories, together: bool) -> None:
    got = estimate(played, played.rewards, GAMMA, LAMBDA, together=together)
    expected = by_hand(played, together)
    assert set(zip(*map(np.ndarray.tolist, np.nonzero(got.known)), strict=True)) == set(expected)
    for place, (advantage, target) in expected.items():
        assert got.advantages[place] == pytest.approx(advantage, abs=1e-5)
        assert got.returns[place] == pytest.approx(target, abs=1e-5)
    assert not got.advantages[~got.known].any()


def test_one_match_of_one_seat_gives_the_sums_of_the_paper() -> None:
    played = trajectories([[1.0], [0.0], [2.0]], [[0.5], [0.25], [1.0]], [[1], [1], [1]], [0, 0, TERMINATED])
    got = estimate(played, played.rewards, GAMMA, LAMBDA, together=True)
    third = 2.0 - 1.0
    second = 0.0 + 0.9 * 1.0 - 0.25 + 0.63 * third
    first = 1.0 + 0.9 * 0.25 - 0.5 + 0.63 * second
    assert got.advantages[0, :, 0].tolist() == pytest.approx([first, second, third], abs=1e-6)
    assert got.returns[0, :, 0].tolist() == pytest.approx([first + 0.5, second + 0.25, third + 1.0], abs=1e-6)


def test_a_truncated_match_goes_on_in_its_value_and_a_terminated_one_does_not() -> None:
    for end, future in ((TERMINATED, 0.0), (TRUNCATED, 0.9 * 4.0)):
        bootstrap = [[0.0 if end == TERMINATED else 4.0]]
        played = trajectories([[1.0]], [[0.5]], [[1]], [end], bootstrap)
        got = estimate(played, played.rewards, GAMMA, LAMBDA, together=True)
        assert float(got.advantages[0, 0, 0]) == pytest.approx(1.0 + future - 0.5)


def test_rewards_between_two_turns_of_a_seat_are_summed() -> None:
    """Two seats in turn; the second seat's winning step costs the first one a point after its own last turn."""
    played = trajectories(
        [[0, 0], [0.5, 0], [0, 0], [-1, 1]],
        [[0.1, 0], [0, 0.2], [0.3, 0], [0, 0.4]],
        [[1, 0], [0, 1], [1, 0], [0, 1]],
        [0, 0, 0, TERMINATED],
    )
    got = estimate(played, played.rewards, GAMMA, LAMBDA, together=False)
    last = -1.0 - 0.3
    assert got.advantages[0, :, 0].tolist() == pytest.approx([0.5 + 0.9 * 0.3 - 0.1 + 0.63 * last, 0, last, 0])
    assert got.known[0].tolist() == [[True, False], [False, True], [True, False], [False, True]]


def test_a_turn_whose_next_turn_is_not_there_only_serves_as_the_future_of_earlier_ones() -> None:
    played = trajectories(
        [[0, 0], [0, 0], [0, 0]],
        [[0.1, 0], [0, 0.2], [0.3, 0]],
        [[1, 0], [0, 1], [1, 0]],
        [0, 0, 0],
        [[0, 0], [0, 0], [9.0, 9.0]],  # the values of observations at which it may not be the seat's turn
    )
    got = estimate(played, played.rewards, GAMMA, LAMBDA, together=False)
    assert got.known[0].tolist() == [[True, False], [False, False], [False, False]]
    assert float(got.advantages[0, 0, 0]) == pytest.approx(0.9 * 0.3 - 0.1)


def test_a_seat_that_has_left_learns_from_its_end_although_the_match_continues() -> None:
    """The second seat leaves at the second of three steps. The first one still acts after the segment."""
    played = trajectories(
        [[0, 0], [1.0, -3.0], [0, 0]],
        [[0.5, 0.25], [0.5, 1.5], [0.25, 0]],
        [[1, 1], [1, 1], [1, 0]],
        [0, 0, 0],
        [[0, 0], [0, 0], [2.0, 0]],
    )
    got = estimate(played, played.rewards, GAMMA, LAMBDA, together=True)
    third = 0.0 + 0.9 * 2.0 - 0.25
    second = 1.0 + 0.9 * 0.25 - 0.5 + 0.63 * third
    assert got.advantages[0, :, 0].tolist() == pytest.approx([0.9 * 0.5 - 0.5 + 0.63 * second, second, third], abs=1e-6)
    end = -3.0 - 1.5
    assert got.advantages[0, :2, 1].tolist() == pytest.approx([0.9 * 1.5 - 0.25 + 0.63 * end, end], abs=1e-6)
    assert got.known[0].tolist() == [[True, True], [True, True], [True, False]]


class LeaversBoard(PlainBoard):
    """Seat 0 acts in two steps, seat 1 in four, seat 2 in seven. Each step gives a point to every seat that acts."""

    def __init__(self, end: int) -> None:
        self._step, self._scores, self._end = 0, [0.0, 0.0, 0.0], end
        self.truncated = False

    def acting(self) -> list[int]:
        return [seat for seat, last in enumerate((2, 4, 7)) if self._step < last and not self.truncated]

    def play(self, actions: Mapping[int, int]) -> None:
        self._step += 1
        for seat in actions:
            self._scores[seat] += 1.0
        self.truncated = self._step == self._end

    def scores(self) -> Sequence[float]:
        return self._scores

    def observe(self, seat: int) -> list[float]:
        return [1.0 + self._step]


@dataclass(frozen=True)
class LeaversOptions:
    end: int = option(0, low=0, high=9, help="step at which the rules cut the match off; 0: none")


class Leavers(PlainGame):
    name, version, Options = "leavers", 1, LeaversOptions
    info = GameInfo(title="Leavers", seats=3, actions=2, observation=(1,), together=True)

    def new(self, seed: int, start: str | None) -> LeaversBoard:
        return LeaversBoard(self.options.end)


@pytest.mark.parametrize(
    ("end", "steps", "acts", "future"),
    [
        (0, 3, (2, 3, 3), (0.0, 4.0, 4.0)),  # seat 0 has left; the match continues
        (0, 4, (2, 4, 4), (0.0, 0.0, 5.0)),  # seat 1 leaves in the last step of the segment
        (0, 7, (2, 4, 7), (0.0, 0.0, 0.0)),  # the match ends
        (3, 3, (2, 3, 3), (0.0, 4.0, 4.0)),  # the rules cut it off
    ],
)
def test_the_future_of_a_seat_is_the_value_of_its_next_turn_and_nothing_after_it_has_left(
    end: int, steps: int, acts: tuple[int, ...], future: tuple[float, ...]
) -> None:
    """The policy values an observation at its mean: 1 and the number of steps so far."""
    game = Leavers(LeaversOptions(end))
    player = AgentSpec("me", policies.PYTHON.name)
    plan = lambda stream, k: MatchSpec(f"{stream}.{k}", game.spec, (player,) * 3, k)  # noqa: E731
    KINDS.add(policies.PYTHON.name, policies.PYTHON)
    try:
        with Rollout(game, [0], plan) as rollout:
            played = rollout.collect(steps)
    finally:
        KINDS.remove(policies.PYTHON.name)
    got = estimate(played, played.rewards, GAMMA, 0.0, together=True)
    assert played.bootstrap[0, -1].tolist() == list(future)
    for seat, count in enumerate(acts):
        assert got.known[0, :, seat].tolist() == [step < count for step in range(steps)]
        for step in range(count):
            following = step + 2.0 if step + 1 < count else future[seat]
            assert got.returns[0, step, seat] == pytest.approx(1.0 + GAMMA * following), (seat, step)


@pytest.mark.parametrize("together", [True, False])
def test_random_trajectories_agree_with_the_sums_by_hand(together: bool) -> None:
    draws = np.random.default_rng(7)
    for _ in range(20):
        shape = (3, 17, 2)
        acted = np.ones(shape, np.bool_) if together else np.zeros(shape, np.bool_)
        if not together:
            turn = draws.integers(0, 2, shape[:2])  # not strictly alternating
            np.put_along_axis(acted, turn[..., None], True, axis=2)
        ends = draws.choice([0, 0, 0, 0, TERMINATED, TRUNCATED, NO_CONTEST], shape[:2]).astype(np.int8)
        cut = (ends == TRUNCATED) | ((ends == 0) & (np.arange(17) == 16))
        floats = draws.normal(size=(3, *shape)).astype(np.float32)
        played = Trajectories(
            obs=np.zeros((*shape, 1), np.float32),
            legal=None,
            actions=np.zeros(shape, np.int64),
            log_probs=np.zeros(shape, np.float32),
            values=floats[0] * acted,
            rewards=floats[1],
            acted=acted,
            ends=ends,
            bootstrap=floats[2] * cut[..., None],
            results=(),
        )
        assert_same(played, together)


def test_margins_of_all_seats_add_up_to_zero() -> None:
    rewards = np.array([[[1.0, 0.0], [0.5, 0.5]]], np.float32)
    assert margins(rewards).tolist() == [[[1.0, -1.0], [0.0, 0.0]]]
    four = margins(np.array([[[3.0, 0.0, 0.0, 0.0]]], np.float32))
    assert four[0, 0].tolist() == [3.0, -1.0, -1.0, -1.0]
