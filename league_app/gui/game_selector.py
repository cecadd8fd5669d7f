"""The game that is looked at, as a list to choose another from: in the toolbar and on the first page."""

from __future__ import annotations

from PySide6.QtCore import Slot

from engine.play.match import GameSpec
from engine.registry import usual_game
from league_app.gui.context import Desk, pools
from league_app.gui.widgets.basics import Combo, plain


class GameBox(Combo):
    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self._desk = desk
        self.setAccessibleName("Game")
        self.setSizeAdjustPolicy(self.SizeAdjustPolicy.AdjustToContents)
        self.setMinimumWidth(150)
        self.currentTextChanged.connect(self._tell)
        self._tell("")
        self.setPlaceholderText("No game yet")
        self.activated.connect(self._choose)
        desk.scoped.connect(self.fill)

    @Slot()
    def fill(self) -> None:
        state = self._desk.state
        known = pools(state) if state is not None else []
        self.clear()
        for spec in known:
            self.addItem(game_words(spec), spec)
        if self._desk.pool in known:
            self.setCurrentIndex(known.index(self._desk.pool))
        self.setEnabled(bool(known))

    @Slot(str)
    def _tell(self, text: str) -> None:
        self.setToolTip(plain(f"{text}\nThe game that agents, standings and history are of".strip()))

    @Slot(int)
    def _choose(self, place: int) -> None:
        chosen = self.itemData(place)
        if isinstance(chosen, GameSpec):
            self._desk.look_at(chosen)


def game_words(spec: GameSpec) -> str:
    """The game, and what is not as usual in it."""
    game = usual_game(spec.name)
    if game is None:
        return f"{spec.name} (not installed)"
    usual = dict(game.spec.options)
    other = [f"{name} {value}" for name, value in spec.options if usual.get(name) != value]
    return f"{game.info.title}: {', '.join(other)}" if other else game.info.title
