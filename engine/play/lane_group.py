"""One group of lanes: all boards of one GameSpec, and the pilots that play on them.

A tick asks each pilot once for all its rows, moves every lane whose seats have answered, and notes the lanes that have
ended. A march plays the lanes on which all players are compiled for many steps in one call. A failure in a shared call
proves nothing against anyone: its matches come back as *suspects*, to be played alone (`alone=True`), where each seat
is asked by itself and a failure is that seat's forfeit.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import cast

import numpy as np

from engine.errors import BadSpec
from engine.game import BROKEN, PENDING, Boards, Bools, Game, Indices, Seeds, check_match
from engine.play.answers import Answers
from engine.play.clocks import Clocks
from engine.play.pilots import AGENT_ERRORS, Crew, Crews, Seating, blame, log, told
from engine.play.guarded_boards import GuardedBoards
from engine.play.lane_kernels import EVERY, FAILED, SLOT, find_running, gather, settle, slots_of
from engine.play.march import Combination, March, Marching
from engine.play.heartbeat import Call, Marks, number_of
from engine.play.match import EndingKind, MatchSpec
from engine.play.lane_log import Records
from engine.play.results import Picked, ResultBatch
from engine.play.tick import Tick

NOBODY = -1  # pilot of a slot on which no match is going on
MOST_DEALT = 1 << 30
GATHER = 0.1  # seconds that results may wait for others to be collected with
ABREAST = 64  # matches that are begun or collected together in a march: more gain nothing


class Group:
    """Lanes, their queue, and the pilots that play on them; `tick` until it is idle."""

    def __init__(
        self,
        game: Game,
        lanes: int,
        spare: int = 0,
        *,
        alone: bool,
        record: bool,
        rewards: bool,
        marks: Marks,
        marching: Marching,
    ) -> None:
        """`lanes`: matches at once. `spare`: lanes that there is room for, which may be more."""
        self.game, self.info = game, game.info
        self._most = lanes  # matches at once
        self._guarded = GuardedBoards(game, lanes)
        if marching is not Marching.NEVER and spare > lanes and hasattr(self._guarded.raw, "rows"):
            lanes, self._guarded = spare, GuardedBoards(game, spare)  # for ended matches, which are collected together
        self.boards = cast(Boards, self._guarded)
        self.queue: deque[MatchSpec] = deque()
        self.suspects: list[MatchSpec] = []
        self._alone, self._count_rewards, self._marks = alone, rewards, marks
        self._results: list[ResultBatch] = []
        self._specs: list[MatchSpec | None] = [None] * lanes
        self._free = list(range(lanes - 1, -1, -1))
        self._ended: list[int] = []  # lanes whose result is still to be taken
        self._pace = 0  # lanes that moved in the last tick
        self._full = False  # nothing in the queue can be seated before a lane is freed
        self._crews = Crews(game, lanes * game.info.seats, people=alone)
        seats = self.info.seats
        self.clocks = Clocks(seats)
        self._numbers: Indices = np.zeros(lanes, np.uint32)  # by lane, how the marks name its match
        self._records = Records(self.info, lanes, record=record, marks=marks if alone else None)
        self._lanes = self._records.lanes
        self._slots = np.zeros(lanes * seats, SLOT)
        self._slots["pilot"] = NOBODY
        self._live: Indices | None = None  # lanes that are ticked, found again when some have begun or ended
        self._ticking = EVERY  # how the lanes in `_live` are played
        self._ticks_due = False  # whether some lanes are played by ticks
        self.marched = False  # whether the last march played any lane
        self._collected = time.perf_counter()  # when results were last collected
        self._break_offs = 0  # how often matches were broken off
        self._steady = False  # whether everybody's rows are those of the last tick
        self._everyone: Bools = np.ones((lanes, seats), np.bool_)
        self._running, self._over = np.zeros(lanes, np.uint32), np.zeros(lanes, np.uint32)
        failed = partial(self._failure, EndingKind.EXCEPTION)
        self._answers = Answers(
            self.info, self._guarded, self._records, marks, self.clocks, self._numbers, failed, alone=alone
        )
        self._held = self._answers.held
        self._march = March(
            self.info, self._guarded.raw, self._records, self._slots, self._answers.played, marks, marching
        )

    @property
    def running(self) -> int:
        return len(self._specs) - len(self._free) - len(self._ended)

    @property
    def idle(self) -> bool:
        return len(self._free) == len(self._specs) and not self.queue

    @property
    def spent(self) -> bool:
        """Idle, with nothing left to take."""
        return self.idle and not self._results and not self.suspects

    def knows(self, spec: MatchSpec) -> bool:
        """Whether all players of a match have been checked in this run."""
        return self._crews.knows(spec.players)

    def check(self, spec: MatchSpec) -> None:
        """Raise an error that names what is wrong, unless this match can be played here."""
        check_match(spec, self.game)
        self._crews.check(spec)

    def new_run(self) -> None:
        """From now on an agent's id may stand for another agent."""
        for crew in self._crews.new_run(self.spent):
            self._march.forget(crew)

    def tick(self, marching: bool = False) -> Tick:
        """One step of every lane that is ready for one; of those that have a driver, too, unless they are marched."""
        # In batches of 1/32 of the lanes that move: that idles few of them, and costs far less than one by one.
        if self._ended and len(self._ended) * 32 >= self._pace:
            self._collect()
        if self._free and self.queue and not self._full:
            self._deal()
        moved, rewards = self._over[:0], None
        before_tick = len(self._ended)
        live = self._find_live(self._march.ticked if marching else EVERY)
        if live.size:
            acting = self._everyone if self.info.simultaneous else self.boards.acting()
            answered = 0
            for crew in self._crews:
                answered += self._ask(crew, acting)
            moved = self._commit(live, acting, answered)
        if moved.size:
            before = self.boards.scores().copy() if self._count_rewards else None
            self.boards.apply(moved, self._answers.played)
            rewards = None if before is None else self.boards.scores() - before
            over = self._over[: settle(self.boards.over(), self._lanes, moved, self._over)]
            if over.size:
                self._ended.extend(over.tolist())
                self._lanes_changed()
        self._pace = moved.size
        ended = np.array(self._ended[before_tick:], np.uint32) if len(self._ended) > before_tick else self._over[:0]
        return Tick(self, moved, self._answers.played, rewards, ended)

    # Marching

    def march(self, seconds: float) -> bool:
        """Play the lanes that have a driver for about so long; whether ticks are due for others."""
        self.marched = False
        if not self._march.possible:
            return True
        running, overdue = self.running, time.perf_counter() - self._collected > GATHER
        if self.queue and self._ended and (len(self._ended) >= ABREAST or not self._free or self._full or overdue):
            self._collect()
        if self._free and self.queue and not self._full:
            if self._ticks_due:  # ticks are the cheaper the more lanes there are
                self._deal()
            elif 2 * running <= min(ABREAST, self._most):
                self._deal(ABREAST)
        ready = self._march.ready()
        self.marched = bool(ready)
        for combination in ready:
            self._advance(combination, seconds / len(ready))
        self._ticks_due = self._find_live(self._march.ticked).size > 0
        return self._ticks_due

    def _advance(self, combination: Combination, seconds: float) -> None:
        try:
            ended, odd = self._march.play(combination, self._numbers, seconds)
        except AGENT_ERRORS:  # the reason is found when the match is played alone
            if self._marks.asked is None:
                raise
            self._march_failed(combination, self._marks.asked)
            return
        self._ended += ended
        for lane in odd:
            self._judge(lane)

    def _march_failed(self, combination: Combination, row: int) -> None:
        """The match that was being asked is suspect. Others of this call begin anew: some of their players may have
        been asked for a step that was not made."""
        live, known = combination.live, set(self._ended)
        assert live is not None
        running = self._lanes["running"][live] != 0
        self._ended += [lane for lane in live[~running].tolist() if lane not in known]
        guilty = int(live[row])
        others = [lane for lane in live[running].tolist() if lane != guilty]
        self.queue.extend([spec for lane in others if (spec := self._specs[lane])])
        self._break_off(others)
        self._suspect(guilty)

    def _judge(self, lane: int) -> None:
        """A row function on this lane answered what is not a legal action."""
        acting = self._everyone[0] if self.info.simultaneous else self.boards.acting()[lane]
        seats = np.flatnonzero(acting).astype(np.uint32)
        if np.isin(self._answers.played[lane, seats], (BROKEN, PENDING)).any():  # alone, its pilot says why, or thinks
            self._suspect(lane)
        else:
            self._answers.check(lane, seats)
            self._forfeit([lane])

    def _suspect(self, lane: int) -> None:
        if (spec := self._specs[lane]) is not None:
            self.suspects.append(spec)
        self._break_off([lane])

    def actions_since(self, count: int) -> list[int]:
        """The actions on the first lane after so many."""
        return self._records.actions_since(0, count)

    def hear(self, seat: int, action: int) -> bool:
        """A person acts on the first lane; False while nobody sits there."""
        crew = next((one for one in self._crews if one.index == self._slots["pilot"][seat]), None)
        if crew is not None:
            self._call(Call.ACT, crew, np.array([seat], np.uint32), partial(crew.hear, seat, action))
        return crew is not None

    def waits_for_people(self) -> bool:
        """Whether all who still think on the first lane are people: then there is nothing to ask until one acts."""
        people = [crew.index for crew in self._crews if crew.kind.live]
        thinking = self.boards.acting()[0] & (self._held[0] == PENDING)
        return bool(np.isin(self._slots["pilot"][: self.info.seats][thinking], people).all())

    def take_results(self) -> list[ResultBatch]:
        """The matches that ended since the last call."""
        if self._ended and (not self.queue or time.perf_counter() - self._collected > GATHER):
            self._collect()
        taken, self._results = self._results, []
        return taken

    def drop(self) -> list[MatchSpec]:
        """Break off what is running; the matches that now have no result."""
        left = [spec for spec in self._specs if spec is not None] + list(self.queue) + self.suspects
        self._break_off([lane for lane, spec in enumerate(self._specs) if spec is not None])
        self.queue.clear()
        self.suspects, self._results = [], []
        return left

    def close(self) -> None:
        self.drop()
        for crew in self._crews:
            self._crews.dismiss(crew)

    def _find_live(self, ways: int) -> Indices:
        if self._live is None or ways != self._ticking:
            self._steady, self._ticking = False, ways
            self._live = find_running(self._lanes, ways, self._running)
        return self._live

    def _lanes_changed(self) -> None:
        """Some have begun or ended: find those that run again."""
        self._live = None
        self._march.lanes_changed()

    # Dealing

    def _deal(self, abreast: int = MOST_DEALT) -> None:
        """Begin matches until so many are being played, or as many as may be."""
        most = min(abreast, self._most) - self.running
        seatings: list[Seating] = []
        dealt: list[int] = []
        blocked: list[MatchSpec] = []
        taken: dict[str, int] = {}
        while self._free and self.queue and len(dealt) < most:
            spec = self.queue.popleft()
            lane = self._free[-1]
            self._numbers[lane] = number_of(spec)
            seating = self._crews.seated(spec.players)
            if seating is None:  # an agent's code is about to run
                self._marks.enter(Call.LOAD, self._numbers, np.array([lane], np.uint32))
                seated = self._crews.seat(spec, taken, self._slots["pilot"], self._marks.seat)
                self._marks.leave()
                if seated is None:
                    blocked.append(spec)
                    continue
                seating, failures = seated
                if failures and not self._alone:  # in company that proves nothing
                    self.suspects.append(spec)
                    continue
                for seat, error in failures:
                    self._fault(lane, seat, EndingKind.CANNOT_START, error)
            self._specs[lane] = spec
            self.clocks.begin(lane, spec.limits.clock)
            dealt.append(self._free.pop())
            seatings.append(seating)
        self._full = bool(blocked)
        self.queue.extendleft(reversed(blocked))
        if blocked and not dealt and not self.running and not self._ended:
            raise BadSpec(f"match {blocked[0].id!r} seats more players of one kind than its pilot can hold at once")
        if dealt:
            self._begin(dealt, seatings)

    def _begin(self, dealt: list[int], seatings: list[Seating]) -> None:
        specs = [spec for lane in dealt if (spec := self._specs[lane])]
        lanes = np.array(dealt, np.uint32)
        seeds = np.array([spec.seed for spec in specs], np.uint64)
        self.boards.deal(lanes, seeds, [spec.start for spec in specs])
        ways = [self._march.way_of(seating) for seating in seatings]
        own, slots = self._records.begin(lanes, [spec.limits.steps or 0 for spec in specs], ways, seeds)
        self._lanes_changed()
        seated = [one for seating in seatings for one in seating]
        crews = np.array([NOBODY if one is None else one[0].index for one in seated], np.int64)
        agents = np.array([0 if one is None else one[1] for one in seated], np.uint32)
        break_offs = self._break_offs
        for crew in self._crews:
            mine = np.flatnonzero(crews == crew.index)
            if break_offs != self._break_offs:  # a failure has just broken off some of these matches
                mine = mine[[self._specs[slot // self.info.seats] is not None for slot in slots[mine].tolist()]]
            for part in mine[:, None] if self._alone else (mine,) if mine.size else ():
                self._begin_slots(crew, slots[part], agents[part], own[part])
        for lane in lanes[self.boards.over()[lanes] != 0].tolist():
            if self._specs[lane] is not None:  # some starts leave nothing to play
                self._lanes["running"][lane] = 0
                self._ended.append(lane)

    def _begin_slots(self, crew: Crew, slots: Indices, agents: Indices, seeds: Seeds) -> None:
        if self._call(Call.BEGIN, crew, slots, lambda: crew.pilot.begin(slots, agents, seeds)):
            self._slots["pilot"][slots] = crew.index
            self._slots["agent"][slots] = agents

    # Asking and moving

    def _ask(self, crew: Crew, acting: Bools) -> int:
        """Have a pilot answer for its rows; how many of its answers are actions."""
        if self._steady and self._live is not None:
            crew.rows[4] += 1
        else:
            live = self._find_live(self._ticking)
            crew.count = gather(live, acting, self._lanes, self._slots, self._held, crew.index, crew.rows)
        return self._answers.ask(crew, self._steady)

    def _commit(self, live: Indices, acting: Bools, answered: int) -> Indices:
        """Move the lanes that can, and end those on which a seat forfeits."""
        everyone = self._live is live and answered == live.size * self.info.seats
        moved, failing = self._answers.commit(self._find_live(self._ticking), acting, everyone)
        self._forfeit(failing)
        self._steady = everyone and self.info.simultaneous
        return moved

    def _forfeit(self, lanes: list[int]) -> None:
        for lane in lanes:
            self._answers.forfeit(lane)
            self._lanes["running"][lane] = 0
            self._lanes_changed()
            self._ended.append(lane)

    # Failures

    def _call(self, what: Call, crew: Crew, slots: Indices, call: Callable[[], None]) -> bool:
        seats = np.uint32(self.info.seats)
        self._marks.allow(crew.kind.patience if what is Call.BEGIN else 0.0)
        self._marks.enter(what, self._numbers, slots // seats, int(slots[0] % seats))
        try:
            call()
        except AGENT_ERRORS as error:  # see Crews.seat
            kind = EndingKind.CANNOT_START if what is Call.BEGIN else EndingKind.EXCEPTION
            self._failure(kind, crew, slots, error)
            return False
        finally:
            self._marks.leave()
            self._marks.allow(0.0)
        return True

    def _failure(self, kind: EndingKind, crew: Crew, slots: Indices, error: BaseException) -> None:
        """Alone: that seat forfeits. In company: the matches in the call are suspects, and the pilot is replaced."""
        seats = self.info.seats
        if self._alone:
            for slot in slots.tolist():
                self._fault(slot // seats, slot % seats, kind, error)
            return
        row = self._marks.asked
        suspects = {slot // seats for slot in (slots if row is None else slots[row : row + 1]).tolist()}
        mine = np.flatnonzero(self._slots["pilot"] == crew.index)
        broken = sorted(suspects | {slot // seats for slot in mine.tolist()})
        for lane in broken:
            spec = self._specs[lane]
            assert spec is not None
            (self.suspects if lane in suspects else self.queue).append(spec)
        self._slots["pilot"][mine] = NOBODY
        self._crews.dismiss(crew)
        self._break_off(broken)
        self._march.forget(crew)

    def _fault(self, lane: int, seat: int, kind: EndingKind, error: BaseException) -> None:
        self._records.fault(lane, seat, blame(error, kind), told(error))
        self._held[lane, seat] = FAILED

    def _break_off(self, lanes: list[int]) -> None:
        self._break_offs += 1
        self._free_lanes(lanes)
        slots = slots_of(lanes, self.info.seats)
        for crew in self._crews:
            mine = slots[self._slots["pilot"][slots] == crew.index]
            if mine.size:
                self._slots["pilot"][mine] = NOBODY
                self._marks.enter(Call.END, self._numbers, mine // np.uint32(self.info.seats))
                try:
                    crew.pilot.end(mine, None)
                except AGENT_ERRORS:  # nothing of these matches counts; the pilot is judged when they are played again
                    log.exception("the pilot of %s failed when matches were broken off", crew.kind.name)
                finally:
                    self._marks.leave()

    def _free_lanes(self, lanes: list[int]) -> None:
        for lane in lanes:
            self._specs[lane] = None
            self._free.append(lane)
            if lane in self._ended:
                self._ended.remove(lane)
        self._records.forget(lanes)
        self._full = False
        self._lanes_changed()
        self._held[lanes] = PENDING

    # Collecting

    def _collect(self) -> None:
        """Turn ended lanes into results, tell their pilots, and free the lanes."""
        self._collected = time.perf_counter()
        ended = list(self._ended)
        boards, crews, specs = self.boards, self._crews, self._specs
        batch = self._records.results(ended, specs, boards, crews.repeatable)
        slots = slots_of(ended, self.info.seats)
        for crew in self._crews:
            mine = np.flatnonzero(self._slots["pilot"][slots] == crew.index)
            for part in mine[:, None] if self._alone else [mine] if mine.size else []:
                ends = Picked(batch, (part // self.info.seats).tolist())
                self._slots["pilot"][slots[part]] = NOBODY
                self._call(Call.END, crew, slots[part], lambda: crew.pilot.end(slots[part], ends))  # noqa: B023
        kept = self._ended  # without those that a failure has just sent back
        if self._alone and self._records.faulty(kept):
            batch = self._records.results(kept, specs, boards, crews.repeatable)  # one may have failed at the very end
        elif len(kept) < len(ended):
            batch = batch.select([ended.index(lane) for lane in kept])
        if kept:
            self._results.append(batch)
        self._ended = []
        self._free_lanes(kept)
