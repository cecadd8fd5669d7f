"""Whose thread takes widgets apart that nobody needs any more."""

from __future__ import annotations

import gc
import threading
import weakref

from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from league_app.gui.garbage_collection import Collector
from league_app.gui.gc_pause import no_sweeping


class Knot(QObject):
    """Holds itself, so that only the collector of garbage can take it apart."""

    def __init__(self) -> None:
        super().__init__()
        self.itself = self


def test_garbage_is_collected_in_the_windows_thread_alone(collector: Collector, qtbot: QtBot) -> None:
    gone: list[threading.Thread] = []
    weakref.finalize(Knot(), lambda: gone.append(threading.current_thread()))

    kept: list[list[int]] = []
    thread = threading.Thread(target=lambda: kept.extend([] for _ in range(200_000)))
    thread.start()
    thread.join()
    assert not gone, "Python by itself would have collected it there"
    qtbot.waitUntil(lambda: bool(gone), timeout=10_000)
    assert gone == [threading.main_thread()]


def test_a_large_table_is_built_before_anything_is_collected(collector: Collector) -> None:
    kept = [[] for _ in range(2 * gc.get_threshold()[0])]
    with no_sweeping:
        collector.look()
        assert gc.get_count()[0] > len(kept) // 2
    collector.look()
    assert gc.get_count()[0] < len(kept) // 2


def test_afterwards_it_is_pythons_business_again(collector: Collector) -> None:
    other = Collector(collector)
    assert not gc.isenabled()
    other.end()
    try:
        assert gc.isenabled()
    finally:
        gc.disable()
