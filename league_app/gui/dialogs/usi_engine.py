"""An external engine: the chosen program is asked who it is, and its options become a form; and one that came from
elsewhere is confirmed."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QDialog, QFrame, QLineEdit, QPlainTextEdit, QScrollArea, QWidget

from agents.usi.engine_spec import LONGEST_MOVE, LONGEST_START, Engine
from agents.usi.protocol import Identity, Option
from engine.errors import BadValue, RingsideError
from engine.league.records import Agent, check_name
from engine.options import Value, option
from league_app.core import usi_engines as engines
from league_app.core.changes import Change
from league_app.gui.context import Desk
from league_app.gui.undo_commands import Offered
from league_app.gui.dialogs.edit_agent import Field
from league_app.gui.dialogs.messages import Question
from league_app.core.state import LeagueState
from league_app.gui.widgets.basics import Card, breakable, button, column, label, row
from league_app.gui.widgets.form import Form

OURS = ("UCI_Variant", "Protocol", "Ponder", "USI_Ponder")  # set by us, or of no use here
FIRST = 8  # fields that are seen at once
LIMITS = (  # that are the same for every engine: seldom changed, so they come last
    ("patience", Engine.patience, 0.1, LONGEST_MOVE, "seconds without an answer after which it has stalled"),
    ("startup", Engine.startup, 0.1, LONGEST_START, "seconds until it must be ready"),
    ("memory", Engine.memory, 64, 1 << 22, "MB that it may take"),
)


def settings_type(identity: Identity) -> type[Any]:
    """A dataclass with a field for the limit and for each option that has a value: what `Form` shows."""
    nodes = option(1000, low=0, high=10**12, help="positions to search for a move: repeatable; 0 to go by time")
    seconds = option(1.0, low=0.01, high=3600.0, help="for a move, where nodes is 0: not repeatable")
    fields: list[tuple[str, type, Any]] = [("nodes", int, nodes), ("seconds", float, seconds)]
    for place, one in enumerate(identity.options):
        if one.kind != "button" and one.name not in OURS:
            kind, default, rules = _typed(one)
            ends = f"from {one.low:,} to {one.high:,}" if None not in (one.low, one.high) else ""
            given = {"help": ends, "title": one.name, "low": None, "high": None, "choices": None, **rules}
            fields.append((f"option_{place}", kind, dataclasses.field(default=default, metadata=given)))
    for name, default, low, high, help in LIMITS:
        fields.append((name, type(default), option(default, low=low, high=high, help=help)))
    return dataclasses.make_dataclass("EngineSettings", fields, frozen=True)


def _typed(one: Option) -> tuple[type, Value, dict[str, Any]]:
    """Type, default and rules of a field for an option; a default that cannot be is one that can."""
    if one.kind == "check":
        return bool, one.default == "true", {}
    if one.kind == "combo" and one.choices:
        return str, one.default if one.default in one.choices else one.choices[0], {"choices": one.choices}
    if one.kind == "spin":
        low, high = one.low, one.high
        try:
            default = int(one.default)
        except ValueError:
            default = low or 0
        default = default if low is None else max(default, low)
        return int, default if high is None else min(default, high), {"low": low, "high": high}
    return str, one.default, {}


def options_of(identity: Identity, changed: Mapping[str, Value]) -> tuple[tuple[str, str], ...]:
    """What differs from what the engine does by itself, as it wants to be told."""
    found = []
    for place, one in enumerate(identity.options):
        if (name := f"option_{place}") in changed:
            value = changed[name]
            found.append((one.name, str(value).lower() if isinstance(value, bool) else str(value)))
    return tuple(found)


class EngineSheet(QDialog):
    """For a program that a person has just chosen: it is run at once, to be asked."""

    def __init__(self, desk: Desk, path: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._desk, self._path = desk, engines.whole_path(path)
        self._identity: Identity | None = None
        self._asked: tuple[str, ...] | None = None  # the arguments with which it was
        self.form: Form | None = None
        self.setWindowTitle("Add engine")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(620, 560)
        self.name, self.arguments = QLineEdit(), QLineEdit()
        self.arguments.setPlaceholderText("none")
        self._name, self._arguments = Field("Name", self.name), Field("Arguments of its command", self.arguments)
        self.told = label("", "muted", wrap=True)
        self.wrong = label("", tone="bad", wrap=True)
        self.wrong.hide()
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        card = Card(margin=1)
        card.body.addWidget(self._scroll)
        self.add_button = button("Add", self.add, primary=True)
        self.add_button.setDefault(True)
        buttons = row(1, button("Cancel", self.reject), self.add_button)
        title, command = label("Add engine", "title"), label(breakable(path), "caption", wrap=True)
        top = row(self._name, self._arguments, gap=12)
        whole = column(title, command, self.told, top, margin=24, gap=12)
        whole.addWidget(card, 1)
        whole.addWidget(self.wrong)
        whole.addLayout(buttons)
        self.setLayout(whole)
        self.name.textChanged.connect(self._look)
        self.arguments.editingFinished.connect(self._ask)
        self._ask()

    @Slot()
    def _ask(self) -> None:
        try:
            words = tuple(shlex.split(self.arguments.text()))
        except ValueError as error:
            self._arguments.tell(f"{error}".capitalize())
            return
        self._arguments.tell("")
        if words == self._asked:
            return
        self._asked, self._identity = words, None
        self.told.setText("Asking it who it is ...")
        self._look()
        self._desk.work.ask("engine", _Ask(self._desk.league, self._path, words), self._answered, self._mute)

    def _answered(self, found: tuple[Identity, str, str]) -> None:
        self._identity, game, name = found
        who = self._identity.name or "It does not say its name"
        by = f", by {self._identity.author}" if self._identity.author else ""
        self.told.setText(breakable(f"{who}{by}. It plays {game}."))
        self._tell("")
        if not self.name.text():
            self.name.setText(name)
        self.form = Form(settings_type(self._identity), shown=FIRST)
        self.form.setContentsMargins(16, 16, 16, 16)
        self.form.edited.connect(self._look)
        self._scroll.setWidget(self.form)
        self._look()

    def _mute(self, error: Exception) -> None:
        self.told.setText("It has not said who it is.")
        self._tell(str(error))

    def _tell(self, what: str) -> None:
        self.wrong.setText(breakable(what))
        self.wrong.setVisible(bool(what))

    @Slot()
    def _look(self) -> None:
        named = bool(self.name.text()) and self._name.check(self._check_name)
        self.add_button.setEnabled(named and self._identity is not None and self._engine() is not None)

    def _check_name(self) -> None:
        check_name("name", self.name.text())

    def _engine(self) -> Engine | None:
        """What the form describes; None while something is wrong. The form tells that itself, of each field."""
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
            engine = Engine(self._path, self._asked or (), options, nodes, 0.0 if nodes else seconds, **limits)
        except BadValue as error:
            self._tell(str(error))
            return None
        self._tell("")
        return engine

    @Slot()
    def add(self) -> None:
        engine = self._engine()
        if engine is not None and self._identity is not None:
            self.add_button.setEnabled(False)
            entering = _Enter(self._desk.league, self.name.text(), engine, self._identity)
            self._desk.work.ask("enter engine", entering, self._done, self._failed)

    def _done(self, agent: Agent) -> None:
        self._desk.say(f"{agent.name} is in", "good", ("Undo", Offered(self._desk, [agent.id])))
        self.accept()

    def _failed(self, error: Exception) -> None:
        self._tell(str(error))
        self._look()


def confirm_sheet(desk: Desk, agent: str, parent: QWidget | None = None) -> Question:
    """By name or id: the whole command of an engine, to be looked at before it may run."""
    league = desk.league.league
    one = league.agent(agent)
    engine = engines.engine_in(league, one)
    if engines.confirmed(league, one):
        raise BadValue("engine", one.name, "one that is not confirmed on this machine yet")
    lines = [*(shlex.quote(part) for part in (engine.command, *engine.arguments)), *engine.terms]
    return Consent(parent, one.name, "\n".join(lines), _Confirm(desk, one))


class Consent(Question):
    """All of a command can be read, a line for each part, and Enter is no answer."""

    def __init__(self, parent: QWidget | None, name: str, command: str, doing: Callable[[], Any]) -> None:
        more = "A program can do whatever you can. Let it run only if you know where it comes from. Its whole command:"
        super().__init__(parent, f"Let {name} run on this machine?", more, "Let it run", doing)
        self.command = QPlainTextEdit(command)
        self.command.setReadOnly(True)
        self.command.setAccessibleName("Command")
        self.command.setMinimumSize(520, 160)
        self.setMinimumWidth(620)  # or its own least width, set above, would count for more than its parts
        self.words.addWidget(self.command)
        self.yes.setAutoDefault(False)
        self.yes.setDefault(False)
        self.no.setDefault(True)
        self.no.setFocus()


class _Confirm:
    def __init__(self, desk: Desk, agent: Agent) -> None:
        self._desk, self._agent = desk, agent

    def __call__(self) -> None:
        if self._desk.attempt(self._confirm):
            self._desk.say(f"{self._agent.name} may run on this machine", "good")

    def _confirm(self) -> Engine:
        engine = engines.confirm(self._desk.league.league, self._agent)
        self._desk.league.notices.add(Change("agents"))
        return engine


class _Ask:
    def __init__(self, state: LeagueState, path: str, arguments: tuple[str, ...]) -> None:
        self._state, self._path, self._arguments = state, path, arguments

    def __call__(self) -> tuple[Identity, str, str]:
        """Who it is, the title of the game that it plays, and a name for it."""
        found = engines.ask(self._path, self._arguments)
        game, title = next(iter(engines.games().items()))
        return found, title, engines.name_for(self._state.league, game, found, self._path)


class _Enter:
    def __init__(self, state: LeagueState, name: str, engine: Engine, identity: Identity) -> None:
        self._state, self._name, self._engine, self._identity = state, name, engine, identity

    def __call__(self) -> Agent:
        return engines.enter(self._state, self._name, next(iter(engines.games())), self._engine, self._identity)
