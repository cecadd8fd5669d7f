"""The dock with the agents of the selected game: filter, open, edit, archive, add, import and export."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QEvent, QPoint, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QAction, QDragEnterEvent, QDropEvent, QKeyEvent, QKeySequence, QShowEvent
from PySide6.QtWidgets import QDockWidget, QLineEdit, QMenu, QStackedWidget, QWidget

from engine.play.match import GameSpec
from league_app.core.changes import Change
from league_app.core.formatting import plural
from league_app.core.queries.agents import AgentRow, agent_rows
from league_app.core.state import LeagueState
from league_app.gui import theme
from league_app.gui.agent_actions import AgentActions
from league_app.gui.context import AppContext
from league_app.gui.models.agents import agent_columns, longest_rating
from league_app.gui.widgets.basics import EmptyState, IconButton, button, column, label, row
from league_app.gui.widgets.table.model import TableModel
from league_app.gui.widgets.table.view import TableView

PERIOD = 1000  # minimum milliseconds between two refreshes
WATCHED = frozenset({"agents", "tournaments", "matches"})
SHOW_ARCHIVED = "Show archived agents"
DROPPABLE = (".agent", ".league", ".replay")


class AgentTable(TableView):
    """A table with the keys of a file list: F2 edits, Delete archives."""

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
    """Emits `dropped` with leagues and replays dropped on it, which the window opens."""

    dropped = Signal(object)  # list of Path

    def __init__(self, context: AppContext) -> None:
        super().__init__("Agents")
        self.setObjectName("agents")
        self.setAcceptDrops(True)
        self._context = context
        self._rows: list[AgentRow] = []
        self._stale = True
        self.agent_actions = AgentActions(context, self)
        self.model = TableModel(agent_columns(), _key, self)
        self.table = AgentTable(self.model, "agents", context.settings)
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.filter_edit = QLineEdit()
        self.filter_edit.setPlaceholderText("Filter agents")
        self.filter_edit.setAccessibleName("Filter agents")
        self.filter_edit.setClearButtonEnabled(True)
        self.count = label("", "caption")
        self._build_actions()
        self._build()
        self._connect_signals()
        self._enable()

    def _build_actions(self) -> None:
        self._icons: dict[QAction, str] = {}
        self._open = self._action("Show agent page", "agent", self.open_selected)
        self._edit = self._action("Edit...", "edit", self.edit_selected)
        self._archive = self._action("Archive", "archive", self.archive_selected)
        self._export = self._action("Export...", "export", self.export_selected)
        self._adding = [
            self._action("Ready-made agents...", "plus", self.add_ready_made),
            self._action("Import agent files...", "import", self.import_files),
            self._action("USI engine...", "engine", self.add_engine),
            self._action("Add agent by kind...", "edit", self.enter),
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
        self.archived.setChecked(bool(self._context.settings.get("agents/archived", False)))
        self._update_archived_icon()
        self.add_button = button("Add", icon="plus")
        self._menu = QMenu(self)
        self._menu.addActions(self._adding)
        self.add_button.clicked.connect(self._show_add_menu)
        self.edit_button = IconButton("edit", "Edit (F2)", self.edit_selected)
        self.archive_button = IconButton("archive", "Archive (Del)", self.archive_selected)
        self.export_button = IconButton("export", "Export", self.export_selected)
        self.empty = EmptyState("agents", "No agents for this game yet.", "Add ready-made", self.add_ready_made)
        self.empty.sentence.setMinimumWidth(180)
        self.no_league = EmptyState("agents", "Open a league to see its agents.")
        self.no_league.sentence.setMinimumWidth(120)
        self.stack = QStackedWidget()
        for widget in (self.table, self.empty, self.no_league):
            self.stack.addWidget(widget)
        inner = QWidget()
        buttons = row(self.add_button, 1, self.edit_button, self.archive_button, self.export_button, gap=4)
        inner.setLayout(column(row(self.filter_edit, self.archived, gap=4), self.stack, self.count, buttons, margin=12))
        inner.setMinimumWidth(220)
        self.setWidget(inner)

    def _connect_signals(self) -> None:
        context = self._context
        self._refresh_timer = QTimer(self)
        self._refresh_timer.setSingleShot(True)
        self._refresh_timer.setInterval(PERIOD)
        self._refresh_timer.timeout.connect(self._refresh_if_visible)
        context.changed.connect(self._on_changes)
        context.opened.connect(self._refresh_all)
        context.pool_changed.connect(self._refresh_all)
        self.filter_edit.textChanged.connect(self._filter)
        self.table.chosen.connect(self._chosen)
        self.table.edited.connect(self.edit_selected)
        self.table.removed.connect(self.archive_selected)
        self.table.customContextMenuRequested.connect(self._show_menu)
        self.table.selectionModel().selectionChanged.connect(self._enable)
        self.model.modelReset.connect(self._enable)

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802
        if event.type() == QEvent.Type.PaletteChange:
            for action, icon in self._icons.items():
                action.setIcon(theme.icon(icon))
        super().changeEvent(event)

    # Refreshing

    @Slot(object)
    def _on_changes(self, changes: Sequence[Change]) -> None:
        kinds = {change.what for change in changes}
        if kinds & WATCHED:
            self._stale = True
            if "agents" in kinds:  # the user is waiting for the result
                self._refresh_if_visible()
            elif not self._refresh_timer.isActive():
                self._refresh_timer.start()

    @Slot()
    def _refresh_all(self) -> None:
        self._stale = True
        if self._context.state is None:
            self._show_rows([])
        self._refresh_if_visible()

    @Slot()
    def _refresh_if_visible(self) -> None:
        if self._stale and self.isVisible() and self._context.state is not None:
            self._stale = False
            self._context.ask("agents", partial(_load_rows, pool=self._context.pool), self._show_rows)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        super().showEvent(event)
        self._refresh_if_visible()

    def _show_rows(self, rows: list[AgentRow]) -> None:
        self._rows = rows
        archived = sum(row.archived for row in rows)
        shown = rows if self.archived.isChecked() else [row for row in rows if not row.archived]
        self.model.set_rows(shown)
        self.table.resize_on_change((self._context.pool, longest_rating(shown)))
        text = plural(len(rows) - archived, "agent")
        self.count.setText(f"{text}, {archived:,} archived" if archived else text)
        empty = self.no_league if self._context.state is None else self.empty
        self.stack.setCurrentWidget(self.table if shown else empty)
        self._enable()

    @Slot(str)
    def _filter(self, text: str) -> None:
        self.model.set_filter(text)

    def _update_archived_icon(self) -> None:
        """An open or crossed-out eye; the box icon below means archiving."""
        self.archived.set_icon("eye" if self.archived.isChecked() else "eye-off", SHOW_ARCHIVED)

    @Slot()
    def _show_archived(self) -> None:
        self._update_archived_icon()
        self._context.settings.set("agents/archived", self.archived.isChecked())
        self._show_rows(self._rows)

    # Selection

    def selected(self) -> list[str]:
        """The ids of the selected agents."""
        return [row.id for row in self.table.selected_rows()]

    @Slot()
    def _enable(self, *_: object) -> None:
        picked, writable = self.table.selected_rows(), self.agent_actions.writable
        back = bool(picked) and all(row.archived for row in picked)
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
        for action in self._adding:
            action.setEnabled(writable)

    # Actions

    @Slot(object)
    def _chosen(self, row: AgentRow) -> None:
        self._context.navigate("agent", row.id)

    @Slot()
    def open_selected(self) -> None:
        for id in self.selected()[:1]:
            self._context.navigate("agent", id)

    @Slot()
    def edit_selected(self) -> None:
        for id in self.selected()[:1]:
            self.agent_actions.edit(id, self.window())

    @Slot()
    def archive_selected(self) -> None:
        """Archives the selected agents, or restores them if all are archived."""
        self.agent_actions.archive(self.table.selected_rows())

    @Slot()
    def export_selected(self) -> None:
        picked = self.table.selected_rows()
        if picked:
            self.agent_actions.export(picked, self.window())

    @Slot()
    def add_ready_made(self) -> None:
        self.agent_actions.add_ready_made(self.window())

    @Slot()
    def import_files(self) -> None:
        self.agent_actions.import_files(self.window())

    def import_paths(self, paths: Sequence[Path]) -> None:
        """Imports files that were dropped on the window."""
        self.agent_actions.import_paths(paths)

    @Slot()
    def enter(self) -> None:
        """Adds an agent by kind and payload."""
        self.agent_actions.enter(self.window())

    @Slot()
    def add_engine(self) -> None:
        self.agent_actions.add_engine(self.window())

    @Slot()
    def confirm_engine(self) -> None:
        """Confirms an imported engine: the selected one, if it is unconfirmed."""
        self.agent_actions.confirm_one(self.selected(), self.window())

    @Slot()
    def toggle_log(self) -> None:
        self.agent_actions.toggle_log()

    @Slot()
    def add_person(self) -> None:
        self.agent_actions.add_person()

    # Menus and drag and drop

    @Slot()
    def _show_add_menu(self) -> None:
        self._menu.popup(self.add_button.mapToGlobal(QPoint(0, self.add_button.height() + 4)))

    @Slot(QPoint)
    def _show_menu(self, at: QPoint) -> None:
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
        agents = [file for file in files if file.suffix == ".agent"]
        others = [file for file in files if file.suffix != ".agent"]
        if agents:
            self.agent_actions.import_paths(agents)
        if others:
            self.dropped.emit(others)


def _files(event: QDropEvent) -> list[Path]:
    paths = [Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()]
    return [file for file in paths if file.suffix in DROPPABLE]


def _key(row: AgentRow) -> str:
    return row.id


def _load_rows(state: LeagueState, pool: GameSpec | None) -> list[AgentRow]:
    return agent_rows(state.league, pool)
