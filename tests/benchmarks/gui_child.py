"""The window in a separate process, measured from inside: `python -m tests.benchmarks.gui_child WHAT ARGUMENTS`.

What it found is the last line of what it prints, as JSON. Nothing of Qt or Ringside is imported up here: how long that
takes is one of the questions.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

UNWANTED = ("torch", "neat", "pyqtgraph")  # large modules that start-up must not import
PLANNED = 40_000  # matches per second of measurement: more than can be played
PLAYERS = ("Predictor", "Shaky")  # they play long matches


def report(found: object) -> None:
    print(json.dumps(found), flush=True)


# Start-up


def opened(league: str, whole: str = "") -> None:
    """Runs `python -m league_app window LEAGUE`; prints a line when the window is painted, and one at the end."""
    since = time.perf_counter()
    import league_app.gui.main_window
    from league_app.cli.main import main
    from league_app.gui import application
    from tests.benchmarks.gui_watch import Clock, Painted, until

    imported = time.perf_counter()
    found: dict[str, Any] = {"imports": imported - since}
    start = application.Application.start

    def watched(self: application.Application) -> None:
        def painted(now: float) -> None:
            found["loaded"] = [name for name in UNWANTED if name in sys.modules]
            found["painted"] = now - since
            report(found)
            clock = Clock(5)

            def settle() -> None:
                until(lambda: not whole or settled(self.window))
                found["settled"] = time.perf_counter() - since
                found["stall"] = max(clock.stop())
                found["torch"] = "torch" in sys.modules
                self.window.close_without_asking()

            league_app.gui.main_window.QTimer.singleShot(0, settle)

        self.painted = Painted(self.window, painted)  # type: ignore[attr-defined]
        start(self)

    application.Application.start = watched  # type: ignore[method-assign]
    main(["window", league])
    report(found)


def bare() -> None:
    """A minimal Qt window, for comparison."""
    from PySide6.QtWidgets import QApplication, QMainWindow

    from tests.benchmarks.gui_watch import Painted

    application = QApplication(sys.argv[:1])
    window = QMainWindow()
    window.resize(1280, 720)

    def painted(now: float) -> None:
        report({})
        application.quit()

    seen = Painted(window, painted)
    window.show()
    application.exec()
    del seen


def settled(window: Any) -> bool:
    """Whether it shows its league and has created all pages."""
    from league_app.gui.main_window import DOCKS, PAGES

    context = window.context
    complete = len(window.docks) == len(DOCKS) and len(window.pages) == len(PAGES)
    return complete and context.state is not None and not context.read_queue.waiting and not context.slow_queue.waiting


class Opened:
    """A window with a league; an error message in it ends the measurement."""

    def __init__(self, league: str) -> None:
        from league_app.gui import application
        from tests.benchmarks.gui_watch import until

        self._until = until
        self._qt = application.make_application()
        assert self._qt is not None, "there is no display"
        sys.setswitchinterval(application.SWITCH_INTERVAL)
        self._application = application.Application(self._qt, Path(league))
        self.window = self._application.window
        self._wrong: list[object] = []
        self.window.context.failed.connect(self._wrong.append)
        self._application.start()
        until(lambda: settled(self.window))

    def __enter__(self) -> Any:
        return self.window

    def __exit__(self, *error: object) -> None:
        self.window.close_without_asking()
        self._until(lambda: not self.window.isVisible())
        self._application.stop()
        if self._wrong:
            raise AssertionError(f"the window reported {self._wrong}")


# With a league open


def inside(league: str, seconds: str, turns: str, *parts: str) -> None:
    """Several measurements in one window."""
    from tests.benchmarks.gui_idle import idle

    measured: dict[str, Callable[..., Any]] = {
        "sights": sights,
        "lateness": lateness,
        "watching": watching,
        "idle": idle,
    }
    found: dict[str, Any] = {}
    with Opened(league) as window:
        for part in parts:
            name, _, size = part.partition(":")
            more = [tuple(map(int, size.split("x")))] if size else []
            found[part] = measured[name](window, float(seconds), int(turns), *more)
        found["ratio"] = window.devicePixelRatioF()
    report(found)


# Under load


def lateness(window: Any, seconds: float, turns: int) -> dict[str, Any]:
    """Delays of a 16 ms timer, alternately when idle and while two workers play and results arrive."""
    import psutil

    from tests.benchmarks.gui_watch import Clock, for_a_while, until

    state, page = window.context.league, window.page("standings")
    state.budget.cores = 2
    window.show_page("standings")
    until(lambda: bool(page.model.rows) and window.docks["run"].isVisible())
    found: dict[str, Any] = {"idle": [], "playing": [], "own": [], "machine": [], "rate": []}

    def sampled(name: str) -> None:
        clock = Clock(16)
        for_a_while(seconds)
        found[name].append(clock.stop())

    entrants = len(state.agents("pong"))
    rounds = -(-int(PLANNED * seconds) // (entrants * (entrants - 1)))
    for _ in range(turns):
        for_a_while(min(seconds, 1.0))  # the last notifications have arrived
        sampled("idle")
        job = state.start_tournament(game="pong", options={"rounds": rounds})
        before = job.progress().played
        until(lambda job=job, before=before: job.progress().played > before + 500)
        psutil.cpu_percent()
        before, own, since = job.progress().played, time.process_time(), time.perf_counter()
        sampled("playing")
        found["machine"].append(psutil.cpu_percent())
        found["own"].append((time.process_time() - own) / (time.perf_counter() - since))
        until(lambda job=job, before=before: job.progress().played > before)
        assert state.job is job, "the tournament was too short"
        found["rate"].append((job.progress().played - before) / (time.perf_counter() - since))
        job.stop()
        until(lambda: state.job is None)
    return found


def watching(window: Any, seconds: float, turns: int, size: tuple[int, int] = (1280, 720)) -> dict[str, Any]:
    """A live match at normal speed, alternately running and paused: frames painted, and processor time."""
    from engine.registry import new_game
    from tests.benchmarks.gui_watch import Frames, for_a_while, until

    state, page = window.context.league, window.page("match")
    warm = min(seconds, 1.0) * 60
    window.resize(*size)
    state.show_visuals = True
    job = state.start_tournament(game=new_game("pong", points=99).spec, agents=PLAYERS, options={"rounds": 1})
    window.show_page("match")
    until(lambda: page.shown is not None and page.shown.live is state.live and page.shown.step > warm)
    frames, found = Frames(page.view.canvas), {"frames": [], "cpu": [], "still": []}  # type: ignore[var-annotated]
    live = page.shown.live
    for _ in range(turns):
        count, own, since = frames.count, time.process_time(), time.perf_counter()
        for_a_while(seconds)
        taken = time.perf_counter() - since
        found["cpu"].append((time.process_time() - own) / taken)
        found["frames"].append((frames.count - count) / taken)
        page.play_pause()
        until(lambda: page.shown.paused)
        own, since = time.process_time(), time.perf_counter()
        for_a_while(seconds)
        found["still"].append((time.process_time() - own) / (time.perf_counter() - since))
        page.play_pause()
        until(lambda: not page.shown.paused)
    assert page.shown.live is live, "the match was too short"
    canvas = page.view.canvas
    job.stop()
    until(lambda: state.job is None)
    state.show_visuals = False
    return {**found, "size": [canvas.image.width(), canvas.image.height()]}


# A large league


def sights(window: Any, seconds: float, turns: int) -> dict[str, tuple[float, float]]:
    """Time from opening a page until its rows are painted, and the longest time the event loop was blocked."""
    from PySide6.QtCore import Qt

    found: dict[str, tuple[float, float]] = {}
    standings, history = window.page("standings"), window.page("history")
    table, crosstable, matches = standings.table, standings.crosstable, history.matches
    shown = shown_in(found, min(seconds / 5, 0.3))
    standings.tabs.setCurrentIndex(0)
    shown("standings", table, lambda: window.show_page("standings"))
    shown("crosstable", crosstable, lambda: standings.tabs.setCurrentIndex(1))
    standings.tabs.setCurrentIndex(0)
    shown("history", matches.table, lambda: window.show_page("history"))
    steps = next(place for place, column in enumerate(matches.model.columns) if column.title == "Steps")
    order = Qt.SortOrder.DescendingOrder
    shown("sorted", matches.table, lambda: matches.table.sortByColumn(steps, order))
    shown("unsorted", matches.table, lambda: matches.table.sortByColumn(-1, order))
    shown("words", matches.table, lambda: matches.field.setText("agent 17"))
    shown("all", matches.table, matches.clear)
    shown("agent", matches.table, lambda: matches.agent.setCurrentIndex(7))
    shown("all", matches.table, matches.clear)
    shown("upsets", matches.table, lambda: matches.filter(ending="upset"))
    assert 0 < matches.model.total < window.context.league.league.tournaments()[-1].played
    return found


def shown_in(found: dict[str, tuple[float, float]], pause: float) -> Callable[[str, Any, Callable[[], Any]], None]:
    from tests.benchmarks.gui_watch import Clock, Painted, for_a_while, until

    def shown(name: str, view: Any, asking: Callable[[], Any]) -> None:
        """Whether the model has changed since the request and the table is painted."""
        for_a_while(pause)
        model, news, times = view.model(), [], list[float]()  # type: ignore[var-annotated]
        signals = [(signal, lambda *args: news.append(args)) for signal in (model.modelReset, model.dataChanged)]
        for signal, receive in signals:
            signal.connect(receive)
        clock, since = Clock(5), time.perf_counter()
        seen = Painted(view.viewport(), times.append, lambda: bool(news) and model.rowCount() > 0)
        asking()
        until(lambda: bool(times), 5)
        for_a_while(pause / 2)  # includes work that follows at once
        found[name] = times[0] - since, max(clock.stop())
        for signal, receive in signals:
            signal.disconnect(receive)
        del seen

    return shown


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
    sys.stdout.flush()
    os._exit(0)  # everything is saved
