"""Plays one match on each lane with learning and frozen agents, and hands out what the learning ones experienced.

Agents are observed and asked one after the other, or all in one call of `Boards.observe` and one of their pilot. A row
of a pilot never depends on the other rows, so both give the same actions. The game executes them in its own order.

If some actions are illegal, an agent that explores may draw one of them. A legal one is executed in its place, always
the same for the same legal actions, but the agent remembers the drawn one: so it learns that both have the same value,
and a learner may take the best of all actions, whether they are legal or not.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from agents.training.independent.ends import End
from agents.training.independent.exploration import draws, explore, starts_of
from engine.closing import Closing
from engine.errors import BadValue, PolicyFailed
from engine.foreign_code import INTERRUPTS
from engine.game import Boards, Bools, Floats, Game, Indices, Ints, Observations, Policy, Seeds, Views
from engine.play.agent_errors import describe_error, describe_illegal
from engine.play.guarded_boards import GuardedBoards
from engine.play.lane_kernels import AGENT_SEED
from engine.play.match import AgentSpec
from engine.play.pilots import LoadedPilot, PilotPool
from engine.play.rollout_rewards import weighted_scores, weights_of
from engine.registry import kind_of

NO_ACTION = -1  # of a seat that has left the match, and on a lane whose match is over
SLOT, LANE, SEAT, AGENT, PLY = range(5)  # rows of `Views`


class Turn(NamedTuple):
    """What the learning agents saw, did and got in one turn; the arrays are valid until the next turn."""

    obs: Sequence[Observations]  # of each learner: [lanes, ...]
    actions: Ints  # [learners, lanes]: as the agent remembers them; NO_ACTION where it did not act
    rewards: NDArray[np.float32]  # [learners, lanes]
    ends: NDArray[np.int8]  # [learners, lanes]: how the match of that agent ended with this turn


class _Group(NamedTuple):
    """Seats that are asked in one call of a pilot."""

    loaded: LoadedPilot
    rows: Indices  # as in `Views`, for all lanes: those of the first seat, then those of the next
    obs: Observations  # [rows, ...]
    epsilons: Floats  # by row; empty for frozen agents


class Actor(Closing):
    """Boards in lanes and the agents at their seats. Call `begin`, then `take_turn` while it is `running`."""

    def __init__(
        self,
        game: Game,
        players: Sequence[AgentSpec],
        learners: Sequence[int],
        lanes: int,
        *,
        together: bool,
        rewards: Mapping[str, float] | None = None,
        reward_scale: float = 1.0,
        match_steps: int = 0,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """`players` by seat; `learners` are the seats that explore and whose turns are handed out. `together`: one call
        for all of them. `rewards`: weights of statistics and measures. `match_steps`: limit of a match, 0 for none."""
        self.game, self._info, self._lanes, self._learners = game, game.info, lanes, tuple(learners)
        self.boards = cast(Boards, GuardedBoards(game, lanes))
        self._weights, self._scale = weights_of(game, rewards or {}), reward_scale
        self._limit, self._clock = match_steps or 2**32 - 1, clock
        self.acting_seconds = 0.0  # spent on observing and asking agents
        self._pilots = PilotPool(game, lanes * game.info.seats)
        self._all: Indices = np.arange(lanes, dtype=np.uint32)
        self._places: list[int] = []  # of the learners in `_obs`
        self._obs = np.zeros((len(learners), lanes, *game.info.observation), np.float32)
        self._seats: list[tuple[LoadedPilot, int]] = []  # by seat: its pilot and the pilot's number for the agent
        self._names = [player.id for player in players]
        for player in players:
            self._seats.append(self._load(player))
        self._groups = self._grouped(together)
        self._plies: Indices = np.zeros(lanes, np.uint32)
        self._starts: Seeds = np.zeros(lanes, np.uint64)
        self._actions: Ints = np.full((lanes, game.info.seats), NO_ACTION, np.int64)
        self._remembered: Ints = np.full_like(self._actions, NO_ACTION)
        self._acting: Bools = np.zeros((lanes, game.info.seats), np.bool_)
        self._totals: Floats = np.zeros((lanes, game.info.seats))
        self._began = False

    def _load(self, player: AgentSpec) -> tuple[LoadedPilot, int]:
        kind = kind_of(player)
        if kind.live or not kind.plays(self.game):
            raise BadValue("agent", player.id, f"one that plays {self.game.spec.name} without a person")
        if kind.admit is not None:
            kind.admit(player)
        loaded = self._pilots.pilot_of(player)
        return loaded, loaded.number(player)

    def _grouped(self, together: bool) -> list[_Group]:
        """One group for each learning agent, or one for all of a kind; then one for the frozen agents of each kind."""
        pilot_of = [loaded.index for loaded, _ in self._seats]
        order = sorted(self._learners, key=lambda seat: pilot_of[seat])  # agents of a kind are neighbours in memory
        self._places = [order.index(seat) for seat in self._learners]
        wanted = _runs(order, pilot_of) if together else [[seat] for seat in order]
        groups: list[_Group] = []
        for seats in wanted:
            first = order.index(seats[0])
            obs = self._obs[first : first + len(seats)].reshape(-1, *self._info.observation)
            groups.append(self._group(seats, obs, learns=True))
        frozen = [seat for seat in range(self._info.seats) if seat not in self._learners]
        for seats in _runs(sorted(frozen, key=lambda seat: pilot_of[seat]), pilot_of):
            obs = np.zeros((len(seats) * self._lanes, *self._info.observation), np.float32)
            groups.append(self._group(seats, obs, learns=False))
        return groups

    def _group(self, seats: Sequence[int], obs: Observations, learns: bool) -> _Group:
        rows = np.zeros((5, len(seats) * self._lanes), np.uint32)
        rows[LANE] = np.tile(self._all, len(seats))
        rows[SEAT] = np.repeat(np.array(seats, np.uint32), self._lanes)
        rows[SLOT] = rows[LANE] * self._info.seats + rows[SEAT]
        rows[AGENT] = np.repeat(np.array([self._seats[seat][1] for seat in seats], np.uint32), self._lanes)
        return _Group(self._seats[seats[0]][0], rows, obs, np.zeros(rows.shape[1] if learns else 0))

    def replace(self, seat: int, player: AgentSpec) -> None:
        """New weights of a network; they play from the next turn on."""
        loaded, number = self._seats[seat]
        cast(Policy, loaded.pilot).replace(number, player)

    def begin(self, seeds: Seeds, epsilons: Sequence[float] = ()) -> None:
        """Deals a match on every lane. `epsilons` of the learning agents; none: they do not explore."""
        self._end()
        self.boards.deal(self._all, seeds, [None] * self._lanes)
        self._plies[:] = 0
        self._starts = starts_of(seeds)
        by_seat = dict(zip(self._learners, epsilons or [0.0] * len(self._learners), strict=True))
        for group in self._groups:
            slots, lanes, seats, agents, _ = group.rows
            own = draws(starts_of(seeds, AGENT_SEED)[lanes], seats, group.rows[PLY] * 0, 0)  # as in a league match
            self._call(group, group.loaded.pilot.begin, slots, agents, own)
            if group.epsilons.size:
                group.epsilons[:] = [by_seat[seat] for seat in seats.tolist()]
        self._began = True
        self._acting = self.boards.acting().copy()
        self._totals = weighted_scores(self.boards, self._info, self._weights, self._all)

    @property
    def running(self) -> bool:
        """Whether a match goes on."""
        return bool(self._acting.any())

    @property
    def scores(self) -> Floats:
        """[lanes, seats]"""
        return self.boards.scores()

    def take_turn(self) -> Turn:
        """Plays one turn on every lane whose match goes on."""
        live = np.flatnonzero(self._acting.any(axis=1)).astype(np.uint32)
        whole = bool(self._acting.all())
        self._actions.fill(NO_ACTION)
        self._remembered.fill(NO_ACTION)
        began = self._clock()
        for group in self._groups:
            self._ask(group, whole)
        self.acting_seconds += self._clock() - began
        acted = self._acting
        self.boards.apply(live, self._actions)
        self._plies[live] += np.uint32(1)
        totals = weighted_scores(self.boards, self._info, self._weights, self._all)
        ends = self._finish(acted)
        mine = list(self._learners)
        rewards = (totals - self._totals)[:, mine] * self._scale
        if not np.isfinite(rewards).all():
            raise BadValue("rewards", "nan or inf", f"finite numbers: check the scores of {self.game.spec.name}")
        self._totals = totals
        obs = [self._obs[place] for place in self._places]
        return Turn(obs, self._remembered[:, mine].T, rewards.T.astype(np.float32), ends[:, mine].T)

    def _ask(self, group: _Group, whole: bool) -> None:
        """Observes and asks the seats of a group, and notes their actions."""
        rows, obs, epsilons = group.rows, group.obs, group.epsilons
        rows[PLY] = self._plies[rows[LANE]]
        if not whole:
            chosen = np.flatnonzero(self._acting[rows[LANE], rows[SEAT]])
            rows, obs = rows[:, chosen], np.zeros((chosen.size, *obs.shape[1:]), np.float32)
            epsilons = epsilons[chosen] if epsilons.size else epsilons
            group.obs.fill(0.0)  # nothing of an earlier match stays, so that buffers are the same after a resume
        if not len(obs):
            return
        _, lanes, seats, _, plies = rows
        legal = self._legal(lanes, seats)
        views = Views(self.boards, rows, obs, legal)
        actions = self._call(group, group.loaded.pilot.act, views)
        for row in np.flatnonzero(~_are_legal(actions, legal, self._info.actions)).tolist():
            raise PolicyFailed(f"{self._names[seats[row]]!r} {describe_illegal(int(actions[row]), self._info.actions)}")
        if epsilons.size:
            explore(actions, self._starts[lanes], seats, plies, epsilons, self._info.actions)
            seen = views.obs  # computed here unless the pilot has read it
            if not whole:
                group.obs[chosen] = seen
        self._remembered[lanes, seats] = actions
        self._actions[lanes, seats] = actions if legal is None else made_legal(actions, legal)

    def _legal(self, lanes: Indices, seats: Indices) -> Bools | None:
        """The legal actions of each row; None if all are."""
        if not self._info.masked:
            return None
        legal: Bools = np.zeros((len(lanes), self._info.actions), np.bool_)
        self.boards.legal(lanes, seats, legal)
        return legal

    def _finish(self, acted: Bools) -> NDArray[np.int8]:
        """[lanes, seats]: how this turn ended the match of those who acted in it."""
        over = self.boards.over()
        limited = (over == 0) & (self._plies >= self._limit) & acted.any(axis=1)
        going = (over == 0) & ~limited
        self._acting = self.boards.acting() & going[:, None]
        cut = (over == End.TRUNCATED) | limited
        ends = np.where(cut, End.TRUNCATED, End.TERMINATED)[:, None]  # no contest is an end too
        return np.where(acted & ~self._acting, ends, End.NONE).astype(np.int8)  # one that leaves early has ended

    def _call(self, group: _Group, call: Callable[..., Any], *arguments: Any) -> Any:
        """Runs code of agents, which may raise anything."""
        try:
            return call(*arguments)
        except INTERRUPTS:
            raise
        except BaseException as error:
            if error is cast(GuardedBoards, self.boards).failure:
                raise
            names = ", ".join(self._names[seat] for seat in dict.fromkeys(group.rows[SEAT].tolist()))
            raise PolicyFailed(f"an agent failed ({names}): {describe_error(error)}") from error

    def _end(self) -> None:
        began, self._began = self._began, False
        for group in self._groups if began else ():
            self._call(group, group.loaded.pilot.end, group.rows[SLOT], None)

    def close(self) -> None:
        """Closes all pilots, also if one of them fails."""
        with ExitStack() as stack:
            for loaded in self._pilots:
                stack.callback(self._pilots.close, loaded)
            self._end()


def _runs(seats: Sequence[int], pilot_of: Sequence[int]) -> list[list[int]]:
    """The seats of each pilot; those of one pilot are neighbours in `seats`."""
    return [list(own) for _, own in itertools.groupby(seats, key=lambda seat: pilot_of[seat])]


def _are_legal(actions: Ints, legal: Bools | None, count: int) -> Bools:
    known = (actions >= 0) & (actions < count)
    return known if legal is None else known & legal[np.arange(len(actions)), np.clip(actions, 0, count - 1)]


def made_legal(actions: Ints, legal: Bools) -> Ints:
    """The actions, those that are illegal replaced by a legal one: of n legal ones, number `action` modulo n."""
    rows = np.arange(len(actions))
    order = np.argsort(~legal, axis=1, kind="stable")  # legal ones first, in ascending order
    others = order[rows, actions % legal.sum(axis=1)]
    return np.where(legal[rows, actions], actions, others)
