"""The rules of Pong as kernels over many boards.

The court is 800 x 600 units with its origin in the centre, so that swapping the sides only changes signs and a
mirrored match is mirrored to the bit. The front of a paddle is the goal line: a ball that reaches it either hits the
paddle or scores, so it can neither tunnel through a paddle nor be hit from behind. Only + - * / and square roots are
used, which give the same bits on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numba import uint32, uint64
from numpy.typing import NDArray

from engine.errors import BadValue
from engine.game import BoardRows, Bools, Floats, GameInfo, Indices, Ints, Observations, Seeds
from engine.games.pong.scene import HEIGHT, PADDLE_WIDTH, RADIUS, WIDTH, court_scene
from engine.kernels import bare, inline, kernel, row
from engine.options import option, validate
from engine.registry import spec_of
from engine.scene import Scene
from engine.seeding import draw, purpose, unit

GOAL_X = WIDTH / 2 - PADDLE_WIDTH - RADIUS  # x of the ball's centre when it reaches a goal line
WALL_Y = HEIGHT / 2 - RADIUS
SPEED_UP = 1.05  # factor per hit
BOUNCE = 0.85  # vertical share of the speed after a hit with the paddle's edge
SERVE_SPREAD = 0.7  # vertical share of the speed in the steepest serve
STAY, UP, DOWN = 0, 1, 2
STATS = (
    "hits",
    "misses",
    "distance",  # units that the paddle moved
    "reaction",  # mean steps between the opponent's hit and the next paddle move; 0 if there was none
    "contact_mean",  # mean contact point on the paddle: -1 upper edge, 1 lower edge; 0 without hits
    "contact_spread",  # standard deviation of the contact point
    "contact_speed",  # mean speed of the ball at contact
    "longest_rally",  # most hits of both sides between two points
)
SERVE_SIDE, SERVE_ANGLE = purpose("pong.serve_side"), purpose("pong.serve_angle")


@dataclass(frozen=True)
class PongOptions:
    points: int = option(5, low=1, high=99, help="points that win the match")
    step_limit: int = option(20_000, low=60, high=2_000_000_000, help="steps after which the match ends")
    paddle_height: float = option(100.0, low=20.0, high=300.0, help="height of a paddle; the court is 600 units high")
    paddle_speed: float = option(4.0, low=0.5, high=60.0, help="speed of a paddle, units per step")
    serve_speed: float = option(7.0, low=1.0, high=60.0, help="speed of a served ball, units per step")
    top_speed: float = option(15.0, low=1.0, high=60.0, help="greatest speed of the ball; each hit makes it 5 % faster")

    def __post_init__(self) -> None:
        validate(self)
        if self.top_speed < self.serve_speed:
            raise BadValue("top_speed", self.top_speed, f"at least serve_speed ({self.serve_speed})")


BOARD = np.dtype(
    [  # fields used in every step come first, in two cache lines
        ("x", "f8"), ("y", "f8"), ("vx", "f8"), ("vy", "f8"),
        ("paddle", "f8", 2),  # centres
        ("distance", "f8", 2),
        ("step", "u4"), ("event", "u4"),  # the current step, and that of the last hit or serve
        ("reactions", "u4", 2), ("reaction", "u4", 2),
        ("idle", "u1", 2),  # has not moved since the opponent's hit
        ("over", "i1"),
        ("hit", "u1"),  # whether px, py, pvx and pvy hold the ball before the last hit
        ("first", "u1"),  # side that the first serve flies to
        ("serves", "u4"), ("score", "i4", 2), ("speed", "f8"), ("seed", "u8"),
        ("rally", "u4"), ("longest", "u4"), ("hits", "u4", 2),
        ("contact", "f8", 2), ("contact2", "f8", 2), ("speeds", "f8", 2),
        ("px", "f8"), ("py", "f8"), ("pvx", "f8"), ("pvy", "f8"),
    ],
    align=True,
)  # fmt: skip
RULES = np.dtype(
    [("points", "i4"), ("limit", "u4"), ("half", "f8"), ("pace", "f8"), ("serve", "f8"), ("top", "f8")], align=True
)


@inline
def _fold(y):  # type: ignore[no-untyped-def]
    """Reflect y at the walls. One reflection suffices: no step is longer than the court is high."""
    return -2.0 * WALL_Y - y if y < -WALL_Y else (2.0 * WALL_Y - y if y > WALL_Y else y)


@inline
def _serve(b, serve_speed):  # type: ignore[no-untyped-def]
    spread = 2.0 * unit(draw(b.seed, SERVE_ANGLE, 0, b.serves, 0)) - 1.0
    b.x = 0.0
    b.y = 0.0
    b.speed = serve_speed
    b.vy = b.speed * SERVE_SPREAD * spread
    b.vx = np.sqrt(b.speed * b.speed - b.vy * b.vy)
    if (uint32(b.first) + b.serves) & uint32(1) == 0:
        b.vx = -b.vx
    b.serves += uint32(1)
    b.rally = 0
    b.event = b.step
    b.hit = 0
    b.idle[0] = 0
    b.idle[1] = 0


@inline
def _move(b, seat, action, half, pace):  # type: ignore[no-untyped-def]
    """Uses branches: they are predicted well while one lane is played for many steps."""
    if action != STAY:
        edge = HEIGHT / 2 - half
        before = b.paddle[seat]
        y = before + pace if action == DOWN else before - pace
        y = min(max(y, -edge), edge)
        b.paddle[seat] = y
        b.distance[seat] += abs(y - before)
        if b.idle[seat] != 0:
            b.idle[seat] = 0
            b.reactions[seat] += uint32(1)
            b.reaction[seat] += b.step - b.event


@inline
def _hit(b, seat, side, t, y, half, top):  # type: ignore[no-untyped-def]
    """Hit the ball at height y, after fraction t of this step. Its new angle depends on the contact point."""
    b.px = b.x
    b.py = b.y
    b.pvx = b.vx
    b.pvy = b.vy
    b.hit = 1
    place = (y - b.paddle[seat]) / (half + RADIUS)
    b.hits[seat] += uint32(1)
    b.contact[seat] += place
    b.contact2[seat] += place * place
    b.speeds[seat] += b.speed
    b.rally += uint32(1)
    b.longest = max(b.longest, b.rally)
    b.speed = min(b.speed * SPEED_UP, top)
    b.vy = b.speed * BOUNCE * place
    b.vx = -side * np.sqrt(b.speed * b.speed - b.vy * b.vy)
    b.x = side * GOAL_X + b.vx * (1.0 - t)
    y += b.vy * (1.0 - t)
    b.y = _fold(y)
    if b.y != y:
        b.vy = -b.vy
    b.idle[seat] = 0  # it reached the ball without moving
    b.idle[1 - seat] = 1
    b.event = b.step


@kernel
def _deal(boards, rules, lanes, seeds, firsts):  # type: ignore[no-untyped-def]
    for i in range(lanes.size):
        b = boards[lanes[i]]
        b.seed = seeds[i]
        b.first = draw(seeds[i], SERVE_SIDE, 0, 0, 0) & uint64(1) if firsts[i] < 0 else uint64(firsts[i])
        b.step = 0
        b.serves = 0
        b.over = 0
        b.longest = 0
        for s in range(2):
            b.paddle[s] = 0.0
            b.score[s] = 0
            b.hits[s] = 0
            b.reactions[s] = 0
            b.reaction[s] = 0
            b.distance[s] = 0.0
            b.contact[s] = 0.0
            b.contact2[s] = 0.0
            b.speeds[s] = 0.0
        _serve(b, rules[0].serve)


@row
def apply_row(arrays, lane, actions):  # type: ignore[no-untyped-def]
    """Play one step of one lane; `actions` is indexed by seat."""
    records, rules = arrays
    b = records[lane]
    r = rules[0]
    half = r.half
    _move(b, 0, actions[0], half, r.pace)
    _move(b, 1, actions[1], half, r.pace)
    b.step += uint32(1)
    x = b.x + b.vx
    if abs(x) > GOAL_X:
        seat = 0 if x < 0.0 else 1
        side = -1.0 if x < 0.0 else 1.0
        t = (side * GOAL_X - b.x) / b.vx
        y = _fold(b.y + b.vy * t)
        if abs(y - b.paddle[seat]) <= half + RADIUS:
            _hit(b, seat, side, t, y, half, r.top)
        else:
            b.score[1 - seat] += 1
            b.over = b.score[1 - seat] >= r.points
            _serve(b, r.serve)
    else:
        y = b.y + b.vy
        b.x = x
        b.y = _fold(y)
        b.vy = b.vy if b.y == y else -b.vy
    if b.step >= r.limit and b.over == 0:
        b.over = 2


@row
def observe_row(arrays, lane, seat, out):  # type: ignore[no-untyped-def]
    """Write the observation of one seat, mirrored so that its own paddle is on the left."""
    records, rules = arrays
    per_speed = 1.0 / rules[0].top
    b = records[lane]
    own = b.paddle[seat]
    side = 1.0 if seat == 0 else -1.0
    out[0] = own * (2.0 / HEIGHT)
    out[1] = side * b.x * (2.0 / WIDTH) + 0.0  # + 0.0 avoids -0.0, so both seats see the same bits
    out[2] = b.y * (2.0 / HEIGHT)
    out[3] = side * b.vx * per_speed
    out[4] = b.vy * per_speed
    out[5] = (own - b.y) * (1.0 / HEIGHT)
    out[6] = 1.0 if side * b.vx < 0.0 else 0.0
    out[7] = b.paddle[uint32(1) - seat] * (2.0 / HEIGHT)


@row
def over_row(arrays, lane):  # type: ignore[no-untyped-def]
    return arrays[0][lane].over


@row
def score_row(arrays, lane, seat):  # type: ignore[no-untyped-def]
    return float(arrays[0][lane].score[seat])


@bare
def _apply(arrays, lanes, actions):  # type: ignore[no-untyped-def]
    for i in range(lanes.size):
        apply_row(arrays, lanes[i], actions[lanes[i]])


@bare
def _observe(arrays, lanes, seats, out):  # type: ignore[no-untyped-def]
    for i in range(lanes.size):
        observe_row(arrays, lanes[i], seats[i], out[i])


@row
def stats_row(arrays, lane, seat, out):  # type: ignore[no-untyped-def]
    b = arrays[0][lane]
    n = float(max(b.hits[seat], uint32(1)))
    mean = b.contact[seat] / n
    out[0] = b.hits[seat]
    out[1] = b.score[uint32(1) - seat]
    out[2] = b.distance[seat]
    out[3] = b.reaction[seat] / float(max(b.reactions[seat], uint32(1)))
    out[4] = mean
    out[5] = np.sqrt(max(b.contact2[seat] / n - mean * mean, 0.0))
    out[6] = b.speeds[seat] / n
    out[7] = b.longest


@bare
def _stats(arrays, lanes, out):  # type: ignore[no-untyped-def]
    for i in range(lanes.size):
        for seat in range(2):
            stats_row(arrays, lanes[i], uint32(seat), out[i, seat])


class Pong:
    """The rules with their options."""

    name: ClassVar[str] = "pong"
    version: ClassVar[int] = 1
    Options: ClassVar[type] = PongOptions

    def __init__(self, options: PongOptions) -> None:
        self.options = options
        self.spec = spec_of(self.name, self.version, options)
        self.info = GameInfo(
            title="Pong",
            seats=2,
            actions=3,
            observation=(8,),
            bounds=(-2.0, 2.0),  # the court spans -1 to 1; a ball that passed a goal line is outside
            stats=STATS,
            simultaneous=True,
            action_names=("stay", "up", "down"),
            pace=60.0,
            idle=STAY,
        )

    def check_start(self, start: str | None) -> None:
        if start not in (None, "left", "right"):
            raise BadValue("start", start, "'left' or 'right' (the side that the first serve flies to), or None")

    def boards(self, lanes: int) -> PongBoards:
        return PongBoards(self.options, lanes)


class PongBoards:
    """Matches in progress; each lane is one record."""

    rows = BoardRows(observe_row, apply_row, over_row, score_row=score_row, stats_row=stats_row)

    def __init__(self, options: PongOptions, lanes: int) -> None:
        self.records = np.zeros(lanes, BOARD)
        self.records["over"] = 1  # not dealt yet
        self._rules = np.array(
            [
                (
                    options.points,
                    options.step_limit,
                    options.paddle_height / 2,
                    options.paddle_speed,
                    options.serve_speed,
                    options.top_speed,
                )
            ],
            RULES,
        )
        self._acting = np.ones((lanes, 2), np.bool_)

    def deal(self, lanes: Indices, seeds: Seeds, starts: Sequence[str | None]) -> None:
        firsts = np.array([-1 if start is None else int(start == "right") for start in starts], np.int64)
        _deal(self.records, self._rules, lanes, seeds, firsts)

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        return self.records, self._rules

    def acting(self) -> Bools:
        over = self.records["over"]
        return self._acting if not over.any() else self._acting & (over == 0)[:, None]

    def over(self) -> NDArray[np.int8]:
        return self.records["over"]

    def observe(self, lanes: Indices, seats: Indices, out: Observations) -> None:
        _observe(self.arrays, lanes, seats, out)

    def legal(self, lanes: Indices, seats: Indices, out: Bools) -> None:
        out[:] = True

    def apply(self, lanes: Indices, actions: Ints) -> None:
        _apply(self.arrays, lanes, actions)

    def scores(self) -> Floats:
        return self.records["score"].astype(np.float64)

    def stats(self, lanes: Indices) -> Floats:
        out = np.empty((len(lanes), 2, len(STATS)))
        _stats(self.arrays, lanes, out)
        return out

    def copy(self, source: int, target: int) -> None:
        self.records[target] = self.records[source]

    def position(self, lane: int, seat: int) -> None:
        return None  # simultaneous moves: no position to search from

    def scene(self, lane: int) -> Scene:
        return court_scene(self.records[lane], float(self._rules[0]["half"]))
