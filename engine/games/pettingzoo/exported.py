"""Our games as environments of PettingZoo: one board, moved by whatever training code there is.

All seats that act at once answer at once (`ParallelEnv`) where the game is simultaneous, or all who are left in it act
together. Otherwise they are asked one after the other (`AECEnv`), and the board moves when all have answered: nobody
sees what another has just chosen.
"""

from __future__ import annotations

import operator
import re
import secrets
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import logger, spaces
from pettingzoo import AECEnv, ParallelEnv

from engine.errors import BadValue, BrokenPlugin, NotNow
from engine.game import Bools, Game, GameInfo, Ints, Observations, Painter
from engine.play.match import SEED_LIMIT, GameSpec
from engine.registry import PAINTERS
from engine.seeding import derive

MODES = ("human", "rgb_array", "ansi")
VERSIONED = re.compile(r".+_v[0-9]+")
HEIGHT = 600  # of a picture
FAR = float(np.finfo(np.float32).max)  # where a game has no `bounds`: PettingZoo shuns infinity


def export(game: Game, render_mode: str | None) -> Any:
    if render_mode is not None and render_mode not in MODES:
        raise BadValue("render_mode", render_mode, f"{', '.join(map(repr, MODES))} or None")
    return ParallelBoard(game, render_mode) if _parallel(game.info) else TurnBoard(game, render_mode)


class Exported:
    """What both kinds share: the board, its seats as agents, the seeds and the pictures."""

    agents: list[str]

    def __init__(self, game: Game, render_mode: str | None) -> None:
        info = game.info
        self.game, self.render_mode = game, render_mode
        self.possible_agents = [f"player_{seat}" for seat in range(info.seats)]
        self.agents = []
        self.metadata = {
            "name": _environment_name(game.spec),
            "render_modes": list(MODES),
            "render_fps": info.pace,
            "is_parallelizable": _parallel(info),
        }
        self.observation_spaces = {agent: self._observation_space() for agent in self.possible_agents}
        self.action_spaces = {agent: spaces.Discrete(info.actions) for agent in self.possible_agents}
        self._masked, self._count = info.masked, info.actions
        self._seat = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self._nothing = dict.fromkeys(self.possible_agents, 0.0)
        self._no = dict.fromkeys(self.possible_agents, False)
        self._boards = game.boards(1)
        self._lane = np.zeros(1, np.uint32)
        self._lanes = np.zeros(info.seats, np.uint32)
        self._seats = np.arange(info.seats, dtype=np.uint32)
        self._actions: Ints = np.zeros((1, info.seats), np.int64)
        self._shape = (info.seats, *info.observation)
        self._scores = [0.0] * info.seats
        self._seed: int | None = None  # the last one given
        self._deals = 0  # since then
        self._painter: Painter | None = None

    def __getstate__(self) -> dict[str, Any]:
        """For copies, here and in other processes: all but what draws, which may hold a window."""
        return vars(self) | {"_painter": None}

    def observation_space(self, agent: str) -> Any:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        return self.action_spaces[agent]

    def render(self) -> Any:
        if self.render_mode is None:
            logger.warn("There is nothing to render: make the environment with render_mode = " + ", ".join(MODES))
            return None
        if self._seed is None:
            raise NotNow("there is nothing to render before reset()")
        scene = self._boards.scene(0)
        if self.render_mode == "ansi":
            return scene.caption
        if self._painter is None:
            self._painter = _painter()
        if self.render_mode == "rgb_array":
            return self._painter.picture(scene, HEIGHT)
        return self._painter.show(scene, self.game.info.title, self.game.info.pace)

    def close(self) -> None:
        painter, self._painter = self._painter, None
        if painter is not None:
            painter.close()

    def _observation_space(self) -> Any:
        info = self.game.info
        low, high = info.bounds or (-FAR, FAR)
        seen = spaces.Box(low, high, info.observation, np.float32)
        if not info.masked:
            return seen
        return spaces.Dict({"observation": seen, "action_mask": spaces.Box(0, 1, (info.actions,), np.int8)})

    def _deal(self, seed: int | None, options: Mapping[str, Any] | None) -> None:
        """The match of this seed; without one, the next of those that follow from the last seed given."""
        given = {} if options is None else options
        if not isinstance(given, Mapping):
            raise BadValue("options", options, "a dict, or None")
        for name in given:
            if name != "start":  # no error: PettingZoo's own tests give options that nobody knows
                logger.warn(f"reset() knows the option 'start' only: {name!r} does nothing")
        start = given.get("start")
        self.game.check_start(start)
        if seed is not None:
            self._seed, self._deals = _checked_seed(seed), 0
        elif self._seed is None:
            self._seed = secrets.randbits(64)
        dealt = derive("pettingzoo", self._seed, self._deals) if seed is None else self._seed
        self._deals += 1
        self._boards.deal(self._lane, np.array([dealt], np.uint64), [start])
        self._scores = self._boards.scores()[0].tolist()
        self.agents = self.possible_agents[:]

    def _observations(self) -> dict[str, Any]:
        """What everybody sees; the arrays are theirs to keep."""
        out: Observations = np.empty(self._shape, np.float32)
        self._boards.observe(self._lanes, self._seats, out)
        if not self._masked:
            return {agent: out[seat] for agent, seat in self._seat.items()}  # zip(strict=True) takes thrice as long
        legal = self._legal().view(np.int8)
        return {agent: {"observation": out[seat], "action_mask": legal[seat]} for agent, seat in self._seat.items()}

    def _legal(self) -> Bools:
        """[seats, actions]; nothing for those who do not move."""
        legal: Bools = np.zeros((len(self._seats), self._count), np.bool_)
        acting = np.flatnonzero(self._boards.acting()[0]).astype(np.uint32)
        if acting.size:
            rows: Bools = np.zeros((acting.size, self._count), np.bool_)
            self._boards.legal(self._lanes[: acting.size], acting, rows)
            legal[acting] = rows
        return legal

    def _take(self, seat: int, action: Any) -> None:
        try:
            number = operator.index(action)
        except TypeError:
            number = -1
        if not 0 <= number < self._count:
            raise BadValue(f"action of player_{seat}", action, f"a whole number from 0 to {self._count - 1}")
        self._actions[0, seat] = number

    def _check_legal(self, seat: int, legal: Bools) -> None:
        action = int(self._actions[0, seat])
        if not legal[seat, action]:
            told = ", ".join(map(str, np.flatnonzero(legal[seat])))
            raise BadValue(f"action of player_{seat}", action, f"a legal one, as action_mask says: {told}")

    def _move(self) -> tuple[dict[str, float], int]:
        """The rewards, and whether it is over: as `Boards.over` says it."""
        boards, before = self._boards, self._scores
        boards.apply(self._lane, self._actions)
        self._scores = now = boards.scores().tolist()[0]
        if now == before:
            return self._nothing.copy(), boards.over().item()  # copies, because a new dict takes five times as long
        return {agent: now[seat] - before[seat] for agent, seat in self._seat.items()}, boards.over().item()

    def _endings(self, over: int) -> dict[str, dict[str, Any]]:
        """What there is to say at the end: the statistics, and who came where."""
        stats = self._boards.stats(self._lane)[0].tolist()
        scores, names = self._scores, self.game.info.stats
        return {
            agent: {
                "score": scores[seat],
                "rank": 1 + sum(other > scores[seat] for other in scores),
                "no_contest": over == 3,
                "stats": dict(zip(names, stats[seat], strict=True)),
            }
            for agent, seat in self._seat.items()
        }


class ParallelBoard(Exported, ParallelEnv):  # type: ignore[misc]
    """Every seat that is left acts at every step."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        self._deal(seed, options)
        self.agents = self._left()
        if self.render_mode == "human":
            self.render()
        seen = self._observations()
        return {agent: seen[agent] for agent in self.agents}, {agent: {} for agent in self.agents}

    def step(self, actions: Mapping[str, Any]) -> tuple[Any, Any, Any, Any, Any]:
        agents = self.agents
        if not agents:
            if self._seed is None:
                raise NotNow("reset() comes before step()")
            return {}, {}, {}, {}, {}
        row, count, seats = self._actions, self._count, self._seat
        for agent in agents:
            try:
                action = actions[agent]
            except KeyError:
                raise BadValue("actions", sorted(actions), f"one for each of {', '.join(agents)}") from None
            if type(action) is int and 0 <= action < count:
                row[0, seats[agent]] = action
            else:
                self._take(seats[agent], action)
        if self._masked:
            legal = self._legal()
            for agent in agents:
                self._check_legal(seats[agent], legal)
        rewards, over = self._move()
        if over:
            self.agents = []
        elif not self.game.info.simultaneous:
            self.agents = self._left()
        if self.render_mode == "human":
            self.render()
        seen = self._observations()
        if len(agents) < len(seats):  # of those who left before there is nothing to say
            seen, rewards = ({agent: part[agent] for agent in agents} for part in (seen, rewards))
        if over:
            told = self._endings(over)
            cut = over == 2
            gone = dict.fromkeys(agents, not cut), dict.fromkeys(agents, cut), {agent: told[agent] for agent in agents}
            return seen, rewards, *gone
        all_stay = len(self.agents) == len(seats)
        left = self._no.copy() if all_stay else {agent: agent not in self.agents for agent in agents}
        return seen, rewards, left, dict.fromkeys(agents, False), {agent: {} for agent in agents}

    def _left(self) -> list[str]:
        """Who acts now; nobody comes back."""
        return [agent for agent, acts in zip(self.possible_agents, self._boards.acting()[0], strict=True) if acts]


class TurnBoard(Exported, AECEnv):  # type: ignore[misc]
    """One seat after the other."""

    agent_selection: str

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        self._deal(seed, options)
        self._skip_agent_selection = None
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self._tell(int(self._boards.over()[0]))
        self._ask()
        if self.render_mode == "human":
            self.render()

    def step(self, action: Any) -> None:
        self._require_turn("step")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        seat = self._seat[agent]
        self._take(seat, action)
        if self._masked:
            self._check_legal(seat, self._legal())
        self._cumulative_rewards[agent] = 0.0
        self._asked.pop(0)
        if self._asked:
            self._clear_rewards()
            self.agent_selection = self.possible_agents[self._asked[0]]
            return
        self.rewards, over = self._move()
        self._accumulate_rewards()
        self._tell(over)
        self._ask()
        if self.render_mode == "human":
            self.render()

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._require_turn("last")
        found: tuple[Any, float, bool, bool, dict[str, Any]] = super().last(observe)
        return found

    def observe(self, agent: str) -> Any:
        if self._seed is None:
            raise NotNow("reset() comes before observe()")
        seat = self._seat[agent]
        out: Observations = np.empty((1, *self._shape[1:]), np.float32)
        self._boards.observe(self._lane, self._seats[seat : seat + 1], out)
        if not self._masked:
            return out[0]
        return {"observation": out[0], "action_mask": self._legal()[seat].view(np.int8)}

    def _require_turn(self, asked: str) -> None:
        if self._seed is None:
            raise NotNow(f"reset() comes before {asked}()")
        if not self.agents:
            raise NotNow(f"the match is over, and {asked}() has nobody to ask: reset() begins another")

    def _tell(self, over: int) -> None:
        self.terminations = dict.fromkeys(self.agents, over in (1, 3))
        self.truncations = dict.fromkeys(self.agents, over == 2)
        self.infos = self._endings(over) if over else {agent: {} for agent in self.agents}

    def _ask(self) -> None:
        """Whose answers the board waits for; when it is over, everybody is seen off in the order of the seats."""
        self._asked = np.flatnonzero(self._boards.acting()[0]).tolist()
        self.agent_selection = self.possible_agents[self._asked[0] if self._asked else 0]


def _parallel(info: GameInfo) -> bool:
    return info.simultaneous or info.together


def _environment_name(spec: GameSpec) -> str:
    """As PettingZoo names them, with a version at the end; one that came from there has its own."""
    own = spec.name.rpartition(":")[2]
    return own if VERSIONED.fullmatch(own) else f"{own}_v{spec.version}"


def _checked_seed(seed: Any) -> int:
    try:
        number = operator.index(seed)
    except TypeError:
        number = -1
    if not 0 <= number < SEED_LIMIT:
        raise BadValue("seed", seed, "a whole number from 0 to 2**64 - 1, or None")
    return number


def _painter() -> Painter:
    for make in PAINTERS.working().values():
        return make()
    raise BrokenPlugin("nothing that draws scenes is installed: only render_mode = 'ansi' works")
