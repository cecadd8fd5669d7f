"""What all parts of the window share: the open league, ways to ask it, and ways to tell the person something."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QUndoCommand, QUndoStack

from engine.errors import RingsideError
from engine.play.match import GameSpec
from league_app.gui.background import Asker, Bridge, Threads
from league_app.core.preferences import Settings
from league_app.core.state import LeagueState


class Desk(QObject):
    """One for a window. Pages read through `ask`, change through `state`, and hear of it through `changed`."""

    opened = Signal()  # another league, or none
    changed = Signal(object)  # list of Change, at most twenty times a second
    scoped = Signal()  # another game is looked at
    said = Signal(str, str, object)  # for a toast: text, tone (info, good, warn, bad), and (label, function) or None
    failed = Signal(object)  # an Exception that a person should hear of
    wanted = Signal(str, object)  # a page by name, and what it should show

    def __init__(self, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.settings = settings
        self.threads = Threads(self)
        self.reads, self.work = Asker(self), Asker(self)  # quick looks, and what takes seconds
        self.orders = Asker(self)  # start, pause, stop and the like, in the order given: they may wait for workers
        for asker in (self.reads, self.work, self.orders):
            asker.failed.connect(self.failed)
        self.undo = QUndoStack(self)
        self._state: LeagueState | None = None
        self._bridge: Bridge | None = None
        self._pool: GameSpec | None = None

    # The league

    @property
    def state(self) -> LeagueState | None:
        """The open league; pages that need one are shown only when there is one."""
        return self._state

    @property
    def league(self) -> LeagueState:
        """The open league, where there must be one."""
        assert self._state is not None, "no league is open"
        return self._state

    def adopt(self, state: LeagueState) -> None:
        """Show this league from now on; the one before must be closed."""
        assert self._state is None, "close the other league first"
        state.start = self.threads.start
        state.person = True  # somebody sits at this screen, and may play
        self._state = state
        self._bridge = Bridge(state, self)
        self._bridge.changed.connect(self._hear)
        self._pool = _first_pool(state)
        self.undo.clear()
        if state.league.path.suffix == ".league":
            self.settings.opened(state.league.path.absolute())
        self.opened.emit()

    def release(self) -> LeagueState | None:
        """Look at no league any more; whoever gets it closes it, in another thread if that may take long."""
        state, self._state = self._state, None
        if self._bridge is not None:
            self._bridge.close()
            self._bridge.deleteLater()
            self._bridge = None
        self._pool = None
        for asker in (self.reads, self.work, self.orders):
            asker.forget()
        self.undo.clear()
        if state is not None:
            self.opened.emit()
        return state

    def close(self) -> None:
        """Everything, at the end."""
        state = self.release()
        if state is not None:
            state.close()
        self.threads.wait()
        for asker in (self.reads, self.work, self.orders):
            asker.close()

    @Slot(object)
    def _hear(self, changes: object) -> None:
        if self._pool is None and self._state is not None:
            self._pool = _first_pool(self._state)
            if self._pool is not None:
                self.scoped.emit()
        self.changed.emit(changes)

    # The game that is looked at

    @property
    def pool(self) -> GameSpec | None:
        """The game with its options; ratings of different ones are never mixed."""
        return self._pool

    @property
    def game(self) -> str | None:
        return self._pool.name if self._pool is not None else None

    def look_at(self, pool: GameSpec) -> None:
        if pool != self._pool:
            self._pool = pool
            self.scoped.emit()

    # Asking and telling

    def ask(self, key: str, question: Callable[[LeagueState], Any], answer: Callable[[Any], None]) -> None:
        """Read something of the league beside the window; of one key only the newest question is answered."""
        state = self._state
        if state is not None:
            self.reads.ask(key, _Asked(question, state), answer)

    def attempt(self, doing: Callable[[], Any]) -> Any:
        """Do something short now; what is wrong with it is told, and nothing is returned then."""
        try:
            return doing()
        except RingsideError as error:
            self.failed.emit(error)
            return None

    def say(self, text: str, tone: str = "info", offer: tuple[str, Callable[[], Any]] | None = None) -> None:
        """A few words that go by themselves; with a button, if something is offered."""
        self.said.emit(text, tone, offer)

    def show(self, page: str, what: object = None) -> None:
        """A page: welcome, dashboard, standings, match, training, history, agent. Or live, the tournament's own match;
        resume, the tournament that was not finished; or a sheet: tournament-sheet, session-sheet, ready-made-sheet."""
        self.wanted.emit(page, what)

    def do(self, text: str, doing: Callable[[], Any], undoing: Callable[[], Any]) -> bool:
        """A change that can be undone; whether it was made."""
        command = _Change(text, doing, undoing, self)
        made = command.made  # Qt deletes at once what could not be done
        self.undo.push(command)
        return made[0]

    @Slot()
    def take_back(self) -> None:
        """The last change, in words."""
        text, count = self.undo.undoText(), self.undo.count()
        self.undo.undo()
        if text and self.undo.count() == count:  # what could not be undone is gone, and told already
            self.say(f"Undone: {text}", "info", ("Redo", self.do_again))

    @Slot()
    def do_again(self) -> None:
        text, count = self.undo.redoText(), self.undo.count()
        self.undo.redo()
        if text and self.undo.count() == count:
            self.say(f"Done again: {text}", "info", ("Undo", self.take_back))


class _Asked:
    def __init__(self, question: Callable[[LeagueState], Any], state: LeagueState) -> None:
        self._question, self._state = question, state

    def __call__(self) -> Any:
        return self._question(self._state)


class _Change(QUndoCommand):
    def __init__(self, text: str, doing: Callable[[], Any], undoing: Callable[[], Any], desk: Desk) -> None:
        super().__init__(text)
        self._doing, self._undoing, self._desk = doing, undoing, desk
        self.made = [True]

    def redo(self) -> None:
        self._try(self._doing)

    def undo(self) -> None:
        self._try(self._undoing)

    def _try(self, doing: Callable[[], Any]) -> None:
        try:
            doing()
        except RingsideError as error:
            self.made[0] = False
            self.setObsolete(True)
            self._desk.failed.emit(error)


def pools(state: LeagueState) -> list[GameSpec]:
    """Games that there is something to see of: played ones, the last one first, then those that agents play."""
    from engine.registry import usual_game

    played = [one.settings.game for one in reversed(state.league.tournaments())]
    entered = map(usual_game, sorted({one.game for one in state.agents()}))
    return list(dict.fromkeys([*played, *(game.spec for game in entered if game is not None)]))


def _first_pool(state: LeagueState) -> GameSpec | None:
    found = pools(state)
    return found[0] if found else None


def open_league(path: Path | str, plugins: Sequence[str] = ()) -> LeagueState:
    """For writing if nobody else has it and the place allows it, else for looking only."""
    from engine.errors import LeagueHeld, ReadOnly

    try:
        return LeagueState(path, plugins=plugins)
    except (LeagueHeld, ReadOnly) as error:
        state = LeagueState(path, read_only=True, plugins=plugins)
        state.locked = "is open elsewhere" if isinstance(error, LeagueHeld) else "cannot be written where it is"
        return state
