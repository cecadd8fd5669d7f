"""Published numbers, with one process."""

from __future__ import annotations

import numpy as np
import pytest

from agents.training.independent.published import PublishedState
from engine.errors import BadValue


def new_state(size: int = 10) -> PublishedState:
    return PublishedState(bytearray(PublishedState.bytes_needed(size)), size)


def test_there_is_nothing_to_read_before_the_first_version() -> None:
    assert new_state().read() is None
    assert new_state().version == 0


def test_readers_get_the_newest_version_as_a_copy() -> None:
    state = new_state()
    for version in (3, 7, 8):
        state.publish(np.full(10, version / 7, np.float32), version)
        read = PublishedState(state.memory, 10).read()
        assert read is not None
        assert (read[0], state.version) == (version, version)
        assert np.array_equal(read[1], np.full(10, version / 7, np.float32))
        read[1][:] = 0
    assert state.read()[1].all()  # type: ignore[index]


def test_a_publication_that_was_interrupted_leaves_the_version_before(monkeypatch: pytest.MonkeyPatch) -> None:
    state = new_state()
    state.publish(np.ones(10, np.float32), 1)

    def killed(_: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("agents.training.independent.published.zlib.crc32", killed)
        with pytest.raises(KeyboardInterrupt):
            state.publish(np.full(10, 2, np.float32), 2)
    assert state.version == 1
    version, numbers = state.read()  # type: ignore[misc]
    assert version == 1
    assert (numbers == 1).all()
    state.publish(np.full(10, 3, np.float32), 3)
    assert state.read()[0] == 3  # type: ignore[index]


def test_damaged_numbers_are_not_returned() -> None:
    state = new_state()
    state.publish(np.ones(10, np.float32), 1)
    state._slots[1][3] = 5.0
    assert state.read() is None


def test_numbers_of_another_size_are_refused() -> None:
    with pytest.raises(BadValue, match="10 numbers"):
        new_state().publish(np.ones(11, np.float32), 1)
