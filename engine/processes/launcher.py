"""Starts child processes: forked from a server that has imported everything, or spawned where there is no fork."""

from __future__ import annotations

import atexit
import ctypes
import functools
import importlib
import multiprocessing
import multiprocessing.process
import multiprocessing.util
import socket
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing import forkserver, spawn
from multiprocessing.process import BaseProcess
from types import FunctionType, SimpleNamespace
from typing import Any

from engine.processes.bootstrap import program_main

METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
WINDOWS = sys.platform == "win32"

# One thread that never ends starts them all, because on Linux a child ends with the thread that started it.
_starter = ThreadPoolExecutor(1, "ringside-launcher")


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
def _popen_class(method: str, preload: str) -> Any:
    """multiprocessing's Popen for this start method, without the main module and with a fork server of its own: the
    program may use the default one for other purposes."""
    names: dict[str, object] = {"spawn": SimpleNamespace(**{**vars(spawn), "get_preparation_data": _preparation_data})}
    module = "popen_forkserver" if method == "forkserver" else "popen_spawn_win32" if WINDOWS else "popen_spawn_posix"
    launcher: Any = importlib.import_module(f"multiprocessing.{module}").Popen
    if method == "forkserver":
        server = forkserver.ForkServer()
        server.set_forkserver_preload([preload])
        own = {**vars(forkserver), "connect_to_new_process": server.connect_to_new_process}
        names["forkserver"] = SimpleNamespace(**own)
        atexit.register(server._stop)  # type: ignore[attr-defined]  # and waits until it has ended
    changed = "__init__" if WINDOWS else "_launch"
    return type("LeanPopen", (launcher,), {changed: _with_globals(getattr(launcher, changed), names)})


class ChildProcess(BaseProcess):
    """A process that this module starts."""

    method = METHOD
    preload = ""  # the module that its fork server imports
    _start_method = None  # its own children use the default

    @staticmethod
    def _Popen(process: ChildProcess) -> Any:  # noqa: N802 - multiprocessing calls it by this name
        return _popen_class(process.method, process.preload)(process)


def shared_memory(size: int) -> Any:
    """Memory that this process shares with a child."""
    return multiprocessing.get_context(METHOD).RawArray(ctypes.c_ubyte, size)


def start_worker(
    target: Callable[..., None], arguments: tuple[object, ...], end: socket.socket, output: socket.socket, preload: str
) -> Future[BaseProcess]:
    """Start a process that calls `target(end, output, *arguments)`; both sockets are closed here afterwards.

    It is forked, where the platform can, from a server that has imported the module `preload`. It has no children.
    """
    make = functools.partial(_start, end, output, target, arguments, METHOD, preload)
    return _submit(make, (end, output))


def start_process(run: str, task: object, end: socket.socket, output: socket.socket) -> Future[BaseProcess]:
    """Start a process that calls `run`, "module:function", with its socket and its task. It may have children.

    It is spawned, so that it shares no imported module with this process.
    """
    make = functools.partial(_start, end, output, program_main, (run, task), "spawn", "")
    return _submit(make, (end, output))


def _submit(make: Callable[[], BaseProcess], ends: tuple[socket.socket, ...]) -> Future[BaseProcess]:
    try:
        starting = _starter.submit(make)
    except RuntimeError as error:  # the interpreter is shutting down
        starting = Future()
        starting.set_exception(error)

    def close(_: object) -> None:
        for end in ends:
            end.close()

    starting.add_done_callback(close)  # started, failed or cancelled
    return starting


def _start(
    end: socket.socket,
    output: socket.socket,
    target: Callable[..., None],
    arguments: tuple[object, ...],
    method: str,
    preload: str,
) -> BaseProcess:
    if not WINDOWS:  # children use this process's temporary folder, which is removed even if they are killed
        multiprocessing.util.get_temp_dir()
    given = (end, None if WINDOWS else output, *arguments)
    worker = bool(preload)
    name = "ringside-worker" if worker else "ringside-program"
    process = ChildProcess(target=target, args=given, name=name, daemon=worker)  # a daemon may have no children
    process.method, process.preload = method, preload
    process.start()
    # Otherwise multiprocessing polls it from other threads and waits for it when this program ends.
    multiprocessing.process._children.discard(process)  # type: ignore[attr-defined]
    return process
