"""Pong with its players in plain Python, a match at a time: as most projects would write it.

Written from the rules, not from the kernels; results are the same to the bit, packed actions included.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, field

import numpy as np

from agents.scripted.pong import ERROR, MOVE, Bot
from engine.games.pong.game import SERVE_ANGLE, SERVE_SIDE, PongOptions
from engine.play.lane_kernels import AGENT_SEED

MASK = 2**64 - 1

FLOATS = struct.Struct("8f")


def draw(seed: int, what: int, seat: int, ply: int, k: int = 0) -> int:
    def mix(z: int) -> int:
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    return mix((mix(seed ^ what) + (((seat << 56) ^ (k << 40) ^ ply) + 1) * 0x9E3779B97F4A7C15) & MASK)


def unit(bits: int) -> float:
    return (bits >> 11) / 9007199254740992.0


def fold(y: float) -> float:
    return -586.0 - y if y < -293.0 else 586.0 - y if y > 293.0 else y


@dataclass
class Match:
    options: PongOptions
    seed: int
    x: float = 0.0
    y: float = 0.0
    vx: float = 0.0
    vy: float = 0.0
    speed: float = 0.0
    paddle: list[float] = field(default_factory=lambda: [0.0, 0.0])
    score: list[int] = field(default_factory=lambda: [0, 0])
    step: int = 0
    serves: int = 0
    event: int = 0
    rally: int = 0
    longest: int = 0
    over: bool = False
    idle: list[bool] = field(default_factory=lambda: [False, False])
    hits: list[int] = field(default_factory=lambda: [0, 0])
    waits: list[list[int]] = field(default_factory=lambda: [[], []])
    distance: list[float] = field(default_factory=lambda: [0.0, 0.0])
    contact: list[float] = field(default_factory=lambda: [0.0, 0.0])
    contact2: list[float] = field(default_factory=lambda: [0.0, 0.0])
    speeds: list[float] = field(default_factory=lambda: [0.0, 0.0])

    def serve(self) -> None:
        spread = 2.0 * unit(draw(self.seed, SERVE_ANGLE, 0, self.serves)) - 1.0
        self.x = self.y = 0.0
        self.speed = self.options.serve_speed
        self.vy = self.speed * 0.7 * spread
        self.vx = math.sqrt(self.speed * self.speed - self.vy * self.vy)
        if ((draw(self.seed, SERVE_SIDE, 0, 0) & 1) + self.serves) % 2 == 0:
            self.vx = -self.vx
        self.serves += 1
        self.rally = 0
        self.event = self.step
        self.idle = [False, False]

    def advance(self, actions: tuple[int, int]) -> None:
        half = self.options.paddle_height / 2
        for seat, action in enumerate(actions):
            if action:
                before, pace = self.paddle[seat], self.options.paddle_speed
                self.paddle[seat] = min(max(before + (pace if action == 2 else -pace), half - 300.0), 300.0 - half)
                self.distance[seat] += abs(self.paddle[seat] - before)
                if self.idle[seat]:
                    self.idle[seat] = False
                    self.waits[seat].append(self.step - self.event)
        self.step += 1
        x = self.x + self.vx
        if abs(x) > 373.0:
            self.at_goal(0 if x < 0.0 else 1, half)
        else:
            y = self.y + self.vy
            self.x, self.y = x, fold(y)
            if self.y != y:
                self.vy = -self.vy
        if self.step >= self.options.step_limit:
            self.over = True

    def at_goal(self, seat: int, half: float) -> None:
        side = 1.0 if seat else -1.0
        t = (side * 373.0 - self.x) / self.vx
        y = fold(self.y + self.vy * t)
        if abs(y - self.paddle[seat]) > half + 7.0:
            self.score[1 - seat] += 1
            self.over = self.score[1 - seat] >= self.options.points
            self.serve()
            return
        place = (y - self.paddle[seat]) / (half + 7.0)
        self.hits[seat] += 1
        self.contact[seat] += place
        self.contact2[seat] += place * place
        self.speeds[seat] += self.speed
        self.rally += 1
        self.longest = max(self.longest, self.rally)
        self.speed = min(self.speed * 1.05, self.options.top_speed)
        self.vy = self.speed * 0.85 * place
        self.vx = -side * math.sqrt(self.speed * self.speed - self.vy * self.vy)
        self.x = side * 373.0 + self.vx * (1.0 - t)
        y += self.vy * (1.0 - t)
        self.y = fold(y)
        if self.y != y:
            self.vy = -self.vy
        self.idle[seat], self.idle[1 - seat] = False, True
        self.event = self.step

    def observe(self, seat: int) -> list[float]:
        side, own, per_speed = (-1.0 if seat else 1.0), self.paddle[seat], 1.0 / self.options.top_speed
        seen = (
            own * (2.0 / 600.0),
            side * self.x * (2.0 / 800.0) + 0.0,
            self.y * (2.0 / 600.0),
            side * self.vx * per_speed,
            self.vy * per_speed,
            (own - self.y) * (1.0 / 600.0),
            1.0 if side * self.vx < 0.0 else 0.0,
            self.paddle[1 - seat] * (2.0 / 600.0),
        )
        return list(FLOATS.unpack(FLOATS.pack(*seen)))  # rounded to 32 bits, as observations are

    def stats(self, seat: int) -> list[float]:
        hits = max(self.hits[seat], 1)
        mean = self.contact[seat] / hits
        waits = self.waits[seat]
        return [
            float(self.hits[seat]),
            float(self.score[1 - seat]),
            self.distance[seat],
            sum(waits) / max(len(waits), 1),
            mean,
            math.sqrt(max(self.contact2[seat] / hits - mean * mean, 0.0)),
            self.speeds[seat] / hits,
            float(self.longest),
        ]


def bot_act(bot: Bot, o: list[float], seed: int, ply: int) -> int:
    edge, top = 373.0 * 2.0 / 800.0, 293.0 * 2.0 / 600.0
    if bot.style == "still":
        return 0
    if bot.style == "random":
        return draw(seed, MOVE, 0, ply // bot.hold) % 3
    near = o[1] <= 2.0 * bot.reach - 1.0
    if bot.style == "tracker":
        if not near:
            return 0
        aim = o[2]
    elif o[3] >= 0.0:
        if not bot.centre:
            return 0
        aim = 0.0
    elif not near:
        return 0
    else:
        far = o[2] + o[4] * ((o[1] + edge) / -o[3]) * (800.0 / 600.0)
        turns = (far + top) / (4.0 * top)
        far = (turns - math.floor(turns)) * 4.0 * top - top
        aim = far if far <= top else 2.0 * top - far
        if bot.noise > 0.0:
            aim += bot.noise * (2.0 * unit(draw(seed, ERROR, 0, int(aim * 16.0) + 1000)) - 1.0)
    off = o[0] - aim
    return 1 if off > bot.dead_zone else 2 if off < -bot.dead_zone else 0


def net_act(net: np.ndarray, o: list[float]) -> int:
    def node(n: int, inputs: list[float]) -> float:
        total = 0.0
        for value, weight in zip(inputs, weights[n], strict=False):
            total += value * weight
        return math.tanh(min(max(2.5 * (biases[n] + total), -60.0), 60.0))

    weights, biases = net["weight"].tolist(), net["bias"].tolist()
    hidden = [node(n, o) for n in range(3)]
    outputs = [node(n, hidden) for n in range(3, 6)]
    return outputs.index(max(outputs))


def play(options: PongOptions, seed: int, players: list[Bot | np.ndarray]) -> tuple[object, ...]:
    """Scores, steps, statistics and packed actions, as in a MatchResult."""
    match = Match(options, seed)
    match.serve()
    seeds = [draw(seed, AGENT_SEED, seat, 0) for seat in range(2)]
    packed = bytearray()
    while not match.over:
        actions = []
        for seat, player in enumerate(players):
            seen = match.observe(seat)
            act = bot_act(player, seen, seeds[seat], match.step) if isinstance(player, Bot) else net_act(player, seen)
            actions.append(act)
        both = actions[0] | actions[1] << 2
        if match.step % 2:
            packed[-1] |= both << 4
        else:
            packed.append(both)
        match.advance((actions[0], actions[1]))
    scores = tuple(float(points) for points in match.score)
    return scores, match.step, tuple(tuple(match.stats(seat)) for seat in range(2)), bytes(packed)
