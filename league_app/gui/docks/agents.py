"""The agents of the game that is looked at, beside every page: find one, open it, change it, bring others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QEvent, QPoint, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QAction, QDragEnterEvent, QDropEvent, QKeyEvent, QKeySequence, QShowEvent
from PySide6.QtWidgets import QDockWidget, QLineEdit, QMenu, QStackedWidget, QWidget

from engine.play.match import GameSpec
from league_app.core.queries import matches as looks
from league_app.gui import theme
from league_app.core.changes import Change
from league_app.gui.context import Desk
from league_app.gui.agent_actions import Handling
from league_app.core.queries.matches import Listed
from league_app.gui.models.agents import agent_columns, longest
from league_app.gui.widgets.table.model import TableModel
from league_app.core.state import LeagueState
from league_app.gui.widgets.basics import Empty, IconButton, button, column, label, row
from league_app.gui.widgets.table.view import Table
from league_app.core.formatting import many

PERIOD = 1000  # milliseconds between two looks at least
WATCHED = frozenset({"agents", "tournaments", "matches"})
SHOW_ARCHIVED = "Show archived agents"
TAKEN = (".agent", ".league", ".replay")  # what may be dropped


class AgentTable(Table):
    """With the keys of a file list."""

    edited = Signal()
    removed = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        if event.key() == Qt.Key.Key_F2:
            self.edited.emit()
        elif event.matches(QKeySequence.StandardKey.Delete):
            self.removed.emit()
        else:
            super().keyPressEvent(event)


class AgentsDock(QDockWidget):
    """`dropped` tells files that are not agents: leagues and replays, for the window to open."""

    dropped = Signal(object)  # list of Path

    def __init__(self, desk: Desk) -> None:
        super().__init__("Agents")
        self.setObjectName("agents")
        self.setAcceptDrops(True)
        self._desk = desk
        self._every: list[Listed] = []
        self._stale = True
        self.handling = Handling(desk, self)
        self.model = TableModel(agent_columns(), _key, self)
        self.table = AgentTable(self.model, "agents", desk.settings)
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.field = QLineEdit()
        self.field.setPlaceholderText("Filter agents")
        self.field.setAccessibleName("Filter agents")
        self.field.setClearButtonEnabled(True)
        self.count = label("", "caption")
        self._build_actions()
        self._build()
        self._listen()
        self._enable()

    def _build_actions(self) -> None:
        self._icons: dict[QAction, str] = {}
        self._open = self._action("Open its page", "agent", self.open_selected)
        self._edit = self._action("Edit...", "edit", self.edit_selected)
        self._archive = self._action("Archive", "archive", self.archive_selected)
        self._export = self._action("Export...", "export", self.export_selected)
        self._adding = [
            self._action("Ready-made agents...", "plus", self.add_ready_made),
            self._action("Import agent files...", "import", self.import_files),
            self._action("External engine...", "engine", self.add_engine),
            self._action("By kind and payload...", "edit", self.enter),
            self._action("Yourself", "human", self.add_person),
        ]

    def _action(self, text: str, icon: str, run: Callable[[], None]) -> QAction:
        made = QAction(text, self)
        made.triggered.connect(run)
        self._set_icon(made, icon)
        return made

    def _set_icon(self, action: QAction, icon: str) -> None:
        if self._icons.get(action) != icon:
            self._icons[action] = icon
            action.setIcon(theme.icon(icon))

    def _build(self) -> None:
        self.archived = IconButton("eye-off", SHOW_ARCHIVED, self._show_archived)
        self.archived.setCheckable(True)
        self.archived.setChecked(bool(self._desk.settings.get("agents/archived", False)))
        self._picture_archived()
        self.add_button = button("Add", icon="plus")
        self._menu = QMenu(self)
        self._menu.addActions(self._adding)
        self.add_button.clicked.connect(self._offer)
        self.edit_button = IconButton("edit", "Edit (F2)", self.edit_selected)
        self.archive_button = IconButton("archive", "Archive (Del)", self.archive_selected)
        self.export_button = IconButton("export", "Export", self.export_selected)
        self.empty = Empty("agents", "Nobody plays here yet.", "Add ready-made", self.add_ready_made)
        self.empty.sentence.setMinimumWidth(180)
        self.none = Empty("agents", "Open a league, and its agents are listed here.")
        self.none.sentence.setMinimumWidth(120)
        self.stack = QStackedWidget()
        for one in (self.table, self.empty, self.none):
            self.stack.addWidget(one)
        inner = QWidget()
        buttons = row(self.add_button, 1, self.edit_button, self.archive_button, self.export_button, gap=4)
        inner.setLayout(column(row(self.field, self.archived, gap=4), self.stack, self.count, buttons, margin=12))
        inner.setMinimumWidth(220)
        self.setWidget(inner)

    def _listen(self) -> None:
        desk = self._desk
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(PERIOD)
        self._soon.timeout.connect(self._look)
        desk.changed.connect(self._hear)
        desk.opened.connect(self._look_anew)
        desk.scoped.connect(self._look_anew)
        self.field.textChanged.connect(self._filter)
        self.table.chosen.connect(self._chosen)
        self.table.edited.connect(self.edit_selected)
        self.table.removed.connect(self.archive_selected)
        self.table.customContextMenuRequested.connect(self._context)
        self.table.selectionModel().selectionChanged.connect(self._enable)
        self.model.modelReset.connect(self._enable)

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        if event.type() == QEvent.Type.PaletteChange:
            for action, icon in self._icons.items():
                action.setIcon(theme.icon(icon))
        super().changeEvent(event)

    # Looking

    @Slot(object)
    def _hear(self, changes: Sequence[Change]) -> None:
        kinds = {change.what for change in changes}
        if kinds & WATCHED:
            self._stale = True
            if "agents" in kinds:  # somebody waits for it
                self._look()
            elif not self._soon.isActive():
                self._soon.start()

    @Slot()
    def _look_anew(self) -> None:
        self._stale = True
        if self._desk.state is None:
            self._take([])
        self._look()

    @Slot()
    def _look(self) -> None:
        if self._stale and self.isVisible() and self._desk.state is not None:
            self._stale = False
            self._desk.ask("agents", _Look(self._desk.pool), self._take)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        super().showEvent(event)
        self._look()

    def _take(self, found: list[Listed]) -> None:
        self._every = found
        away = sum(one.archived for one in found)
        shown = found if self.archived.isChecked() else [one for one in found if not one.archived]
        self.model.set_rows(shown)
        self.table.suit((self._desk.pool, longest(shown)))
        told = many(len(found) - away, "agent")
        self.count.setText(f"{told}, {away:,} archived" if away else told)
        nothing = self.none if self._desk.state is None else self.empty
        self.stack.setCurrentWidget(self.table if shown else nothing)
        self._enable()

    @Slot(str)
    def _filter(self, text: str) -> None:
        self.model.set_filter(text)

    def _picture_archived(self) -> None:
        """An eye that is open or shut: putting somebody away is the box below."""
        self.archived.set_icon("eye" if self.archived.isChecked() else "eye-off", SHOW_ARCHIVED)

    @Slot()
    def _show_archived(self) -> None:
        self._picture_archived()
        self._desk.settings.set("agents/archived", self.archived.isChecked())
        self._take(self._every)

    # Who is selected

    def selected(self) -> list[str]:
        """Ids."""
        return [one.id for one in self.table.picked()]

    @Slot()
    def _enable(self, *_: object) -> None:
        picked, writable = self.table.picked(), self.handling.writable
        back = bool(picked) and all(one.archived for one in picked)
        text = "Restore" if back else "Archive"
        self._archive.setText(text)
        self._set_icon(self._archive, "restore" if back else "archive")
        self.archive_button.set_icon("restore" if back else "archive", f"{text} (Del)")
        for control, on in (
            (self._open, len(picked) == 1),
            (self._edit, len(picked) == 1 and writable),
            (self.edit_button, len(picked) == 1 and writable),
            (self._archive, bool(picked) and writable),
            (self.archive_button, bool(picked) and writable),
            (self._export, bool(picked)),
            (self.export_button, bool(picked)),
            (self.add_button, writable),
            (self.empty.button, writable),
        ):
            control.setEnabled(on)
        for one in self._adding:
            one.setEnabled(writable)

    # What can be done

    @Slot(object)
    def _chosen(self, one: Listed) -> None:
        self._desk.show("agent", one.id)

    @Slot()
    def open_selected(self) -> None:
        for id in self.selected()[:1]:
            self._desk.show("agent", id)

    @Slot()
    def edit_selected(self) -> None:
        for id in self.selected()[:1]:
            self.handling.edit(id, self.window())

    @Slot()
    def archive_selected(self) -> None:
        """Put them away, or fetch them back if all of them are."""
        self.handling.archive(self.table.picked())

    @Slot()
    def export_selected(self) -> None:
        picked = self.table.picked()
        if picked:
            self.handling.export([one.id for one in picked], picked[0].name, self.window())

    @Slot()
    def add_ready_made(self) -> None:
        self.handling.add_ready_made(self.window())

    @Slot()
    def import_files(self) -> None:
        self.handling.import_files(self.window())

    def take(self, paths: Sequence[Path]) -> None:
        """Files that were dropped on the window."""
        self.handling.import_paths(paths)

    @Slot()
    def enter(self) -> None:
        """Somebody made of a kind and a payload."""
        self.handling.enter(self.window())

    @Slot()
    def add_engine(self) -> None:
        self.handling.add_engine(self.window())

    @Slot()
    def confirm_engine(self) -> None:
        """Let an engine that came from elsewhere run here: the selected one, if it is one that waits for it."""
        self.handling.confirm_one(self.selected(), self.window())

    @Slot()
    def toggle_log(self) -> None:
        self.handling.toggle_log()

    @Slot()
    def add_person(self) -> None:
        self.handling.add_person()

    # Menus and dropping

    @Slot()
    def _offer(self) -> None:
        self._menu.popup(self.add_button.mapToGlobal(QPoint(0, self.add_button.height() + 4)))

    @Slot(QPoint)
    def _context(self, at: QPoint) -> None:
        menu = QMenu(self)
        if self.table.indexAt(at).isValid():
            menu.addActions([self._open, self._edit, self._archive, self._export])
            menu.addSeparator()
        menu.addActions(self._adding)
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(self.table.viewport().mapToGlobal(at))

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:  # noqa: N802
        if _files(event):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:  # noqa: N802
        files = _files(event)
        event.acceptProposedAction()
        agents = [one for one in files if one.suffix == ".agent"]
        others = [one for one in files if one.suffix != ".agent"]
        if agents:
            self.handling.import_paths(agents)
        if others:
            self.dropped.emit(others)


def _files(event: QDropEvent) -> list[Path]:
    paths = [Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()]
    return [one for one in paths if one.suffix in TAKEN]


def _key(one: Listed) -> str:
    return one.id


class _Look:
    def __init__(self, pool: GameSpec | None) -> None:
        self._pool = pool

    def __call__(self, state: LeagueState) -> list[Listed]:
        return looks.listed(state.league, self._pool)
