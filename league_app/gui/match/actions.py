"""What can be done with a match beyond watching it: have another one played, take a seat in it, keep it as a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QPoint, Slot
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from agents.human import KIND, person
from engine.errors import RingsideError
from engine.league.records import Agent
from engine.play import replay
from engine.play.match import GameSpec
from engine.registry import game_of, is_person
from league_app.gui.context import Desk
from league_app.core.queries.matches import listed
from league_app.core.exhibitions import any_seed
from league_app.gui.dialogs.exhibition import ExhibitionSheet
from league_app.core.state import LeagueState
from league_app.gui.match.info import Prepared
from league_app.gui.match.key_bindings import room
from league_app.gui.match.player import Show

REPLAY = ".replay"


@dataclass(frozen=True)
class Choice:
    """Who could play, the best first: theirs is the match that is most worth watching."""

    game: GameSpec
    title: str
    seats: int
    agents: tuple[Agent, ...]
    people: int  # at this keyboard, who could
    names: tuple[str, ...] = ()  # of the seats


def choice(game: GameSpec, state: LeagueState) -> Choice:
    board = game_of(game)
    order = {one.id: place for place, one in enumerate(listed(state.league, game))}
    able = [one for one in state.agents(game.name) if one.kind != KIND.name]
    agents = tuple(sorted(able, key=lambda one: order[one.id]))
    info, people = board.info, room(board.info) if KIND.plays(board) else 0
    return Choice(game, info.title, info.seats, agents, people, info.seat_names)


class Guests(QObject):
    """Of one page: `shown` tells what is on it; what is made here is shown by the desk."""

    def __init__(self, desk: Desk, page: QWidget, shown: Callable[[], Prepared | None]) -> None:
        super().__init__(page)
        self._desk, self._page, self._shown = desk, page, shown
        self._asked = 0
        self._last: list[str] = []  # who played in the last exhibition
        self._offers: list[Callable[[], Any]] = []  # for each seat: take it over, from the step at which it was asked
        self.menu = QMenu(page)
        self.menu.triggered.connect(self._chosen)

    # Exhibitions

    @Slot()
    def watch(self) -> None:
        pool = self._desk.pool
        if self._desk.state is None or pool is None:
            self._desk.say("Open a league with agents first", "warn")
        else:
            self._desk.ask("match.choice", partial(choice, pool), self._choose)

    def _choose(self, found: Choice) -> None:
        if not found.agents:
            self._desk.say(f"Nobody plays {found.title} yet: add agents first", "warn")
            return
        start = partial(self._exhibit, found.game)
        sheet = ExhibitionSheet(
            self._page, found.title, found.seats, found.agents, start, found.people, self._last, any_seed(), found.names
        )
        sheet.open()

    def _exhibit(self, game: GameSpec, players: list[str], seed: int) -> None:
        state = self._desk.state
        if state is not None:
            self._last = players
            self._have_played(partial(_exhibited, state, players, game, seed))

    @Slot()
    def again(self) -> None:
        """The exhibition that is shown once more, with the next seed; who took a seat over has it from the start."""
        shown, state = self._shown(), self._desk.state
        if shown is not None and state is not None:
            spec = shown.show.spec
            players = [person(one.id) if is_person(one) else one for one in spec.players]
            self._have_played(partial(state.exhibit, players, spec.game, spec.seed + 1))

    @Slot()
    def ask_seat(self, at: QPoint | None = None) -> None:
        """Which seat to take over."""
        shown = self._shown()
        if shown is None or shown.show.at_end or shown.show.trouble or self._desk.state is None:
            self._desk.say("There is no match to take over: open one, and go to the step to play on from")
            return
        humans = sum(player.human for player in shown.bill.players)
        if shown.show.live is not None and humans >= (most := room(shown.show.playback.game.info)):
            self._desk.say(f"No more than {most} people can play at this keyboard", "warn")
            return
        self.menu.clear()
        self._offers = [self._taking(shown.show, seat) for seat in range(len(shown.bill.players))]
        for seat, player in enumerate(shown.bill.players):
            name = player.name if len(player.name) <= 40 else player.name[:40] + "\u2026"
            called = f" ({player.seat})" if player.seat else ""
            action = self.menu.addAction(f"Play seat {seat + 1}{called}, instead of {name.replace('&', '&&')}")
            action.setData(seat)
            action.setEnabled(not player.human)
        self.menu.popup(at if at is not None else self._page.mapToGlobal(self._page.rect().center()))

    @Slot(QAction)
    def _chosen(self, action: QAction) -> None:
        self._have_played(self._offers[int(action.data())])

    def take_over(self, seat: int) -> None:
        """From the step that is shown; what was played until then stays as it was."""
        shown = self._shown()
        if shown is not None and self._desk.state is not None:
            self._have_played(self._taking(shown.show, seat))

    def _taking(self, show: Show, seat: int) -> Callable[[], Any]:
        return partial(self._desk.league.take_over, show.spec, seat, show.actions_of(seat), show.step)

    @property
    def asking(self) -> bool:
        """Whether somebody is choosing a seat: what is shown had better wait."""
        return self.menu.isVisible()

    def _have_played(self, begin: Callable[[], Any]) -> None:
        self._asked += 1
        self._desk.orders.ask(f"exhibition {self._asked}", begin, self._begun, self._refused)

    def _begun(self, live: object) -> None:
        self._desk.show("match", live)

    def _refused(self, error: Exception) -> None:
        self._desk.say(str(error), "bad") if isinstance(error, RingsideError) else self._desk.failed.emit(error)

    # Keeping

    @Slot()
    def copy(self) -> None:
        """The command that plays this match again."""
        shown = self._shown()
        if shown is not None and shown.bill.command:
            QGuiApplication.clipboard().setText(shown.bill.command)
            self._desk.say(f"Copied: {shown.bill.command}", "good")

    @Slot()
    def save(self) -> None:
        shown = self._shown()
        if shown is None or shown.show.result is None:
            return
        name = f"match-{shown.bill.reference}" if shown.bill.reference else "match"
        dialog = QFileDialog(self._page, "Save replay", name + REPLAY, f"Replays (*{REPLAY})")
        dialog.setObjectName("save-replay")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(REPLAY[1:])
        dialog.fileSelected.connect(self.save_to)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    @Slot(str)
    def save_to(self, path: str) -> None:
        shown = self._shown()
        if shown is not None and shown.show.result is not None:
            saving = partial(_saved, Path(path), shown)
            self._desk.work.ask(f"save {path}", saving, self._saved, self._unsaved)

    def _saved(self, path: Path) -> None:
        self._desk.say(f"Saved as {path}", "good")

    def _unsaved(self, error: Exception) -> None:
        told = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        self._desk.say(f"The replay could not be saved: {told}", "bad")


def _exhibited(state: LeagueState, players: list[str], game: GameSpec, seed: int) -> object:
    alone = players.count("") == 1
    seated = [one or person("You" if alone else f"You {seat + 1}") for seat, one in enumerate(players)]
    return state.exhibit(seated, game, seed)


def _saved(path: Path, shown: Prepared) -> Path:
    assert shown.show.result is not None
    replay.save(path, shown.show.spec, shown.show.result)
    return path
