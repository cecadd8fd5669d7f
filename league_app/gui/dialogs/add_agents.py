"""New agents for a league: ready-made ones to tick, or one made of a kind and a payload."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QComboBox, QDialog, QFileDialog, QLineEdit, QPlainTextEdit, QWidget

from engine.errors import BadValue
from engine.files import check_path
from engine.league.records import Agent, check_name
from engine.registry import GAMES, KINDS, agents_for, all_games, new_game
from league_app.gui.context import Desk
from league_app.gui.undo_commands import Offered
from league_app.gui.dialogs.edit_agent import Field, Said
from league_app.core.state import LeagueState
from league_app.gui.widgets.basics import breakable, button, column, label, row
from league_app.gui.widgets.checklist import CheckList, Choice
from league_app.gui.widgets.agent_colours import colour_of
from league_app.core.formatting import many

PERSON = "human"  # a kind whose only agent is whoever sits here: there is another way to add that one


class _GameBox(QComboBox):
    """Every game that works, by title; then what families have, by name, because none of it is loaded yet."""

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


class ReadyMadeSheet(QDialog):
    """Those that come with Ringside and with what is installed; who is in already cannot be ticked."""

    def __init__(self, desk: Desk, game: str | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._desk = desk
        self.setWindowTitle("Ready-made agents")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(460, 480)
        self.game = _GameBox(game or desk.game)
        self.list = CheckList("Ready-made agents")
        self.add_button = button("Add", self.add, primary=True)
        self.add_button.setDefault(True)
        self.wrong = label("", tone="bad", wrap=True)
        self.wrong.hide()
        buttons = row(1, button("Cancel", self.reject), self.add_button)
        title = label("Ready-made agents", "title")
        self.setLayout(column(title, Field("Game", self.game), self.list, self.wrong, buttons, margin=24, gap=12))
        self.list.changed.connect(self._look)
        self.game.currentIndexChanged.connect(self._ask)
        self._ask()

    @Slot()
    def _ask(self) -> None:
        self.list.offer([])
        self.list.say(f"Trying {self.game.currentText()} ...")
        self.wrong.hide()
        self._desk.work.ask("ready-made", _Offered(self._desk.league, self.game.chosen), self._take, self._failed)

    def _take(self, choices: list[Choice]) -> None:
        self.list.offer(choices)
        self.list.say("" if choices else "There are none for this game.")

    @Slot()
    def _look(self) -> None:
        count = len(self.list.ticked)
        self.add_button.setText(f"Add {many(count, 'agent')}" if count else "Add")
        self.add_button.setEnabled(bool(count))

    @Slot()
    def add(self) -> None:
        self.add_button.setEnabled(False)
        doing = _AddReady(self._desk.league, self.game.chosen, self.list.ticked)
        self._desk.work.ask("add ready-made", doing, self._done, self._failed)

    def _done(self, agents: list[Agent]) -> None:
        told = agents[0].name if len(agents) == 1 else many(len(agents), "agent")
        self._desk.say(f"{told} added", "good", ("Undo", Offered(self._desk, [one.id for one in agents])))
        self.accept()

    def _failed(self, error: Exception) -> None:
        self.list.say("")
        self.wrong.setText(breakable(str(error)))
        self.wrong.show()
        self._look()


class _Offered:
    def __init__(self, state: LeagueState, game: str) -> None:
        self._state, self._game = state, game

    def __call__(self) -> list[Choice]:
        taken = {one.name: one.archived is not None for one in self._state.league.agents(self._game, archived=True)}
        found = []
        for kind, agents in agents_for(new_game(self._game)).items():
            for one in agents if kind != PERSON else ():
                barred = ("archived: restore it" if taken[one.id] else "is in already") if one.id in taken else ""
                found.append(Choice(one.id, one.id, kind, colour_of(one.id), not barred, barred))
        return sorted(found, key=lambda one: bool(one.barred))


class _AddReady:
    def __init__(self, state: LeagueState, game: str, names: list[str]) -> None:
        self._state, self._game, self._names = state, game, names

    def __call__(self) -> list[Agent]:
        return self._state.add_samples(self._game, self._names)


class EnterSheet(QDialog):
    """One made of a kind and a payload: text, or the content of a file."""

    def __init__(self, desk: Desk, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._desk = desk
        self._file: Path | None = None
        self.setWindowTitle("Enter an agent")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setFixedWidth(500)
        self.game, self.kind, self.name = _GameBox(desk.game), QComboBox(), QLineEdit()
        self.payload = QPlainTextEdit()
        self.payload.setPlaceholderText('{"style": "tracker", "dead_zone": 0.03}')
        self.payload.setStyleSheet("min-height: 60px; max-height: 60px")
        self.payload.setTabChangesFocus(True)
        self.said = Said()
        self._kind, self._name = Field("Kind", self.kind), Field("Name", self.name)
        self._payload = Field("Payload: what it is made of", self.payload)
        self.file_button = button("From a file...", self._choose, icon="open")
        self.text_button = button("Type it instead", self._type, link=True)
        self.text_button.hide()
        self.enter_button = button("Enter", self.enter, primary=True)
        self.enter_button.setDefault(True)
        top = row(Field("Game", self.game), self._kind, gap=12)
        files = row(self.file_button, self.text_button, 1)
        buttons = row(1, button("Cancel", self.reject), self.enter_button)
        title = label("Enter an agent", "title")
        self.setLayout(column(title, top, self._name, self._payload, files, self.said, buttons, margin=24, gap=12))
        self.game.currentIndexChanged.connect(self._ask)
        self.name.textChanged.connect(self._look)
        self.payload.textChanged.connect(self._look)
        self.said.changed.connect(self._look)
        self._ask()
        self._look()

    @Slot()
    def _ask(self) -> None:
        self._kind.tell("")
        self._desk.work.ask("kinds", _Kinds(self.game.chosen), self._take, self._refuse)

    def _take(self, kinds: list[str]) -> None:
        self.kind.clear()
        self.kind.addItems(kinds)

    def _refuse(self, error: Exception) -> None:
        self._take([])
        self._kind.tell(str(error))

    @Slot()
    def _look(self) -> None:
        named = bool(self.name.text())
        sound = (self._name.check(self._check_name) if named else True) & self.said.sound()
        self._payload.tell("")
        self.enter_button.setEnabled(sound and named)

    def _check_name(self) -> None:
        check_name("name", self.name.text())

    @Slot()
    def _choose(self) -> None:
        dialog = QFileDialog(self, "The payload")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(self.use_file)
        dialog.open()

    @Slot(str)
    def use_file(self, path: str) -> None:
        self._file = Path(path)
        self.payload.setPlainText(f"the content of {self._file.name}")
        self.payload.setEnabled(False)
        self.text_button.show()

    @Slot()
    def _type(self) -> None:
        self._file = None
        self.payload.clear()
        self.payload.setEnabled(True)
        self.text_button.hide()

    @Slot()
    def enter(self) -> None:
        self.enter_button.setEnabled(False)
        given: Any = self._file or self.payload.toPlainText()
        entering = _Enter(
            self._desk.league, self.name.text(), self.game.chosen, self.kind.currentText(), given, self.said.values
        )
        self._desk.work.ask("enter", entering, self._done, self._failed)

    def _done(self, agent: Agent) -> None:
        self._desk.say(f"{agent.name} is in", "good", ("Undo", Offered(self._desk, [agent.id])))
        self.accept()

    def _failed(self, error: Exception) -> None:
        field = self._name if str(error).startswith("name") else self._payload
        field.tell(str(error))
        self.enter_button.setEnabled(True)


class _Kinds:
    def __init__(self, game: str) -> None:
        self._game = game

    def __call__(self) -> list[str]:
        game = new_game(self._game)
        return [name for name, kind in KINDS.working().items() if name != PERSON and kind.plays(game)]


class _Enter:
    def __init__(self, state: LeagueState, name: str, game: str, kind: str, given: Any, said: dict[str, Any]) -> None:
        self._state, self._given = state, given
        self._name, self._game, self._kind, self._said = name, game, kind, said

    def __call__(self) -> Agent:
        payload = self._read() if isinstance(self._given, Path) else str(self._given).encode(errors="surrogateescape")
        return self._state.add_agent(self._name, self._game, self._kind, payload, origin="added by hand", **self._said)

    def _read(self) -> bytes:
        try:
            return check_path("payload", self._given).read_bytes()
        except OSError as error:
            raise BadValue("payload", str(self._given), f"a file that can be read ({error.strerror})") from None
