"""Turns the ended lanes of a group into results, and passes these to the pilots."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from engine.game import Boards, Indices
from engine.play.dealing import NO_PILOT, LaneTable
from engine.play.heartbeat import PilotCall
from engine.play.lane_kernels import slots_of
from engine.play.lane_log import LaneLog
from engine.play.pilots import LoadedPilot, PilotPool
from engine.play.results import ResultBatch, ResultSelection

Call = Callable[[PilotCall, LoadedPilot, Indices, Callable[[], None]], bool]


def collect(
    table: LaneTable, pilots: PilotPool, lane_log: LaneLog, boards: Boards, call: Call, seats: int, alone: bool
) -> ResultBatch:
    """The results of the ended lanes of a group with so many seats; `call` calls code of agents."""
    ended, specs, repeatable = list(table.ended), table.specs, pilots.repeatable
    batch = lane_log.results(ended, specs, boards, repeatable)
    slots = slots_of(ended, seats)
    for loaded in pilots:
        mine = np.flatnonzero(table.slots["pilot"][slots] == loaded.index)
        for part in mine[:, None] if alone else [mine] if mine.size else []:
            ends = ResultSelection(batch, (part // seats).tolist())
            table.slots["pilot"][slots[part]] = NO_PILOT
            call(PilotCall.END, loaded, slots[part], lambda: loaded.pilot.end(slots[part], ends))  # noqa: B023
    remaining = table.ended  # without those that a failure has just cancelled
    if alone and lane_log.has_faults(remaining):
        return lane_log.results(remaining, specs, boards, repeatable)  # a player may have failed in `end`
    return batch if len(remaining) == len(ended) else batch.select([ended.index(lane) for lane in remaining])
