"""Runs one engine and ends all its processes: a separate program that imports nothing of Ringside.

    python supervisor.py PARENT MEGABYTES COMMAND ARGUMENTS...

It ends when its parent ends, even if that is killed, and kills all processes that the engine started: as a subreaper it
becomes their parent. Its exit status is that of the engine, or 128 plus the signal that killed it.
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
POLL = 0.1  # seconds between checks for the parent on systems without PR_SET_PDEATHSIG


class StopRequested(Exception):  # noqa: N818 - not an error
    """The parent has ended, or requests the end of the engine."""


def prctl(what: int, value: int) -> None:
    if LINUX:
        ctypes.CDLL(None).prctl(what, value, 0, 0, 0)


def run(parent: int, megabytes: int, command: list[str]) -> int:
    engine = 0
    try:
        signal.signal(signal.SIGTERM, on_sigterm)
        prctl(INHERIT_ORPHANS, 1)
        prctl(DEATH_SIGNAL, signal.SIGTERM)
        if os.getppid() != parent:  # it ended before the signal was set
            return 1
        supervisor = os.getpid()
        engine = os.fork()
        if not engine:
            exec_engine(supervisor, megabytes, command)
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in range(3):  # close our copies of the pipes, so that they close when the engine ends
            os.dup2(nothing, number)
        return await_end(engine, parent)
    except StopRequested:
        return 1
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if engine:
            end_all(engine)


def on_sigterm(number: int, frame: FrameType | None) -> None:
    raise StopRequested


def exec_engine(supervisor: int, megabytes: int, command: list[str]) -> None:
    """Replaces the forked child by the engine; never returns."""
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for name in (
            "SIGINT",
            "SIGHUP",
            "SIGPIPE",
        ):  # ignored signals are inherited; an engine may rely on the defaults
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        prctl(DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != supervisor:
            os._exit(1)
        os.setpgid(0, 0)
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        limit = megabytes << 20
        soft = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
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
                raise StopRequested
            time.sleep(POLL)


def end_all(engine: int) -> None:
    """Kills the engine, its process group, and orphans that we inherited."""
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
            return [int(pid) for pid in file.read().split()]
    except OSError:
        return []


def kill(pid: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    os._exit(run(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
