"""Trajectories for trainers: matches of compiled players, with the observations and actions of the learning ones.

A *stream* is a sequence of matches that are played one after the other on one lane. The trajectory of a stream depends
only on its plan and its agents, not on the other streams, the process, or where segments begin and end. So streams
can be distributed over any number of workers.

    def plan(stream, k):  # the k-th match of a stream
        return MatchSpec(f"{stream}.{k}", game.spec, (net, net), derive("train", stream, k))

    with Rollout(game, range(64), plan, learners=[net.id]) as rollout:
        segment = rollout.collect(128)  # segment.obs[stream, step, seat], segment.actions, segment.rewards, ...

`net` is an AgentSpec whose pilot has compiled policies, such as an `agents.nets.mlp.MlpPilot`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from engine.closing import Closing
from engine.errors import BadSpec, BadValue, PolicyFailed
from engine.game import (
    BROKEN,
    RESIGN,
    Boards,
    Bools,
    CompiledBoards,
    CompiledPilot,
    CompiledPolicy,
    Game,
    Indices,
    Ints,
    Observations,
    check_match,
)
from engine.play.driver import Player
from engine.play.guarded_boards import GuardedBoards
from engine.play.lane_kernels import SLOT, TICKED, slots_of
from engine.play.lane_log import LaneLog
from engine.play.match import AgentSpec, MatchResult, MatchSpec
from engine.play.pilots import LoadedPilot, PilotPool, describe_illegal
from engine.play.results import ResultSelection
from engine.play.rollout_driver import Policy, driver

Plan = Callable[[int, int], MatchSpec]  # (stream, k) -> the k-th match of that stream, from 0 on
EMPTY_LIMIT = 100  # matches of one stream in a row that are over before their first step


class Trajectories(NamedTuple):
    """One segment of every stream: [streams, steps, seats, ...].

    Observations and actions are recorded where `acted` is True and are 0 elsewhere. `rewards` are score differences,
    for every seat at every step. `bootstrap` is the value of a learning seat's observation after a step that truncated
    its match, or that ended the segment in mid-match, and 0 elsewhere: advantages need no further call of the network.
    """

    obs: Observations
    legal: Bools | None  # [..., actions]; None where every action is always legal
    actions: Ints
    log_probs: NDArray[np.float32]
    values: NDArray[np.float32]
    rewards: NDArray[np.float32]
    acted: Bools  # whether a learning agent acted
    ends: NDArray[np.int8]  # [streams, steps]: 0 running, 1 terminated, 2 truncated by rules or limit, 3 no contest
    bootstrap: NDArray[np.float32]
    results: tuple[MatchResult, ...]  # of matches that ended, without actions, stream by stream


class Seat(NamedTuple):
    """The player of a seat."""

    pilot: LoadedPilot
    agent: int  # the pilot's number
    learns: bool  # whether it is recorded


class Rollout(Closing):
    """Plays streams of matches, segment by segment, and returns their trajectories.

    `streams` are the numbers that are passed to `plan`, one for each row of the trajectories. `learners` are the ids of
    the agents that are recorded, by default all whose pilot is a `CompiledPolicy`. Every other player must be compiled
    too. A match that cannot be played raises BadSpec before it starts.
    """

    def __init__(self, game: Game, streams: Sequence[int], plan: Plan, learners: Collection[str] | None = None) -> None:
        lanes, seats, info = len(streams), game.info.seats, game.info
        self._game, self._streams, self._plan = game, tuple(streams), plan
        self._learners = None if learners is None else frozenset(learners)
        guarded = GuardedBoards(game, lanes)
        self._boards, self._raw = cast(Boards, guarded), cast(CompiledBoards, guarded.raw)
        if not hasattr(guarded.raw, "rows") or self._raw.rows.score_row is None:
            raise BadSpec(
                f"{game.spec.name} cannot be rolled out: its boards have no compiled `rows` with a `score_row`"
            )
        self._pilots = PilotPool(game, lanes * seats)
        self._lane_log = LaneLog(info, lanes, record=False, heartbeat=None)
        self._running = self._lane_log.lanes["running"]
        self._specs: list[MatchSpec | None] = [None] * lanes
        self._next = [0] * lanes  # by lane, the index of the next match of its stream
        self._slots = np.zeros(lanes * seats, SLOT)
        self._learning = np.zeros(lanes * seats, np.uint8)
        self._answers: Ints = np.zeros((lanes, seats), np.int64)
        self._ended: Indices = np.zeros(lanes, np.uint32)
        self._spare = np.zeros((seats, *info.observation), np.float32)
        self._legal = np.ones((seats, info.actions), np.uint8)
        self._scores, self._policy_out = np.zeros(seats), np.zeros(2, np.float32)

    def close(self) -> None:
        slots = slots_of(np.flatnonzero(self._running).tolist(), self._game.info.seats)
        self._running[:] = 0
        for loaded in self._pilots:
            mine = slots[self._slots["pilot"][slots] == loaded.index]
            if mine.size:
                loaded.pilot.end(mine, None)
            self._pilots.close(loaded)

    def replace(self, agent: AgentSpec) -> None:
        """Replace the weights of an agent, also in running matches. From now on the plan must use this spec."""
        self._pilots.replace(agent)

    def has_loaded(self, agent: AgentSpec) -> bool:
        """Whether an agent of this kind and id has played."""
        return self._pilots.has_loaded(agent)

    def collect(self, steps: int) -> Trajectories:
        """Play the next steps of every stream. Matches continue from call to call; the next one follows at once.

        An answer that is not a legal action raises PolicyFailed. The steps of this call are then lost, and the
        match is at the state before that step.
        """
        if steps < 1:
            raise BadValue("steps", steps, "at least 1")
        segment = self._blank(steps)
        filled: Ints = np.zeros(len(self._streams), np.int64)
        results: list[tuple[int, MatchResult]] = []
        while (live := np.flatnonzero(filled < steps).astype(np.uint32)).size:
            results += self._begin_next(live[self._running[live] == 0].tolist())
            loaded_pilots = sorted(
                (loaded for loaded in self._pilots if loaded.compiled), key=lambda loaded: loaded.kind.name
            )
            ends, failed = self._call(loaded_pilots, live, steps, filled, segment)
            results += self._pop_results(self._ended[:ends].tolist())
            if failed >= 0:
                raise PolicyFailed(self._failure(*divmod(failed, self._game.info.seats)))
        results.sort(key=lambda pair: pair[0])  # the sort is stable: within a stream they stay in order
        return segment._replace(results=tuple(result for _, result in results))

    def _blank(self, steps: int) -> Trajectories:
        info = self._game.info
        shape = (len(self._streams), steps, info.seats)
        floats = [np.zeros(shape, np.float32) for _ in range(4)]
        return Trajectories(
            obs=np.zeros((*shape, *info.observation), np.float32),
            legal=np.zeros((*shape, info.actions), np.bool_) if self._raw.rows.legal_row else None,
            actions=np.zeros(shape, np.int64),
            log_probs=floats[0],
            values=floats[1],
            rewards=floats[2],
            acted=np.zeros(shape, np.bool_),
            ends=np.zeros(shape[:2], np.int8),
            bootstrap=floats[3],
            results=(),
        )

    def _call(
        self, loaded_pilots: list[LoadedPilot], live: Indices, steps: int, filled: Ints, segment: Trajectories
    ) -> tuple[int, int]:
        """Play these lanes; returns how many matches have ended, and the slot whose answer is not legal, or -1."""
        pilots = [cast(CompiledPilot, loaded.pilot) for loaded in loaded_pilots]
        function = driver(self._game.info, self._raw.rows, tuple(_player(pilot) for pilot in pilots))
        indices = np.array([loaded.index for loaded in loaded_pilots], np.int32)
        masks = self._legal[:0].reshape(0, 0, 0, 0) if segment.legal is None else segment.legal.view(np.uint8)
        arguments: tuple[Any, ...] = (
            live, steps, filled, self._lane_log.lanes, self._slots, self._learning, indices, self._answers, self._spare,
            self._legal, self._scores, self._policy_out, self._ended, segment.obs, masks, segment.actions,
            segment.log_probs, segment.values, segment.rewards, segment.acted, segment.ends, segment.bootstrap,
            self._raw.arrays,
        )  # fmt: skip
        ends, failed = function(*arguments, *[pilot.arrays for pilot in pilots])
        return int(ends), int(failed)

    # Between matches

    def _begin_next(self, lanes: list[int]) -> list[tuple[int, MatchResult]]:
        """Start the next match on each of these lanes; returns the results of those that are over at their start."""
        results: list[tuple[int, MatchResult]] = []
        tries = 0
        while lanes:
            if tries == EMPTY_LIMIT:
                raise BadSpec(f"stream {self._streams[lanes[0]]}: {tries} matches in a row are over at their start")
            specs = [self._plan(self._streams[lane], self._next[lane]) for lane in lanes]
            seats = [seat for spec in specs for seat in self._seats_of(spec)]  # may raise, so before any change
            for lane, spec in zip(lanes, specs, strict=True):
                self._specs[lane] = spec
                self._next[lane] += 1
            self._begin(np.array(lanes, np.uint32), specs, seats)
            over = self._boards.over()
            lanes = [lane for lane in lanes if over[lane] != 0]
            results += self._pop_results(lanes)
            tries += 1
        return results

    def _seats_of(self, spec: MatchSpec) -> list[Seat]:
        """The players of a match; raises BadSpec if it cannot be played here."""
        if spec.game != self._game.spec:
            raise BadSpec(f"match {spec.id!r}: it is a match of {spec.game}, but the rollout plays {self._game.spec}")
        check_match(spec, self._game)
        if spec.limits.clock is not None:
            raise BadSpec(f"match {spec.id!r}: a match with a clock cannot be rolled out")
        self._pilots.check(spec)
        seats = []
        for player in spec.players:
            loaded = self._pilots.pilot_of(player)
            who = f"match {spec.id!r}: {player.id!r}, of kind {player.kind!r},"
            policy = hasattr(loaded.pilot, "policy_row")
            if not loaded.compiled or loaded.pilot.capacity is not None:
                raise BadSpec(
                    f"{who} cannot be rolled out: its pilot has no compiled `act_row` for any number of seats"
                )
            if player.id in (self._learners or ()) and not policy:
                raise BadSpec(f"{who} cannot learn: its pilot has no compiled `policy_row`")
            learns = policy and (self._learners is None or player.id in self._learners)
            seats.append(Seat(loaded, loaded.number(player), learns))
        return seats

    def _begin(self, lanes: Indices, specs: list[MatchSpec], seats: list[Seat]) -> None:
        seeds = np.array([spec.seed for spec in specs], np.uint64)
        self._boards.deal(lanes, seeds, [spec.start for spec in specs])
        limits = [spec.limits.steps or 0 for spec in specs]
        own, slots = self._lane_log.begin(lanes, limits, [TICKED] * len(specs), seeds)
        agents = np.array([seat.agent for seat in seats], np.uint32)
        self._slots["pilot"][slots] = [seat.pilot.index for seat in seats]
        self._slots["agent"][slots] = agents
        self._learning[slots] = [seat.learns for seat in seats]
        for loaded in self._pilots:
            mine = self._slots["pilot"][slots] == loaded.index
            if mine.any():
                loaded.pilot.begin(slots[mine], agents[mine], own[mine])

    def _pop_results(self, ended: list[int]) -> list[tuple[int, MatchResult]]:
        """End these lanes and return their results; the pilots get them too."""
        if not ended:
            return []
        batch = self._lane_log.results(ended, self._specs, self._boards, self._pilots.repeatable)
        self._running[ended] = 0
        slots = slots_of(ended, self._game.info.seats)
        for loaded in self._pilots:
            mine = np.flatnonzero(self._slots["pilot"][slots] == loaded.index)
            if mine.size:
                loaded.pilot.end(slots[mine], ResultSelection(batch, (mine // self._game.info.seats).tolist()))
        return list(zip(ended, batch, strict=True))

    def _failure(self, lane: int, seat: int) -> str:
        spec, answer = self._specs[lane], int(self._answers[lane, seat])
        assert spec is not None
        reasons = {BROKEN: "has no answer: its row function returned BROKEN", RESIGN: "resigned"}
        what = reasons.get(answer) or describe_illegal(answer, self._game.info.actions)
        step = int(self._lane_log.lanes["ply"][lane])
        return f"stream {self._streams[lane]}, match {spec.id!r}, step {step}: {spec.players[seat].id!r} {what}"


def _player(pilot: CompiledPilot) -> Player | Policy:
    if hasattr(pilot, "policy_row"):
        policy = cast(CompiledPolicy, pilot)
        return Policy(policy.policy_row, policy.value_row)
    return Player(pilot.act_row, pilot.observes)
