"""A worker process as the dispatcher sees it: its sockets, the matches it holds, its last call and how it died."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.play.failures import InterruptedMatch, unplayed_result
from engine.play.heartbeat import Heartbeat, HeartbeatSnapshot, PilotCall, size_of
from engine.play.match import AgentSpec, Ending, EndingKind, MatchResult, MatchSpec
from engine.play.process_state import LOST_CONNECTION
from engine.play.workers.entry import RUN, WorkerSettings
from engine.play.workers.messages import SentCache, WireIds, pack_matches
from engine.processes import launcher
from engine.processes.bootstrap import OUT_OF_MEMORY
from engine.processes.child import SIGKILL, ChildProcess
from engine.processes.process_tree import resident_memory
from engine.telemetry import WorkerView

EXIT_TIMEOUT = 2.0  # seconds that it may take to exit once its death was noticed
SHORTEST_START = 10.0  # seconds
FORKING = 10  # times as long: until a fork server has imported everything, and compiled what all workers need
MUCH_MEMORY = 16  # part of the limit that a call which is filling the memory takes in the time of a call
PAYLOAD_BYTES = 64 << 20  # payloads of agents that a worker keeps for the next run


@dataclass(frozen=True)
class WorkerLimits:
    """Limits; a worker that exceeds one is killed."""

    call: float = 10.0  # seconds for one call of an agent's code
    row: float = 0.01  # seconds for each row of the call, if that is more
    memory: int | None = 2 << 30  # bytes beyond its size when it was ready
    failures: int | None = 3  # confirmed failures after which an agent is quarantined for the run

    @property
    def start(self) -> float:
        """Seconds that a process may take until it is ready, and the import of an agent's kind."""
        return max(3 * self.call, SHORTEST_START)


@dataclass(eq=False, slots=True)
class Job:
    """A match of a run and its number in messages."""

    number: int
    spec: MatchSpec
    timed: bool = False  # must be played alone: it has a clock, or a player that needs a core of its own
    libraries: tuple[str, ...] = ()  # heavy libraries of its players' kinds
    starts: int = 0  # how often it was started and interrupted, not counting batches of suspects
    skip: int = 0  # steps of a live match that are played at full speed


@dataclass(eq=False)
class IsolatedBatch:
    """Matches that share a process with no others: one that is played alone, or suspects together."""

    jobs: list[Job]
    alone: bool = True  # each seat is called separately, so that a failure is assigned to it
    fresh: bool = True  # needs a process that has not played yet; suspects together do not: nobody is blamed for them

    @property
    def libraries(self) -> tuple[str, ...]:
        return self.jobs[0].libraries  # they have the same: they come from one process


class WorkerHandle:
    """One worker process."""

    def __init__(
        self,
        slot: int,
        settings: WorkerSettings,
        memory: Any,
        restarts: int = 0,
        libraries: tuple[str, ...] = (),
    ) -> None:
        """`libraries`: it plays only matches that need exactly these."""
        self.slot, self.restarts, self.libraries, self._settings = slot, restarts, libraries, settings
        self.held: dict[int, Job] = {}
        self.isolated: IsolatedBatch | None = None
        self.fresh = True  # has not played yet
        self.retiring = False  # gets no more matches and stops when it holds none
        self.draining = False  # gets no more matches until it holds none
        self.stopping = False  # "stop" was sent
        self.released = False  # killed, sockets closed
        self.recalling = False  # "recall" was sent and not answered
        self.ready = False
        self.capacity = 2 * settings.batch  # matches that it should hold; it sends the number itself later
        self.done = 0
        self._base: int | None = None  # bytes of memory when it was ready
        self._taken = self._taken_before = 0  # bytes that it has taken since, and when its pulse changed last
        self.kill_reason: tuple[EndingKind, str] | None = None  # set when we kill it
        self.memory = memory
        self.heartbeat = Heartbeat(memoryview(np.frombuffer(memory, np.uint8)), settings.rows, settings.log_words)  # type: ignore[arg-type]
        self.heartbeat.clear()
        self._sent = SentCache()
        self._begun = time.monotonic()
        self._forked: float | None = None  # when its process was first seen
        self._last_pulse = (-1, self._begun)  # and when it changed
        self.child = ChildProcess(RUN, memory, settings, setup=settings.setup(libraries))
        self.channel = self.child.channel

    @property
    def pid(self) -> int | None:
        return self.child.pid

    @property
    def idle(self) -> bool:
        return not self.held

    @property
    def has_ended(self) -> bool:
        return self.child.has_ended

    @property
    def lacks(self) -> int:
        """How many matches it should get to hold as many as its capacity."""
        return self.capacity - len(self.held)

    def accepts_shared(self) -> bool:
        """Whether it may get matches that share the process."""
        return self.isolated is None and not (self.retiring or self.draining)

    def view(self) -> WorkerView:
        if self.retiring or self.stopping:
            state = "retiring"
        elif not self.ready:
            state = "restarting" if self.restarts else "starting"
        else:
            state = "playing" if self.held else "idle"
        first = next(iter(self.held.values()), None)
        playing = " - ".join(player.id for player in first.spec.players) if first else ""
        more = f" and {len(self.held) - 1} more" if len(self.held) > 1 else ""
        return WorkerView(self.slot, self.pid, state, playing + more, self.done, self.restarts)

    # Sending

    def new_run(self) -> None:
        self._sent.games.clear()
        self._sent.agents.clear()
        spare = sum(self._sent.payloads.values()) - PAYLOAD_BYTES
        forgotten = []
        while spare > 0:
            digest, size = self._sent.payloads.popitem(last=False)
            forgotten.append(digest)
            spare -= size
        if forgotten:
            self.channel.put(["forget", forgotten])
        self.channel.put(["run"])

    def play(self, jobs: list[Job], wire_ids: WireIds, isolated: IsolatedBatch | None = None) -> None:
        self._hold(jobs, isolated)  # before sending: if the worker has just died, these matches are lost with it
        name: list[object] = ["alone", None, 0] if isolated is not None and isolated.alone else ["play"]
        games: dict[int, list[Job]] = {}  # by id(), which is faster than a hash of the game
        for job in jobs:
            games.setdefault(id(job.spec.game), []).append(job)
        for some in games.values():
            self._send_matches(name, wire_ids.number(some[0].spec.game), some, wire_ids)

    def play_live(self, job: Job, wire_ids: WireIds, pace: float, paused: bool) -> None:
        self._hold([job], IsolatedBatch([job]))
        self._send_matches(["alone", pace, job.skip], wire_ids.number(job.spec.game), [job], wire_ids)
        if paused:
            self.channel.put(["pause"])
        if paused and job.skip:
            self.channel.put(["step", job.skip])

    def _hold(self, jobs: list[Job], isolated: IsolatedBatch | None) -> None:
        self.held.update([(job.number, job) for job in jobs])
        self.isolated, self.fresh = isolated, False

    def _send_matches(self, name: list[object], game: int, jobs: list[Job], wire_ids: WireIds) -> None:
        """Send matches of one game, after the game and the agents that were not sent yet."""
        specs = [job.spec for job in jobs]
        if game not in self._sent.games:
            self._sent.games.add(game)
            spec = specs[0].game
            self.channel.put(["game", game, spec.name, spec.version, spec.options], now=False)
        players = [number for spec in specs for number in wire_ids.players[spec.players]]
        if not self._sent.agents.issuperset(players):
            agents = [player for spec in specs for player in spec.players]
            for number, agent in dict(zip(players, agents, strict=True)).items():
                if number not in self._sent.agents:
                    self._sent.agents.add(number)
                    self._send_agent(number, agent, wire_ids.digests[number])
        fields, body = pack_matches([job.number for job in jobs], specs, players)
        self.channel.put([*name, game, *fields], body)

    def _send_agent(self, number: int, agent: AgentSpec, digest: str) -> None:
        payloads = self._sent.payloads
        if digest not in payloads:
            self.channel.put(["payload", digest], agent.payload, now=False)
            payloads[digest] = len(agent.payload)
        payloads.move_to_end(digest)
        self.channel.put(["agent", number, agent.id, agent.kind, agent.version, digest], now=False)

    def recall(self) -> None:
        if not self.recalling and self.held:
            self.recalling = True
            self.channel.put(["recall"])

    # Observing

    def late_start(self, now: float, limit: float) -> str:
        """Why it should be ready by now and is not, else an empty text."""
        if self.ready or self.kill_reason is not None:
            return ""
        if self._forked is None and self.pid is not None:
            self._forked = now
        if self._forked is not None:
            late = now - self._forked > limit
            return f"its process was not ready {limit:.3g} s after its start" if late else ""
        libraries = f" and {', '.join(self.libraries)}" if self.libraries else ""
        slow = f"its process was not started within {FORKING * limit:.3g} s: the import of Ringside{libraries} may hang"
        return slow if now - self._begun > FORKING * limit else ""

    def overdue(self, now: float, limits: WorkerLimits) -> HeartbeatSnapshot | None:
        """The current call and its time limit, if it has exceeded it."""
        pulse = self.heartbeat.pulse
        if pulse != self._last_pulse[0] or self.idle or not self.ready:
            self._last_pulse, self._taken_before = (pulse, now), self._taken
            return None
        snapshot = self.heartbeat.read()
        if snapshot.compiling:
            self._last_pulse = (pulse, now)
            return None
        allowed = snapshot.time_limit or max(limits.call, snapshot.rows * limits.row)
        if snapshot.call is PilotCall.NONE:  # the rules of the game hang
            allowed = max(6 * limits.call, 1.0)
        elif snapshot.call is PilotCall.IMPORT:
            allowed = limits.start
        if now - self._last_pulse[1] <= allowed:
            return None
        much = math.inf if limits.memory is None or snapshot.time_limit else limits.memory / MUCH_MEMORY
        if self._taken - self._taken_before >= much:  # it fills its memory: on a busy machine, that takes long
            self._last_pulse, self._taken_before = (pulse, now), self._taken
            return None
        return snapshot._replace(time_limit=allowed)

    def memory_excess(self, limit: int) -> str:
        """A message if it has taken more memory than this since it was ready, else an empty text."""
        pid = self.pid
        size = resident_memory(pid) if pid is not None and self.ready and self.kill_reason is None else None
        if size is None:
            return ""
        self._base = size if self._base is None else self._base
        taken = self._taken = size - self._base
        return f"its process used {taken >> 20:,} MB; the limit is {limit >> 20:,} MB" if taken > limit else ""

    def kill(self, kind: EndingKind | None = None, reason: str = "") -> None:
        if kind is not None and self.kill_reason is None:
            self.kill_reason = (kind, reason)
        self.child.kill()

    @property
    def killed_externally(self) -> bool:
        """Whether it was killed by SIGKILL, but not by us: by an agent in it, or from outside."""
        return self.kill_reason is None and self.child.exit_code == -SIGKILL

    def exit_reason(self) -> tuple[EndingKind, str]:
        """Why the process ended: the kind of ending and its reason."""
        child = self.child
        if error := child.start_error:
            return EndingKind.CRASH, error
        child.join(EXIT_TIMEOUT)
        if self.kill_reason is not None:
            kind, reason = self.kill_reason
            return kind, child.with_output(reason)
        if child.exit_code == OUT_OF_MEMORY:
            return EndingKind.MEMORY, child.with_output("its process ran out of memory")
        if child.exit_code == LOST_CONNECTION:
            return EndingKind.CRASH, child.with_output("it closed or replaced descriptors of its process")
        return EndingKind.CRASH, child.with_output(f"its process {child.exit_text}")

    @property
    def steps_played(self) -> int:
        """The steps of the match that it plays alone; also after it has died."""
        return int(self.heartbeat.lane[0]["ply"])

    def crash_result(self, spec: MatchSpec, kind: EndingKind, reason: str) -> MatchResult | InterruptedMatch:
        """The result of a match that was played alone when its process died.

        The seat that was being called forfeits. Outside any call the match is void.
        """
        snapshot = self.heartbeat.read()
        if snapshot.call in (PilotCall.NONE, PilotCall.CLOSE) or not snapshot.seat < len(spec.players):
            return unplayed_result(spec, EndingKind.VOID, f"{reason}, while no player was being called")
        seats: tuple[int, ...] = (snapshot.seat,)
        if snapshot.call in (PilotCall.IMPORT, PilotCall.LOAD, PilotCall.BEGIN):
            kind = EndingKind.CANNOT_START
        if snapshot.call is PilotCall.IMPORT:  # no agent of this kind can start
            kinds = [player.kind for player in spec.players]
            seats = tuple(seat for seat, other in enumerate(kinds) if other == kinds[snapshot.seat])
        record = self.heartbeat.lane[0]
        logged = int(record["logged"])
        actions = self.heartbeat.log[0, : logged >> 6].tobytes() + int(record["word"]).to_bytes(8, "little")
        ending = Ending(kind, seats, reason)
        return InterruptedMatch(spec, ending, self.steps_played, actions[: (logged + 7) // 8], self._settings.record)

    def release(self) -> None:
        """Kill the process and close the sockets; a process that is still starting is killed when it has started."""
        self.child.close(wait_for_start=False)


def memory_for(settings: WorkerSettings) -> Any:
    return launcher.shared_memory(size_of(settings.rows, settings.log_words))
