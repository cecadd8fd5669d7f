"""The vocabulary: games, boards in lanes, and those who play on them.

A game is not one position but many boards at once. One board is a *lane*; one seat on one lane is a *slot*, numbered
`lane * seats + seat`. Watching, playing thousands and training all use these boards, these players and these rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.errors import BadSpec
from engine.play.match import (SEED_LIMIT, AgentSpec, Clock, Ending, EndingKind, GameSpec, MatchResult, MatchSpec, TimeLeft)
from engine.scene import Scene

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Indices = NDArray[np.uint32]  # of lanes, seats, slots
Seeds = NDArray[np.uint64]
Observations = NDArray[np.float32]

PENDING = -1  # "I am still thinking": the lane waits, the others go on
RESIGN = -2
BROKEN = -5  # a row function cannot answer: the match is played again alone, where `Pilot.act` raises the reason
Member = TypeVar("Member", covariant=True)
LONGEST = 1e6  # seconds that a clock may give: eleven days


class NoAction(TypeError):  # noqa: N818 - reads as what it is
    """What an agent answered is no action at all."""


class AgentFault(Exception):  # noqa: N818
    """A pilot says of one of its agents how it failed: the kind of ending, and what there is to tell."""

    def __init__(self, kind: EndingKind, text: str) -> None:
        super().__init__(text)
        self.kind = kind


@dataclass(frozen=True)
class GameInfo:
    """What is true of every board of a game."""

    title: str
    seats: int  # 1 to 10
    actions: int  # they are numbered from 0
    observation: tuple[int, ...]  # shape of what one seat sees, as float32
    bounds: tuple[float, float] | None = None  # between which all of that lies; None: nobody says
    stats: tuple[str, ...] = ()  # names of the statistics kept per seat
    simultaneous: bool = False  # every seat acts at every step
    together: bool = False  # all who are still in the match act at every step; who does not has left it
    masked: bool = False  # some actions are illegal at times
    action_names: tuple[str, ...] = ()
    seat_names: tuple[str, ...] = ()  # what its players call the seats, such as Black and White; none for numbers alone
    pace: float = 2.0  # steps a second that look right to a watcher
    idle: int | None = None  # what somebody does who does nothing; None: the match waits for them
    notations: tuple[str, ...] = ()  # as others write matches down, by file ending; a game with any has NotedBoards
    styles: tuple[str, ...] = ()  # ways to draw it, the usual one first; a game with any has StyledBoards
    lanes: int | None = None  # boards beyond which more at once gain nothing, because each is slow or large


class Game(Protocol):
    """The rules with their options; one instance serves everybody."""

    @property
    def spec(self) -> GameSpec: ...
    @property
    def info(self) -> GameInfo: ...
    def check_start(self, start: str | None) -> None:
        """Raise BadValue unless a match can begin like this."""

    def boards(self, lanes: int) -> Boards: ...


class GameClass(Protocol):
    """What is registered: a class whose instances are Games."""

    name: ClassVar[str]
    version: ClassVar[int]
    Options: ClassVar[type]

    def __call__(self, options: Any, /) -> Game: ...


class Family(Protocol[Member]):
    """Games that are found rather than listed, such as all those of another library."""

    @property
    def name(self) -> str: ...
    def members(self) -> Sequence[str]:
        """The names of its games, without loading any of them."""

    def get(self, member: str) -> Member:
        """A game class whose name is "family:member"; UnknownName or BrokenPlugin where there is none."""


class Painter(Protocol):
    """Makes pictures of scenes for those who know no window."""

    def picture(self, scene: Scene, height: int) -> NDArray[np.uint8]:
        """[rows, columns, red green blue]."""

    def show(self, scene: Scene, title: str, pace: float) -> None:
        """On the screen, at no more than this many scenes a second."""

    def close(self) -> None:
        """Take it off the screen."""


class BoardRows(NamedTuple):
    """Rules as compiled functions of one lane (`engine.kernels.row`); the first argument is `CompiledBoards.arrays`.

    Batch kernels loop over the same functions, so there is one set of rules.
    """

    observe_row: Callable[..., Any]  # (arrays, lane, seat, out)
    apply_row: Callable[..., Any]  # (arrays, lane, actions by seat)
    over_row: Callable[..., Any]  # (arrays, lane) -> as `Boards.over`
    acting_row: Callable[..., Any] | None = None  # (arrays, lane, seat) -> bool; None: every seat acts at every step
    legal_row: Callable[..., Any] | None = None  # (arrays, lane, seat, out); None: every action is always legal
    position_row: Callable[..., Any] | None = None  # (arrays, lane, seat) -> arrays for players that search
    score_row: Callable[..., Any] | None = None  # (arrays, lane, seat) -> as `Boards.scores`; for `engine.play.rollout`


class Boards(Protocol):
    """Matches in progress, one row per lane. Lanes never influence one another."""

    def deal(self, lanes: Indices, seeds: Seeds, starts: Sequence[str | None]) -> None:
        """Begin fresh matches on these lanes."""

    def acting(self) -> Bools:
        """[lanes, seats]: who moves now. Nobody on a lane that is over."""

    def over(self) -> NDArray[np.int8]:
        """[lanes]: 0 running, 1 terminated, 2 truncated, 3 ended with no contest."""

    def observe(self, lanes: Indices, seats: Indices, out: Observations) -> None:
        """What these seats see, a row each."""

    def legal(self, lanes: Indices, seats: Indices, out: Bools) -> None:
        """[rows, actions]: what these seats may do; asked only of games that are `masked`."""

    def apply(self, lanes: Indices, actions: Ints) -> None:
        """Move these lanes. `actions` is [all lanes, seats]; only acting seats of these lanes are read."""

    def scores(self) -> Floats:
        """[lanes, seats]: running; a reward is its difference."""

    def stats(self, lanes: Indices) -> Floats:
        """[rows, seats, len(info.stats)]."""

    def copy(self, source: int, target: int) -> None:
        """Make one lane the same as another: how a replay keeps its key frames."""

    def position(self, lane: int, seat: int) -> Position | None:
        """For agents that search; None where a seat must not know everything."""

    def scene(self, lane: int) -> Scene:
        """What a watcher sees."""


class CompiledBoards(Boards, Protocol):
    """Boards that may be marched: played for many steps in one compiled call (`engine.play.march`)."""

    rows: ClassVar[BoardRows]

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What the row functions work on. Its numba types are the same for all boards of the game."""


class StyledBoards(Boards, Protocol):
    """Boards that can be drawn in several ways: a matter of looking, so it is no option of the rules."""

    def scene(self, lane: int, style: str = ...) -> Scene:
        """What a watcher sees who asked for this one of `info.styles`."""


class NamedPosition(Protocol):
    """A position, of a game with too many actions to name them all, in which people have a name for each legal one."""

    def name(self, action: int) -> str: ...


class ReadingPosition(NamedPosition, Protocol):
    """A position that knows why nothing in it is called what a person has typed."""

    def mistake(self, typed: str) -> str:
        """The end of a sentence that begins with it: "is not legal here"."""


class NotedBoards(Boards, Protocol):
    """Boards whose matches can be written down as other programs read them."""

    def written(self, lane: int, notation: str, names: Sequence[str], ending: Ending) -> str:
        """The match so far in one of `info.notations`."""


class Position(Protocol):
    """A position to search from: immutable, and detached from the boards."""

    @property
    def start(self) -> str: ...
    @property
    def moves(self) -> tuple[int, ...]: ...
    def legal(self) -> Ints: ...
    def play(self, action: int) -> Position: ...


class Views:
    """The rows that act now. Arrays are read-only and valid during the call only; `obs` is computed when asked for."""

    __slots__ = ("_boards", "_clocks", "_legal", "_obs", "_out", "agents", "lanes", "plies", "seats", "slots", "turn")

    def __init__(
        self,
        boards: Boards,
        rows: Indices,
        out: Observations,
        legal: Bools | None,
        turn: memoryview | None = None,
        clocks: Callable[[int], TimeLeft | None] = lambda lane: None,
    ) -> None:
        self.slots: Indices = rows[0]
        self.lanes: Indices = rows[1]
        self.seats: Indices = rows[2]
        self.agents: Indices = rows[3]  # what `Pilot.load` returned
        self.plies: Indices = rows[4]  # steps played on that lane
        self.turn = memoryview(bytearray(8)).cast("Q") if turn is None else turn  # see `asking`
        self._boards, self._clocks = boards, clocks
        self._out = out
        self._obs: Observations | None = None
        self._legal = legal

    def __len__(self) -> int:
        return len(self.slots)

    def asking(self, row: int) -> None:
        """A pilot that goes row by row says which one: if that one hangs or crashes, it is known."""
        self.turn[0] = row + 1

    @property
    def obs(self) -> Observations:
        if self._obs is None:
            self._boards.observe(self.lanes, self.seats, self._out)
            self._obs = self._out
        return self._obs

    @property
    def legal(self) -> Bools | None:
        """[rows, actions], or None when everything is legal."""
        return self._legal

    def position(self, row: int) -> Position | None:
        return self._boards.position(int(self.lanes[row]), int(self.seats[row]))

    def clock(self, row: int) -> TimeLeft | None:
        """What is left to everybody in this row's match; None where nobody counts."""
        return self._clocks(int(self.lanes[row]))


class Pilot(Protocol):
    """Plays all agents of one kind on one group of lanes, in one call. All state is per slot."""

    @property
    def capacity(self) -> int | None:
        """Slots it can hold at once; None for any number."""

    def load(self, agent: AgentSpec) -> int:
        """Make an agent ready; the number by which `begin` and `Views.agents` name it."""

    def begin(self, slots: Indices, agents: Indices, seeds: Seeds) -> None:
        """New matches: forget what these slots held."""

    def act(self, views: Views) -> Ints:
        """An action, PENDING or RESIGN for each row. A row's answer must not depend on the other rows."""

    def end(self, slots: Indices, results: Sequence[MatchResult] | None) -> None:
        """These matches are over; None when they were broken off and will be played again."""

    def close(self) -> None:
        """Give back processes, files and memory."""


class CompiledPilot(Pilot, Protocol):
    """A pilot that may be marched; its `act` must answer as `act_row` does.

    `act_row(arrays, slot, agent, ply, obs, legal, position)` returns an action, RESIGN or BROKEN; it must not allocate.
    `legal` is all True where the game is not masked; `position` is what `BoardRows.position_row` returns, else ().
    """

    act_row: ClassVar[Callable[..., Any]]
    observes: ClassVar[bool]  # whether `act_row` reads `obs`; if not, observations are not computed for it

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What `act_row` works on, asked for before each march. Its numba types never change."""


class CompiledPolicy(CompiledPilot, Protocol):
    """A compiled pilot of agents that learn: `engine.play.rollout` records what they see and do.

    `policy_row(arrays, slot, agent, ply, obs, legal, position, out)` returns what `act_row` does, and writes the
    log-probability of the action and the value of the observation to out[0] and out[1]. `value_row(arrays, agent, obs)`
    returns the value alone. Both keep no state from one step to the next.
    """

    policy_row: ClassVar[Callable[..., Any]]
    value_row: ClassVar[Callable[..., Any]]

    def replace(self, number: int, agent: AgentSpec) -> None:
        """New weights for the agent that `load` gave this number; running matches go on with them."""


class LivePilot(Pilot, Protocol):
    """A pilot of a `live` kind. It must never wait for its person: it says PENDING, or what they do now."""

    def hear(self, slot: int, action: int) -> None:
        """What the person at this slot does: an action, or RESIGN. It may come at any time between two calls."""


@dataclass(frozen=True)
class AgentKind:
    """What is registered for a kind of agent."""

    name: str
    version: int  # raised when the same payload would play differently
    pilot: Callable[[Game, int], Pilot]  # for this game, and slots 0 to n-1
    plays: Callable[[Game], bool]
    samples: Callable[[Game], Sequence[AgentSpec]]  # ready-made agents of this kind
    repeatable: bool | Callable[[AgentSpec], bool] = True  # the same match twice gives the same record
    timed: Callable[[AgentSpec], bool] = lambda agent: False  # it thinks by real time: nobody else plays beside it
    live: bool = False  # a person plays it: its matches are watched, and its pilot is a LivePilot
    patience: float = 0.0  # seconds that `Pilot.begin` may take; 0 for the limit of every other call
    admit: Callable[[AgentSpec], None] | None = None  # a program from outside: raises unless a person lets it run here

    def repeats(self, agent: AgentSpec) -> bool:
        """Whether this one plays the same match in the same way again."""
        return self.repeatable(agent) if callable(self.repeatable) else self.repeatable


def check_match(spec: MatchSpec, game: Game) -> None:
    """Raise an error that names what is wrong, unless this match can be dealt; the players are not looked at."""
    what, steps = f"match {spec.id!r}", spec.limits.steps
    if len(spec.players) != game.info.seats:
        other = f"; seats={len(spec.players)} is an option of it" if "seats" in dict(spec.game.options) else ""
        given = f"{len(spec.players)} players are given{other}"
        raise BadSpec(f"{what}: {spec.game.name} has {game.info.seats} seats, {given}")
    if type(spec.seed) is not int or not 0 <= spec.seed < SEED_LIMIT:
        raise BadSpec(f"{what}: seed = {spec.seed}: must be a whole number from 0 to 2**64 - 1")
    if steps is not None and (type(steps) is not int or not 0 < steps < 2**32):
        raise BadSpec(f"{what}: limits.steps = {steps}: must be a whole number from 1 to 2**32 - 1, or None")
    clock = spec.limits.clock
    if clock is not None:
        if not isinstance(clock, Clock):
            raise BadSpec(f"{what}: limits.clock = {clock!r}: must be a Clock(base, increment, move), or None")
        for name, seconds in (("base", clock.base), ("increment", clock.increment), ("move", clock.move)):
            if type(seconds) not in (int, float) or not 0 <= seconds <= LONGEST:
                raise BadSpec(f"{what}: limits.clock.{name} = {seconds!r}: must be from 0 to {LONGEST:.0f} seconds")
        if clock.base + clock.move <= 0:
            raise BadSpec(f"{what}: limits.clock gives nobody any time: base or move must be above 0")
    game.check_start(spec.start)
