"""The child's side of `ChildProcess`: sets the process up, then calls its function.

Every child imports this module before numpy, so it imports nothing heavy.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import importlib
import multiprocessing
import os
import signal
import socket
import sys
import threading
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path

LINUX = sys.platform == "linux"
OUT_OF_MEMORY = 77  # exit status of a child that ran out of memory
VARIABLES = "RINGSIDE_"  # prefix of our environment variables
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
NICE = 10  # lower priority than the window: its 16 ms timer is then at most 4.5 ms late in 95 of 100 cases
NICE_PROGRAM = 5  # of a process that starts workers of its own, which add their niceness to it

DEATH_SIGNAL, ADOPT_ORPHANS = 1, 36  # PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER

server: int | None = None  # pid of the fork server that started this process, if any


def ringside_variables() -> tuple[tuple[str, str], ...]:
    """Our environment variables as they are now; the fork server has those from its own start."""
    return tuple((name, value) for name, value in os.environ.items() if name.startswith(VARIABLES))


@dataclass(frozen=True)
class ChildSetup:
    """How a child process is started, and set up before its function is called."""

    server: str = ""  # module that its fork server imports once for all children; empty: spawned, it shares no import
    libraries: tuple[str, ...] = ()  # heavy libraries: a fork server of their own imports them too
    nice: int = NICE  # added to the niceness of its parent
    one_thread: bool = True  # limit numeric libraries to one thread
    memory: int | None = None  # bytes that it may allocate beyond what it uses before its function is called
    plugins: tuple[str, ...] = ()  # modules to import: they register games and agents that are not installed
    children: bool = False  # whether it may start child processes of its own with multiprocessing
    variables: tuple[tuple[str, str], ...] = field(default_factory=ringside_variables)


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def use_one_thread() -> None:
    """Limit numeric libraries to one thread: the processes themselves share the cores."""
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))


def _prctl(what: int, value: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(what, value, 0, 0, 0)


def die_with_parent(parent: int | None) -> None:
    """End this process when its parent ends, even if the parent is killed."""
    if LINUX:
        # The kernel sends the signal when the thread that started us ends; `launcher` has one that never ends.
        _prctl(DEATH_SIGNAL, signal.SIGKILL)
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


def set_up_server() -> None:
    """Set up a fork server. Its children inherit this, except that they end with their parent."""
    global server
    use_one_thread()
    die_with_parent(None)
    ignore_signals()
    server = os.getpid()


def child_main(
    end: socket.socket, output: socket.socket | None, run: str, arguments: tuple[object, ...], setup: ChildSetup
) -> None:
    """The main function of a child process: calls `run`, "module:function", which is imported after the set-up."""
    _set_up(output, setup)
    for name in setup.plugins:
        importlib.import_module(name)
    module, function = run.split(":")
    call = getattr(importlib.import_module(module), function)
    if setup.memory is not None:
        limit_memory(setup.memory)
    exit_now(call(end, *arguments))


def _set_up(output: socket.socket | None, setup: ChildSetup) -> None:
    """`output` receives stdout and stderr; without it they are discarded."""
    above = multiprocessing.parent_process()
    die_with_parent(server if server is not None else above.pid if above else None)
    ignore_signals()
    if LINUX:  # descendants whose parent has ended stay below this process, so that they are ended with it
        _prctl(ADOPT_ORPHANS, 1)
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
        os.nice(setup.nice)
    with contextlib.suppress(OSError):  # Linux schedules by session first; niceness counts only within a session
        Path("/proc/self/autogroup").write_text(str(setup.nice))
    faulthandler.enable()  # prints where a segmentation fault happened
    if server is not None:
        gc.freeze()  # the memory is shared with the server, and garbage collection would copy it
    if setup.one_thread:
        use_one_thread()
    for name, _ in ringside_variables():
        del os.environ[name]
    os.environ.update(setup.variables)


def exit_now(status: int | None) -> None:
    """Exit without waiting for threads that agents or trainers may have left running."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # they may have been replaced
            stream.flush()
    os._exit(status or 0)
