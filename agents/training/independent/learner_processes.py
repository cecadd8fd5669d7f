"""The learner processes of all agents: starts and supervises them, and starts those again that ended.

A process that ends is started again from the states that it has published last. One that ends too often without any
progress is not restarted: its agents keep their last weights, and the others go on.
"""

from __future__ import annotations

import logging
import math
import selectors
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from agents.training.events import Span, WorkerState
from agents.training.independent.buffer import ReplayBuffer
from agents.training.independent.config import role_of
from agents.training.independent.learner_link import LearnerLink
from agents.training.independent.learner_records import LearnerLimits, ProcessRecord
from agents.training.independent.learner_specs import (
    GROUP,
    NOT_FINITE,
    AgentMemory,
    GroupSpec,
    LearnerSpec,
    UpdateBounds,
    divide,
)
from agents.training.independent.published import PublishedState
from engine.closing import Closing
from engine.errors import BadValue, RingsideError
from engine.processes import launcher
from engine.processes.bootstrap import NICE_PROGRAM, ChildSetup
from engine.processes.child import PULSE, Selector

if TYPE_CHECKING:
    from agents.training.independent.learner import LearnerGroup
    from agents.training.independent.learner_settings import LearnerSettings

logger = logging.getLogger(__name__)

SERVER = "agents.training.independent.learner_preload"
LIBRARIES = ("torch", "agents.training.independent.learner")
STOP = 1.0  # seconds that a process may take to finish its update, or to publish it, when training is stopped
GRACE = 0.5  # seconds that it may take to exit after that


class LearnersFailed(RingsideError):  # noqa: N818
    """All learner processes were given up, or one refused what it was asked for."""


class TrainingInterrupted(Exception):  # noqa: N818
    """`stop` returned True before all updates were made; the agents are as before these updates."""


class LearnerProcesses(Closing):
    """Processes that learn for these groups of agents. The groups themselves only give and take states here."""

    def __init__(
        self,
        groups: Sequence[LearnerGroup],
        buffers: Mapping[int, ReplayBuffer],
        workers: int,
        *,
        bounds: UpdateBounds | None = None,
        publish_every: int = 10,
        skipped: Mapping[int, int] | None = None,
        limits: LearnerLimits | None = None,
        plugins: Sequence[str] = (),
        group: str = GROUP,
        libraries: Sequence[str] = LIBRARIES,
    ) -> None:
        """`buffers`: by agent, in memory of `engine.processes.launcher.shared_memory`. `workers`: how many processes.
        `bounds`, `publish_every` and `skipped` concern processes that are `free`. They start with the states of the
        groups."""
        self._groups, self._buffers, self._limits = list(groups), dict(buffers), limits or LearnerLimits()
        self._bounds, self._every, self._group = bounds or UpdateBounds(), publish_every, group
        self._skipped = dict(skipped or {})
        self._setup = ChildSetup(
            server=SERVER, libraries=tuple(libraries), nice=NICE_PROGRAM, plugins=tuple(plugins)
        )  # as nice as the trainer, with which they share the work
        self._places = {agent: (group, k) for group in self._groups for k, agent in enumerate(group.agents)}
        self.agents = tuple(self._places)
        self.states: dict[int, PublishedState] = {}
        self.playing: dict[int, PublishedState] = {}
        self._memories: dict[int, AgentMemory] = {}
        for agent in self.agents:
            self._add_memory(agent)
        specs = [GroupSpec(group.settings, tuple(group.agents)) for group in self._groups]
        parts = divide(specs, workers)
        self.records = [
            ProcessRecord(k, part, tuple(agent for spec in part for agent in spec.agents))
            for k, part in enumerate(parts)
        ]
        self._record_of = {agent: record for record in self.records for agent in record.agents}
        self._free = self._started = False
        self._targets: dict[int, int] = {}  # by agent, of the updates that are made in step
        self._waits: dict[int, int] = {}  # by process that has not made them: the message to be answered, 0 until sent
        self._diverged: set[int] = set()
        self._spans: list[Span] = []
        self._losses = {agent: [0.0, 0] for agent in self.agents}
        self._notes: list[str] = []  # for the log
        self.ends = 0  # processes that ended and should not have

    def _add_memory(self, agent: int) -> None:
        group, _ = self._places[agent]
        buffer = self._buffers[agent]
        if isinstance(buffer.memory, bytearray):
            raise BadValue("buffer", f"of {role_of(agent)}", "in memory that processes share")
        sizes = group.state_size, group.playing_size
        state, playing = (
            PublishedState(launcher.shared_memory(PublishedState.bytes_needed(size)), size) for size in sizes
        )
        self.states[agent], self.playing[agent] = state, playing
        self._memories[agent] = AgentMemory(buffer.memory, state.memory, playing.memory)

    # Start and end

    def start(self) -> None:
        """Start all processes with the current states of the groups. They begin in the background."""
        self._started = True
        self._diverged = {agent for agent, (group, k) in self._places.items() if group.diverged[k]}
        self._publish_groups(self.agents)
        try:
            for record in self.records:
                record.given_up, record.in_a_row = False, 0
                record.reached = self._published(record)
                self._connect(record)
        except BaseException:
            self.close()
            raise

    def _publish_groups(self, agents: Sequence[int]) -> None:
        """Processes of these agents that start from now on continue with the states of the groups."""
        for agent in agents:
            group, k = self._places[agent]
            numbers = np.empty(group.state_size, np.float32)
            group.write_state(k, numbers)
            self.states[agent].publish(numbers, group.updates[k])

    def _connect(self, record: ProcessRecord) -> None:
        first = self._buffers[record.agents[0]]
        group, _ = self._places[record.agents[0]]
        spec = LearnerSpec(
            record.groups, first.observation, group.actions, group.seed, first.rows, first.lanes, self._bounds,
            self._every, self._skipped, self._group,
        )  # fmt: skip
        record.link = LearnerLink(record.index, spec, self._memories, self._setup)
        if record.index in self._waits:
            self._send_targets(record.index, record.link)
        if self._free:
            record.link.send("free")

    def _send_targets(self, index: int, link: LearnerLink) -> None:
        self._waits[index] = link.send("train", [self._targets[agent] for agent in link.spec.agents])

    def close(self) -> None:
        """Idempotent: ask all processes to stop after their update, end those that do not, and wait until they are
        gone. What they have published stays readable."""
        self._started = False
        for record in self.records:
            if record.link is not None and not record.link.ready:
                self._disconnect(record, wait_for_start=False)  # it has not begun to learn
        sent = [(link, link.send("stop")) for record in self.records if (link := record.link) is not None]
        until = time.monotonic() + min(STOP, self._limits.timeout)
        while any(number in link.pending and not link.ended for link, number in sent) and time.monotonic() < until:
            self._wait(max(until - time.monotonic(), 0.0))
            for link, _ in sent:
                link.receive()
        for link, number in sent:
            if number in link.pending and not link.ended:
                link.end("did not stop in time, so it was killed")
                self._note(f"{link.name} {link.ended}")
            link.child.join(GRACE)
        for record in self.records:
            self._disconnect(record)

    def _disconnect(self, record: ProcessRecord, wait_for_start: bool = True) -> int:
        """End a process; returns how many of its updates were not published."""
        link, record.link = record.link, None
        if link is None:
            return 0
        self._take_reports(link)
        versions = [self.states[agent].version for agent in record.agents]
        link.close(wait_for_start)
        return sum(max(link.status.updates(k) - version, 0) for k, version in enumerate(versions))

    # Supervision

    def pump(self, seconds: float = 0.0) -> None:
        """Exchange messages, waiting for them at most so long, and start processes again."""
        if seconds > 0:
            self._wait(seconds)
        for record in self.records:
            link = record.link
            if link is None:
                continue
            link.receive()
            link.check_alive(self._limits.timeout, self._limits.first)
            self._take_reports(link)
            if link.ended:
                self._on_end(record, link)
        if self._started:
            self._restart()

    def _wait(self, seconds: float) -> None:
        """Until a process has sent something, or can be sent more."""
        links = [record.link for record in self.records if record.link is not None and not record.link.ended]
        with Selector() as selector:
            for link in links:
                events = selectors.EVENT_READ | (selectors.EVENT_WRITE if link.child.channel.waiting else 0)
                selector.register(link.child.channel.socket, events)
            if links:
                selector.select(min(seconds, PULSE))
            else:
                time.sleep(min(seconds, PULSE))

    def _on_end(self, record: ProcessRecord, link: LearnerLink) -> None:
        self.ends += 1
        unpublished = self._disconnect(record)
        record.on_end(link.ended, self._published(record), self._limits.restarts, time.monotonic())
        if record.index in self._waits:  # it makes all updates again: losses are not published
            self._publish_groups(record.agents)
        text = f"{link.name} {link.ended}"
        if unpublished:
            text += f"; {unpublished:,} updates were not published"
        if record.given_up:
            text += f". It ended {record.in_a_row} times in a row without progress and is not restarted: its agents "
            text += f"({', '.join(map(role_of, record.agents))}) keep their last weights"
        elif self._started:
            text += "; it is started again"
        self._note(text)

    def _published(self, record: ProcessRecord) -> int:
        return sum(self.states[agent].version for agent in record.agents)

    def _restart(self) -> None:
        now = time.monotonic()
        for record in self.records:
            if record.link is None and not record.given_up and now >= record.restart_at:
                record.restarts += 1
                logger.info("%s is started again", record.name)
                self._connect(record)
        if self.records and all(record.given_up for record in self.records):
            last = self.records[-1]
            raise LearnersFailed(
                f"no learner process is left: each ended {last.in_a_row} times in a row, the last because it "
                f"{last.failure}. Fix the cause, then resume from the last checkpoint"
            )

    def _take_reports(self, link: LearnerLink) -> None:
        self._spans += link.spans
        link.spans = []
        for k, agent in enumerate(link.spec.agents):
            self._losses[agent][0] += link.losses[k][0]
            self._losses[agent][1] += link.losses[k][1]
            link.losses[k] = [0.0, 0]
            if agent not in self._diverged and link.status.diverged(k):
                self._diverged.add(agent)

    def _note(self, text: str) -> None:
        logger.warning("%s", text)
        self._notes.append(text)

    # Control

    def train(self, updates: int, stop: Callable[[], bool] = lambda: False) -> dict[int, list[float]]:
        """Make so many updates of all agents, wait for them, and set the groups to their results; returns the losses by
        agent.

        A process that ends meanwhile is started again and makes the same updates. An agent that diverged, or whose
        process was given up, has fewer losses. `stop` is asked several times a second; once it returns True, the
        processes are killed, and this raises TrainingInterrupted. The next call starts them again.
        """
        if not self._started:
            self.start()
        elif any(group.updates[k] != self.states[agent].version for agent, (group, k) in self._places.items()):
            self.take_states()  # from which processes that end now would start again
        self._targets = {agent: self.states[agent].version + updates for agent in self.agents}
        for record in self.records:
            if record.link is not None:
                self._send_targets(record.index, record.link)
            elif not record.given_up:
                self._waits[record.index] = 0
        losses: dict[int, list[float]] = {agent: [] for agent in self.agents}
        try:
            while self._take_losses(losses):
                if stop():
                    self._kill()
                    raise TrainingInterrupted
                self.pump(PULSE)
        finally:
            self._waits.clear()
        self.take_states()
        return losses

    def _kill(self) -> None:
        """End all processes at once, also one that does not react."""
        self._started = False
        for record in self.records:
            self._disconnect(record, wait_for_start=False)

    def _take_losses(self, losses: dict[int, list[float]]) -> bool:
        """Take what processes have answered; returns whether others still make updates in step."""
        for index, number in list(self._waits.items()):
            record = self.records[index]
            answer = record.link.answers.pop(number, None) if record.link is not None else None
            if answer is not None and answer.refused:
                raise LearnersFailed(f"{record.name} cannot learn: {answer.refused}")
            if answer is not None:
                losses.update(zip(record.agents, answer.losses, strict=True))
            if answer is not None or record.given_up:
                del self._waits[index]
        return bool(self._waits)

    def free(self) -> None:
        """Let all processes learn whenever the collected turns allow it."""
        self._free = True
        for record in self.records:
            if record.link is not None:
                record.link.send("free")

    def pause(self, stop: Callable[[], bool] = lambda: False) -> None:
        """Let no process learn, and wait until each has published its states, at most `STOP` seconds longer once `stop`
        returns True. One that ends meanwhile does without it: it starts again with what `_connect` sends. One that is
        still starting has learned nothing yet."""
        self._free, until = False, math.inf
        self.pump()
        sent = [(record, record.link, record.link.send("pause")) for record in self.records if record.link is not None]
        while any(record.link is link and link.ready and number in link.pending for record, link, number in sent):
            if time.monotonic() > until:
                break
            self.pump(PULSE)
            until = min(until, time.monotonic() + STOP) if stop() else until

    def take_states(self) -> None:
        """Set the groups to the states that were published last. Call it while no process learns."""
        for agent, (group, k) in self._places.items():
            if (published := self.states[agent].read()) is not None:
                group.read_state(k, published[1])

    # What is known

    def settings(self, agent: int) -> LearnerSettings:
        return self._places[agent][0].settings

    def updates(self, agent: int) -> int:
        """Updates that an agent has made; those that a process lost when it ended do not count."""
        record, published = self._record_of[agent], self.states[agent].version
        if record.link is None:
            return published
        return max(record.link.status.updates(record.agents.index(agent)), published)

    def progress(self, agent: int) -> int:
        """Updates that an agent has made or skipped, to be compared with those that are due."""
        return self.updates(agent) + self._skipped.get(agent, 0)

    def taken(self, agent: int) -> int:
        """The same of the state that the group of an agent has."""
        group, k = self._places[agent]
        return group.updates[k] + self._skipped.get(agent, 0)

    def learns(self, agent: int) -> bool:
        """Whether an agent still learns, or will when its process is started again."""
        return agent not in self._diverged and not self._record_of[agent].given_up

    @property
    def stopped(self) -> dict[int, str]:
        """The agents that learn no more, and why."""
        return {
            agent: NOT_FINITE if agent in self._diverged else self._record_of[agent].failure
            for agent in self.agents
            if not self.learns(agent)
        }

    def workers(self) -> tuple[WorkerState, ...]:
        """The processes, for the panels."""
        return tuple(
            record.worker_state(
                sum(map(self.updates, record.agents)),
                running=self._started,
                diverged=self._diverged >= set(record.agents),
            )
            for record in self.records
        )

    def take_spans(self) -> tuple[Span, ...]:
        """Spans of all processes since the last call."""
        spans, self._spans = tuple(self._spans), []
        return spans

    def take_mean_losses(self) -> dict[int, float]:
        """By agent, the mean loss of the updates that were reported since the last call; nan if there was none."""
        means = {agent: total / count if count else math.nan for agent, (total, count) in self._losses.items()}
        self._losses = {agent: [0.0, 0] for agent in self.agents}
        return means

    def take_notes(self) -> list[str]:
        """What happened since the last call, such as a process that ended, as lines for the log."""
        notes, self._notes = self._notes, []
        return notes
