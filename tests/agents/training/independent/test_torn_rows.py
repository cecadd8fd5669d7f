"""Hunts for torn rows and versions: one process writes as fast as it can while this one reads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from agents.training.independent.buffer import NothingToSample, ReplayBuffer
from agents.training.independent.published import PublishedState
from engine.processes import launcher
from tests.agents.training.independent.hunting import WRAP, start_adding, start_publishing, torn
from tests.waiting import until

ROWS, LANES, WIDTH = 256, 4, 600  # few and wide rows: many reads meet the writer
STEPS = 3
SAMPLED = 300_000  # rows
READS = 2_000  # of versions
SIZE = 60_000  # numbers of a version


@pytest.fixture
def buffer() -> ReplayBuffer:
    memory = launcher.shared_memory(ReplayBuffer.bytes_needed(ROWS, LANES, (WIDTH,)))
    return ReplayBuffer(ROWS, LANES, (WIDTH,), memory)


def torn_samples(buffer: ReplayBuffer, seed: int, batch: int = 64) -> int:
    """How many transitions of a minibatch were not written together."""
    drawn = buffer.sample(batch, seed, steps=STEPS, discount=1.0)
    first, last = drawn.obs[:, :1], drawn.next_obs[:, :1]
    rewards = sum((first + k) % WRAP for k in range(STEPS))  # all exact in float32
    whole = (drawn.actions[:, None] == first) & ((first + STEPS) % WRAP == last) & (drawn.rewards[:, None] == rewards)
    return torn(drawn.obs) + torn(drawn.next_obs) + int((~whole).sum())


def test_no_sampled_row_is_torn_while_another_process_writes(buffer: ReplayBuffer) -> None:
    with start_adding(buffer):
        until(lambda: buffer.added > 2 * ROWS)
        before, sampled, seed = buffer.added, 0, 0
        while sampled < SAMPLED or buffer.added < before + 10 * ROWS:
            assert torn_samples(buffer, seed) == 0
            sampled, seed = sampled + 64 * (1 + 1), seed + 1  # each transition has two rows


def test_the_hunt_finds_torn_rows_if_the_buffer_does_not_check(
    buffer: ReplayBuffer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buffer, "_unsafe", lambda frames: 0)
    seeds = iter(range(1 << 30))
    with start_adding(buffer):
        until(lambda: buffer.added > 2 * ROWS)
        until(lambda: torn_samples(buffer, next(seeds)), every=0.0)


def test_no_row_of_a_snapshot_is_torn_while_another_process_writes(buffer: ReplayBuffer) -> None:
    with start_adding(buffer):
        until(lambda: buffer.added > 2 * ROWS)
        rows, dropped = 0, 0
        while rows < SAMPLED // 4 or not dropped:  # some were overwritten while they were copied
            copy = buffer.get_buffer_snapshot()
            states = copy["states"].reshape(copy["size"], -1)
            assert torn(states) == torn(copy["actions"]) == torn(copy["rewards"]) == 0
            expected = np.arange(copy["idx"] - copy["size"], copy["idx"]) % WRAP
            assert np.array_equal(states[:, 0], expected)
            assert np.array_equal(copy["actions"][:, 0], expected)
            rows, dropped = rows + copy["size"], dropped + ROWS - copy["size"]


def test_a_buffer_that_is_overwritten_too_fast_says_so(buffer: ReplayBuffer, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(ROWS + 1):
        buffer.add(np.full((LANES, WIDTH), number, np.float32), 0, 0.0, 0)
    monkeypatch.setattr(buffer, "_unsafe", lambda frames: buffer.added * LANES)
    with pytest.raises(NothingToSample, match="more rows"):
        buffer.sample(8, 1, steps=1, discount=1.0)


# Versions


class SlowSlot:
    """A slot that is copied in two halves, with a delay in between that varies: many reads meet the writer."""

    def __init__(self, numbers: np.ndarray) -> None:
        self._numbers, self._copies = numbers, 0

    def copy(self) -> np.ndarray:
        self._copies += 1
        first = self._numbers[: SIZE // 2].copy()
        for _ in range(self._copies * 997 % 20_000):
            pass
        return np.concatenate([first, self._numbers[SIZE // 2 :]])


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> PublishedState:
    state = PublishedState(launcher.shared_memory(PublishedState.bytes_needed(SIZE)), SIZE)
    monkeypatch.setattr(state, "_slots", [SlowSlot(slot) for slot in state._slots])
    return state


def is_torn(read: tuple[int, np.ndarray] | None) -> bool:
    return read is not None and bool((read[1] != read[0] % WRAP).any())


def hunt(state: PublishedState, found: Callable[[tuple[int, np.ndarray] | None], bool]) -> tuple[int, int]:
    """Reads until something is found, at most READS times; returns how often, and the last version."""
    last = 0
    for k in range(READS):
        read = state.read()
        if found(read):
            return k, last
        assert read is None or read[0] >= last, "a reader got an older version than before"
        last = last if read is None else read[0]
    return READS, last


def test_no_version_is_torn_or_goes_back_while_another_process_publishes(state: PublishedState) -> None:
    with start_publishing(state):
        until(lambda: state.version > 2)
        reads, last = hunt(state, is_torn)
    assert reads == READS
    assert last > 2


@pytest.mark.parametrize("off", ["_intact", "checksum"])
def test_order_and_checksum_each_find_torn_versions_alone(
    state: PublishedState, monkeypatch: pytest.MonkeyPatch, off: str
) -> None:
    if off == "_intact":
        monkeypatch.setattr(state, "_intact", lambda number: True)
    else:
        monkeypatch.setattr("agents.training.independent.published.zlib.crc32", _Any)
    with start_publishing(state):
        until(lambda: state.version > 2)
        reads, _ = hunt(state, is_torn)
    assert reads == READS


def test_the_hunt_finds_torn_versions_if_nothing_is_checked(
    state: PublishedState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "_intact", lambda number: True)
    monkeypatch.setattr("agents.training.independent.published.zlib.crc32", _Any)
    with start_publishing(state):
        until(lambda: state.version > 2)
        until(lambda: is_torn(state.read()), every=0.0)


class _Any:
    """A checksum that is equal to all others."""

    def __init__(self, data: object) -> None:
        pass

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]
