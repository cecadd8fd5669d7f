"""Cards of the players that a training session produced: picture, origin, status in the league and buttons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QWidget

from engine.diagram import Diagram
from league_app.core.formatting import ordinal
from league_app.core.queries.sessions import TrainedPlayer
from league_app.gui.training.thumbnail import Thumbnail
from league_app.gui.widgets.basics import (
    Card,
    ElidedLabel,
    EmptyState,
    button,
    column,
    label,
    row,
    scroll_area,
    set_tone,
    tooltip_html,
)
from league_app.gui.widgets.fields import ChoiceBox

MIN_CARD_WIDTH = 380
TOOLTIPS = {
    "Show": "Open the page of this agent",
    "Rate": "Play a gauntlet against other agents to give it a rating",
    "Add to league": "Add it to the league as an agent and play its placement matches",
}


@dataclass(frozen=True)
class LeagueStatus:
    """Where a player stands in the league."""

    text: str  # empty if it is not in the league
    placed: bool = False  # it has a rating
    busy: bool = False  # its placement is running or queued


def league_status(player: TrainedPlayer, placement: str, rank: tuple[int, int, float, float] | None) -> LeagueStatus:
    """`placement` is the state of its placement in words, or empty; `rank` as `load_ranks` returns it."""
    if not player.agent:
        return LeagueStatus("")
    if placement:
        return LeagueStatus(f"{player.name} {placement}", busy=True)
    if rank is None:
        return LeagueStatus(f"In the league as {player.name}, not rated yet")
    place, _, rating, error = rank
    return LeagueStatus(f"{player.name}: {ordinal(place)}, {rating:z.0f} \u00b1 {error:.0f}", placed=True)


class PlayerCard(Card):
    """One player. The signals carry its `TrainedPlayer`."""

    watch = Signal(object)
    enter = Signal(object)
    place = Signal(object)
    show_agent = Signal(object)

    def __init__(self, small: bool = False) -> None:
        super().__init__(margin=0 if small else 12)
        if small:
            self.setProperty("card", False)
        self.player: TrainedPlayer | None = None
        self._status = LeagueStatus("")
        self._small = small
        self.picture = Thumbnail(size=QSize(84, 58) if small else None)
        self.title, self.about, self.status = ElidedLabel(), ElidedLabel("", "caption"), ElidedLabel("", "caption")
        self.title.setStyleSheet("font-weight: 600;")
        self.watch_button = button("Watch", self._on_watch_clicked, icon="eye", tip="Watch an unrated match")
        self.main_button = button("Add to league", self._on_main_clicked)
        self.buttons = row(self.watch_button, self.main_button, 1)
        texts = column(self.title, self.about, self.status, gap=2)
        whole = row(self.picture, gap=12)
        if small:
            whole.addLayout(column(1, texts, 1), 1)
            whole.addLayout(self.buttons)
        else:
            whole.addLayout(column(1, texts, self.buttons, 1, gap=8), 1)
        self.body.addLayout(whole)

    def show_player(
        self,
        player: TrainedPlayer,
        diagram: Diagram | None,
        result: str,
        status: LeagueStatus,
        unit: str,
        writable: bool,
    ) -> None:
        """`result` is its headline metric as text; `unit` is what steps are."""
        self.player, self._status = player, status
        self.picture.show_player(player.payload, diagram)
        first, last = player.first_step, player.last_step
        noun = unit.capitalize()
        steps = f"{noun} {first:,}" if first == last else f"{noun}s {first:,}\u2013{last:,}"
        self.title.setText(" \u00b7 ".join(part for part in (player.role, steps, result) if part))
        self.about.setText(player.about or player.kind)
        self.status.setText(status.text)
        self.status.setVisible(bool(status.text))
        set_tone(self.status, "good" if status.placed else "")
        text = "Show" if status.placed else "Rate" if player.agent else "Add to league"
        usable = writable or status.placed
        self.main_button.setText(text)
        self.main_button.setEnabled(usable and not status.busy)
        self.main_button.setToolTip(tooltip_html(TOOLTIPS[text] if usable else "The league was opened read-only"))
        for part in (self.watch_button, self.main_button):
            part.setAccessibleName(f"{part.text()}: {' '.join(filter(None, (player.role, steps)))}")

    def _on_watch_clicked(self) -> None:
        self.watch.emit(self.player)

    def _on_main_clicked(self) -> None:
        if self.player is None:
            return
        signal = self.show_agent if self._status.placed else self.place if self.player.agent else self.enter
        signal.emit(self.player)


class PlayersTab(QWidget):
    """The Players tab: a card for each player, newest first, and the opponent to watch them against."""

    watch = Signal(object)
    enter = Signal(object)
    place = Signal(object)
    show_agent = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.opponent = ChoiceBox()
        self.opponent.setAccessibleName("Opponent")
        self.opponent.setFixedSize(200, 30)
        self.count = label("", "caption")
        self.cards: list[PlayerCard] = []
        self._columns = 1
        inner = QWidget()
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 8, 16)
        self._grid.setSpacing(12)
        whole = column()
        whole.insertLayout(0, self._grid)
        whole.addStretch(1)
        inner.setLayout(whole)
        self.area = scroll_area(inner)
        self.empty = EmptyState("checkpoint", "No players yet. The first checkpoint adds the first player.")
        bar = row(label("Watch against", "muted"), self.opponent, 1, self.count)
        self.setLayout(column(bar, self.area, self.empty, gap=12))
        self.empty.hide()

    def set_opponents(self, names: Sequence[tuple[str, str]]) -> None:
        """Names and ids. The preset is Random, the weakest opponent, if it is among them."""
        if [self.opponent.itemData(index) for index in range(self.opponent.count())] == [id for _, id in names]:
            return
        before = self.opponent.currentData()
        self.opponent.clear()
        for name, id in names:
            self.opponent.addItem(name, id)
        index = self.opponent.findData(before) if before else self.opponent.findText("Random")
        self.opponent.setCurrentIndex(max(index, 0) if names else -1)

    def show_players(
        self,
        players: Sequence[TrainedPlayer],
        total: int,
        diagrams: Mapping[str, Diagram | None],
        results: Sequence[str],
        statuses: Sequence[LeagueStatus],
        unit: str,
        writable: bool,
    ) -> None:
        while len(self.cards) < len(players):
            self._add_card()
        for index, card in enumerate(self.cards):
            card.setVisible(index < len(players))
            if index < len(players):
                player = players[index]
                diagram = diagrams.get(player.payload)
                card.show_player(player, diagram, results[index], statuses[index], unit, writable)
        self.area.setVisible(bool(players))
        self.empty.setVisible(not players)
        self.count.setText(f"Newest {len(players)} of {total:,}" if total > len(players) else "")

    def _add_card(self) -> None:
        card = PlayerCard()
        card.watch.connect(self.watch)
        card.enter.connect(self.enter)
        card.place.connect(self.place)
        card.show_agent.connect(self.show_agent)
        self.cards.append(card)
        self._add_to_grid(len(self.cards) - 1)

    def _add_to_grid(self, index: int) -> None:
        self._grid.addWidget(self.cards[index], index // self._columns, index % self._columns)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        columns = max(1, min(3, event.size().width() // MIN_CARD_WIDTH))
        if columns != self._columns:
            self._columns = columns
            for card in self.cards:
                self._grid.removeWidget(card)
            for index in range(len(self.cards)):
                self._add_to_grid(index)
            for index in range(3):
                self._grid.setColumnStretch(index, 1 if index < columns else 0)
