"""Changes that can be undone: the command on the undo stack, and archiving of several agents at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtGui import QUndoCommand

from engine.errors import RingsideError
from league_app.core.state import LeagueState


class UndoableChange(QUndoCommand):
    """Calls `apply` and `revert`; an error is passed to `failed`, and the command is removed from the stack."""

    def __init__(
        self, text: str, apply: Callable[[], Any], revert: Callable[[], Any], failed: Callable[[Exception], Any]
    ) -> None:
        super().__init__(text)
        self._apply, self._revert, self._failed = apply, revert, failed
        self.succeeded = [True]  # a list that outlives the command: Qt deletes obsolete ones at once

    def redo(self) -> None:
        self._call(self._apply)

    def undo(self) -> None:
        self._call(self._revert)

    def _call(self, function: Callable[[], Any]) -> None:
        try:
            function()
        except RingsideError as error:
            self.succeeded[0] = False
            self.setObsolete(True)
            self._failed(error)


def set_archived(state: LeagueState, agents: Sequence[str], archived: bool) -> None:
    """Archives or restores agents by id: all of them, or none if one fails."""
    changed = []
    try:
        for id in agents:
            agent = state.league.by_id(id)
            if (agent.archived is not None) != archived:
                changed.append(state.archive(agent.name, not archived, agent.game))
    except RingsideError:
        for agent in changed:
            state.archive(agent.name, archived, agent.game)
        raise
