"""Sets up a child process: it ends with its parent, has a lower priority and limited memory.

Every child imports this module before numpy, so it imports nothing heavy.
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
from multiprocessing.connection import wait
from pathlib import Path

LINUX = sys.platform == "linux"
OUT_OF_MEMORY = 77  # exit status of a child that ran out of memory
VARIABLES = "RINGSIDE_"  # prefix of our environment variables
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
NICE = 10  # lower priority than the window: its 16 ms timer is then at most 4.5 ms late in 95 of 100 cases
NICE_PROGRAM = 5  # of a process that starts workers of its own, which add their niceness to it

server: int | None = None  # pid of the fork server that started this process, if any


def ringside_variables() -> tuple[tuple[str, str], ...]:
    """Our environment variables as they are now; the fork server has those from its own start."""
    return tuple((name, value) for name, value in os.environ.items() if name.startswith(VARIABLES))


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def use_one_thread() -> None:
    """Limit numeric libraries to one thread: the processes themselves share the cores."""
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))


def die_with_parent(parent: int | None) -> None:
    """End this process when its parent ends, even if the parent is killed."""
    if LINUX:
        # The kernel sends the signal when the thread that started us ends; `launcher` has one that never ends.
        ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if parent is not None and os.getppid() != parent:  # it ended before this call
            os._exit(1)
    elif (above := multiprocessing.parent_process()) is not None:
        sentinel = above.sentinel

        def watch() -> None:
            wait([sentinel])
            os._exit(1)

        threading.Thread(target=watch, daemon=True, name="parent").start()


def ignore_signals() -> None:
    """A terminal sends Ctrl-C and SIGHUP to every process in it; only the parent reacts."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)


def limit_memory(above: int) -> None:
    """Let Python raise MemoryError when it allocates more than this beyond what is in use now."""
    if LINUX:
        import resource

        with open("/proc/self/statm", "rb") as file:
            data = int(file.read().split()[5]) * resource.getpagesize()
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        limit = data + above
        if hard == resource.RLIM_INFINITY or limit < hard:
            resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


def set_up_process(output: socket.socket | None, nice: int) -> None:
    """Must run first in a child process. `output` receives stdout and stderr; without it they are discarded."""
    above = multiprocessing.parent_process()
    die_with_parent(server if server is not None else above.pid if above else None)
    ignore_signals()
    if hasattr(os, "setsid"):
        os.setsid()  # a process group of its own, which can be killed as a whole
    if output is not None:
        sys.stdout.flush()
        sys.stderr.flush()
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
        output.close()
    else:
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - until the process ends
    with contextlib.suppress(OSError, AttributeError):
        os.nice(nice)
    with contextlib.suppress(OSError):  # Linux schedules by session first; niceness counts only within a session
        Path("/proc/self/autogroup").write_text(str(nice))
    faulthandler.enable()  # prints where a segmentation fault happened


def program_main(end: socket.socket, output: socket.socket | None, run: str, task: object) -> None:
    """Entry point of a process that calls `run`, "module:function", imported after the process is set up."""
    set_up_process(output, NICE_PROGRAM)
    module, function = run.split(":")
    exit_now(getattr(importlib.import_module(module), function)(end, task))


def exit_now(status: int) -> None:
    """Exit without waiting for threads that agents or trainers may have left running."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # they may have been replaced
            stream.flush()
    os._exit(status)
