"""Imports of plug-ins, which may raise anything, crash or never return."""

from __future__ import annotations

import importlib
import multiprocessing
from collections.abc import Iterable
from importlib.metadata import EntryPoint
from typing import Any

from engine.foreign_code import INTERRUPTS, call_within, name_and_text

IMPORT_LIMIT = 30.0  # seconds that the import of a plug-in may take in this program; workers have a watchdog


class LateModules:
    """Modules that register more names. They are imported when a name is not found: in a worker, that is when an agent
    needs it, so that a module that crashes or hangs fails that agent alone."""

    def __init__(self) -> None:
        self._waiting: list[str] = []
        self.problems: list[str] = []  # why some of them cannot be imported

    def add(self, names: Iterable[str]) -> None:
        self._waiting += names

    def load(self) -> bool:
        """Import those that are left; returns whether there were any."""
        waiting, self._waiting = self._waiting, []
        for name in waiting:
            try:
                importlib.import_module(name)
            except INTERRUPTS:
                raise
            except BaseException as error:  # a plug-in may fail in any way
                self.problems.append(f"the plug-in {name!r} cannot be imported: {name_and_text(error)}")
        return bool(waiting)


LATE_MODULES = LateModules()
_hanging: set[str] = set()  # modules whose import did not return


def load_entry_point(point: EntryPoint) -> Any:
    """Import what an entry point names. In this program, a plug-in that does not return is given up."""
    own = point.dist is not None and point.dist.name == "ringside"
    if own or multiprocessing.parent_process() is not None:
        return point.load()
    if point.module in _hanging:
        raise TimeoutError(f"the import of {point.module} did not return within {IMPORT_LIMIT:g} s before")
    try:
        return call_within(IMPORT_LIMIT, point.load)
    except TimeoutError:
        _hanging.add(point.module)
        raise
