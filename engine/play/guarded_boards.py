"""Boards whose errors carry the name of their game: rules that raise are nobody's forfeit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.errors import GameFailed
from engine.game import Boards, Game


class GuardedBoards:
    """Boards whose every error is told as the game's own; `failure` is the one that was."""

    def __init__(self, game: Game, lanes: int) -> None:
        self.failure: GameFailed | None = None
        self._name = game.spec.name
        boards = self.raw = self._guard(game.boards)(lanes)
        for name in (name for name in vars(Boards) if not name.startswith("_")):
            setattr(self, name, self._guard(getattr(boards, name)))

    def _guard(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*arguments: Any) -> Any:
            try:
                return call(*arguments)
            except Exception as error:  # whatever the rules raise is told by the name of the game
                self.failure = GameFailed(self._name, error)
                raise self.failure from error

        return guarded
