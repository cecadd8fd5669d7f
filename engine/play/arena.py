"""Many matches at once on one core: one group of lanes for each GameSpec, dealt again as matches end."""

from __future__ import annotations

import math
import time
from types import TracebackType

from engine.errors import BadSpec
from engine.game import GameInfo
from engine.play.lane_group import ABREAST, Group
from engine.play.march import Marching
from engine.play.heartbeat import Marks, private
from engine.play.match import GameSpec, MatchResult, MatchSpec
from engine.play.results import ResultBatch
from engine.play.tick import Tick
from engine.registry import game_of

DEFAULT_LANES = 1024
MOST_LANES = 65_536
ROOM = 256 << 20  # bytes for what is seen and what is legal on all lanes of a group
GROUPS_KEPT = 8  # idle groups beyond this are closed, the longest unused first


class Arena:
    """Add matches, tick, take results and suspects.

    `lanes` is the most matches of one GameSpec at once; `alone` plays each seat by itself and turns failures into
    forfeits; `record` keeps the actions; `rewards` has each tick tell what it added to the scores; `marks` say at any
    time which call for which matches is going on; `marching` says when compiled players play many steps in one call.
    Trainers that need trajectories of compiled policies use `engine.play.rollout.Rollout`.
    """

    def __init__(
        self,
        lanes: int = DEFAULT_LANES,
        *,
        alone: bool = False,
        record: bool = True,
        rewards: bool = False,
        marks: Marks | None = None,
        marching: Marching = Marching.WHEN_READY,
    ) -> None:
        if not 1 <= lanes <= MOST_LANES:
            raise BadSpec(f"lanes = {lanes}: must be from 1 to {MOST_LANES}")
        self.lanes = lanes
        self._alone, self._record, self._rewards = alone, record, rewards
        self._marks = marks or private(4 * lanes)
        self._marching = Marching.NEVER if alone or rewards else marching
        self._waits = 0  # ticks since anything moved
        self._groups: dict[GameSpec, Group] = {}
        self._last: tuple[GameSpec, Group] | None = None  # hashing a GameSpec costs more than comparing identities

    def __enter__(self) -> Arena:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def idle(self) -> bool:
        return all(group.idle for group in self._groups.values())

    @property
    def playing(self) -> bool:
        """Whether matches are being played or wait for a lane; if not, there may still be results to take."""
        return any(group.running or group.queue for group in self._groups.values())

    @property
    def running(self) -> int:
        return sum(group.running for group in self._groups.values())

    @property
    def queued(self) -> int:
        return sum(len(group.queue) for group in self._groups.values())

    def check(self, spec: MatchSpec) -> None:
        """Raise an error that names what is wrong, unless this match can be played."""
        self._group(spec.game).check(spec)

    def add(self, spec: MatchSpec) -> None:
        """Check and queue a match; it is dealt when a lane of its game is free."""
        self.check(spec)
        self.queue(spec)

    def queue(self, spec: MatchSpec) -> None:
        """Queue a match that has been checked; again, if its group was closed in between."""
        group = self._group(spec.game)
        if not group.knows(spec):
            group.check(spec)
        group.queue.append(spec)

    def new_run(self) -> None:
        """From now on an agent's id may stand for another agent."""
        for group in self._groups.values():
            group.new_run()

    def tick(self) -> list[Tick]:
        """One step of every group that has something to do."""
        return [group.tick() for group in self._groups.values() if not group.idle]

    def advance(self, seconds: float) -> int:
        """Play for about so long, by marches and by ticks; the number of ticks.

        Ticks end early, after a short sleep, when no lane moves: their players are still thinking.
        """
        until = time.perf_counter() + seconds
        busy = [group for group in self._groups.values() if not group.idle]
        ticking = [group for group in busy if group.march(seconds / len(busy))]
        marched, ticks = any([group.marched for group in busy]), 0  # noqa: C419 - a list is faster
        while ticking:
            ticks += 1
            if not sum(group.tick(marching=True).moved.size for group in ticking):
                self._waits += 1
                if not marched:
                    time.sleep(min(self._waits, 250) * 2e-5)  # up to 5 ms: an engine may think for long
                break
            self._waits = 0
            if time.perf_counter() >= until:
                break
            ticking = [group for group in ticking if not group.idle]
        return ticks

    def take_results(self) -> list[MatchResult]:
        """The matches that ended since the last call, one by one."""
        return [result for batch in self.take_batches() for result in batch]

    def take_batches(self) -> list[ResultBatch]:
        """The same in columns."""
        return [batch for group in self._groups.values() for batch in group.take_results()]

    def actions_since(self, count: int) -> list[int]:
        """In an arena of one lane with one match: its actions after the first so many."""
        return next(iter(self._groups.values())).actions_since(count)

    def hear(self, seat: int, action: int) -> bool:
        """In such an arena: a person acts; False while nobody sits there."""
        return next(iter(self._groups.values())).hear(seat, action)

    def waits_for_people(self) -> bool:
        """In such an arena: whether everybody who still thinks is a person."""
        return next(iter(self._groups.values())).waits_for_people()

    def forgive(self, seconds: float) -> None:
        """So long nobody could play: it counts against nobody's clock."""
        for group in self._groups.values():
            group.clocks.forgive(seconds)

    def take_suspects(self) -> list[MatchSpec]:
        """Matches that were in a call that failed: to be played alone."""
        taken = []
        for group in self._groups.values():
            taken += group.suspects
            group.suspects = []
        return taken

    def recall(self) -> list[MatchSpec]:
        """Take back what is not dealt yet."""
        back: list[MatchSpec] = []
        for group in self._groups.values():
            back += group.queue
            group.queue.clear()
        return back

    def drop(self) -> list[MatchSpec]:
        """Break everything off; the matches that have no result."""
        return [spec for group in self._groups.values() for spec in group.drop()]

    def close(self) -> None:
        for group in self._groups.values():
            group.close()
        self._groups.clear()
        self._last = None

    def _group(self, spec: GameSpec) -> Group:
        if self._last is not None and self._last[0] is spec:
            return self._last[1]
        group = self._groups.pop(spec, None) or self._new_group(spec)
        self._groups[spec] = group  # in order of use
        spent = [one for one, other in self._groups.items() if other.spent and other is not group]
        for one in spent[: max(len(self._groups) - GROUPS_KEPT, 0)]:
            self._groups.pop(one).close()
        self._last = (spec, group)
        return group

    def _new_group(self, spec: GameSpec) -> Group:
        alone, record, rewards = self._alone, self._record, self._rewards
        game = game_of(spec)
        lanes, spare = lanes_for(game.info, self.lanes), lanes_for(game.info, max(self.lanes, ABREAST))
        return Group(
            game,
            lanes,
            spare,
            alone=alone,
            record=record,
            rewards=rewards,
            marks=self._marks,
            marching=self._marching,
        )


def lanes_for(info: GameInfo, wanted: int) -> int:
    """No more than a game has use for, and than there is room for; a match goes the same on any number of them."""
    slot = math.prod(info.observation) * 4 + (info.actions if info.masked else 0)
    return max(1, min(wanted, info.lanes or wanted, ROOM // (info.seats * slot or 1)))
