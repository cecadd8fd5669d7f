"""Where worker processes come from: forked from a warm server where the platform has one, spawned elsewhere."""

from __future__ import annotations

import ctypes
import multiprocessing
import multiprocessing.process
import multiprocessing.spawn
import socket
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.process import BaseProcess
from typing import Any

from engine.play.process import WorkerSettings, enter

METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
HAS_OUTPUT = sys.platform != "win32"  # there a socket cannot stand in for a file

# One thread starts them all and lasts as long as this process, because they die with the thread that started them.
_starter = ThreadPoolExecutor(1, "ringside-nursery")
_prepare = multiprocessing.spawn.get_preparation_data


def _prepare_lean(name: str) -> dict[str, Any]:
    """Our children do not import this program's main module: they need none of it, it may import Qt, and a script
    would need an `if __name__ == "__main__"`."""
    data: dict[str, Any] = _prepare(name)
    if threading.current_thread().name.startswith("ringside-nursery"):
        data.pop("init_main_from_name", None)
        data.pop("init_main_from_path", None)
    return data


multiprocessing.spawn.get_preparation_data = _prepare_lean


def shared_memory(size: int) -> Any:
    """Memory that a worker and this process both see."""
    return multiprocessing.get_context(METHOD).RawArray(ctypes.c_ubyte, size)


def start(end: socket.socket, output: socket.socket, memory: Any, settings: WorkerSettings) -> Future[BaseProcess]:
    """A worker with these ends of its sockets, which are closed here once it has them."""
    return _starter.submit(_start, end, output, memory, settings, METHOD)


def _start(
    end: socket.socket, output: socket.socket, memory: Any, settings: WorkerSettings, method: str
) -> BaseProcess:
    context: Any = multiprocessing.get_context(method)
    if method == "forkserver":
        context.set_forkserver_preload(["engine.play.preload"])
    arguments = (end, output if HAS_OUTPUT else None, memory, settings)
    process: BaseProcess = context.Process(target=enter, args=arguments, name="ringside-worker", daemon=True)
    try:
        process.start()
    finally:
        end.close()
        output.close()
    # multiprocessing would look after it too, from other threads, and wait for it when this program ends.
    multiprocessing.process._children.discard(process)  # type: ignore[attr-defined]
    return process
