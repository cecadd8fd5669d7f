"""A worker process of self-play: plays many boards at once and passes batches of experience to the trainer.

It plays a batch, writes it into a free slot, and looks for messages before the next one. While it is paused, or no slot
is free, it waits for messages without using the processor.
"""

from __future__ import annotations

import select
import socket
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numba.core import event

from agents.nets.architecture import Architecture
from agents.nets.network import load
from agents.training.selfplay.parallel_config import RewardStructure
from agents.training.selfplay.shared_weights import SharedWeights
from agents.training.selfplay.slots import Activity, Slots
from agents.training.selfplay.synchronizer import ModelSynchronizer, WeightsRefused
from engine.errors import BadValue, RingsideError
from engine.game import Ints
from engine.play.heartbeat import Heartbeat
from engine.play.match import AgentSpec, GameSpec, Limits, MatchSpec
from engine.play.rollout import Rollout
from engine.play.rollout_calls import RolloutCalls
from engine.play.rollout_columns import Trajectories
from engine.play.rollout_messages import unpack_agent
from engine.play.rollout_plans import NamedPlan
from engine.play.workers.main import CompilerListener
from engine.processes.bootstrap import OUT_OF_MEMORY
from engine.processes.channel import Channel, ProtocolError
from engine.registry import FAMILIES, GAMES, KINDS, game_of
from engine.seeding import derive

REPEATED = 0.1  # steps that are repeated at most, because running games continue with new players, for each step played
RUN = "agents.training.selfplay.worker:serve"
SELF_PLAY = "agents.training.selfplay.worker:self_play"


@dataclass(frozen=True)
class WorkerSpec:
    """What a worker plays, and how."""

    game: GameSpec
    streams: tuple[int, ...]  # one for each board
    first: tuple[int, ...]  # by board, the number of its first game
    steps: int  # of each board in a batch
    slots: int  # batches that may wait
    plan: str  # "module:function", as for a RolloutProcess
    settings: Mapping[str, Any]  # of the plan
    learner: AgentSpec  # without its weights
    longest: int  # steps of a game; 0: no limit
    games: int  # after which it sets up its players again; 0: never
    rewards: Mapping[str, float]  # weights of statistics and measures
    reward_structure: RewardStructure


def self_play(
    agents: Mapping[str, AgentSpec], stream: int, k: int, game: str, version: int, options: Sequence[Any], seed: int,
    seats: int, learner: str,
) -> MatchSpec:  # fmt: skip
    """The default plan: the learner plays all seats."""
    spec = GameSpec(game, version, tuple((name, value) for name, value in options))
    return MatchSpec(f"{stream}.{k}", spec, (agents[learner],) * seats, derive("self-play", seed, stream, k))


class Games:
    """The plan of a worker: numbers the games of each stream over resets and restarts, and limits their length."""

    def __init__(self, plan: NamedPlan, first: Mapping[int, int], longest: int) -> None:
        self._plan, self._first, self._longest = plan, dict(first), longest
        self.next = dict(first)  # by stream, the number of its next game

    def skip(self) -> None:
        """Rollouts that are made from now on begin with new games."""
        self._first = dict(self.next)

    def __call__(self, stream: int, k: int) -> MatchSpec:
        number = self._first[stream] + k
        spec = self._plan(stream, number)
        self.next[stream] = number + 1
        if self._longest:
            steps = min(self._longest, spec.limits.steps or self._longest)
            spec = replace(spec, limits=Limits(steps, spec.limits.clock))
        return spec


def serve(end: socket.socket, spec: WorkerSpec, memory: Any, calls_memory: Any, weights_memory: Any) -> int:
    """The main function of a worker process; returns its exit status."""
    slots, weights = Slots(memory, spec.slots), SharedWeights(weights_memory)
    event.register("numba:compiler_lock", CompilerListener(cast(Heartbeat, slots)))  # type: ignore[no-untyped-call]
    for registry in (FAMILIES, GAMES, KINDS):
        registry.rescan()  # plug-ins may have been installed since the fork server started
    calls = RolloutCalls(len(spec.streams) * game_of(spec.game).info.seats, calls_memory)
    try:
        with SelfPlayWorker(Channel(end), spec, slots, weights, calls) as worker:
            worker.run()
    except MemoryError:
        return OUT_OF_MEMORY
    except ProtocolError:  # the trainer has closed the connection
        return 0
    return 0


class SelfPlayWorker:
    """Plays until it gets "stop". It begins paused, without weights."""

    def __init__(
        self,
        channel: Channel,
        spec: WorkerSpec,
        slots: Slots,
        weights: SharedWeights,
        calls: RolloutCalls | None = None,
    ) -> None:
        self._weights, self._calls = weights, calls
        self._channel, self._spec, self._slots, self._game = channel, spec, slots, game_of(spec.game)
        self._plan = NamedPlan(spec.plan, spec.settings)
        self._games = Games(self._plan, dict(zip(spec.streams, spec.first, strict=True)), spec.longest)
        self._rollout: Rollout | None = None  # made when there are weights
        self._architecture: Architecture | None = None  # of these
        self._free = deque(range(spec.slots))
        self._version = self._batch = 0
        self._games_played = self._steps_played = 0  # since its players were set up
        self._running_steps: Ints = np.zeros(len(spec.streams), np.int64)  # by board, of its running game
        self._paused, self._failed, self._stopped = True, False, False
        self._forgot = False  # whether agents were forgotten since the last batch

    def __enter__(self) -> SelfPlayWorker:
        return self

    def __exit__(self, *_: object) -> None:
        if self._rollout is not None:
            self._rollout.close()

    def run(self) -> None:
        self._channel.put(["ready"])
        while not self._stopped:
            idle = self._idle()
            if idle is not None:
                self._note(idle)
            self._exchange(wait=idle is not None)
            if self._idle() is None and not self._stopped:
                self._play()
        while self._channel.waiting:
            self._exchange(wait=True)

    def _idle(self) -> Activity | None:
        """Why it does not play; None if it does."""
        if self._failed:
            return Activity.FAILED
        if self._paused or self._rollout is None:
            return Activity.PAUSED
        return None if self._free and not self._channel.waiting else Activity.WAITING

    def _note(self, activity: Activity) -> None:
        self._slots.set_activity(activity, self._batch)

    def _exchange(self, wait: bool) -> None:
        """Send what is left to send, and handle the messages that have arrived; wait for them if there is nothing to
        play. When the trainer ends, this raises Disconnected."""
        sending = [self._channel.socket] if self._channel.waiting else []
        readable, _, _ = select.select([self._channel.socket], sending, [], None if wait else 0.0)
        self._channel.flush()
        for fields, body in self._channel.get() if readable else ():
            match fields:
                case ["free", int(slot)]:
                    self._free.append(slot)
                case ["control", int(number), str(name), *rest]:
                    self._control(number, name, rest, body)
                case _:
                    raise ProtocolError("sent an invalid message")

    # Playing

    def _play(self) -> None:
        assert self._rollout is not None
        self._batch += 1
        self._note(Activity.PLAYING)
        try:
            segment = self._rollout.collect(self._spec.steps)
        except RingsideError as error:
            self._failed = True
            self._channel.put(["failed", self._batch, type(error).__name__, str(error)])
            return
        self._spec.reward_structure.apply(segment)
        slot = self._free.popleft()
        fields, body = self._slots.write(slot, segment)
        upcoming = [self._games.next[stream] for stream in self._spec.streams]
        self._channel.put(["batch", self._batch, self._version, upcoming, *fields], body)
        self._count(segment)
        if self._is_due() or (self._forgot and self._rollout.idle_agents() - self._plan.agents.keys()):
            self._set_up_again()
        self._forgot = False

    def _count(self, segment: Trajectories) -> None:
        self._games_played += len(segment.results)
        self._steps_played += segment.ends.size
        over = segment.ends != 0
        after_last = np.where(over.any(axis=1), over[:, ::-1].argmax(axis=1), self._running_steps + over.shape[1])
        self._running_steps = after_last

    def _is_due(self) -> bool:
        """Whether its players are to be set up again, after so many games. The running games are repeated from their
        start for that, which is not done before they are few steps beside those that it has played since."""
        enough = 0 < self._spec.games <= self._games_played
        return enough and int(self._running_steps.sum()) <= REPEATED * self._steps_played

    def _set_up_again(self) -> None:
        """Load all players anew, only those that still play, and continue the running games with them. If a player
        cannot repeat what it has played, the former ones continue."""
        former = self._rollout
        assert former is not None
        self._note(Activity.LOADING)
        self._games_played = self._steps_played = 0
        with suppress(RingsideError):
            self._rollout = self._new_rollout(former.save(checked=False))
            self._slots.count_reset()
            former.close()

    def _begin_anew(self) -> None:
        """Begin new games; running ones are abandoned."""
        if self._rollout is not None:
            self._rollout.close()
            self._slots.count_reset()
        self._games.skip()
        self._games_played = self._steps_played = 0
        self._running_steps[:] = 0
        self._rollout = self._new_rollout(None)

    def _new_rollout(self, saved: bytes | None) -> Rollout:
        return Rollout(
            self._game,
            self._spec.streams,
            self._games,
            [self._spec.learner.id],
            agents=self._plan.agents,
            rewards=self._spec.rewards,
            saved=saved,
            calls=self._calls,
        )

    # Control messages

    def _control(self, number: int, name: str, rest: list[Any], body: bytes) -> None:
        """Every control message is answered: with an empty text, or the reason why it was refused."""
        try:
            match name, rest:
                case "pause", []:
                    self._paused = True
                case "resume", []:
                    self._paused = self._failed = False
                case "reset", []:
                    self._begin_anew()
                    self._failed = False
                case "weights", _:
                    self._set_weights(rest, body)
                case "agent", _:
                    self._set_agent(unpack_agent(rest, body))
                case "forget", [list(ids)]:
                    for id in ids:
                        self._plan.agents.pop(id, None)
                    self._forgot = True
                case "settings", [dict(settings)]:
                    self._plan.configure(settings)
                case "stop", []:
                    self._stopped = True
                case _:
                    raise ProtocolError("sent an invalid message")
        except RingsideError as error:
            if isinstance(error, ProtocolError):
                raise
            self._channel.put(["answer", number, str(error), self._version])
        else:
            self._channel.put(["answer", number, "", self._version])

    def _set_weights(self, fields: list[Any], body: bytes) -> None:
        """Install weights between two batches: whole, or not at all."""
        self._note(Activity.LOADING)
        version, payload = ModelSynchronizer.read(*self._weights.read(fields, body))
        try:
            network = load(payload)
            network.check_game(self._game)
            if self._architecture not in (None, network.architecture):
                raise BadValue("architecture", network.architecture, f"{self._architecture}, as before")
            self._set_agent(replace(self._spec.learner, payload=payload))
        except RingsideError as error:
            raise WeightsRefused(f"model version {version}: {error}") from None
        self._version, self._architecture = version, network.architecture
        if self._rollout is None:
            self._warm_up()
            self._begin_anew()

    def _warm_up(self) -> None:
        """Play two short games that do not count: what has to be compiled or imported is there before the first batch,
        so a later delay means that the worker hangs."""
        self._note(Activity.STARTING)
        stream, number = self._spec.streams[0], self._spec.first[0]
        learners, rewards = [self._spec.learner.id], self._spec.rewards

        def short(_: int, k: int) -> MatchSpec:
            return replace(self._plan(stream, number), limits=Limits(steps=1))

        with (
            suppress(RingsideError),  # the first batch fails with the same error, and is reported
            Rollout(self._game, [stream], short, learners, agents=self._plan.agents, rewards=rewards) as rollout,
        ):
            rollout.collect(2)

    def _set_agent(self, agent: AgentSpec) -> None:
        self._note(Activity.LOADING)
        if self._rollout is not None and self._rollout.has_loaded(agent):
            self._rollout.replace(agent)
        self._plan.agents[agent.id] = agent
        self._failed = False
