"""The seats at the ring: head, board, controls and statistics of one match, put together."""

from __future__ import annotations

from typing import Protocol

from PySide6.QtCore import QPoint, Qt, Slot
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QApplication, QScrollArea, QSizePolicy, QStackedLayout, QWidget

from league_app.gui import theme
from league_app.gui.match.info import Bill, Prepared, marks_of, verdict
from league_app.gui.match.canvas import Canvas
from league_app.gui.match.key_bindings import Hands
from league_app.gui.match.player import Show
from league_app.gui.widgets.basics import Card, Elided, Empty, button, column, row, set_tone
from league_app.gui.match.stats import Compare
from league_app.gui.match.details import Facts
from league_app.gui.match.human_input import HumanBar
from league_app.gui.match.header import Head, in_our_colours
from league_app.gui.match.playback_bar import Driver, Transport

NARROW, WIDE = 240, 300  # of the column at the right
ROOMY = 1000  # pixels of page from which it is wide
PATIENCE = 2.0  # seconds without a step of which a watcher is told
NOTHING = "Nothing is shown. Start a tournament with visual mode on, or watch two agents play."


class Owner(Driver, Protocol):
    """The page."""

    def watch(self) -> None: ...


class Keeper(Protocol):
    """Who keeps matches, and has them played."""

    def again(self) -> None: ...
    def copy(self) -> None: ...
    def save(self) -> None: ...


class Ringside(QWidget):
    """Shows what it is given; what is pressed is the affair of its owner, and of whoever keeps matches."""

    def __init__(self, owner: Owner, keeper: Keeper) -> None:
        super().__init__()
        self.head, self.canvas, self.human = Head(), Canvas(), HumanBar()
        self.transport, self.stats, self.facts = Transport(owner, keeper.again), Compare(), Facts()
        self.pill = button("", owner.watch_live, primary=True, icon="live")
        self.pill.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.pill.hide()
        self.command = button("Reproduce command", keeper.copy, icon="copy")
        self.command.setToolTip("Copies the command that plays this match again and compares")
        self.keep = button("Save replay...", keeper.save, icon="save")
        self.stage = QWidget()
        self.empty = Empty("live", NOTHING, "Watch a match", owner.watch)
        self.layers = QStackedLayout(self.stage)  # at once: without a parent it would be a window for a moment
        self.layers.addWidget(self.empty)
        self.layers.addWidget(self)
        self.notice = Elided()
        set_tone(self.notice, "bad")
        self.notice.hide()
        self.caption = Elided("", "muted")
        board = column(self.notice, row(1, self.pill, 1), self.canvas, self.caption, self.human, gap=8)
        board.setStretch(2, 1)
        middle = row(board, self._column(), gap=12)
        middle.setStretch(0, 1)
        whole = column(self.head, middle, self.transport, gap=8)
        whole.setContentsMargins(16, 12, 16, 12)
        whole.setStretch(1, 1)
        self.setLayout(whole)

    def _column(self) -> QWidget:
        self.numbers, self.print = Card("Statistics", margin=12), Card("Match", margin=12)
        self.numbers.body.addWidget(self.stats)
        self.print.body.addWidget(self.facts)
        self.print.body.addLayout(column(self.command, self.keep, gap=8))
        inner = QWidget()
        cards = column(self.numbers, self.print, 1, gap=12)
        cards.setContentsMargins(0, 0, 4, 0)  # beside the bar that scrolls
        inner.setLayout(cards)
        self.side = QScrollArea()
        self.side.setAccessibleName("Statistics and facts")
        self.side.setWidget(inner)
        self.side.setWidgetResizable(True)
        self.side.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.side.setFixedWidth(NARROW)
        return self.side

    def resizeEvent(self, event: object) -> None:  # noqa: N802
        self.side.setFixedWidth(WIDE if self.width() >= ROOMY else NARROW)

    # What is shown

    def begin(self, prepared: Prepared) -> None:
        self.layers.setCurrentWidget(self)
        self.set_bill(prepared.bill)
        self.numbers.setVisible(bool(prepared.show.playback.game.info.stats))
        self.transport.set_speed(prepared.show.speed)

    def set_bill(self, bill: Bill) -> None:
        self.head.set_bill(bill)

    def clear(self) -> None:
        self.layers.setCurrentWidget(self.empty)
        self.canvas.show_scene(None)
        self.caption.setText("")
        self.human.hide()
        self.pill.hide()

    def draw(self, show: Show, style: str | None) -> None:
        """The step that is shown."""
        scene = show.playback.scene(style)
        self.canvas.show_scene(scene)
        coloured = in_our_colours(scene, bool(show.playback.game.info.seat_names))
        self.head.set_coloured(coloured)
        self.stats.set_coloured(coloured)
        self.head.set_scores(show.playback.scores())

    def update_around(self, shown: Prepared, hands: Hands | None) -> None:
        show, bill = shown.show, shown.bill
        info = show.playback.game.info
        self.transport.set_show(show)
        ended = show.result if show.at_end else None
        self.head.badge.set_text(show.badge)
        self.head.set_marks(marks_of(ended) if ended is not None else [])
        self.head.set_verdict(verdict(bill, ended) if ended is not None else "")
        late = show.silent if hands is None else 0.0
        told = f"Waiting for the next step: {late:.0f} s" if late > PATIENCE else ""
        self.notice.setText(show.trouble or told)
        self.notice.setVisible(bool(show.trouble or told))
        set_tone(self.notice, "bad" if show.trouble else "warn")
        if info.stats:
            self.stats.set_values(info.stats, show.playback.stats())
        scene = self.canvas.scene
        told = scene.caption if scene is not None else ""
        if told != self.caption.text():
            self.caption.setText(told)
        self.facts.set_match(bill, ended, scene.ending if scene is not None else "", show.trouble)
        self.command.setEnabled(bool(bill.command))
        self.keep.setEnabled(show.result is not None)
        playing = hands is not None and not show.complete
        self.human.setVisible(playing)
        if hands is not None and playing:
            turn = next((seat for seat in hands.seats if show.choices(seat)), -1)
            choices = show.choices(turn) if turn >= 0 else []
            who = [one.name for one in bill.players]
            named, mistake = show.name_of(max(turn, 0)), show.mistake_of(max(turn, 0))
            news = self.human.set_turn(hands, info, who, turn, choices, named, mistake)
            if news and turn >= 0 and show.step >= show.steps and self._at_hand():
                self.human.take_keyboard()

    def _at_hand(self) -> bool:
        """Whether nobody is at work elsewhere, such as in a sheet or in a panel."""
        focus = QApplication.focusWidget()
        return focus is None or self.isAncestorOf(focus)

    def take_keyboard(self) -> None:
        """For whoever plays, where they play; else for the board."""
        if self.human.isHidden() or not self.human.take_keyboard():
            self.canvas.setFocus(Qt.FocusReason.OtherFocusReason)

    @Slot(str)
    def offer(self, pairing: str) -> None:
        """Another match is live; nothing for none."""
        room = max(self.canvas.width() - 160, 120)
        told = QFontMetrics(theme.font()).elidedText(pairing, Qt.TextElideMode.ElideMiddle, room)
        self.pill.setText(f"Live: {told}, watch".replace("&", "&&"))
        self.pill.setVisible(bool(pairing))

    def below_take_over(self) -> QPoint:
        """Where a menu of the seats belongs."""
        return self.transport.over.mapToGlobal(QPoint(0, -8 - 32 * len(self.head.plates)))
