"""Which match is on which lane of a group, and how new matches are started on free lanes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from engine.errors import BadSpec
from engine.game import Boards, Indices, Seeds
from engine.play.agent_errors import Fault
from engine.play.clocks import Clocks
from engine.play.heartbeat import Heartbeat, PilotCall, match_number
from engine.play.lane_kernels import SLOT
from engine.play.lane_log import LaneLog
from engine.play.march import March
from engine.play.match import MatchSpec
from engine.play.pilots import LoadedPilot, PilotPool, Seating

NO_PILOT = -1  # pilot of a slot without a running match
NO_LIMIT = 1 << 30


class LaneTable:
    """The lanes of a group: the matches on them, the free and the ended ones, and the matches that wait."""

    def __init__(self, lanes: int, seats: int) -> None:
        self.queue: deque[MatchSpec] = deque()
        self.suspects: list[MatchSpec] = []  # matches of a failed call
        self.specs: list[MatchSpec | None] = [None] * lanes
        self.free = list(range(lanes - 1, -1, -1))
        self.ended: list[int] = []  # lanes whose result is not collected yet
        self.match_numbers: Indices = np.zeros(lanes, np.uint32)  # by lane, as in the heartbeat
        self.slots = np.zeros(lanes * seats, SLOT)
        self.slots["pilot"] = NO_PILOT
        self.full = False  # no queued match fits before a lane is freed
        self.cancellations = 0  # how often matches were cancelled

    @property
    def running(self) -> int:
        return len(self.specs) - len(self.free) - len(self.ended)

    @property
    def idle(self) -> bool:
        return len(self.free) == len(self.specs) and not self.queue

    def suspect(self, lane: int) -> None:
        if (spec := self.specs[lane]) is not None:
            self.suspects.append(spec)

    def release(self, lanes: list[int]) -> None:
        """Free these lanes."""
        for lane in lanes:
            self.specs[lane] = None
            self.free.append(lane)
            if lane in self.ended:
                self.ended.remove(lane)
        self.full = False


class PilotCaller(NamedTuple):
    """How a group calls the code of agents."""

    call: Callable[[PilotCall, LoadedPilot, Indices, Callable[[], None]], bool]  # returns whether it succeeded
    record_fault: Callable[[int, int, Fault], None]  # of (lane, seat)


class Dealer:
    """Starts queued matches on free lanes: loads their agents, deals their boards and tells the pilots."""

    def __init__(
        self,
        table: LaneTable,
        pilots: PilotPool,
        boards: Boards,
        march: March,
        lane_log: LaneLog,
        clocks: Clocks,
        heartbeat: Heartbeat,
        caller: PilotCaller,
        *,
        seats: int,
        alone: bool,
    ) -> None:
        self._table, self._pilots, self._boards, self._march = table, pilots, boards, march
        self._lane_log, self._clocks, self._heartbeat, self._caller = lane_log, clocks, heartbeat, caller
        self._seats, self._alone = seats, alone

    def deal(self, most: int) -> bool:
        """Start at most this many matches; returns whether any has started."""
        table = self._table
        seatings: list[Seating] = []
        dealt: list[int] = []
        blocked: list[MatchSpec] = []
        used: dict[str, int] = {}
        while table.free and table.queue and len(dealt) < most:
            spec = table.queue.popleft()
            lane = table.free[-1]
            table.match_numbers[lane] = match_number(spec)
            seating = self._pilots.find_seating(spec.players)
            if seating is None:  # this calls code of the agents
                self._heartbeat.begin_call(PilotCall.LOAD, table.match_numbers, np.array([lane], np.uint32))
                loaded = self._pilots.load_seating(spec, used, table.slots["pilot"], self._heartbeat.set_seat)
                self._heartbeat.end_call()
                if loaded is None:
                    blocked.append(spec)
                    continue
                seating, failures = loaded
                if failures and not self._alone:  # another match may have caused the failure
                    table.suspects.append(spec)
                    continue
                for seat, fault in failures:
                    self._caller.record_fault(lane, seat, fault)
            table.specs[lane] = spec
            self._clocks.begin(lane, spec.limits.clock)
            dealt.append(table.free.pop())
            seatings.append(seating)
        table.full = bool(blocked)
        table.queue.extendleft(reversed(blocked))
        if blocked and not dealt and not table.running and not table.ended:
            raise BadSpec(f"match {blocked[0].id!r} seats more players of one kind than its pilot can hold at once")
        if dealt:
            self._begin(dealt, seatings)
        return bool(dealt)

    def _begin(self, dealt: list[int], seatings: list[Seating]) -> None:
        table = self._table
        specs = [spec for lane in dealt if (spec := table.specs[lane])]
        lanes = np.array(dealt, np.uint32)
        seeds = np.array([spec.seed for spec in specs], np.uint64)
        self._boards.deal(lanes, seeds, [spec.start for spec in specs])
        known = {id(seating): self._march.way_of(seating) for seating in {id(one): one for one in seatings}.values()}
        ways = [known[id(seating)] for seating in seatings]
        own_seeds, slots = self._lane_log.begin(lanes, [spec.limits.steps or 0 for spec in specs], ways, seeds)
        seated = [entry for seating in seatings for entry in seating]
        pilots = np.array([NO_PILOT if entry is None else entry[0].index for entry in seated], np.int64)
        agents = np.array([0 if entry is None else entry[1] for entry in seated], np.uint32)
        cancellations = table.cancellations
        for loaded in self._pilots:
            mine = np.flatnonzero(pilots == loaded.index)
            if cancellations != table.cancellations:  # a failure has just cancelled some of these matches
                mine = mine[[table.specs[slot // self._seats] is not None for slot in slots[mine].tolist()]]
            for part in mine[:, None] if self._alone else (mine,) if mine.size else ():
                self._begin_pilot(loaded, slots[part], agents[part], own_seeds[part])
        for lane in lanes[self._boards.over()[lanes] != 0].tolist():
            if table.specs[lane] is not None:  # some starts are over before the first step
                self._lane_log.lanes["running"][lane] = 0
                table.ended.append(lane)

    def _begin_pilot(self, loaded: LoadedPilot, slots: Indices, agents: Indices, seeds: Seeds) -> None:
        if self._caller.call(PilotCall.BEGIN, loaded, slots, lambda: loaded.pilot.begin(slots, agents, seeds)):
            self._table.slots["pilot"][slots] = loaded.index
            self._table.slots["agent"][slots] = agents
