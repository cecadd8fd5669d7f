"""Boards whose errors are raised as GameFailed: an error in the rules is not the forfeit of a player."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.errors import GameFailed
from engine.float_mode import read_mode, write_mode
from engine.foreign_code import INTERRUPTS
from engine.game import Boards, Game
from engine.registry import GAMES


class GuardedBoards:
    """Wraps the methods of boards: every error becomes a GameFailed, which is kept in `failure`."""

    def __init__(self, game: Game, lanes: int) -> None:
        self.failure: GameFailed | None = None
        self._name = game.spec.name
        guard = self._guard if self._name in GAMES.own() else self._guard_foreign
        boards = self.raw = guard(game.boards)(lanes)
        names = [name for name in vars(Boards) if not name.startswith("_")]
        for name in [*names, "measures"] if game.info.measures else names:
            setattr(self, name, guard(getattr(boards, name)))

    def _guard(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*arguments: Any) -> Any:
            try:
                return call(*arguments)
            except INTERRUPTS:
                raise
            except BaseException as error:  # rules may raise anything
                self.failure = GameFailed(self._name, error)
                raise self.failure from error

        return guarded

    def _guard_foreign(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """As `_guard`, for rules that may change the floating-point mode, as a library does that they load."""
        guarded = self._guard(call)

        def restoring(*arguments: Any) -> Any:
            mode = read_mode()
            try:
                return guarded(*arguments)
            finally:
                if read_mode() != mode:
                    write_mode(mode)

        return restoring
