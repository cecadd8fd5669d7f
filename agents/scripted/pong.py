"""Scripted Pong players, evaluated in one compiled call.

They use the same eight observations as every agent, and know the proportions of the court but not the game's options.
Payload: JSON such as {"style": "tracker", "dead_zone": 0.03}; missing parameters have their defaults.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import uint32
from numpy.typing import NDArray

from agents.scripted.base import BotFamily
from engine.game import Game, Indices, Ints, Seeds, Views
from engine.games.pong.game import DOWN, GOAL_X, UP, WALL_Y, Pong
from engine.games.pong.scene import HEIGHT, WIDTH
from engine.kernels import bare, inline, row
from engine.options import option
from engine.play.match import AgentSpec, MatchResult
from engine.seeding import draw, purpose, unit

STYLES = ("still", "random", "tracker", "predictor")
STILL, RANDOM, TRACKER, PREDICTOR = range(4)
MOVE, ERROR = purpose("pong-bot.move"), purpose("pong-bot.error")
EDGE = GOAL_X * 2.0 / WIDTH  # the goal line in units of the observation
TOP = WALL_Y * 2.0 / HEIGHT  # the walls, likewise


@dataclass(frozen=True)
class Bot:
    """A style and its parameters; heights are in half courts, as in the observation."""

    style: str = option("tracker", choices=STYLES, help="strategy")
    dead_zone: float = option(
        0.05, low=0.0, high=1.0, help="distance from its aim at which it starts to move, in half courts"
    )
    reach: float = option(
        1.0, low=0.0, high=1.0, help="part of the court, from its own goal line, in which it reacts to the ball"
    )
    noise: float = option(0.0, low=0.0, high=2.0, help="largest error of its aim, drawn for each shot")
    hold: int = option(8, low=1, high=1000, help="random: steps for which it repeats an action")
    centre: bool = option(False, help="returns to the middle while the ball moves away")


BOTS = BotFamily("pong-bot", 1, Bot)
parse_bot, agent = BOTS.parse, BOTS.agent
SAMPLES = {
    "Still": Bot("still"),
    "Random": Bot("random"),
    "Lazy": Bot("tracker", dead_zone=0.16, reach=0.35),
    "Tracker": Bot("tracker", dead_zone=0.05),
    "Shaky": Bot("predictor", noise=0.22, centre=True),
    "Predictor": Bot("predictor", centre=True),
}
"""Ready-made bots, weakest first."""

PARAMETERS = np.dtype(
    [("style", "u1"), ("dead_zone", "f8"), ("reach", "f8"), ("noise", "f8"), ("hold", "u4"), ("centre", "u1")],
    align=True,
)


@inline
def _intercept(x, y, vx, vy):  # type: ignore[no-untyped-def]
    """Height at which a ball that flies to the left reaches the goal line, by unfolding the reflections."""
    # x is in half widths and y in half heights, but both speeds are in one unit: hence WIDTH / HEIGHT
    far = y + vy * ((x + EDGE) / -vx) * (WIDTH / HEIGHT)
    turns = (far + TOP) / (4.0 * TOP)
    far = (turns - np.floor(turns)) * 4.0 * TOP - TOP
    return far if far <= TOP else 2.0 * TOP - far


@row
def act_row(arrays, slot, agent, ply, obs, legal, position):  # type: ignore[no-untyped-def]
    """The action of one bot. Branches are cheap: over many steps of one match they are predicted."""
    bots, seeds = arrays
    bot = bots[agent]
    action = np.int64(0)
    if bot.style == RANDOM:
        action = np.int64(draw(seeds[slot], MOVE, 0, ply // bot.hold, 0) % np.uint64(3))
    elif bot.style != STILL:
        x, y, vx = float(obs[1]), float(obs[2]), float(obs[3])
        tracks = bot.style == TRACKER
        coming = vx < 0.0
        aims = (x <= 2.0 * bot.reach - 1.0) and (coming or tracks)
        aim = 0.0
        if aims:
            aim = y if tracks else _intercept(x, y, vx, float(obs[4]))
            if bot.noise > 0.0:
                # the point of arrival is constant while a ball flies: so one shot has one error
                shot = uint32(np.int64(aim * 16.0) + np.int64(1000))
                aim += bot.noise * (2.0 * unit(draw(seeds[slot], ERROR, 0, shot, 0)) - 1.0)
        if aims or (bot.centre != 0 and not coming):
            off = float(obs[0]) - aim
            if off > bot.dead_zone:
                action = np.int64(UP)
            elif off < -bot.dead_zone:
                action = np.int64(DOWN)
    return action


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
