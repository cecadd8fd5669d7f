"""A learner process: samples the buffers of its agents in shared memory, updates them, and publishes their states.

There are two ways to use it. In step with the trainer, each "train" is answered when so many updates are made. Free, it
learns whenever the collected turns allow another update. It looks for messages between two updates; while there is
nothing to learn it waits, and uses little of the processor.
"""

from __future__ import annotations

import importlib
import select
import socket
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numba.core import event

from agents.training.independent.buffer import NothingToSample, Transitions
from agents.training.independent.learner_specs import AgentMemory, LearnerSpec
from agents.training.independent.learner_status import LearnerActivity, LearnerStatus
from agents.training.independent.learning_agent import LearningAgent
from agents.training.independent.sampling import note_compiled
from engine.clock import now
from engine.play.heartbeat import Heartbeat
from engine.play.workers.main import CompilerListener
from engine.processes.bootstrap import OUT_OF_MEMORY
from engine.processes.channel import Channel, ProtocolError

if TYPE_CHECKING:
    from agents.training.independent.learner import LearnerGroup

RUN = "agents.training.independent.learner_process:serve"
FIRST_PAUSE, LONGEST_PAUSE = 0.001, 0.02  # seconds between two looks for new turns, doubled while there are none
PULSE = 0.25  # seconds between two heartbeats while it waits for a message
REPORT = 1.0  # seconds between two reports
SAME = 0.001  # seconds: spans of one name with a shorter gap become one
MOST_SPANS = 4000  # of one report
MOST_MISSES = 3  # minibatches in a row; one may be missed because the buffer changes meanwhile


def serve(end: socket.socket, spec: LearnerSpec, memories: Mapping[int, AgentMemory], status_memory: Any) -> int:
    """The main function of a learner process; returns its exit status."""
    status = LearnerStatus(len(spec.agents), status_memory)
    status.set_activity(LearnerActivity.STARTING, 0)
    event.register("numba:compiler_lock", CompilerListener(cast(Heartbeat, status)))  # type: ignore[no-untyped-call]
    try:
        LearnerProcess(Channel(end), spec, memories, status).run()
    except MemoryError:
        return OUT_OF_MEMORY
    except ProtocolError:  # the trainer has closed the connection
        return 0
    return 0


class SpanRecorder:
    """Spans of time since the last report."""

    def __init__(self) -> None:
        self.spans: list[list[Any]] = []  # name, start in seconds since 1970, seconds
        self._offset = now() - time.perf_counter()

    def add(self, name: str, start: float, end: float) -> None:
        """`start` and `end` as of `time.perf_counter`."""
        start, end = start + self._offset, end + self._offset
        if self.spans and self.spans[-1][0] == name and start - sum(self.spans[-1][1:]) < SAME:
            self.spans[-1][2] = end - self.spans[-1][1]
        elif len(self.spans) < MOST_SPANS:
            self.spans.append([name, start, end - start])

    def take(self) -> list[list[Any]]:
        spans, self.spans = self.spans, []
        return spans


class LearnerProcess:
    """Learns until it gets "stop". It begins idle, with the states that were published before."""

    def __init__(
        self, channel: Channel, spec: LearnerSpec, memories: Mapping[int, AgentMemory], status: LearnerStatus
    ) -> None:
        self._channel, self._spec, self._status = channel, spec, status
        module, _, name = spec.group.partition(":")
        make = getattr(importlib.import_module(module), name)
        self._groups: list[tuple[LearnerGroup, list[LearningAgent]]] = []
        for part in spec.groups:
            group = make(part.settings, spec.observation, spec.actions, part.agents, spec.seed)
            places = enumerate(part.agents)
            self._groups.append((group, [LearningAgent(group, k, spec, memories[agent]) for k, agent in places]))
        self._agents = [agent for _, agents in self._groups for agent in agents]
        self._free = self._stopped = self._learned = False
        self._train: int | None = None  # the number of the message that asked for the updates in step
        self._spans = SpanRecorder()
        self._pause, self._reported = FIRST_PAUSE, time.perf_counter()

    def run(self) -> None:
        self._publish(self._agents)
        self._channel.put(["ready"])
        while not self._stopped:
            busy = self._step()
            self._exchange(0.0 if busy else self._pause if self._free else PULSE)
            if time.perf_counter() - self._reported >= REPORT:
                self._report()
        self._channel.wait_until_sent()

    # Learning

    def _step(self) -> bool:
        """One update of all agents that may learn; returns whether there was one."""
        began, updated = time.perf_counter(), False
        for group, agents in self._groups:
            updated |= self._update(group, agents)
        if updated:
            if not self._learned:
                note_compiled()
                self._learned = True
            self._spans.add("learn", began, time.perf_counter())
            self._pause = FIRST_PAUSE
            self._publish([agent for agent in self._agents if self._free and agent.should_publish])
        else:
            self._publish([agent for agent in self._agents if agent.unpublished])
            self._note(LearnerActivity.AHEAD if self._free else LearnerActivity.IDLE)
        self._answer_train()
        return updated

    def _update(self, group: LearnerGroup, agents: Sequence[LearningAgent]) -> bool:
        batches: list[Transitions | None] = []
        for agent in agents:
            learns = agent.may_learn(self._free)
            try:
                batches.append(agent.sample() if learns else None)
            except NothingToSample as error:
                if self._train is None and agent.misses >= MOST_MISSES:  # the actor may wait for this update
                    raise
                self._refuse_train(str(error))
                batches.append(None)
        if all(batch is None for batch in batches):
            return False
        self._note(LearnerActivity.LEARNING)
        for k, loss in enumerate(group.update(batches)):
            if batches[k] is not None and not agents[k].diverged:
                agents[k].reported.append(loss)
                if self._train is not None:
                    agents[k].losses.append(loss)
        self._note(LearnerActivity.LEARNING)
        return True

    def _note(self, activity: LearnerActivity) -> None:
        for k, agent in enumerate(self._agents):
            self._status.set_agent(k, agent.updates, agent.stopped)
        self._status.set_activity(activity, max(agent.updates for agent in self._agents))

    def _publish(self, agents: Sequence[LearningAgent]) -> None:
        if agents:
            began = time.perf_counter()
            self._note(LearnerActivity.PUBLISHING)
            for agent in agents:
                agent.publish()
            self._note(LearnerActivity.PUBLISHING)
            self._spans.add("publish", began, time.perf_counter())

    # Messages

    def _exchange(self, seconds: float) -> None:
        """Send what is left to send, and handle the messages that have arrived; wait for them at most so long. When
        the trainer ends, this raises Disconnected."""
        began = time.perf_counter()
        sending = [self._channel.socket] if self._channel.waiting else []
        readable, _, _ = select.select([self._channel.socket], sending, [], seconds)
        if seconds:
            self._spans.add("wait", began, time.perf_counter())
            self._pause = min(2 * self._pause, LONGEST_PAUSE)
        self._channel.flush()
        for fields, _ in self._channel.get() if readable else ():
            match fields:
                case ["control", int(number), str(name), *rest]:
                    self._control(number, name, rest)
                case _:
                    raise ProtocolError("sent an invalid message")

    def _control(self, number: int, name: str, rest: list[Any]) -> None:
        """Every control message is answered: with an empty text, or the reason why it was refused."""
        match name, rest:
            case "train", [list(targets)] if len(targets) == len(self._agents):
                for agent, target in zip(self._agents, targets, strict=True):
                    agent.target, agent.losses = int(target), []
                self._train = number
                return  # it is answered when it is done
            case "free", []:
                self._free = True
            case "pause", []:
                self._free = False
                self._publish([agent for agent in self._agents if agent.unpublished])
            case "stop", []:
                self._refuse_train("it was stopped")
                self._publish([agent for agent in self._agents if agent.unpublished])
                self._report()
                self._stopped = True
            case _:
                raise ProtocolError("sent an invalid message")
        self._answer(number)

    def _answer(self, number: int, refused: str = "", losses: Sequence[Sequence[float]] = ()) -> None:
        flat = np.array([loss for numbers in losses for loss in numbers], np.float64)
        self._channel.put(["answer", number, refused, [len(numbers) for numbers in losses]], flat.tobytes())

    def _answer_train(self) -> None:
        """Once the updates in step are made and published."""
        if self._train is not None and not any(agent.has_updates_left for agent in self._agents):
            self._publish([agent for agent in self._agents if agent.unpublished])
            self._answer(self._train, "", [agent.losses for agent in self._agents])
            self._train = None

    def _refuse_train(self, reason: str) -> None:
        if self._train is not None:
            for agent in self._agents:
                agent.target = 0
            self._answer(self._train, reason)
            self._train = None

    def _report(self) -> None:
        """Spans and mean losses since the last report."""
        self._reported = time.perf_counter()
        losses = [[sum(agent.reported), len(agent.reported)] for agent in self._agents]
        for agent in self._agents:
            agent.reported = []
        self._channel.put(["report", self._spans.take(), losses])
