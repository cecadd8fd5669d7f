"""The layout of the Match page: header, board, playback controls, statistics and details of one match."""

from __future__ import annotations

from typing import Protocol

from PySide6.QtCore import QPoint, Qt, Slot
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QApplication, QScrollArea, QSizePolicy, QStackedLayout, QWidget

from league_app.gui import theme
from league_app.gui.match.canvas import BoardCanvas
from league_app.gui.match.details import MatchDetails
from league_app.gui.match.header import MatchHeader, uses_seat_colours
from league_app.gui.match.human_input import HumanInputBar
from league_app.gui.match.info import LoadedMatch, MatchInfo, outcome_marks, verdict
from league_app.gui.match.key_bindings import KeyBindings
from league_app.gui.match.playback_bar import PlaybackBar, PlaybackTarget
from league_app.gui.match.player import MatchPlayer
from league_app.gui.match.stats import StatsComparison
from league_app.gui.widgets.basics import Card, ElidedLabel, EmptyState, button, column, row, set_tone

NARROW, WIDE = 240, 300  # pixels of the column at the right
ROOMY = 1000  # pixels of page from which the column is wide
BEGINS_AGAIN = "The process of this match was lost, and your moves with it. It begins again when you press Play."
PATIENCE = 2.0  # seconds without a step after which the page says that it waits
NOTHING = "No match is open. Start a tournament with visual mode on, or watch an exhibition match."


class ViewTarget(PlaybackTarget, Protocol):
    """Receives the commands of the view: the page."""

    def watch(self) -> None: ...


class ReplayActions(Protocol):
    """What the buttons beside the board do: see `MatchActions`."""

    def play_again(self) -> None: ...
    def copy(self) -> None: ...
    def save(self) -> None: ...


class MatchView(QWidget):
    """Shows a loaded match, and passes what is pressed on to `target` and `actions`."""

    def __init__(self, target: ViewTarget, actions: ReplayActions) -> None:
        super().__init__()
        self.header, self.canvas, self.human_input = MatchHeader(), BoardCanvas(), HumanInputBar()
        self.playback_bar = PlaybackBar(target, actions.play_again)
        self.stats, self.details = StatsComparison(), MatchDetails()
        self.live_button = button("", target.watch_live, primary=True, icon="live")
        self.live_button.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.live_button.hide()
        self.copy_button = button("Copy command", actions.copy, icon="copy")
        self.copy_button.setToolTip("Copy the command that plays this match again and compares the results")
        self.save_button = button("Save replay...", actions.save, icon="save")
        self.stage = QWidget()
        self.empty = EmptyState("live", NOTHING, "Watch a match", target.watch)
        self.layers = QStackedLayout(self.stage)  # with a parent at once: without one it would flash up as a window
        self.layers.addWidget(self.empty)
        self.layers.addWidget(self)
        self.notice = ElidedLabel()
        set_tone(self.notice, "bad")
        self.notice.hide()
        self.caption = ElidedLabel("", "muted")
        board = column(self.notice, row(1, self.live_button, 1), self.canvas, self.caption, self.human_input, gap=8)
        board.setStretch(2, 1)
        middle = row(board, self._column(), gap=12)
        middle.setStretch(0, 1)
        whole = column(self.header, middle, self.playback_bar, gap=8)
        whole.setContentsMargins(16, 12, 16, 12)
        whole.setStretch(1, 1)
        self.setLayout(whole)

    def _column(self) -> QWidget:
        self.stats_card, self.details_card = Card("Statistics", margin=12), Card("Match", margin=12)
        self.stats_card.body.addWidget(self.stats)
        self.details_card.body.addWidget(self.details)
        self.details_card.body.addLayout(column(self.copy_button, self.save_button, gap=8))
        inner = QWidget()
        cards = column(self.stats_card, self.details_card, 1, gap=12)
        cards.setContentsMargins(0, 0, 4, 0)  # beside the scroll bar
        inner.setLayout(cards)
        self.side = QScrollArea()
        self.side.setAccessibleName("Statistics and details")
        self.side.setWidget(inner)
        self.side.setWidgetResizable(True)
        self.side.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.side.setFixedWidth(NARROW)
        return self.side

    def resizeEvent(self, event: object) -> None:  # noqa: N802
        self.side.setFixedWidth(WIDE if self.width() >= ROOMY else NARROW)

    # Showing a match

    def show_match(self, loaded: LoadedMatch) -> None:
        self.layers.setCurrentWidget(self)
        self.set_info(loaded.info)
        self.stats_card.setVisible(bool(loaded.player.playback.game.info.stats))
        self.playback_bar.set_speed(loaded.player.speed)

    def set_info(self, info: MatchInfo) -> None:
        self.header.set_info(info)

    def clear(self) -> None:
        self.layers.setCurrentWidget(self.empty)
        self.canvas.show_scene(None)
        self.caption.setText("")
        self.human_input.hide()
        self.live_button.hide()

    def draw(self, player: MatchPlayer, style: str | None) -> None:
        """Draw the step that is shown."""
        scene = player.playback.scene(style)
        self.canvas.show_scene(scene)
        coloured = uses_seat_colours(scene, bool(player.playback.game.info.seat_names))
        self.header.set_coloured(coloured)
        self.stats.set_coloured(coloured)
        self.header.set_scores(player.playback.scores())

    def update_panels(self, shown: LoadedMatch, bindings: KeyBindings | None) -> None:
        """Update everything but the board."""
        player, match, game = shown.player, shown.info, shown.player.playback.game.info
        self.playback_bar.set_player(player)
        ended = player.result if player.at_end else None
        self.header.badge.set_text(player.badge)
        self.header.set_marks(outcome_marks(ended) if ended is not None else [])
        self.header.set_verdict(verdict(match, ended) if ended is not None else "")
        late = player.idle_seconds if bindings is None else 0.0
        waiting = f"Waiting for the next step: {late:.0f} s" if late > PATIENCE else ""
        notice = player.error or (BEGINS_AGAIN if player.begins_again else waiting)
        self.notice.setText(notice)
        self.notice.setVisible(bool(notice))
        set_tone(self.notice, "bad" if player.error else "warn")
        if game.stats:
            self.stats.set_values(game.stats, player.playback.stats())
        scene = self.canvas.scene
        caption = scene.caption if scene is not None else ""
        if caption != self.caption.text():
            self.caption.setText(caption)
        self.details.set_match(match, ended, scene.ending if scene is not None else "", player.error)
        self.copy_button.setEnabled(bool(match.command))
        self.save_button.setEnabled(player.result is not None)
        playing = bindings is not None and not player.complete
        self.human_input.setVisible(playing)
        if bindings is not None and playing:
            turn = next((seat for seat in bindings.seats if player.legal_actions(seat)), -1)
            choices = player.legal_actions(turn) if turn >= 0 else []
            names = [player.name for player in match.players]
            name_of, mistake = player.name_of(max(turn, 0)), player.mistake_of(max(turn, 0))
            changed = self.human_input.set_turn(bindings, game, names, turn, choices, name_of, mistake)
            if changed and turn >= 0 and player.step >= player.steps and self._may_take_focus():
                self.human_input.focus_input()

    def _may_take_focus(self) -> bool:
        """Return whether the focus is free or in this view, not in a dialog or a panel."""
        focus = QApplication.focusWidget()
        return focus is None or self.isAncestorOf(focus)

    def focus_input(self) -> None:
        """Give the focus to the input field of a human player, otherwise to the board."""
        if self.human_input.isHidden() or not self.human_input.focus_input():
            self.canvas.setFocus(Qt.FocusReason.OtherFocusReason)

    @Slot(str)
    def offer_live(self, pairing: str) -> None:
        """Show a button that leads to the live match of these players; an empty text hides it."""
        room = max(self.canvas.width() - 160, 120)
        players = QFontMetrics(theme.font()).elidedText(pairing, Qt.TextElideMode.ElideMiddle, room)
        self.live_button.setText(f"Watch live: {players}".replace("&", "&&"))
        self.live_button.setVisible(bool(pairing))

    def seat_menu_position(self) -> QPoint:
        """Return the place of the menu of seats, above its button."""
        return self.playback_bar.take_over.mapToGlobal(QPoint(0, -8 - 32 * len(self.header.plates)))
