"""Actions on league files: new, open, close, back up, export, check. All file work runs in the background."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from engine.errors import LeagueHeld, ReadOnly, RingsideError
from engine.league.storage.database import SUFFIX
from engine.league.storage.rescue import rescue_name
from engine.registry import game_of, usual_game
from league_app.core import paths, sample_league
from league_app.core.changes import Change
from league_app.core.doctor import check_league
from league_app.core.export import match_lines, write_lines
from league_app.core.run_monitor import RunSnapshot
from league_app.core.state import LeagueState
from league_app.gui.context import AppContext, open_league, pools
from league_app.gui.dialogs.messages import ConfirmDialog, FailureDialog, LostLeagueDialog
from league_app.gui.widgets.basics import tooltip_html
from league_app.gui.widgets.file_dialogs import open_file, save_file

FILTER = f"Leagues (*{SUFFIX})"
RESUMABLE = "Finished matches and a last checkpoint are saved, and the run can be resumed later."


class LeagueFileActions(QObject):
    """`busy` carries the text of the task in progress, or an empty text when it has ended."""

    busy = Signal(str)
    load_finished = Signal()  # a league was opened, or failed to open

    def __init__(self, context: AppContext, parent: QWidget) -> None:
        super().__init__(parent)
        self._context, self._window = context, parent
        self._loader: _Loader | None = None  # opens a league; what is open stays until that has succeeded
        self._closing = False
        self._lost: LeagueState | None = None  # the open league, if its file is gone and the user was asked what to do
        self.recent = QMenu("Recent leagues", parent)
        self.recent.setToolTipsVisible(True)
        self.recent.aboutToShow.connect(self._list_recent)
        context.changed.connect(self._play_samples)
        context.monitor.sampled.connect(self._check_place)

    # Opening

    @Slot()
    def new(self) -> None:
        name = f"My league{SUFFIX}"
        save_file(self._window, "New league", self._new, FILTER, name, self._folder(), replaces=False)

    @Slot()
    def open(self) -> None:
        open_file(self._window, "Open league", self.open_path, FILTER, self._folder())

    @Slot()
    def sample(self) -> None:
        if not self._is_open(paths.sample_league()):
            self._load("Preparing the sample league...", _Loader(_open_sample, paths.sample_league()))

    @Slot(str)
    def open_path(self, path: str | Path) -> None:
        if not self._is_open(Path(path)):
            self._load(f"Opening {Path(path).name}...", _Loader(open_league, Path(path)))

    def _is_open(self, path: Path) -> bool:
        """Whether this league is open; then its dashboard is shown. One that is open read-only is opened again, because
        it may be writable by now."""
        state = self._context.state
        if state is None or state.league.read_only or not (state.league.path.exists() and path.exists()):
            return False
        same = path.samefile(state.league.path)
        if same:
            self._context.navigate("dashboard")
        return same

    @Slot()
    def _list_recent(self) -> None:
        self.recent.clear()
        for path in self._context.settings.recent:
            action = self.recent.addAction(path.stem.replace("&", "&&"))
            action.setToolTip(tooltip_html(str(path)))
            action.setData(str(path))
            action.triggered.connect(self._open_recent)

    @Slot()
    def _open_recent(self) -> None:
        action = self.sender()
        if isinstance(action, QAction):
            self.open_path(str(action.data()))

    @Slot(str)
    def _new(self, path: str) -> None:
        self._load(f"Creating {Path(path).name}...", _Loader(LeagueState.new, Path(path), "created"))

    @property
    def switching(self) -> bool:
        """Whether a league is being opened or closed."""
        return self._loader is not None or self._closing

    def _load(self, text: str, loader: _Loader) -> None:
        """Opens a league in the background, then closes the previous one and shows it."""
        self._discard_loader()
        self.busy.emit(text)
        self._loader = loader
        queue, failed = self._context.slow_queue, partial(self._not_loaded, loader)
        queue.run(loader.load, partial(self._loaded, loader), failed)

    def _loaded(self, loader: _Loader, state: LeagueState) -> None:
        if loader is not self._loader:
            return  # it was discarded
        self.busy.emit("")
        text = running_text(self._context.state)
        if text:
            self._ask_to_close(text, partial(self._close, partial(self._adopt, loader, state)), self._discard_loader)
        elif self._context.state is not None or self._closing:
            self._close(partial(self._adopt, loader, state))
        else:
            self._adopt(loader, state)

    def _adopt(self, loader: _Loader, state: LeagueState) -> None:
        if loader is not self._loader:
            return
        self._loader = None
        self._context.adopt(state)
        self._play_samples()
        if state.league.read_only:
            reason = f": {state.locked}" if state.locked else ""
            self._context.notify(f"{state.league.path.name} is open read-only{reason}", "warn")
        self.load_finished.emit()

    def _not_loaded(self, loader: _Loader, error: Exception) -> None:
        """Reports why; the league that is open stays open."""
        if loader is not self._loader:
            return
        self._loader = None
        self.busy.emit("")
        self._show_failure(f"{loader.path.name} could not be {loader.verb}", error)
        self.load_finished.emit()

    def _show_failure(self, sentence: str, error: Exception) -> None:
        """Shows the reason of an expected error until it is closed."""
        if isinstance(error, RingsideError):
            FailureDialog(self._window, sentence, str(error)).open()
        else:
            self._context.failed.emit(error)

    def _discard_loader(self) -> None:
        """Closes the league that is being opened, or was opened and is not shown yet."""
        loader, self._loader = self._loader, None
        if loader is not None:
            self.busy.emit("")
            self._context.slow_queue.run(loader.discard, self._discarded)

    def _discarded(self, _: object) -> None:
        """Nothing to show."""

    def _failed(self, error: Exception) -> None:
        self.busy.emit("")
        self._context.failed.emit(error)

    @Slot(object)
    def _play_samples(self, changes: Sequence[Change] | None = None) -> None:
        """Plays the first tournament of each game of the sample league, one after the other."""
        state = self._context.state
        if state is None or state.league.path != paths.sample_league() or state.league.read_only or state.running:
            return
        if changes is not None and not any(change.what == "tournaments" for change in changes):
            return
        unplayed = sample_league.unplayed(state)
        if unplayed:
            name, options = f"First {game_of(unplayed[0]).info.title} tournament", {"rounds": sample_league.ROUNDS}
            start = partial(state.start_tournament, name=name, game=unplayed[0], options=options)
            self._context.attempt(start)

    # Closing

    def close_then(self, then: Callable[[], Any]) -> None:
        """Closes the open league, if any, then calls `then`; asks first if a run would be interrupted."""
        text = running_text(self._context.state)
        if text:
            self._ask_to_close(text, partial(self.close_without_asking, then))
        else:
            self.close_without_asking(then)

    def _ask_to_close(self, text: str, close: Callable[[], Any], keep: Callable[[], Any] | None = None) -> None:
        more = f"Closing the league stops it. {RESUMABLE}"
        dialog = ConfirmDialog(self._window, text, more, "Stop and close", close, "Keep running", danger=False)
        if keep is not None:
            dialog.rejected.connect(keep)
        dialog.open()

    def close_without_asking(self, then: Callable[[], Any]) -> None:
        """The same, but never asks. A league that is being opened is not shown any more."""
        pending = self._loader is not None
        self._discard_loader()
        self._close(then, pending)

    def _close(self, then: Callable[[], Any], pending: bool = False) -> None:
        """Calls `then` when everything is closed; a later close replaces it. `pending`: a league is being discarded."""
        state = self._context.release()  # drops the answer of an earlier close
        if state is None and not pending and not self._closing:
            then()
            return
        if state is not None:
            self.busy.emit(f"Saving {state.league.path.name}...")
        self._closing = True
        after = partial(self._after_close, then)
        # In the queue that loads leagues: it runs after a pending load, and after an earlier close.
        self._context.slow_queue.run(state.close if state is not None else _nothing, after, after)

    def _after_close(self, then: Callable[[], Any], error: Exception | None) -> None:
        self._closing = False
        self.busy.emit("")
        self._context.threads.wait()
        if isinstance(error, Exception):
            self._context.failed.emit(error)
        then()

    @Slot()
    def close(self) -> None:
        self.close_then(self._closed)

    def _closed(self) -> None:
        self._context.navigate("welcome")

    # A league whose file is gone

    @Slot(object)
    def _check_place(self, now: RunSnapshot) -> None:
        """Asks once what to do, until the file is back at its place."""
        state = self._context.state
        if state is None or not now.gone:
            self._lost = None
        elif self._lost is not state:
            self._lost = state
            LostLeagueDialog(self._window, str(state.league.path), self._save_lost, self.close).open()

    @Slot()
    def _save_lost(self) -> None:
        path = self._context.league.league.path
        name = rescue_name(path, path.parent)
        save_file(self._window, "Save the league", self._rescue, FILTER, name, self._folder(), replaces=False)

    @Slot(str)
    def _rescue(self, path: str) -> None:
        """Saves a copy and opens it instead."""
        self.busy.emit(f"Saving {Path(path).name}")
        task = partial(_back_up, self._context.league, Path(path))
        self._context.slow_queue.run(task, self.open_path, self._not_rescued)

    def _not_rescued(self, error: Exception) -> None:
        self.busy.emit("")
        self._lost = None  # it asks again
        self._show_failure("The league could not be saved", error)

    # Backup, export and check

    @Slot()
    def backup(self) -> None:
        name = f"{self._context.league.league.name} backup{SUFFIX}"
        save_file(self._window, "Back up the league", self._backup, FILTER, name, self._folder(), replaces=False)

    @Slot(str)
    def _backup(self, path: str) -> None:
        self.busy.emit("Backing up the league...")
        task = partial(_back_up, self._context.league, Path(path))
        self._context.slow_queue.run(task, self._written, partial(self._not_backed_up, Path(path)))

    def _not_backed_up(self, path: Path, error: Exception) -> None:
        self.busy.emit("")
        self._show_failure(f"The backup {path.name} could not be written", error)

    def _written(self, path: Path) -> None:
        self.busy.emit("")
        self._context.notify(f"Saved as {path}", "good")

    @Slot()
    def export(self) -> None:
        name = f"{self._context.league.league.name} matches.csv"
        filters = "Tables (*.csv);;JSON (*.json)"
        save_file(self._window, "Export all matches", self._export, filters, name, self._folder())

    @Slot(str)
    def _export(self, path: str) -> None:
        self.busy.emit("Exporting matches...")
        task = partial(_export, self._context.league, Path(path))
        self._context.slow_queue.run(task, self._written, self._failed)

    @Slot()
    def check(self) -> None:
        self.busy.emit("Checking the file...")
        self._context.slow_queue.run(partial(_check, self._context.league), self._checked, self._failed)

    def _checked(self, problem: str) -> None:
        self.busy.emit("")
        self._context.notify(
            problem or "The file is undamaged: every record matches its checksum", "bad" if problem else "good"
        )

    def _folder(self) -> Path:
        state = self._context.state
        return state.league.path.absolute().parent if state else Path.home()


def running_text(state: LeagueState | None) -> str:
    """A sentence on the runs that closing would interrupt; empty if there are none."""
    if state is None:
        return ""
    parts = []
    job = state.job
    if job is not None:
        progress = job.progress()
        parts.append(f"{job.name!r} is running ({progress.played:,} of {progress.total:,} matches)")
    parts += [f"training session {session.name!r} is running" for session in state.training.jobs]
    text = " and ".join(parts)
    return f"{text[0].upper()}{text[1:]}." if text else ""


class _Loader:
    """Opens a league in a background thread. Both methods run in that thread, one after the other."""

    def __init__(self, open: Callable[[Path], LeagueState], path: Path, verb: str = "opened") -> None:
        self._open, self.path, self.verb = open, path, verb
        self._state: LeagueState | None = None

    def load(self) -> LeagueState:
        self._state = self._open(self.path)
        try:
            for pool in pools(self._state):  # loads games of families here, where it does not block the window
                usual_game(pool.name)
        except BaseException:  # nothing else would release its lock
            self._state.close()
            raise
        return self._state

    def discard(self) -> None:
        """Closes the league again, if it was opened."""
        if self._state is not None:
            self._state.close()


def _nothing() -> None:
    """The task of a close that only waits for an earlier one."""


def _open_sample(path: Path) -> LeagueState:
    try:
        return sample_league.open_or_create(path)
    except (LeagueHeld, ReadOnly):
        return open_league(path)


def _back_up(state: LeagueState, path: Path) -> Path:
    state.league.backup(path)
    return path


def _export(state: LeagueState, path: Path) -> Path:
    lines = match_lines(state.league, None, "json" if path.suffix.lower() == ".json" else "csv")
    write_lines(path, lines, overwrite=True)  # the dialog has asked
    return path


def _check(state: LeagueState) -> str:
    """What is damaged; empty if nothing is."""
    try:
        check_league(str(state.league.path))
    except RingsideError as error:
        return str(error)
    return ""
