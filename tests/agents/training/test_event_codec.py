"""Encoding of training events: only valid events are encoded and decoded."""

from __future__ import annotations

import math

import pytest

from agents.training.event_codec import decode, encode
from agents.training.events import Champion, Checkpoint, Ended, How, Log, Metrics, Player, Progress
from engine.errors import RingsideError
from engine.processes.channel import ProtocolError

PLAYER = ["dice", 1, "so far"]


@pytest.mark.parametrize(
    ("words", "body"),
    [
        (["bogus"], b""),
        (["metrics", 1], b""),
        (["metrics", True, []], b""),
        (["metrics", -1, []], b""),
        (["metrics", 2**63, []], b""),
        (["metrics", 1, "ab"], b""),
        (["metrics", 1, ["ab"]], b""),
        (["metrics", 1, [["a", 1]]], b""),
        (["metrics", 1, [["a", "1.0"]]], b""),
        (["metrics", 1, [[1, 1.0]]], b""),
        (["metrics", 1, []], b"x"),
        (["progress", 1, 2, "text", math.inf], b""),
        (["progress", 1, 2, "text", 3], b""),
        (["progress", 1, 2, None, 3.0], b""),
        (["checkpoint", 1, 3, None], b"ab"),
        (["checkpoint", 1, 1, None], b"ab"),
        (["checkpoint", 1, "1", None], b"ab"),
        (["checkpoint", 1, 1, []], b"ab"),
        (["champion", 1, None], b""),
        (["champion", 1, ["dice", "1", "so far"]], b""),
        (["champion", 1, [*PLAYER, 1]], b""),
        (["log", "text", "loud"], b""),
        (["log", "text", ["info"]], b""),
        (["log", "\ud800", "info"], b""),
        (["ended", "well", "text"], b""),
        (["ended", "finished"], b""),
        (["ended", {}, ""], b""),
    ],
)
def test_invalid_frames_are_rejected(words: list[object], body: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode(words, body)


@pytest.mark.parametrize(
    "event",
    [
        None,
        "metrics",
        Metrics,
        Metrics(-1, ()),
        Metrics(1.0, ()),
        Metrics(True, ()),
        Metrics(1, (("a", "1"),)),
        Metrics(1, (("a", None),)),
        Metrics(1, ((1, 1.0),)),
        Metrics(1, (("a",),)),
        Progress(1, 2, None),
        Progress(1, 2, "text", "soon"),
        Checkpoint(1, "state", None),
        Checkpoint(1, b"", "best"),
        Champion(1, None),
        Champion(1, Player("dice", "1", b"", "")),
        Champion(1, Player("dice", 1, "payload", "")),
        Log(b"text"),
        Log("text", "info"),
        Ended("finished", ""),
        Ended(How.FINISHED, None),
    ],
)
def test_an_invalid_event_raises_when_it_is_encoded(event: object) -> None:
    with pytest.raises(RingsideError, match="must be"):
        encode(event)
