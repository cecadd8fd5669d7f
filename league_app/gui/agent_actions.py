"""Actions on agents, shared by the agents dock and an agent's page: dialogs, archiving, import and export."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QFileDialog, QWidget

from engine.errors import NotNow
from engine.league.storage.league import free_name
from engine.registry import new_game, person_kind
from engine.user_dirs import data_dir
from league_app.core import agent_files
from league_app.core.agent_files import ImportReport
from league_app.core.formatting import plural
from league_app.core.queries.agents import UNCONFIRMED, AgentRow, agent_rows
from league_app.core.state import LeagueState
from league_app.gui.context import AppContext
from league_app.gui.dialogs.add_agents import AddAgentDialog, ReadyMadeDialog
from league_app.gui.dialogs.choose_agent import ChooseAgentDialog
from league_app.gui.dialogs.edit_agent import EditAgentDialog
from league_app.gui.dialogs.usi_engine import AddEngineDialog, confirm_engine_dialog
from league_app.gui.undo_commands import set_archived
from league_app.gui.widgets.file_dialogs import open_file, open_files, open_folder, save_file, suggest_name

FILTER = "Agents (*.agent)"
MAX_MESSAGES = 3  # files of an import that are reported one by one
YOU = "You"  # the agent name of the person at this screen


class AgentActions(QObject):
    """Opens the dialogs, runs the changes in the background, and reports results as toasts."""

    def __init__(self, context: AppContext, parent: QObject) -> None:
        super().__init__(parent)
        self._context = context
        self._exported: list[str] = []
        self._dialog: QFileDialog | None = None  # that asks where to export one agent
        self._file_stem = ""  # of the name that it suggests
        self._confirming: tuple[Sequence[str], QWidget] | None = None  # selected ids, and the parent of the dialog

    @property
    def writable(self) -> bool:
        return self._context.state is not None and not self._context.league.league.read_only

    # Dialogs

    def edit(self, agent: str, parent: QWidget) -> None:
        if self.writable:
            EditAgentDialog(self._context, agent, parent).open()

    def add_ready_made(self, parent: QWidget) -> None:
        if self.writable:
            ReadyMadeDialog(self._context, None, parent).open()

    def enter(self, parent: QWidget) -> None:
        if self.writable:
            AddAgentDialog(self._context, parent).open()

    def add_engine(self, parent: QWidget) -> None:
        """Asks for the program, then queries its name and options."""
        if self.writable:
            open_file(parent, "Choose the engine's program", self.use_program)

    @Slot(str)
    def use_program(self, path: str) -> None:
        parent = self.parent()
        AddEngineDialog(self._context, path, parent.window() if isinstance(parent, QWidget) else None).open()

    def confirm(self, agent: str, parent: QWidget) -> None:
        """Shows the command of an engine from another machine, and allows it to run if the user agrees."""
        dialog = self._context.attempt(partial(confirm_engine_dialog, self._context, agent, parent))
        if dialog is not None:
            dialog.open()

    def confirm_one(self, selected: Sequence[str], parent: QWidget) -> None:
        """Confirms the selected engine if it is unconfirmed; else offers all unconfirmed ones."""
        self._confirming = selected, parent
        self._context.ask("unconfirmed", _unconfirmed, self._choose)

    def _choose(self, unconfirmed: list[AgentRow]) -> None:
        assert self._confirming is not None
        selected, parent = self._confirming
        active = [agent for agent in unconfirmed if not agent.archived]
        choices = [agent for agent in unconfirmed if agent.id in selected] or active
        if not choices:
            self._context.notify("All engines of this league are already confirmed on this machine", "good")
        elif len(choices) == 1:
            self.confirm(choices[0].id, parent)
        else:
            ChooseAgentDialog("Confirm engine", "Show command", choices, self._picked, parent).open()

    def _picked(self, agent: str) -> None:
        if self._confirming is not None:
            self.confirm(agent, self._confirming[1])

    def toggle_log(self) -> None:
        """Switches the logging of engine output on or off."""
        folder = "" if self._context.league.engine_log else str(data_dir() / "engine-logs")
        self._context.command_queue.run(partial(_set_log, self._context.league, folder), self._logged)

    def _logged(self, folder: str) -> None:
        self._context.notify(f"Engine output is logged to {folder}" if folder else "Engine output is no longer logged")

    # Changes

    def archive(self, agents: Sequence[AgentRow]) -> bool:
        """Archives these agents, or restores them if all are archived; can be undone."""
        if not agents or not self.writable:
            return False
        restore = all(agent.archived for agent in agents)
        affected = [agent for agent in agents if agent.archived == restore]
        names = affected[0].name if len(affected) == 1 else plural(len(affected), "agent")
        verb = "restore" if restore else "archive"
        change = partial(set_archived, self._context.league, [agent.id for agent in affected])
        done = self._context.push_undo(f"{verb} {names}", partial(change, not restore), partial(change, restore))
        if done:
            self._context.notify(f"{names} {verb}d", "info", self._context.undo_offer())
        return done

    def add_person(self) -> None:
        """Adds the person at this screen as an agent of the selected game."""
        game = self._context.game
        if self.writable and game is not None:
            self._context.slow_queue.run(partial(_add_person, self._context.league, game), self._added)

    def _added(self, added: tuple[str, str]) -> None:
        id, name = added
        text = f"{name} joined the league: enter {'yourself' if name == YOU else name} in a tournament to play"
        self._context.notify(text, "good", self._context.archive_offer([id]))

    # Files

    def import_files(self, parent: QWidget) -> None:
        if self.writable:
            open_files(parent, "Import agents", self._import, FILTER)

    @Slot(list)
    def _import(self, paths: list[str]) -> None:
        self.import_paths([Path(path) for path in paths])

    def import_paths(self, paths: Sequence[Path]) -> None:
        if not self.writable:
            self._context.notify("This league is open read-only: agents cannot be imported", "warn")
            return
        self._context.notify(f"Importing {plural(len(paths), 'agent file')}...")
        task = partial(agent_files.import_agents, self._context.league, list(paths))
        self._context.slow_queue.run(task, self._imported)

    def _imported(self, report: ImportReport) -> None:
        if report.agents:
            names = report.agents[0].name if len(report.agents) == 1 else plural(len(report.agents), "agent")
            offer = self._context.archive_offer([agent.id for agent in report.agents])
            self._context.notify(f"{names} imported", "good", offer)
        for name in report.known[:MAX_MESSAGES]:
            self._context.notify(f"{name} is already in this league")
        for problem in report.wrong[:MAX_MESSAGES]:
            self._context.notify(problem, "bad")
        if len(report.wrong) > MAX_MESSAGES:
            self._context.notify(f"{len(report.wrong) - MAX_MESSAGES} more files could not be imported", "bad")

    def export(self, agents: Sequence[AgentRow], parent: QWidget) -> None:
        """Asks for a file if there is one agent, for a folder if there are several. One agent can be written in other
        formats of its kind."""
        self._exported = [agent.id for agent in agents]
        if len(agents) > 1:
            open_folder(parent, f"Export {len(agents)} agents to a folder", self.export_to)
            return
        filters = [FILTER, *(f"{format.upper()} (*.{format})" for format in agent_files.formats_of(agents[0].kind))]
        self._file_stem = agent_files.file_name(agents[0].name)
        self._dialog = save_file(
            parent, "Export agent", self.export_to, ";;".join(filters), f"{self._file_stem}{agent_files.SUFFIX}"
        )
        self._dialog.filterSelected.connect(self._suggest_suffix)

    @Slot(str)
    def _suggest_suffix(self, chosen: str) -> None:
        """The suggested name ends as files of the chosen format do."""
        if self._dialog is not None:
            suggest_name(self._dialog, self._file_stem + chosen.rpartition("*")[2].rstrip(")"))

    @Slot(str)
    def export_to(self, path: str) -> None:
        league, agents = self._context.league.league, list(self._exported)
        task = partial(agent_files.export_agents, league, agents, Path(path), overwrite=True)  # the dialog has asked
        self._context.slow_queue.run(task, self._written)

    def _written(self, paths: list[Path]) -> None:
        text = paths[0].name if len(paths) == 1 else f"{len(paths)} files in {paths[0].parent.name}"
        self._context.notify(f"Exported: {text}", "good")


def _unconfirmed(state: LeagueState) -> list[AgentRow]:
    return [row for row in agent_rows(state.league, None) if row.warning == UNCONFIRMED]


def _set_log(state: LeagueState, folder: str) -> str:
    state.engine_log = folder
    return folder


def _add_person(state: LeagueState, game: str) -> tuple[str, str]:
    kind = person_kind(new_game(game))
    if kind is None:
        raise NotNow(f"no installed agent kind lets a person play {game}: install one that does")
    taken = [agent.name for agent in state.league.agents(game, archived=True)]
    name = free_name(YOU, taken)
    agent = state.add_agent(name, game, kind.name, b"", origin="plays at this keyboard")
    return agent.id, agent.name
