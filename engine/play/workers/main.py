"""The worker's side: an arena that is kept full, or one match by itself, and messages in between.

It answers the dispatcher (`engine.play.workers.dispatcher`) and takes no decisions about guilt: it marks what it is doing and,
if an agent breaks it, it breaks.
"""

from __future__ import annotations

import itertools
import os
import select
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba.core import event

from engine.errors import BrokenPlugin, GameFailed, RingsideError, UnknownName
from engine.play.arena import Arena
from engine.play.march import Marching
from engine.play.heartbeat import Marks
from engine.play.match import AgentSpec, GameSpec, MatchSpec
from engine.processes.bootstrap import OUT_OF_MEMORY, WorkerSettings
from engine.play.results import ResultBatch
from engine.play.workers.warmup import make_ready
from engine.processes.channel import Broken, Channel, pack_results, unpack_matches
from engine.registry import FAMILIES, FORMATS, GAMES, KINDS, TRAINERS, Registry

SLICE = 0.002  # seconds of play between two looks at the messages
HURRY = 0.02  # seconds that a result may wait for company: each message costs the dispatcher some 0.1 ms
AHEAD = 0.04  # seconds of play that should be at hand beyond what is on the lanes: until new ones come, and 20 ms more
FIRST_LANES = 32  # more as long as a tick stays short: slow players gain nothing from many, and show nothing for long
SHORT_TICK = 0.004
MESSAGE = 32 << 20  # bytes of actions in one message
MOMENT = 1 / 60  # seconds: a live match tells what it did this often
PULSE = 0.2  # seconds: longer than this no match waits without a sign of life
PONDER = 0.001  # seconds between two questions to a player that is still thinking
COMPILER_MEMORY = 512 << 20  # bytes: with less for agents, a worker does not compile drivers, which takes up to 100 MB
HINT = " (in a worker process; what a script registers itself must be in a module, and plugins=[...] must name it)"


class CompilerListener(event.Listener):
    """Tells the watchdog that this thread compiles a kernel, or waits until another thread has compiled one.

    Compilation in the background does not count: an agent that hangs meanwhile would never be noticed, because it may
    keep the other thread from going on.
    """

    def __init__(self, marks: Marks) -> None:
        self._marks, self._thread = marks, threading.get_ident()

    def on_start(self, event: object) -> None:
        if threading.get_ident() == self._thread:
            self._marks.compiling(1)

    def on_end(self, event: object) -> None:
        if threading.get_ident() == self._thread:
            self._marks.compiling(-1)


def work(end: socket.socket, memory: Any, settings: WorkerSettings) -> int:
    """Serve until told to stop; the exit status."""
    view = memoryview(np.frombuffer(memory, np.uint8))  # type: ignore[arg-type]
    marks = Marks(view, settings.rows, settings.log_words)
    event.register("numba:compiler_lock", CompilerListener(marks))  # type: ignore[no-untyped-call]
    registries: Sequence[Registry[Any]] = (FAMILIES, GAMES, KINDS, FORMATS, TRAINERS)
    for registry in registries:
        registry.rescan()  # more may be installed than when the server looked
    try:
        Service(Channel(end), marks, settings).run()
    except MemoryError:  # an agent may have left nothing for us; every match here is suspect
        return OUT_OF_MEMORY
    except Broken:  # the dispatcher is gone
        return 1
    return 0


class Service:
    """What a worker knows: the games, agents and payloads it was told, and what it plays."""

    def __init__(self, channel: Channel, marks: Marks, settings: WorkerSettings) -> None:
        self._channel, self._marks, self._settings = channel, marks, settings
        self._games: dict[int, GameSpec] = {}
        self._agents: dict[int, AgentSpec] = {}
        self._payloads: dict[str, bytes] = {}
        self._arena: Arena | None = None  # for company
        self._solo: Solo | None = None
        self._leaving = False
        self._results: list[ResultBatch] = []
        self._sent = 0.0  # when
        self._lanes = min(FIRST_LANES, settings.lanes)
        self._want = 0
        self._tick = SLICE  # seconds, estimated
        self._rate = 0.0  # matches a second, estimated

    def run(self) -> None:
        self._send(["ready", os.getpid()])
        while True:
            try:
                self._listen()
                if self._solo is not None:
                    if self._solo.step():
                        self._finish_solo(self._solo)
                elif self._arena is not None and not self._arena.idle:
                    self._play(self._arena)
                elif self._leaving:
                    return
            except RingsideError as error:
                if isinstance(error, Broken):
                    raise
                hint = HINT if isinstance(error, UnknownName | BrokenPlugin) else ""
                self._send(["failed", f"{error}{hint}", isinstance(error, GameFailed)])
                self._drop()

    def _listen(self) -> None:
        """Take what has come; wait for it when there is nothing else to do."""
        wait: float | None = None if not self._leaving else 0.0
        if self._solo is not None:
            wait = self._solo.wait()
        elif self._arena is not None and not self._arena.idle:
            wait = 0.0
        if wait != 0.0:
            select.select([self._channel.socket], [], [], wait)
        self._marks.beat()
        for words, body in self._channel.get():
            self._obey(words, body)

    def _specs(self, game: int, words: list[Any], body: bytes) -> list[MatchSpec]:
        """Matches to be played here; kernels are compiled for them before any player's clock runs."""
        specs = unpack_matches(words, body, self._games[game], self._agents)
        for kind in {player.kind for spec in specs for player in spec.players}:
            make_ready(self._games[game].name, kind)
        return specs

    def _obey(self, words: list[Any], body: bytes) -> None:
        name, *rest = words
        match name:
            case "play":
                arena = self._company()
                for spec in self._specs(rest[0], rest[1:], body):
                    arena.add(spec)
            case "alone":
                pace, skip, game, *words = rest
                [spec] = self._specs(game, words, body)
                arena = Arena(1, alone=True, marks=self._marks)  # always logged: it may have to be told how far it came
                self._solo = Solo(arena) if pace is None else Live(arena, pace, skip, self._send)
                arena.add(spec)
            case "payload":
                self._payloads[rest[0]] = body
            case "agent":
                number, id_, kind, version, digest = rest
                self._agents[number] = AgentSpec(id_, kind, self._payloads[digest], version)
            case "game":
                number, game, version, options = rest
                self._games[number] = GameSpec(game, version, tuple((key, value) for key, value in options))
            case "forget":
                for digest in rest[0]:
                    self._payloads.pop(digest, None)
            case "run":
                self._new_run()
            case "recall":
                back = self._arena.recall() if self._arena is not None else []
                self._send(["recalled", [int(spec.id) for spec in back]])
            case "stop":
                self._leaving = True
            case _:
                if self._solo is not None:
                    self._solo.obey(name, rest)

    def _company(self) -> Arena:
        if self._arena is None:
            settings = self._settings
            roomy = settings.memory is None or settings.memory >= COMPILER_MEMORY
            marching = Marching.WHEN_READY if roomy else Marching.IF_CACHED
            self._arena = Arena(settings.lanes, record=settings.record, marks=self._marks, marching=marching)
        return self._arena

    def _new_run(self) -> None:
        """Another run: its numbers are new, and an agent's id may stand for another agent."""
        self._agents.clear()
        self._games.clear()
        if self._arena is not None:
            self._arena.new_run()

    # In company

    def _play(self, arena: Arena) -> None:
        since = time.perf_counter()
        ticks = arena.advance(SLICE)
        self._tick = 0.5 * self._tick + 0.5 * (time.perf_counter() - since) / max(ticks, 1)
        if time.perf_counter() - self._sent >= HURRY or not arena.playing:  # in batches: each collection costs
            self._results += arena.take_batches()
        suspects = arena.take_suspects()
        if suspects:
            self._send(["suspects", [int(spec.id) for spec in suspects]])
        if self._lanes < self._settings.lanes and self._tick < SHORT_TICK and arena.running * 4 >= self._lanes * 3:
            self._lanes = min(2 * self._lanes, self._settings.lanes)
            self._ask_for_more()
        self._report(arena)

    def _report(self, arena: Arena) -> None:
        now = time.perf_counter()
        if now - self._sent < HURRY and not arena.idle:
            return
        elapsed = now - self._sent
        if elapsed < 1:
            self._rate += (sum(map(len, self._results)) / elapsed - self._rate) * min(elapsed / 0.2, 1.0)
        self._sent = now
        results, self._results = self._results, []
        self._ask_for_more()
        self._send_results(results)

    def _ask_for_more(self) -> None:
        want = self._lanes + max(self._settings.batch, int(self._rate * AHEAD))
        if abs(want - self._want) > self._want // 16:
            self._want = want
            self._send(["want", want])

    def _send_results(self, batches: Sequence[ResultBatch]) -> None:
        """As few messages as possible, none of them too large; games differ in seats and statistics."""
        shapes: dict[tuple[int, int], list[ResultBatch]] = {}
        for batch in batches:
            shapes.setdefault(batch.shape, []).append(batch)
        for alike in shapes.values():
            whole = ResultBatch.joined(alike)
            while len(whole.log) > MESSAGE and len(whole) > 1:
                sizes = itertools.accumulate(whole.columns.sizes.tolist())
                most = max(sum(size <= MESSAGE for size in sizes), 1)
                self._send_batch(whole[:most])
                whole = whole[most:]
            if whole:
                self._send_batch(whole)

    def _send_batch(self, batch: ResultBatch) -> None:
        words, body = pack_results(batch)
        self._send(["results", *words], body)

    def _drop(self) -> None:
        if self._arena is not None:
            self._arena.drop()
        self._results = []
        self._solo = None

    # Alone

    def _finish_solo(self, solo: Solo) -> None:
        batches = solo.arena.take_batches()
        self._send_results(batches if self._settings.record else [batch.without_actions() for batch in batches])
        self._solo = None
        solo.arena.close()

    def _send(self, words: Sequence[object], body: bytes = b"") -> None:
        """The dispatcher always reads, sooner or later: waiting for it is what keeps a fast worker in step."""
        self._channel.put(words, body)
        while self._channel.waiting:
            select.select([], [self._channel.socket], [])
            self._channel.flush()


class Solo:
    """One match by itself, as fast as it goes."""

    def __init__(self, arena: Arena) -> None:
        self.arena = arena

    def wait(self) -> float:
        """Seconds until the next step."""
        return 0.0

    def step(self) -> bool:
        """Play a little; whether it is over."""
        self.arena.advance(SLICE)
        return self.arena.idle

    def obey(self, name: str, rest: Sequence[Any]) -> None:
        """What can be asked of a live match."""


class Live(Solo):
    """One match at a pace to be watched, told as it happens."""

    def __init__(self, arena: Arena, pace: float, skip: int, send: Callable[[Sequence[object]], None]) -> None:
        super().__init__(arena)
        self._send = send
        self._pace = pace  # steps a second; 0 for as fast as it goes
        self._skip = skip  # steps still to be played at full speed, whatever the pace
        self._paused: float | None = None  # since when
        self._single = 0  # steps still to be played until it is paused again
        self._pondering = False  # somebody is still thinking
        self._people = False  # and everybody who is, is a person
        self._said: list[tuple[int, int]] = []  # what people did that nobody has heard yet
        self._next = time.perf_counter()  # when the next step is due
        self._told = 0  # actions
        self._told_at = 0.0

    def wait(self) -> float:
        if self._paused is not None:
            return PULSE
        if self._pondering:
            return PULSE if self._people and not self._said else PONDER  # a message ends the wait
        return min(max(self._next - time.perf_counter(), 0.0), PULSE) if self._paced else 0.0

    @property
    def _paced(self) -> bool:
        return self._pace > 0 and not self._skip and not self._single

    def step(self) -> bool:
        until = time.perf_counter() + SLICE
        while self._paused is None and not self.arena.idle:
            now = time.perf_counter()
            if now > until or (self._paced and now < self._next):
                break
            if self._said:
                self._said = [one for one in self._said if not self.arena.hear(*one)]
            ticks = self.arena.tick()
            self._pondering = not any(tick.moved.size or tick.ended.size for tick in ticks) and not self.arena.idle
            self._people = self._pondering and self.arena.waits_for_people()
            self._skip -= self._skip > 0 and not self._pondering
            if any(tick.ended.size for tick in ticks) or now - self._told_at > MOMENT:
                self._tell(now)
            if self._pondering:
                break
            if self._single:
                self._single -= 1
                if not self._single:
                    self._stand_still()
            if self._paced:
                self._next = max(self._next + 1 / self._pace, now - MOMENT)  # what was missed is not made up for
        return self.arena.idle

    def obey(self, name: str, rest: Sequence[Any]) -> None:
        now = time.perf_counter()
        match name:
            case "act":  # no step is due because of it: who presses faster does not play faster
                self._said.append((rest[0], rest[1]))
                return
            case "pause" if self._paused is None:
                self._stand_still()
            case "resume":
                self._go_on(now)
            case "step" if self._paused is not None or self._single:
                steps = self._single + rest[0]
                self._go_on(now)
                self._single = steps
            case "pace":
                self._pace = rest[0]
        self._next = now

    def _stand_still(self) -> None:
        self._paused, self._single = time.perf_counter(), 0
        self._tell(self._paused)

    def _go_on(self, now: float) -> None:
        if self._paused is not None:
            self.arena.forgive(now - self._paused)
        self._paused, self._single = None, 0

    def _tell(self, now: float) -> None:
        self._told_at = now
        if new := self.arena.actions_since(self._told):
            self._told += len(new)
            self._send(["moves", new])
