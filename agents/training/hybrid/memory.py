"""How much memory a model needs and has needed, and how much the system has left."""

from __future__ import annotations

import ctypes
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from engine.processes.process_tree import resident_memory

LINUX = sys.platform == "linux"
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
RESET_PEAK = "5"  # for `clear_refs`: the peak of the resident memory becomes its current size
ENTRY = re.compile(r"^(VmHWM|VmRSS|RssFile|RssShmem):\s+(\d+) kB", re.M)
GROUPS = Path("/sys/fs/cgroup")
FILES = (("memory.max", "memory.current", "inactive_file"),)  # of control groups, version 2
OLD_FILES = (("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),)  # version 1
UNLIMITED = 1 << 60  # bytes: version 1 has such a limit where there is none


class PeakMemory:
    """Measures by how much the memory of this process grows at most in a `with` block: `peak` bytes, 0 if unknown.

    Pages of files and shared memory are left out: they exist once, whatever the number of processes. Memory that
    earlier models have left unused is given back to the system first, or it would hide what this one needs.
    """

    peak = 0

    def __enter__(self) -> Self:
        return_memory()
        self._before = _resident() if LINUX and _reset_peak() else {}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        now = _resident() if self._before else {}
        if now:
            shared = sum(now[name] - self._before[name] for name in ("RssFile", "RssShmem"))
            self.peak = max(now["VmHWM"] - self._before["VmRSS"] - max(shared, 0), 0)


def return_memory() -> None:
    """Give memory that is not in use back to the system: glibc keeps it otherwise."""
    if LINUX:
        with suppress(OSError, AttributeError):  # another C library
            ctypes.CDLL(None).malloc_trim(0)


def _reset_peak() -> bool:
    try:
        CLEAR.write_text(RESET_PEAK)
    except OSError:  # not allowed in some containers
        return False
    return True


def _resident() -> dict[str, int]:
    """Bytes of the resident memory of this process, by kind."""
    found = {name: int(size) << 10 for name, size in ENTRY.findall(STATUS.read_text())}
    return found if len(found) == 4 else {}


def own_memory(pid: int) -> int | None:
    """Bytes of memory that a process holds besides pages of files and shared memory: these exist once, whatever the
    number of processes. Elsewhere than on Linux they are included. None if it has ended."""
    if LINUX:
        try:
            _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_text().split()
            return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, ValueError):
            return None
    return resident_memory(pid)


def available_memory() -> int:
    """Bytes that processes may still use: of the machine, and of the control groups that this process belongs to."""
    return min([int(psutil.virtual_memory().available), *left_in_groups()])


def left_in_groups(root: Path = GROUPS, own: Path = Path("/proc/self/cgroup")) -> list[int]:
    """Bytes that each control group with a limit has left."""
    if not LINUX:
        return []
    found = []
    with suppress(OSError):
        for line in own.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers not in ("", "memory"):
                continue
            base, names = (root, FILES) if not controllers else (root / "memory", OLD_FILES)
            folder = base / path.lstrip("/")
            for place in (folder, *folder.parents):
                if not place.is_relative_to(base):
                    break
                found += [left for name in names if (left := _left(place, *name)) is not None]
    return found


def _left(folder: Path, limit: str, used: str, inactive: str) -> int | None:
    """Bytes that a control group has left; None if it has no limit. The system drops inactive pages of files."""
    try:
        most, now = int((folder / limit).read_text()), int((folder / used).read_text())
        match = re.search(rf"^{inactive} (\d+)$", (folder / "memory.stat").read_text(), re.M)
    except (OSError, ValueError):  # "max"
        return None
    return None if most > UNLIMITED else max(most - now + (int(match[1]) if match else 0), 0)
