"""Newcomers find their place: each plays a gauntlet against the others of its pool, one newcomer after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QObject, Signal, Slot

from agents.human import KIND
from engine.errors import NotNow
from engine.league.records import State
from engine.play.match import GameSpec
from engine.registry import game_of
from league_app.core.changes import Change
from league_app.gui.context import Desk
from league_app.gui.training.sessions_model import places
from league_app.core.state import LeagueState
from league_app.core.formatting import ordinal

MATCHES = 400  # about so many: some seconds, for an interval that says something
FIELD = 20  # opponents at most, spread over the table
BOARDS = 60  # groups at most, where more than two play


@dataclass(frozen=True)
class Newcomer:
    agent: str  # its id
    name: str
    pool: GameSpec


@dataclass(frozen=True)
class Placed:
    """How a placement ended."""

    newcomer: Newcomer
    done: bool  # all of it was played
    rank: int = 0
    matches: int = 0
    rating: float = 0.0
    error: float = 0.0

    @property
    def text(self) -> str:
        if not self.rank:
            return f"{self.newcomer.name} has not been placed: the tournament was stopped"
        return f"{self.newcomer.name}: new, {ordinal(self.rank)}, {self.rating:z.0f} \u00b1 {self.error:.0f}"


class Placements(QObject):
    """Waits for whatever is being played, then places who waits."""

    changed = Signal()
    placed = Signal(object)  # Placed

    def __init__(self, desk: Desk, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._desk = desk
        self._queue: list[Newcomer] = []
        self._starting: Newcomer | None = None
        self._playing: tuple[Newcomer, int] | None = None
        self._asked = 0
        desk.changed.connect(self._hear)
        desk.opened.connect(self._forget)

    def place(self, agent: str, name: str, pool: GameSpec) -> None:
        """By itself, as soon as nothing else is played."""
        if self.word(agent):
            return
        state = self._desk.state
        self._queue.append(Newcomer(agent, name, pool))
        if state is not None and state.running:
            self._desk.say(f"{name} will be placed when the tournament that is played has ended")
        self.changed.emit()
        self._next()

    def word(self, agent: str) -> str:
        """What is going on with somebody; nothing if nothing is."""
        if any(one.agent == agent for one in self._queue):
            return "waits for its placement"
        now = [self._starting, self._playing[0] if self._playing else None]
        return "is being placed" if any(one is not None and one.agent == agent for one in now) else ""

    @Slot()
    def _forget(self) -> None:
        self._queue, self._starting, self._playing = [], None, None
        self.changed.emit()

    @Slot(object)
    def _hear(self, changes: Sequence[Change]) -> None:
        if not any(change.what == "tournaments" for change in changes):
            return
        state = self._desk.state
        if self._playing is not None and state is not None:
            newcomer, number = self._playing
            job = state.job
            if job is None or job.number != number:
                self._playing = None
                self._desk.ask(f"placement/{number}", partial(_outcome, newcomer, number), self._ended)
        self._next()

    def _next(self) -> None:
        state = self._desk.state
        if state is None or state.running or self._starting or self._playing or not self._queue:
            return
        self._starting = self._queue.pop(0)
        self._asked += 1
        self._desk.orders.ask(
            f"placement/start/{self._asked}", partial(begin, state, self._starting), self._started, self._refused
        )

    def _started(self, number: object) -> None:
        assert isinstance(number, int)
        if self._starting is not None:
            self._playing, self._starting = (self._starting, number), None
            self._desk.say(f"{self._playing[0].name} is being placed against the others")
            self.changed.emit()
            self._hear([Change("tournaments", number)])  # it may be over already

    def _refused(self, error: object) -> None:
        newcomer, self._starting = self._starting, None
        state = self._desk.state
        if isinstance(error, NotNow) and state is not None and state.running and newcomer is not None:
            self._queue.insert(0, newcomer)  # somebody was quicker: after that
        else:
            self._desk.failed.emit(error)
        self.changed.emit()
        self._next()

    def _ended(self, placed: object) -> None:
        assert isinstance(placed, Placed)
        self.changed.emit()
        self.placed.emit(placed)
        self._next()


def field_of(state: LeagueState, newcomer: Newcomer) -> list[str]:
    """Whom it meets: those who are rated in this pool, strongest to weakest, or else everybody who plays the game."""
    others = [one for one in state.agents(newcomer.pool.name) if one.id != newcomer.agent and one.kind != KIND.name]
    known = {one.id for one in others}
    rated = [one.agent for one in state.standings(newcomer.pool).rows if one.total.played and one.agent in known]
    seats = game_of(newcomer.pool).info.seats
    chosen = rated if len(rated) >= max(seats - 1, 2) else [one.id for one in others]
    most = FIELD
    while most > seats and math.comb(min(most, len(chosen)), seats - 1) > max(BOARDS, FIELD):
        most -= 1
    if len(chosen) > most:
        chosen = [chosen[round(place * (len(chosen) - 1) / (most - 1))] for place in range(most)]
    return chosen


def begin(state: LeagueState, newcomer: Newcomer) -> int:
    """Starts the gauntlet; its number."""
    field = field_of(state, newcomer)
    info = game_of(newcomer.pool).info
    seats = info.seats
    if len(field) < seats - 1:
        few = "nobody else plays" if not field else f"it takes {seats} agents, and there are {len(field) + 1} for"
        raise NotNow(f"{newcomer.name} cannot be placed: {few} {info.title}")
    each = math.comb(len(field), seats - 1) * seats  # every board from every seat
    rounds = min(max(round(MATCHES / each), 1), MATCHES)
    name = f"Placement of {newcomer.name}"[:120].strip()
    job = state.start_tournament(
        name=name,
        game=newcomer.pool,
        agents=[newcomer.agent, *field],
        format="gauntlet",
        options={"challengers": 1, "rounds": rounds},
    )
    return job.number


def _outcome(newcomer: Newcomer, number: int, state: LeagueState) -> Placed:
    done = state.league.tournament(number).state is State.FINISHED
    found = places(state, newcomer.pool, {newcomer.agent}).get(newcomer.agent)
    return Placed(newcomer, done, *found) if found else Placed(newcomer, done)
