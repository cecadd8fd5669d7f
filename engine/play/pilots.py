"""The pilots of a group of lanes, and the agents that they have loaded."""

from __future__ import annotations

import logging
import signal
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np

from engine.errors import BadSpec
from engine.game import AgentFault, AgentKind, Game, Indices, LivePilot, NoAction, Pilot, Policy, Views, check_match
from engine.play.by_players import MOST, ByPlayers
from engine.play.match import SEED_LIMIT, AgentSpec, EndingKind, Limits, MatchSpec
from engine.registry import kind_of

log = logging.getLogger("ringside")
# What an agent's code may raise: sys.exit() is a failure too. Where SIGINT is ignored, as in a worker, a
# KeyboardInterrupt is raised by the agent itself.
AGENT_ERRORS: tuple[type[BaseException], ...] = (Exception, SystemExit)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    AGENT_ERRORS += (KeyboardInterrupt,)
REASON_LENGTH = 500  # characters of an agent's error in the reason of an ending
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
            known = self.agents[player.id] = (player, self.pilot.load(player))
        return known[1]

    def act(self, slot: int, action: int) -> None:
        """Pass on the action of a human; ignored by other kinds."""
        if self.kind.live:
            cast(LivePilot, self.pilot).on_action(slot, action)


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

    def __init__(self, game: Game, slots: int, humans: bool = False) -> None:
        """`humans`: whether the match is live, so that humans can play."""
        self._game, self._slots, self._humans = game, slots, humans
        self._pilots: dict[str, LoadedPilot] = {}
        self._count = 0
        self._checked: dict[str, AgentSpec] = {}  # by id; within a run an id stands for one agent
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
        for player in spec.players:
            known = self._checked.get(player.id)
            if known is None:
                kind = kind_of(player)
                if not kind.plays(self._game):
                    raise BadSpec(
                        f"match {spec.id!r}: {player.id!r}, of kind {player.kind!r}, cannot play {spec.game.name}"
                    )
                if kind.live and not self._humans:
                    raise BadSpec(
                        f"match {spec.id!r}: {player.id!r} is a human player, so it must be played "
                        "live: it cannot be played in a batch"
                    )
                if kind.admit is not None:
                    kind.admit(player)
                self.repeatable[player.id] = kind.repeats(player)
                self._checked[player.id] = player
            elif known is not player and known != player:
                raise BadSpec(f"match {spec.id!r}: two different agents have the id {player.id!r}")

    def has_checked(self, players: tuple[AgentSpec, ...]) -> bool:
        """Whether `check` was called for all of them in this run."""
        return all([player.id in self._checked for player in players])  # noqa: C419 - a list is much faster here

    def pilot_of(self, player: AgentSpec) -> LoadedPilot:
        """The pilot for an agent. Its constructor is code of the agent and may fail."""
        loaded = self._pilots.get(player.kind)
        if loaded is None:
            kind = kind_of(player)
            rows = np.zeros((5, self._slots), np.uint32)
            pilot = kind.pilot(self._game, self._slots)
            loaded = self._pilots[player.kind] = LoadedPilot(self._count, kind, pilot, rows, hasattr(pilot, "act_row"))
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
    ) -> tuple[Seating, list[tuple[int, BaseException]]] | None:
        """Load agents. Returns the pilot of each seat and the errors by seat; None if the pilots have no room now.

        `before_seat` is called before code of each seat's agent runs.
        """
        pilots: list[LoadedPilot | BaseException] = []
        for seat, player in enumerate(spec.players):
            before_seat(seat)
            try:
                pilots.append(self.pilot_of(player))
            except AGENT_ERRORS as error:  # an error in an agent's code is that agent's failure
                pilots.append(error)
        if not has_room(pilots, used, by_slot):
            return None
        seating: Seating = []
        failures: list[tuple[int, BaseException]] = []
        for seat, (player, loaded) in enumerate(zip(spec.players, pilots, strict=True)):
            before_seat(seat)
            try:
                if isinstance(loaded, BaseException):
                    raise loaded
                entry = (loaded, loaded.number(player))
                seating.append(entry)
                if (
                    loaded.pilot.capacity is None and self._checked.get(player.id) is player
                ):  # not for each copy of the spec
                    self._seats[id(player)] = (player, entry)
            except AGENT_ERRORS as error:  # as above
                seating.append(None)
                failures.append((seat, error))
        return seating, failures

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
        except AGENT_ERRORS:  # its matches have ended, so this is only logged
            log.exception("the pilot of %s failed in close()", loaded.kind.name)

    def _forget_seats(self) -> None:
        self._matches.clear()
        self._seats.clear()
        self._seatings.clear()

    def new_run(self, idle: bool) -> list[LoadedPilot]:
        """Forget which agents the ids stand for. Returns the pilots that were closed."""
        self._checked.clear()
        self._forget_seats()
        closed = [loaded for loaded in self if idle and len(loaded.agents) > LOADED_AGENTS]
        for loaded in closed:
            self.close(loaded)
        return closed


def describe_error(error: BaseException) -> str:
    """An error of an agent's code in one line, with its place. Its `__str__` is code of the agent and may fail too."""
    try:
        text = str(error)
    except AGENT_ERRORS as worse:
        text = f"(no text: its __str__ raised {type(worse).__name__})"
    if isinstance(error, MemoryError):
        text = text or "out of memory"
    ours = isinstance(error, NoAction | AgentFault)  # raised by the engine: the place does not help
    frames = traceback.extract_tb(error.__traceback__) if not ours else []
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    name = "" if ours else f"{type(error).__name__}: "
    return f"{name}{text[:REASON_LENGTH]}{'...' if len(text) > REASON_LENGTH else ''}{place}"


def ending_of_error(error: BaseException, usual: EndingKind) -> EndingKind:
    """The kind of ending for this error; `usual` is the kind for other errors of the same call."""
    if isinstance(error, AgentFault):
        return error.kind
    if usual is EndingKind.EXCEPTION and isinstance(error, MemoryError | NoAction):
        return EndingKind.MEMORY if isinstance(error, MemoryError) else EndingKind.PROTOCOL
    return usual


def describe_illegal(answer: int, actions: int) -> str:
    """The reason of an ending by an answer that is not a legal action."""
    if 0 <= answer < actions:
        return f"answered {answer}, which was not legal"
    return f"answered {answer if abs(answer) < 2**62 else 'a number that is too large'}; actions are 0 to {actions - 1}"


def has_room(pilots: list[LoadedPilot | BaseException], used: dict[str, int], by_slot: Indices) -> bool:
    """Whether the pilots can hold this match too.

    `used`: slots in use by kind, filled here. `by_slot`: the pilot of each slot.
    """
    limited = [loaded for loaded in pilots if isinstance(loaded, LoadedPilot) and loaded.pilot.capacity is not None]
    for loaded in limited:
        held = used.setdefault(loaded.kind.name, int(np.count_nonzero(by_slot == loaded.index)))
        if held + limited.count(loaded) > (loaded.pilot.capacity or 0):
            return False
    for loaded in limited:
        used[loaded.kind.name] += 1
    return True
