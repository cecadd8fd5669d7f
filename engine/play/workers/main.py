"""The main loop of a worker process: it plays the matches that the dispatcher sends and returns their results.

A crashing agent may crash this process. The worker writes its current call to its heartbeat; the dispatcher decides
which agent is to blame.
"""

from __future__ import annotations

import itertools
import os
import select
import socket
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba.core import event

from engine.errors import BrokenPlugin, GameFailed, RingsideError, UnknownName
from engine.foreign_code import LONGEST_MESSAGE, text_of
from engine.play.arena import Arena
from engine.play.heartbeat import Heartbeat
from engine.play.march import Marching
from engine.play.match import AgentSpec, GameSpec, MatchSpec
from engine.play.process_state import ProcessState
from engine.play.results import ResultBatch
from engine.play.workers.entry import WorkerSettings
from engine.play.workers.messages import AgentNumbers, pack_results, unpack_matches
from engine.play.workers.solo import SLICE, LiveMatchLoop, SoloMatch
from engine.play.workers.warmup import warm_up
from engine.plugin_imports import LATE_MODULES
from engine.processes.bootstrap import OUT_OF_MEMORY
from engine.processes.channel import Channel, ProtocolError
from engine.registry import FAMILIES, FORMATS, GAMES, KINDS, TRAINERS, Registry

REPORT_EVERY = 0.02  # seconds between two messages with results: each costs the dispatcher some 0.1 ms
AHEAD = (
    0.04  # seconds of play that should be queued beyond the lanes: the time until new matches arrive, and 20 ms more
)
FIRST_LANES = 32  # doubled while ticks are short: slow players gain nothing from many lanes, and would delay results
SHORT_TICK = 0.004  # seconds
SOON = 5.0  # seconds within which the matches in progress should end
MESSAGE = 32 << 20  # bytes of actions in one message
UNSENT = 8 << 20  # bytes of results that may wait while it plays on: a socket takes 0.2 MB, and may be read late
COMPILER_MEMORY = 512 << 20  # bytes: with less for agents, a worker does not compile drivers, which takes up to 100 MB
HINT = " (in a worker process; what a script registers itself must be in a module, and plugins=[...] must name it)"


class CompilerListener(event.Listener):
    """Marks in the heartbeat that this thread compiles a kernel, or waits for another thread that does.

    Compilation in another thread does not count: an agent that hangs meanwhile may block that thread, and would never
    be detected.
    """

    def __init__(self, heartbeat: Heartbeat) -> None:
        self._heartbeat, self._thread = heartbeat, threading.get_ident()

    def on_start(self, event: object) -> None:
        if threading.get_ident() == self._thread:
            self._heartbeat.count_compiling(1)

    def on_end(self, event: object) -> None:
        if threading.get_ident() == self._thread:
            self._heartbeat.count_compiling(-1)


def work(end: socket.socket, memory: Any, settings: WorkerSettings) -> int:
    """Play until the dispatcher sends "stop"; returns the exit status."""
    view = memoryview(np.frombuffer(memory, np.uint8))  # type: ignore[arg-type]
    heartbeat = Heartbeat(view, settings.rows, settings.log_words)
    event.register("numba:compiler_lock", CompilerListener(heartbeat))  # type: ignore[no-untyped-call]
    registries: Sequence[Registry[Any]] = (FAMILIES, GAMES, KINDS, FORMATS, TRAINERS)
    for registry in registries:
        registry.rescan()  # plug-ins may have been installed since the fork server started
    LATE_MODULES.add(settings.plugins)
    try:
        WorkerLoop(Channel(end), heartbeat, settings).run()
    except MemoryError:  # every match in this process is then a suspect
        return OUT_OF_MEMORY
    except ProtocolError:  # the dispatcher has closed the socket
        return 1
    return 0


class WorkerLoop:
    """Receives games, agents and matches, plays them and sends results."""

    def __init__(self, channel: Channel, heartbeat: Heartbeat, settings: WorkerSettings) -> None:
        self._channel, self._heartbeat, self._settings = channel, heartbeat, settings
        self._state = ProcessState(channel.socket.fileno())
        self._games: dict[int, GameSpec] = {}
        self._agents = AgentNumbers()
        self._payloads: dict[str, bytes] = {}
        self._arena: Arena | None = None  # for matches that share this process
        self._solo: SoloMatch | None = None
        self._stopping = False
        self._results: list[ResultBatch] = []
        self._sent = 0.0  # time of the last report
        self._lanes = min(FIRST_LANES, settings.lanes)
        self._capacity = 0
        self._tick = SLICE  # estimated seconds of a tick
        self._rate = 0.0  # estimated matches a second
        self._began, self._done = 0.0, 0  # time of the first match of this run, and finished matches

    def run(self) -> None:
        self._channel.send(["ready", os.getpid()])
        while True:
            try:
                self._receive()
                if self._solo is not None:
                    if self._solo.step():
                        self._finish_solo(self._solo)
                elif self._arena is not None and not self._arena.idle:
                    self._play(self._arena)
                elif self._stopping:
                    self._channel.wait_until_sent()
                    return
            except RingsideError as error:
                if isinstance(error, ProtocolError):
                    raise
                hint = HINT if isinstance(error, UnknownName | BrokenPlugin) else ""
                text = text_of(error, LONGEST_MESSAGE)
                self._channel.send(["failed", f"{text}{hint}", isinstance(error, GameFailed)])
                self._drop()

    def _receive(self) -> None:
        """Handle messages; wait for one if there is nothing to play."""
        wait: float | None = None if not self._stopping else 0.0
        if self._solo is not None:
            wait = self._solo.wait()
        elif self._arena is not None and not self._arena.idle:
            wait = 0.0
        channel = self._channel
        if wait != 0.0:
            select.select([channel.socket], [channel.socket] if channel.waiting else [], [], wait)
        channel.flush()
        self._heartbeat.beat()
        for fields, body in channel.get():
            self._on_message(fields, body)

    def _unpack(self, game: int, fields: list[Any], body: bytes) -> list[MatchSpec]:
        """The matches of a message; their kernels are compiled here, before any player's clock runs."""
        specs = unpack_matches(fields, body, self._games[game], self._agents)
        for kind in {
            player.kind for players in {id(spec.players): spec.players for spec in specs}.values() for player in players
        }:
            warm_up(self._games[game].name, kind)
        return specs

    def _on_message(self, fields: list[Any], body: bytes) -> None:
        name, *rest = fields
        match name:
            case "play":
                arena = self._shared_arena()
                for spec in self._unpack(rest[0], rest[1:], body):
                    arena.add(spec)
            case "alone":
                pace, skip, game, *fields = rest
                [spec] = self._unpack(game, fields, body)
                # Its log is needed if the process dies
                limit = self._settings.call
                arena = Arena(1, alone=True, heartbeat=self._heartbeat, state=self._state, call_limit=limit)
                self._solo = SoloMatch(arena) if pace is None else LiveMatchLoop(arena, pace, skip, self._channel.send)
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
                self._channel.send(["recalled", [int(spec.id) for spec in back]])
            case "stop":
                self._stopping = True
            case _:
                if self._solo is not None:
                    self._solo.on_command(name, rest)

    def _shared_arena(self) -> Arena:
        if self._arena is None:
            settings = self._settings
            roomy = settings.memory is None or settings.memory >= COMPILER_MEMORY
            marching = Marching.WHEN_READY if roomy else Marching.IF_CACHED
            self._arena = Arena(
                settings.lanes,
                record=settings.record,
                heartbeat=self._heartbeat,
                marching=marching,
                state=self._state,
                call_limit=settings.call,
            )
        return self._arena

    def _new_run(self) -> None:
        """Numbers and agent ids of the last run become invalid."""
        self._agents.clear()
        self._games.clear()
        self._began, self._done = 0.0, 0
        if self._arena is not None:
            self._arena.new_run()

    # Shared matches

    def _play(self, arena: Arena) -> None:
        since = time.perf_counter()
        ticks = arena.advance(SLICE)
        if not self._state.connected:  # the calls of this slice are suspects
            arena.mark_foreign_calls()
            self._state.check_connection()
        self._tick = 0.5 * self._tick + 0.5 * (time.perf_counter() - since) / max(ticks, 1)
        if time.perf_counter() - self._sent >= REPORT_EVERY or not arena.playing:  # each call has a fixed cost
            self._results += arena.take_batches()
        suspects = arena.take_suspects()
        if suspects:
            self._channel.send(["suspects", [int(spec.id) for spec in suspects]])
        busy = arena.running * 4 >= self._lanes * 3
        if busy and self._lanes < self._settings.lanes and self._tick < SHORT_TICK and self._ends_soon(since):
            self._lanes = min(2 * self._lanes, self._settings.lanes)
            self._update_capacity()
        self._report(arena)

    def _ends_soon(self, now: float) -> bool:
        """Whether matches on all lanes would end within SOON, by the rate so far: stopping a run waits for them."""
        self._began = self._began or now
        return 0 < self._lanes * (now - self._began) <= SOON * self._done

    def _report(self, arena: Arena) -> None:
        now = time.perf_counter()
        if now - self._sent < REPORT_EVERY and not arena.idle:
            return
        elapsed = now - self._sent
        if elapsed < 1:
            self._rate += (sum(map(len, self._results)) / elapsed - self._rate) * min(elapsed / 0.2, 1.0)
        self._sent = now
        results, self._results = self._results, []
        self._done += sum(map(len, results))
        self._update_capacity()
        self._send_results(results)

    def _update_capacity(self) -> None:
        capacity = self._lanes + max(self._settings.batch, int(self._rate * AHEAD))
        if abs(capacity - self._capacity) > self._capacity // 16:
            self._capacity = capacity
            self._channel.put(["capacity", capacity], now=False)  # with the next message, or before the next wait

    def _send_results(self, batches: Sequence[ResultBatch]) -> None:
        """Send results in as few messages as possible, each at most MESSAGE bytes; one message holds one shape."""
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
        fields, body = pack_results(batch)
        self._channel.send(["results", *fields], body, UNSENT)

    def _drop(self) -> None:
        if self._arena is not None:
            self._arena.drop()
        self._results = []
        self._solo = None

    # Matches that are played alone

    def _finish_solo(self, solo: SoloMatch) -> None:
        batches = solo.arena.take_batches()
        self._send_results(batches if self._settings.record else [batch.without_actions() for batch in batches])
        self._solo = None
        solo.arena.close()
