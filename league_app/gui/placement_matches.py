"""Placement matches: each new agent plays a gauntlet against rated agents of its pool, one after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QObject, Signal, Slot

from agents.human import KIND
from engine.errors import NotNow
from engine.league.records import RunState
from engine.play.match import GameSpec
from engine.registry import game_of
from league_app.core.changes import Change, ChangeKind
from league_app.core.formatting import ordinal
from league_app.core.queries.sessions import load_ranks
from league_app.core.state import LeagueState
from league_app.gui.context import AppContext

MATCHES = 400  # approximate number of matches: some seconds, for a useful interval
MAX_OPPONENTS = 20  # spread evenly over the standings
MAX_GROUPS = 60  # in games for more than two


@dataclass(frozen=True)
class Newcomer:
    agent: str  # its id
    name: str
    pool: GameSpec


@dataclass(frozen=True)
class Placed:
    """The result of a placement."""

    newcomer: Newcomer
    done: bool  # all matches were played
    rank: int = 0
    matches: int = 0
    rating: float = 0.0
    error: float = 0.0

    @property
    def text(self) -> str:
        if not self.rank:
            return f"{self.newcomer.name} was not placed: its placement tournament was stopped"
        return f"{self.newcomer.name}: placed {ordinal(self.rank)}, {self.rating:z.0f} \u00b1 {self.error:.0f}"


class PlacementQueue(QObject):
    """Starts the waiting placements one by one, whenever no tournament is running."""

    changed = Signal()
    placed = Signal(object)  # Placed

    def __init__(self, context: AppContext, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._queue: list[Newcomer] = []
        self._starting: Newcomer | None = None
        self._playing: tuple[Newcomer, int] | None = None
        self._starts = 0
        context.changed.connect(self._on_changes)
        context.opened.connect(self._clear)

    def place(self, agent: str, name: str, pool: GameSpec) -> None:
        """Queues an agent; it starts as soon as no tournament is running."""
        if self.status_text(agent):
            return
        state = self._context.state
        self._queue.append(Newcomer(agent, name, pool))
        if state is not None and state.running:
            self._context.notify(f"{name} will play its placement matches after the running tournament")
        self.changed.emit()
        self._next()

    def status_text(self, agent: str) -> str:
        """The state of an agent's placement; empty if it has none."""
        if any(waiting.agent == agent for waiting in self._queue):
            return "waits for placement matches"
        now = [self._starting, self._playing[0] if self._playing else None]
        playing = any(placement is not None and placement.agent == agent for placement in now)
        return "plays placement matches" if playing else ""

    @Slot()
    def _clear(self) -> None:
        self._queue, self._starting, self._playing = [], None, None
        self.changed.emit()

    @Slot(object)
    def _on_changes(self, changes: Sequence[Change]) -> None:
        if not any(change.what == "tournaments" for change in changes):
            return
        state = self._context.state
        if self._playing is not None and state is not None:
            newcomer, number = self._playing
            job = state.job
            if job is None or job.number != number:
                self._playing = None
                self._context.ask(f"placement/{number}", partial(_outcome, newcomer, number), self._ended)
        self._next()

    def _next(self) -> None:
        state = self._context.state
        if state is None or state.running or self._starting or self._playing or not self._queue:
            return
        self._starting = self._queue.pop(0)
        self._starts += 1
        self._context.command_queue.run(
            partial(start_placement, state, self._starting),
            self._started,
            self._refused,
        )

    def _started(self, number: object) -> None:
        assert isinstance(number, int)
        if self._starting is not None:
            self._playing, self._starting = (self._starting, number), None
            self._context.notify(f"{self._playing[0].name} is playing its placement matches")
            self.changed.emit()
            self._on_changes([Change(ChangeKind.TOURNAMENTS, number)])  # it may have ended already

    def _refused(self, error: object) -> None:
        newcomer, self._starting = self._starting, None
        state = self._context.state
        if isinstance(error, NotNow) and state is not None and state.running and newcomer is not None:
            self._queue.insert(0, newcomer)  # another tournament started first: try again after it
        else:
            self._context.failed.emit(error)
        self.changed.emit()
        self._next()

    def _ended(self, placed: object) -> None:
        assert isinstance(placed, Placed)
        self.changed.emit()
        self.placed.emit(placed)
        self._next()


def opponents(state: LeagueState, newcomer: Newcomer) -> list[str]:
    """The rated agents of the pool, strongest first, or all agents of the game if too few are rated."""
    others = [
        agent for agent in state.agents(newcomer.pool.name) if agent.id != newcomer.agent and agent.kind != KIND.name
    ]
    known = {agent.id for agent in others}
    rated = [
        agent.agent for agent in state.standings(newcomer.pool).rows if agent.total.played and agent.agent in known
    ]
    seats = game_of(newcomer.pool).info.seats
    chosen = rated if len(rated) >= max(seats - 1, 2) else [agent.id for agent in others]
    most = MAX_OPPONENTS
    while most > seats and math.comb(min(most, len(chosen)), seats - 1) > max(MAX_GROUPS, MAX_OPPONENTS):
        most -= 1
    if len(chosen) > most:
        chosen = [chosen[round(place * (len(chosen) - 1) / (most - 1))] for place in range(most)]
    return chosen


def start_placement(state: LeagueState, newcomer: Newcomer) -> int:
    """Starts the gauntlet and returns the number of its tournament."""
    field = opponents(state, newcomer)
    info = game_of(newcomer.pool).info
    seats = info.seats
    if len(field) < seats - 1:
        count = f"{info.title} needs {seats} agents, and this league has {len(field) + 1}"
        raise NotNow(f"{newcomer.name} cannot be placed: {count}")
    each = math.comb(len(field), seats - 1) * seats  # every group from every seat
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
    done = state.league.tournament(number).state is RunState.FINISHED
    found = load_ranks(state, newcomer.pool, {newcomer.agent}).get(newcomer.agent)
    return Placed(newcomer, done, *found) if found else Placed(newcomer, done)
