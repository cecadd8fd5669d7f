"""Who takes part in a tournament that is not over: joining and leaving count from the next round on."""

from __future__ import annotations

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QDialog, QWidget

from league_app.gui.context import Desk
from league_app.core.state import LeagueState
from league_app.gui.widgets.basics import Elided, breakable, button, column, label, row
from league_app.gui.widgets.checklist import CheckList, Choice
from league_app.gui.widgets.agent_colours import colour_of


class EntrantsSheet(QDialog):
    """Everybody of the game, those in it ticked."""

    def __init__(self, desk: Desk, number: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._desk, self._number = desk, number
        self._before: list[str] = []
        self.setWindowTitle("Who takes part")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(460, 520)
        self.title = Elided(f"Tournament {number}", "title")
        self.list = CheckList("Agents")
        self.told = label("", "muted", wrap=True)
        self.wrong = label("", tone="bad", wrap=True)
        self.wrong.hide()
        self.save_button = button("Change", self.save, primary=True)
        self.save_button.setDefault(True)
        buttons = row(1, button("Cancel", self.reject), self.save_button)
        self.setLayout(column(self.title, self.told, self.list, self.wrong, buttons, margin=24, gap=12))
        self.list.changed.connect(self._look)
        desk.ask(f"entrants {number}", self._question, self._take)

    def _question(self, state: LeagueState) -> tuple[str, list[str], list[Choice]]:
        one = state.league.tournament(self._number)
        inside = list(one.entrants)
        every = state.league.agents(one.settings.game.name)
        ordered = sorted(every, key=lambda agent: (agent.id not in inside, agent.name.casefold()))
        choices = [
            Choice(agent.id, agent.name, agent.kind, colour_of(agent.id, agent.colour), agent.id in inside)
            for agent in ordered
        ]
        return one.name, inside, choices

    def _take(self, found: tuple[str, list[str], list[Choice]]) -> None:
        name, self._before, choices = found
        self.title.setText(f"{self._number}  {name}")
        self.list.offer(choices)

    @property
    def _changes(self) -> tuple[list[str], list[str]]:
        ticked = self.list.ticked
        return [one for one in ticked if one not in self._before], [one for one in self._before if one not in ticked]

    @Slot()
    def _look(self) -> None:
        join, leave = self._changes
        who = f"{len(join)} join and {len(leave)} leave" if join or leave else "Tick who is to take part"
        self.told.setText(f"{who}; it counts from the next round on.")
        self.save_button.setEnabled(bool(join or leave))

    @Slot()
    def save(self) -> None:
        join, leave = self._changes
        self.save_button.setEnabled(False)
        self._desk.orders.ask(
            f"entrants {self._number}", _Change(self._desk.league, self._number, join, leave), self._done, self._failed
        )

    def _done(self, told: str) -> None:
        self._desk.say(told, "good")
        self.accept()

    def _failed(self, error: Exception) -> None:
        self.wrong.setText(breakable(str(error)))
        self.wrong.show()
        self.save_button.setEnabled(True)


class _Change:
    def __init__(self, state: LeagueState, number: int, join: list[str], leave: list[str]) -> None:
        self._state, self._number, self._join, self._leave = state, number, join, leave

    def __call__(self) -> str:
        names = self._state.league.names()
        join, leave = ([names[id] for id in ids] for ids in (self._join, self._leave))
        one = self._state.change_entrants(self._number, join, leave)
        return f"{one.name}: {len(one.entrants)} take part from round {one.lineups[-1].first_round + 1} on"
