"""One group of lanes: all boards of one GameSpec, and the pilots that play on them.

A tick calls each pilot once for all its rows, moves every lane whose seats have answered, and collects the lanes that
have ended. A march plays the lanes on which all players are compiled for many steps in one call. If a call for many
matches fails, the failing agent is not known: its matches are returned as *suspects*, to be played alone
(`alone=True`), where each seat is called separately and a failure is that seat's forfeit.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, cast

import numpy as np

from engine.foreign_code import INTERRUPTS
from engine.game import BROKEN, PENDING, Boards, Bools, Floats, Game, Indices, Ints
from engine.play.actions import PendingActions
from engine.play.agent_errors import Fault, describe_error, fault_of
from engine.play.clocks import Clocks
from engine.play.collecting import collect
from engine.play.dealing import NO_LIMIT, NO_PILOT, Dealer, LaneTable, PilotCaller
from engine.play.guarded_boards import GuardedBoards
from engine.play.heartbeat import Heartbeat, PilotCall
from engine.play.lane_kernels import ALL_WAYS, FAILED, find_running, finish_step, gather, slots_of
from engine.play.lane_log import LaneLog
from engine.play.march import Combination, March, Marching
from engine.play.match import EndingKind, MatchSpec
from engine.play.pilots import LoadedPilot, PilotPool, log
from engine.play.process_state import ProcessState
from engine.play.results import ResultBatch
from engine.play.thinking import ThinkingTimes

COLLECT_AFTER = 0.1  # seconds after which results are collected even if there are few
MARCHED_TOGETHER = 64  # matches that are started or collected together in a march: more gain nothing
FEWEST_TOGETHER = 8  # the last ones of a queue: another worker may take those that have not started


class Tick(NamedTuple):
    """The changes of one tick of a group; the arrays are valid until the next tick."""

    group: LaneGroup
    moved: Indices  # lanes
    actions: Ints  # [lanes, seats], valid where a seat acted on a lane that moved
    rewards: Floats | None  # [lanes, seats]: what this step added to the scores, if rewards are counted
    ended: Indices  # lanes, forfeited ones too; their last observation stays readable until the next tick


class LaneGroup:
    """Lanes, their queue, and the pilots that play on them; call `tick` until it is idle."""

    def __init__(
        self,
        game: Game,
        lanes: int,
        spare: int = 0,
        *,
        alone: bool,
        record: bool,
        rewards: bool,
        heartbeat: Heartbeat,
        marching: Marching,
        state: ProcessState,
        call_limit: float,
    ) -> None:
        """`lanes`: matches at once. `spare`: lanes that fit into memory; it may be more."""
        self.game, self.info = game, game.info
        self._most = lanes  # matches at once
        self._guarded = GuardedBoards(game, lanes)
        if marching is not Marching.NEVER and spare > lanes and hasattr(self._guarded.raw, "rows"):
            lanes = spare  # the spare lanes hold ended matches until they are collected together
            self._guarded = GuardedBoards(game, spare)
        self.boards = cast(Boards, self._guarded)
        self.table = LaneTable(lanes, game.info.seats)
        self._alone, self._rewards, self._heartbeat, self._state = alone, rewards, heartbeat, state
        self._results: list[ResultBatch] = []
        self._pace = 0  # lanes that moved in the last tick
        self._pilots = PilotPool(game, lanes * game.info.seats, alone, heartbeat.checking, state)
        seats = self.info.seats
        self.clocks = Clocks(seats)
        self._lane_log = LaneLog(self.info, lanes, record=record, heartbeat=heartbeat if alone else None)
        self._lanes = self._lane_log.lanes
        self._live: Indices | None = None  # lanes that are ticked; None: to be found again
        self._ticking = ALL_WAYS  # how the lanes in `_live` are played
        self._ticks_due = False  # whether some lanes are played by ticks
        self.marched = False  # whether the last march played any lane
        self._collected = time.perf_counter()  # when results were last collected
        self._steady = False  # whether all rows are those of the last tick
        self._all_acting: Bools = np.ones((lanes, seats), np.bool_)
        self._running, self._over = np.zeros(lanes, np.uint32), np.zeros(lanes, np.uint32)
        failed = partial(self._on_failure, EndingKind.EXCEPTION)
        table, lane_log, clocks = self.table, self._lane_log, self.clocks
        self._pending = PendingActions(
            self.info, self._guarded, lane_log, heartbeat, clocks, table.match_numbers, failed, state, alone=alone
        )
        self._march = March(
            self.info, self._guarded.raw, lane_log, table.slots, self._pending.played, heartbeat, marching
        )
        self._thinking = ThinkingTimes(self._lanes, table.slots, self._pending.held, clocks, call_limit)
        caller = PilotCaller(self._call, self._record_fault)
        self._dealer = Dealer(
            table, self._pilots, self.boards, self._march, lane_log, clocks, heartbeat, caller, seats=seats, alone=alone
        )

    @property
    def drained(self) -> bool:
        """Whether it is idle and all results and suspects have been taken."""
        return self.table.idle and not self._results and not self.table.suspects

    def has_checked(self, spec: MatchSpec) -> bool:
        """Whether all players of a match have been checked in this run."""
        return self._pilots.has_checked(spec.players)

    def check(self, spec: MatchSpec) -> None:
        """Raise an error that says why, if this match cannot be played here."""
        self._pilots.check(spec)

    def new_run(self) -> None:
        """Forget which agents the ids of the last run stand for."""
        for loaded in self._pilots.new_run(self.drained):
            self._march.remove(loaded)

    def tick(self, marching: bool = False) -> Tick:
        """Play one step of every lane that is ready; if `marching`, not of the lanes that have a driver."""
        # Collect in batches of 1/32 of the moving lanes: few lanes are idle, and it costs far less than one by one.
        if self.table.ended and len(self.table.ended) * 32 >= self._pace:
            self._collect()
        if self.table.free and self.table.queue and not self.table.full:
            self._deal()
        moved, rewards = self._over[:0], None
        before_tick = len(self.table.ended)
        live = self._find_live(self._march.ticked if marching else ALL_WAYS)
        if live.size:
            acting = self._all_acting if self.info.simultaneous else self.boards.acting()
            answered = 0
            for loaded in self._pilots:
                answered += self._ask(loaded, acting)
            moved = self._commit(live, acting, answered)
            if moved.size < live.size:
                self._end_thinking(live, acting)
        if moved.size:
            before = self.boards.scores().copy() if self._rewards else None
            self.boards.apply(moved, self._pending.played)
            rewards = None if before is None else self.boards.scores() - before
            over = self._over[: finish_step(self.boards.over(), self._lanes, moved, self._over)]
            if over.size:
                self.table.ended.extend(over.tolist())
                self._lanes_changed()
        self._pace = moved.size
        ended = (
            np.array(self.table.ended[before_tick:], np.uint32)
            if len(self.table.ended) > before_tick
            else self._over[:0]
        )
        return Tick(self, moved, self._pending.played, rewards, ended)

    # Marching

    def march(self, seconds: float) -> bool:
        """Play the lanes that have a driver for about so long; returns whether other lanes need ticks."""
        self.marched = False
        if not self._march.possible:
            return True
        running, overdue = self.table.running, time.perf_counter() - self._collected > COLLECT_AFTER
        if (
            self.table.queue
            and self.table.ended
            and (len(self.table.ended) >= MARCHED_TOGETHER or not self.table.free or self.table.full or overdue)
        ):
            self._collect()
        if self.table.free and self.table.queue and not self.table.full:
            if self._ticks_due:  # ticks cost less per lane the more lanes there are
                self._deal()
            else:
                together = min(max(len(self.table.queue) // 2, FEWEST_TOGETHER), MARCHED_TOGETHER, self._most)
                if 2 * running <= together:
                    self._deal(together)
        ready = self._march.ready()
        self.marched = bool(ready)
        for combination in ready:
            self._advance(combination, seconds / len(ready))
        self._ticks_due = self._find_live(self._march.ticked).size > 0
        return self._ticks_due

    def _advance(self, combination: Combination, seconds: float) -> None:
        live, failing = self._march.live(combination), None
        try:
            ended, odd = self._march.play(combination, self.table.match_numbers, seconds)
        except INTERRUPTS:
            raise
        except BaseException:  # playing the match alone will show the reason
            if (failing := self._heartbeat.current_row) is None:
                raise
        if combination.foreign and (what := self._state.restore()):
            log.warning("matches are played again, because a row function has changed %s", what)
            for lane in live.tolist():
                self._suspect(lane)
            return
        if failing is not None:
            self._march_failed(combination, failing)
            return
        self.table.ended += ended
        for lane in odd:
            self._check_answers(lane)

    def _march_failed(self, combination: Combination, row: int) -> None:
        """The match that was being played is a suspect. The others of this call start again: some of their players may
        have answered for a step that was not made."""
        live, known = combination.live, set(self.table.ended)
        assert live is not None
        running = self._lanes["running"][live] != 0
        self.table.ended += [lane for lane in live[~running].tolist() if lane not in known]
        failing = int(live[row])
        others = [lane for lane in live[running].tolist() if lane != failing]
        self.table.queue.extend([spec for lane in others if (spec := self.table.specs[lane])])
        self._cancel(others)
        self._suspect(failing)

    def _check_answers(self, lane: int) -> None:
        """Handle an answer of a row function on this lane that is not a legal action."""
        acting = self._all_acting[0] if self.info.simultaneous else self.boards.acting()[lane]
        seats = np.flatnonzero(acting).astype(np.uint32)
        if np.isin(self._pending.played[lane, seats], (BROKEN, PENDING)).any():
            self._suspect(lane)  # played alone, its pilot raises the reason, or continues to think
        else:
            self._pending.check(lane, seats)
            self._forfeit([lane])

    def _suspect(self, lane: int) -> None:
        self.table.suspect(lane)
        self._cancel([lane])

    def foreign_matches(self) -> Indices:
        """The numbers of the matches in progress whose players are not all Ringside's own."""
        foreign = [loaded.index for loaded in self._pilots if loaded.foreign]
        slots = np.flatnonzero(np.isin(self.table.slots["pilot"], foreign))
        return self.table.match_numbers[np.unique(slots // self.info.seats)]

    def actions_since(self, count: int) -> list[int]:
        """The actions on the first lane after the first `count`."""
        return self._lane_log.actions_since(0, count)

    def act(self, seat: int, action: int) -> bool:
        """A human acts on the first lane; returns False if the match has not started."""
        loaded = next((loaded for loaded in self._pilots if loaded.index == self.table.slots["pilot"][seat]), None)
        if loaded is not None:
            self._call(PilotCall.ACT, loaded, np.array([seat], np.uint32), partial(loaded.act, seat, action))
        return loaded is not None

    def waits_for_humans(self) -> bool:
        """Whether all players that have not answered on the first lane are humans."""
        humans = [loaded.index for loaded in self._pilots if loaded.kind.live]
        thinking = self.boards.acting()[0] & (self._pending.held[0] == PENDING)
        return bool(np.isin(self.table.slots["pilot"][: self.info.seats][thinking], humans).all())

    def take_results(self) -> list[ResultBatch]:
        """The matches that ended since the last call."""
        if self.table.ended and (not self.table.queue or time.perf_counter() - self._collected > COLLECT_AFTER):
            self._collect()
        taken, self._results = self._results, []
        return taken

    def drop(self) -> list[MatchSpec]:
        """Cancel everything; returns the matches that have no result."""
        left = [spec for spec in self.table.specs if spec is not None] + list(self.table.queue) + self.table.suspects
        self._cancel([lane for lane, spec in enumerate(self.table.specs) if spec is not None])
        self.table.queue.clear()
        self.table.suspects, self._results = [], []
        return left

    def close(self) -> None:
        self.drop()
        for loaded in self._pilots:
            self._pilots.close(loaded)

    def _deal(self, together: int = NO_LIMIT) -> None:
        """Start matches until so many are being played, or as many as the group may play."""
        if self._dealer.deal(min(together, self._most) - self.table.running):
            self._lanes_changed()

    def _find_live(self, ways: int) -> Indices:
        if self._live is None or ways != self._ticking:
            self._steady, self._ticking = False, ways
            self._live = find_running(self._lanes, ways, self._running)
        return self._live

    def _lanes_changed(self) -> None:
        """Lanes have started or ended: find the running ones again."""
        self._live = None
        self._march.lanes_changed()

    # Actions

    def _ask(self, loaded: LoadedPilot, acting: Bools) -> int:
        """Call a pilot for its rows; returns how many of its answers are actions."""
        if self._steady and self._live is not None:
            loaded.add_ply()
        else:
            live, slots, held = self._find_live(self._ticking), self.table.slots, self._pending.held
            loaded.set_count(gather(live, acting, self._lanes, slots, held, loaded.index, loaded.rows))
        return self._pending.ask(loaded)

    def _commit(self, live: Indices, acting: Bools, answered: int) -> Indices:
        """Move the lanes whose seats have all answered, and end those on which a seat forfeits."""
        all_answered = self._live is live and answered == live.size * self.info.seats
        moved, failing = self._pending.commit(self._find_live(self._ticking), acting, all_answered)
        self._forfeit(failing)
        self._steady = all_answered and self.info.simultaneous
        return moved

    def _forfeit(self, lanes: list[int]) -> None:
        for lane in lanes:
            self._pending.forfeit(lane)
            self._lanes["running"][lane] = 0
            self._lanes_changed()
            self.table.ended.append(lane)

    def add_pause(self, seconds: float) -> None:
        """Exclude a pause of this length from the times of players."""
        self.clocks.add_pause(seconds)
        self._thinking.add_pause(seconds)

    # Failures

    def _end_thinking(self, live: Indices, acting: Bools) -> None:
        """End the matches whose players have answered PENDING for too long; played alone, the seat forfeits."""
        for lane, faults in self._thinking.overdue(live, acting, self._pilots).items():
            for seat, fault in faults if self._alone else ():
                self._record_fault(lane, seat, fault)
            if not self._alone:
                self._suspect(lane)

    def _call(self, what: PilotCall, loaded: LoadedPilot, slots: Indices, call: Callable[[], None]) -> bool:
        seats = np.uint32(self.info.seats)
        self._heartbeat.set_time_limit(loaded.kind.patience if what is PilotCall.BEGIN else 0.0)
        self._heartbeat.begin_call(what, self.table.match_numbers, slots // seats, int(slots[0] % seats))
        try:
            call()
            if loaded.foreign:
                self._state.check_mode()
                self._state.check_connection()
        except INTERRUPTS:
            raise
        except BaseException as error:  # see PilotPool.load_seating
            kind = EndingKind.CANNOT_START if what is PilotCall.BEGIN else EndingKind.EXCEPTION
            self._on_failure(kind, loaded, slots, error)
            return False
        finally:
            self._heartbeat.end_call()
            self._heartbeat.set_time_limit(0.0)
        return True

    def _on_failure(self, kind: EndingKind, loaded: LoadedPilot, slots: Indices, error: BaseException) -> None:
        """Played alone, the seat forfeits. Otherwise the matches of the call are suspects; the pilot is replaced."""
        seats = self.info.seats
        fault = fault_of(error, kind) if self._alone else None
        loaded.settle()
        if fault is not None:
            for slot in slots.tolist():
                self._record_fault(slot // seats, slot % seats, fault)
            return
        row = self._heartbeat.current_row
        suspects = {slot // seats for slot in (slots if row is None else slots[row : row + 1]).tolist()}
        mine = np.flatnonzero(self.table.slots["pilot"] == loaded.index)
        broken = sorted(suspects | {slot // seats for slot in mine.tolist()})
        for lane in broken:
            spec = self.table.specs[lane]
            assert spec is not None
            (self.table.suspects if lane in suspects else self.table.queue).append(spec)
        self.table.slots["pilot"][mine] = NO_PILOT
        self._pilots.close(loaded)
        self._cancel(broken)
        self._march.remove(loaded)

    def _record_fault(self, lane: int, seat: int, fault: Fault) -> None:
        self._lane_log.record_fault(lane, seat, *fault)
        self._pending.held[lane, seat] = FAILED

    def _cancel(self, lanes: list[int]) -> None:
        self.table.cancellations += 1
        self._free_lanes(lanes)
        slots = slots_of(lanes, self.info.seats)
        for loaded in self._pilots:
            mine = slots[self.table.slots["pilot"][slots] == loaded.index]
            if mine.size:
                self.table.slots["pilot"][mine] = NO_PILOT
                self._heartbeat.begin_call(PilotCall.END, self.table.match_numbers, mine // np.uint32(self.info.seats))
                try:
                    loaded.pilot.end(mine, None)
                except INTERRUPTS:
                    raise
                except BaseException as error:  # these matches have no result, so the failure does not count
                    name, what = loaded.kind.name, describe_error(error)
                    log.error("the pilot of %s failed when matches were cancelled: %s", name, what)
                finally:
                    loaded.settle()
                    self._heartbeat.end_call()

    def _free_lanes(self, lanes: list[int]) -> None:
        self.table.release(lanes)
        self._lane_log.clear(lanes)
        self._thinking.clear(lanes)
        self._lanes_changed()
        self._pending.held[lanes] = PENDING

    # Collecting

    def _collect(self) -> None:
        """Turn ended lanes into results, pass them to the pilots, and free the lanes."""
        self._collected = time.perf_counter()
        seats, alone = self.info.seats, self._alone
        batch = collect(self.table, self._pilots, self._lane_log, self.boards, self._call, seats, alone)
        if batch:
            self._results.append(batch)
        ended, self.table.ended = self.table.ended, []
        self._free_lanes(ended)
