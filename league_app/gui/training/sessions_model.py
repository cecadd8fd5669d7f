"""Training sessions as the window shows them: a line for each, their curves read as they grow, their players.

Reading is for another thread than the window's, and costs what is new: ten thousand steps are read once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from engine.errors import RingsideError
from engine.league.records import State
from engine.league.storage.session_rows import SavedCheckpoint, Series, Session, series_of
from engine.league.storage.league import League
from engine.play.match import GameSpec
from league_app.core.state import LeagueState
from league_app.gui.widgets.basics import plain
from league_app.core.formatting import lasting

Index = QModelIndex | QPersistentModelIndex
SHARE = "validation/share"
GLANCE = Qt.ItemDataRole.UserRole
POINTS = 40  # of the small curve in the list
MOST_PLAYERS = 60  # of a session, the newest
NAMES = """
WITH RECURSIVE found(name) AS (
    SELECT min(name) FROM metrics WHERE session = ?1
    UNION ALL SELECT (SELECT min(name) FROM metrics WHERE session = ?1 AND name > found.name) FROM found
    WHERE found.name IS NOT NULL)
SELECT name FROM found WHERE name IS NOT NULL
"""  # from one name to the next by the index: SELECT DISTINCT would look at every value


@dataclass(frozen=True)
class Glance:
    """A session in the list."""

    session: Session
    step: int
    total: int  # 0 if nobody can tell
    running: bool
    paused: bool
    text: str  # how far it is
    left: float | None  # seconds
    best: float | None  # share of the points that its best player takes
    curve: tuple[float, ...]
    trouble: str = ""
    logs: tuple[tuple[str, bool], ...] = ()  # the latest, and whether it is a warning

    @property
    def number(self) -> int:
        return self.session.number

    @property
    def resumable(self) -> bool:
        return not self.running and self.session.state.open

    @property
    def word(self) -> str:
        """Its state."""
        if self.running:
            return "paused" if self.paused else "running"
        if self.session.note.startswith("failed"):
            return "failed"
        return "finished" if self.session.state is State.FINISHED else "stopped"

    @property
    def told(self) -> str:
        """How far, in a few words."""
        if not self.step and self.running:
            return "starting"
        return f"step {self.step:,} of {self.total:,}" if self.total else f"step {self.step:,}"

    @property
    def time_left(self) -> str:
        return f"{lasting(self.left)} left" if self.left is not None and 0 <= self.left < 1e9 else ""


@dataclass(frozen=True, eq=False)
class Part:
    """What is new of a metric: to be added, or all of it because what was known is no longer true."""

    series: Series
    afresh: bool


@dataclass(frozen=True)
class Trained:
    """A player that a session made; of checkpoints with the same one, the first and the last step."""

    session: int
    step: int
    last: int
    kind: str
    payload: str  # content hash
    about: str
    agent: str | None
    name: str  # in the league


# Reading


def metric_names(league: League, number: int) -> list[str]:
    return [name for (name,) in league.file.read(NAMES, number)]


def news(league: League, number: int, known: Mapping[str, tuple[int, float]]) -> dict[str, Part | None]:
    """What was measured after the last step that is known of each metric; None for what is there no more.

    A session that goes on from a checkpoint forgets what came after that: then the time of the last known step is
    another, or it is gone, and all is read again.
    """
    names = metric_names(league, number)
    found: dict[str, Part | None] = dict.fromkeys(set(known) - set(names))
    for name in names:
        step, at = known.get(name, (-1, 0.0))
        if step >= 0:
            same = "SELECT 1 FROM metrics WHERE session = ? AND name = ? AND step = ? AND at = ?"
            if not league.file.read(same, number, name, step, at):
                step = -1
        sql = "SELECT step, at, value FROM metrics WHERE session = ? AND name = ? AND step > ? ORDER BY step"
        rows = league.file.read(sql, number, name, step)
        if rows or step < 0:
            found[name] = Part(series_of(name, rows, league.path, number), step < 0)
    return found


def _last_step(league: League, number: int, names: Iterable[str]) -> int:
    sql = "SELECT max(step) FROM metrics WHERE session = ? AND name = ?"
    found = [league.file.read(sql, number, name)[0][0] for name in names]
    return max((one for one in found if one is not None), default=0)


def glances(state: LeagueState) -> list[Glance]:
    """Newest first."""
    jobs = {job.number: job for job in state.training.jobs}
    found = []
    for session in reversed(state.training.sessions.every()):
        job, league = jobs.get(session.number), state.league
        names = metric_names(league, session.number)
        curve = _curve(league, session.number, names)
        config = dict(session.config)
        total = next((int(config[one]) for one in ("generations", "steps") if type(config.get(one)) is int), 0)
        said: dict[str, Any] = {"running": False, "paused": False, "text": "", "left": None}
        step = _last_step(league, session.number, names)
        if job is not None:
            now = job.progress
            logs = tuple((one.text, one.level.value == "warning") for one in list(job.logs)[-200:])
            said = {"running": True, "paused": job.paused, "text": now.text if now else "", "trouble": job.trouble}
            said |= {"left": now.seconds_left if now else None, "logs": logs}
            step, total = max(step, now.step if now else 0), now.total if now and now.total else total
        best = float(np.nanmax(curve)) if len(curve) and np.isfinite(curve).any() and SHARE in names else None
        found.append(Glance(session, step, total, best=best, curve=_thinned(curve), **said))
    return found


def _curve(league: League, number: int, names: Sequence[str]) -> Any:
    """What the small picture in the list is of: the validation, or the first there is."""
    if not names:
        return np.empty(0)
    sql = "SELECT step, at, value FROM metrics WHERE session = ? AND name = ? ORDER BY step DESC LIMIT 2000"
    name = SHARE if SHARE in names else names[0]
    return series_of(name, league.file.read(sql, number, name)[::-1], league.path, number).values


def _thinned(values: Any) -> tuple[float, ...]:
    kept = values[np.isfinite(values) & (np.abs(values) < 1e300)]
    if len(kept) > POINTS:
        kept = kept[np.linspace(0, len(kept) - 1, POINTS).astype(int)]
    return tuple(float(one) for one in kept)


def players(state: LeagueState, number: int) -> tuple[list[Trained], int]:
    """Newest first, each once, and how many there are in all."""
    every, names = state.training.sessions.checkpoints(number), state.league.names()
    game = state.training.sessions.session(number).game.name
    agents = {(one.kind, one.payload): one.id for one in state.league.agents(game)}
    groups: dict[tuple[str, str], list[SavedCheckpoint]] = {}
    for one in every:
        if one.kind:
            groups.setdefault((one.kind, one.payload), []).append(one)
    made = []
    for (kind, payload), same in list(reversed(groups.items()))[:MOST_PLAYERS]:
        agent = next((one.agent for one in same if one.agent), None) or agents.get((kind, payload))
        steps = same[0].step, same[-1].step
        made.append(Trained(number, *steps, kind, payload, same[-1].about, agent, names.get(agent or "", "")))
    return made, len(groups)


def places(state: LeagueState, pool: GameSpec, agents: Collection[str]) -> dict[str, tuple[int, int, float, float]]:
    """Of each of them: rank from 1, matches, rating and half of its interval. Nobody who has not played."""
    found = {}
    for rank, one in enumerate(state.standings(pool).rows, 1):
        if one.agent in agents and one.total.played:
            found[one.agent] = rank, one.total.played, one.rating, one.error
    return found


def payload_of(state: LeagueState, content: str) -> bytes:
    """Of a player; nothing if it is not there any more."""
    found = state.league.file.read("SELECT data FROM payloads WHERE hash = ?", content)
    return bytes(found[0][0]) if found and isinstance(found[0][0], bytes) else b""


def readable(error: Exception) -> str:
    return str(error) if isinstance(error, RingsideError) else f"{type(error).__name__}: {error}"


# The list


class SessionsModel(QAbstractListModel):
    """Sessions with a check box: those that are checked lie over each other in the charts."""

    checked = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[Glance] = []
        self._marked: list[int] = []  # numbers, in the order in which they were checked

    @property
    def rows(self) -> list[Glance]:
        return self._rows

    @property
    def marked(self) -> list[int]:
        return list(self._marked)

    def set_rows(self, rows: Sequence[Glance]) -> None:
        before, after = [one.number for one in self._rows], [one.number for one in rows]
        self._marked = [one for one in self._marked if one in after]
        if before == after:
            self._rows = list(rows)
            if rows:
                self.dataChanged.emit(self.index(0), self.index(len(rows) - 1))
        elif before == after[len(after) - len(before) :]:  # new ones above the others
            self.beginInsertRows(QModelIndex(), 0, len(after) - len(before) - 1)
            self._rows = list(rows)
            self.endInsertRows()
        else:
            self.beginResetModel()
            self._rows = list(rows)
            self.endResetModel()

    def row_of(self, number: int) -> int:
        """-1 if it is not there."""
        return next((place for place, one in enumerate(self._rows) if one.number == number), -1)

    def mark(self, numbers: Sequence[int]) -> None:
        self._marked = [one for one in numbers if self.row_of(one) >= 0]
        self._told()

    def toggle(self, number: int) -> None:
        others = [one for one in self._marked if one != number]
        self.mark(others if number in self._marked else [*self._marked, number])

    def place(self, number: int) -> int | None:
        """Of its colour, if it is shown."""
        return self._marked.index(number) if number in self._marked else None

    def _told(self) -> None:
        if self._rows:
            self.dataChanged.emit(self.index(0), self.index(len(self._rows) - 1))
        self.checked.emit()

    # What Qt asks

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008, N802 - Qt's name, Qt's default
        return 0 if parent.isValid() else len(self._rows)

    def flags(self, index: Index) -> Qt.ItemFlag:
        return super().flags(index) | Qt.ItemFlag.ItemIsUserCheckable if index.isValid() else Qt.ItemFlag.NoItemFlags

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self._rows):
            return None
        one = self._rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return one.session.name
        if role == Qt.ItemDataRole.AccessibleTextRole:
            best = f", best {one.best * 100:.0f} %" if one.best is not None else ""
            return f"{one.session.name}, {one.session.trainer}, {one.word}, {one.told}{best}"
        if role == Qt.ItemDataRole.CheckStateRole:
            return Qt.CheckState.Checked if one.number in self._marked else Qt.CheckState.Unchecked
        if role == GLANCE:
            return one
        if role == Qt.ItemDataRole.ToolTipRole:
            note = f"\n{one.session.note}" if one.session.note else ""
            return plain(f"{one.number}: {one.session.name}\n{one.session.trainer} on {one.session.game.name}{note}")
        return None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:  # noqa: N802
        if role != Qt.ItemDataRole.CheckStateRole or not index.isValid():
            return False
        number, wanted = self._rows[index.row()].number, Qt.CheckState(value) == Qt.CheckState.Checked
        if wanted != (number in self._marked):
            self.toggle(number)
        return True
