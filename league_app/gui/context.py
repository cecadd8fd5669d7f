"""What all parts of the window share: the open league, background queues, notifications, navigation and undo."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QUndoStack

from engine.errors import RingsideError
from engine.play.match import GameSpec
from league_app.core.preferences import Preferences
from league_app.core.state import LeagueState
from league_app.gui.background import ChangeBridge, JobThreads, TaskQueue
from league_app.gui.reproducer import Reproducer
from league_app.gui.status_monitor import StatusMonitor
from league_app.gui.undo_commands import UndoableChange, set_archived

Offer = tuple[str, Callable[[], Any]]  # the label of a button, and what it does


class AppContext(QObject):
    """One per window. Pages read with `ask`, change the league through `state`, and observe it with `changed`."""

    opened = Signal()  # a league was opened, or closed
    changed = Signal(object)  # list of Change
    pool_changed = Signal()  # another game was selected
    notified = Signal(str, str, object)  # a toast: text, tone (info, good, warn, bad), Offer or None
    failed = Signal(object)  # an Exception to show
    navigation_requested = Signal(str, object)  # the name of a page, and the item to show on it

    def __init__(self, settings: Preferences, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.settings = settings
        self.threads = JobThreads(self)
        self.read_queue = TaskQueue(self)  # quick queries
        self.slow_queue = TaskQueue(self)  # queries and commands that take seconds
        self.command_queue = TaskQueue(self)  # start, pause, stop and the like, in order: they may wait for workers
        self.status_queue = TaskQueue(self)  # status queries, which must not wait behind a command
        self._queues = (self.read_queue, self.slow_queue, self.command_queue, self.status_queue)
        for queue in self._queues:
            queue.failed.connect(self.failed)
        self.monitor = StatusMonitor(self.status_queue, self)
        self.monitor.notified.connect(self.notify)
        self.monitor.failed.connect(self.failed)
        self.reproducer = Reproducer(self)
        self.reproducer.finished.connect(self.notify)
        self.reproducer.failed.connect(self.failed)
        self.undo = QUndoStack(self)
        self._state: LeagueState | None = None
        self._bridge: ChangeBridge | None = None
        self._pool: GameSpec | None = None

    # The league

    @property
    def state(self) -> LeagueState | None:
        """The open league, or None."""
        return self._state

    @property
    def league(self) -> LeagueState:
        """The open league, for code that runs only while one is open."""
        assert self._state is not None, "no league is open"
        return self._state

    def adopt(self, state: LeagueState) -> None:
        """Shows this league from now on; the previous one must be closed."""
        assert self._state is None, "close the other league first"
        state.start = self.threads.start
        state.person = True  # human players can play in this window
        self._state = state
        self._bridge = ChangeBridge(state, self)
        self._bridge.changed.connect(self._on_changes)
        self._pool = _first_pool(state)
        self.undo.clear()
        self.monitor.watch(state)
        if state.league.path.suffix == ".league":
            self.settings.add_recent(state.league.path.absolute())
        self.opened.emit()

    def release(self) -> LeagueState | None:
        """Stops showing the league and returns it; the caller closes it, in another thread if that may take long."""
        state, self._state = self._state, None
        if self._bridge is not None:
            self._bridge.close()
            self._bridge.deleteLater()
            self._bridge = None
        self._pool = None
        self.reproducer.cancel()
        for queue in self._queues:
            queue.clear()
        self.undo.clear()
        self.monitor.watch(None)
        if state is not None:
            self.opened.emit()
        return state

    def close(self) -> None:
        """Closes the league and stops all threads."""
        self.monitor.stop()
        state = self.release()
        if state is not None:
            state.close()
        self.threads.wait()
        self.reproducer.close()
        for queue in self._queues:
            queue.close()

    @Slot(object)
    def _on_changes(self, changes: object) -> None:
        if self._pool is None and self._state is not None:
            self._pool = _first_pool(self._state)
            if self._pool is not None:
                self.pool_changed.emit()
        self.changed.emit(changes)

    # The selected game

    @property
    def pool(self) -> GameSpec | None:
        """The selected game with its options; each pool has its own ratings."""
        return self._pool

    @property
    def game(self) -> str | None:
        return self._pool.name if self._pool is not None else None

    def select_pool(self, pool: GameSpec) -> None:
        if pool != self._pool:
            self._pool = pool
            self.pool_changed.emit()

    # Queries, notifications and navigation

    def ask(self, key: str, question: Callable[[LeagueState], Any], answer: Callable[[Any], None]) -> None:
        """Runs `question` in the background; of several with one key only the newest is answered."""
        if self._state is not None:
            self.read_queue.submit(key, partial(question, self._state), answer)

    def attempt(self, function: Callable[[], Any]) -> Any:
        """Calls a short function now; an error is shown, and None returned."""
        try:
            return function()
        except RingsideError as error:
            self.failed.emit(error)
            return None

    def notify(self, text: str, tone: str = "info", offer: Offer | None = None) -> None:
        """Shows a toast, with a button if there is an offer."""
        self.notified.emit(text, tone, offer)

    def navigate(self, page: str, what: object = None) -> None:
        """Shows a page (welcome, dashboard, standings, match, training, history, agent) or runs a command: live (the
        match of the tournament), resume (the unfinished tournament), tournament-dialog, session-dialog,
        ready-made-dialog, guide (at a page of it)."""
        self.navigation_requested.emit(page, what)

    # Undo

    def push_undo(self, text: str, apply: Callable[[], Any], revert: Callable[[], Any]) -> bool:
        """Makes a change that can be undone; returns whether it succeeded."""
        command = UndoableChange(text, apply, revert, self.failed.emit)
        succeeded = command.succeeded
        self.undo.push(command)
        return succeeded[0]

    @Slot()
    def undo_change(self) -> None:
        text, count = self.undo.undoText(), self.undo.count()
        self.undo.undo()
        if text and self.undo.count() == count:  # a change that failed to undo was removed and reported
            self.notify(f"Undone: {text}", "info", ("Redo", self.redo_change))

    @Slot()
    def redo_change(self) -> None:
        text, count = self.undo.redoText(), self.undo.count()
        self.undo.redo()
        if text and self.undo.count() == count:
            self.notify(f"Redone: {text}", "info", ("Undo", self.undo_change))

    def undo_offer(self) -> Offer:
        """A toast button that undoes the change just made, unless another change followed."""
        return "Undo", partial(self._undo_latest, self.undo.index())

    def _undo_latest(self, index: int) -> None:
        if self.undo.index() == index:
            self.undo_change()
        else:
            self.notify("This is no longer the latest change: undo the later ones first (Ctrl+Z)", "warn")

    def archive_offer(self, agents: Sequence[str]) -> Offer:
        """A toast button that archives agents that were just added; they stay in the file."""
        return "Undo", partial(self._archive_added, self._state, list(agents))

    def _archive_added(self, state: LeagueState | None, agents: list[str]) -> None:
        if state is not None and state is self._state:  # another league may be open by now
            self.attempt(partial(set_archived, state, agents, True))


def pools(state: LeagueState) -> list[GameSpec]:
    """The games of a league: played ones, latest first, then those that only have agents."""
    from engine.registry import usual_game

    played = [tournament.settings.game for tournament in reversed(state.league.tournaments())]
    entered = map(usual_game, sorted({agent.game for agent in state.agents()}))
    return list(dict.fromkeys([*played, *(game.spec for game in entered if game is not None)]))


def _first_pool(state: LeagueState) -> GameSpec | None:
    found = pools(state)
    return found[0] if found else None


def open_league(path: Path | str, plugins: Sequence[str] = ()) -> LeagueState:
    """Opens for writing, or read-only if another process has it open or the file cannot be written."""
    from engine.errors import LeagueHeld, ReadOnly

    try:
        return LeagueState(path, plugins=plugins)
    except (LeagueHeld, ReadOnly) as error:
        state = LeagueState(path, read_only=True, plugins=plugins)
        state.locked = "another process has it open" if isinstance(error, LeagueHeld) else "the file is write-protected"
        return state
