"""The vocabulary of the program: games, boards in lanes, and the pilots that play on them.

A `Game` holds the rules and makes `Boards`, which hold many matches at once. One match in progress is a *lane*. One
player's place in a match is a *seat*. One seat on one lane is a *slot*, numbered `lane * seats + seat`. Live matches,
tournaments and training all use the same boards and pilots.

For readers from reinforcement learning:

    Boards      vectorised environment
    lane        environment index
    deal        reset
    apply       step; a step of a match is also called a ply
    Views       observation batch: the rows (lane, seat) that must act now
    Pilot       batched policy of one agent kind
    AgentSpec   one agent of a kind: its payload holds parameters or weights
    GameSpec    environment spec: name, version and options of a game
    MatchSpec   episode spec: game, players, seed, start and limits
    scores      running return of each seat
    over        1 terminated, 2 truncated
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.diagram import Diagram
from engine.errors import BadSpec
from engine.play.match import (
    SEED_LIMIT,
    AgentSpec,
    Clock,
    Ending,
    EndingKind,
    GameSpec,
    MatchResult,
    MatchSpec,
    TimeLeft,
)
from engine.scene import Scene

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Indices = NDArray[np.uint32]  # of lanes, seats, slots
Seeds = NDArray[np.uint64]
Observations = NDArray[np.float32]

PENDING = -1  # still thinking: this lane waits, the other lanes continue
RESIGN = -2
BROKEN = -5  # a row function cannot answer: the match is replayed alone with `Pilot.act`, which raises the reason
Member = TypeVar("Member", covariant=True)
MAX_CLOCK_SECONDS = 1e6  # eleven days


class NoAction(TypeError):  # noqa: N818
    """An agent answered with something that is not an action."""


class AgentFault(Exception):  # noqa: N818
    """Raised by a pilot when one of its agents failed; `kind` is the ending of the match, the text is the reason."""

    def __init__(self, kind: EndingKind, text: str) -> None:
        super().__init__(text)
        self.kind = kind


@dataclass(frozen=True)
class GameInfo:
    """Properties that all boards of a game share."""

    title: str
    seats: int  # 1 to 10
    actions: int  # number of actions; they are numbered from 0
    observation: tuple[int, ...]  # shape of the observation of one seat (float32)
    bounds: tuple[float, float] | None = None  # least and greatest value in an observation; None: unknown
    stats: tuple[str, ...] = ()  # names of the statistics recorded per seat
    measures: tuple[str, ...] = ()  # names of other values per seat that training may reward, such as material; not
    # recorded; if any, boards are MeasuredBoards
    simultaneous: bool = False  # every seat acts at every step
    together: bool = False  # all seats still in the match act at every step; a seat that does not act has left
    masked: bool = False  # some actions are illegal in some positions
    action_names: tuple[str, ...] = ()
    seat_names: tuple[str, ...] = ()  # such as Black and White; if empty, seats are shown by number
    pace: float = 2.0  # steps per second at which a match is shown
    idle: int | None = None  # action of a person who presses nothing; None: the match waits
    notations: tuple[str, ...] = ()  # file extensions of export formats; if any, boards are NotedBoards
    styles: tuple[str, ...] = ()  # drawing styles, default first; if any, boards are StyledBoards
    lanes: int | None = None  # most lanes worth running at once, if each board is slow or large


class Game(Protocol):
    """The rules with their options. Immutable, so one instance can be shared."""

    @property
    def spec(self) -> GameSpec: ...
    @property
    def info(self) -> GameInfo: ...
    def check_start(self, start: str | None) -> None:
        """Raise BadValue unless a match can begin from this start."""

    def boards(self, lanes: int) -> Boards:
        """New boards; every lane must be dealt before use."""


class GameClass(Protocol):
    """A class whose instances are Games: the value of a `ringside.games` entry point."""

    name: ClassVar[str]
    version: ClassVar[int]
    Options: ClassVar[type]

    def __call__(self, options: Any, /) -> Game: ...


class Family(Protocol[Member]):
    """Games discovered at run time, such as all environments of another library."""

    @property
    def name(self) -> str: ...
    def members(self) -> Sequence[str]:
        """The names of its games; loads none of them."""

    def get(self, member: str) -> Member:
        """The game class named "family:member". Raises UnknownName or BrokenPlugin if there is none."""


class Painter(Protocol):
    """Draws scenes for code without a GUI, such as exported PettingZoo environments."""

    def picture(self, scene: Scene, height: int) -> NDArray[np.uint8]:
        """Pixels as [rows, columns, RGB]."""

    def show(self, scene: Scene, title: str, pace: float) -> None:
        """Show the scene in a window, at most `pace` scenes per second."""

    def close(self) -> None:
        """Close the window."""


class BoardRows(NamedTuple):
    """Rules as compiled functions of one lane (`engine.kernels.row`); the first argument is `CompiledBoards.arrays`.

    Batch kernels loop over the same functions, so the rules exist only once.
    """

    observe_row: Callable[..., Any]  # (arrays, lane, seat, out); as `Boards.observe`
    apply_row: Callable[..., Any]  # (arrays, lane, actions by seat); as `Boards.apply`
    over_row: Callable[..., Any]  # (arrays, lane) -> int; as `Boards.over`
    acting_row: Callable[..., Any] | None = None  # (arrays, lane, seat) -> bool; None: every seat acts at every step
    legal_row: Callable[..., Any] | None = None  # (arrays, lane, seat, out); None: every action is always legal
    position_row: Callable[..., Any] | None = None  # (arrays, lane, seat) -> arrays for agents that search
    score_row: Callable[..., Any] | None = None  # (arrays, lane, seat) -> float; for `engine.play.rollout`
    stats_row: Callable[..., Any] | None = None  # (arrays, lane, seat, out): statistics, then measures; also for it


class Boards(Protocol):
    """Matches in progress, one per lane. Lanes are independent of one another."""

    def deal(self, lanes: Indices, seeds: Seeds, starts: Sequence[str | None]) -> None:
        """Begin new matches on these lanes. A match follows from its seed, start and actions alone."""

    def acting(self) -> Bools:
        """[lanes, seats]: which seats must act now. All False on a lane that is over."""

    def over(self) -> NDArray[np.int8]:
        """[lanes]: 0 running, 1 terminated, 2 truncated, 3 no contest."""

    def observe(self, lanes: Indices, seats: Indices, out: Observations) -> None:
        """Write the observation of lanes[i], seats[i] to out[i]."""

    def legal(self, lanes: Indices, seats: Indices, out: Bools) -> None:
        """Write the legal actions of lanes[i], seats[i] to out[i]. Called only if the game is `masked`."""

    def apply(self, lanes: Indices, actions: Ints) -> None:
        """Play one step on these lanes. `actions` is [all lanes, seats]; only acting seats of these lanes are read."""

    def scores(self) -> Floats:
        """[lanes, seats]: the score so far. A reward is the change of the score in one step."""

    def stats(self, lanes: Indices) -> Floats:
        """[len(lanes), seats, len(info.stats)]."""

    def copy(self, source: int, target: int) -> None:
        """Copy the match on one lane to another. Replays use this for keyframes."""

    def position(self, lane: int, seat: int) -> Position | None:
        """The position, for agents that search; None if the game has hidden information."""

    def scene(self, lane: int) -> Scene:
        """A drawing of the board, for spectators."""


class CompiledBoards(Boards, Protocol):
    """Boards that can be marched: many steps are played in one compiled call (`engine.play.march`)."""

    rows: ClassVar[BoardRows]

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The data of the row functions. Its numba types are the same for all boards of the game."""


class MeasuredBoards(Boards, Protocol):
    """Boards with values that training may reward (`engine.play.rollout_rewards`), but that no result contains."""

    def measures(self, lanes: Indices) -> Floats:
        """[len(lanes), seats, len(info.measures)]: the values now."""


class StyledBoards(Boards, Protocol):
    """Boards with several drawing styles. A style is not an option of the game, because it changes no rule."""

    def scene(self, lane: int, style: str = ...) -> Scene:
        """A drawing of the board in one of `info.styles`."""


class NamedPosition(Protocol):
    """A position that names its legal actions, for games with too many actions for `info.action_names`."""

    def name(self, action: int) -> str: ...


class ReadingPosition(NamedPosition, Protocol):
    """A position that can explain why typed text names no legal action."""

    def mistake(self, typed: str) -> str:
        """The rest of a sentence that begins with `typed`, such as "is not legal here"."""


class NotedBoards(Boards, Protocol):
    """Boards whose matches can be exported to the file formats of other programs."""

    def written(self, lane: int, notation: str, names: Sequence[str], ending: Ending) -> str:
        """The match so far as text in one of `info.notations`."""


class Position(Protocol):
    """A position to search from: immutable and independent of the boards."""

    @property
    def start(self) -> str: ...
    @property
    def moves(self) -> tuple[int, ...]:
        """The actions played since `start`."""

    def legal(self) -> Ints:
        """The legal actions in ascending order."""

    def play(self, action: int) -> Position:
        """The position after this action."""


class Views:
    """The slots that must act now, one per row.

    Arrays are read-only and valid only during the call. `obs` is computed on first access.
    """

    __slots__ = (
        *("_boards", "_clocks", "_legal", "_obs", "_observed", "_out", "_rows"),
        *("agents", "lanes", "plies", "seats", "slots", "turn"),
    )
    slots: Indices
    lanes: Indices
    seats: Indices
    agents: Indices  # numbers that `Pilot.load` returned
    plies: Indices  # steps played so far on that lane

    def __init__(
        self,
        boards: Boards,
        rows: Indices,
        out: Observations,
        legal: Bools | None,
        turn: memoryview | None = None,
        clocks: Callable[[int], TimeLeft | None] = lambda lane: None,
    ) -> None:
        self._rows = tuple(rows)
        self._observed = rows[1], rows[2]  # not the arrays that the pilot gets: it may change their shapes
        self.turn = memoryview(bytearray(8)).cast("Q") if turn is None else turn  # see `asking`
        self._boards, self._clocks, self._legal = boards, clocks, legal
        self.renew(out)

    def __len__(self) -> int:
        return len(self.slots)

    def renew(self, out: Observations) -> None:
        """Use them for the same rows in another call; `obs` is computed again, into `out`."""
        self.slots, self.lanes, self.seats, self.agents, self.plies = self._rows  # a pilot may have replaced them
        self._out = out
        self._obs: Observations | None = None

    def asking(self, row: int) -> None:
        """Mark the row whose agent runs next, so that a hang or crash is blamed on that agent."""
        self.turn[0] = row + 1

    @property
    def obs(self) -> Observations:
        if self._obs is None:
            self._boards.observe(*self._observed, self._out)
            self._obs = self._out
        return self._obs

    @property
    def legal(self) -> Bools | None:
        """[rows, actions], or None if all actions are always legal."""
        return self._legal

    def position(self, row: int) -> Position | None:
        """See `Boards.position`."""
        return self._boards.position(int(self.lanes[row]), int(self.seats[row]))

    def clock(self, row: int) -> TimeLeft | None:
        """The time left to each seat in this row's match; None if the match has no clock."""
        return self._clocks(int(self.lanes[row]))


class Pilot(Protocol):
    """Plays all agents of one kind on one group of lanes, in one call per step. All state is per slot."""

    @property
    def capacity(self) -> int | None:
        """Most slots it can play at once; None if unlimited."""

    def load(self, agent: AgentSpec) -> int:
        """Load an agent. Returns the number that `begin` and `Views.agents` use for it."""

    def begin(self, slots: Indices, agents: Indices, seeds: Seeds) -> None:
        """Begin new matches on these slots and discard their earlier state."""

    def act(self, views: Views) -> Ints:
        """Return an action, PENDING or RESIGN for each row. An answer must not depend on other rows."""

    def end(self, slots: Indices, results: Sequence[MatchResult] | None) -> None:
        """End the matches on these slots; `results` is None if they were interrupted and will be replayed."""

    def close(self) -> None:
        """Release processes, files and memory."""


class CompiledPilot(Pilot, Protocol):
    """A pilot that can be marched; `act` and `act_row` must give the same answers.

    `act_row(arrays, slot, agent, ply, obs, legal, position)` returns an action, RESIGN or BROKEN; it must not allocate.
    `legal` is all True if the game is not masked; `position` is what `BoardRows.position_row` returns, else ().
    """

    act_row: ClassVar[Callable[..., Any]]
    observes: ClassVar[bool]  # whether `act_row` reads `obs`; if not, observations are not computed for it

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The data of `act_row`, read before each march. Its numba types never change."""


class Decisions(NamedTuple):
    """The answers of a `Policy`, one per row."""

    actions: Ints  # as `Pilot.act` returns them
    log_probs: NDArray[np.float32]  # of these actions
    values: NDArray[np.float32]  # estimates of the value of the observation


class Policy(Pilot, Protocol):
    """A pilot of learning agents: `engine.play.rollout` records their trajectories. Its answers depend on no earlier
    call, because a step may be asked for again."""

    def decide(self, views: Views) -> Decisions:
        """The same actions as `act`, with their log-probabilities and the values of the observations."""

    def evaluate(self, agents: Indices, obs: Observations) -> NDArray[np.float32]:
        """The values of observations, also of seats that do not act now. A value must not depend on other rows."""

    def replace(self, number: int, agent: AgentSpec) -> None:
        """Replace the weights of a loaded agent; running matches continue with the new weights."""


class CompiledPolicy(CompiledPilot, Policy, Protocol):
    """A policy that can be marched; its methods and its row functions must give the same answers.

    `policy_row(arrays, slot, agent, ply, obs, legal, position, out)` returns the same action as `act_row`, and writes
    the action's log-probability to out[0] and the value estimate to out[1]. `value_row(arrays, agent, obs)` returns the
    value estimate alone.
    """

    policy_row: ClassVar[Callable[..., Any]]
    value_row: ClassVar[Callable[..., Any]]


class LivePilot(Pilot, Protocol):
    """A pilot of a `live` kind. It must not block: it answers PENDING, or the person's current action."""

    def on_action(self, slot: int, action: int) -> None:
        """Receive the action (or RESIGN) of the person at this slot. Called at any time between two calls of `act`."""


@dataclass(frozen=True)
class AgentKind:
    """A kind of agent: the value of a `ringside.agents` entry point."""

    name: str
    version: int  # increase it when the same payload would play differently
    pilot: Callable[[Game, int], Pilot]  # (game, number of slots) -> pilot
    plays: Callable[[Game], bool]
    samples: Callable[[Game], Sequence[AgentSpec]]  # ready-made agents of this kind for a game
    repeatable: bool | Callable[[AgentSpec], bool] = True  # whether the same match always gives the same record
    timed: Callable[[AgentSpec], bool] = lambda agent: False  # it thinks in real time: matches run one per core
    live: bool = False  # a person plays it: matches are live, and the pilot is a LivePilot
    patience: float = 0.0  # seconds that `Pilot.begin` may take; 0: the limit of all other calls
    thinking: float = 0.0  # seconds for which it may answer PENDING; 0: the limit of a call
    admit: Callable[[AgentSpec], None] | None = None  # for external programs: raises unless the user allowed it
    preload: tuple[str, ...] = ()  # heavy libraries of its pilot, such as torch; its module must not import them
    draw: Callable[[AgentSpec], Diagram | None] = lambda agent: None  # a drawing of an agent, such as its network
    describe: Callable[[AgentSpec], Sequence[tuple[str, str]]] = lambda agent: ()  # names and values for its page
    settings: Callable[[bytes], Any] | None = None  # those of a payload, which a person may change when adding an
    # agent: a dataclass with fields of `engine.options.option`
    configure: Callable[[bytes, Any], bytes] = lambda payload, settings: payload  # the payload with other settings
    formats: Mapping[str, Callable[[AgentSpec], bytes]] = field(default_factory=dict, hash=False)  # files of other
    # programs that an agent can be written as: the content of the file, by its extension, such as "onnx"

    def repeats(self, agent: AgentSpec) -> bool:
        """Whether this agent always plays the same match the same way."""
        return self.repeatable(agent) if callable(self.repeatable) else self.repeatable


def check_match(spec: MatchSpec, game: Game) -> None:
    """Raise BadSpec or BadValue unless this match can be dealt. Does not check the players' agents."""
    match, seats, steps = f"match {spec.id!r}", game.info.seats, spec.limits.steps
    if len(spec.players) != seats:
        hint = f"; set the option seats={len(spec.players)}" if "seats" in dict(spec.game.options) else ""
        raise BadSpec(f"{match}: {spec.game.name} needs {seats} players, not {len(spec.players)}{hint}")
    if type(spec.seed) is not int or not 0 <= spec.seed < SEED_LIMIT:
        raise BadSpec(f"{match}: seed = {spec.seed}: must be a whole number from 0 to 2**64 - 1")
    if steps is not None and (type(steps) is not int or not 0 < steps < 2**32):
        raise BadSpec(f"{match}: limits.steps = {steps}: must be a whole number from 1 to 2**32 - 1, or None")
    clock = spec.limits.clock
    if clock is not None:
        if not isinstance(clock, Clock):
            raise BadSpec(f"{match}: limits.clock = {clock!r}: must be a Clock(base, increment, move), or None")
        for name, seconds in (("base", clock.base), ("increment", clock.increment), ("move", clock.move)):
            if type(seconds) not in (int, float) or not 0 <= seconds <= MAX_CLOCK_SECONDS:
                field = f"limits.clock.{name} = {seconds!r}"
                raise BadSpec(f"{match}: {field}: must be from 0 to {MAX_CLOCK_SECONDS:.0f} seconds")
        if clock.base + clock.move <= 0:
            raise BadSpec(f"{match}: limits.clock gives no time: base or move must be above 0")
    game.check_start(spec.start)
