"""What one tick did to a group of lanes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.game import Floats, Indices, Ints

if TYPE_CHECKING:
    from engine.play.lane_group import Group


class Tick(NamedTuple):
    """What one tick did to a group; the arrays are valid until the next one."""

    group: Group
    moved: Indices  # lanes
    actions: Ints  # [lanes, seats], meaningful where a seat acted on a lane that moved
    rewards: Floats | None  # [lanes, seats]: what this step added to the scores, if rewards are counted
    ended: Indices  # lanes, forfeited ones too; their last observation stays readable until the next tick
