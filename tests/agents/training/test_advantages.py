"""Advantages of trajectories, compared with values worked out transition by transition in plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from agents.training.advantages import estimate, margins
from engine.play.rollout_columns import NO_CONTEST, TERMINATED, TRUNCATED, Trajectories

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


def by_hand(played: Trajectories, simultaneous: bool) -> dict[tuple[int, int, int], tuple[float, float]]:
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
                    elif chain and end != NO_CONTEST and simultaneous:
                        chain[-1]["next"] = float(played.bootstrap[stream, step, seat])
                    chains.append([])
            for chain in chains:
                for first in range(len(chain)):
                    if "next" not in chain[first]:
                        continue
                    total = 0.0
                    for k, one in enumerate(chain[first:]):
                        if "next" in one:
                            total += (GAMMA * LAMBDA) ** k * (one["reward"] + GAMMA * one["next"] - one["value"])
                    found[stream, chain[first]["step"], seat] = total, total + chain[first]["value"]
    return found


def assert_same(played: Trajectories, simultaneous: bool) -> None:
    got = estimate(played, played.rewards, GAMMA, LAMBDA, simultaneous=simultaneous)
    expected = by_hand(played, simultaneous)
    assert set(zip(*map(np.ndarray.tolist, np.nonzero(got.known)), strict=True)) == set(expected)
    for place, (advantage, target) in expected.items():
        assert got.advantages[place] == pytest.approx(advantage, abs=1e-5)
        assert got.returns[place] == pytest.approx(target, abs=1e-5)
    assert not got.advantages[~got.known].any()


def test_one_match_of_one_seat_gives_the_sums_of_the_paper() -> None:
    played = trajectories([[1.0], [0.0], [2.0]], [[0.5], [0.25], [1.0]], [[1], [1], [1]], [0, 0, TERMINATED])
    got = estimate(played, played.rewards, GAMMA, LAMBDA, simultaneous=True)
    third = 2.0 - 1.0
    second = 0.0 + 0.9 * 1.0 - 0.25 + 0.63 * third
    first = 1.0 + 0.9 * 0.25 - 0.5 + 0.63 * second
    assert got.advantages[0, :, 0].tolist() == pytest.approx([first, second, third], abs=1e-6)
    assert got.returns[0, :, 0].tolist() == pytest.approx([first + 0.5, second + 0.25, third + 1.0], abs=1e-6)


def test_a_truncated_match_goes_on_in_its_value_and_a_terminated_one_does_not() -> None:
    for end, future in ((TERMINATED, 0.0), (TRUNCATED, 0.9 * 4.0)):
        bootstrap = [[0.0 if end == TERMINATED else 4.0]]
        played = trajectories([[1.0]], [[0.5]], [[1]], [end], bootstrap)
        got = estimate(played, played.rewards, GAMMA, LAMBDA, simultaneous=True)
        assert float(got.advantages[0, 0, 0]) == pytest.approx(1.0 + future - 0.5)


def test_rewards_between_two_turns_of_a_seat_are_summed() -> None:
    """Two seats in turn; the second seat's winning step costs the first one a point after its own last turn."""
    played = trajectories(
        [[0, 0], [0.5, 0], [0, 0], [-1, 1]],
        [[0.1, 0], [0, 0.2], [0.3, 0], [0, 0.4]],
        [[1, 0], [0, 1], [1, 0], [0, 1]],
        [0, 0, 0, TERMINATED],
    )
    got = estimate(played, played.rewards, GAMMA, LAMBDA, simultaneous=False)
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
    got = estimate(played, played.rewards, GAMMA, LAMBDA, simultaneous=False)
    assert got.known[0].tolist() == [[True, False], [False, False], [False, False]]
    assert float(got.advantages[0, 0, 0]) == pytest.approx(0.9 * 0.3 - 0.1)


@pytest.mark.parametrize("simultaneous", [True, False])
def test_random_trajectories_agree_with_the_sums_by_hand(simultaneous: bool) -> None:
    draws = np.random.default_rng(7)
    for _ in range(20):
        shape = (3, 17, 2)
        acted = np.ones(shape, np.bool_) if simultaneous else np.zeros(shape, np.bool_)
        if not simultaneous:
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
        assert_same(played, simultaneous)


def test_margins_of_all_seats_add_up_to_zero() -> None:
    rewards = np.array([[[1.0, 0.0], [0.5, 0.5]]], np.float32)
    assert margins(rewards).tolist() == [[[1.0, -1.0], [0.0, 0.0]]]
    four = margins(np.array([[[3.0, 0.0, 0.0, 0.0]]], np.float32))
    assert four[0, 0].tolist() == [3.0, -1.0, -1.0, -1.0]
