"""The Help menu: guide, command palette, keyboard shortcuts, about."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QWidget

from league_app.gui.actions import ACTIONS, Actions
from league_app.gui.context import AppContext
from league_app.gui.dialogs.command_palette import CommandPalette, Entry
from league_app.gui.dialogs.messages import AboutDialog, ShortcutsDialog

if TYPE_CHECKING:
    from league_app.gui.guide.window import GuideWindow

MATCH_KEYS = (
    ("Space", "Match: play / pause"),
    ("Left, Right", "Match: step back, step forward"),
    ("Home, End", "Match: go to the start, to the end"),
    ("+, -", "Match: faster, slower"),
)


class HelpActions(QObject):
    """Opens the dialogs of the Help menu."""

    def __init__(self, context: AppContext, window: QWidget, actions: Actions, current_page: Callable[[], str]) -> None:
        super().__init__(window)
        self._context, self._window, self._actions = context, window, actions
        self._current_page = current_page  # of the guide: the one about what is on the screen
        self.guide_window: GuideWindow | None = None  # made when it is first opened

    @Slot()
    def guide(self, page: str = "") -> None:
        """Opens the guide at a page, by default the one about what is on the screen."""
        if self.guide_window is None:
            from league_app.gui.guide.window import GuideWindow

            self.guide_window = GuideWindow()
        self.guide_window.show()  # first: a page can be scrolled to a heading only when it has its size
        self.guide_window.open_page(page or self._current_page())
        self.guide_window.raise_()
        self.guide_window.activateWindow()

    def close_guide(self) -> None:
        if self.guide_window is not None:
            self.guide_window.close()
            self.guide_window.deleteLater()
            self.guide_window = None

    @Slot()
    def about(self) -> None:
        AboutDialog(self._window).open()

    @Slot()
    def shortcuts(self) -> None:
        keys = [(action.shortcut, f"{action.menu}: {action.text.rstrip('.')}") for action in ACTIONS if action.shortcut]
        ShortcutsDialog(self._window, [*keys, *MATCH_KEYS]).open()

    @Slot()
    def palette(self) -> None:
        CommandPalette(self._entries(), self._window).open()

    def _entries(self) -> list[Entry]:
        entries = []
        for action, qt_action in self._actions.qt_actions.items():
            if qt_action.isEnabled():
                detail = f"{action.menu.replace('/', ' > ')}  {action.shortcut}".strip()
                run = partial(self._actions.run, action)
                entries.append(Entry(action.text.rstrip("."), detail, action.icon, run))
        state = self._context.state
        if state is not None:
            for agent in state.agents(self._context.game):
                entries.append(Entry(agent.name, "Agent", "agent", partial(self._context.navigate, "agent", agent.id)))
            for tournament in reversed(state.league.tournaments()[-100:]):
                show = partial(self._context.navigate, "standings", tournament.number)
                entries.append(Entry(tournament.name, "Tournament", "trophy", show))
        return entries
