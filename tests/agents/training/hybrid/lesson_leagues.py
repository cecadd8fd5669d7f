"""Leagues whose matches tests of lessons learn from, and agents that such tests ask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from agents.training.records import MatchRecord, RecordQuery
from engine.game import PENDING, RESIGN, AgentKind, Game, Indices, Ints, Seeds, Views
from engine.league.records import RunState
from engine.league.storage.league import League
from engine.league.storage.result_columns import PlayedEntry
from engine.league.storage.tournaments import TournamentStore
from engine.plain import View, plain_kind
from engine.play.match import AgentSpec, MatchResult
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


class ThinkingPilot:
    """Plays up to three slots, and answers each position only when it is asked for the second time: by its seat."""

    capacity = 3

    def __init__(self, game: Game, slots: int) -> None:
        self._known: set[tuple[int, int]] = set()
        self.active: set[int] = set()

    def load(self, agent: AgentSpec) -> int:
        return 0

    def begin(self, slots: Indices, agents: Indices, seeds: Seeds) -> None:
        assert not self.active & set(slots.tolist())
        self.active |= set(slots.tolist())
        assert len(self.active) <= self.capacity

    def act(self, views: Views) -> Ints:
        each = list(zip(views.slots.tolist(), views.plies.tolist(), views.seats.tolist(), strict=True))
        assert {slot for slot, _, _ in each} <= self.active
        answers = [seat if (slot, ply) in self._known else PENDING for slot, ply, seat in each]
        self._known |= {(slot, ply) for slot, ply, _ in each}
        return np.array(answers, np.int64)

    def end(self, slots: Indices, results: Sequence[MatchResult] | None) -> None:
        self.active -= set(slots.tolist())
        self._known = {(slot, ply) for slot, ply in self._known if slot in self.active}

    def close(self) -> None:
        assert not self.active


@contextmanager
def registered_kinds(*games: str) -> Iterator[None]:
    """The kinds of this module are registered within the block."""
    KINDS.add("memory-bot", plain_kind("memory-bot", 1, MemoryBot, games, {"Faulty": b"fails"}))
    KINDS.add("thinking-bot", AgentKind("thinking-bot", 1, ThinkingPilot, lambda game: True, lambda game: []))
    yield
    KINDS.remove("memory-bot")
    KINDS.remove("thinking-bot")


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
        results = executor.execute_matches([match.spec for match in planned])
        store.record(
            PlayedEntry(match.place, match.spec, result) for match, result in zip(planned, results, strict=True)
        )
        store.settle(RunState.FINISHED)


def records_of(path: Path, game: Game, *names: str, **query: Any) -> tuple[MatchRecord, ...]:
    """By default of all agents."""
    asked = RecordQuery("from_league", names, **{"strongest": 0, **query})
    with League(path, read_only=True) as league:
        return find_records(league, asked, game.spec, "").records
