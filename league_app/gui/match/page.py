"""The Match page: one match, live or played again, with all that belongs to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QElapsedTimer, QEvent, Qt, QTimer, Slot
from PySide6.QtGui import QHideEvent, QKeyEvent, QShowEvent

from engine.play.live import LiveMatch
from engine.play.match import MatchSpec
from league_app.core.changes import Change
from league_app.gui.context import Desk
from league_app.gui.page import Page
from league_app.core.state import LeagueState
from league_app.gui.match import info as bills
from league_app.gui.match import board_style as styles
from league_app.gui.match.info import Bill, Prepared
from league_app.gui.match.actions import Guests
from league_app.gui.match.key_bindings import Hands
from league_app.gui.match.keyboard import Keyboard
from league_app.gui.match.watch_queue import Program
from league_app.gui.match.live_controls import Reins
from league_app.gui.match.player import SPEEDS, Show
from league_app.gui.widgets.basics import column
from league_app.gui.match.view import Ringside

FRAME, IDLE = 16, 100  # milliseconds between two looks at a match that moves, and at one that is paused
SIDE = 100  # and between two updates of what stands around the board
LONGEST = 0.25  # seconds: more than this has not passed for a watcher


class MatchPage(Page):
    """Follows the live match of a tournament by itself; a replay or an exhibition stays until it is left."""

    title = "Match"
    icon = "live"

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self.program = Program()
        self.reins = Reins(desk, self._obeyed)
        self.guests = Guests(desk, self, self._look_at)
        self.ring = Ringside(self, self.guests)
        self.setLayout(column(self.ring.stage))
        self._keyboard = Keyboard(self, self._act)
        self._coming: LiveMatch | None = None  # is being made ready to be shown
        self._exhibition: LiveMatch | None = None  # the one that is played for this page alone
        self._speed = 1.0
        self._offered: LiveMatch | None = None
        self._timer, self._clock, self._since = QTimer(self), QElapsedTimer(), 0.0
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._tick)
        self.ring.transport.scrubber.sought.connect(self._seek)
        self.ring.human.acted.connect(self._act)
        self.ring.canvas.left.connect(self._let_go)
        desk.opened.connect(self.stop)

    def _look_at(self) -> Prepared | None:
        return self.program.shown

    @property
    def shown(self) -> Show | None:
        return self.program.shown.show if self.program.shown is not None else None

    # What is to be shown

    def show_what(self, what: object) -> None:
        """A match of the league by its reference, a live one, a replay file, or None for the tournament's own."""
        state = self.desk.state
        if isinstance(what, Path):
            self._prepare(partial(bills.filed, state, what))
        elif state is None:
            return
        elif isinstance(what, str):
            self._prepare(partial(bills.recorded, state, what))
        elif isinstance(what, LiveMatch) and what is not state.live:
            self._end(self._exhibition)
            self._exhibition = what
            self._prepare(partial(bills.living, state, what, "exhibition"), what)
        else:
            self.watch_live()

    @Slot()
    def watch_live(self) -> None:
        """The tournament's own match, whatever is shown now."""
        state = self.desk.state
        if state is None:
            return
        self.program.hear(state.live)
        live = self.program.waiting
        if live is not None:
            self._follow(state, live)
        elif self.shown is not None and self.shown.kind == "live":
            self.to_end()
        elif state.running and state.show_visuals:
            self.program.eager = True  # it is about to begin
        else:
            self.desk.say("No match is live: start a tournament with visual mode on")

    def _follow(self, state: LeagueState, live: LiveMatch) -> None:
        if live is not self._coming:
            job = state.job
            self._prepare(partial(bills.living, state, live, "live", job.number if job is not None else 0), live)

    def _prepare(self, question: Callable[[], Prepared], live: LiveMatch | None = None) -> None:
        """Beside the window: a match is read, played again and compared with its record."""
        self._coming = live
        self.desk.reads.ask("match", question, self._install, self._refuse)

    def _install(self, prepared: Prepared) -> None:
        before, self._coming = self.shown, None
        if prepared.show.live is not self._exhibition:
            self._end(self._exhibition)
        self.program.put(prepared)
        show = prepared.show
        humans = [seat for seat, one in enumerate(prepared.bill.players) if one.human]
        playing = show.live is not None and bool(humans)
        self._keyboard.hands = Hands(show.playback.game.info, humans) if playing else None
        self._speed = 1.0 if playing else self._speed
        show.speed = self._speed
        self.reins.pace(show)
        self.ring.begin(prepared)
        self.desk.ask("match.ratings", partial(_ratings, show.spec), self._rate)
        self._moved()
        if self.isVisible() and (playing or before is None or show.kind != "live"):
            self.ring.take_keyboard()

    def _refuse(self, error: Exception) -> None:
        self._coming = None
        self.desk.failed.emit(error)

    def _rate(self, answer: tuple[MatchSpec, dict[str, tuple[float, float]]]) -> None:
        spec, found = answer
        if self.program.shown is not None and self.program.shown.show.spec == spec:
            self._set_bill(bills.rated(self.program.shown.bill, found))

    def _set_bill(self, bill: Bill) -> None:
        assert self.program.shown is not None
        self.program.shown = Prepared(self.program.shown.show, bill)
        self.ring.set_bill(bill)
        self._update()

    def _end(self, live: LiveMatch | None) -> None:
        """Nobody watches it any more. A tournament plays its matches all the same; an exhibition is broken off."""
        if live is not None and live is self._exhibition:
            self._exhibition = None
            self.reins.close(live)

    @Slot()
    def stop(self) -> None:
        """Show nothing, and leave nothing running: the league is closed, or is another."""
        self._end(self._exhibition)
        self.program = Program()
        self._coming = self._offered = self._keyboard.hands = None
        self._timer.stop()
        self.ring.clear()

    # As things happen

    def refresh(self) -> None:
        state = self.desk.state
        if state is not None:
            self.program.hear(state.live)
            self._wake()

    @Slot(object)
    def _hear(self, changes: Sequence[Change]) -> None:
        state = self.desk.state
        kinds = {one.what for one in changes}
        if state is None or not self.isVisible():
            return
        if kinds & {"progress", "settings", "tournaments"}:
            self.program.hear(state.live)
            if self.shown is not None and self.shown.following and self.reins.hurried(self.shown):
                self.shown.skip()
            self._wake()
        if "matches" in kinds:
            self._ask_reference()

    def _ask_reference(self) -> None:
        shown = self.program.shown
        if shown is not None and shown.show.kind == "live" and shown.show.complete and not shown.bill.reference:
            question = partial(_reference, shown.bill.tournament, shown.show.spec.id)
            self.desk.ask("match.reference", question, self._name)

    def _name(self, answer: tuple[str, str]) -> None:
        match, reference = answer
        shown = self.program.shown
        if reference and shown is not None and shown.show.spec.id == match:
            self._set_bill(bills.named(shown.bill, reference))

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        self._stale = True
        super().showEvent(event)
        self.program.away = True  # what ended meanwhile is over
        self._go_on()
        self.program.away = False
        self._wake()
        QTimer.singleShot(0, self, self._come_to_play)  # its parts are shown after it

    @Slot()
    def _come_to_play(self) -> None:
        if self.isVisible() and self._keyboard.hands is not None:
            self.ring.take_keyboard()

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802
        self._let_go()
        self._timer.stop()
        super().hideEvent(event)

    def _wake(self) -> None:
        """Have the clock run if there is anything to see."""
        if not self.isVisible():
            return
        if not self._timer.isActive():
            self._clock.start()
            self._timer.start(FRAME)
        self._update()

    @Slot()
    def _tick(self) -> None:
        passed = min(self._clock.restart() / 1000, LONGEST)
        show = self.shown
        if show is not None:
            held = self.ring.transport.scrubber.isSliderDown()
            complete, followed = show.complete, show.following
            if show.advance(0.0 if held else passed, stay=self.guests.asking):
                self._draw()
            if show.following and not followed:
                self.reins.go_on(show)
            self._since += passed
            if self._since * 1000 >= SIDE or show.complete != complete:
                self._update()
                if show.complete and not complete:
                    self._ask_reference()
        self._go_on()
        self._set_pulse()

    def _set_pulse(self) -> None:
        show = self.shown
        waiting = self.program.holding or (self.program.waiting is not None and self._coming is not None)
        if show is not None and show.moving and not show.paused:
            wanted = FRAME
        elif waiting or (show is not None and show.moving):
            wanted = IDLE
        else:
            self._timer.stop()
            self._update()
            return
        if self._timer.interval() != wanted:
            self._timer.setInterval(wanted)

    def _go_on(self) -> None:
        live, state = self.program.due(), self.desk.state
        if live is not None and state is not None and self.isVisible() and self._coming is None:
            self._follow(state, live)

    def _draw(self) -> None:
        show = self.shown
        if show is None:
            return
        try:
            self.ring.draw(show, styles.chosen(self.desk.settings, show.playback.game))
        except Exception as error:  # the game's own code, which may come from a plug-in
            show.trouble = f"This cannot be drawn: {type(error).__name__}: {error}"

    def _moved(self) -> None:
        """Another step is shown, or it goes on from this one."""
        self._draw()
        self._wake()

    def _update(self) -> None:
        """All that stands around the board."""
        self._since = 0.0
        shown = self.program.shown
        if shown is None:
            return
        self.ring.update_around(shown, self._keyboard.hands)
        offer = self.program.offer
        if offer is not self._offered:
            self._offered = offer
            self.ring.offer("")
            if offer is not None:
                self.desk.ask("match.offer", partial(_names, offer.spec), self.ring.offer)

    # What a person may ask for

    def _obeyed(self, answer: object) -> None:
        self._wake()

    @Slot()
    def play_pause(self) -> None:
        """Of a live match that is followed, the match itself stands still, and the clocks of its players."""
        shown = self.program.shown
        if shown is not None:
            self.reins.play_pause(shown.show, shown.bill.tournament)
            self._moved()

    @Slot(int)
    def step(self, delta: int) -> None:
        if self.shown is not None:
            self.reins.step(self.shown, delta)
            self._moved()

    @Slot()
    def to_start(self) -> None:
        self._seek(0)

    @Slot()
    def to_end(self) -> None:
        """Of what there is; a match that goes on is followed from there."""
        if self.shown is not None:
            self.shown.follow()
            self._moved()

    @Slot(int)
    def _seek(self, step: int) -> None:
        show = self.shown
        if show is None:
            return
        if step >= show.steps and not show.complete:
            show.follow()
        else:
            show.seek(step)
        self._moved()

    @Slot()
    def faster(self) -> None:
        self.set_speed(next((one for one in SPEEDS if one > self._speed), SPEEDS[-1]))

    @Slot()
    def slower(self) -> None:
        self.set_speed(next((one for one in reversed(SPEEDS) if one < self._speed), SPEEDS[0]))

    def set_speed(self, speed: float) -> None:
        self._speed = speed
        self.ring.transport.set_speed(speed)
        if self.shown is not None:
            self.shown.speed = speed
            self.reins.pace(self.shown)

    @Slot()
    def skip(self) -> None:
        """The rest at full speed, and the end of it as soon as it is there."""
        show = self.shown
        if show is not None:
            self.reins.skip(show)
            self._moved()

    @Slot()
    def restyle(self) -> None:
        if self.shown is not None:
            self.desk.say(styles.turn(self.desk.settings, self.shown.playback.game))
            self._draw()

    @Slot()
    def take_over(self) -> None:
        """Ask which seat, and play on from here in its place."""
        self.guests.ask_seat(self.ring.below_take_over())

    @Slot()
    def watch(self) -> None:
        """Choose who plays, and see it: an exhibition."""
        self.guests.watch()

    # Hands

    @Slot(int, int)
    def _act(self, seat: int, action: int) -> None:
        if self.shown is not None:
            self.reins.act(self.shown, seat, action)

    @Slot()
    def _let_go(self) -> None:
        self._keyboard.let_go()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.WindowDeactivate:
            self._let_go()
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        if not self._keyboard.press(event):
            super().keyPressEvent(event)

    def keyReleaseEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        if not self._keyboard.release(event):
            super().keyReleaseEvent(event)


def _ratings(spec: MatchSpec, state: LeagueState) -> tuple[MatchSpec, dict[str, tuple[float, float]]]:
    return spec, bills.ratings(state, spec)


def _reference(tournament: int, match: str, state: LeagueState) -> tuple[str, str]:
    return match, bills.reference_of(state, tournament, match)


def _names(spec: MatchSpec, state: LeagueState) -> str:
    return bills.pairing(bills.bill_of(state, spec))
