"""A worker process as its dispatcher sees it: its sockets, what it holds, what it was last doing, how it died."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import socket
import time
from collections import OrderedDict
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from engine.processes import launcher as nursery
from engine.play.failures import CutShort, unplayed
from engine.play.heartbeat import Call, Mark, Marks, size_of
from engine.play.match import AgentSpec, Ending, EndingKind, GameSpec, MatchResult, MatchSpec
from engine.processes.bootstrap import OUT_OF_MEMORY, WorkerSettings
from engine.processes.channel import Channel, pack_matches
from engine.telemetry import WorkerView

TAIL = 1 << 14  # bytes of what a worker last printed
LAST_WORDS = 400  # letters of it that a record keeps
OURS = str(Path(__file__).parents[1])
PLACE = re.compile(r'^File "(.*)", line (\d+) in (.*)$', re.M)  # as Python prints it when it crashes
KILLED = 9  # the signal that no process survives
PAYLOADS = 64 << 20  # bytes of agents' payloads that a worker keeps for later


@dataclass(frozen=True)
class Watch:
    """What a worker may do before it is killed."""

    call: float = 10.0  # seconds for one call of an agent's code
    row: float = 0.01  # or this much for each row of it, if that is more
    memory: int | None = 2 << 30  # bytes beyond what it starts with
    failures: int | None = 3  # confirmed ones, after which an agent is out for the run


@dataclass(eq=False, slots=True)
class Job:
    """A match on its way."""

    number: int
    spec: MatchSpec
    starts: int = 0  # how often it was begun and broken off


@dataclass(eq=False)
class Isolated:
    """Matches to be played with nobody else in the process: one that is judged, or a few that share a suspicion."""

    jobs: list[Job]
    alone: bool = True  # each seat is asked by itself, and a failure is its own
    fresh: bool = True  # in a process in which nothing has been played


@dataclass
class Known:
    """What a worker has been told, so that it is told once."""

    games: set[int] = field(default_factory=set)
    agents: set[int] = field(default_factory=set)
    payloads: OrderedDict[str, int] = field(default_factory=OrderedDict)  # sizes, the longest unused first


class Directory:
    """The numbers by which the games and agents of a run go on the wire."""

    def __init__(self) -> None:
        self._numbers: dict[GameSpec | AgentSpec, int] = {}
        self._seen: dict[int, int] = {}  # by id() of those in `_numbers`: hashing a spec costs far more
        self.digests: dict[int, str] = {}  # of an agent's payload

    def number(self, spec: GameSpec | AgentSpec) -> int:
        number = self._seen.get(id(spec))
        return self._look_up(spec) if number is None else number

    def _look_up(self, spec: GameSpec | AgentSpec) -> int:
        number = self._numbers.get(spec)
        if number is None:  # the first of its kind is kept, so that its id() stays its own
            number = self._numbers[spec] = self._seen[id(spec)] = len(self._numbers)
            if isinstance(spec, AgentSpec):
                self.digests[number] = hashlib.blake2b(spec.payload, digest_size=16).hexdigest()
        return number


class Worker:
    """One process."""

    def __init__(self, slot: int, settings: WorkerSettings, memory: Any, restarts: int = 0) -> None:
        self.slot, self.restarts, self._settings = slot, restarts, settings
        self.held: dict[int, Job] = {}
        self.isolated: Isolated | None = None
        self.fresh = True  # nothing was given to it yet
        self.retiring = False  # gets nothing more, and ends when it has nothing left
        self.draining = False  # gets nothing more until it has nothing left
        self.leaving = False  # has been told to end
        self.buried = False  # and nothing of it is left here
        self.recalling = False  # has been asked to give back what it has not begun
        self.ready = False
        self.want = 2 * settings.batch  # matches it likes to have; it says so once it has started
        self.done = 0
        self._base: int | None = None  # bytes of memory when it was ready
        self.sentence: tuple[EndingKind, str] | None = None  # why it was killed
        self.memory = memory
        self.marks = Marks(memoryview(np.frombuffer(memory, np.uint8)), settings.rows, settings.log_words)  # type: ignore[arg-type]
        self.marks.clear()
        self._known = Known()
        self._last: tuple[int, float] = (-1, time.monotonic())  # the sequence of its marks, and since when it stands
        self._printed = bytearray()
        ours, theirs = socket.socketpair()
        self.output, printed = socket.socketpair()
        self.output.setblocking(False)
        self.channel = Channel(ours)
        self._birth: Future[BaseProcess] = nursery.start(theirs, printed, memory, settings)

    @property
    def process(self) -> BaseProcess | None:
        return self._birth.result() if self._birth.done() and not self._birth.exception() else None

    @property
    def pid(self) -> int | None:
        process = self.process
        return process.pid if process is not None else None

    @property
    def idle(self) -> bool:
        return not self.held

    @property
    def gone(self) -> bool:
        process = self.process
        return bool(self.stillborn) or (process is not None and not process.is_alive())

    @property
    def stillborn(self) -> str:
        """Why it could not even be started, if so."""
        return str(self._birth.exception()) if self._birth.done() and self._birth.exception() else ""

    def open_to_company(self) -> bool:
        return self.isolated is None and not (self.retiring or self.draining)

    def view(self) -> WorkerView:
        if self.retiring or self.leaving:
            state = "retiring"
        elif not self.ready:
            state = "restarting" if self.restarts else "starting"
        else:
            state = "playing" if self.held else "idle"
        first = next(iter(self.held.values()), None)
        playing = " - ".join(player.id for player in first.spec.players) if first else ""
        more = f" and {len(self.held) - 1} more" if len(self.held) > 1 else ""
        return WorkerView(self.slot, self.pid, state, playing + more, self.done, self.restarts)

    # Telling it

    def new_run(self) -> None:
        self._known.games.clear()
        self._known.agents.clear()
        spare = sum(self._known.payloads.values()) - PAYLOADS
        forgotten = []
        while spare > 0:
            digest, size = self._known.payloads.popitem(last=False)
            forgotten.append(digest)
            spare -= size
        if forgotten:
            self.channel.put(["forget", forgotten])
        self.channel.put(["run"])

    def play(self, jobs: list[Job], directory: Directory, isolated: Isolated | None = None) -> None:
        self._take(jobs, isolated)  # before a word is sent: it may just have died, and then this is what dies with it
        name: list[object] = ["alone", None, 0] if isolated is not None and isolated.alone else ["play"]
        games: dict[int, list[Job]] = {}
        for job in jobs:
            games.setdefault(directory.number(job.spec.game), []).append(job)
        for game, some in games.items():
            self._send_matches(name, game, some, directory)

    def play_live(self, job: Job, directory: Directory, pace: float, skip: int) -> None:
        self._take([job], Isolated([job]))
        self._send_matches(["alone", pace, skip], directory.number(job.spec.game), [job], directory)

    def _take(self, jobs: list[Job], isolated: Isolated | None) -> None:
        for job in jobs:
            self.held[job.number] = job
        self.isolated, self.fresh = isolated, False

    def _send_matches(self, name: list[object], game: int, jobs: list[Job], directory: Directory) -> None:
        """Matches of one game, after the game and the agents that it does not know yet."""
        specs = [job.spec for job in jobs]
        if game not in self._known.games:
            self._known.games.add(game)
            spec = specs[0].game
            self.channel.put(["game", game, spec.name, spec.version, spec.options], now=False)
        agents = [player for spec in specs for player in spec.players]
        players = [directory.number(player) for player in agents]
        if not self._known.agents.issuperset(players):
            for number, agent in dict(zip(players, agents, strict=True)).items():
                if number not in self._known.agents:
                    self._known.agents.add(number)
                    self._tell_agent(number, agent, directory.digests[number])
        words, body = pack_matches([job.number for job in jobs], specs, players)
        self.channel.put([*name, game, *words], body)

    def _tell_agent(self, number: int, agent: AgentSpec, digest: str) -> None:
        payloads = self._known.payloads
        if digest not in payloads:
            self.channel.put(["payload", digest], agent.payload, now=False)
            payloads[digest] = len(agent.payload)
        payloads.move_to_end(digest)
        self.channel.put(["agent", number, agent.id, agent.kind, agent.version, digest], now=False)

    def recall(self) -> None:
        if not self.recalling and self.held:
            self.recalling = True
            self.channel.put(["recall"])

    # Watching it

    def read_output(self) -> bool:
        """Keep the tail of what it prints; False at its end."""
        with suppress(BlockingIOError):
            for _ in range(16):  # others have something to say too
                try:
                    piece = self.output.recv(1 << 16)
                except ConnectionError:
                    return False
                if not piece:
                    return False
                self._printed += piece
                del self._printed[:-TAIL]
        return True

    @property
    def last_words(self) -> str:
        """What it printed last, in one line; of Python's own account of a crash, where it happened."""
        text = self._printed.decode(errors="replace")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        fatal = max((n for n, line in enumerate(lines) if line.startswith("Fatal Python error")), default=None)
        if fatal is None:
            raised = any(line.startswith("Traceback (most recent call last)") for line in lines)
            return (lines[-1] if raised else " | ".join(lines))[-LAST_WORDS:]
        told = [lines[fatal]]
        for file, line, function in PLACE.findall("\n".join(lines[fatal:])):
            if file.startswith(OURS):  # from here on it is how we got there
                break
            told.append(f"{Path(file).name}, line {line}, in {function}")
        return " | ".join(told)[:LAST_WORDS]

    def overdue(self, now: float, limit: float, row_limit: float) -> Mark | None:
        """The call that has gone on for too long, with what it was allowed."""
        pulse = self.marks.pulse
        if pulse != self._last[0] or self.idle or not self.ready:
            self._last = (pulse, now)
            return None
        mark = self.marks.read()
        if mark.compiling:
            self._last = (pulse, now)
            return None
        allowed = mark.allowed or max(limit, mark.rows * row_limit)
        if mark.call is Call.NONE:  # the rules themselves hang
            allowed = max(6 * limit, 1.0)
        return mark._replace(allowed=allowed) if now - self._last[1] > allowed else None

    def overweight(self, limit: int) -> str:
        """What to say of it if it has taken more memory than this since it was ready."""
        pid = self.pid
        size = resident(pid) if pid is not None and self.ready and self.sentence is None else None
        if size is None:
            return ""
        self._base = size if self._base is None else self._base
        taken = size - self._base
        return f"its process took {taken >> 20:,} MB, {limit >> 20:,} are allowed" if taken > limit else ""

    def kill(self, kind: EndingKind | None = None, reason: str = "") -> None:
        if kind is not None and self.sentence is None:
            self.sentence = (kind, reason)
        process = self.process
        if process is not None and process.pid is not None:
            kill_group(process)

    @property
    def shot(self) -> bool:
        """Whether it was killed, and not by us: by an agent in it, or by somebody outside."""
        process = self.process
        return self.sentence is None and process is not None and process.exitcode == -KILLED

    def cause_of_death(self) -> tuple[EndingKind, str]:
        """Once it is dead: what to say of it."""
        process = self.process
        if process is None:
            return EndingKind.CRASH, self.stillborn or "its process never started"
        process.join(2.0)
        if self.sentence is not None:
            kind, reason = self.sentence
        elif process.exitcode == OUT_OF_MEMORY:
            kind, reason = EndingKind.MEMORY, "its process ran out of memory"
        else:
            kind, reason = EndingKind.CRASH, f"its process {exit_words(process.exitcode)}"
        self.read_output()
        return kind, f"{reason}; it last printed: {self.last_words}" if self.last_words else reason

    def verdict(self, spec: MatchSpec, kind: EndingKind, reason: str) -> MatchResult | CutShort:
        """It died over a match that it played alone: who was in a call is guilty; if nobody was, nobody is."""
        mark = self.marks.read()
        if mark.call in (Call.NONE, Call.CLOSE) or not mark.seat < len(spec.players):
            return unplayed(spec, EndingKind.VOID, f"{reason}, while no player was being asked")
        if mark.call in (Call.LOAD, Call.BEGIN):
            kind = EndingKind.CANNOT_START
        record = self.marks.lane[0]
        logged = int(record["logged"])
        actions = self.marks.log[0, : logged >> 6].tobytes() + int(record["word"]).to_bytes(8, "little")
        ending = Ending(kind, (mark.seat,), reason)
        return CutShort(spec, ending, int(record["ply"]), actions[: (logged + 7) // 8], self._settings.record)

    def bury(self) -> None:
        """Give everything back. Killed if need be; a process that is still being born dies of the closed socket."""
        self.kill()
        self._birth.add_done_callback(_kill_late)
        for end in (self.channel.socket, self.output):
            end.close()


def memory_for(settings: WorkerSettings) -> Any:
    return nursery.shared_memory(size_of(settings.rows, settings.log_words))


def _kill_late(birth: Future[BaseProcess]) -> None:
    if not birth.exception():
        process = birth.result()
        kill_group(process)
        process.join(1.0)


def kill_group(process: BaseProcess) -> None:
    """It and whatever it has started: it is the leader of a group of its own."""
    if process.pid is not None:
        with suppress(OSError):
            process.kill()
        if hasattr(os, "killpg"):
            with suppress(OSError):
                os.killpg(process.pid, KILLED)


def exit_words(code: int | None) -> str:
    if code is None:
        return "is gone"
    if code < 0:
        with suppress(ValueError):
            return f"died of {signal.Signals(-code).name}"
    return f"exited with status {code}" if code >= 0 else f"died of signal {-code}"


def resident(pid: int) -> int | None:
    """Bytes of memory that a process holds; None when it is gone."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        try:
            return int(psutil.Process(pid).memory_info().rss)
        except psutil.Error:
            return None
