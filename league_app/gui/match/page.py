"""The Match page: shows one match, live or recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QElapsedTimer, QEvent, Qt, QTimer, Slot
from PySide6.QtGui import QHideEvent, QKeyEvent, QShowEvent

from engine.foreign_code import name_and_text
from engine.play.live import LiveMatch
from engine.play.match import MatchSpec
from league_app.core.changes import Change
from league_app.core.state import LeagueState
from league_app.gui.context import AppContext
from league_app.gui.match import board_style, info
from league_app.gui.match.actions import MatchActions
from league_app.gui.match.info import LoadedMatch, MatchInfo
from league_app.gui.match.key_bindings import KeyBindings
from league_app.gui.match.keyboard import Keyboard
from league_app.gui.match.live_controls import LiveControls
from league_app.gui.match.player import SPEEDS, MatchPlayer
from league_app.gui.match.view import MatchView
from league_app.gui.match.watch_queue import WatchQueue
from league_app.gui.page import Page
from league_app.gui.widgets.basics import column

FRAME, IDLE = 16, 100  # milliseconds between two ticks of a match that moves, and of one that is paused
SIDE = 100  # milliseconds between two updates of everything but the board
LONGEST = 0.25  # most seconds of playback in one tick, if the window was blocked for longer


class MatchPage(Page):
    """Follows the live matches of a tournament; a replay or an exhibition stays until another match is opened."""

    guide = "window#the-match-page"
    title = "Match"
    icon = "live"

    def __init__(self, context: AppContext) -> None:
        super().__init__(context)
        self.queue = WatchQueue()
        self.controls = LiveControls(context, self._on_command_done)
        self.match_actions = MatchActions(context, self, self._loaded_match)
        self.view = MatchView(self, self.match_actions)
        self.setLayout(column(self.view.stage))
        self._keyboard = Keyboard(self, self._act)
        self._loading: LiveMatch | None = None
        self._exhibition: LiveMatch | None = None  # played for this page alone
        self._speed = 1.0
        self._offered: LiveMatch | None = None
        self._timer, self._clock, self._since = QTimer(self), QElapsedTimer(), 0.0
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._tick)
        self.view.playback_bar.scrubber.seek_requested.connect(self._seek)
        self.view.human_input.acted.connect(self._act)
        self.view.canvas.focus_lost.connect(self._release_keys)
        context.opened.connect(self.stop)

    def _loaded_match(self) -> LoadedMatch | None:
        return self.queue.shown

    @property
    def shown(self) -> MatchPlayer | None:
        return self.queue.shown.player if self.queue.shown is not None else None

    # Opening a match

    def show_item(self, what: object) -> None:
        """Show a match of the league by its reference, a live match, a replay file, or for None the tournament's live
        match."""
        state = self.context.state
        if isinstance(what, Path):
            self._load(partial(info.load_replay_file, state, what))
        elif state is None:
            return
        elif isinstance(what, str):
            self._load(partial(info.load_recorded, state, what))
        elif isinstance(what, LiveMatch) and what is not state.live:
            self._close_exhibition(self._exhibition)
            self._exhibition = what
            self._load(partial(info.load_live, state, what, "exhibition"), what)
        else:
            self.watch_live()

    @Slot()
    def watch_live(self) -> None:
        """Show the tournament's live match, whatever is shown now."""
        state = self.context.state
        if state is None:
            return
        self.queue.set_live(state.live)
        live = self.queue.waiting
        if live is not None:
            self._follow(state, live)
        elif self.shown is not None and self.shown.kind == "live":
            self.to_end()
        elif state.running and state.show_visuals:
            self.queue.follow_next = True  # it is about to start
        else:
            self.context.notify("No live match: start a tournament with visual mode on")

    def _follow(self, state: LeagueState, live: LiveMatch) -> None:
        if live is not self._loading:
            job = state.job
            self._load(partial(info.load_live, state, live, "live", job.number if job is not None else 0), live)

    def _load(self, load: Callable[[], LoadedMatch], live: LiveMatch | None = None) -> None:
        """Load a match in the background: it is read, replayed and compared with its record."""
        self._loading = live
        self.context.read_queue.submit("match", load, self._show_loaded, self._on_load_failed)

    def _show_loaded(self, loaded: LoadedMatch) -> None:
        before, self._loading = self.shown, None
        if loaded.player.live is not self._exhibition:
            self._close_exhibition(self._exhibition)
        self.queue.set_shown(loaded)
        if self.context.state is not None:  # the live match that was shown until now can be watched again
            self.queue.set_live(self.context.state.live)
        player = loaded.player
        humans = [seat for seat, player in enumerate(loaded.info.players) if player.human]
        playing = player.live is not None and bool(humans)
        self._keyboard.bindings = KeyBindings(player.playback.game.info, humans) if playing else None
        self._speed = 1.0 if playing else self._speed
        player.speed = self._speed
        self.controls.pace(player)
        self.view.show_match(loaded)
        self.context.ask("match.ratings", partial(_load_ratings, player.spec), self._show_ratings)
        self._redraw()
        if self.isVisible() and (playing or before is None or player.kind != "live"):
            self.view.focus_input()

    def _on_load_failed(self, error: Exception) -> None:
        self._loading = None
        self.context.failed.emit(error)

    def _show_ratings(self, answer: tuple[MatchSpec, dict[str, tuple[float, float]]]) -> None:
        spec, found = answer
        if self.queue.shown is not None and self.queue.shown.player.spec == spec:
            self._set_info(info.with_ratings(self.queue.shown.info, found))

    def _set_info(self, match: MatchInfo) -> None:
        assert self.queue.shown is not None
        self.queue.shown = LoadedMatch(self.queue.shown.player, match)
        self.view.set_info(match)
        self._update()

    def _close_exhibition(self, live: LiveMatch | None) -> None:
        """Cancel an exhibition that is no longer shown; matches of a tournament continue."""
        if live is not None and live is self._exhibition:
            self._exhibition = None
            self.controls.close(live)

    @Slot()
    def stop(self) -> None:
        """Show no match and stop the exhibition: the league was closed or replaced."""
        self._close_exhibition(self._exhibition)
        self.queue = WatchQueue()
        self._loading = self._offered = self._keyboard.bindings = None
        self._timer.stop()
        self.view.clear()

    # Events

    def refresh(self) -> None:
        state = self.context.state
        if state is not None:
            self.queue.set_live(state.live)
            self._start_timer()

    @Slot(object)
    def _on_changes(self, changes: Sequence[Change]) -> None:
        state = self.context.state
        kinds = {change.what for change in changes}
        if state is None or not self.isVisible():
            return
        if kinds & {"progress", "settings", "tournaments"}:
            self.queue.set_live(state.live)
            if self.shown is not None and self.shown.following and self.controls.finishing_fast(self.shown):
                self.shown.skip()
            self._start_timer()
        if "matches" in kinds:
            self._load_reference()

    def _load_reference(self) -> None:
        shown = self.queue.shown
        if shown is not None and shown.player.kind == "live" and shown.player.complete and not shown.info.reference:
            question = partial(_find_reference, shown.info.tournament, shown.player.spec.id)
            self.context.ask("match.reference", question, self._show_reference)

    def _show_reference(self, answer: tuple[str, str]) -> None:
        match, reference = answer
        shown = self.queue.shown
        if reference and shown is not None and shown.player.spec.id == match:
            self._set_info(info.with_reference(shown.info, reference))

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802
        self._stale = True
        super().showEvent(event)
        self.queue.page_hidden = True  # skip matches that ended meanwhile
        self._show_next()
        self.queue.page_hidden = False
        self._start_timer()
        QTimer.singleShot(0, self, self._focus_if_playing)  # child widgets are shown later

    @Slot()
    def _focus_if_playing(self) -> None:
        if self.isVisible() and self._keyboard.bindings is not None:
            self.view.focus_input()

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802
        self._release_keys()
        self._timer.stop()
        super().hideEvent(event)

    def _start_timer(self) -> None:
        """Start the timer if the page is visible."""
        if not self.isVisible():
            return
        if not self._timer.isActive():
            self._clock.start()
            self._timer.start(FRAME)
        self._update()

    @Slot()
    def _tick(self) -> None:
        passed = min(self._clock.restart() / 1000, LONGEST)
        player = self.shown
        if player is not None:
            held = self.view.playback_bar.scrubber.isSliderDown()
            complete, followed = player.complete, player.following
            if player.advance(0.0 if held else passed, stay=self.match_actions.choosing_seat):
                self._draw()
            if player.following and not followed:
                self.controls.resume(player)
            self._since += passed
            if self._since * 1000 >= SIDE or player.complete != complete:
                self._update()
                if player.complete and not complete:
                    self._load_reference()
        self._show_next()
        self._adjust_timer()

    def _adjust_timer(self) -> None:
        player = self.shown
        waiting = self.queue.holding or (self.queue.waiting is not None and self._loading is not None)
        if player is not None and player.moving and not player.paused:
            interval = FRAME
        elif waiting or (player is not None and player.moving):
            interval = IDLE
        else:
            self._timer.stop()
            self._update()
            return
        if self._timer.interval() != interval:
            self._timer.setInterval(interval)

    def _show_next(self) -> None:
        live, state = self.queue.next_match(), self.context.state
        if live is not None and state is not None and self.isVisible() and self._loading is None:
            self._follow(state, live)

    def _draw(self) -> None:
        player = self.shown
        if player is None:
            return
        try:
            self.view.draw(player, board_style.chosen_style(self.context.settings, player.playback.game))
        except Exception as error:  # code of the game, which may come from a plug-in
            player.error = f"The board cannot be drawn: {name_and_text(error)}"

    def _redraw(self) -> None:
        """Draw the shown step and keep the timer running."""
        self._draw()
        self._start_timer()

    def _update(self) -> None:
        """Update everything but the board."""
        self._since = 0.0
        shown = self.queue.shown
        if shown is None:
            return
        self.view.update_panels(shown, self._keyboard.bindings)
        offer = self.queue.offer
        if offer is not self._offered:
            self._offered = offer
            self.view.offer_live("")
            if offer is not None:
                self.context.ask("match.offer", partial(_pairing, offer.spec), self.view.offer_live)

    # Commands

    def _on_command_done(self, _: object) -> None:
        self._start_timer()

    @Slot()
    def play_pause(self) -> None:
        """Pause or resume; of a live match that is followed, the match itself and the clocks of its players."""
        shown = self.queue.shown
        if shown is not None:
            self.controls.play_pause(shown.player, shown.info.tournament)
            self._redraw()

    @Slot(int)
    def step(self, delta: int) -> None:
        if self.shown is not None:
            self.controls.step(self.shown, delta)
            self._redraw()

    @Slot()
    def to_start(self) -> None:
        self._seek(0)

    @Slot()
    def to_end(self) -> None:
        """Go to the newest step, and follow the match if it continues."""
        if self.shown is not None:
            self.shown.follow()
            self._redraw()

    @Slot(int)
    def _seek(self, step: int) -> None:
        player = self.shown
        if player is None:
            return
        if step >= player.steps and not player.complete:
            player.follow()
        else:
            player.seek(step)
        self._redraw()

    @Slot()
    def faster(self) -> None:
        self.set_speed(next((speed for speed in SPEEDS if speed > self._speed), SPEEDS[-1]))

    @Slot()
    def slower(self) -> None:
        self.set_speed(next((speed for speed in reversed(SPEEDS) if speed < self._speed), SPEEDS[0]))

    def set_speed(self, speed: float) -> None:
        self._speed = speed
        self.view.playback_bar.set_speed(speed)
        if self.shown is not None:
            self.shown.speed = speed
            self.controls.pace(self.shown)

    @Slot()
    def skip(self) -> None:
        """Play the rest at full speed and show the end."""
        player = self.shown
        if player is not None:
            self.controls.skip(player)
            self._redraw()

    @Slot()
    def restyle(self) -> None:
        if self.shown is not None:
            self.context.notify(board_style.select_next_style(self.context.settings, self.shown.playback.game))
            self._draw()

    @Slot()
    def take_over(self) -> None:
        """Ask for a seat, and let the user play on in it from this step."""
        self.match_actions.choose_seat(self.view.seat_menu_position())

    @Slot()
    def watch(self) -> None:
        """Ask for the players of an exhibition match and show it."""
        self.match_actions.watch()

    # Keys

    @Slot(int, int)
    def _act(self, seat: int, action: int) -> None:
        if self.shown is not None:
            self.controls.act(self.shown, seat, action)

    @Slot()
    def _release_keys(self) -> None:
        self._keyboard.release_all()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.WindowDeactivate:
            self._release_keys()
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        if not self._keyboard.press(event):
            super().keyPressEvent(event)

    def keyReleaseEvent(self, event: QKeyEvent) -> None:  # noqa: N802
        if not self._keyboard.release(event):
            super().keyReleaseEvent(event)


def _load_ratings(spec: MatchSpec, state: LeagueState) -> tuple[MatchSpec, dict[str, tuple[float, float]]]:
    return spec, info.load_ratings(state, spec)


def _find_reference(tournament: int, match: str, state: LeagueState) -> tuple[str, str]:
    return match, info.find_reference(state, tournament, match)


def _pairing(spec: MatchSpec, state: LeagueState) -> str:
    return info.pairing(info.match_info(state, spec))
