"""Dialogs that add agents to a league: ready-made ones, or one from a kind and a payload."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtWidgets import QComboBox, QDialog, QLineEdit, QPlainTextEdit, QWidget

from engine.errors import RingsideError
from engine.files import read_file
from engine.league.records import LARGEST_PAYLOAD, Agent, check_name
from engine.registry import GAMES, KINDS, agents_for, all_games, new_game, person_kind
from league_app.core.formatting import plural
from league_app.core.state import LeagueState
from league_app.gui.context import AppContext
from league_app.gui.dialogs.edit_agent import AgentDescriptionForm, LabelledField
from league_app.gui.dialogs.help_key import add_help_key
from league_app.gui.widgets.agent_colours import colour_of
from league_app.gui.widgets.basics import breakable, button, column, label, row
from league_app.gui.widgets.checklist import CheckItem, CheckList
from league_app.gui.widgets.file_dialogs import open_file
from league_app.gui.widgets.form import Form


class _GameBox(QComboBox):
    """All working games by title, then the games of families by name, because these are not loaded yet."""

    def __init__(self, chosen: str | None) -> None:
        super().__init__()
        self.setAccessibleName("Game")
        for name, game in all_games().items():
            self.addItem(game.info.title, name)
        for name in GAMES.members():
            self.addItem(name, name)
        self.setCurrentIndex(max(self.findData(chosen), 0))

    @property
    def chosen(self) -> str:
        return str(self.currentData())


class ReadyMadeDialog(QDialog):
    """Offers the agents of Ringside and installed plug-ins; agents already in the league cannot be checked."""

    def __init__(self, context: AppContext, game: str | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        add_help_key(self, context, "agents")
        self._context = context
        self.setWindowTitle("Add ready-made agents")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(460, 480)
        self.game = _GameBox(game or context.game)
        self.list = CheckList("Ready-made agents")
        self.add_button = button("Add", self.add, primary=True)
        self.add_button.setDefault(True)
        self.error = label("", tone="bad", wrap=True)
        self.error.hide()
        buttons = row(1, button("Cancel", self.reject), self.add_button)
        title = label("Add ready-made agents", "title")
        self.setLayout(
            column(title, LabelledField("Game", self.game), self.list, self.error, buttons, margin=24, gap=12)
        )
        self.list.changed.connect(self._update_button)
        self.game.currentIndexChanged.connect(self._load)
        self._load()

    @Slot()
    def _load(self) -> None:
        self.list.set_choices([])
        self.list.show_message(f"Loading {self.game.currentText()}...")
        self.error.hide()
        load = partial(load_ready_made, self._context.league, self.game.chosen)
        self._context.slow_queue.submit("ready-made", load, self._show, self._on_failed)

    def _show(self, choices: list[CheckItem]) -> None:
        self.list.set_choices(choices)
        self.list.show_message("" if choices else "No ready-made agents for this game")

    @Slot()
    def _update_button(self) -> None:
        count = len(self.list.checked)
        self.add_button.setText(f"Add {plural(count, 'agent')}" if count else "Add")
        self.add_button.setEnabled(bool(count))

    @Slot()
    def add(self) -> None:
        self.add_button.setEnabled(False)
        task = partial(self._context.league.add_samples, self.game.chosen, self.list.checked)
        self._context.slow_queue.run(task, self._on_added, self._on_failed)

    def _on_added(self, agents: list[Agent]) -> None:
        added = agents[0].name if len(agents) == 1 else plural(len(agents), "agent")
        self._context.notify(f"{added} added", "good", self._context.archive_offer([agent.id for agent in agents]))
        self.accept()

    def _on_failed(self, error: Exception) -> None:
        self.list.show_message("")
        self.error.setText(breakable(str(error)))
        self.error.show()
        self._update_button()


def load_ready_made(state: LeagueState, game: str) -> list[CheckItem]:
    """Return the ready-made agents of a game; those that cannot be added come last."""
    taken = {agent.name: agent.archived is not None for agent in state.league.agents(game, archived=True)}
    rules, found = new_game(game), []
    person = person_kind(rules)
    for kind, agents in agents_for(rules).items():
        for agent in agents if person is None or kind != person.name else ():
            barred = (
                ("archived: restore it instead" if taken[agent.id] else "already added") if agent.id in taken else ""
            )
            found.append(CheckItem(agent.id, agent.id, kind, colour_of(agent.id), not barred, barred))
    return sorted(found, key=lambda row: bool(row.disabled_reason))


class AddAgentDialog(QDialog):
    """Adds an agent of a kind with a payload, which is typed or read from a file."""

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        add_help_key(self, context, "agents")
        self._context = context
        self._file: Path | None = None
        self.setWindowTitle("Add agent")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setFixedWidth(500)
        self.game, self.kind, self.name = _GameBox(context.game), QComboBox(), QLineEdit()
        self.payload = QPlainTextEdit()
        self.payload.setPlaceholderText('{"style": "tracker", "dead_zone": 0.03}')
        self.payload.setStyleSheet("min-height: 60px; max-height: 60px")
        self.payload.setTabChangesFocus(True)
        self.description = AgentDescriptionForm()
        self._kind, self._name = LabelledField("Kind", self.kind), LabelledField("Name", self.name)
        self._payload = LabelledField("Payload (parameters or weights, in the format of the kind)", self.payload)
        self.file_button = button("Load from file...", self._choose_file, icon="open")
        self.text_button = button("Enter as text", self._use_text, link=True)
        self.text_button.hide()
        self.form: Form | None = None  # the settings of the payload, if the kind has any
        self._form_place = column()
        self.add_button = button("Add", self.add, primary=True)
        self.add_button.setDefault(True)
        top = row(LabelledField("Game", self.game), self._kind, gap=12)
        files = row(self.file_button, self.text_button, 1)
        buttons = row(1, button("Cancel", self.reject), self.add_button)
        title = label("Add agent", "title")
        self.setLayout(
            column(
                title,
                top,
                self._name,
                self._payload,
                files,
                self._form_place,
                self.description,
                buttons,
                margin=24,
                gap=12,
            )
        )
        self.game.currentIndexChanged.connect(self._load_kinds)
        self.kind.currentIndexChanged.connect(self._load_settings)
        self.name.textChanged.connect(self._validate)
        self.payload.textChanged.connect(self._validate)
        self.description.changed.connect(self._validate)
        self._load_kinds()
        self._validate()

    @Slot()
    def _load_kinds(self) -> None:
        self._kind.show_error("")
        load = partial(load_kinds, self.game.chosen)
        self._context.slow_queue.submit("kinds", load, self._show_kinds, self._on_kinds_failed)

    def _show_kinds(self, kinds: list[str]) -> None:
        self.kind.clear()
        self.kind.addItems(kinds)

    def _on_kinds_failed(self, error: Exception) -> None:
        self._show_kinds([])
        self._kind.show_error(str(error))

    @Slot()
    def _validate(self) -> None:
        named = bool(self.name.text())
        valid = (self._name.check(self._check_name) if named else True) & self.description.valid()
        self._payload.show_error("")
        self.add_button.setEnabled(valid and named and (self.form is None or not self.form.error))

    def _check_name(self) -> None:
        check_name("name", self.name.text())

    @Slot()
    def _choose_file(self) -> None:
        open_file(self, "Load payload", self.use_file)

    @Slot(str)
    def use_file(self, path: str) -> None:
        self._file = Path(path)
        self.payload.setPlainText(f"(content of {self._file.name})")
        self.payload.setEnabled(False)
        self.text_button.show()
        self._load_settings()

    @Slot()
    def _use_text(self) -> None:
        self._file = None
        self.payload.clear()
        self.payload.setEnabled(True)
        self.text_button.hide()
        self._load_settings()

    @Slot()
    def _load_settings(self) -> None:
        """Show what can be chosen for the network or program in the file."""
        self._show_settings(None)
        self._payload.show_error("")
        if self._file is not None and self.kind.currentText():
            load = partial(load_settings, self.kind.currentText(), self._file)
            self._context.slow_queue.submit("settings of a payload", load, self._show_settings, self._on_failed)

    def _show_settings(self, settings: object) -> None:
        if self.form is not None:
            self._form_place.removeWidget(self.form)
            self.form.deleteLater()
            self.form = None
        if settings is not None:
            self.form = Form(type(settings), asdict(settings))  # type: ignore[call-overload]
            self.form.edited.connect(self._validate)
            self._form_place.addWidget(self.form)
        QTimer.singleShot(0, self, self._fit)  # after the form has been laid out
        self._validate()

    @Slot()
    def _fit(self) -> None:
        self.resize(self.sizeHint())  # `adjustSize` stops at two thirds of the screen

    @Slot()
    def add(self) -> None:
        self.add_button.setEnabled(False)
        source = self._file or self.payload.toPlainText()
        agent = self.name.text(), self.game.chosen, self.kind.currentText()
        settings = self.form.values() if self.form is not None else {}
        task = partial(_add_agent, self._context.league, *agent, source, settings, self.description.values)
        self._context.slow_queue.run(task, self._on_added, self._on_failed)

    def _on_added(self, agent: Agent) -> None:
        self._context.notify(f"{agent.name} joined the league", "good", self._context.archive_offer([agent.id]))
        self.accept()

    def _on_failed(self, error: Exception) -> None:
        field = self._name if isinstance(error, RingsideError) and error.field == "name" else self._payload
        field.show_error(str(error))
        self.add_button.setEnabled(bool(self.name.text()))


def load_kinds(game: str) -> list[str]:
    """Return the agent kinds that play this game."""
    rules = new_game(game)
    person = person_kind(rules)
    return [name for name, kind in KINDS.working().items() if kind is not person and kind.plays(rules)]


def load_settings(kind: str, file: Path) -> object | None:
    """Return the settings in the payload in this file, as a dataclass; None if the kind has none."""
    offer = KINDS.get(kind).settings
    return None if offer is None else offer(read_file(file, LARGEST_PAYLOAD, "payload"))


def _add_agent(
    state: LeagueState,
    name: str,
    game: str,
    kind: str,
    source: Path | str,
    settings: dict[str, Any],
    description: dict[str, Any],
) -> Agent:
    """Add an agent whose payload is this text, or the content of this file."""
    if isinstance(source, Path):
        payload = read_file(source, LARGEST_PAYLOAD, "payload")
    else:
        payload = source.encode(errors="surrogateescape")
    return state.add_agent(name, game, kind, payload, settings, origin="added by hand", **description)
