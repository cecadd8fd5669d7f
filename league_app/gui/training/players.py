"""The controller of a session's players: watches them, enters them into the league and places them there."""

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
from league_app.core.exhibitions import random_seed
from league_app.core.queries.sessions import SessionSummary, TrainedPlayer, load_payload, load_players, load_ranks
from league_app.core.state import LeagueState
from league_app.gui.context import AppContext
from league_app.gui.placement_matches import Placed, PlacementQueue
from league_app.gui.training.charts import MetricCurve
from league_app.gui.training.network_sketch import NetworkSketch, load_sketch
from league_app.gui.training.player_cards import PlayerCard, Players, league_status


@dataclass(frozen=True)
class PlayersSnapshot:
    """Everything that the cards show, from one query."""

    session: int
    players: list[TrainedPlayer]
    total: int
    sketches: dict[str, NetworkSketch | None]  # new ones, by content hash
    ranks: dict[str, tuple[int, int, float, float]]
    opponents: list[tuple[str, str]]  # names and ids
    names: dict[str, str]  # of all agents, by id


def load_snapshot(
    number: int, game: GameSpec, pool: GameSpec, sketched: frozenset[str], state: LeagueState
) -> PlayersSnapshot:
    players, total = load_players(state, number)
    sketches = {
        player.payload: load_sketch(player.kind, load_payload(state, player.payload))
        for player in players
        if player.payload not in sketched
    }
    entered = {player.agent for player in players if player.agent}
    ranks = load_ranks(state, pool, entered) if entered else {}
    opponents = [(agent.name, agent.id) for agent in state.agents(game.name) if agent.kind != KIND.name]
    return PlayersSnapshot(number, players, total, sketches, ranks, opponents, state.league.names())


class TrainedPlayers(QObject):
    """Shows the players of the selected session, and reloads them after each command that changes them."""

    counted = Signal(int)

    def __init__(self, context: AppContext, page: QWidget, newest: PlayerCard) -> None:
        super().__init__(page)
        self._context, self.view, self.newest = context, Players(), newest
        self.placements = PlacementQueue(context, self)
        self.placements.changed.connect(self._show)
        self.placements.placed.connect(self._on_placed)
        self._session: SessionSummary | None = None
        self._snapshot: PlayersSnapshot | None = None
        self._sketches: dict[str, NetworkSketch | None] = {}
        self._shares: MetricCurve | None = None
        self.names: dict[str, str] = {}
        for source in (self.view, newest):
            source.watch.connect(self.watch)
            source.enter.connect(self.enter)
            source.place.connect(self.place)
            source.show_agent.connect(self.show_agent)
        newest.hide()
        context.opened.connect(self._on_league_opened)

    @Slot()
    def _on_league_opened(self) -> None:
        self._session = self._snapshot = self._shares = None
        self._sketches, self.names = {}, {}
        self._show()

    # Display

    def show_session(self, summary: SessionSummary) -> None:
        changed = self._session is None or self._session.number != summary.number
        self._session = summary
        if changed:
            self._snapshot = self._shares = None
            self._show()
        game, sketched = summary.session.game, frozenset(self._sketches)
        query = partial(load_snapshot, summary.number, game, self._pool(summary), sketched)
        self._context.ask("training/players", query, self._on_loaded)

    def _pool(self, summary: SessionSummary) -> GameSpec:
        """The pool to place players in: the selected one if it is of the same game, else that of the session."""
        pool = self._context.pool
        return pool if pool is not None and pool.name == summary.session.game.name else summary.session.game

    def _on_loaded(self, snapshot: object) -> None:
        assert isinstance(snapshot, PlayersSnapshot)
        self._sketches |= snapshot.sketches
        self.names = snapshot.names
        if self._session is not None and snapshot.session == self._session.number:
            self._snapshot = snapshot
            self.view.set_opponents(snapshot.opponents)
            self._show()

    def set_shares(self, curve: MetricCurve | None) -> None:
        """The validation results of the session."""
        self._shares = curve
        self._show()

    def _share(self, player: TrainedPlayer) -> float | None:
        """Its share of the points in the validation: the best value up to its first step, which selected it."""
        curve = self._shares
        if curve is None or not len(curve.steps):
            return None
        until = curve.values[: int(np.searchsorted(curve.steps, player.first_step, side="right"))]
        until = until[np.isfinite(until)]
        return float(until.max()) if len(until) else None

    @Slot()
    def _show(self) -> None:
        snapshot, state = self._snapshot, self._context.state
        players = snapshot.players if snapshot is not None else []
        total = snapshot.total if snapshot is not None else 0
        ranks = snapshot.ranks if snapshot is not None else {}
        writable = state is not None and not state.league.read_only
        shares = [self._share(player) for player in players]
        agents = [player.agent or "" for player in players]
        statuses = [
            league_status(player, self.placements.status_text(agent), ranks.get(agent))
            for player, agent in zip(players, agents, strict=True)
        ]
        self.view.show_players(players, total, self._sketches, shares, statuses, writable)
        self.counted.emit(total)
        self.newest.setVisible(bool(players))
        if players:
            sketch = self._sketches.get(players[0].payload)
            self.newest.show_player(players[0], sketch, shares[0], statuses[0], writable)

    # Commands

    def _submit(self, command: Callable[[], object], on_done: Callable[[Any], None]) -> None:
        self._context.command_queue.run(command, on_done)

    @Slot(object)
    def watch(self, player: object) -> None:
        """Shows an unrated match of a player, which need not be in the league."""
        state, session = self._context.state, self._session
        assert isinstance(player, TrainedPlayer)
        if state is None or session is None:
            return
        opponent = self.view.opponent.currentData()
        if not opponent:
            self._context.notify(f"No agent plays {session.session.game.name} yet: add agents first", "warn")
            return
        self._submit(partial(_exhibit, state, player, str(opponent), session.session.game), self._show_match)

    def _show_match(self, live: object) -> None:
        self._context.navigate("match", live)

    @Slot(object)
    def enter(self, player: object) -> None:
        state = self._context.state
        assert isinstance(player, TrainedPlayer)
        if state is not None:
            self._submit(partial(state.training.enter, player.session, player.last_step), self._on_entered)

    def _on_entered(self, agent: object) -> None:
        assert isinstance(agent, Agent)
        if self._session is not None:
            self.show_session(self._session)
        self.place_agent(agent.id, agent.name)

    @Slot(object)
    def place(self, player: object) -> None:
        assert isinstance(player, TrainedPlayer)
        if player.agent:
            self.place_agent(player.agent, player.name)

    def place_agent(self, agent: str, name: str) -> None:
        """Queues a gauntlet in the pool of the session, or else in the selected pool."""
        session, pool = self._session, self._context.pool
        if session is not None:
            pool = self._pool(session)
        if pool is not None:
            self.placements.place(agent, name, pool)

    @Slot(object)
    def show_agent(self, player: object) -> None:
        assert isinstance(player, TrainedPlayer)
        self._context.navigate("agent", player.agent)

    @Slot(object)
    def _on_placed(self, placed: object) -> None:
        assert isinstance(placed, Placed)
        newcomer = placed.newcomer
        action: tuple[str, Callable[[], object]] = ("Show", partial(self._context.navigate, "agent", newcomer.agent))
        if placed.rank and _playable_by_humans(newcomer.pool):
            action = ("Play against it", partial(self.play_against, newcomer.agent, newcomer.pool))
        self._context.notify(placed.text, "good" if placed.rank else "warn", action)
        if self._session is not None:
            self.show_session(self._session)

    def play_against(self, agent: str, pool: GameSpec) -> None:
        """Starts a match of the user against an agent."""
        state = self._context.state
        if state is not None:
            self._submit(partial(state.exhibit, [person(), agent], pool, random_seed()), self._show_match)


def _playable_by_humans(pool: GameSpec) -> bool:
    return KIND.plays(game_of(pool))


def _exhibit(state: LeagueState, player: TrainedPlayer, opponent: str, game: GameSpec) -> object:
    spec = state.training.player(player.session, player.last_step)
    return state.exhibit([spec, *[opponent] * (game_of(game).info.seats - 1)], game, random_seed())
