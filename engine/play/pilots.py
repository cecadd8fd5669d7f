"""The pilots of a group of lanes, and the agents that they have loaded."""

from __future__ import annotations

import logging
import operator
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import NamedTuple, cast

import numpy as np

from engine.errors import BadSpec, BrokenPlugin
from engine.foreign_code import INTERRUPTS
from engine.game import AgentKind, Game, Indices, LivePilot, NoAction, Pilot, Policy, Views, check_match
from engine.play.agent_errors import Fault, describe_error, fault_of
from engine.play.by_players import MOST, ByPlayers
from engine.play.heartbeat import PilotCall
from engine.play.match import SEED_LIMIT, AgentSpec, EndingKind, Limits, MatchSpec
from engine.play.process_state import ProcessState
from engine.registry import KINDS, ask_kind, kind_of, plays

log = logging.getLogger("ringside")
LOADED_AGENTS = 1024  # a pilot with more is closed at the next run: trainers create new agents all the time


class SharedCall(NamedTuple):
    """What `Pilot.act` is called with, and the same rows once more: a pilot may change the shapes of what it gets."""

    views: Views
    slots: Indices
    lanes: Indices
    seats: Indices
    plies: Indices


@dataclass(eq=False)
class LoadedPilot:
    """A pilot and its loaded agents."""

    index: int
    kind: AgentKind
    pilot: Pilot
    rows: Indices  # of the current call: slot, lane, seat, agent, ply
    compiled: bool = False  # whether the pilot has a row function
    capacity: int | None = None  # as the pilot says when it is created
    foreign: ProcessState | None = None  # which its code may change, if it is not Ringside's own
    count: int = 0  # of rows
    call: SharedCall | None = None  # the last one, if the next one has the same rows
    agents: dict[str, tuple[AgentSpec, int]] = field(default_factory=dict)  # by id, with the pilot's number for it

    def set_count(self, count: int) -> None:
        """So many rows have been written for the next call."""
        self.count, self.call = count, None

    def add_ply(self) -> None:
        """The next call has the same rows, one ply later."""
        plies = self.rows[4] if self.call is None else self.call.plies
        plies += 1

    def number(self, player: AgentSpec) -> int:
        """The pilot's number for an agent, which is loaded if it is new."""
        known = self.agents.get(player.id)
        if known is None or (known[0] is not player and known[0] != player):
            try:
                number = operator.index(self.pilot.load(player))
            finally:
                self.settle()
            if not 0 <= number < 2**32:
                raise NoAction(f"load() must return a number from 0 to 2**32 - 1, not {number}")
            known = self.agents[player.id] = (player, number)
        return known[1]

    def settle(self) -> None:
        """After a call whose numbers nobody uses: restore the state of the process."""
        if self.foreign is not None:
            self.foreign.restore()
            self.foreign.check_connection()

    def act(self, slot: int, action: int) -> None:
        """Pass on the action of a human; ignored by other kinds."""
        if self.kind.live:
            cast(LivePilot, self.pilot).on_action(slot, action)


# Marks a call of this seat's agent as long as the context lasts
Mark = Callable[[PilotCall, MatchSpec, int], AbstractContextManager[None]]
# By seat: the pilot and its number for the agent; None if the agent could not be loaded.
Seating = list[tuple[LoadedPilot, int] | None]


class CheckedMatches:
    """The players and limits of checked matches of one game. Most matches have the same, and comparing them takes far
    less time than checking them."""

    def __init__(self) -> None:
        self._players: dict[int, AgentSpec] = {}  # by id(); it keeps them, so id() stays unique
        self._seated = ByPlayers(self._all_checked)
        self._seats = 0
        self._limits: Limits | None = None

    def cover(self, spec: MatchSpec) -> bool:
        """Whether a match differs from checked ones only in its id, its seed and the seats of its players."""
        return (
            spec.limits is self._limits
            and spec.start is None
            and type(spec.seed) is int
            and 0 <= spec.seed < SEED_LIMIT
            and self._seated[spec.players]
        )

    def _all_checked(self, players: tuple[AgentSpec, ...]) -> bool:
        return len(players) == self._seats and all([id(player) in self._players for player in players])  # noqa: C419

    def add(self, spec: MatchSpec, players: Iterable[AgentSpec]) -> None:
        """Add a checked match, and those of its players that their ids stand for."""
        self._seats = len(spec.players)
        self._players.update({id(player): player for player in players})
        self._seated.clear()  # some answers may be different now
        if spec.start is None and spec.limits.clock is None:
            self._limits = spec.limits

    def clear(self) -> None:
        self._players.clear()
        self._seated.clear()


class PilotPool:
    """The pilots by kind; each is created when the first agent of its kind plays."""

    def __init__(
        self,
        game: Game,
        slots: int,
        humans: bool = False,
        mark: Mark = lambda call, spec, seat: nullcontext(),
        state: ProcessState | None = None,
    ) -> None:
        """`humans`: whether the match is live, so that humans can play. `mark`: marks the calls of `check`. `state`:
        of the process in which the agents play."""
        self._game, self._slots, self._humans, self._mark = game, slots, humans, mark
        self._state = state or ProcessState()
        self._pilots: dict[str, LoadedPilot] = {}
        self._count = 0
        self._checked: dict[str, AgentSpec] = {}  # by id; within a run an id stands for one agent
        self._broken: dict[str, str] = {}  # by id, why agents cannot be loaded: their kind fails
        self.repeatable: dict[str, bool] = {}  # by agent
        self._matches = CheckedMatches()
        self._seats: dict[int, tuple[AgentSpec, tuple[LoadedPilot, int]]] = {}  # by id() of the agent
        self._seatings: dict[int, tuple[tuple[AgentSpec, ...], Seating]] = {}  # by id() of the players

    def __iter__(self) -> Iterator[LoadedPilot]:
        return iter(tuple(self._pilots.values()))

    def check(self, spec: MatchSpec) -> None:
        """Raise an error that says why, if this match cannot be played."""
        if not self._matches.cover(spec):
            check_match(spec, self._game)
            self._check_players(spec)
            self._matches.add(spec, [one for one in spec.players if self._checked[one.id] is one])

    def covers(self, spec: MatchSpec) -> bool:
        """Whether a match needs no check, because others like it were checked in this run."""
        return self._matches.cover(spec)

    def _check_players(self, spec: MatchSpec) -> None:
        for seat, player in enumerate(spec.players):
            known = self._checked.get(player.id)
            if known is None:
                self._check_player(spec, seat, player)
            elif known is not player and known != player:
                raise BadSpec(f"match {spec.id!r}: two different agents have the id {player.id!r}")

    def _check_player(self, spec: MatchSpec, seat: int, player: AgentSpec) -> None:
        """Check an agent that is new in this run. If its kind fails, its matches end as `cannot_start`."""
        self.repeatable[player.id] = True
        try:
            with self._mark(PilotCall.IMPORT, spec, seat), self._state.restored():
                kind = kind_of(player)
            with self._mark(PilotCall.LOAD, spec, seat), self._state.restored():
                self._ask_kind(kind, spec, player)
        except BrokenPlugin as error:
            self._broken[player.id] = str(error)
        self._checked[player.id] = player

    def _ask_kind(self, kind: AgentKind, spec: MatchSpec, player: AgentSpec) -> None:
        """Raise BadSpec if an agent cannot play this match, and BrokenPlugin if the code of its kind fails."""
        if not plays(player, self._game):
            raise BadSpec(f"match {spec.id!r}: {player.id!r}, of kind {player.kind!r}, cannot play {spec.game.name}")
        if kind.live and not self._humans:
            raise BadSpec(
                f"match {spec.id!r}: {player.id!r} is a human player, so it must be played "
                "live: it cannot be played in a batch"
            )
        ask_kind(kind, player, "check", lambda kind: kind.admit and kind.admit(player))
        self.repeatable[player.id] = ask_kind(kind, player, "check", lambda kind: bool(kind.repeats(player)))

    def has_checked(self, players: tuple[AgentSpec, ...]) -> bool:
        """Whether `check` was called for all of them in this run."""
        return all([player.id in self._checked for player in players])  # noqa: C419 - a list is much faster here

    def pilot_of(self, player: AgentSpec) -> LoadedPilot:
        """The pilot for an agent. Its constructor is code of the agent and may fail."""
        if player.id in self._broken:
            raise BrokenPlugin(self._broken[player.id])
        loaded = self._pilots.get(player.kind)
        if loaded is None:
            kind = kind_of(player)
            rows = np.zeros((5, self._slots), np.uint32)
            with self._state.restored():
                pilot = kind.pilot(self._game, self._slots)
                capacity = None if pilot.capacity is None else operator.index(pilot.capacity)
            state = None if kind.name in KINDS.own() else self._state
            loaded = LoadedPilot(self._count, kind, pilot, rows, hasattr(pilot, "act_row"), capacity, state)
            self._pilots[player.kind] = loaded
            self._count += 1
        return loaded

    def find_seating(self, players: tuple[AgentSpec, ...]) -> Seating | None:
        """The pilot of each seat, if all agents are loaded and their pilots have no capacity limit; else None. It is
        the same object for the same players."""
        seated = self._seatings.get(id(players))
        if seated is not None:
            return seated[1]
        found: Seating = []
        for player in players:
            known = self._seats.get(id(player))
            if known is None or known[0] is not player:
                return None
            found.append(known[1])
        if len(self._seatings) >= MOST:
            self._seatings.clear()
        self._seatings[id(players)] = players, found
        return found

    def load_seating(
        self, spec: MatchSpec, used: dict[str, int], by_slot: Indices, before_seat: Callable[[int], None]
    ) -> tuple[Seating, list[tuple[int, Fault]]] | None:
        """Load agents. Returns the pilot of each seat and the faults by seat; None if the pilots have no room now.

        `before_seat` is called before code of each seat's agent runs.
        """
        pilots: list[LoadedPilot | Fault] = []
        for seat, player in enumerate(spec.players):
            before_seat(seat)
            try:
                pilots.append(self.pilot_of(player))
            except INTERRUPTS:
                raise
            except BaseException as error:  # an error in an agent's code is that agent's failure
                pilots.append(fault_of(error, EndingKind.CANNOT_START))
        if not has_room(pilots, used, by_slot):
            return None
        seating: Seating = []
        failures: list[tuple[int, Fault]] = []
        for seat, (player, loaded) in enumerate(zip(spec.players, pilots, strict=True)):
            before_seat(seat)
            found = loaded if isinstance(loaded, Fault) else self._load(player, loaded)
            seating.append(None if isinstance(found, Fault) else found)
            if isinstance(found, Fault):
                failures.append((seat, found))
                self._state.restore()  # describing an error runs code too
        return seating, failures

    def _load(self, player: AgentSpec, loaded: LoadedPilot) -> tuple[LoadedPilot, int] | Fault:
        """Load an agent: its pilot and number, or why that failed."""
        try:
            entry = (loaded, loaded.number(player))
        except INTERRUPTS:
            raise
        except BaseException as error:  # as above
            return fault_of(error, EndingKind.CANNOT_START)
        if loaded.capacity is None and self._checked.get(player.id) is player:  # not for each copy of the spec
            self._seats[id(player)] = (player, entry)
        return entry

    def has_loaded(self, player: AgentSpec) -> bool:
        loaded = self._pilots.get(player.kind)
        return loaded is not None and player.id in loaded.agents

    def replace(self, player: AgentSpec) -> None:
        """Replace the weights of a loaded agent; from now on its id stands for this spec."""
        loaded = self._pilots.get(player.kind)
        known = loaded.agents.get(player.id) if loaded is not None else None
        if loaded is None or known is None or not hasattr(loaded.pilot, "decide"):
            raise BadSpec(
                f"{player.id!r}, of kind {player.kind!r}, cannot be replaced: no policy of that name is loaded"
            )
        cast(Policy, loaded.pilot).replace(known[1], player)
        loaded.agents[player.id] = (player, known[1])
        self._checked[player.id] = player
        self._forget_seats()

    def close(self, loaded: LoadedPilot) -> None:
        del self._pilots[loaded.kind.name]
        self._forget_seats()
        try:
            loaded.pilot.close()
        except INTERRUPTS:
            raise
        except BaseException as error:  # its matches have ended, so this is only logged
            log.error("the pilot of %s failed in close(): %s", loaded.kind.name, describe_error(error))
        finally:
            loaded.settle()

    def _forget_seats(self) -> None:
        self._matches.clear()
        self._seats.clear()
        self._seatings.clear()

    def new_run(self, idle: bool) -> list[LoadedPilot]:
        """Forget which agents the ids stand for. Returns the pilots that were closed."""
        self._checked.clear()
        self._broken.clear()
        self._forget_seats()
        closed = [loaded for loaded in self if idle and len(loaded.agents) > LOADED_AGENTS]
        for loaded in closed:
            self.close(loaded)
        return closed


def has_room(pilots: list[LoadedPilot | Fault], used: dict[str, int], by_slot: Indices) -> bool:
    """Whether the pilots can hold this match too.

    `used`: slots in use by kind, filled here. `by_slot`: the pilot of each slot.
    """
    limited = [loaded for loaded in pilots if isinstance(loaded, LoadedPilot) and loaded.capacity is not None]
    for loaded in limited:
        held = used.setdefault(loaded.kind.name, int(np.count_nonzero(by_slot == loaded.index)))
        if held + limited.count(loaded) > (loaded.capacity or 0):
            return False
    for loaded in limited:
        used[loaded.kind.name] += 1
    return True
