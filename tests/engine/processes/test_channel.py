"""Frames and packed messages: they arrive unchanged, and invalid ones raise ProtocolError."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.foreign_code import clean_text
from engine.play.match import AgentSpec, Clock, Ending, EndingKind, Limits, MatchResult, MatchSpec
from engine.play.results import CODES, ResultBatch
from engine.play.workers.messages import AgentNumbers, ReceivedResults, pack_matches, pack_results, unpack_matches
from engine.processes.channel import HEADER, MAX_FRAME, Channel, ProtocolError, frame
from engine.registry import new_game


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, Channel]]:
    near, other = socket.socketpair()
    with near, other:
        yield near, Channel(other)


def test_frames_are_reassembled_from_any_pieces(ends: tuple[socket.socket, Channel]) -> None:
    raw, channel = ends
    sent = [(["play", [[1, 2]], None], b""), (["payload", "x"], bytes(range(256)) * 50), (["stop"], b"\n")]
    stream = b"".join(frame(fields, body) for fields, body in sent)
    got = []
    for cut in range(0, len(stream), 1000):
        raw.sendall(stream[cut : cut + 1000])
        got += channel.get()
    assert got == sent
    raw.close()
    with pytest.raises(ProtocolError, match="closed the connection"):
        channel.get()


def test_data_that_does_not_fit_is_sent_later(ends: tuple[socket.socket, Channel]) -> None:
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


def test_send_returns_when_little_enough_is_left(ends: tuple[socket.socket, Channel]) -> None:
    raw, channel = ends
    other = Channel(raw)
    channel.send(["results"], bytes(1_000_000), left=2_000_000)  # more than the socket takes
    assert channel.waiting
    got = []
    while not got:
        channel.flush()
        got = other.get()
    assert got == [(["results"], bytes(1_000_000))]


@pytest.mark.parametrize(
    "invalid",
    [
        struct.pack("<II", MAX_FRAME, 1),
        struct.pack("<II", 5, 0) + b"hello",
        struct.pack("<II", 2, 0) + b"{}",
        struct.pack("<II", 2, 0) + b"[]",
        struct.pack("<II", 3, 0) + b"[1]",
        struct.pack("<II", 2, 0) + b"\xff\xfe",
    ],
)
def test_an_invalid_frame_is_a_protocol_error(invalid: bytes, ends: tuple[socket.socket, Channel]) -> None:
    raw, channel = ends
    raw.sendall(invalid)
    with pytest.raises(ProtocolError, match="sent"):
        channel.get()


def test_messages_before_an_invalid_frame_are_received_first(ends: tuple[socket.socket, Channel]) -> None:
    raw, channel = ends
    raw.sendall(frame(["first"]) + frame(["second"], b"body") + struct.pack("<II", 2**31, 2**31))
    assert channel.get() == [(["first"], b""), (["second"], b"body")]
    assert "a frame of 4,294,967,296 bytes" in str(channel.error)
    with pytest.raises(ProtocolError, match="a frame of"):
        channel.get()


numbers = st.floats(allow_nan=False)
PLAYED = [kind for kind in EndingKind if kind not in (EndingKind.CANCELLED, EndingKind.QUARANTINED)]
results = st.builds(
    MatchResult,
    st.integers(0, 2**32 - 1).map(str),
    st.just(("a", "b")),
    st.tuples(numbers, numbers),
    st.tuples(st.integers(1, 2), st.integers(1, 2)),
    st.integers(0, 2**32 - 1),
    st.builds(
        Ending, st.sampled_from(PLAYED), st.sampled_from([(), (0,), (0, 1)]), st.text(max_size=20).map(clean_text)
    ),
    st.tuples(st.tuples(numbers, numbers), st.tuples(numbers, numbers)),
    st.binary(max_size=50),
    st.booleans(),
    st.floats(0, 1e6),
)


PLAYERS = (AgentSpec("a", "dice"), AgentSpec("b", "dice"))
GAME = new_game("pong").spec


def specs_of(sent: list[MatchResult]) -> list[MatchSpec]:
    return [MatchSpec(result.id, GAME, PLAYERS, 1) for result in sent]


@given(st.lists(results, min_size=1, max_size=5))
def test_packed_results_are_unpacked_to_the_bit(sent: list[MatchResult]) -> None:
    specs = specs_of(sent)
    fields, body = pack_results(ResultBatch.of(specs, sent))
    received = ReceivedResults(json.loads(json.dumps(fields)), body)
    assert [str(number) for number in received.numbers] == [result.id for result in sent]
    assert list(received.batch(specs, -1)) == sent
    with pytest.raises(ProtocolError):
        ReceivedResults(fields, body + b"x")
    with pytest.raises(ProtocolError):
        ReceivedResults(fields, body[:-1])


@given(st.lists(results, min_size=2, max_size=5), st.data())
def test_results_of_cancelled_matches_are_left_out(sent: list[MatchResult], data: st.DataObject) -> None:
    known = [data.draw(st.booleans()) for _ in sent]
    specs = [spec if yes else None for spec, yes in zip(specs_of(sent), known, strict=True)]
    fields, body = pack_results(ResultBatch.of(specs_of(sent), sent))
    found = ReceivedResults(fields, body).batch(specs, -1)
    assert list(found) == [result for result, yes in zip(sent, known, strict=True) if yes]


@pytest.mark.parametrize(
    "changed",
    [
        {0: -1},
        {0: 0},
        {0: 3},
        {0: 2**70},
        {0: 2.0},
        {0: True},
        {1: -2},
        {1: 3},
        {2: 2},
        {2: "2"},
        {3: None},
        {3: []},
        {3: {"x": [[], ""]}},
        {3: {"2": [[], ""]}},
        {3: {"-1": [[], ""]}},
        {3: {"0": [[2], ""]}},
        {3: {"0": [["x"], ""]}},
        {3: {"0": [[0, 0], ""]}},
        {3: {"0": [[], "", 1]}},
    ],
)
def test_results_that_do_not_fit_their_columns_are_a_protocol_error(changed: dict[int, Any]) -> None:
    result = MatchResult("7", ("a", "b"), (1.0, 2.0), (2, 1), 5, Ending(EndingKind.FINISHED), ((3.0,), (4.0,)), b"xy")
    fields, body = pack_results(ResultBatch.of(specs_of([result, result]), [result, result]))
    assert list(ReceivedResults(fields, body).batch(specs_of([result, result]), -1)) == [result, result]
    with pytest.raises(ProtocolError, match="invalid results"):
        ReceivedResults([changed.get(place, word) for place, word in enumerate(fields)], body)


def test_an_unknown_ending_is_a_protocol_error() -> None:
    result = MatchResult("7", ("a", "b"), (1.0, 2.0), (2, 1), 5, Ending(EndingKind.FINISHED), ((), ()), b"")
    batch = ResultBatch.of(specs_of([result]), [result])
    columns = batch.columns._replace(kinds=np.array([len(EndingKind)], np.uint8))
    with pytest.raises(ProtocolError):
        ReceivedResults(*pack_results(ResultBatch(batch.specs, columns, b"")))


limits = st.builds(
    Limits,
    st.none() | st.integers(1, 2**32 - 1),
    st.none() | st.builds(Clock, st.floats(0, 100), st.floats(0, 100), st.floats(0, 100)),
)
matches = st.builds(
    MatchSpec,
    st.integers(0, 2**32 - 1).map(str),
    st.just(GAME),
    st.sampled_from([PLAYERS, PLAYERS[::-1]]),
    st.integers(0, 2**64 - 1),
    st.none() | st.text(max_size=10),
    limits,
)


@given(st.lists(matches, min_size=1, max_size=5))
def test_packed_matches_are_unpacked(sent: list[MatchSpec]) -> None:
    agents = AgentNumbers()
    agents.update(enumerate(PLAYERS))
    players = [PLAYERS.index(player) for spec in sent for player in spec.players]
    fields, body = pack_matches([int(spec.id) for spec in sent], sent, players)
    found = unpack_matches(json.loads(json.dumps(fields)), body, GAME, agents)
    assert found == sent
    assert len({id(spec.players) for spec in found}) == len({spec.players for spec in sent})


@pytest.mark.parametrize(
    ("column", "value"),
    [("scores", np.nan), ("durations", np.nan), ("durations", np.inf), ("durations", -1.0), ("ranks", 0), ("ranks", 3)]
    + [("kinds", CODES[kind]) for kind in (EndingKind.CANCELLED, EndingKind.QUARANTINED)],
)
def test_results_that_no_league_file_could_hold_are_a_protocol_error(column: str, value: float) -> None:
    result = MatchResult("7", ("a", "b"), (1.0, 2.0), (2, 1), 5, Ending(EndingKind.FINISHED), ((3.0,), (4.0,)), b"xy")
    batch = ResultBatch.of(specs_of([result]), [result])
    ReceivedResults(*pack_results(batch))
    getattr(batch.columns, column).flat[0] = value
    with pytest.raises(ProtocolError, match="sent invalid results"):
        ReceivedResults(*pack_results(batch))


@pytest.mark.parametrize("text", [rb'"\ud800"', rb'"\uDFFF x"', b'"\xed\xa0\x80"', b'"\xff"'])
def test_text_that_is_no_valid_unicode_is_a_protocol_error(ends: tuple[socket.socket, Channel], text: bytes) -> None:
    raw, channel = ends
    raw.sendall(frame(["failed", "\N{TABLE TENNIS PADDLE AND BALL}"]))
    assert channel.get() == [(["failed", "\N{TABLE TENNIS PADDLE AND BALL}"], b"")]
    line = b'["failed", ' + text + b"]"
    raw.sendall(HEADER.pack(len(line), 0) + line)
    with pytest.raises(ProtocolError, match="sent an invalid message"):
        channel.get()


def test_the_reason_of_a_result_is_cleaned() -> None:
    """An agent may write a message of its own to the socket of its worker."""
    ending = Ending(EndingKind.EXCEPTION, (0,), "a\0b\x1b[2J " + "x" * 100_000)
    result = MatchResult("7", ("a", "b"), (1.0, 2.0), (2, 1), 5, ending, ((), ()), b"")
    fields, body = pack_results(ResultBatch.of(specs_of([result]), [result]))
    [found] = ReceivedResults(fields, body).batch(specs_of([result]), -1)
    assert found.ending.reason.startswith("a\ufffdb\ufffd[2J xxx")
    assert len(found.ending.reason) < 3000
