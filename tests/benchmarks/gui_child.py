"""The window in a process of its own, measured from inside: `python -m tests.benchmarks.gui_child WHAT ARGUMENTS`.

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

UNWANTED = ("torch", "neat", "pyqtgraph")  # large, and nothing that the first sight of a window needs
PLANNED = 40_000  # matches of a tournament for each second that it is looked at: more than can be played
PLAYERS = ("Predictor", "Shaky")  # of the match that is watched: it is long


def tell(found: object) -> None:
    print(json.dumps(found), flush=True)


# From nothing to a window


def opened(league: str, whole: str = "") -> None:
    """As `python -m league_app window LEAGUE` does it; a line when the window has been painted, and one at the end."""
    since = time.perf_counter()
    import league_app.gui.main_window
    from league_app.gui import application as app
    from league_app.cli.main import main
    from tests.benchmarks.gui_watch import Clock, Painted, until

    imported = time.perf_counter()
    found: dict[str, Any] = {"imports": imported - since}
    start = app.Application.start

    def watched(self: app.Application) -> None:
        def painted(now: float) -> None:
            found["loaded"] = [name for name in UNWANTED if name in sys.modules]
            found["painted"] = now - since
            tell(found)
            clock = Clock(5)

            def settle() -> None:
                until(lambda: not whole or settled(self.window))
                found["settled"] = time.perf_counter() - since
                found["stall"] = max(clock.stop())
                found["torch"] = "torch" in sys.modules
                self.window.close_unasked()

            league_app.window.QTimer.singleShot(0, settle)

        self.painted = Painted(self.window, painted)  # type: ignore[attr-defined]
        start(self)

    app.Application.start = watched  # type: ignore[method-assign]
    main(["window", league])
    tell(found)


def bare() -> None:
    """The least that a window can be."""
    from PySide6.QtWidgets import QApplication, QMainWindow

    from tests.benchmarks.gui_watch import Painted

    app = QApplication(sys.argv[:1])
    window = QMainWindow()
    window.resize(1280, 720)

    def painted(now: float) -> None:
        tell({})
        app.quit()

    seen = Painted(window, painted)
    window.show()
    app.exec()
    del seen


def settled(window: Any) -> bool:
    """Whether it shows its league and has made all of its pages."""
    from league_app.gui.main_window import DOCKS, PAGES

    desk = window.desk
    made = len(window.docks) == len(DOCKS) and len(window.pages) == len(PAGES)
    return made and desk.state is not None and not desk.reads.waiting and not desk.work.waiting


class Opened:
    """The window with a league, until it is closed; what it reports as wrong ends the measuring."""

    def __init__(self, league: str) -> None:
        from league_app.gui import application as app
        from tests.benchmarks.gui_watch import until

        self._until = until
        self._qt = app.make_application()
        assert self._qt is not None, "there is no display"
        sys.setswitchinterval(app.SWITCH)
        self._application = app.Application(self._qt, Path(league))
        self.window = self._application.window
        self._wrong: list[object] = []
        self.window.desk.failed.connect(self._wrong.append)
        self._application.start()
        until(lambda: settled(self.window))

    def __enter__(self) -> Any:
        return self.window

    def __exit__(self, *error: object) -> None:
        self.window.close_unasked()
        self._until(lambda: not self.window.isVisible())
        self._application.end()
        if self._wrong:
            raise AssertionError(f"the window reported {self._wrong}")


# With a league open


def inside(league: str, seconds: str, turns: str, *parts: str) -> None:
    """Several things in one window, one after the other."""
    measured: dict[str, Callable[..., Any]] = {"sights": sights, "lateness": lateness, "watching": watching}
    found: dict[str, Any] = {}
    with Opened(league) as window:
        for part in parts:
            name, _, size = part.partition(":")
            more = [tuple(map(int, size.split("x")))] if size else []
            found[part] = measured[name](window, float(seconds), int(turns), *more)
        found["ratio"] = window.devicePixelRatioF()
    tell(found)


# While something runs


def lateness(window: Any, seconds: float, turns: int) -> dict[str, Any]:
    """A timer of 16 ms, in turns while nothing runs and while two workers play and results come in."""
    import psutil

    from tests.benchmarks.gui_watch import Clock, for_a_while, until

    state, page = window.desk.league, window.page("standings")
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
        for_a_while(min(seconds, 1.0))  # what the last run left to be said has been said
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
    """A live match at normal speed: frames painted, and processor time of this process; in turns with the match
    paused."""
    from engine.registry import new_game
    from tests.benchmarks.gui_watch import Frames, for_a_while, until

    state, page = window.desk.league, window.page("match")
    warm = min(seconds, 1.0) * 60
    window.resize(*size)
    state.show_visuals = True
    job = state.start_tournament(game=new_game("pong", points=99).spec, agents=PLAYERS, options={"rounds": 1})
    window.show_page("match")
    until(lambda: page.shown is not None and page.shown.live is state.live and page.shown.step > warm)
    frames, found = Frames(page.ring.canvas), {"frames": [], "cpu": [], "still": []}  # type: ignore[var-annotated]
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
    canvas = page.ring.canvas
    job.stop()
    until(lambda: state.job is None)
    state.show_visuals = False
    return {**found, "size": [canvas.image.width(), canvas.image.height()]}


# A large league


def sights(window: Any, seconds: float, turns: int) -> dict[str, tuple[float, float]]:
    """From asking for a page until its rows are painted, and how long the window did not come round meanwhile."""
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
    steps = next(place for place, one in enumerate(matches.model.columns) if one.title == "Steps")
    order = Qt.SortOrder.DescendingOrder
    shown("sorted", matches.table, lambda: matches.table.sortByColumn(steps, order))
    shown("unsorted", matches.table, lambda: matches.table.sortByColumn(-1, order))
    shown("words", matches.table, lambda: matches.field.setText("agent 17"))
    shown("all", matches.table, matches.clear)
    shown("agent", matches.table, lambda: matches.agent.setCurrentIndex(7))
    shown("all", matches.table, matches.clear)
    shown("upsets", matches.table, lambda: matches.filter(ending="upset"))
    assert 0 < matches.model.total < window.desk.league.league.tournaments()[-1].played
    return found


def shown_in(found: dict[str, tuple[float, float]], pause: float) -> Callable[[str, Any, Callable[[], Any]], None]:
    from tests.benchmarks.gui_watch import Clock, Painted, for_a_while, until

    def shown(name: str, view: Any, asking: Callable[[], Any]) -> None:
        """A table has been asked, its model has had news since, and they have been painted."""
        for_a_while(pause)
        model, news, times = view.model(), [], list[float]()  # type: ignore[var-annotated]
        signals = [(one, lambda *told: news.append(told)) for one in (model.modelReset, model.dataChanged)]
        for signal, hear in signals:
            signal.connect(hear)
        clock, since = Clock(5), time.perf_counter()
        seen = Painted(view.viewport(), times.append, lambda: bool(news) and model.rowCount() > 0)
        asking()
        until(lambda: bool(times), 5)
        for_a_while(pause / 2)  # what follows at once belongs to it
        found[name] = times[0] - since, max(clock.stop())
        for signal, hear in signals:
            signal.disconnect(hear)
        del seen

    return shown


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
    sys.stdout.flush()
    os._exit(0)  # what has to be saved is saved
