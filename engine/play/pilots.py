"""The pilots at work on a group of lanes, and the agents they have loaded."""

from __future__ import annotations

import logging
import signal
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import numpy as np

from engine.errors import BadSpec
from engine.game import AgentFault, AgentKind, CompiledPolicy, Game, Indices, LivePilot, NoAction, Pilot
from engine.play.match import AgentSpec, EndingKind, MatchSpec
from engine.registry import kind_of

log = logging.getLogger("ringside")
# What an agent's code may raise: a bot that calls sys.exit() has failed too. Where nobody can press Ctrl-C, as in a
# worker, a KeyboardInterrupt is a bot's own.
AGENT_ERRORS: tuple[type[BaseException], ...] = (Exception, SystemExit)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    AGENT_ERRORS += (KeyboardInterrupt,)
REASON = 500  # letters of an agent's error that a record keeps
AGENTS_KEPT = 1024  # a pilot that has loaded more is replaced when there is nothing to do: trainers make new agents


@dataclass(eq=False)
class Crew:
    """One pilot, and what it knows."""

    index: int
    kind: AgentKind
    pilot: Pilot
    rows: Indices  # those it answers for now: slot, lane, seat, agent, ply
    compiled: bool = False  # whether its pilot has a row function
    count: int = 0  # of them
    agents: dict[str, tuple[AgentSpec, int]] = field(default_factory=dict)  # by id, with the pilot's number for it

    def number(self, player: AgentSpec) -> int:
        """The pilot's number for an agent, which is loaded if need be."""
        known = self.agents.get(player.id)
        if known is None or (known[0] is not player and known[0] != player):
            known = self.agents[player.id] = (player, self.pilot.load(player))
        return known[1]

    def hear(self, slot: int, action: int) -> None:
        """What a person does; whoever is none does not listen."""
        if self.kind.live:
            cast(LivePilot, self.pilot).hear(slot, action)


Seating = list[tuple[Crew, int] | None]  # by seat: who plays it, as which agent; None for one that could not be loaded


class Crews:
    """By kind, made when the first agent of that kind sits down."""

    def __init__(self, game: Game, slots: int, people: bool = False) -> None:
        """`people`: whether somebody watches, so that a person can play."""
        self._game, self._slots, self._people = game, slots, people
        self._crews: dict[str, Crew] = {}
        self._made = 0
        self._known: dict[str, AgentSpec] = {}  # by id; within a run one id is one agent
        self.repeatable: dict[str, bool] = {}  # by agent
        self._seats: dict[int, tuple[AgentSpec, tuple[Crew, int]]] = {}  # by id() of the agent

    def __iter__(self) -> Iterator[Crew]:
        return iter(tuple(self._crews.values()))

    def check(self, spec: MatchSpec) -> None:
        """Raise an error unless every player can sit down at this game."""
        for player in spec.players:
            known = self._known.get(player.id)
            if known is None:
                kind = kind_of(player)
                if not kind.plays(self._game):
                    raise BadSpec(
                        f"match {spec.id!r}: {player.id!r}, of kind {player.kind!r}, cannot play {spec.game.name}"
                    )
                if kind.live and not self._people:
                    raise BadSpec(
                        f"match {spec.id!r}: a person plays {player.id!r} in it, so it must be watched: "
                        "it cannot be played in a batch"
                    )
                if kind.admit is not None:
                    kind.admit(player)
                self.repeatable[player.id] = kind.repeats(player)
                self._known[player.id] = player
            elif known is not player and known != player:
                raise BadSpec(f"match {spec.id!r}: two different agents have the id {player.id!r}")

    def knows(self, players: tuple[AgentSpec, ...]) -> bool:
        """Whether `check` has seen all of them in this run."""
        return all([player.id in self._known for player in players])  # noqa: C419 - a list is much faster here

    def of(self, player: AgentSpec) -> Crew:
        """The crew for an agent. Making its pilot is the agent's own code, which may fail."""
        crew = self._crews.get(player.kind)
        if crew is None:
            kind = kind_of(player)
            rows = np.zeros((5, self._slots), np.uint32)
            pilot = kind.pilot(self._game, self._slots)
            crew = self._crews[player.kind] = Crew(self._made, kind, pilot, rows, hasattr(pilot, "act_row"))
            self._made += 1
        return crew

    def seated(self, players: tuple[AgentSpec, ...]) -> Seating | None:
        """Who plays each seat, if all agents are loaded and their pilots hold any number; else None: ask `seat`."""
        found: Seating = []
        for player in players:
            known = self._seats.get(id(player))
            if known is None or known[0] is not player:
                return None
            found.append(known[1])
        return found

    def seat(
        self, spec: MatchSpec, taken: dict[str, int], pilots: Indices, asking: Callable[[int], None]
    ) -> tuple[Seating, list[tuple[int, BaseException]]] | None:
        """Who plays each seat, and what went wrong at which; None when there is no room for this match now.

        `asking` is told whose code is about to run.
        """
        crews: list[Crew | BaseException] = []
        for seat, player in enumerate(spec.players):
            asking(seat)
            try:
                crews.append(self.of(player))
            except AGENT_ERRORS as error:  # whatever an agent's code raises is that agent's failure
                crews.append(error)
        if not room(crews, taken, pilots):
            return None
        seating: Seating = []
        failures: list[tuple[int, BaseException]] = []
        for seat, (player, crew) in enumerate(zip(spec.players, crews, strict=True)):
            asking(seat)
            try:
                if isinstance(crew, BaseException):
                    raise crew
                one = (crew, crew.number(player))
                seating.append(one)
                if crew.pilot.capacity is None and self._known.get(player.id) is player:  # not each copy of it
                    self._seats[id(player)] = (player, one)
            except AGENT_ERRORS as error:  # as above
                seating.append(None)
                failures.append((seat, error))
        return seating, failures

    def replace(self, player: AgentSpec) -> None:
        """New weights for an agent that is loaded; from now on its id stands for this spec."""
        crew = self._crews.get(player.kind)
        known = crew.agents.get(player.id) if crew is not None else None
        if crew is None or known is None or not hasattr(crew.pilot, "policy_row"):
            raise BadSpec(
                f"{player.id!r}, of kind {player.kind!r}, cannot be replaced: no policy of that name is loaded"
            )
        cast(CompiledPolicy, crew.pilot).replace(known[1], player)
        crew.agents[player.id] = (player, known[1])
        self._known[player.id] = player
        self._seats.clear()

    def dismiss(self, crew: Crew) -> None:
        del self._crews[crew.kind.name]
        self._seats.clear()
        try:
            crew.pilot.close()
        except AGENT_ERRORS:  # its matches are accounted for; a pilot that cannot even close is only reported
            log.exception("the pilot of %s failed while it was closed", crew.kind.name)

    def new_run(self, idle: bool) -> list[Crew]:
        """From now on an id may stand for another agent. Returns the crews that were dismissed."""
        self._known.clear()
        self._seats.clear()
        gone = [crew for crew in self if idle and len(crew.agents) > AGENTS_KEPT]
        for crew in gone:
            self.dismiss(crew)
        return gone


def told(error: BaseException) -> str:
    """An error of an agent's code in a line: what, and where. Its text is the agent's own, and may itself fail."""
    try:
        text = str(error)
    except AGENT_ERRORS as worse:
        text = f"(its text cannot be had: {type(worse).__name__})"
    if isinstance(error, MemoryError):
        text = text or "there is no more memory for it"
    ours = isinstance(error, NoAction | AgentFault)  # said by us, and the place is ours
    frames = traceback.extract_tb(error.__traceback__) if not ours else []
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    name = "" if ours else f"{type(error).__name__}: "
    return f"{name}{text[:REASON]}{'...' if len(text) > REASON else ''}{place}"


def blame(error: BaseException, usual: EndingKind) -> EndingKind:
    """How a match ends over this error; `usual` is what the call says that was made."""
    if isinstance(error, AgentFault):
        return error.kind
    if usual is EndingKind.EXCEPTION and isinstance(error, MemoryError | NoAction):
        return EndingKind.MEMORY if isinstance(error, MemoryError) else EndingKind.PROTOCOL
    return usual


def illegal_words(answer: int, actions: int) -> str:
    """What to say of an answer that is no legal action."""
    if 0 <= answer < actions:
        return f"answered {answer}, which was not legal then"
    return f"answered {answer if abs(answer) < 2**62 else 'something else'}; the actions are 0 to {actions - 1}"


def room(crews: list[Crew | BaseException], taken: dict[str, int], pilots: Indices) -> bool:
    """Whether the pilots can hold this match too; `taken` counts what they hold, `pilots` is who plays each slot."""
    limited = [crew for crew in crews if isinstance(crew, Crew) and crew.pilot.capacity is not None]
    for crew in limited:
        used = taken.setdefault(crew.kind.name, int(np.count_nonzero(pilots == crew.index)))
        if used + limited.count(crew) > (crew.pilot.capacity or 0):
            return False
    for crew in limited:
        taken[crew.kind.name] += 1
    return True
