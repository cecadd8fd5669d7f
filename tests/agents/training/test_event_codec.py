"""Events on their way between processes: nothing but an event is sent, and nothing else is taken for one."""

from __future__ import annotations

import math

import pytest

from agents.training.events import Champion, Checkpoint, Ended, How, Log, Metrics, Player, Progress
from agents.training.event_codec import decode, encode
from engine.errors import RingsideError
from engine.processes.channel import Broken

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
def test_nonsense_is_no_event(words: list[object], body: bytes) -> None:
    with pytest.raises(Broken):
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
def test_what_is_not_quite_an_event_is_refused_where_it_is_made(event: object) -> None:
    with pytest.raises(RingsideError, match="must be"):
        encode(event)
