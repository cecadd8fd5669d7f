"""What can be done with agents, from the dock and from an agent's page alike."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtWidgets import QFileDialog, QWidget

from engine.user_dirs import home
from engine.registry import KINDS
from league_app.core import agent_files as travel
from league_app.gui.context import Desk
from league_app.core.queries.matches import UNCONFIRMED, Listed, listed
from league_app.gui.undo_commands import Offered, Put, Undo
from league_app.gui.dialogs.edit_agent import EditSheet
from league_app.gui.dialogs.usi_engine import EngineSheet, confirm_sheet
from league_app.gui.dialogs.add_agents import PERSON, EnterSheet, ReadyMadeSheet
from league_app.gui.dialogs.choose_agent import PickSheet
from league_app.core.state import LeagueState
from league_app.core.agent_files import Brought
from league_app.core.formatting import many

FILTER = "Agents (*.agent)"
TOLD = 3  # files that are wrong and told one by one
YOU = "You"  # whoever sits here


class Handling(QObject):
    """Sheets, files and changes; what came of them is told in a few words."""

    def __init__(self, desk: Desk, parent: QObject) -> None:
        super().__init__(parent)
        self._desk = desk
        self._exported: list[str] = []
        self._count = 0
        self._meant: tuple[Sequence[str], QWidget] | None = None  # who was selected, and where, when it was asked

    @property
    def writable(self) -> bool:
        return self._desk.state is not None and not self._desk.league.league.read_only

    # Sheets

    def edit(self, agent: str, parent: QWidget) -> None:
        if self.writable:
            EditSheet(self._desk, agent, parent).open()

    def add_ready_made(self, parent: QWidget) -> None:
        if self.writable:
            ReadyMadeSheet(self._desk, None, parent).open()

    def enter(self, parent: QWidget) -> None:
        if self.writable:
            EnterSheet(self._desk, parent).open()

    def add_engine(self, parent: QWidget) -> None:
        """A program is chosen, then asked who it is."""
        if self.writable:
            dialog = QFileDialog(parent, "The engine's program")
            dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
            dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
            dialog.fileSelected.connect(self.use_program)
            dialog.open()

    @Slot(str)
    def use_program(self, path: str) -> None:
        parent = self.parent()
        EngineSheet(self._desk, path, parent.window() if isinstance(parent, QWidget) else None).open()

    def confirm(self, agent: str, parent: QWidget) -> None:
        """Show what an engine from elsewhere would run, and let it if the person says so."""
        sheet = self._desk.attempt(partial(confirm_sheet, self._desk, agent, parent))
        if sheet is not None:
            sheet.open()

    def confirm_one(self, selected: Sequence[str], parent: QWidget) -> None:
        """The selected engine if it is not confirmed yet; else the only one that is not, or one of those."""
        self._meant = selected, parent
        self._desk.ask("unconfirmed", _unconfirmed, self._choose)

    def _choose(self, found: list[Listed]) -> None:
        assert self._meant is not None
        selected, parent = self._meant
        waiting = [one for one in found if not one.archived]
        meant = [one for one in found if one.id in selected] or waiting
        if not meant:
            self._desk.say("Nothing waits for you: all engines of this league are confirmed on this machine", "good")
        elif len(meant) == 1:
            self.confirm(meant[0].id, parent)
        else:
            PickSheet("Confirm an engine", "See its command", meant, self._picked, parent).open()

    def _picked(self, agent: str) -> None:
        if self._meant is not None:
            self.confirm(agent, self._meant[1])

    def toggle_log(self) -> None:
        """Whether conversations with engines are written down from now on, and where."""
        folder = "" if self._desk.league.engine_log else str(home() / "engine-logs")
        self._desk.orders.ask("engine log", _Log(self._desk.league, folder), self._logged)

    def _logged(self, folder: str) -> None:
        told = f"What engines say is written down in {folder}" if folder else "Nothing is written down any more"
        self._desk.say(told)

    # Changes

    def archive(self, agents: Sequence[Listed]) -> bool:
        """Put these away, or fetch them back if all of them are; can be undone."""
        if not agents or not self.writable:
            return False
        back = all(one.archived for one in agents)
        wanted = [one for one in agents if one.archived == back]
        who = wanted[0].name if len(wanted) == 1 else many(len(wanted), "agent")
        ids, verb = [one.id for one in wanted], "restore" if back else "archive"
        done = self._desk.do(f"{verb} {who}", Put(self._desk, ids, back), Put(self._desk, ids, not back))
        if done:
            self._desk.say(f"{who} {verb}d", "info", ("Undo", Undo(self._desk)))
        return done

    def add_person(self) -> None:
        """Whoever sits here, as an agent of the game that is looked at."""
        game = self._desk.game
        if self.writable and game is not None:
            self._desk.work.ask("add person", _AddPerson(self._desk.league, game), self._added)

    def _added(self, found: tuple[str, str]) -> None:
        id, name = found
        told = "You are in: choose yourself" if name == YOU else f"{name} is in: choose it"
        told += " for a tournament, and play"
        self._desk.say(told, "good", ("Undo", Offered(self._desk, [id])))

    # Files

    def import_files(self, parent: QWidget) -> None:
        if not self.writable:
            return
        dialog = QFileDialog(parent, "Import agents", "", FILTER)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.filesSelected.connect(self._import)
        dialog.open()

    @Slot(list)
    def _import(self, paths: list[str]) -> None:
        self.import_paths([Path(path) for path in paths])

    def import_paths(self, paths: Sequence[Path]) -> None:
        if not self.writable:
            self._desk.say("This league is open for looking only: nothing can be imported", "warn")
            return
        self._count += 1
        self._desk.say(f"Importing {many(len(paths), 'agent file')} ...")
        self._desk.work.ask(f"import {self._count}", _Bring(self._desk.league, paths), self._brought)

    def _brought(self, found: Brought) -> None:
        if found.agents:
            told = found.agents[0].name if len(found.agents) == 1 else many(len(found.agents), "agent")
            undo = Offered(self._desk, [one.id for one in found.agents])
            self._desk.say(f"{told} imported", "good", ("Undo", undo))
        for name in found.known[:TOLD]:
            self._desk.say(f"{name} is in this league already")
        for one in found.wrong[:TOLD]:
            self._desk.say(one, "bad")
        if len(found.wrong) > TOLD:
            self._desk.say(f"{len(found.wrong) - TOLD} more files could not be imported", "bad")

    def export(self, agents: Sequence[str], name: str, parent: QWidget) -> None:
        """One into a file, several into a folder."""
        self._exported, one = list(agents), len(agents) == 1
        dialog = QFileDialog(parent, "Export agent" if one else f"Export {len(agents)} agents into a folder")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if one:
            dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
            dialog.setNameFilter(FILTER)
            dialog.setDefaultSuffix("agent")
            dialog.selectFile(f"{travel.file_name(name)}.agent")
        else:
            dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.fileSelected.connect(self.export_to)
        dialog.open()

    @Slot(str)
    def export_to(self, path: str) -> None:
        self._desk.work.ask(f"export {path}", _Send(self._desk.league, self._exported, Path(path)), self._written)

    def _written(self, paths: list[Path]) -> None:
        told = paths[0].name if len(paths) == 1 else f"{len(paths)} files in {paths[0].parent.name}"
        self._desk.say(f"Written: {told}", "good")


def _unconfirmed(state: LeagueState) -> list[Listed]:
    return [one for one in listed(state.league, None) if one.warning == UNCONFIRMED]


class _Log:
    def __init__(self, state: LeagueState, folder: str) -> None:
        self._state, self._folder = state, folder

    def __call__(self) -> str:
        self._state.engine_log = self._folder
        return self._folder


class _AddPerson:
    def __init__(self, state: LeagueState, game: str) -> None:
        self._state, self._game = state, game

    def __call__(self) -> tuple[str, str]:
        KINDS.get(PERSON)  # says what is missing, if it is
        taken = [one.name for one in self._state.league.agents(self._game, archived=True)]
        agent = self._state.add_agent(
            travel.free_name(YOU, taken), self._game, PERSON, b"", origin="plays at this screen"
        )
        return agent.id, agent.name


class _Bring:
    def __init__(self, state: LeagueState, paths: Sequence[Path]) -> None:
        self._state, self._paths = state, list(paths)

    def __call__(self) -> Brought:
        return travel.bring(self._state, self._paths)


class _Send:
    def __init__(self, state: LeagueState, agents: Sequence[str], path: Path) -> None:
        self._state, self._agents, self._path = state, list(agents), path

    def __call__(self) -> list[Path]:
        return travel.send(self._state.league, self._agents, self._path)
