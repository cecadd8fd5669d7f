"""Bots whose payload says how they break: `segfault`, or `segfault@left`, or nothing for one that is well.

`fault` is a kind of plain bots, which are asked one by one; `shared-fault` answers for all its agents in one call, so
that whatever breaks it breaks it for everybody.
"""

import contextlib
import ctypes
import os
import random
import signal
import stat
import struct
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.game import AgentKind, GameInfo
from engine.options import option
from engine.plain import PlainBoard, PlainGame, plain_kind
from engine.play.match import AgentSpec
from engine.seeding import pick, purpose

CHOICE = purpose("faults.choice")
PLY = 2  # they break at their third move


class Unspeakable(Exception):  # noqa: N818
    """An error that can be neither pickled nor rebuilt nor converted to text."""

    def __init__(self, lock: object, *, must: int) -> None:
        super().__init__(lock)
        self.lock, self.function = threading.Lock(), lambda: must

    def __str__(self) -> str:
        raise RuntimeError("no words")


def _hog() -> None:
    kept = []
    while True:
        kept.append(np.ones(4 << 20))  # 32 MB, and written to


def _flood() -> None:
    for stream in (1, 2):
        for _ in range(64):
            os.write(stream, b"x" * 65536)
    sys.stderr.write("and a line\n")


def _crumbs() -> None:
    """Prints its last output byte by byte, slowly."""
    for letter in "the first word," + " and another" * 10:
        os.write(2, letter.encode())
        time.sleep(0.001)
    os._exit(3)


def _children() -> None:
    """Starts a process that would outlive it."""
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)", "ringside-fault-child"])
    os._exit(1)


def _interrupt() -> None:
    raise KeyboardInterrupt


def _garbage() -> None:
    """Finds the socket of its worker and talks nonsense into it."""
    for handle in range(3, 64):
        with contextlib.suppress(OSError):
            if stat.S_ISSOCK(os.fstat(handle).st_mode):
                os.write(handle, struct.pack("<II", 12, 0) + b'["capacity"]')
    time.sleep(0.9)


def _reseed() -> None:
    random.seed(0)
    np.random.seed(0)


def _segfault() -> None:
    ctypes.string_at(0)


def _sleep() -> None:
    while True:
        time.sleep(3600)


def _hang_once() -> None:
    """Never answers, and says so with a file; but plays on if it is there already."""
    mark = Path(os.environ["RINGSIDE_HANGS"])
    if not mark.exists():
        mark.touch()
        _sleep()


def _deaf() -> None:
    """Asleep with the interpreter lock held: no signal handler and no other thread ever runs."""
    if hasattr(signal, "SIGTERM"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ctypes.PyDLL(None).sleep(3600)


def _raise(error: BaseException) -> None:
    raise error


FAULTS = {
    "raise": lambda: _raise(RuntimeError("I give up")),
    "long": lambda: _raise(RuntimeError("many words " * 1_000_000)),
    "unspeakable": lambda: _raise(Unspeakable(None, must=1)),
    "exit": lambda: sys.exit(4),
    "segfault": _segfault,
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "exit0": lambda: os._exit(0),
    "exit3": lambda: os._exit(3),
    "sleep": _sleep,
    "deaf": _deaf,
    "hang-once": _hang_once,
    "hog": _hog,
    "flood": _flood,
    "crumbs": _crumbs,
    "reseed": _reseed,
    "slow": lambda: time.sleep(1.5),
    "children": _children,
    "interrupt": _interrupt,
    "garbage": _garbage,
}


def broken(payload: bytes, seat: int, ply: int) -> str:
    """What this agent does wrong now, if anything."""
    fault, _, where = payload.decode().partition("@")
    here = where == "" or (where == "left") == (seat == 0)
    return fault if here and ply == PLY else ""


class Bot:
    def __init__(self, payload: bytes) -> None:
        if payload == b"load":
            raise OSError("no such weights")
        if payload == b"load-segfault":
            _segfault()
        self._payload = payload

    def act(self, view):
        if self._payload == b"unrepeatable":
            return os.urandom(1)[0] % 3
        fault = broken(self._payload, view.seat, view.ply)
        if fault == "nonsense":
            return "up"
        if fault == "huge":
            return 10**30
        FAULTS.get(fault, lambda: None)()
        return view.pick(3)


class SharedPilot:
    """All rows in one call, and not a word about which."""

    capacity = None

    def __init__(self, game, slots):
        self._payloads, self._seeds = [], np.zeros(slots, np.uint64)

    def load(self, agent):
        Bot(agent.payload)
        self._payloads.append(agent.payload)
        return len(self._payloads) - 1

    def begin(self, slots, agents, seeds):
        self._seeds[slots] = seeds

    def act(self, views):
        answers = np.zeros(len(views), np.int64)
        for row in range(len(views)):
            ply = int(views.plies[row])
            fault = broken(self._payloads[views.agents[row]], int(views.seats[row]), ply)
            if fault == "nonsense":
                return "up"
            if fault == "shape":
                return answers[:, None]
            FAULTS.get(fault, lambda: None)()
            answers[row] = pick(3, int(self._seeds[views.slots[row]]), CHOICE, 0, ply, 0)
        return answers

    def end(self, slots, results):
        pass

    def close(self):
        pass


@dataclass(frozen=True)
class BrokenOptions:
    fault: str = option("", help="what the rules do at the third step")


class BrokenBoard(PlainBoard):
    def __init__(self, fault: str) -> None:
        self._fault, self._steps = fault, 0

    def acting(self):
        return [0, 1] if self._steps < 5 else []

    def play(self, actions):
        self._steps += 1
        if self._steps == 3:
            FAULTS.get(self._fault, lambda: None)()

    def scores(self):
        return [0.0, float(self._steps == 5)]

    def observe(self, seat):
        return [self._steps]


class BrokenRules(PlainGame):
    name, version, Options = "broken-rules", 1, BrokenOptions
    info = GameInfo(title="Broken rules", seats=2, actions=3, observation=(1,), simultaneous=True)

    def new(self, seed, start):
        return BrokenBoard(self.options.fault)


PLAIN = plain_kind("fault", 1, Bot, ["pong", "broken-rules"], {"Well": b""})
SHARED = AgentKind(
    "shared-fault", 1, SharedPilot, lambda game: True, lambda game: [AgentSpec("SharedWell", "shared-fault")]
)
