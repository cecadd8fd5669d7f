"""Trajectories for trainers: matches of compiled players, with what the learning ones see and do.

A *stream* is a sequence of matches that are played one after the other on one lane. What a stream gives depends on its
plan and its agents alone: not on the other streams, nor on the process, nor on where segments begin and end. So streams
can be distributed over any number of workers.

    def plan(stream, k):  # the k-th match of a stream
        return MatchSpec(f"{stream}.{k}", game.spec, (net, net), derive("train", stream, k))

    with Rollout(game, range(64), plan, learners=[net.id]) as rollout:
        segment = rollout.collect(128)  # segment.obs[stream, step, seat], segment.actions, segment.rewards, ...

`net` is an AgentSpec whose pilot has compiled policies, such as an `agents.nets.mlp.MlpPilot`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from types import TracebackType
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from engine.errors import BadSpec, BadValue, PolicyFailed
from engine.game import (BROKEN, RESIGN, Boards, Bools, CompiledBoards, CompiledPilot, CompiledPolicy, Game, Indices, Ints, Observations, check_match)
from engine.play.pilots import Crew, Crews, illegal_words
from engine.play.driver import Player
from engine.play.guarded_boards import GuardedBoards
from engine.play.lane_kernels import SLOT, TICKED, slots_of
from engine.play.match import AgentSpec, MatchResult, MatchSpec
from engine.play.lane_log import Records
from engine.play.results import Picked
from engine.play.rollout_driver import Policy, driver

Plan = Callable[[int, int], MatchSpec]  # (stream, k) -> the k-th match of that stream, from 0 on
EMPTY_LIMIT = 100  # matches of one stream in a row that are over before their first step


class Trajectories(NamedTuple):
    """One segment of every stream: [streams, steps, seats, ...].

    What is seen and done is recorded where `acted` is True and 0 elsewhere. `rewards` are differences of scores, for
    every seat at every step. `bootstrap` is the value of what a learning seat sees after a step that truncated its
    match, or that ended the segment in mid-match: advantages need no further call of the network. It is 0 elsewhere.
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
    """Who plays a seat."""

    crew: Crew
    agent: int  # the pilot's number
    learns: bool  # whether it is recorded


class Rollout:
    """Plays streams of matches, segment by segment, and returns their trajectories.

    `streams` are the numbers that `plan` is asked with, one for each row of the trajectories. `learners` are the ids of
    the agents that are recorded, by default all whose pilot is a `CompiledPolicy`. Every other player must be compiled
    too. What cannot be played raises BadSpec before its match begins.
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
        self._crews = Crews(game, lanes * seats)
        self._records = Records(info, lanes, record=False, marks=None)
        self._running = self._records.lanes["running"]
        self._specs: list[MatchSpec | None] = [None] * lanes
        self._next = [0] * lanes  # by lane, which match of its stream follows
        self._slots = np.zeros(lanes * seats, SLOT)
        self._learning = np.zeros(lanes * seats, np.uint8)
        self._answers: Ints = np.zeros((lanes, seats), np.int64)
        self._ended: Indices = np.zeros(lanes, np.uint32)
        self._spare = np.zeros((seats, *info.observation), np.float32)
        self._legal = np.ones((seats, info.actions), np.uint8)
        self._scores, self._told = np.zeros(seats), np.zeros(2, np.float32)

    def __enter__(self) -> Rollout:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        slots = slots_of(np.flatnonzero(self._running).tolist(), self._game.info.seats)
        self._running[:] = 0
        for crew in self._crews:
            mine = slots[self._slots["pilot"][slots] == crew.index]
            if mine.size:
                crew.pilot.end(mine, None)
            self._crews.dismiss(crew)

    def replace(self, agent: AgentSpec) -> None:
        """New weights for the agent of this id; matches go on with them. From now on the plan must name this spec."""
        self._crews.replace(agent)

    def collect(self, steps: int) -> Trajectories:
        """Play the next steps of every stream. Matches go on from call to call; the next one follows at once.

        An answer that is not a legal action raises PolicyFailed. What this call has collected is then lost, and the
        match stands before that step.
        """
        if steps < 1:
            raise BadValue("steps", steps, "at least 1")
        segment = self._blank(steps)
        filled: Ints = np.zeros(len(self._streams), np.int64)
        results: list[tuple[int, MatchResult]] = []
        while (live := np.flatnonzero(filled < steps).astype(np.uint32)).size:
            results += self._begin_next(live[self._running[live] == 0].tolist())
            crews = sorted((crew for crew in self._crews if crew.compiled), key=lambda crew: crew.kind.name)
            ends, failed = self._call(crews, live, steps, filled, segment)
            results += self._take(self._ended[:ends].tolist())
            if failed >= 0:
                raise PolicyFailed(self._failure(*divmod(failed, self._game.info.seats)))
        results.sort(key=lambda one: one[0])  # the sort is stable: within a stream they stay in order
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
        self, crews: list[Crew], live: Indices, steps: int, filled: Ints, segment: Trajectories
    ) -> tuple[int, int]:
        """Play these lanes; how many matches have ended, and the slot whose answer is not legal, or -1."""
        pilots = [cast(CompiledPilot, crew.pilot) for crew in crews]
        function = driver(self._game.info, self._raw.rows, tuple(_player(pilot) for pilot in pilots))
        indices = np.array([crew.index for crew in crews], np.int32)
        masks = self._legal[:0].reshape(0, 0, 0, 0) if segment.legal is None else segment.legal.view(np.uint8)
        arguments: tuple[Any, ...] = (
            live, steps, filled, self._records.lanes, self._slots, self._learning, indices, self._answers, self._spare,
            self._legal, self._scores, self._told, self._ended, segment.obs, masks, segment.actions, segment.log_probs,
            segment.values, segment.rewards, segment.acted, segment.ends, segment.bootstrap, self._raw.arrays,
        )  # fmt: skip
        ends, failed = function(*arguments, *[pilot.arrays for pilot in pilots])
        return int(ends), int(failed)

    # Between matches

    def _begin_next(self, lanes: list[int]) -> list[tuple[int, MatchResult]]:
        """Begin the next match on each of these lanes; the results of those that are over before their first step."""
        results: list[tuple[int, MatchResult]] = []
        tries = 0
        while lanes:
            if tries == EMPTY_LIMIT:
                raise BadSpec(f"stream {self._streams[lanes[0]]}: {tries} matches in a row are over at their start")
            specs = [self._plan(self._streams[lane], self._next[lane]) for lane in lanes]
            seats = [seat for spec in specs for seat in self._seated(spec)]  # before anything has changed
            for lane, spec in zip(lanes, specs, strict=True):
                self._specs[lane] = spec
                self._next[lane] += 1
            self._begin(np.array(lanes, np.uint32), specs, seats)
            over = self._boards.over()
            lanes = [lane for lane in lanes if over[lane] != 0]
            results += self._take(lanes)
            tries += 1
        return results

    def _seated(self, spec: MatchSpec) -> list[Seat]:
        """Who plays each seat of a match; BadSpec unless it can be played here."""
        if spec.game != self._game.spec:
            raise BadSpec(f"match {spec.id!r}: it is a match of {spec.game}, and the rollout one of {self._game.spec}")
        check_match(spec, self._game)
        if spec.limits.clock is not None:
            raise BadSpec(f"match {spec.id!r}: a match with a clock cannot be rolled out")
        self._crews.check(spec)
        seats = []
        for player in spec.players:
            crew = self._crews.of(player)
            who = f"match {spec.id!r}: {player.id!r}, of kind {player.kind!r},"
            policy = hasattr(crew.pilot, "policy_row")
            if not crew.compiled or crew.pilot.capacity is not None:
                raise BadSpec(
                    f"{who} cannot be rolled out: its pilot has no compiled `act_row` for any number of seats"
                )
            if player.id in (self._learners or ()) and not policy:
                raise BadSpec(f"{who} cannot learn: its pilot has no compiled `policy_row`")
            learns = policy and (self._learners is None or player.id in self._learners)
            seats.append(Seat(crew, crew.number(player), learns))
        return seats

    def _begin(self, lanes: Indices, specs: list[MatchSpec], seats: list[Seat]) -> None:
        seeds = np.array([spec.seed for spec in specs], np.uint64)
        self._boards.deal(lanes, seeds, [spec.start for spec in specs])
        limits = [spec.limits.steps or 0 for spec in specs]
        own, slots = self._records.begin(lanes, limits, [TICKED] * len(specs), seeds)
        agents = np.array([seat.agent for seat in seats], np.uint32)
        self._slots["pilot"][slots] = [seat.crew.index for seat in seats]
        self._slots["agent"][slots] = agents
        self._learning[slots] = [seat.learns for seat in seats]
        for crew in self._crews:
            mine = self._slots["pilot"][slots] == crew.index
            if mine.any():
                crew.pilot.begin(slots[mine], agents[mine], own[mine])

    def _take(self, ended: list[int]) -> list[tuple[int, MatchResult]]:
        """The results of these lanes; their pilots get them too."""
        if not ended:
            return []
        batch = self._records.results(ended, self._specs, self._boards, self._crews.repeatable)
        self._running[ended] = 0
        slots = slots_of(ended, self._game.info.seats)
        for crew in self._crews:
            mine = np.flatnonzero(self._slots["pilot"][slots] == crew.index)
            if mine.size:
                crew.pilot.end(slots[mine], Picked(batch, (mine // self._game.info.seats).tolist()))
        return list(zip(ended, batch, strict=True))

    def _failure(self, lane: int, seat: int) -> str:
        spec, answer = self._specs[lane], int(self._answers[lane, seat])
        assert spec is not None
        words = {BROKEN: "has no answer: its row function says that it is broken", RESIGN: "resigned"}
        what = words.get(answer) or illegal_words(answer, self._game.info.actions)
        step = int(self._records.lanes["ply"][lane])
        return f"stream {self._streams[lane]}, match {spec.id!r}, step {step}: {spec.players[seat].id!r} {what}"


def _player(pilot: CompiledPilot) -> Player | Policy:
    if hasattr(pilot, "policy_row"):
        policy = cast(CompiledPolicy, pilot)
        return Policy(policy.policy_row, policy.value_row)
    return Player(pilot.act_row, pilot.observes)
