"""The scripted treasure hunters in plain Python, cell by cell: what the compiled ones are compared with."""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.scripted.treasure_hunt import CHOICE, HEADING, REMEMBERED, Bot
from engine.seeding import bits

STEPS = ((0, -1), (0, 1), (-1, 0), (1, 0))  # up, down, left, right: right and down
UP, DOWN, LEFT, RIGHT = range(4)
View = dict[tuple[int, int], str]  # what is in each cell, by (x, y) from the middle


class PlainHunter:
    def __init__(self, bot: Bot, seed: int) -> None:
        self.bot, self.seed = bot, seed
        self.x = self.y = 0
        self.before: View = {}
        self.last: int | None = None
        self.gems: list[tuple[int, int, int]] = []  # x, y and the turn in which it was last seen

    def act(self, ply: int, obs: np.ndarray[Any, Any]) -> int:
        heading = bits(self.seed, HEADING, 0, ply // self.bot.hold) & 3
        if self.bot.style == "random":
            return heading
        random_bits, now = bits(self.seed, CHOICE, 0, ply), view_of(obs)
        if self.bot.style != "greedy":
            self.keep_count(now)
        self.before = now
        target = self.nearest(now, random_bits)
        if self.bot.style == "memory":
            self.note_gems(now, ply)
            if target == (0, 0):
                others = [(x - self.x, y - self.y) for x, y, _ in self.gems]
                target = min(others, key=lambda place: abs(place[0]) + abs(place[1]), default=(0, 0))
        elif self.bot.style == "territorial" and target == (0, 0):
            away = max(abs(self.x), abs(self.y)) >= max(self.bot.reach, 1)
            target = (-self.x, -self.y) if away else (0, 0)
        self.last = towards(now, *target, random_bits) if target != (0, 0) else wander(now, heading, random_bits)
        return self.last

    def keep_count(self, now: View) -> None:
        if self.last is None:
            return
        dx, dy = step = STEPS[self.last]
        blocked = now[step] == "other"
        if self.before[step] != "wall" and self.mismatch(now, dx, dy) < self.mismatch(now, 0, 0) + (not blocked):
            self.x, self.y = self.x + dx, self.y + dy

    def mismatch(self, now: View, dx: int, dy: int) -> int:
        wrong = 0
        for (x, y), new in now.items():
            pair = {self.before.get((x + dx, y + dy), new), new}
            wrong += (100 * ("wall" in pair) + ("gem" in pair)) * (len(pair) == 2)
        return wrong

    def nearest(self, now: View, random_bits: int) -> tuple[int, int]:
        reach, found = self.bot.reach if self.bot.style == "territorial" else 1 << 20, []
        for j, ((x, y), what) in enumerate(now.items()):
            if what == "gem" and max(abs(self.x + x), abs(self.y + y)) <= reach:
                found.append((16 * (abs(x) + abs(y)) + (random_bits >> (j & 31) & 15), j, (x, y)))
        return min(found)[2] if found else (0, 0)

    def note_gems(self, now: View, ply: int) -> None:
        self.gems = [
            (x, y, seen)
            for x, y, seen in self.gems
            if (x - self.x, y - self.y) not in now and ply - seen <= self.bot.memory
        ]
        self.gems += [(self.x + x, self.y + y, ply) for (x, y), what in now.items() if what == "gem"]
        del self.gems[REMEMBERED:]


def view_of(obs: np.ndarray[Any, Any]) -> View:
    radius = obs.shape[1] // 2
    names = np.select([obs[0] != 0, obs[1] != 0, obs[2] != 0], ["gem", "wall", "other"], "")
    return {(x - radius, y - radius): str(names[y, x]) for y in range(len(names)) for x in range(len(names))}


def free(now: View, action: int) -> bool:
    return now[STEPS[action]] in ("", "gem")


def wander(now: View, preferred: int, random_bits: int) -> int:
    order = [preferred] + [((random_bits >> 8) + k) & 3 for k in range(1, 5)]
    return next((action for action in order if free(now, action)), preferred)


def towards(now: View, dx: int, dy: int, random_bits: int) -> int:
    across, down = LEFT if dx < 0 else RIGHT, UP if dy < 0 else DOWN
    if dx == 0 or dy == 0:
        return wander(now, across if dx != 0 else down, random_bits)
    first, second = (across, down) if abs(dx) + (random_bits & 1) > abs(dy) else (down, across)
    return second if not free(now, first) and free(now, second) else wander(now, first, random_bits)
