"""Bots that harm the process they share, by what they raise, return or do: `close`, or `close@begin`, as their payload
says, or nothing for one that is well.

`harm` is a kind of plain bots, which are asked one by one; `shared-harm` answers for all its agents in one call.
"""

import asyncio
import contextlib
import ctypes
import os
import time

import numpy as np

from engine.float_mode import NORMAL, write_mode
from engine.game import PENDING, AgentFault, AgentKind
from engine.plain import plain_kind
from engine.play.match import AgentSpec
from engine.seeding import pick, purpose

CHOICE = purpose("harm.choice")
PLY = 2  # they do it at their third move


class Wild(BaseException):
    """No Exception, as asyncio's CancelledError."""


class Speechless(Exception):  # noqa: N818
    def __str__(self):
        raise Wild


class Deceitful(Exception):  # noqa: N818
    """Whatever is asked of it fails."""

    class Text(str):
        __slots__ = ()

        def __getitem__(self, key):
            raise Wild

        __len__ = __format__ = split = encode = __getitem__

    def __str__(self):
        return self.Text("no luck")

    @property
    def __class__(self):
        raise Wild


class Unprintable:
    def __repr__(self):
        raise Wild


def _raise(error):
    raise error


def _closed():
    """Fails in a generator that is closed."""

    def numbers():
        try:
            yield 1
        finally:
            raise Wild("closed")

    started = numbers()
    next(started)
    started.close()


def _misplaced():
    """Raises from a line of a file whose name is no text."""

    def call():
        raise RuntimeError("lost")

    call.__code__ = call.__code__.replace(co_filename="a\ud800b\0.py")
    call()


TEXTS = {  # faults that end as exceptions
    "surrogate": lambda: _raise(RuntimeError("half \ud800 letter")),
    "control": lambda: _raise(RuntimeError("a\0b\x1b[2J\x9b\u202eevil\nand\tmore")),
    "megabyte": lambda: _raise(RuntimeError("\ud800" * 1_000_000)),
    "speechless": lambda: _raise(Speechless()),
    "deceitful": lambda: _raise(Deceitful()),
    "wild": lambda: _raise(Wild("not an Exception")),
    "cancelled": lambda: _raise(asyncio.CancelledError()),
    "generator": lambda: _raise(GeneratorExit()),
    "closed": _closed,
    "misplaced": _misplaced,
    "unknown ending": lambda: _raise(AgentFault("won", "I have won")),
    "unprintable": Unprintable,
}


def _close():
    for descriptor in range(21):
        with contextlib.suppress(OSError):
            os.close(descriptor)


def _duplicate():
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(21):
        os.dup2(null, descriptor)


def _hog():
    """Fills the memory slowly, as on a busy machine."""
    kept = []
    while True:
        kept.append(np.ones(4 << 20))  # 32 MB
        time.sleep(0.6)


def _round_up():
    ctypes.CDLL(None).fesetround(0x800)  # FE_UPWARD on x86


FAULTS = {
    **TEXTS,
    "upward": _round_up,
    "truncate": lambda: write_mode(NORMAL | 0x6000),
    "flush": lambda: write_mode(NORMAL | 0x8040),  # as libraries do that are compiled with -ffast-math
    "signal": lambda: write_mode(NORMAL & ~0x200),
    "close": _close,
    "duplicate": _duplicate,
    "close all": lambda: os.closerange(0, 1 << 16),
    "hog": _hog,
    "pending": lambda: PENDING,
}


def harm(payload, when):
    """What this agent does now, where `when` is a step or a call; an answer that it gives instead of an action."""
    fault, _, where = payload.decode().partition("@")
    return FAULTS[fault]() if fault and when == (where or PLY) else None


class Bot:
    def __init__(self, payload):
        self._payload = payload
        harm(payload, "begin")

    def act(self, view):
        answer = harm(self._payload, view.ply)
        return view.pick(3) if answer is None else answer


class SharedPilot:
    """All rows in one call, and not a word about which."""

    capacity = None

    def __init__(self, game, slots):
        self._payloads, self._agents, self._seeds = [], {}, np.zeros(slots, np.uint64)

    def load(self, agent):
        self._payloads.append(agent.payload)
        harm(agent.payload, "load")
        return len(self._payloads) - 1

    def begin(self, slots, agents, seeds):
        self._seeds[slots] = seeds
        self._agents.update(zip(slots.tolist(), agents.tolist(), strict=True))
        for agent in agents.tolist():
            harm(self._payloads[agent], "begin")

    def act(self, views):
        answers = np.zeros(len(views), np.int64)
        for row in range(len(views)):
            ply = int(views.plies[row])
            answer = harm(self._payloads[views.agents[row]], ply)
            if isinstance(answer, Unprintable):
                return answer
            answers[row] = pick(3, int(self._seeds[views.slots[row]]), CHOICE, 0, ply, 0) if answer is None else answer
        return answers

    def end(self, slots, results):
        for slot in slots.tolist():
            harm(self._payloads[self._agents[slot]], "end")

    def close(self):
        pass


PLAIN = plain_kind("harm", 1, Bot, ["pong"], {"HarmlessBot": b""})
SHARED = AgentKind(
    "shared-harm", 1, SharedPilot, lambda game: True, lambda game: [AgentSpec("HarmlessPilot", "shared-harm")]
)
