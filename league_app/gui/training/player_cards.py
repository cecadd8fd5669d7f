"""The players that a training session has made, as cards: what they look like, how they came to be, what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QScrollArea, QWidget

from league_app.gui.training.sessions_model import Trained
from league_app.gui.widgets.basics import Card, Elided, Empty, button, column, label, plain, row, set_tone
from league_app.gui.widgets.fields import ChoiceBox
from league_app.gui.training.network_sketch import Sketch, Thumbnail
from league_app.core.formatting import ordinal

NARROWEST = 380


@dataclass(frozen=True)
class Standing:
    """Where a player is in the league."""

    text: str  # in words; nothing if it is not in it
    placed: bool = False  # it has played
    busy: bool = False  # it is being placed, or waits for that


def standing(trained: Trained, word: str, place: tuple[int, int, float, float] | None) -> Standing:
    if not trained.agent:
        return Standing("")
    if word:
        return Standing(f"{trained.name} {word}", busy=True)
    if place is None:
        return Standing(f"In the league as {trained.name}, not placed yet")
    rank, _, rating, error = place
    return Standing(f"{trained.name}: {ordinal(rank)}, {rating:z.0f} \u00b1 {error:.0f}", placed=True)


class PlayerCard(Card):
    """`watch`, `enter`, `place` and `look` tell the player."""

    watch = Signal(object)
    enter = Signal(object)
    place = Signal(object)
    look = Signal(object)

    def __init__(self, small: bool = False) -> None:
        super().__init__(margin=0 if small else 12)
        if small:
            self.setProperty("card", False)
        self.trained: Trained | None = None
        self._small = small
        self.picture = Thumbnail(size=QSize(84, 58) if small else None)
        self.title, self.about, self.state = Elided(), Elided("", "caption"), Elided("", "caption")
        self.title.setStyleSheet("font-weight: 600;")
        self.watch_button = button("Watch", self._watch, icon="eye", tip="An unrated match")
        self.main = button("Enter into league", self._main)
        self.buttons = row(self.watch_button, self.main, 1)
        texts = column(self.title, self.about, self.state, gap=2)
        if small:
            whole = row(self.picture, gap=12)
            whole.addLayout(column(1, texts, 1), 1)
            whole.addLayout(self.buttons)
            self.body.addLayout(whole)
        else:
            whole = row(self.picture, gap=12)
            whole.addLayout(column(1, texts, self.buttons, 1, gap=8), 1)
            self.body.addLayout(whole)

    def show_player(
        self, trained: Trained, drawn: Sketch | None, share: float | None, where: Standing, writable: bool
    ) -> None:
        self.trained, self._where = trained, where
        self.picture.show_player(trained.payload, drawn)
        steps = (
            f"Step {trained.step:,}"
            if trained.step == trained.last
            else f"Steps {trained.step:,}\u2013{trained.last:,}"
        )
        points = "" if self._small else " of the points"
        self.title.setText(f"{steps} \u00b7 {share * 100:.0f} %{points}" if share is not None else steps)
        self.about.setText(trained.about or trained.kind)
        self.state.setText(where.text)
        self.state.setVisible(bool(where.text))
        set_tone(self.state, "good" if where.placed else "")
        text = "Show" if where.placed else "Place it" if trained.agent else "Enter into league"
        self.main.setText(text)
        self.main.setEnabled((writable or where.placed) and not where.busy)
        tips = {
            "Show": "Its page",
            "Place it": "Play a gauntlet against the others, so that it has a rating",
            "Enter into league": "As an agent of the league; a placement follows by itself",
        }
        self.main.setToolTip(plain(tips[text] if writable or where.placed else "The league was opened read-only"))
        for one in (self.watch_button, self.main):
            one.setAccessibleName(f"{one.text()}: {steps}")

    def _watch(self) -> None:
        self.watch.emit(self.trained)

    def _main(self) -> None:
        if self.trained is None:
            return
        signal = self.look if self._where.placed else self.place if self.trained.agent else self.enter
        signal.emit(self.trained)


class Players(QWidget):
    """All of them, newest first, and whom they are watched against."""

    watch = Signal(object)
    enter = Signal(object)
    place = Signal(object)
    look = Signal(object)

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
        self.area = QScrollArea()
        self.area.setWidgetResizable(True)
        self.area.setFrameShape(QFrame.Shape.NoFrame)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.area.setWidget(inner)
        self.empty = Empty("checkpoint", "No player yet: the first one comes with the first checkpoint.")
        bar = row(label("Watched against", "muted"), self.opponent, 1, self.count)
        self.setLayout(column(bar, self.area, self.empty, gap=12))
        self.empty.hide()

    def set_opponents(self, names: Sequence[tuple[str, str]]) -> None:
        """Names and ids; Random, if it is there, is the first that is beaten."""
        if [self.opponent.itemData(place) for place in range(self.opponent.count())] == [one for _, one in names]:
            return
        before = self.opponent.currentData()
        self.opponent.clear()
        for name, id in names:
            self.opponent.addItem(name, id)
        place = self.opponent.findData(before) if before else self.opponent.findText("Random")
        self.opponent.setCurrentIndex(max(place, 0) if names else -1)

    def show_players(
        self,
        players: Sequence[Trained],
        every: int,
        sketches: Mapping[str, Sketch | None],
        shares: Sequence[float | None],
        where: Sequence[Standing],
        writable: bool,
    ) -> None:
        while len(self.cards) < len(players):
            self._add()
        for place, card in enumerate(self.cards):
            card.setVisible(place < len(players))
            if place < len(players):
                one = players[place]
                card.show_player(one, sketches.get(one.payload), shares[place], where[place], writable)
        self.area.setVisible(bool(players))
        self.empty.setVisible(not players)
        hidden = every - len(players)
        self.count.setText(f"the newest {len(players)} of {every:,}" if hidden else "")

    def _add(self) -> None:
        card = PlayerCard()
        card.watch.connect(self.watch)
        card.enter.connect(self.enter)
        card.place.connect(self.place)
        card.look.connect(self.look)
        self.cards.append(card)
        self._put(len(self.cards) - 1)

    def _put(self, place: int) -> None:
        self._grid.addWidget(self.cards[place], place // self._columns, place % self._columns)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        super().resizeEvent(event)
        columns = max(1, min(3, event.size().width() // NARROWEST))
        if columns != self._columns:
            self._columns = columns
            for card in self.cards:
                self._grid.removeWidget(card)
            for place in range(len(self.cards)):
                self._put(place)
            for place in range(3):
                self._grid.setColumnStretch(place, 1 if place < columns else 0)
