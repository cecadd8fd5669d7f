"""The selector of the game whose agents, standings and history are shown."""

from __future__ import annotations

from PySide6.QtCore import Slot

from engine.play.match import GameSpec
from engine.registry import usual_game
from league_app.gui.context import AppContext, pools
from league_app.gui.widgets.basics import Combo, tooltip_html


class GameSelector(Combo):
    """Lists the games of the open league; used in the toolbar and on the welcome page."""

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context = context
        self.setAccessibleName("Game")
        self.setSizeAdjustPolicy(self.SizeAdjustPolicy.AdjustToContents)
        self.setMinimumWidth(150)
        self.currentTextChanged.connect(self._update_tip)
        self._update_tip("")
        self.setPlaceholderText("No game yet")
        self.activated.connect(self._choose)
        context.pool_changed.connect(self.fill)

    @Slot()
    def fill(self) -> None:
        state = self._context.state
        known = pools(state) if state is not None else []
        self.clear()
        for spec in known:
            self.addItem(game_text(spec), spec)
        if self._context.pool in known:
            self.setCurrentIndex(known.index(self._context.pool))
        self.setEnabled(bool(known))

    @Slot(str)
    def _update_tip(self, text: str) -> None:
        self.setToolTip(tooltip_html(f"{text}\nGame whose agents, standings and history are shown".strip()))

    @Slot(int)
    def _choose(self, place: int) -> None:
        chosen = self.itemData(place)
        if isinstance(chosen, GameSpec):
            self._context.select_pool(chosen)


def game_text(spec: GameSpec) -> str:
    """The title of a game, and its options that differ from the defaults."""
    game = usual_game(spec.name)
    if game is None:
        return f"{spec.name} (not installed)"
    defaults = dict(game.spec.options)
    changed = [f"{name} {value}" for name, value in spec.options if defaults.get(name) != value]
    return f"{game.info.title}: {', '.join(changed)}" if changed else game.info.title
