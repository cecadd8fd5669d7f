"""Bots that harm the process they share, as their payload says: by what they raise, by what they return, or otherwise.

`harm` is a kind of plain bots, which are asked one by one; `shared-harm` answers for all its agents in one call.
"""

import asyncio

import numpy as np

from engine.game import AgentFault, AgentKind
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
FAULTS = {**TEXTS}


def harm(payload, ply):
    """What this agent does in this step; an answer that it gives instead of an action, if any."""
    return FAULTS[payload.decode()]() if payload and ply == PLY else None


class Bot:
    def __init__(self, payload):
        self._payload = payload

    def act(self, view):
        answer = harm(self._payload, view.ply)
        return view.pick(3) if answer is None else answer


class SharedPilot:
    """All rows in one call, and not a word about which."""

    capacity = None

    def __init__(self, game, slots):
        self._payloads, self._seeds = [], np.zeros(slots, np.uint64)

    def load(self, agent):
        self._payloads.append(agent.payload)
        return len(self._payloads) - 1

    def begin(self, slots, agents, seeds):
        self._seeds[slots] = seeds

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
        pass

    def close(self):
        pass


PLAIN = plain_kind("harm", 1, Bot, ["pong"], {"HarmlessBot": b""})
SHARED = AgentKind(
    "shared-harm", 1, SharedPilot, lambda game: True, lambda game: [AgentSpec("HarmlessPilot", "shared-harm")]
)
