"""Treasure Hunt in plain Python, a match at a time: as most gridworlds are written.

Written from the rules, with lists and dictionaries, not from the kernels; results are the same to the bit, observations
and packed actions included.
"""

from __future__ import annotations

from agents.scripted.treasure_hunt import HEADING
from engine.games.treasure_hunt.game import APPEAR, ORDER, PILLAR, PLACE, TreasureHuntOptions
from engine.play.lane_kernels import AGENT_SEED
from tests.benchmarks.reference import draw, unit

MOVES = ((0, -1), (0, 1), (-1, 0), (1, 0))  # up, down, left, right
Cell = tuple[int, int]


class Hunt:
    """One match."""

    def __init__(self, options: TreasureHuntOptions, seed: int) -> None:
        self.options, self.seed, self.turn = options, seed, 0
        self.cells = [(x, y) for y in range(options.height) for x in range(options.width)]
        self.walls: set[Cell] = set()
        self.gems: set[Cell] = set()
        self.seats: list[Cell] = []
        self.gems_taken, self.bumps, self.moved, self.contested = ([0] * options.seats for _ in range(4))
        self.frames: list[list[list[list[float]]]] = []  # by turn and seat
        wanted = round(options.pillars * len(self.cells))
        for k in range(4 * wanted):
            x, y = self.drawn_cell(PILLAR, k)
            if len(self.walls) < wanted and not self.walls & {(x + i, y + j) for i in (-1, 0, 1) for j in (-1, 0, 1)}:
                self.walls.add((x, y))
        k = 0
        while len(self.seats) < options.seats:
            cell = self.drawn_cell(PLACE, k)
            if cell not in self.walls and cell not in self.seats:
                self.seats.append(cell)
            k += 1
        self.appear()

    def drawn_cell(self, what: int, k: int) -> Cell:
        return self.cells[(draw(self.seed, what, 0, 0, k) >> 32) * len(self.cells) >> 32]

    def appear(self) -> None:
        """Draws the number of cells from one gem to the next."""
        at, k = 0, 0
        while True:
            luck, none, gap = unit(draw(self.seed, APPEAR, 0, self.turn, k)), 1.0, 0
            while gap < len(self.cells):
                none *= 1.0 - self.options.gem_chance
                if luck < 1.0 - none:
                    break
                gap += 1
            at += gap
            if at >= len(self.cells):
                return
            cell = self.cells[at]
            if cell not in self.walls and cell not in self.seats:
                self.gems.add(cell)
            at, k = at + 1, k + 1

    def advance(self, actions: list[int]) -> None:
        self.frames.append([self.window(seat) for seat in range(self.options.seats)])
        for seat in self.order():
            x, y = self.seats[seat]
            there = x + MOVES[actions[seat]][0], y + MOVES[actions[seat]][1]
            if there in self.walls or not (0 <= there[0] < self.options.width and 0 <= there[1] < self.options.height):
                self.bumps[seat] += 1
            elif there not in self.seats:
                if there in self.gems:
                    self.gems.remove(there)
                    self.gems_taken[seat] += 1
                    others = self.seats[:seat] + self.seats[seat + 1 :]
                    beside = [abs(there[0] - a) + abs(there[1] - b) == 1 for a, b in others]
                    self.contested[seat] += any(beside)
                self.seats[seat] = there
                self.moved[seat] += 1
        self.turn += 1
        self.appear()

    def order(self) -> list[int]:
        order, bits = list(range(self.options.seats)), draw(self.seed, ORDER, 0, self.turn) >> 8
        for k in range(self.options.seats - 1, 0, -1):
            j, bits = bits * (k + 1) >> 56, bits * (k + 1) & ((1 << 56) - 1)
            order[k], order[j] = order[j], order[k]
        return order

    def window(self, seat: int) -> list[list[float]]:
        """Gems, walls and others around a seat, row by row."""
        (x, y), r = self.seats[seat], self.options.radius
        around = [(x + dx, y + dy) for dy in range(-r, r + 1) for dx in range(-r, r + 1)]
        inside = set(self.cells)
        gems = [float(cell in self.gems) for cell in around]
        walls = [float(cell in self.walls or cell not in inside) for cell in around]
        return [gems, walls, [float(cell in self.seats and cell != (x, y)) for cell in around]]

    def observe(self, seat: int) -> list[list[float]]:
        seen = self.window(seat)
        nothing = [[0.0] * len(seen[0])] * 3
        for age in range(1, self.options.frames):
            seen += self.frames[-age][seat] if age <= len(self.frames) else nothing
        return seen

    def treasure(self, seat: int) -> int:
        return 10 * self.gems_taken[seat] - self.bumps[seat]

    def stats(self, seat: int) -> tuple[float, ...]:
        return tuple(float(counts[seat]) for counts in (self.gems_taken, self.bumps, self.moved, self.contested))


def play(options: TreasureHuntOptions, seed: int) -> tuple[object, ...]:
    """A match of random players that compute their observations: scores, turns, statistics and packed actions."""
    hunt, log = Hunt(options, seed), 0
    seats = range(options.seats)
    own = [draw(seed, AGENT_SEED, seat, 0) for seat in seats]
    while hunt.turn < options.turns:
        for seat in seats:
            hunt.observe(seat)
        actions = [draw(own[seat], HEADING, 0, hunt.turn) & 3 for seat in seats]
        for seat in seats:
            log |= actions[seat] << 2 * (hunt.turn * options.seats + seat)
        hunt.advance(actions)
    packed = log.to_bytes((2 * options.turns * options.seats + 7) // 8, "little")
    scores = tuple(float(hunt.treasure(seat)) for seat in seats)
    return scores, hunt.turn, tuple(hunt.stats(seat) for seat in seats), packed
