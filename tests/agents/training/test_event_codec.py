"""Encoding of training events: only valid events are encoded and decoded."""

from __future__ import annotations

import math

import pytest

from agents.training.event_codec import decode, encode
from agents.training.events import (
    Champion,
    Checkpoint,
    Current,
    Ended,
    How,
    Log,
    Metrics,
    Player,
    Progress,
    Resolved,
    Span,
    Spans,
    Workers,
    WorkerState,
)
from engine.errors import RingsideError
from engine.processes.channel import ProtocolError

PLAYER = ["dice", 1, "so far", ""]
WORKER = ["learner", "learning", "", "", 0, None]


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
        (["progress", 1, 2, "text", math.inf, None], b""),
        (["progress", 1, 2, "text", None, math.nan], b""),
        (["progress", 1, 2, "text", 3, None], b""),
        (["progress", 1, 2, None, 3.0, None], b""),
        (["checkpoint", 1, 2, None], b"ab"),
        (["checkpoint", 1, 3, []], b"ab"),
        (["checkpoint", 1, 1, []], b"ab"),
        (["checkpoint", 1, "1", []], b"ab"),
        (["checkpoint", 1, 1, [[]]], b"a"),
        (["checkpoint", 1, 1, [[1]]], b"ab"),
        (["checkpoint", 1, 1, [PLAYER]], b"ab"),
        (["checkpoint", 1, 1, [[*PLAYER, 2]]], b"ab"),
        (["checkpoint", 1, 1, [[*PLAYER, -1]]], b""),
        (["checkpoint", 1, 1, ["player"]], b"a"),
        (["champion", 1, None], b""),
        (["champion", 1, ["dice", "1", "so far", ""]], b""),
        (["champion", 1, PLAYER[:3]], b""),
        (["workers", ["learner"]], b""),
        (["workers", [WORKER[:5]]], b""),
        (["workers", [[*WORKER[:4], -1, None]]], b""),
        (["workers", [[*WORKER[:5], "1"]]], b""),
        (["workers", [WORKER]], b"x"),
        (["resolved", [["bots"]]], b""),
        (["resolved", [["bots", None]]], b""),
        (["resolved", [[1, "Lazy"]]], b""),
        (["resolved", [["bots", "\ud800"]]], b""),
        (["spans", [["actor", "act", 1.0]]], b""),
        (["spans", [["actor", "act", 1.0, math.inf]]], b""),
        (["spans", [["actor", "act", 1, 1.0]]], b""),
        (["spans", [["actor", None, 1.0, 1.0]]], b""),
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
        Progress(1, 2, "text", None, "half"),
        Checkpoint(1, "state"),
        Checkpoint(1, b"", None),
        Checkpoint(1, b"", ("best",)),
        Checkpoint(1, b"", (Player("dice", 1, b"", "", 3),)),
        Checkpoint(1, b"", (Player("dice", 1, b"a", ""), Player("dice", 1, b"b", ""))),
        Workers(None),
        Workers(("learner",)),
        Workers((WorkerState(1, "learning"),)),
        Workers((WorkerState("learner", "learning", pid=-1),)),
        Spans((1.0,)),
        Spans((Span("actor", "act", math.nan, 1.0),)),
        Spans((Span("actor", 1, 1.0, 1.0),)),
        Champion(1, None),
        Current(1, None),
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


@pytest.mark.parametrize(
    "event",
    [
        Progress(1, 0, "text", 2.5, 0.25),
        Checkpoint(3, b"state"),
        Checkpoint(3, b"", (Player("dice", 1, b"", "only"),)),
        Checkpoint(3, b"state", (Player("dice", 1, b"one", "a", "hunter"), Player("neat", 2, b"two", "b", "prey"))),
        Champion(3, Player("dice", 1, b"one", "a", "hunter")),
        Current(4, Player("dice", 1, b"two", "b", "")),
        Resolved((("bots", "Lazy,Tracker"), ("rate", 0.5), ("seed", 1), ("swap", True))),
        Workers(()),
        Workers((WorkerState("learner", "learning", "batch 3", "12 updates", 1, 4711), WorkerState("actor", "idle"))),
        Spans((Span("actor", "act", 1e9, 0.125), Span("learner", "learn", 1e9 + 1, 0.0))),
    ],
)
def test_an_event_is_decoded_as_it_was_encoded(event: object) -> None:
    assert decode(*encode(event)) == event
