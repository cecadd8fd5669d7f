"""How a worker process is set up: it dies with its parent, keeps out of the way, and cannot take the machine along.

Imported before numpy in every worker, so it imports nothing that is heavy.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import importlib
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

LINUX = sys.platform == "linux"
OUT_OF_MEMORY = 77  # exit status of a worker that ran out of memory outside any agent's code
OURS = "RINGSIDE_"  # how the names of our variables begin
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
NICE = 10  # lower priority than the window: its 16 ms timer is then late by 4.5 ms at most, in 95 of 100
NICE_PROGRAM = 5  # of a program that has workers of its own, which add theirs

server: int | None = None  # pid of the process that workers are forked from, if there is one


@dataclass(frozen=True)
class WorkerSettings:
    """What every worker of an executor is told when it starts."""

    lanes: int
    record: bool  # keep the actions
    batch: int  # results in a message
    memory: int | None  # bytes that its agents may take
    plugins: tuple[str, ...] = ()  # modules to import: they register what is not installed
    rows: int = 4096  # matches that the marks can list
    log_words: int = 1 << 17  # of a match that is played alone: 1 MB
    variables: tuple[tuple[str, str], ...] = field(default_factory=lambda: own_variables())  # of now


def own_variables() -> tuple[tuple[str, str], ...]:
    """Those of the environment that are ours: a worker's server has those of when it was started."""
    return tuple((name, value) for name, value in os.environ.items() if name.startswith(OURS))


def cores() -> int:
    """That this program may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def use_one_thread() -> None:
    """Of number crunching: workers share the cores among themselves."""
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))


def die_with_parent(parent: int | None) -> None:
    """Nothing may be left running, even if the parent is killed."""
    if LINUX:
        # The signal comes when the thread that started us ends: it is one that lasts as long as its process.
        ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if parent is not None and os.getppid() != parent:  # it died before we asked
            os._exit(1)
    elif (above := multiprocessing.parent_process()) is not None:
        sentinel = above.sentinel

        def watch() -> None:
            wait([sentinel])
            os._exit(1)

        threading.Thread(target=watch, daemon=True, name="parent").start()


def ignore_signals() -> None:
    """Ctrl-C and a polite request to end go to everybody in the terminal; it is for the parent to decide."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)


def limit_memory(above: int) -> None:
    """Ask for more than this beyond what is in use now, and Python raises MemoryError."""
    if LINUX:
        import resource

        with open("/proc/self/statm", "rb") as file:
            data = int(file.read().split()[5]) * resource.getpagesize()
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        wanted = data + above
        if hard == resource.RLIM_INFINITY or wanted < hard:
            resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))


def settle(output: socket.socket | None, nice: int) -> None:
    """What a process of ours does first: `output` takes whatever is printed in it, if it is given."""
    above = multiprocessing.parent_process()
    die_with_parent(server if server is not None else above.pid if above else None)
    ignore_signals()
    if hasattr(os, "setsid"):
        os.setsid()  # so that whatever is started in it can be ended with it
    if output is not None:
        sys.stdout.flush()
        sys.stderr.flush()
        os.dup2(output.fileno(), 1)  # whatever it prints: its last lines are kept, the rest is thrown away
        os.dup2(output.fileno(), 2)
        output.close()
    else:
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - until the process ends
    with contextlib.suppress(OSError, AttributeError):
        os.nice(nice)
    with contextlib.suppress(OSError):  # Linux deals out time by session first, and niceness counts only within one
        Path("/proc/self/autogroup").write_text(str(nice))
    faulthandler.enable()  # a segmentation fault says where it happened


def enter(end: socket.socket, output: socket.socket | None, memory: Any, settings: WorkerSettings) -> None:
    """The first thing that runs in a worker, and the last."""
    settle(output, NICE)
    use_one_thread()
    for name, _ in own_variables():
        del os.environ[name]
    os.environ.update(settings.variables)
    for name in settings.plugins:
        importlib.import_module(name)
    worker = importlib.import_module("engine.play.workers.main")
    if settings.memory is not None:
        limit_memory(settings.memory)
    leave(worker.work(end, memory, settings))


def enter_program(end: socket.socket, output: socket.socket | None, run: str, task: object) -> None:
    """The same in a process of another kind: `run` is "module:function", imported once the process is set up."""
    settle(output, NICE_PROGRAM)
    module, function = run.split(":")
    leave(getattr(importlib.import_module(module), function)(end, task))


def leave(status: int) -> None:
    """At once: whatever ran here may have left threads behind."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # they may have been replaced, too
            stream.flush()
    os._exit(status)


def below(pid: int) -> list[Any]:
    """The processes that a process has started, and that those have."""
    import psutil

    try:
        return list(psutil.Process(pid).children(recursive=True))
    except psutil.Error:
        return []


def kill_all(processes: list[Any], patience: float = 0.0) -> None:
    """Those of `below`; and wait so many seconds at most until they are dead."""
    import psutil

    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.kill()
    until = time.monotonic() + patience
    while time.monotonic() < until and any(map(_runs, processes)):
        time.sleep(0.01)


def _runs(process: Any) -> bool:
    """A dead one may stay listed until whoever inherited it looks, and some take seconds for that."""
    import psutil

    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False
