"""Garbage collection happens only in the GUI thread."""

from __future__ import annotations

import gc
import threading
import weakref

from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from league_app.gui.garbage_collection import GuiThreadCollector, gc_paused


class Knot(QObject):
    """Refers to itself, so that only the garbage collector can free it."""

    def __init__(self) -> None:
        super().__init__()
        self.itself = self


def test_garbage_is_collected_only_in_the_gui_thread(collector: GuiThreadCollector, qtbot: QtBot) -> None:
    collected: list[threading.Thread] = []
    weakref.finalize(Knot(), lambda: collected.append(threading.current_thread()))

    objects: list[list[int]] = []
    thread = threading.Thread(target=lambda: objects.extend([] for _ in range(200_000)))
    thread.start()
    thread.join()
    assert not collected, "Python's automatic collection would have run there"
    qtbot.waitUntil(lambda: bool(collected))
    assert collected == [threading.main_thread()]


def test_no_collection_runs_while_it_is_paused(collector: GuiThreadCollector) -> None:
    objects = [[] for _ in range(2 * gc.get_threshold()[0])]
    with gc_paused:
        collector.collect()
        assert gc.get_count()[0] > len(objects) // 2
    collector.collect()
    assert gc.get_count()[0] < len(objects) // 2


def test_stop_enables_automatic_collection_again(collector: GuiThreadCollector) -> None:
    other = GuiThreadCollector(collector)
    assert not gc.isenabled()
    other.stop()
    try:
        assert gc.isenabled()
    finally:
        gc.disable()
