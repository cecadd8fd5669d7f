"""Plays many matches at once on one core: one group of lanes for each GameSpec."""

from __future__ import annotations

import math
import time

import numpy as np

from engine.closing import Closing
from engine.errors import BadSpec
from engine.game import GameInfo
from engine.play.heartbeat import Heartbeat, PilotCall, private_heartbeat
from engine.play.lane_group import MARCHED_TOGETHER, LaneGroup, Tick
from engine.play.march import Marching
from engine.play.match import GameSpec, MatchResult, MatchSpec
from engine.play.process_state import ProcessState
from engine.play.results import ResultBatch
from engine.play.thinking import CALL_LIMIT
from engine.registry import game_of

DEFAULT_LANES = 1024
MOST_LANES = 65_536
GROUP_BYTES = 256 << 20  # observations and legal masks of all lanes of a group
IDLE_GROUPS = 8  # more idle groups are closed, least recently used first


class Arena(Closing):
    """Add matches, call `advance` or `tick`, take results and suspects.

    `lanes`: the most matches of one GameSpec at once. `alone`: each seat is called separately, and a failure is its
    forfeit. `record`: keep the actions. `rewards`: each tick reports what it added to the scores. `heartbeat`: shows
    the current call and its matches at any time. `marching`: when compiled players play many steps in one call.
    `state`: of the process that foreign code must leave as it is. `call_limit`: seconds that a player may think.
    Trainers that need trajectories use `engine.play.rollout.Rollout`.
    """

    def __init__(
        self,
        lanes: int = DEFAULT_LANES,
        *,
        alone: bool = False,
        record: bool = True,
        rewards: bool = False,
        heartbeat: Heartbeat | None = None,
        marching: Marching = Marching.WHEN_READY,
        state: ProcessState | None = None,
        call_limit: float = CALL_LIMIT,
    ) -> None:
        if not 1 <= lanes <= MOST_LANES:
            raise BadSpec(f"lanes = {lanes}: must be from 1 to {MOST_LANES}")
        self.lanes = lanes
        self._alone, self._record, self._rewards = alone, record, rewards
        self._heartbeat = heartbeat or private_heartbeat(4 * lanes)
        self._state, self._call_limit = state or ProcessState(), call_limit
        self._marching = Marching.NEVER if alone or rewards else marching
        self._idle_ticks = 0  # ticks in a row in which no lane moved
        self._groups: dict[GameSpec, LaneGroup] = {}
        self._last: tuple[GameSpec, LaneGroup] | None = None  # comparing identities is faster than hashing a GameSpec

    @property
    def idle(self) -> bool:
        return all(group.table.idle for group in self._groups.values())

    @property
    def playing(self) -> bool:
        """Whether matches are running or queued. Afterwards there may still be results to take."""
        return any(group.table.running or group.table.queue for group in self._groups.values())

    @property
    def running(self) -> int:
        return sum(group.table.running for group in self._groups.values())

    @property
    def queued(self) -> int:
        return sum(len(group.table.queue) for group in self._groups.values())

    def check(self, spec: MatchSpec) -> None:
        """Raise an error that says why, if this match cannot be played."""
        self._group(spec.game).check(spec)

    def add(self, spec: MatchSpec) -> None:
        """Check and queue a match; it starts when a lane of its game is free."""
        group = self._group(spec.game)
        group.check(spec)
        group.table.queue.append(spec)

    def queue(self, spec: MatchSpec) -> None:
        """Queue a match that has been checked; it is checked again if its group was closed in between."""
        group = self._group(spec.game)
        if not group.has_checked(spec):
            group.check(spec)
        group.table.queue.append(spec)

    def new_run(self) -> None:
        """Forget which agents the ids of the last run stand for."""
        for group in self._groups.values():
            group.new_run()

    def tick(self) -> list[Tick]:
        """Play one step of every group that is not idle."""
        self._state.note()
        return [group.tick() for group in self._groups.values() if not group.table.idle]

    def advance(self, seconds: float) -> int:
        """Play for about so long, by marches and ticks; returns the number of ticks.

        Returns early, after a short sleep, when no lane moves because players are still thinking.
        """
        until = time.perf_counter() + seconds
        self._state.note()
        busy = [group for group in self._groups.values() if not group.table.idle]
        ticking = [group for group in busy if group.march(seconds / len(busy))]
        marched, ticks = any([group.marched for group in busy]), 0  # noqa: C419 - a list is faster
        while ticking:
            ticks += 1
            if not sum(group.tick(marching=True).moved.size for group in ticking):
                self._idle_ticks += 1
                if not marched:
                    time.sleep(min(self._idle_ticks, 250) * 2e-5)  # up to 5 ms: an external engine may think for long
                break
            self._idle_ticks = 0
            if time.perf_counter() >= until:
                break
            ticking = [group for group in ticking if not group.table.idle]
        return ticks

    def take_results(self) -> list[MatchResult]:
        """The results since the last call."""
        return [result for batch in self.take_batches() for result in batch]

    def take_batches(self) -> list[ResultBatch]:
        """The results since the last call, in columns."""
        return [batch for group in self._groups.values() for batch in group.take_results()]

    def mark_foreign_calls(self) -> None:
        """Mark in the heartbeat that the code of agents is being called that is not Ringside's own, for all matches."""
        numbers = np.concatenate([group.foreign_matches() for group in self._groups.values()])
        self._heartbeat.begin_call(PilotCall.ACT, numbers, np.arange(numbers.size, dtype=np.uint32))

    def actions_since(self, count: int) -> list[int]:
        """In an arena with one match: its actions after the first `count`."""
        return next(iter(self._groups.values())).actions_since(count)

    def act(self, seat: int, action: int) -> bool:
        """In an arena with one match: a human acts; returns False if the match has not started."""
        return next(iter(self._groups.values())).act(seat, action)

    def waits_for_humans(self) -> bool:
        """In an arena with one match: whether all players that have not answered are humans."""
        return next(iter(self._groups.values())).waits_for_humans()

    def add_pause(self, seconds: float) -> None:
        """Exclude a pause of this length from the times of all players."""
        for group in self._groups.values():
            group.add_pause(seconds)

    def take_suspects(self) -> list[MatchSpec]:
        """The matches of calls that failed since the last call; they should be played alone."""
        taken = []
        for group in self._groups.values():
            taken += group.table.suspects
            group.table.suspects = []
        return taken

    def recall(self) -> list[MatchSpec]:
        """Remove and return the matches that have not started."""
        back: list[MatchSpec] = []
        for group in self._groups.values():
            back += group.table.queue
            group.table.queue.clear()
        return back

    def drop(self) -> list[MatchSpec]:
        """Cancel everything; returns the matches that have no result."""
        return [spec for group in self._groups.values() for spec in group.drop()]

    def close(self) -> None:
        for group in self._groups.values():
            group.close()
        self._groups.clear()
        self._last = None

    def _group(self, spec: GameSpec) -> LaneGroup:
        if self._last is not None and self._last[0] is spec:
            return self._last[1]
        group = self._groups.pop(spec, None) or self._new_group(spec)
        self._groups[spec] = group  # in order of last use
        closable = [key for key, other in self._groups.items() if other.drained and other is not group]
        for key in closable[: max(len(self._groups) - IDLE_GROUPS, 0)]:
            self._groups.pop(key).close()
        self._last = (spec, group)
        return group

    def _new_group(self, spec: GameSpec) -> LaneGroup:
        alone, record, rewards = self._alone, self._record, self._rewards
        game = game_of(spec)
        lanes, spare = lanes_for(game.info, self.lanes), lanes_for(game.info, max(self.lanes, MARCHED_TOGETHER))
        return LaneGroup(
            game,
            lanes,
            spare,
            alone=alone,
            record=record,
            rewards=rewards,
            heartbeat=self._heartbeat,
            marching=self._marching,
            state=self._state,
            call_limit=self._call_limit,
        )


def lanes_for(info: GameInfo, requested: int) -> int:
    """The number of lanes, limited by the game and by memory; it does not affect the results of matches."""
    slot = math.prod(info.observation) * 4 + (info.actions if info.masked else 0)
    return max(1, min(requested, info.lanes or requested, GROUP_BYTES // (info.seats * slot or 1)))
