"""Scripted Pong players, all of them in one compiled call.

They see what every other agent sees, the eight observations, and know the court's proportions but not the options.
Payload: JSON such as {"style": "tracker", "dead_zone": 0.03}; without it a parameter has its default.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import uint32
from numpy.typing import NDArray

from agents.scripted.base import Bots
from engine.game import Game, Indices, Ints, Seeds, Views
from engine.games.pong import DOWN, GOAL, UP, WALL, Pong
from engine.games.pong_scene import HEIGHT, WIDTH
from engine.kernels import bare, inline, row
from engine.options import option
from engine.play.match import AgentSpec, MatchResult
from engine.seeding import draw, purpose, unit

STYLES = ("still", "random", "tracker", "predictor")
STILL, RANDOM, TRACKER, PREDICTOR = range(4)
MOVE, ERROR = purpose("pong-bot.move"), purpose("pong-bot.error")
EDGE = GOAL * 2.0 / WIDTH  # what an observer sees as the goal line
TOP = WALL * 2.0 / HEIGHT  # and as the walls


@dataclass(frozen=True)
class Bot:
    """A style and its parameters; heights are in half courts, as observed."""

    style: str = option("tracker", choices=STYLES, help="what it goes by")
    dead_zone: float = option(0.05, low=0.0, high=1.0, help="how far off it must be before it moves")
    reach: float = option(1.0, low=0.0, high=1.0, help="it looks only at balls within this part of the court")
    noise: float = option(0.0, low=0.0, high=2.0, help="error of its aim, drawn for each height a ball arrives at")
    hold: int = option(8, low=1, high=1000, help="steps for which a random player keeps its mind")
    centre: bool = option(False, help="goes back to the middle while the ball flies away")


BOTS = Bots("pong-bot", 1, Bot)
parse_bot, agent = BOTS.parse, BOTS.agent
SAMPLES = {
    "Still": Bot("still"),
    "Random": Bot("random"),
    "Lazy": Bot("tracker", dead_zone=0.16, reach=0.35),
    "Tracker": Bot("tracker", dead_zone=0.05),
    "Shaky": Bot("predictor", noise=0.22, centre=True),
    "Predictor": Bot("predictor", centre=True),
}
"""The ready-made ones, weakest first."""

PARAMETERS = np.dtype(
    [("style", "u1"), ("dead_zone", "f8"), ("reach", "f8"), ("noise", "f8"), ("hold", "u4"), ("centre", "u1")],
    align=True,
)


@inline
def _intercept(x, y, vx, vy):  # type: ignore[no-untyped-def]
    """Height at which a ball that flies to the left reaches the goal line, by unfolding the reflections."""
    # x is seen in half widths and y in half heights, the two speeds in one unit: hence the court's proportions
    far = y + vy * ((x + EDGE) / -vx) * (WIDTH / HEIGHT)
    turns = (far + TOP) / (4.0 * TOP)
    far = (turns - np.floor(turns)) * 4.0 * TOP - TOP
    return far if far <= TOP else 2.0 * TOP - far


@row
def act_row(arrays, slot, agent, ply, obs, legal, position):  # type: ignore[no-untyped-def]
    """What one bot does. With branches: while one match is played for many steps they are predicted."""
    bots, seeds = arrays
    bot = bots[agent]
    made = np.int64(0)
    if bot.style == RANDOM:
        made = np.int64(draw(seeds[slot], MOVE, 0, ply // bot.hold, 0) % np.uint64(3))
    elif bot.style != STILL:
        x, y, vx = float(obs[1]), float(obs[2]), float(obs[3])
        tracks = bot.style == TRACKER
        coming = vx < 0.0
        wants = (x <= 2.0 * bot.reach - 1.0) and (coming or tracks)
        aim = 0.0
        if wants:
            aim = y if tracks else _intercept(x, y, vx, float(obs[4]))
            if bot.noise > 0.0:
                # what stays the same while a ball flies is where it will arrive: so one shot has one error
                shot = uint32(np.int64(aim * 16.0) + np.int64(1000))
                aim += bot.noise * (2.0 * unit(draw(seeds[slot], ERROR, 0, shot, 0)) - 1.0)
        if wants or (bot.centre != 0 and not coming):
            off = float(obs[0]) - aim
            if off > bot.dead_zone:
                made = np.int64(UP)
            elif off < -bot.dead_zone:
                made = np.int64(DOWN)
    return made


@bare
def _act(arrays, agents, slots, plies, obs, out):  # type: ignore[no-untyped-def]
    for i in range(out.size):
        out[i] = act_row(arrays, slots[i], agents[i], plies[i], obs[i], None, None)


class PongPilot:
    """Plays every scripted Pong agent of a group of lanes."""

    capacity = None
    act_row = staticmethod(act_row)
    observes = True

    def __init__(self, game: Game, slots: int) -> None:
        self._bots = np.zeros(0, PARAMETERS)
        self._seeds: Seeds = np.zeros(slots, np.uint64)
        self._out: Ints = np.zeros(slots, np.int64)

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        return self._bots, self._seeds

    def load(self, agent: AgentSpec) -> int:
        bot = parse_bot(agent.payload)
        row = (STYLES.index(bot.style), bot.dead_zone, bot.reach, bot.noise, bot.hold, bot.centre)
        self._bots = np.append(self._bots, np.array([row], PARAMETERS))
        return len(self._bots) - 1

    def begin(self, slots: Indices, agents: Indices, seeds: Seeds) -> None:
        self._seeds[slots] = seeds

    def act(self, views: Views) -> Ints:
        out = self._out[: len(views)]
        _act(self.arrays, views.agents, views.slots, views.plies, views.obs, out)
        return out

    def end(self, slots: Indices, results: Sequence[MatchResult] | None) -> None:
        pass

    def close(self) -> None:
        pass


KIND = BOTS.kind(Pong.name, PongPilot, SAMPLES)
