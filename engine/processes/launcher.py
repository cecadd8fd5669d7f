"""Where worker processes come from: forked from a warm server where the platform has one, spawned elsewhere."""

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

from engine.processes.bootstrap import WorkerSettings, enter, enter_program

METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
WINDOWS = sys.platform == "win32"

# One thread starts them all and lasts as long as this process, because they die with the thread that started them.
_starter = ThreadPoolExecutor(1, "ringside-nursery")


def _prepare(name: str) -> dict[str, Any]:
    """What a child is told of this program, without its main module: workers need none of it, it may import Qt, and a
    script would need an `if __name__ == "__main__"`."""
    data: dict[str, Any] = spawn.get_preparation_data(name)
    data.pop("init_main_from_name", None)
    data.pop("init_main_from_path", None)
    return data


def _with(function: Any, names: dict[str, object]) -> FunctionType:
    """The same function, to which these global names mean something else."""
    return FunctionType(function.__code__, {**function.__globals__, **names}, closure=function.__closure__)


@functools.cache
def _launcher(method: str) -> Any:
    """multiprocessing's own way to start a process, but lean, and from a server that is ours alone: the program may
    use another one for purposes of its own."""
    names: dict[str, object] = {"spawn": SimpleNamespace(**{**vars(spawn), "get_preparation_data": _prepare})}
    module = "popen_forkserver" if method == "forkserver" else "popen_spawn_win32" if WINDOWS else "popen_spawn_posix"
    launcher: Any = importlib.import_module(f"multiprocessing.{module}").Popen
    if method == "forkserver":
        server = forkserver.ForkServer()
        server.set_forkserver_preload(["engine.play.workers.preload"])
        own = {**vars(forkserver), "connect_to_new_process": server.connect_to_new_process}
        names["forkserver"] = SimpleNamespace(**own)
        atexit.register(server._stop)  # type: ignore[attr-defined]  # and wait for its end
    changed = "__init__" if WINDOWS else "_launch"
    return type("LeanPopen", (launcher,), {changed: _with(getattr(launcher, changed), names)})


class LeanProcess(BaseProcess):
    """A process that is started by one of our launchers."""

    method = METHOD
    _start_method = None  # what its own children would use: the usual one

    @staticmethod
    def _Popen(process: LeanProcess) -> Any:  # noqa: N802 - multiprocessing asks for it by this name
        return _launcher(process.method)(process)


def shared_memory(size: int) -> Any:
    """Memory that a worker and this process both see."""
    return multiprocessing.get_context(METHOD).RawArray(ctypes.c_ubyte, size)


def start(end: socket.socket, output: socket.socket, memory: Any, settings: WorkerSettings) -> Future[BaseProcess]:
    """A worker with these ends of its sockets, which are closed here once it has them."""
    make = functools.partial(_start, end, output, enter, (memory, settings), METHOD)
    return _submit(make, (end, output))


def start_program(run: str, task: object, end: socket.socket, output: socket.socket) -> Future[BaseProcess]:
    """A process that calls `run`, "module:function", with its end of a line and its task. It may have children.

    Spawned: what it imports is its own, and nothing of ours is.
    """
    make = functools.partial(_start, end, output, enter_program, (run, task), "spawn")
    return _submit(make, (end, output))


def _submit(make: Callable[[], BaseProcess], ends: tuple[socket.socket, ...]) -> Future[BaseProcess]:
    try:
        birth = _starter.submit(make)
    except RuntimeError as error:  # no new processes while the program ends
        birth = Future()
        birth.set_exception(error)

    def close(_: object) -> None:
        for end in ends:
            end.close()

    birth.add_done_callback(close)  # started, failed or cancelled
    return birth


def _start(
    end: socket.socket,
    output: socket.socket,
    target: Callable[..., None],
    arguments: tuple[object, ...],
    method: str,
) -> BaseProcess:
    if not WINDOWS:  # a child that finds a folder for temporary files uses it, and we remove ours even if it is killed
        multiprocessing.util.get_temp_dir()
    given = (end, None if WINDOWS else output, *arguments)
    worker = target is enter
    name = "ringside-worker" if worker else "ringside-program"
    process = LeanProcess(target=target, args=given, name=name, daemon=worker)  # a daemon may have no children
    process.method = method
    process.start()
    # multiprocessing would look after it too, from other threads, and wait for it when this program ends.
    multiprocessing.process._children.discard(process)  # type: ignore[attr-defined]
    return process
