"""Leagues whose matches tests of lessons learn from, and agents that such tests ask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agents.training.records import MatchRecord, RecordQuery
from engine.game import RESIGN, Game
from engine.league.records import RunState
from engine.league.storage.league import League
from engine.league.storage.result_columns import PlayedEntry
from engine.league.storage.tournaments import TournamentStore
from engine.plain import View, plain_kind
from engine.play.match import AgentSpec
from engine.play.sequential import SequentialMatchExecutor
from engine.registry import KINDS, agents_for
from league_app.core.training_records import find_records
from league_app.core.validation import make_settings

BROKEN_AT = 3  # the call in which a bot fails


class MemoryBot:
    """Plays legal actions in turn, by the number of times that it was asked in this match; may fail or resign."""

    def __init__(self, payload: bytes) -> None:
        self._does, self._calls = payload.decode(), 0

    def act(self, view: View) -> int:
        self._calls += 1
        if self._calls == BROKEN_AT and self._does == "fails":
            raise ValueError("it fails on purpose")
        if self._calls >= BROKEN_AT and self._does == "resigns":
            return RESIGN
        legal = view.legal or [0, 1, 2]
        return legal[(self._calls - 1) % len(legal)]


def memory_bot(does: str = "") -> AgentSpec:
    return AgentSpec("Memory", "memory-bot", does.encode())


@contextmanager
def memory_bots(*games: str) -> Iterator[None]:
    KINDS.add("memory-bot", plain_kind("memory-bot", 1, MemoryBot, games, {"Faulty": b"fails"}))
    yield
    KINDS.remove("memory-bot")


def bots(game: Game, *names: str) -> list[AgentSpec]:
    offered = {agent.id: agent for agents in agents_for(game).values() for agent in agents}
    return [offered[name] for name in names]


def play_tournament(path: Path, game: Game, players: Sequence[AgentSpec], rounds: int = 1, **settings: Any) -> None:
    """Plays all matches of a tournament, in the order of the schedule; creates the league if there is none."""
    with League(path) if path.exists() else League.new(path) as league, SequentialMatchExecutor(32) as executor:
        known = {agent.name for agent in league.agents(game.spec.name)}
        for player in players:
            if player.id not in known:
                league.add_agent(player.id, game.spec.name, player)
        plan = make_settings(game.spec, "round-robin", {"rounds": rounds}, **settings)
        ids = [league.agent(player.id, game.spec.name).id for player in players]
        store = TournamentStore(league, league.add_tournament(f"for {game.spec.name}", plan, ids).number)
        planned = list(store.missing())
        results = executor.execute_matches([one.spec for one in planned])
        store.record(PlayedEntry(one.place, one.spec, result) for one, result in zip(planned, results, strict=True))
        store.settle(RunState.FINISHED)


def records_of(path: Path, game: Game, *names: str, **query: Any) -> tuple[MatchRecord, ...]:
    """By default of all agents."""
    asked = RecordQuery("from_league", names, **{"strongest": 0, **query})
    with League(path, read_only=True) as league:
        return find_records(league, asked, game.spec, "").records
