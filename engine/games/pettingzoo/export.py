"""Our games as PettingZoo environments: each environment holds one board.

A game in which all remaining seats act at every step becomes a `ParallelEnv`, any other game an `AECEnv`. If several
seats act in one step of an `AECEnv`, the board moves after the last of them, so none sees the others' choices.
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
RENDER_HEIGHT = 600  # of an image, in pixels
LARGEST_FLOAT = float(np.finfo(np.float32).max)  # for games without `bounds`: PettingZoo warns about infinity


def export(game: Game, render_mode: str | None) -> Any:
    if render_mode is not None and render_mode not in MODES:
        raise BadValue("render_mode", render_mode, f"{', '.join(map(repr, MODES))} or None")
    return ExportedParallelEnv(game, render_mode) if _parallel(game.info) else ExportedAecEnv(game, render_mode)


class ExportedEnv:
    """Common parts of both kinds: board, agents, seeds and rendering."""

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
        self._zero_rewards = dict.fromkeys(self.possible_agents, 0.0)
        self._all_false = dict.fromkeys(self.possible_agents, False)
        self._boards = game.boards(1)
        self._lane = np.zeros(1, np.uint32)
        self._lanes = np.zeros(info.seats, np.uint32)
        self._seats = np.arange(info.seats, dtype=np.uint32)
        self._actions: Ints = np.zeros((1, info.seats), np.int64)
        self._shape = (info.seats, *info.observation)
        self._scores = [0.0] * info.seats
        self._seed: int | None = None  # the last seed passed to reset()
        self._deal_count = 0  # resets since then
        self._painter: Painter | None = None

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles: everything except the painter, which may own a window."""
        return vars(self) | {"_painter": None}

    def observation_space(self, agent: str) -> Any:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        return self.action_spaces[agent]

    def render(self) -> Any:
        if self.render_mode is None:
            logger.warn("render() needs an environment with render_mode = " + ", ".join(MODES))
            return None
        if self._seed is None:
            raise NotNow("call reset() before render()")
        scene = self._boards.scene(0)
        if self.render_mode == "ansi":
            return scene.caption
        if self._painter is None:
            self._painter = _painter()
        if self.render_mode == "rgb_array":
            return self._painter.picture(scene, RENDER_HEIGHT)
        return self._painter.show(scene, self.game.info.title, self.game.info.pace)

    def close(self) -> None:
        painter, self._painter = self._painter, None
        if painter is not None:
            painter.close()

    def _observation_space(self) -> Any:
        info = self.game.info
        low, high = info.bounds or (-LARGEST_FLOAT, LARGEST_FLOAT)
        observation = spaces.Box(low, high, info.observation, np.float32)
        if not info.masked:
            return observation
        return spaces.Dict({"observation": observation, "action_mask": spaces.Box(0, 1, (info.actions,), np.int8)})

    def _deal(self, seed: int | None, options: Mapping[str, Any] | None) -> None:
        """Deal the match of this seed; without a seed, the next match derived from the last one."""
        given = {} if options is None else options
        if not isinstance(given, Mapping):
            raise BadValue("options", options, "a dict, or None")
        for name in given:
            if name != "start":  # only a warning: PettingZoo's own tests pass unknown options
                logger.warn(f"reset() ignores the option {name!r}; it accepts only 'start'")
        start = given.get("start")
        self.game.check_start(start)
        if seed is not None:
            self._seed, self._deal_count = _checked_seed(seed), 0
        elif self._seed is None:
            self._seed = secrets.randbits(64)
        dealt = derive("pettingzoo", self._seed, self._deal_count) if seed is None else self._seed
        self._deal_count += 1
        self._boards.deal(self._lane, np.array([dealt], np.uint64), [start])
        self._scores = self._boards.scores()[0].tolist()
        self.agents = self.possible_agents[:]

    def _observations(self) -> dict[str, Any]:
        """The observations of all agents, in new arrays."""
        out: Observations = np.empty(self._shape, np.float32)
        self._boards.observe(self._lanes, self._seats, out)
        if not self._masked:
            return {agent: out[seat] for agent, seat in self._seat.items()}  # zip(strict=True) is 3 times slower
        legal = self._legal().view(np.int8)
        return {agent: {"observation": out[seat], "action_mask": legal[seat]} for agent, seat in self._seat.items()}

    def _legal(self) -> Bools:
        """[seats, actions]; all False for seats that do not act."""
        legal: Bools = np.zeros((len(self._seats), self._count), np.bool_)
        acting = np.flatnonzero(self._boards.acting()[0]).astype(np.uint32)
        if acting.size:
            rows: Bools = np.zeros((acting.size, self._count), np.bool_)
            self._boards.legal(self._lanes[: acting.size], acting, rows)
            legal[acting] = rows
        return legal

    def _set_action(self, seat: int, action: Any) -> None:
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
            choices = ", ".join(map(str, np.flatnonzero(legal[seat])))
            raise BadValue(f"action of player_{seat}", action, f"legal according to action_mask: {choices}")

    def _apply(self) -> tuple[dict[str, float], int]:
        """Apply the actions; returns the rewards and the value of `Boards.over`."""
        boards, before = self._boards, self._scores
        boards.apply(self._lane, self._actions)
        self._scores = now = boards.scores().tolist()[0]
        if now == before:
            return (
                self._zero_rewards.copy(),
                boards.over().item(),
            )  # building a new dict takes five times as long
        return {agent: now[seat] - before[seat] for agent, seat in self._seat.items()}, boards.over().item()

    def _final_infos(self, over: int) -> dict[str, dict[str, Any]]:
        """The infos at the end: score, rank and statistics."""
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


class ExportedParallelEnv(ExportedEnv, ParallelEnv):  # type: ignore[misc]
    """Every remaining agent acts at every step."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        self._deal(seed, options)
        self.agents = self._acting_agents()
        if self.render_mode == "human":
            self.render()
        observations = self._observations()
        return {agent: observations[agent] for agent in self.agents}, {agent: {} for agent in self.agents}

    def step(self, actions: Mapping[str, Any]) -> tuple[Any, Any, Any, Any, Any]:
        agents = self.agents
        if not agents:
            if self._seed is None:
                raise NotNow("call reset() before step()")
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
                self._set_action(seats[agent], action)
        if self._masked:
            legal = self._legal()
            for agent in agents:
                self._check_legal(seats[agent], legal)
        rewards, over = self._apply()
        if over:
            self.agents = []
        elif not self.game.info.simultaneous:
            self.agents = self._acting_agents()
        if self.render_mode == "human":
            self.render()
        observations = self._observations()
        if len(agents) < len(seats):  # agents that left earlier are not reported
            observations, rewards = ({agent: part[agent] for agent in agents} for part in (observations, rewards))
        if over:
            infos = self._final_infos(over)
            cut = over == 2
            gone = dict.fromkeys(agents, not cut), dict.fromkeys(agents, cut), {agent: infos[agent] for agent in agents}
            return observations, rewards, *gone
        all_stay = len(self.agents) == len(seats)
        left = self._all_false.copy() if all_stay else {agent: agent not in self.agents for agent in agents}
        return observations, rewards, left, dict.fromkeys(agents, False), {agent: {} for agent in agents}

    def _acting_agents(self) -> list[str]:
        """The agents that act now; an agent that left does not return."""
        return [agent for agent, acts in zip(self.possible_agents, self._boards.acting()[0], strict=True) if acts]


class ExportedAecEnv(ExportedEnv, AECEnv):  # type: ignore[misc]
    """Agents act one after the other."""

    agent_selection: str

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        self._deal(seed, options)
        self._skip_agent_selection = None
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self._update_status(int(self._boards.over()[0]))
        self._select_agent()
        if self.render_mode == "human":
            self.render()

    def step(self, action: Any) -> None:
        self._require_turn("step")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        seat = self._seat[agent]
        self._set_action(seat, action)
        if self._masked:
            self._check_legal(seat, self._legal())
        self._cumulative_rewards[agent] = 0.0
        self._waiting_for.pop(0)
        if self._waiting_for:
            self._clear_rewards()
            self.agent_selection = self.possible_agents[self._waiting_for[0]]
            return
        self.rewards, over = self._apply()
        self._accumulate_rewards()
        self._update_status(over)
        self._select_agent()
        if self.render_mode == "human":
            self.render()

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self._require_turn("last")
        found: tuple[Any, float, bool, bool, dict[str, Any]] = super().last(observe)
        return found

    def observe(self, agent: str) -> Any:
        if self._seed is None:
            raise NotNow("call reset() before observe()")
        seat = self._seat[agent]
        out: Observations = np.empty((1, *self._shape[1:]), np.float32)
        self._boards.observe(self._lane, self._seats[seat : seat + 1], out)
        if not self._masked:
            return out[0]
        return {"observation": out[0], "action_mask": self._legal()[seat].view(np.int8)}

    def _require_turn(self, method: str) -> None:
        if self._seed is None:
            raise NotNow(f"call reset() before {method}()")
        if not self.agents:
            raise NotNow(f"the match is over: call reset() before {method}()")

    def _update_status(self, over: int) -> None:
        self.terminations = dict.fromkeys(self.agents, over in (1, 3))
        self.truncations = dict.fromkeys(self.agents, over == 2)
        self.infos = self._final_infos(over) if over else {agent: {} for agent in self.agents}

    def _select_agent(self) -> None:
        """Select the next agent: the first acting seat, or seat 0 when the match is over."""
        self._waiting_for = np.flatnonzero(self._boards.acting()[0]).tolist()
        self.agent_selection = self.possible_agents[self._waiting_for[0] if self._waiting_for else 0]


def _parallel(info: GameInfo) -> bool:
    return info.simultaneous or info.together


def _environment_name(spec: GameSpec) -> str:
    """The name with a version suffix, as in PettingZoo; an imported environment keeps its own name."""
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
    raise BrokenPlugin("no painter is installed: only render_mode = 'ansi' works")
