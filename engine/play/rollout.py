"""Trajectories for trainers: matches with the observations and actions of the learning agents.

A *stream* is a sequence of matches that are played one after the other on one lane. The trajectory of a stream depends
only on its plan and its agents, not on the other streams, the process, or where segments begin and end. So streams
can be distributed over any number of workers.

    def plan(stream, k):  # the k-th match of a stream
        return MatchSpec(f"{stream}.{k}", game.spec, (net, net), derive("train", stream, k))

    with Rollout(game, range(64), plan, learners=[net.id]) as rollout:
        segment = rollout.collect(128)  # segment.actions[stream, step, seat], segment.rewards, segment.obs, ...

`net` is an AgentSpec whose pilot is a `Policy`, such as an `agents.nets.mlp.MlpPilot`. Matches of compiled players are
played in one call of machine code, all others by ticks: the trajectories are the same to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np

from engine.closing import Closing
from engine.errors import MAX_LISTED, BadSpec, BadValue, PolicyFailed, RingsideError
from engine.foreign_code import INTERRUPTS
from engine.game import (
    Boards,
    CompiledBoards,
    CompiledPilot,
    Game,
    Indices,
    Ints,
)
from engine.play.agent_errors import describe_error
from engine.play.guarded_boards import GuardedBoards
from engine.play.lane_kernels import SLOT, TICKED, slots_of
from engine.play.lane_log import LaneLog
from engine.play.match import AgentSpec, MatchResult, MatchSpec
from engine.play.pilots import LoadedPilot, PilotPool
from engine.play.process_state import ProcessState
from engine.play.results import ResultSelection
from engine.play.rollout_calls import RolloutCalls
from engine.play.rollout_columns import Columns, Trajectories
from engine.play.rollout_driver import DONE, FULL, driver
from engine.play.rollout_log import ActionLog
from engine.play.rollout_players import has_rows, is_compiled, player_of
from engine.play.rollout_rewards import weights_of
from engine.play.rollout_saves import SavedPlayer, SavedRollout, SavedStream, digest_of, unpack
from engine.play.rollout_ticks import SavedMatchFailed, SlotFailed, Ticks, describe_answer

__all__ = ["Plan", "Rollout", "Trajectories"]

Plan = Callable[[int, int], MatchSpec]  # (stream, k) -> the k-th match of that stream, from 0 on
EMPTY_LIMIT = 100  # matches of one stream in a row that are over before their first step


class Seat(NamedTuple):
    """The player of a seat."""

    pilot: LoadedPilot
    agent: int  # the pilot's number
    learns: bool  # whether it is recorded
    compiled: bool  # whether the compiled driver can play it


class Rollout(Closing):
    """Plays streams of matches, segment by segment, and returns their trajectories.

    `streams` are the numbers that are passed to `plan`, one for each row of the trajectories. `learners` are the ids of
    the agents that are recorded, by default all whose pilot is a `Policy`; `collect` raises BadSpec if it knows none of
    them. If not `compiled`, all matches are played by ticks. A match that cannot be played raises BadSpec before it
    starts. `rewards` are weights by name: the reward of a step is the change of the score, plus the weighted changes of
    these statistics and measures of the game.

    `saved` continues the matches of another rollout where `save` was called. Their players are taken from `agents`, by
    id, as they are now; players that neither rollout was given are in `saved` themselves.
    """

    def __init__(
        self,
        game: Game,
        streams: Sequence[int],
        plan: Plan,
        learners: Collection[str] | None = None,
        *,
        agents: Mapping[str, AgentSpec] | None = None,
        rewards: Mapping[str, float] | None = None,
        saved: bytes | None = None,
        compiled: bool = True,
        calls: RolloutCalls | None = None,
    ) -> None:
        """`calls`: records which agents are asked, for another process."""
        lanes, seats, info = len(streams), game.info.seats, game.info
        self._game, self._streams, self._plan = game, tuple(streams), plan
        self._learners = None if learners is None else frozenset(learners)
        self._met = not self._learners  # whether one of the named learners has played
        self._agents: Mapping[str, AgentSpec] = {} if agents is None else agents  # may change later
        guarded = GuardedBoards(game, lanes)
        self._boards, self._raw = cast(Boards, guarded), cast(CompiledBoards, guarded.raw)
        self._weights = weights_of(game, rewards or {})
        self._weighted = self._weights.size > 0
        self._compiled = compiled and has_rows(guarded.raw, info, self._weighted)
        self._state = ProcessState()
        self._pilots = PilotPool(game, lanes * seats, state=self._state)
        self._lane_log = LaneLog(info, lanes, record=False, heartbeat=None)
        self._running = self._lane_log.lanes["running"]
        self._specs: list[MatchSpec | None] = [None] * lanes
        self._next = [0] * lanes  # by lane, the index of the next match of its stream
        self._slots = np.zeros(lanes * seats, SLOT)
        self._learning = np.zeros(lanes * seats, np.uint8)
        self._marched = np.zeros(lanes, np.bool_)  # by lane, whether the compiled driver plays its match
        self._marched_pilots: set[int] = set()
        self._log = ActionLog(info, lanes)
        self._digests: dict[str, tuple[AgentSpec, str]] = {}  # by id, of agents that do not learn
        arrays = self._lane_log.lanes, self._slots, self._learning
        self._calls = calls or RolloutCalls(lanes * seats)
        self._ticks = Ticks(info, guarded, *arrays, self._log, self._weights, self._calls, self._state)
        self._answers: Ints = np.zeros((lanes, seats), np.int64)
        self._ended: Indices = np.zeros(lanes, np.uint32)
        self._spare = np.zeros((seats, *info.observation), np.float32)
        self._legal = np.ones((seats, info.actions), np.uint8)
        self._scores, self._policy_out = np.zeros(seats), np.zeros(2, np.float32)
        self._stats = np.zeros_like(self._weights)
        if saved is not None:
            try:
                self.restore(saved)
            except BaseException:
                self.close()
                raise

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
        with _code_of(f"{agent.id!r}, of kind {agent.kind!r},"):
            self._pilots.replace(agent)

    def has_loaded(self, agent: AgentSpec) -> bool:
        """Whether an agent of this kind and id has played."""
        return self._pilots.has_loaded(agent)

    def idle_agents(self) -> set[str]:
        """Ids of agents that are loaded and play in no running match: a new rollout that continues the matches of this
        one (`saved`) would not load them."""
        matches = [spec for spec, running in zip(self._specs, self._running, strict=True) if running and spec]
        playing = {player.id for spec in matches for player in spec.players}
        return {id for loaded in self._pilots for id in loaded.agents} - playing

    def collect(self, steps: int) -> Trajectories:
        """Play the next steps of every stream. Matches continue from call to call; the next one follows at once.

        An agent that raises an error, or whose answer is not a legal action, raises PolicyFailed. The steps of this
        call are then lost, and the match is at the state before that step. The next call asks for that step again.
        """
        if steps < 1:
            raise BadValue("steps", steps, "at least 1")
        self._state.note()
        columns = Columns(self._game.info, len(self._streams), steps)
        self._log.make_room(steps)
        filled: Ints = np.zeros(len(self._streams), np.int64)
        results: list[tuple[int, MatchResult]] = []
        while (live := np.flatnonzero(filled < steps).astype(np.uint32)).size:
            results += self._begin_next(live[self._running[live] == 0].tolist())
            marched = self._marched[live]
            for play, lanes in ((self._march, live[marched]), (self._tick, live[~marched])):
                if lanes.size:
                    ended, failure = play(lanes, steps, filled, columns)
                    results += self._pop_results(ended)
                    if failure is not None:
                        raise PolicyFailed(self._describe(failure)) from failure
        if not self._met:
            self._check_learners()
        results.sort(key=lambda pair: pair[0])  # the sort is stable: within a stream they stay in order
        return columns.finished([result for _, result in results])

    def _check_learners(self) -> None:
        """Raise BadSpec if no learner has played, unless a given agent is one, which may play later or in other
        streams: the ids are wrong, and nothing would ever be recorded."""
        named = self._learners or frozenset()
        if named.isdisjoint(self._agents):
            known = sorted({id for loaded in self._pilots for id in loaded.agents} | self._agents.keys())
            more = ", ..." if len(known) > MAX_LISTED else ""
            ids = f"{', '.join(map(repr, known[:MAX_LISTED]))}{more}"
            raise BadSpec(f"learners: {', '.join(map(repr, sorted(named)))} never played; the players were {ids}")

    def _tick(self, live: Indices, steps: int, filled: Ints, columns: Columns) -> tuple[list[int], SlotFailed | None]:
        return self._ticks.play(tuple(self._pilots), live, steps, filled, columns)

    def _march(self, live: Indices, steps: int, filled: Ints, columns: Columns) -> tuple[list[int], SlotFailed | None]:
        """Play these lanes by the compiled driver; returns the lanes that have ended, and an illegal answer."""
        used = (loaded for loaded in self._pilots if loaded.index in self._marched_pilots)
        loaded_pilots = sorted(used, key=lambda loaded: loaded.kind.name)
        pilots = [cast(CompiledPilot, loaded.pilot) for loaded in loaded_pilots]
        function = driver(self._game.info, self._raw.rows, tuple(map(player_of, pilots)), self._weighted)
        indices = np.array([loaded.index for loaded in loaded_pilots], np.int32)
        arguments: tuple[Any, ...] = (
            live, steps, filled, self._lane_log.lanes, self._slots, self._learning, indices, self._answers,
            self._log.rows, self._log.counts, self._spare, self._legal, self._scores, self._policy_out, self._ended,
            columns.obs, columns.legal.view(np.uint8), columns.rows, columns.actions, columns.log_probs, columns.values,
            columns.rewards, columns.acted, columns.ends, columns.bootstrap, self._weights, self._stats,
            self._raw.arrays,
        )  # fmt: skip
        self._calls.begin(slots_of(live.tolist(), self._game.info.seats))
        ends, failed = function(*arguments, *[pilot.arrays for pilot in pilots])
        self._calls.end()
        if any(loaded.foreign for loaded in loaded_pilots):
            with _code_of(f"one of the kinds {', '.join(loaded.kind.name for loaded in loaded_pilots)}"):
                self._state.check_mode()
        failure = None
        if failed == FULL:
            columns.widen()
        elif failed != DONE:
            answer = int(self._answers.reshape(-1)[failed])
            failure = SlotFailed(int(failed), describe_answer(answer, self._game.info.actions))
        return self._ended[: int(ends)].tolist(), failure

    # Between segments

    def save(self, *, checked: bool = True) -> bytes:
        """The running matches and the place of every stream, for `saved`. Call it between two segments.

        If `checked`, the agents that do not learn must be the same when they are restored.
        """
        streams, players = [], {}
        for lane, stream in enumerate(self._streams):
            match = self._specs[lane] if self._running[lane] else None
            streams.append(SavedStream(stream, self._next[lane], match, self._log.of(lane)))
            for seat, player in enumerate(match.players if match is not None else ()):
                if player.id not in players:
                    learns = bool(self._learning[lane * self._game.info.seats + seat])
                    players[player.id] = self._saved_player(player, checked and not learns)
        return SavedRollout(self._game.spec, tuple(streams), players).pack()

    def _saved_player(self, player: AgentSpec, checked: bool) -> SavedPlayer:
        current, _ = self._pilots.pilot_of(player).agents[player.id]  # its weights may have been replaced
        if player.id not in self._agents:
            return SavedPlayer(current, whole=True)
        if checked and self._digests.get(player.id, (None, ""))[0] is not current:
            self._digests[player.id] = (current, digest_of(current))
        return SavedPlayer(replace(current, payload=b""), False, self._digests[player.id][1] if checked else "")

    def restore(self, saved: bytes) -> None:
        """Continue the matches of another rollout; see `saved`. This one must not have played yet."""
        self._state.note()
        state = unpack(saved, self._game)
        known = {one.stream: one for one in state.streams}
        lanes, specs, seats = [], [], []
        for lane, stream in enumerate(self._streams):
            if stream not in known:
                raise BadSpec(f"the saved matches have no stream {stream}")
            one = known[stream]
            self._next[lane] = one.next
            if one.match is not None:
                lanes.append(lane)
                specs.append(state.spec_of(one.match, self._agents))
                seats += self._seats_of(specs[-1])
                self._log.make_room(len(one.actions))
        for seat, player in zip(seats, (player for spec in specs for player in spec.players), strict=True):
            digest = state.players[player.id].digest
            if digest and not seat.learns and digest != digest_of(player):
                raise BadSpec(f"saved matches: their player {player.id!r} has changed since they were saved")
        self._repeat(lanes, specs, seats, known)

    def _repeat(
        self, lanes: list[int], specs: list[MatchSpec], seats: list[Seat], known: Mapping[int, SavedStream]
    ) -> None:
        """Deal the running matches and play their actions again."""
        for lane, spec in zip(lanes, specs, strict=True):
            self._specs[lane] = spec
        index = np.array(lanes, np.uint32)
        if not lanes:
            return
        self._begin(index, specs, seats)
        for lane in lanes:
            self._log.put(lane, known[self._streams[lane]].actions)
        try:
            self._ticks.repeat(tuple(self._pilots), index)
        except SlotFailed as failure:
            raise PolicyFailed(self._describe(failure)) from failure
        except SavedMatchFailed as failure:
            match = specs[lanes.index(failure.lane)]
            raise BadSpec(f"stream {self._streams[failure.lane]}, saved match {match.id!r}: it {failure}") from failure

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
            try:
                self._begin(np.array(lanes, np.uint32), specs, seats)
            except RingsideError:
                self._running[lanes] = 0  # so that the next call begins them again
                raise
            for lane in lanes:
                self._next[lane] += 1
            over = self._boards.over()
            lanes = [lane for lane in lanes if over[lane] != 0]
            results += self._pop_results(lanes)
            tries += 1
        return results

    def _seats_of(self, spec: MatchSpec) -> list[Seat]:
        """The players of a match; raises BadSpec if it cannot be played here."""
        if spec.game != self._game.spec:
            raise BadSpec(f"match {spec.id!r}: it is a match of {spec.game}, but the rollout plays {self._game.spec}")
        if spec.limits.clock is not None:
            raise BadSpec(f"match {spec.id!r}: a match with a clock cannot be rolled out")
        self._pilots.check(spec)
        seats = []
        for player in spec.players:
            who = f"match {spec.id!r}: {player.id!r}, of kind {player.kind!r},"
            with _code_of(who):
                loaded = self._pilots.pilot_of(player)
                number = loaded.number(player)
            policy = hasattr(loaded.pilot, "decide")
            if loaded.pilot.capacity is not None:
                most = loaded.pilot.capacity
                raise BadSpec(f"{who} cannot be rolled out: its pilot plays only {most} seats at once")
            if player.id in (self._learners or ()) and not policy:
                raise BadSpec(f"{who} cannot learn: its pilot has no method `decide`")
            learns = policy and (self._learners is None or player.id in self._learners)
            seats.append(Seat(loaded, number, learns, self._compiled and is_compiled(loaded)))
        return seats

    def _begin(self, lanes: Indices, specs: list[MatchSpec], seats: list[Seat]) -> None:
        seeds = np.array([spec.seed for spec in specs], np.uint64)
        self._boards.deal(lanes, seeds, [spec.start for spec in specs])
        limits = [spec.limits.steps or 0 for spec in specs]
        own, slots = self._lane_log.begin(lanes, limits, [TICKED] * len(specs), seeds)
        self._log.counts[lanes] = 0
        self._calls.set_agents(slots, [player.id for spec in specs for player in spec.players])
        agents = np.array([seat.agent for seat in seats], np.uint32)
        self._slots["pilot"][slots] = [seat.pilot.index for seat in seats]
        self._slots["agent"][slots] = agents
        learning = self._learning[slots] = [seat.learns for seat in seats]
        self._met = self._met or any(learning)
        marched = np.array([seat.compiled for seat in seats]).reshape(len(specs), -1).all(axis=1)
        self._marched[lanes] = marched
        self._marched_pilots.update(self._slots["pilot"][slots].reshape(len(specs), -1)[marched].flat)
        for loaded in self._pilots:
            mine = self._slots["pilot"][slots] == loaded.index
            if mine.any():
                with _code_of(f"the pilot of {loaded.kind.name}"):
                    loaded.pilot.begin(slots[mine], agents[mine], own[mine])
                    self._state.check_mode()

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
                with _code_of(f"the pilot of {loaded.kind.name}"):
                    loaded.pilot.end(slots[mine], ResultSelection(batch, (mine // self._game.info.seats).tolist()))
                    self._state.check_mode()
        return list(zip(ended, batch, strict=True))

    def _describe(self, failure: SlotFailed) -> str:
        lane, seat = divmod(failure.slot, self._game.info.seats)
        spec, step = self._specs[lane], int(self._lane_log.lanes["ply"][lane])
        assert spec is not None
        return f"stream {self._streams[lane]}, match {spec.id!r}, step {step}: {spec.players[seat].id!r} {failure}"


@contextmanager
def _code_of(who: str) -> Iterator[None]:
    """Raise errors of an agent's code as PolicyFailed."""
    try:
        yield
    except RingsideError:
        raise
    except INTERRUPTS:
        raise
    except BaseException as error:
        raise PolicyFailed(f"{who} failed: {describe_error(error)}") from error
