"""Adding an external engine, whose options become a form, and confirming one that was imported."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QDialog, QLineEdit, QPlainTextEdit, QWidget

from agents.usi.engine_spec import LONGEST_MOVE, LONGEST_START, EngineSpec
from agents.usi.protocol import Identity, Option
from engine.errors import BadValue, RingsideError
from engine.league.records import Agent, check_name
from engine.options import Value, option
from league_app.core import usi_engines
from league_app.core.changes import Change, ChangeKind
from league_app.core.state import LeagueState
from league_app.gui.context import AppContext
from league_app.gui.dialogs.edit_agent import LabelledField
from league_app.gui.dialogs.help_key import add_help_key
from league_app.gui.dialogs.messages import ConfirmDialog
from league_app.gui.widgets.basics import Card, breakable, button, column, label, row, scroll_area
from league_app.gui.widgets.form import Form

OURS = ("UCI_Variant", "Protocol", "Ponder", "USI_Ponder")  # set by Ringside, or not supported
FIRST = 8  # fields that are visible at first
LIMITS = (  # the same for every engine and seldom changed, so they come last
    ("patience", EngineSpec.patience, 0.1, LONGEST_MOVE, "forfeit after this many seconds without an answer"),
    ("startup", EngineSpec.startup, 0.1, LONGEST_START, "time limit for starting, in seconds"),
    ("memory", EngineSpec.memory, 64, 1 << 22, "memory limit in MB"),
)


def settings_type(identity: Identity) -> type[Any]:
    """Return a dataclass for `Form`, with fields for the search limits and for each option that has a value."""
    nodes = option(1000, low=0, high=10**12, help="nodes to search per move (repeatable); 0: limit the time instead")
    seconds = option(1.0, low=0.01, high=3600.0, help="time per move if nodes is 0 (not repeatable)")
    fields: list[tuple[str, type, Any]] = [("nodes", int, nodes), ("seconds", float, seconds)]
    for place, engine_option in enumerate(identity.options):
        if engine_option.kind != "button" and engine_option.name not in OURS:
            kind, default, rules = _typed(engine_option)
            ends = (
                f"from {engine_option.low:,} to {engine_option.high:,}"
                if None not in (engine_option.low, engine_option.high)
                else ""
            )
            metadata = {"help": ends, "title": engine_option.name, "low": None, "high": None, "choices": None, **rules}
            fields.append((f"option_{place}", kind, dataclasses.field(default=default, metadata=metadata)))
    for name, default, low, high, help in LIMITS:
        fields.append((name, type(default), option(default, low=low, high=high, help=help)))
    return dataclasses.make_dataclass("EngineSettings", fields, frozen=True)


def _typed(engine_option: Option) -> tuple[type, Value, dict[str, Any]]:
    """Return type, default and rules of a field for an option; an invalid default is replaced by a valid one."""
    if engine_option.kind == "check":
        return bool, engine_option.default == "true", {}
    if engine_option.kind == "combo" and engine_option.choices:
        return (
            str,
            engine_option.default if engine_option.default in engine_option.choices else engine_option.choices[0],
            {"choices": engine_option.choices},
        )
    if engine_option.kind == "spin":
        low, high = engine_option.low, engine_option.high
        try:
            default = int(engine_option.default)
        except ValueError:
            default = low or 0
        default = default if low is None else max(default, low)
        return int, default if high is None else min(default, high), {"low": low, "high": high}
    return str, engine_option.default, {}


def options_of(identity: Identity, changed: Mapping[str, Value]) -> tuple[tuple[str, str], ...]:
    """Return the options that differ from the engine's defaults, in the format of USI."""
    found = []
    for place, engine_option in enumerate(identity.options):
        if (name := f"option_{place}") in changed:
            value = changed[name]
            found.append((engine_option.name, str(value).lower() if isinstance(value, bool) else str(value)))
    return tuple(found)


class AddEngineDialog(QDialog):
    """Starts the program that the user has chosen to read its name and options, then adds it as an agent."""

    def __init__(self, context: AppContext, path: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        add_help_key(self, context, "engines")
        self._context, self._path = context, usi_engines.absolute_path(path)
        self._identity: Identity | None = None
        self._arguments_used: tuple[str, ...] | None = None  # for reading the options
        self.form: Form | None = None
        self.setWindowTitle("Add engine")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(620, 560)
        self.name, self.arguments = QLineEdit(), QLineEdit()
        self.arguments.setPlaceholderText("none")
        self._name, self._arguments = (
            LabelledField("Name", self.name),
            LabelledField("Command-line arguments", self.arguments),
        )
        self.status = label("", "muted", wrap=True)
        self.error = label("", tone="bad", wrap=True)
        self.error.hide()
        self._scroll = scroll_area()
        card = Card(margin=1)
        card.body.addWidget(self._scroll)
        self.add_button = button("Add", self.add, primary=True)
        self.add_button.setDefault(True)
        buttons = row(1, button("Cancel", self.reject), self.add_button)
        title, command = label("Add engine", "title"), label(breakable(path), "caption", wrap=True)
        top = row(self._name, self._arguments, gap=12)
        whole = column(title, command, self.status, top, margin=24, gap=12)
        whole.addWidget(card, 1)
        whole.addWidget(self.error)
        whole.addLayout(buttons)
        self.setLayout(whole)
        self.name.textChanged.connect(self._validate)
        self.arguments.editingFinished.connect(self._load)
        self._load()

    @Slot()
    def _load(self) -> None:
        try:
            arguments = tuple(shlex.split(self.arguments.text()))
        except ValueError as error:
            self._arguments.show_error(f"{error}".capitalize())
            return
        self._arguments.show_error("")
        if arguments == self._arguments_used:
            return
        self._arguments_used, self._identity = arguments, None
        self.status.setText("Starting the engine to read its options...")
        self._validate()
        load = partial(load_engine, self._context.league, self._path, arguments)
        self._context.slow_queue.submit("engine", load, self._show, self._on_load_failed)

    def _show(self, found: tuple[Identity, str, str]) -> None:
        self._identity, game, name = found
        engine = self._identity.name or "Unnamed engine"
        author = f", by {self._identity.author}" if self._identity.author else ""
        self.status.setText(breakable(f"{engine}{author}. Plays {game}."))
        self._show_error("")
        if not self.name.text():
            self.name.setText(name)
        self.form = Form(settings_type(self._identity), shown=FIRST)
        self.form.setContentsMargins(16, 16, 16, 16)
        self.form.edited.connect(self._validate)
        self._scroll.setWidget(self.form)
        self._validate()

    def _on_load_failed(self, error: Exception) -> None:
        self.status.setText("The options could not be read.")
        self._show_error(str(error))

    def _show_error(self, text: str) -> None:
        self.error.setText(breakable(text))
        self.error.setVisible(bool(text))

    @Slot()
    def _validate(self) -> None:
        named = bool(self.name.text()) and self._name.check(self._check_name)
        self.add_button.setEnabled(named and self._identity is not None and self._engine() is not None)

    def _check_name(self) -> None:
        check_name("name", self.name.text())

    def _engine(self) -> EngineSpec | None:
        """Return the engine that the form describes; None while a field has an error, which the form shows."""
        if self.form is None or self._identity is None:
            return None
        try:
            values, changed = self.form.values(), self.form.changed()
        except RingsideError:
            return None
        nodes, seconds = int(values["nodes"]), float(values["seconds"])
        try:
            options = options_of(self._identity, changed)
            limits: dict[str, Any] = {name: values[name] for name, *_ in LIMITS}
            arguments = self._arguments_used or ()
            engine = EngineSpec(self._path, arguments, options, nodes, 0.0 if nodes else seconds, **limits)
        except BadValue as error:
            self._show_error(str(error))
            return None
        self._show_error("")
        return engine

    @Slot()
    def add(self) -> None:
        engine = self._engine()
        if engine is not None and self._identity is not None:
            self.add_button.setEnabled(False)
            game = next(iter(usi_engines.games()))
            task = partial(usi_engines.add_engine, self._context.league, self.name.text(), game, engine, self._identity)
            self._context.slow_queue.run(task, self._on_added, self._on_add_failed)

    def _on_added(self, agent: Agent) -> None:
        self._context.notify(f"{agent.name} joined the league", "good", self._context.archive_offer([agent.id]))
        self.accept()

    def _on_add_failed(self, error: Exception) -> None:
        self._show_error(str(error))
        self._validate()


def load_engine(state: LeagueState, path: str, arguments: tuple[str, ...]) -> tuple[Identity, str, str]:
    """Start the engine; return what it reports, the title of the game that it plays, and a free name for it."""
    found = usi_engines.identify(path, arguments)
    game, title = next(iter(usi_engines.games().items()))
    return found, title, usi_engines.name_for(state.league, game, found, path)


def confirm_engine_dialog(context: AppContext, agent: str, parent: QWidget | None = None) -> ConfirmDialog:
    """Make the dialog that shows the whole command of an engine, by name or id, before it may run."""
    league = context.league.league
    found = league.agent(agent)
    engine = usi_engines.engine_in(league, found)
    if usi_engines.confirmed(league, found):
        raise BadValue("engine", found.name, "one that is not confirmed on this machine yet")
    lines = [*(shlex.quote(part) for part in (engine.command, *engine.arguments)), *engine.terms]
    return ConfirmEngineDialog(parent, found.name, "\n".join(lines), partial(_confirm, context, found))


def _confirm(context: AppContext, agent: Agent) -> None:
    if context.attempt(partial(usi_engines.confirm, context.league.league, agent)):
        context.league.notices.add(Change(ChangeKind.AGENTS))
        context.notify(f"{agent.name} is allowed to run on this machine", "good")


class ConfirmEngineDialog(ConfirmDialog):
    """Shows the whole command, a line for each part; Enter does not confirm."""

    def __init__(self, parent: QWidget | None, name: str, command: str, doing: Callable[[], Any]) -> None:
        more = "A program has all your permissions. Allow it only if you trust its source. The whole command:"
        super().__init__(parent, f"Allow {name} to run on this machine?", more, "Allow", doing)
        self.command = QPlainTextEdit(command)
        self.command.setReadOnly(True)
        self.command.setAccessibleName("Command")
        self.command.setMinimumSize(520, 160)
        self.setMinimumWidth(620)  # the minimum width set by MessageDialog would override that of the command
        self.words.addWidget(self.command)
        self.yes.setAutoDefault(False)
        self.yes.setDefault(False)
        self.no.setDefault(True)
        self.no.setFocus()
