"""The controller of a session's players: watches them, enters them into the league and places them there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QWidget

from agents.human import KIND, person
from engine.diagram import Diagram
from engine.league.records import Agent
from engine.play.match import AgentSpec, GameSpec
from engine.registry import game_of
from league_app.core.exhibitions import random_seed
from league_app.core.queries.sessions import (
    SessionSummary,
    TrainedPlayer,
    latest_points,
    load_diagrams,
    load_players,
    load_ranks,
)
from league_app.core.state import LeagueState
from league_app.core.trainers import TrainerFacts
from league_app.core.training_job import TrainingJob
from league_app.gui.context import AppContext
from league_app.gui.placement_matches import Placed, PlacementQueue
from league_app.gui.training.chart_specs import MetricCurve
from league_app.gui.training.player_cards import PlayerCard, PlayersTab, league_status


@dataclass(frozen=True)
class PlayersSnapshot:
    """Everything that the cards show, from one query."""

    session: int
    players: list[TrainedPlayer]
    total: int
    measured: dict[str, int]  # by metric: its last step
    diagrams: dict[str, Diagram | None]  # new ones, by content hash
    ranks: dict[str, tuple[int, int, float, float]]
    opponents: list[tuple[str, str]]  # names and ids
    names: dict[str, str]  # of all agents, by id


@dataclass(frozen=True)
class AwaitedPlayer:
    """A running session that was asked for its current player, and the match to show of it."""

    job: TrainingJob
    opponent: str  # id
    game: GameSpec


def load_snapshot(
    number: int, game: GameSpec, pool: GameSpec, drawn: frozenset[str], state: LeagueState
) -> PlayersSnapshot:
    players, total = load_players(state, number)
    latest = latest_points(state.league, [number])[number]  # after the players: it has the validations of all of them
    measured = {name: step for name, (step, _) in latest.items()}
    diagrams = load_diagrams(state, [player for player in players if player.payload not in drawn])
    entered = {player.agent for player in players if player.agent}
    ranks = load_ranks(state, pool, entered) if entered else {}
    opponents = [(agent.name, agent.id) for agent in state.agents(game.name) if agent.kind != KIND.name]
    return PlayersSnapshot(number, players, total, measured, diagrams, ranks, opponents, state.league.names())


class TrainedPlayers(QObject):
    """Shows the players of the selected session, and reloads them after each command that changes them."""

    counted = Signal(int)

    def __init__(self, context: AppContext, page: QWidget, newest: PlayerCard) -> None:
        super().__init__(page)
        self._context, self.view, self.newest = context, PlayersTab(), newest
        self.placements = PlacementQueue(context, self)
        self.placements.changed.connect(self._show)
        self.placements.placed.connect(self._on_placed)
        self._awaited: AwaitedPlayer | None = None
        self._session: SessionSummary | None = None
        self._snapshot: PlayersSnapshot | None = None
        self._diagrams: dict[str, Diagram | None] = {}
        self._curves: Mapping[str, MetricCurve] = {}
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
        self._session = self._snapshot = self._awaited = None
        self._diagrams, self.names, self._curves = {}, {}, {}
        self._show()

    # Display

    def show_session(self, summary: SessionSummary) -> None:
        changed = self._session is None or self._session.number != summary.number
        self._session = summary
        if changed:
            self._snapshot, self._curves = None, {}
            self._show()
        game, drawn = summary.session.game, frozenset(self._diagrams)
        query = partial(load_snapshot, summary.number, game, self._pool(summary), drawn)
        self._context.ask("training/players", query, self._on_loaded)

    def _pool(self, summary: SessionSummary) -> GameSpec:
        """The pool to place players in: the selected one if it is of the same game, else that of the session."""
        pool = self._context.pool
        return pool if pool is not None and pool.name == summary.session.game.name else summary.session.game

    def _on_loaded(self, snapshot: object) -> None:
        assert isinstance(snapshot, PlayersSnapshot)
        self._diagrams |= snapshot.diagrams
        self.names = snapshot.names
        if self._session is not None and snapshot.session == self._session.number:
            self._snapshot = snapshot
            self.view.set_opponents(snapshot.opponents)
            self._show()

    def set_curves(self, curves: Mapping[str, MetricCurve]) -> None:
        """The metrics of the session."""
        self._curves = curves
        self._show()

    def _result(self, player: TrainedPlayer) -> str:
        """Its headline metric, as text: the best value up to its first step, which selected it, or its own at that
        step if it has a role. Empty while its validation has not been read, which a query of its own reads."""
        facts = self._session.facts if self._session is not None else TrainerFacts()
        name = facts.metric_of_player(player.role)
        curve = self._curves.get(name)
        measured = self._snapshot.measured.get(name, -1) if self._snapshot is not None else -1
        if curve is None or not len(curve.steps) or curve.last_point[0] < min(measured, player.first_step):
            return ""
        until = curve.values[: int(np.searchsorted(curve.steps, player.first_step, side="right"))]
        best = facts.best(until[-1:] if player.role else until)
        return facts.headline_text(best) if best is not None else ""

    @Slot()
    def _show(self) -> None:
        snapshot, state = self._snapshot, self._context.state
        players = snapshot.players if snapshot is not None else []
        total = snapshot.total if snapshot is not None else 0
        ranks = snapshot.ranks if snapshot is not None else {}
        writable = state is not None and not state.league.read_only
        unit = self._session.facts.unit if self._session is not None else "step"
        results = [self._result(player) for player in players]
        agents = [player.agent or "" for player in players]
        statuses = [
            league_status(player, self.placements.status_text(agent), ranks.get(agent))
            for player, agent in zip(players, agents, strict=True)
        ]
        self.view.show_players(players, total, self._diagrams, results, statuses, unit, writable)
        self.counted.emit(total)
        self.newest.setVisible(bool(players))
        if players:
            diagram = self._diagrams.get(players[0].payload)
            self.newest.show_player(players[0], diagram, results[0], statuses[0], unit, writable)

    # Commands

    def _submit(self, command: Callable[[], object], on_done: Callable[[Any], None]) -> None:
        self._context.command_queue.run(command, on_done)

    @Slot(object)
    def watch(self, player: object) -> None:
        """Shows an unrated match of a player, which need not be in the league."""
        state, session = self._context.state, self._session
        assert isinstance(player, TrainedPlayer)
        if state is None or session is None or not (opponent := self._opponent(session)):
            return
        spec = partial(state.training.player, player.session, player.last_step, player.role)
        self._submit(partial(_exhibit, state, spec, opponent, session.session.game), self._show_match)

    def _opponent(self, session: SessionSummary) -> str:
        """The id of the chosen opponent; notifies the user if there is none."""
        opponent = str(self.view.opponent.currentData() or "")
        if not opponent:
            self._context.notify(f"No agent plays {session.session.game.name} yet: add agents first", "warn")
        return opponent

    def watch_current(self, number: int) -> None:
        """Asks a running session for its player as it is now; `show_awaited` shows a match of it."""
        state, session = self._context.state, self._session
        job = next((job for job in state.training.jobs if job.number == number), None) if state is not None else None
        if job is None or session is None or not (opponent := self._opponent(session)):
            return
        awaited = AwaitedPlayer(job, opponent, session.session.game)
        self._submit(job.request_player, partial(self._on_requested, awaited))

    def _on_requested(self, awaited: AwaitedPlayer, result: object) -> None:
        self._awaited = awaited
        job = awaited.job
        self._context.notify(f"A match of {job.name} starts after the {job.unit} in progress")
        self.show_awaited()

    def show_awaited(self) -> None:
        """Shows a match of the player that was asked for, if it is there. Call it after changes of training."""
        state, awaited = self._context.state, self._awaited
        if state is None or awaited is None:
            return
        job, spec = awaited.job, awaited.job.current_spec()
        if spec is None:
            if job.end is not None:
                self._awaited = None
                self._context.notify(f"{job.name} ended before it could show its player", "warn")
            return
        self._awaited = None
        self._submit(partial(_exhibit, state, lambda: spec, awaited.opponent, awaited.game), self._show_match)

    def _show_match(self, live: object) -> None:
        self._context.navigate("match", live)

    @Slot(object)
    def enter(self, player: object) -> None:
        state = self._context.state
        assert isinstance(player, TrainedPlayer)
        if state is not None:
            self._submit(
                partial(state.training.enter, player.session, player.last_step, role=player.role), self._on_entered
            )

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


def _exhibit(state: LeagueState, player: Callable[[], AgentSpec], opponent: str, game: GameSpec) -> object:
    return state.exhibit([player(), *[opponent] * (game_of(game).info.seats - 1)], game, random_seed())
