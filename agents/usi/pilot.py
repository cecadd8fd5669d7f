"""Plays USI engines: one process per seat, polled without blocking.

An engine whose matches are repeatable gets a new process for each: engines keep state over `usinewgame`, and of 48
matches of fairy-stockfish in reused processes 3 could not be reproduced. Others are reused for the next match."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, cast, runtime_checkable

import numpy as np

from agents.usi.approvals import admit
from agents.usi.engine_spec import LONGEST_START, NAME, VERSION, EngineSpec, describe, engine_of, repeatable, timed
from agents.usi.protocol import Conversation
from agents.usi.transcript import Transcript
from engine.errors import BadValue
from engine.game import PENDING, RESIGN, AgentFault, AgentKind, Game, Indices, Ints, Position, Seeds, Views
from engine.play.match import AgentSpec, EndingKind, MatchResult

SEATS = 2  # engines in one worker: both of a match
PATIENCE = SEATS * 2 * LONGEST_START + 20.0  # seconds: start and `isready` of each engine, and time to end idle ones


@runtime_checkable
class UsiGame(Protocol):
    """A game with USI notation: the positions of its boards are UsiPositions."""

    usi_variant: str  # its name in engines that know several variants


class UsiPosition(Position, Protocol):
    def usi(self) -> str:
        """The argument of the `position` command."""

    def action(self, usi: str) -> int:
        """The action of a move in USI notation; raises BadValue if it is not legal."""


@dataclass
class _Seat:
    agent: int
    conversation: Conversation
    transcript: Transcript


class UsiPilot:
    """Engines by slot, and idle engines for the next matches."""

    capacity = SEATS

    def __init__(self, game: Game, slots: int) -> None:
        self._variant = game.usi_variant if isinstance(game, UsiGame) else ""
        self._agents: list[tuple[AgentSpec, EngineSpec]] = []
        self._seats: dict[int, _Seat] = {}
        self._idle: list[tuple[int, Conversation]] = []  # with agent number, the longest idle first

    def load(self, agent: AgentSpec) -> int:
        self._agents.append((agent, engine_of(agent.payload)))
        return len(self._agents) - 1

    def begin(self, slots: Indices, agents: Indices, seeds: Seeds) -> None:
        for slot, agent, seed in zip(slots.tolist(), agents.tolist(), seeds.tolist(), strict=True):
            self._drop(slot)
            spec, engine = self._agents[agent]
            transcript = Transcript(spec.id, seed, engine.line)
            conversation = self._acquire(agent, spec, engine, transcript)
            self._seats[slot] = _Seat(agent, conversation, transcript)
            try:
                conversation.new_game(transcript)
            except AgentFault as fault:
                self._drop(slot)
                raise AgentFault(EndingKind.CANNOT_START, str(fault)) from None

    def _acquire(self, agent: int, spec: AgentSpec, engine: EngineSpec, transcript: Transcript) -> Conversation:
        """An idle engine of this agent if it still runs, or a new one."""
        for place, (owner, conversation) in enumerate(self._idle):
            if owner == agent:
                del self._idle[place]
                try:
                    conversation.process.lines()
                except AgentFault:
                    conversation.close()
                    break
                return conversation
        admit(spec)
        return Conversation(engine, self._variant, transcript)

    def act(self, views: Views) -> Ints:
        answers: Ints = np.full(len(views), PENDING, np.int64)
        for row, slot in enumerate(views.slots.tolist()):
            views.asking(row)
            try:
                answers[row] = self._answer(self._seats[slot].conversation, views, row)
            except AgentFault as fault:
                if fault.kind is not EndingKind.ILLEGAL_ACTION:
                    self._drop(slot)
                raise
        return answers

    def _answer(self, conversation: Conversation, views: Views, row: int) -> int:
        if not conversation.thinking:
            conversation.ask(_position(views, row).usi(), int(views.seats[row]), views.clock(row))
        word = conversation.answer()
        if word is None:
            return PENDING
        if word == "resign":
            return RESIGN
        if word == "win":  # the rules end a match as soon as a declaration is possible
            text = "declared a win with 'bestmove win', but the rules of this match do not allow it here"
            raise conversation.process.fault(EndingKind.ILLEGAL_ACTION, text)
        try:
            return _position(views, row).action(word)
        except BadValue as error:
            raise conversation.process.fault(EndingKind.ILLEGAL_ACTION, f"answered {word!r}: {error}") from None

    def end(self, slots: Indices, results: Sequence[MatchResult] | None) -> None:
        seats = [self._seats.pop(slot, None) for slot in slots.tolist()]
        for place, seat in enumerate(seats):
            if seat is None:
                continue
            if seat.conversation.thinking:
                seat.conversation.close()
                continue
            try:
                if results is not None:
                    seat.conversation.game_over(_gameover_word(results[place], int(slots[place])))
            except AgentFault:  # the match is over: the failure shows in the next one
                seat.conversation.close()
                continue
            seat.transcript.close()
            if repeatable(self._agents[seat.agent][0]):
                seat.conversation.close(politely=True)
            else:
                self._idle.append((seat.agent, seat.conversation))
        while len(self._idle) > SEATS:
            self._idle.pop(0)[1].close(politely=True)

    def close(self) -> None:
        for slot in list(self._seats):
            self._drop(slot)
        for _, conversation in self._idle:
            conversation.close(politely=True)
        self._idle.clear()

    def _drop(self, slot: int) -> None:
        seat = self._seats.pop(slot, None)
        if seat is not None:
            seat.conversation.close()


def _position(views: Views, row: int) -> UsiPosition:
    return cast(UsiPosition, views.position(row))


def _gameover_word(result: MatchResult, slot: int) -> str:
    """The argument of `gameover` for a slot."""
    rank = result.ranks[slot % len(result.ranks)]
    return "draw" if len(set(result.ranks)) == 1 else "win" if rank == 1 else "lose"


def _plays(game: Game) -> bool:
    return isinstance(game, UsiGame)


def _samples(game: Game) -> list[AgentSpec]:
    """None: Ringside ships no engines."""
    return []


KIND = AgentKind(
    name=NAME,
    version=VERSION,
    pilot=UsiPilot,
    plays=_plays,
    samples=_samples,
    repeatable=repeatable,
    timed=timed,
    patience=PATIENCE,
    thinking=math.inf,  # a conversation has a limit of its own
    admit=admit,
    describe=describe,
)
