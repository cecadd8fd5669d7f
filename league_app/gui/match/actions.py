"""Actions on a match: play an exhibition, play it again, take over a seat, save the replay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QPoint, Slot
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QMenu, QWidget

from agents.human import KIND, person
from engine.errors import RingsideError
from engine.league.records import Agent
from engine.play import replay
from engine.play.match import GameSpec
from engine.registry import game_of, is_person
from league_app.core.exhibitions import random_seed
from league_app.core.formatting import seat_label, shorten
from league_app.core.queries.agents import agent_rows
from league_app.core.state import LeagueState
from league_app.gui.context import AppContext
from league_app.gui.dialogs.exhibition import ExhibitionDialog
from league_app.gui.match.info import LoadedMatch
from league_app.gui.match.key_bindings import max_humans
from league_app.gui.match.player import MatchPlayer
from league_app.gui.widgets.file_dialogs import save_file

REPLAY = ".replay"


@dataclass(frozen=True)
class ExhibitionChoices:
    """The game and the agents to choose from, best first."""

    game: GameSpec
    title: str
    seats: int
    agents: tuple[Agent, ...]
    people: int  # how many humans can play at this keyboard
    names: tuple[str, ...] = ()  # of the seats, if the game names them


def load_choices(game: GameSpec, state: LeagueState) -> ExhibitionChoices:
    board = game_of(game)
    order = {row.id: place for place, row in enumerate(agent_rows(state.league, game))}
    able = [agent for agent in state.agents(game.name) if agent.kind != KIND.name]
    agents = tuple(sorted(able, key=lambda agent: order[agent.id]))
    info, people = board.info, max_humans(board.info) if KIND.plays(board) else 0
    return ExhibitionChoices(game, info.title, info.seats, agents, people, info.seat_names)


class MatchActions(QObject):
    """Actions of one page; `shown` returns the match on it. New matches are shown through `context.navigate`."""

    def __init__(self, context: AppContext, page: QWidget, shown: Callable[[], LoadedMatch | None]) -> None:
        super().__init__(page)
        self._context, self._page, self._shown = context, page, shown
        self._last: list[str] = []  # players of the last exhibition
        self._offers: list[Callable[[], Any]] = []  # per seat: take it over at the step shown when the menu opened
        self.menu = QMenu(page)
        self.menu.triggered.connect(self._on_seat_chosen)

    # Exhibitions

    @Slot()
    def watch(self) -> None:
        pool = self._context.pool
        if self._context.state is None or pool is None:
            self._context.notify("Open a league that has agents first", "warn")
        else:
            self._context.ask("match.choice", partial(load_choices, pool), self._show_dialog)

    def _show_dialog(self, found: ExhibitionChoices) -> None:
        if not found.agents:
            self._context.notify(f"This league has no agents for {found.title} yet: add some first", "warn")
            return
        start = partial(self._exhibit, found.game)
        dialog = ExhibitionDialog(
            self._page,
            found.title,
            found.seats,
            found.agents,
            start,
            found.people,
            self._last,
            random_seed(),
            found.names,
        )
        dialog.open()

    def _exhibit(self, game: GameSpec, players: list[str], seed: int) -> None:
        state = self._context.state
        if state is not None:
            self._last = players
            self._start(partial(_start_exhibition, state, players, game, seed))

    @Slot()
    def play_again(self) -> None:
        """Play the exhibition again with the next seed; a seat that was taken over stays with the human."""
        shown, state = self._shown(), self._context.state
        if shown is not None and state is not None:
            spec = shown.player.spec
            players = [person(player.id) if is_person(player) else player for player in spec.players]
            self._start(partial(state.exhibit, players, spec.game, spec.seed + 1))

    @Slot()
    def choose_seat(self, at: QPoint | None = None) -> None:
        """Open the menu of seats to take over."""
        shown = self._shown()
        if shown is None or shown.player.at_end or shown.player.error or self._context.state is None:
            self._context.notify("No match to take over: open one that has not ended, or go back to an earlier step")
            return
        humans = sum(player.human for player in shown.info.players)
        if shown.player.live is not None and humans >= (most := max_humans(shown.player.playback.game.info)):
            self._context.notify(f"At most {most} people can play at this keyboard", "warn")
            return
        self.menu.clear()
        self._offers = [self._take_over_task(shown.player, seat) for seat in range(len(shown.info.players))]
        for seat, player in enumerate(shown.info.players):
            name = shorten(player.name, 41).replace("&", "&&")
            action = self.menu.addAction(f"{seat_label(seat, player.seat_name)}: play instead of {name}")
            action.setData(seat)
            action.setEnabled(not player.human)
        self.menu.popup(at if at is not None else self._page.mapToGlobal(self._page.rect().center()))

    @Slot(QAction)
    def _on_seat_chosen(self, action: QAction) -> None:
        self._start(self._offers[int(action.data())])

    def take_over(self, seat: int) -> None:
        """Play on in this seat from the step that is shown; the steps before it stay."""
        shown = self._shown()
        if shown is not None and self._context.state is not None:
            self._start(self._take_over_task(shown.player, seat))

    def _take_over_task(self, player: MatchPlayer, seat: int) -> Callable[[], Any]:
        return partial(self._context.league.take_over, player.spec, seat, player.actions_of(seat), player.step)

    @property
    def choosing_seat(self) -> bool:
        """Whether the seat menu is open; playback waits meanwhile."""
        return self.menu.isVisible()

    def _start(self, begin: Callable[[], Any]) -> None:
        self._context.command_queue.run(begin, self._on_started, self._on_start_failed)

    def _on_started(self, live: object) -> None:
        self._context.navigate("match", live)

    def _on_start_failed(self, error: Exception) -> None:
        self._context.notify(str(error), "bad") if isinstance(error, RingsideError) else self._context.failed.emit(
            error
        )

    # Copying and saving

    @Slot()
    def copy(self) -> None:
        """Copy the command that plays this match again."""
        shown = self._shown()
        if shown is not None and shown.info.command:
            QGuiApplication.clipboard().setText(shown.info.command)
            self._context.notify(f"Copied: {shown.info.command}", "good")

    @Slot()
    def save(self) -> None:
        shown = self._shown()
        if shown is None or shown.player.result is None:
            return
        name = f"match-{shown.info.reference}" if shown.info.reference else "match"
        dialog = save_file(self._page, "Save replay", self.save_to, f"Replays (*{REPLAY})", name + REPLAY)
        dialog.setObjectName("save-replay")

    @Slot(str)
    def save_to(self, path: str) -> None:
        shown = self._shown()
        if shown is not None and shown.player.result is not None:
            task = partial(_save_replay, Path(path), shown)
            self._context.slow_queue.run(task, self._on_saved, self._on_save_failed)

    def _on_saved(self, path: Path) -> None:
        self._context.notify(f"Replay saved as {path}", "good")

    def _on_save_failed(self, error: Exception) -> None:
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        self._context.notify(f"The replay could not be saved: {reason}", "bad")


def _start_exhibition(state: LeagueState, players: list[str], game: GameSpec, seed: int) -> object:
    alone = players.count("") == 1
    seated = [player or person("You" if alone else f"You {seat + 1}") for seat, player in enumerate(players)]
    return state.exhibit(seated, game, seed)


def _save_replay(path: Path, shown: LoadedMatch) -> Path:
    assert shown.player.result is not None
    replay.save(path, shown.player.spec, shown.player.result, overwrite=True)  # the dialog has asked
    return path
