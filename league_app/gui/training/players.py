"""The players of the selected session: watched, entered into the league, and placed there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QWidget

from agents.human import KIND, person
from engine.league.records import Agent
from engine.play.match import GameSpec
from engine.registry import game_of
from league_app.gui.context import Desk
from league_app.gui.training.sessions_model import Glance, Trained, payload_of, places, players
from league_app.gui.training.charts import Curve
from league_app.core.exhibitions import any_seed
from league_app.gui.placement_matches import Placed, Placements
from league_app.core.state import LeagueState
from league_app.gui.training.player_cards import PlayerCard, Players, standing
from league_app.gui.training.network_sketch import Sketch, sketch


@dataclass(frozen=True)
class Looked:
    """All that the cards tell, read in one go."""

    session: int
    players: list[Trained]
    every: int
    sketches: dict[str, Sketch | None]  # new ones, by content
    places: dict[str, tuple[int, int, float, float]]
    opponents: list[tuple[str, str]]  # names and ids
    names: dict[str, str]  # of all agents, by id


def look(number: int, game: GameSpec, pool: GameSpec, drawn: frozenset[str], state: LeagueState) -> Looked:
    found, every = players(state, number)
    sketches = {
        one.payload: sketch(one.kind, payload_of(state, one.payload)) for one in found if one.payload not in drawn
    }
    entered = {one.agent for one in found if one.agent}
    ranked = places(state, pool, entered) if entered else {}
    opponents = [(one.name, one.id) for one in state.agents(game.name) if one.kind != KIND.name]
    return Looked(number, found, every, sketches, ranked, opponents, state.league.names())


class Trainees(QObject):
    """Knows which session is looked at; what the league says of its players is asked again when it may be another."""

    counted = Signal(int)

    def __init__(self, desk: Desk, page: QWidget, newest: PlayerCard) -> None:
        super().__init__(page)
        self._desk, self.view, self.newest = desk, Players(), newest
        self.placements = Placements(desk, self)
        self.placements.changed.connect(self._show)
        self.placements.placed.connect(self._tell_place)
        self._session: Glance | None = None
        self._looked: Looked | None = None
        self._sketches: dict[str, Sketch | None] = {}
        self._shares: Curve | None = None
        self._asked = 0
        self.names: dict[str, str] = {}
        for source in (self.view, newest):
            source.watch.connect(self.watch)
            source.enter.connect(self.enter)
            source.place.connect(self.place)
            source.look.connect(self.show_agent)
        newest.hide()
        desk.opened.connect(self._forget)

    @Slot()
    def _forget(self) -> None:
        self._session = self._looked = self._shares = None
        self._sketches, self.names = {}, {}
        self._show()

    # Showing

    def look_at(self, one: Glance) -> None:
        other = self._session is None or self._session.number != one.number
        self._session = one
        if other:
            self._looked = self._shares = None
            self._show()
        question = partial(look, one.number, one.session.game, self._pool(one), frozenset(self._sketches))
        self._desk.ask("training/players", question, self._take)

    def _pool(self, one: Glance) -> GameSpec:
        """Where it is placed: the pool that is looked at, if that is of the same game."""
        pool = self._desk.pool
        return pool if pool is not None and pool.name == one.session.game.name else one.session.game

    def _take(self, looked: object) -> None:
        assert isinstance(looked, Looked)
        self._sketches |= looked.sketches
        self.names = looked.names
        if self._session is not None and looked.session == self._session.number:
            self._looked = looked
            self.view.set_opponents(looked.opponents)
            self._show()

    def set_shares(self, curve: Curve | None) -> None:
        self._shares = curve
        self._show()

    def _share(self, one: Trained) -> float | None:
        """What it took from the bots: the best until then, for which it was kept."""
        curve = self._shares
        if curve is None or not len(curve.steps):
            return None
        until = curve.values[: int(np.searchsorted(curve.steps, one.step, side="right"))]
        until = until[np.isfinite(until)]
        return float(until.max()) if len(until) else None

    @Slot()
    def _show(self) -> None:
        looked, state = self._looked, self._desk.state
        found = looked.players if looked is not None else []
        writable = state is not None and not state.league.read_only
        shares = [self._share(one) for one in found]
        placed = looked.places if looked is not None else {}
        where = [standing(one, self.placements.word(one.agent or ""), placed.get(one.agent or "")) for one in found]
        self.view.show_players(found, looked.every if looked else 0, self._sketches, shares, where, writable)
        self.counted.emit(looked.every if looked else 0)
        self.newest.setVisible(bool(found))
        if found:
            self.newest.show_player(found[0], self._sketches.get(found[0].payload), shares[0], where[0], writable)

    # Doing

    def _do(self, doing: Callable[[], object], then: Callable[[Any], None]) -> None:
        self._asked += 1
        self._desk.orders.ask(f"trainees/{self._asked}", doing, then)

    @Slot(object)
    def watch(self, trained: object) -> None:
        """An unrated match of somebody who need not be in the league."""
        state, session = self._desk.state, self._session
        assert isinstance(trained, Trained)
        if state is None or session is None:
            return
        opponent = self.view.opponent.currentData()
        if not opponent:
            self._desk.say(f"Nobody plays {session.session.game.name} yet: add agents first", "warn")
            return
        self._do(partial(_exhibit, state, trained, str(opponent), session.session.game), self._shown)

    def _shown(self, live: object) -> None:
        self._desk.show("match", live)

    @Slot(object)
    def enter(self, trained: object) -> None:
        state = self._desk.state
        assert isinstance(trained, Trained)
        if state is not None:
            self._do(partial(state.training.enter, trained.session, trained.last), self._entered)

    def _entered(self, agent: object) -> None:
        assert isinstance(agent, Agent)
        if self._session is not None:
            self.look_at(self._session)
        self.place_agent(agent.id, agent.name)

    @Slot(object)
    def place(self, trained: object) -> None:
        assert isinstance(trained, Trained)
        if trained.agent:
            self.place_agent(trained.agent, trained.name)

    def place_agent(self, agent: str, name: str) -> None:
        """By a gauntlet, in the pool that is looked at or that of the session."""
        session, pool = self._session, self._desk.pool
        if session is not None:
            pool = self._pool(session)
        if pool is not None:
            self.placements.place(agent, name, pool)

    @Slot(object)
    def show_agent(self, trained: object) -> None:
        assert isinstance(trained, Trained)
        self._desk.show("agent", trained.agent)

    @Slot(object)
    def _tell_place(self, placed: object) -> None:
        assert isinstance(placed, Placed)
        newcomer = placed.newcomer
        offer: tuple[str, Callable[[], object]] = ("Show", partial(self._desk.show, "agent", newcomer.agent))
        if placed.rank and _for_people(newcomer.pool):
            offer = ("Play it", partial(self.play, newcomer.agent, newcomer.pool))
        self._desk.say(placed.text, "good" if placed.rank else "warn", offer)
        if self._session is not None:
            self.look_at(self._session)

    def play(self, agent: str, pool: GameSpec) -> None:
        """Oneself against it."""
        state = self._desk.state
        if state is not None:
            self._do(partial(state.exhibit, [person(), agent], pool, any_seed()), self._shown)


def _for_people(pool: GameSpec) -> bool:
    return KIND.plays(game_of(pool))


def _exhibit(state: LeagueState, trained: Trained, opponent: str, game: GameSpec) -> object:
    player = state.training.player(trained.session, trained.last)
    return state.exhibit([player, *[opponent] * (game_of(game).info.seats - 1)], game, any_seed())
