"""Finds and kills the descendants of a process, and reads how much memory a process holds."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import psutil

HAS_CHILDREN_FILE = Path(f"/proc/self/task/{os.getpid()}/children").exists()  # psutil reads the stat of all processes
PASSES = 5  # a process may start another one while its tree is read


def descendants(pid: int) -> list[psutil.Process]:
    """The children of a process, their children and so on."""
    try:
        if not HAS_CHILDREN_FILE:
            return list(psutil.Process(pid).children(recursive=True))
        children = [psutil.Process(child) for child in _read_children(pid)]
    except psutil.Error:
        return []
    return children + [one for child in children for one in descendants(child.pid)]


def _read_children(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):  # it has ended
        for thread in os.listdir(f"/proc/{pid}/task"):
            found += map(int, Path(f"/proc/{pid}/task/{thread}/children").read_text().split())
    return found


def kill_descendants(pid: int) -> list[psutil.Process]:
    """Kill all descendants of a process, and return them. The process itself is stopped first: it starts no more."""
    if hasattr(signal, "SIGSTOP"):
        with suppress(OSError):
            os.kill(pid, signal.SIGSTOP)
    killed: list[psutil.Process] = []
    for _ in range(PASSES):
        found = [process for process in descendants(pid) if _is_running(process)]
        if not found:
            break
        kill_all(found)
        killed += [process for process in found if process not in killed]
    return killed


def kill_all(processes: list[psutil.Process], timeout: float = 0.0) -> None:
    """Kill these processes and wait until they have ended, for at most so many seconds."""
    for process in processes:
        with suppress(psutil.Error):
            process.kill()
    until = time.monotonic() + timeout
    while time.monotonic() < until and any(map(_is_running, processes)):
        time.sleep(0.01)


def _is_running(process: psutil.Process) -> bool:
    """A zombie does not count: the process that adopted it may take seconds to reap it."""
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def resident_memory(pid: int) -> int | None:
    """Bytes of memory that a process holds; None if it has ended."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        try:
            return int(psutil.Process(pid).memory_info().rss)
        except psutil.Error:
            return None
