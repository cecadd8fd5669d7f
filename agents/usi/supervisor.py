"""Runs one engine and sees to it that nothing of it is left: a program of its own, which knows nothing of Ringside.

    python guard.py PARENT MEGABYTES COMMAND ARGUMENTS...

It dies with its parent, even if that is killed, and whatever the engine has started dies with it: the guard inherits
the engine's orphans. Its exit status is the engine's, or 128 and the signal that ended it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys
import time
from types import FrameType

LINUX = sys.platform == "linux"
DEATH_SIGNAL, INHERIT_ORPHANS = 1, 36  # PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER
CANNOT_RUN = 127
LOOK = 0.1  # seconds between two looks where the system does not tell that the parent is gone


class Called(Exception):  # noqa: N818 - no error
    """The parent is gone, or wants the engine to end."""


def prctl(what: int, value: int) -> None:
    if LINUX:
        ctypes.CDLL(None).prctl(what, value, 0, 0, 0)


def run(parent: int, megabytes: int, command: list[str]) -> int:
    engine = 0
    try:
        signal.signal(signal.SIGTERM, called)
        prctl(INHERIT_ORPHANS, 1)
        prctl(DEATH_SIGNAL, signal.SIGTERM)
        if os.getppid() != parent:  # it died before we asked
            return 1
        guard = os.getpid()
        engine = os.fork()
        if not engine:
            become(guard, megabytes, command)
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in range(3):  # the pipes are the engine's: they must end when it does
            os.dup2(nothing, number)
        return await_end(engine, parent)
    except Called:
        return 1
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if engine:
            end_all(engine)


def called(number: int, frame: FrameType | None) -> None:
    raise Called


def become(guard: int, megabytes: int, command: list[str]) -> None:
    """The engine's side of the fork: never returns."""
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for name in ("SIGINT", "SIGHUP", "SIGPIPE"):  # ignoring is inherited; an engine may rely on the usual
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        prctl(DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != guard:
            os._exit(1)
        os.setpgid(0, 0)
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        wanted = megabytes << 20
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        os.execv(command[0], command)
    except BaseException as error:
        os.write(2, f"{getattr(error, 'strerror', None) or error}\n".encode())
    os._exit(CANNOT_RUN)


def await_end(engine: int, parent: int) -> int:
    while True:
        pid, status = os.waitpid(engine if not LINUX else -1, 0 if LINUX else os.WNOHANG)
        if pid == engine:
            return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
        if not LINUX:
            if os.getppid() != parent:
                raise Called
            time.sleep(LOOK)


def end_all(engine: int) -> None:
    """The engine, its group, and whoever it has left to us."""
    kill(engine)
    with contextlib.suppress(OSError):
        os.killpg(engine, signal.SIGKILL)
    until = time.monotonic() + 2.0
    while time.monotonic() < until:
        for orphan in children():
            kill(orphan)
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.002)
        except ChildProcessError:
            return


def children() -> list[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            return [int(one) for one in file.read().split()]
    except OSError:
        return []


def kill(pid: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    os._exit(run(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
