"""Changing the entrants of an unfinished tournament; changes apply from the next round on."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QDialog, QWidget

from league_app.core.formatting import plural
from league_app.core.state import LeagueState
from league_app.gui.context import AppContext
from league_app.gui.dialogs.help_key import add_help_key
from league_app.gui.widgets.agent_colours import colour_of
from league_app.gui.widgets.basics import ElidedLabel, breakable, button, column, label, row
from league_app.gui.widgets.checklist import CheckItem, CheckList


class EntrantsDialog(QDialog):
    """Lists all agents of the game, with the entrants checked."""

    def __init__(self, context: AppContext, number: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        add_help_key(self, context, "tournaments")
        self._context, self._number = context, number
        self._before: list[str] = []
        self.setWindowTitle("Entrants")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(460, 520)
        self.title = ElidedLabel(f"Tournament {number}", "title")
        self.list = CheckList("Agents")
        self.summary = label("", "muted", wrap=True)
        self.error = label("", tone="bad", wrap=True)
        self.error.hide()
        self.save_button = button("Save", self.save, primary=True)
        self.save_button.setDefault(True)
        buttons = row(1, button("Cancel", self.reject), self.save_button)
        self.setLayout(column(self.title, self.summary, self.list, self.error, buttons, margin=24, gap=12))
        self.list.changed.connect(self._update_summary)
        context.ask(f"entrants {number}", self._load, self._show)

    def _load(self, state: LeagueState) -> tuple[str, list[str], list[CheckItem]]:
        tournament = state.league.tournament(self._number)
        inside = list(tournament.entrants)
        every = state.league.agents(tournament.settings.game.name)
        ordered = sorted(every, key=lambda agent: (agent.id not in inside, agent.name.casefold()))
        choices = [
            CheckItem(agent.id, agent.name, agent.kind, colour_of(agent.id, agent.colour), agent.id in inside)
            for agent in ordered
        ]
        return tournament.name, inside, choices

    def _show(self, found: tuple[str, list[str], list[CheckItem]]) -> None:
        name, self._before, choices = found
        self.title.setText(f"{self._number}. {name}")
        self.list.set_choices(choices)

    @property
    def _changes(self) -> tuple[list[str], list[str]]:
        checked = self.list.checked
        return [id for id in checked if id not in self._before], [id for id in self._before if id not in checked]

    @Slot()
    def _update_summary(self) -> None:
        join, leave = self._changes
        changes = f"{len(join)} joining, {len(leave)} leaving" if join or leave else "Check the agents that take part"
        self.summary.setText(f"{changes}. Changes apply from the next round on.")
        self.save_button.setEnabled(bool(join or leave))

    @Slot()
    def save(self) -> None:
        join, leave = self._changes
        self.save_button.setEnabled(False)
        task = partial(_change_entrants, self._context.league, self._number, join, leave)
        self._context.command_queue.run(task, self._on_saved, self._on_failed)

    def _on_saved(self, message: str) -> None:
        self._context.notify(message, "good")
        self.accept()

    def _on_failed(self, error: Exception) -> None:
        self.error.setText(breakable(str(error)))
        self.error.show()
        self.save_button.setEnabled(True)


def _change_entrants(state: LeagueState, number: int, join: list[str], leave: list[str]) -> str:
    names = state.league.names()
    changed = state.change_entrants(number, [names[id] for id in join], [names[id] for id in leave])
    first = changed.lineups[-1].first_round + 1
    return f"{changed.name}: {plural(len(changed.entrants), 'entrant')} from round {first} on"
