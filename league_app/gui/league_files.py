"""Leagues as files: made, opened, closed, copied and exported from the window, without ever holding it up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from engine.errors import LeagueHeld, ReadOnly, RingsideError
from engine.league.storage.database import SUFFIX
from engine.registry import game_of, usual_game
from league_app.core import paths as places
from league_app.core import sample_league as sample
from league_app.gui.context import Desk, open_league, pools
from league_app.gui.dialogs.messages import Question
from league_app.core.state import LeagueState
from league_app.gui.widgets.basics import plain

FILTER = f"Leagues (*{SUFFIX})"


class Leagues(QObject):
    """`busy` tells what is going on in words, and an empty text when that is over."""

    busy = Signal(str)
    settled = Signal()  # a league has been opened, or could not be

    def __init__(self, desk: Desk, parent: QWidget) -> None:
        super().__init__(parent)
        self._desk, self._window = desk, parent
        self._then: Callable[[], Any] | None = None
        self._path: Path | None = None
        self._loading: _Load | None = None
        self._leaving = False  # a league is being closed; what comes after that is in `_then`
        self.recent = QMenu("Recent leagues", parent)
        self.recent.setToolTipsVisible(True)
        self.recent.aboutToShow.connect(self._list_recent)
        desk.changed.connect(self._play_samples)

    # Opening

    @Slot()
    def new(self) -> None:
        dialog = self._dialog("New league", QFileDialog.AcceptMode.AcceptSave, FILTER)
        dialog.setDefaultSuffix(SUFFIX.lstrip("."))
        dialog.fileSelected.connect(self._make)
        dialog.open()

    @Slot()
    def open(self) -> None:
        dialog = self._dialog("Open league", QFileDialog.AcceptMode.AcceptOpen, FILTER)
        dialog.fileSelected.connect(self.open_path)
        dialog.open()

    @Slot()
    def sample(self) -> None:
        self._path = places.sample_league()
        self.leave(self._open_sample)

    @Slot(str)
    def open_path(self, path: str | Path) -> None:
        self._path = Path(path)
        self.leave(self._open)

    @Slot()
    def _list_recent(self) -> None:
        self.recent.clear()
        for path in self._desk.settings.recent:
            action = self.recent.addAction(path.stem.replace("&", "&&"))
            action.setToolTip(plain(str(path)))
            action.setData(str(path))
            action.triggered.connect(self._open_recent)

    @Slot()
    def _open_recent(self) -> None:
        action = self.sender()
        if isinstance(action, QAction):
            self.open_path(str(action.data()))

    @Slot(str)
    def _make(self, path: str) -> None:
        self._path = Path(path)
        self.leave(self._create)

    def _open(self) -> None:
        assert self._path is not None
        self._load(f"Opening {self._path.name}", _Load(open_league, self._path))

    def _create(self) -> None:
        assert self._path is not None
        self._load(f"Making {self._path.name}", _Load(_new, self._path))

    def _open_sample(self) -> None:
        assert self._path is not None
        self._load("Preparing the sample league", _Load(_sample, self._path))

    @property
    def unsettled(self) -> bool:
        """Whether a league is being opened or closed at this moment."""
        return self._loading is not None or self._leaving

    def _load(self, words: str, loading: _Load) -> None:
        self.busy.emit(words)
        self._loading = loading
        self._desk.work.ask("league", loading, self._loaded, self._not_loaded)

    def _loaded(self, state: LeagueState) -> None:
        self._loading = None
        self.busy.emit("")
        self._desk.adopt(state)
        self._play_samples()
        if state.league.read_only:
            why = state.locked or "is open for looking only"
            self._desk.say(f"{state.league.path.name} {why}: you can look, but not change it", "warn")
        self.settled.emit()

    def _not_loaded(self, error: Exception) -> None:
        self._loading = None
        self._not_done(error)
        self.settled.emit()

    def _not_done(self, error: Exception) -> None:
        self.busy.emit("")
        self._desk.failed.emit(error)

    @Slot(object)
    def _play_samples(self, changes: object = None) -> None:
        """The sample league plays a first tournament of each game by itself."""
        state = self._desk.state
        if state is None or state.league.path != places.sample_league() or state.league.read_only or state.running:
            return
        if changes is not None and not any(one.what == "tournaments" for one in changes):  # type: ignore[attr-defined]
            return
        waiting = sample.unplayed(state)
        if waiting:
            name = f"First {game_of(waiting[0]).info.title} tournament"
            self._desk.attempt(_First(state, name, waiting[0]))

    # Leaving

    def leave(self, then: Callable[[], Any]) -> None:
        """Close the open league, if there is one, then go on; whatever runs is asked about once."""
        self._then = then
        told = running_words(self._desk.state)
        if not told:
            self._leave()
            return
        more = "It is stopped and saved, and can be resumed when the league is opened again."
        question = Question(self._window, told, more, "Stop and go on", self._leave, "Stay", danger=False)
        question.open()

    def leave_silently(self, then: Callable[[], Any]) -> None:
        """The same, for somebody who has asked already."""
        self._then = then
        self._leave()

    def _leave(self) -> None:
        """One at a time: to forget that a league is being closed would leave it open for ever."""
        if self._leaving:
            return
        state, loading, self._loading = self._desk.release(), self._loading, None
        if state is None and loading is None:
            self._left(None)
            return
        self._leaving = True
        if state is not None:
            self.busy.emit(f"Saving {state.league.path.name}")
        leaving = state.close if state is not None else loading.drop if loading is not None else None
        assert leaving is not None
        self._desk.work.ask("leave", leaving, self._left, self._left)  # after whatever is being opened

    def _left(self, error: Exception | None) -> None:
        self._leaving = False
        self.busy.emit("")
        self._desk.threads.wait()
        if isinstance(error, Exception):
            self._desk.failed.emit(error)
        then, self._then = self._then, None
        if then is not None:
            then()

    @Slot()
    def close(self) -> None:
        self.leave(self._closed)

    def _closed(self) -> None:
        self._desk.show("welcome")

    # Copies

    @Slot()
    def backup(self) -> None:
        dialog = self._dialog("Back up the league", QFileDialog.AcceptMode.AcceptSave, FILTER)
        dialog.setDefaultSuffix(SUFFIX.lstrip("."))
        dialog.selectFile(f"{self._desk.league.league.name} backup{SUFFIX}")
        dialog.fileSelected.connect(self._backup)
        dialog.open()

    @Slot(str)
    def _backup(self, path: str) -> None:
        self.busy.emit("Copying the league")
        copying = _Copy(self._desk.league, Path(path))
        self._desk.work.ask("copy", copying, self._copied, self._not_done)

    def _copied(self, path: Path) -> None:
        self.busy.emit("")
        self._desk.say(f"Written to {path}", "good")

    @Slot()
    def export(self) -> None:
        dialog = self._dialog("Export all matches", QFileDialog.AcceptMode.AcceptSave, "Tables (*.csv);;JSON (*.json)")
        dialog.setDefaultSuffix("csv")
        dialog.selectFile(f"{self._desk.league.league.name} matches.csv")
        dialog.fileSelected.connect(self._export)
        dialog.open()

    @Slot(str)
    def _export(self, path: str) -> None:
        self.busy.emit("Exporting")
        self._desk.work.ask("copy", _Export(self._desk.league, Path(path)), self._copied, self._not_done)

    @Slot()
    def check(self) -> None:
        self.busy.emit("Checking the file")
        self._desk.work.ask("check", _Audit(self._desk.league), self._checked, self._not_done)

    def _checked(self, wrong: list[str]) -> None:
        self.busy.emit("")
        if wrong:
            self._desk.say("; ".join(wrong[:3]), "bad")
        else:
            self._desk.say("Everything in the file is as it was written", "good")

    def _dialog(self, title: str, mode: QFileDialog.AcceptMode, kinds: str) -> QFileDialog:
        dialog = QFileDialog(self._window, title)
        dialog.setAcceptMode(mode)
        opening = mode == QFileDialog.AcceptMode.AcceptOpen
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile if opening else QFileDialog.FileMode.AnyFile)
        dialog.setNameFilter(kinds)
        state = self._desk.state
        dialog.setDirectory(str(state.league.path.absolute().parent if state else Path.home()))
        dialog.finished.connect(dialog.deleteLater)
        return dialog


def running_words(state: LeagueState | None) -> str:
    """What would be interrupted, in a sentence; nothing if nothing runs."""
    if state is None:
        return ""
    parts = []
    job = state.job
    if job is not None:
        progress = job.progress()
        parts.append(f"{job.name!r} is being played ({progress.played:,} of {progress.total:,} matches)")
    for one in state.training.jobs:
        parts.append(f"{one.name!r} is being trained")
    return " and ".join(parts) + "." if parts else ""


class _Load:
    """Opens a league, beside the window."""

    def __init__(self, how: Callable[[Path], LeagueState], path: Path) -> None:
        self._how, self._path = how, path
        self._state: LeagueState | None = None

    def __call__(self) -> LeagueState:
        self._state = self._how(self._path)
        for pool in pools(self._state):  # games of families are found out about here, where nobody waits for it
            usual_game(pool.name)
        return self._state

    def drop(self) -> None:
        """Nobody wants it any more; in the same thread, so it is open by now, or was never begun."""
        if self._state is not None:
            self._state.close()


def _new(path: Path) -> LeagueState:
    return LeagueState.new(path)


def _sample(path: Path) -> LeagueState:
    try:
        return sample.make(path)
    except (LeagueHeld, ReadOnly):
        return open_league(path)


class _First:
    def __init__(self, state: LeagueState, name: str, game: Any) -> None:
        self._state, self._name, self._game = state, name, game

    def __call__(self) -> None:
        self._state.start_tournament(name=self._name, game=self._game, options={"rounds": sample.ROUNDS})


class _Copy:
    def __init__(self, state: LeagueState, path: Path) -> None:
        self._state, self._path = state, path

    def __call__(self) -> Path:
        self._state.league.backup(self._path)
        return self._path


class _Export:
    def __init__(self, state: LeagueState, path: Path) -> None:
        self._state, self._path = state, path

    def __call__(self) -> Path:
        from league_app.cli.leagues import csv_lines, json_lines, match_rows, write_lines

        rows = match_rows(self._state.league, None)
        write_lines(self._path, json_lines(rows) if self._path.suffix == ".json" else csv_lines(rows))
        return self._path


class _Audit:
    def __init__(self, state: LeagueState) -> None:
        self._state = state

    def __call__(self) -> list[str]:
        from league_app.cli.diagnostics import examine_league

        try:
            examine_league(str(self._state.league.path))
        except RingsideError as error:
            return [str(error)]
        return []
