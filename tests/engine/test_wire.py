"""Frames and columns: what is sent arrives, and nonsense is an error of the sender."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.play.match import AgentSpec, Ending, EndingKind, MatchResult, MatchSpec
from engine.play.wire import LARGEST, Broken, Channel, Columns, frame, pack_results
from engine.registry import new_game


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, Channel]]:
    one, other = socket.socketpair()
    with one, other:
        yield one, Channel(other)


def test_frames_arrive_whole_however_they_are_cut(ends: tuple[socket.socket, Channel]) -> None:
    raw, channel = ends
    sent = [(["play", [[1, 2]], None], b""), (["payload", "x"], bytes(range(256)) * 50), (["stop"], b"\n")]
    stream = b"".join(frame(words, body) for words, body in sent)
    got = []
    for cut in range(0, len(stream), 1000):
        raw.sendall(stream[cut : cut + 1000])
        got += channel.get()
    assert got == sent
    raw.close()
    with pytest.raises(Broken, match="is gone"):
        channel.get()


def test_what_does_not_fit_now_is_sent_later(ends: tuple[socket.socket, Channel]) -> None:
    raw, channel = ends
    other = Channel(raw)
    body = bytes(5_000_000)
    channel.put(["payload", "x"], body)
    assert channel.waiting
    got = []
    while not got:
        channel.flush()
        got = other.get()
    assert got == [(["payload", "x"], body)]


@pytest.mark.parametrize(
    "nonsense",
    [
        struct.pack("<II", LARGEST, 1),
        struct.pack("<II", 5, 0) + b"hello",
        struct.pack("<II", 2, 0) + b"{}",
        struct.pack("<II", 2, 0) + b"[]",
        struct.pack("<II", 3, 0) + b"[1]",
        struct.pack("<II", 2, 0) + b"\xff\xfe",
    ],
)
def test_nonsense_is_the_senders_error(nonsense: bytes, ends: tuple[socket.socket, Channel]) -> None:
    raw, channel = ends
    raw.sendall(nonsense)
    with pytest.raises(Broken, match="sent"):
        channel.get()


def test_what_came_before_nonsense_is_heard_first(ends: tuple[socket.socket, Channel]) -> None:
    raw, channel = ends
    raw.sendall(frame(["first"]) + frame(["second"], b"body") + struct.pack("<II", 2**31, 2**31))
    assert channel.get() == [(["first"], b""), (["second"], b"body")]
    assert "a frame of 4,294,967,296 bytes" in str(channel.nonsense)
    with pytest.raises(Broken, match="a frame of"):
        channel.get()


numbers = st.floats(allow_nan=False)
results = st.builds(
    MatchResult,
    st.integers(0, 2**32 - 1).map(str),
    st.just(("a", "b")),
    st.tuples(numbers, numbers),
    st.tuples(st.integers(1, 2), st.integers(1, 2)),
    st.integers(0, 2**32 - 1),
    st.builds(Ending, st.sampled_from(EndingKind), st.sampled_from([(), (0,), (0, 1)]), st.text(max_size=20)),
    st.tuples(st.tuples(numbers, numbers), st.tuples(numbers, numbers)),
    st.binary(max_size=50),
    st.booleans(),
    st.floats(0, 1e6),
)


@given(st.lists(results, min_size=1, max_size=5))
def test_results_survive_the_columns_to_the_bit(sent: list[MatchResult]) -> None:
    words, body = pack_results(sent)
    columns = Columns(words, body)
    players = (AgentSpec("a", "dice"), AgentSpec("b", "dice"))
    game = new_game("pong").spec
    assert [str(number) for number in columns.numbers] == [result.id for result in sent]
    for place, result in enumerate(sent):
        assert columns.result(place, MatchSpec(result.id, game, players, 1)) == result
    with pytest.raises(Broken):
        Columns(words, body + b"x")
    with pytest.raises(Broken):
        Columns(words, body[:-1])
