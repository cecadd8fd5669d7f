"""What goes on, in words, twice a second. Asked beside the window: a run that is asked may have to wait for workers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from engine.league.tournament_runner import Progress
from league_app.gui.context import Desk
from league_app.core.state import LeagueState
from league_app.core.formatting import many

PERIOD = 500  # milliseconds, for what no notice tells
WAITING = "waiting: "  # how a run begins to say that nothing can be saved


@dataclass(frozen=True)
class Now:
    """One moment."""

    toggle: str = ""  # what stands beside the visual switch
    name: str = ""  # of the tournament that is played
    progress: Progress | None = None
    training: int = 0  # sessions

    @property
    def paused(self) -> bool:
        return self.progress is not None and self.progress.text.endswith("paused")

    @property
    def trouble(self) -> str:
        """Why nothing can be saved."""
        text = self.progress.text if self.progress is not None else ""
        return text.removeprefix(WAITING) if text.startswith(WAITING) else ""


def look(state: LeagueState) -> Now:
    job, training = state.job, len(state.training.jobs)
    if job is not None:
        progress = job.progress()
        return Now(_in_words(progress, state.budget.cores), job.name, progress, training)
    return Now("open for looking only" if state.league.read_only else state.toggle_text, training=training)


def _in_words(progress: Progress, workers: int) -> str:
    """What is said beside the switch: what goes on, and where."""
    if progress.text == "live":
        return f"showing match {progress.played + 1:,} of {progress.total:,}"
    if progress.text == "playing":
        return f"playing on {many(workers, 'worker')}"
    return progress.text


class News(QObject):
    """Keeps the last look; whoever shows something of it hears of the next."""

    told = Signal(object)  # Now

    def __init__(self, desk: Desk, parent: QObject) -> None:
        super().__init__(parent)
        self._desk, self.now = desk, Now()
        self._timer = QTimer(self)
        self._timer.setInterval(PERIOD)
        self._timer.timeout.connect(self.ask)
        self._timer.start()

    @Slot()
    def ask(self) -> None:
        state = self._desk.state
        if state is None:
            self._take(Now())
        else:
            self._desk.orders.ask("now", partial(look, state), self._take, self._missed)

    def _take(self, now: Now) -> None:
        before, self.now = self.now, now
        if now.trouble and not before.trouble:
            self._desk.say(f"Nothing can be saved, so it waits: {now.trouble}", "bad")
        elif before.trouble and now.progress is not None and not now.trouble:
            self._desk.say("It can be saved again, and goes on", "good")
        self.told.emit(now)

    def _missed(self, error: Exception) -> None:
        """A league that is just being closed is nothing to speak of."""

    def stop(self) -> None:
        self._timer.stop()
