"""The replay buffer: minibatches compared with a slow reference, copies, and what cannot be sampled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.training.independent.buffer import IDLE, NothingToSample, ReplayBuffer, Transitions
from agents.training.independent.ends import End
from engine.errors import BadValue

DISCOUNT = 0.5  # its powers, and sums of small numbers with them, are exact
WIDTH = 2


@dataclass(frozen=True)
class Turn:
    """One turn of one lane, as the slow reference keeps it."""

    obs: tuple[float, ...]
    action: int
    reward: float
    end: int


turns = st.builds(
    Turn,
    st.tuples(*[st.integers(0, 9).map(float)] * WIDTH),
    st.sampled_from([0, 1, 2, IDLE]),
    st.integers(-4, 4).map(float),
    st.sampled_from([End.NONE, End.NONE, End.NONE, End.TERMINATED, End.TRUNCATED]),
)
histories = st.integers(1, 3).flatmap(
    lambda lanes: st.lists(st.lists(turns, min_size=lanes, max_size=lanes), min_size=1, max_size=30)
)


def filled(history: list[list[Turn]], rows: int) -> ReplayBuffer:
    buffer = ReplayBuffer(rows, len(history[0]), (WIDTH,))
    for row in history:
        obs = np.array([turn.obs for turn in row], np.float32)
        buffer.add(obs, [turn.action for turn in row], [turn.reward for turn in row], [turn.end for turn in row])
    return buffer


def reference(history: list[list[Turn]], row: int, lane: int, steps: int, frames: int) -> tuple[object, ...] | None:
    """The transition that begins with this turn; None if it must not be sampled."""

    def stack(at: int) -> tuple[float, ...]:
        seen, within = list(history[at][lane].obs), True
        for k in range(1, frames):
            before = history[at - k][lane] if at >= k else None
            within = within and before is not None and before.end == End.NONE and before.action != IDLE
            seen += before.obs if within and before is not None else [0.0] * WIDTH
        return tuple(seen)

    total = 0.0
    for k in range(steps):
        if row + k >= len(history):
            return None
        turn = history[row + k][lane]
        if turn.action == IDLE or turn.end == End.TRUNCATED:
            return None
        total += DISCOUNT**k * turn.reward
        if turn.end == End.TERMINATED:
            return stack(row), history[row][lane].action, total, 0.0, stack(row + k)
    if row + steps >= len(history) or history[row + steps][lane].action == IDLE:
        return None
    return stack(row), history[row][lane].action, total, DISCOUNT**steps, stack(row + steps)


def items(batch: Transitions) -> list[tuple[object, ...]]:
    columns = batch.obs.tolist(), batch.actions, batch.rewards, batch.discounts, batch.next_obs.tolist()
    return [
        (tuple(obs), int(action), float(reward), float(factor), tuple(following))
        for obs, action, reward, factor, following in zip(*columns, strict=True)
    ]


@given(histories, st.integers(2, 40), st.integers(1, 4), st.integers(1, 3), st.integers(0, 2**64 - 1))
def test_every_minibatch_has_only_what_a_slow_reference_finds(
    history: list[list[Turn]], rows: int, steps: int, frames: int, seed: int
) -> None:
    buffer = filled(history, rows)
    oldest = max(len(history) - rows + frames - 1, 0) if len(history) > rows else 0
    places = [(row, lane) for row in range(oldest, len(history)) for lane in range(buffer.lanes)]
    known = {found for row, lane in places if (found := reference(history, row, lane, steps, frames)) is not None}
    count = sum(reference(history, row, lane, steps, frames) is not None for row, lane in places)
    assert buffer.ready(count + 1, steps=steps, frames=frames) is False
    assert not count or buffer.ready(count, steps=steps, frames=frames)
    if not known:
        with pytest.raises(NothingToSample):
            buffer.sample(4, seed, steps=steps, discount=DISCOUNT, frames=frames)
        return
    assert set(items(buffer.sample(64, seed, steps=steps, discount=DISCOUNT, frames=frames))) <= known


def test_every_turn_that_can_be_sampled_is_sampled_about_equally_often() -> None:
    buffer = ReplayBuffer(50, 4, (1,))
    for t in range(80):  # rows 30 to 79 are kept; of matches of 10 turns, all can be sampled
        buffer.add(np.full((4, 1), t, np.float32), np.arange(4), t, [End.TERMINATED if t % 10 == 9 else End.NONE] * 4)
    batch = buffer.sample(200_000, 7, steps=3, discount=0.9)
    counts = np.zeros((80, 4))
    np.add.at(counts, (batch.obs[:, 0].astype(int), batch.actions), 1)
    assert not counts[:30].any()
    assert np.abs(counts[30:] - 1000).max() < 6 * np.sqrt(1000)  # six standard deviations


def test_a_minibatch_depends_on_seed_and_contents_only() -> None:
    rng = np.random.default_rng(3)
    buffer, other = ReplayBuffer(20, 3, (5,)), ReplayBuffer(20, 3, (5,))
    for _ in range(33):
        row = rng.random((3, 5), np.float32), rng.integers(0, 4, 3), rng.random(3), rng.integers(0, 2, 3)
        buffer.add(*row)
        other.add(*row)
    first, same = (each.sample(64, 5, steps=3, discount=0.97) for each in (buffer, other))
    assert all(np.array_equal(getattr(first, name), getattr(same, name)) for name in vars(first))
    assert not np.array_equal(first.obs, buffer.sample(64, 6, steps=3, discount=0.97).obs)


def test_frames_of_pictures_are_stacked_in_their_first_dimension() -> None:
    buffer = ReplayBuffer(10, 1, (2, 3, 4))
    for t in range(5):
        buffer.add(np.full((1, 2, 3, 4), t + 1, np.float32), 0, 0.0, End.NONE)
    batch = buffer.sample(64, 1, steps=1, discount=1.0, frames=3)
    assert batch.obs.shape == (64, 6, 3, 4)
    newest = batch.obs[:, 0, 0, 0]
    assert np.array_equal(batch.obs[:, 2, 1, 1], np.maximum(newest - 1, 0))
    assert np.array_equal(batch.obs[:, 5, 2, 3], np.maximum(newest - 2, 0))
    assert np.array_equal(batch.next_obs[:, 0, 0, 0], newest + 1)


def test_a_snapshot_is_a_copy_in_the_order_of_time() -> None:
    buffer = ReplayBuffer(4, 2, (1,))
    assert buffer.get_buffer_snapshot()["size"] == 0
    for t in range(6):
        buffer.add(np.full((2, 1), t, np.float32), [t, IDLE], t, End.NONE)
    copy = buffer.get_buffer_snapshot()
    buffer.add(np.full((2, 1), 9, np.float32), 9, 9, End.NONE)
    assert copy["states"][:, 0, 0].tolist() == copy["rewards"][:, 1].tolist() == [2, 3, 4, 5]
    assert copy["actions"].tolist() == [[t, IDLE] for t in range(2, 6)]
    assert copy["dones"][:, 1].tolist() == [End.ABSENT] * 4
    assert (copy["size"], copy["idx"]) == (4, 6)


@pytest.mark.parametrize("count", [0, 3, 7, 8, 19])
def test_a_buffer_that_is_restored_samples_and_continues_as_before(count: int) -> None:
    rng = np.random.default_rng(count)
    rows = [(rng.random((2, 3), np.float32), rng.integers(0, 4, 2), rng.random(2), 0) for _ in range(count + 8)]
    buffer, restored = ReplayBuffer(8, 2, (3,)), ReplayBuffer(8, 2, (3,))
    for row in rows[:count]:
        buffer.add(*row)
    assert len(buffer.tensors()["obs"]) == min(count, 8)
    restored.set_tensors(buffer.tensors())
    for row in rows[count:]:
        buffer.add(*row)
        restored.add(*row)
    assert restored.added == buffer.added == count + 8
    expected, other = (each.sample(32, 1, steps=3, discount=0.9) for each in (buffer, restored))
    assert all(np.array_equal(getattr(expected, name), getattr(other, name)) for name in vars(expected))


def test_a_buffer_that_is_restored_in_part_has_no_other_rows() -> None:
    """A checkpoint leaves out the match that is being played, whose rows have overwritten older ones."""
    buffer, restored = ReplayBuffer(8, 1, (1,)), ReplayBuffer(8, 1, (1,))
    for t in range(20):
        buffer.add(np.full((1, 1), t, np.float32), 0, 1.0, End.NONE)
    tensors = buffer.tensors()  # rows 12 to 19
    part = {name: rows[:5] for name, rows in tensors.items() if name != "added"}
    restored.set_tensors(part | {"added": tensors["added"] - 3})
    assert len(restored) == 5
    assert restored.get_buffer_snapshot()["states"].ravel().tolist() == [12, 13, 14, 15, 16]
    assert set(restored.sample(100, 1, steps=1, discount=1.0).obs.ravel().tolist()) == {12, 13, 14, 15}
    assert set(restored.sample(100, 1, steps=1, discount=1.0, frames=2).obs[:, 0].tolist()) == {13, 14, 15}
    assert not restored.ready(5)
    for t in range(17, 24):
        restored.add(np.full((1, 1), t, np.float32), 0, 1.0, End.NONE)
    assert len(restored) == 8
    assert restored.get_buffer_snapshot()["states"].ravel().tolist() == list(range(16, 24))


def test_a_checkpoint_of_another_shape_is_refused_and_changes_nothing() -> None:
    buffer, other = ReplayBuffer(8, 2, (3,)), ReplayBuffer(8, 2, (4,))
    other.add(np.ones((2, 4), np.float32), 1, 1.0, 0)
    with pytest.raises(BadValue, match="buffer"):
        buffer.set_tensors(other.tensors())
    assert buffer.added == 0


def test_an_empty_buffer_is_not_ready_and_says_so() -> None:
    buffer = ReplayBuffer(8, 2, (3,))
    assert not buffer.ready()
    with pytest.raises(NothingToSample, match="0 of 4"):
        buffer.sample(4, 1, steps=3, discount=0.9)
