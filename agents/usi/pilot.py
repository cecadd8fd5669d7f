"""USI engines as players: one process for each seat, kept for the next match, asked without waiting for the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, cast, runtime_checkable

import numpy as np

from agents.usi.approvals import admit
from agents.usi.engine_spec import LONGEST_START, NAME, VERSION, Engine, engine_of, repeatable, timed
from agents.usi.protocol import Conversation
from agents.usi.transcript import Transcript
from engine.errors import BadValue
from engine.game import PENDING, RESIGN, AgentFault, AgentKind, Game, Indices, Ints, Position, Seeds, Views
from engine.play.match import AgentSpec, EndingKind, MatchResult

SEATS = 2  # engines in one worker: both of a match
PATIENCE = SEATS * 2 * LONGEST_START + 20.0  # seconds: for each its start and its `isready`, and who makes room


@runtime_checkable
class UsiGame(Protocol):
    """A game whose positions can be told in USI: the positions of its boards are UsiPositions."""

    usi_variant: str  # what engines that know many games call it


class UsiPosition(Position, Protocol):
    def usi(self) -> str:
        """The way here, as the `position` command wants it."""

    def action(self, usi: str) -> int:
        """The action that a move means here; BadValue if it is not legal."""


@dataclass
class _Seat:
    agent: int
    talk: Conversation
    transcript: Transcript


class UsiPilot:
    """Conversations by slot, and those that wait for their next match."""

    capacity = SEATS

    def __init__(self, game: Game, slots: int) -> None:
        self._variant = game.usi_variant if isinstance(game, UsiGame) else ""
        self._agents: list[tuple[AgentSpec, Engine]] = []
        self._seats: dict[int, _Seat] = {}
        self._idle: list[tuple[int, Conversation]] = []  # by agent, the longest unused first

    def load(self, agent: AgentSpec) -> int:
        self._agents.append((agent, engine_of(agent.payload)))
        return len(self._agents) - 1

    def begin(self, slots: Indices, agents: Indices, seeds: Seeds) -> None:
        for slot, agent, seed in zip(slots.tolist(), agents.tolist(), seeds.tolist(), strict=True):
            self._drop(slot)
            spec, engine = self._agents[agent]
            transcript = Transcript(spec.id, seed, engine.line)
            talk = self._take(agent, spec, engine, transcript)
            self._seats[slot] = _Seat(agent, talk, transcript)
            try:
                talk.new_game(transcript)
            except AgentFault as fault:
                self._drop(slot)
                raise AgentFault(EndingKind.CANNOT_START, str(fault)) from None

    def _take(self, agent: int, spec: AgentSpec, engine: Engine, transcript: Transcript) -> Conversation:
        """One that waits, if it is still well, or a new one."""
        for place, (whose, talk) in enumerate(self._idle):
            if whose == agent:
                del self._idle[place]
                try:
                    talk.process.lines()
                except AgentFault:
                    talk.close()
                    break
                return talk
        admit(spec)
        return Conversation(engine, self._variant, transcript)

    def act(self, views: Views) -> Ints:
        answers: Ints = np.full(len(views), PENDING, np.int64)
        for row, slot in enumerate(views.slots.tolist()):
            views.asking(row)
            try:
                answers[row] = self._answer(self._seats[slot].talk, views, row)
            except AgentFault as fault:
                if fault.kind is not EndingKind.ILLEGAL_ACTION:
                    self._drop(slot)
                raise
        return answers

    def _answer(self, talk: Conversation, views: Views, row: int) -> int:
        if not talk.thinking:
            talk.ask(_position(views, row).usi(), int(views.seats[row]), views.clock(row))
        word = talk.answer()
        if word is None:
            return PENDING
        if word == "resign":
            return RESIGN
        if word == "win":  # whoever may declare has won already: the rules see to it at the beginning of a turn
            text = "declared a win by 'bestmove win', which the rules of this match do not give it here"
            raise talk.process.fault(EndingKind.ILLEGAL_ACTION, text)
        try:
            return _position(views, row).action(word)
        except BadValue as error:
            raise talk.process.fault(EndingKind.ILLEGAL_ACTION, f"answered {word!r}: {error}") from None

    def end(self, slots: Indices, results: Sequence[MatchResult] | None) -> None:
        seats = [self._seats.pop(slot, None) for slot in slots.tolist()]
        for place, seat in enumerate(seats):
            if seat is None:
                continue
            if seat.talk.thinking:
                seat.talk.close()
                continue
            try:
                if results is not None:
                    seat.talk.game_over(_word(results[place], int(slots[place])))
            except AgentFault:  # the match is over: it is judged in the next one
                seat.talk.close()
                continue
            seat.transcript.close()
            self._idle.append((seat.agent, seat.talk))
        while len(self._idle) > SEATS:
            self._idle.pop(0)[1].close(politely=True)

    def close(self) -> None:
        for slot in list(self._seats):
            self._drop(slot)
        for _, talk in self._idle:
            talk.close(politely=True)
        self._idle.clear()

    def _drop(self, slot: int) -> None:
        seat = self._seats.pop(slot, None)
        if seat is not None:
            seat.talk.close()


def _position(views: Views, row: int) -> UsiPosition:
    return cast(UsiPosition, views.position(row))


def _word(result: MatchResult, slot: int) -> str:
    """How it ended for a slot, as USI says it."""
    rank = result.ranks[slot % len(result.ranks)]
    return "draw" if len(set(result.ranks)) == 1 else "win" if rank == 1 else "lose"


def _plays(game: Game) -> bool:
    return isinstance(game, UsiGame)


def _samples(game: Game) -> list[AgentSpec]:
    """None: engines are other people's programs."""
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
    admit=admit,
)
