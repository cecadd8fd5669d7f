"""Help: the command palette, the shortcuts, and what this is."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QWidget

from league_app.gui.actions import ACTIONS, Actions
from league_app.gui.context import Desk
from league_app.gui.dialogs.command_palette import Entry, PaletteSheet
from league_app.gui.dialogs.messages import About, Shortcuts

MATCH_KEYS = (
    ("Space", "Match: play or pause"),
    ("Left, Right", "Match: step back, step on"),
    ("Home, End", "Match: to its start, to its end"),
    ("+, -", "Match: faster, slower"),
)


class Help(QObject):
    def __init__(self, desk: Desk, window: QWidget, actions: Actions) -> None:
        super().__init__(window)
        self._desk, self._window, self._actions = desk, window, actions

    @Slot()
    def about(self) -> None:
        About(self._window).open()

    @Slot()
    def shortcuts(self) -> None:
        every = [(one.shortcut, one.text.rstrip(".")) for one in ACTIONS if one.shortcut]
        Shortcuts(self._window, [*every, *MATCH_KEYS]).open()

    @Slot()
    def palette(self) -> None:
        PaletteSheet(self._entries(), self._window).open()

    def _entries(self) -> list[Entry]:
        entries = []
        for one, made in self._actions.made.items():
            if made.isEnabled():
                aside = f"{one.menu.replace('/', ' > ')}  {one.shortcut}".strip()
                entries.append(Entry(one.text.rstrip("."), aside, one.icon, partial(self._actions.run, one)))
        state = self._desk.state
        if state is not None:
            for agent in state.agents(self._desk.game):
                entries.append(Entry(agent.name, "Agent", "agent", partial(self._desk.show, "agent", agent.id)))
            for cup in reversed(state.league.tournaments()[-100:]):
                show = partial(self._desk.show, "standings", cup.number)
                entries.append(Entry(cup.name, "Tournament", "trophy", show))
        return entries
