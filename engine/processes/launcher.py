"""Starts child processes: forked from a server that has imported everything, or spawned where there is no fork."""

from __future__ import annotations

import atexit
import ctypes
import functools
import importlib
import multiprocessing
import multiprocessing.process
import os
import signal
import socket
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing import connection, forkserver, spawn
from multiprocessing.process import BaseProcess
from types import FunctionType, SimpleNamespace
from typing import Any

from engine.processes.bootstrap import ChildSetup, child_main
from engine.temporary import private_folder

METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
WINDOWS = sys.platform == "win32"
SERVER = "engine.processes.fork_server"  # every fork server imports it first
SERVER_GRACE = 5.0  # seconds until a fork server that was killed has ended, on a busy machine

# One thread that never ends starts them all, because on Linux a child ends with the thread that started it.
starter = ThreadPoolExecutor(1, "ringside-launcher")
_failed: set[tuple[str, ...]] = set()  # libraries whose fork server could not be started


def _preparation_data(name: str) -> dict[str, Any]:
    """What multiprocessing sends to a child, without the main module: children do not need it, it may import Qt, and a
    script would need an `if __name__ == "__main__"`."""
    data: dict[str, Any] = spawn.get_preparation_data(name)
    data.pop("init_main_from_name", None)
    data.pop("init_main_from_path", None)
    return data


def _with_globals(function: Any, names: dict[str, object]) -> FunctionType:
    """A copy of a function in which these global names are replaced."""
    return FunctionType(function.__code__, {**function.__globals__, **names}, closure=function.__closure__)


@functools.cache
def _popen_class(method: str, preload: tuple[str, ...]) -> Any:
    """multiprocessing's Popen for this start method, without the main module and with a fork server of its own for
    these modules: the program may use the default one for other purposes."""
    names: dict[str, object] = {"spawn": SimpleNamespace(**{**vars(spawn), "get_preparation_data": _preparation_data})}
    module = "popen_forkserver" if method == "forkserver" else "popen_spawn_win32" if WINDOWS else "popen_spawn_posix"
    launcher: Any = importlib.import_module(f"multiprocessing.{module}").Popen
    server = None
    if method == "forkserver":
        server = forkserver.ForkServer()
        server.set_forkserver_preload([SERVER, *preload])
        own = {**vars(forkserver), "connect_to_new_process": server.connect_to_new_process}
        names["forkserver"] = SimpleNamespace(**own)
        atexit.register(server._stop)  # type: ignore[attr-defined]  # and waits until it has ended
    changed = "__init__" if WINDOWS else "_launch"
    members: dict[str, Any] = {changed: _with_globals(getattr(launcher, changed), names), "server": server}
    if server is not None:
        members["poll"] = _poll
    return type("LeanPopen", (launcher,), members)


def _poll(popen: Any, flag: int = getattr(os, "WNOHANG", 1)) -> int | None:
    """The exit status of a forked process. If its fork server ended first, nobody can read it, and multiprocessing says
    255, as if the process had exited so: but it is killed with its server."""
    if popen.returncode is None and connection.wait([popen.sentinel], 0 if flag else None):
        try:
            popen.returncode = forkserver.read_signed(popen.sentinel)
        except (OSError, EOFError):
            popen.returncode = -int(signal.SIGKILL)
    return popen.returncode  # type: ignore[no-any-return]


class _Process(BaseProcess):
    """A process that this module starts."""

    method = METHOD
    preload: tuple[str, ...] = ()  # modules that its fork server imports
    _start_method = None  # its own children use the default

    @staticmethod
    def _Popen(process: _Process) -> Any:  # noqa: N802 - multiprocessing calls it by this name
        return _popen_class(process.method, process.preload)(process)


def shared_memory(size: int) -> Any:
    """Memory that this process shares with a child."""
    return multiprocessing.get_context(METHOD).RawArray(ctypes.c_ubyte, size)


def start(
    run: str, arguments: tuple[object, ...], setup: ChildSetup, end: socket.socket, output: socket.socket
) -> Future[BaseProcess]:
    """Start a process that calls `run`, "module:function", with `end` and the arguments.

    Both sockets are closed here afterwards. It is forked from the fork server that `setup` names, where the platform
    can; otherwise it is spawned.
    """
    try:
        starting = starter.submit(_start, run, arguments, setup, end, output)
    except RuntimeError as error:  # the interpreter is shutting down
        starting = Future()
        starting.set_exception(error)

    def close(_: object) -> None:
        end.close()
        output.close()

    starting.add_done_callback(close)  # started, failed or cancelled
    return starting


def _start(
    run: str, arguments: tuple[object, ...], setup: ChildSetup, end: socket.socket, output: socket.socket
) -> BaseProcess:
    if not WINDOWS:  # children use this process's temporary folder, which is removed even if they are killed
        private_folder()
    given = (end, None if WINDOWS else output, run, arguments, setup)
    wanted = () if setup.libraries in _failed else setup.libraries
    for libraries in (wanted, wanted):
        try:
            return _started(given, setup, libraries)
        except (EOFError, ConnectionError):  # the fork server has ended, because it was killed or cannot import them
            if not setup.server or METHOD != "forkserver":
                raise
            _await_end(_popen_class(METHOD, (setup.server, *libraries)).server)
    if wanted:
        _failed.add(wanted)  # the child imports them itself, and reports errors
    return _started(given, setup, ())


def _await_end(server: Any) -> None:
    """Wait until a fork server that does not answer has ended, and remove it: the next start makes another."""
    until = time.monotonic() + SERVER_GRACE
    while not os.waitid(os.P_PID, server._forkserver_pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        if time.monotonic() > until:
            return
        time.sleep(0.005)
    server._stop()


def _started(given: tuple[object, ...], setup: ChildSetup, libraries: tuple[str, ...]) -> BaseProcess:
    name = f"ringside-{'program' if setup.children else 'worker'}"
    process = _Process(target=child_main, args=given, name=name, daemon=not setup.children)  # a daemon has no children
    if setup.server:
        process.method, process.preload = METHOD, (setup.server, *libraries)
    else:
        process.method = "spawn"
    process.start()
    # Otherwise multiprocessing polls it from other threads and waits for it when this program ends.
    multiprocessing.process._children.discard(process)  # type: ignore[attr-defined]
    return process
