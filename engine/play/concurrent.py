"""The concurrent executor: the same matches and the same records, on worker processes."""

from __future__ import annotations

import importlib.util
import itertools
import signal
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Protocol

from engine.errors import BadSpec, BadValue, RingsideError
from engine.game import Game, check_match
from engine.play.arena import DEFAULT_LANES, MOST_LANES
from engine.play.failures import STRIKES, unplayed
from engine.play.pilots import Crews
from engine.play.workers.dispatcher import Dispatcher
from engine.play.executors import MatchExecutor, distinct, one_by_one
from engine.play.live import LiveMatch, check_pace
from engine.play.match import SEED_LIMIT, AgentSpec, EndingKind, GameSpec, Limits, MatchResult, MatchSpec
from engine.processes.bootstrap import WorkerSettings, cores
from engine.play.results import ResultBatch
from engine.play.workers.run import Run
from engine.play.workers.handle import Watch
from engine.registry import game_of
from engine.telemetry import Event, Monitor, Status

MOST_WORKERS = 256
FEED = 256  # matches that are taken from a plan at once
PATIENCE = 0.2  # seconds until the plan is looked at again


class ConcurrentMatchExecutor(MatchExecutor):
    """Plays matches on worker processes, which are started when there is work and kept for the next run.

    A failed match gives a record that says how and by whom; the others go on. Stop, resize and watch from any thread.
    """

    def __init__(
        self,
        max_workers: int | None = None,
        batch_size: int = 10,
        visual_mode: bool = False,
        *,
        lanes: int = DEFAULT_LANES,
        record: bool = True,
        watchdog: float = 10.0,
        memory_mb: int | None = 2048,
        quarantine_after: int | None = STRIKES,
        plugins: Sequence[str] = (),
    ) -> None:
        """`max_workers`: one less than there are cores, if not given. `batch_size`: matches in a message;
        more where they are short.
        `visual_mode`: one match at a time, in the order of the plan. `lanes`: matches at once in one worker.
        `record`: keep the actions. `watchdog`: seconds that one call of an agent may take. `memory_mb`: what the
        agents of a worker may take. `quarantine_after`: failures after which an agent is not asked again in a run.
        `plugins`: modules that workers import, for games and agents that are registered but not installed.
        """
        check_number("batch_size", batch_size, 1, 10_000)
        check_number("lanes", lanes, 1, MOST_LANES)
        check_number("watchdog", watchdog, 0.05, 1_000_000, whole=False)
        if memory_mb is not None:
            check_number("memory_mb", memory_mb, 16, 1 << 24)
        if quarantine_after is not None:
            check_number("quarantine_after", quarantine_after, 1, 1_000_000)
        workers = default_workers() if max_workers is None else max_workers
        check_number("max_workers", workers, 1, MOST_WORKERS)
        memory = None if memory_mb is None else memory_mb << 20
        settings = WorkerSettings(lanes, record, batch_size, memory, check_plugins(plugins), rows=4 * lanes)
        self._dispatcher = Dispatcher(workers, settings, Watch(watchdog, memory=memory, failures=quarantine_after))
        self._workers, self._ahead = workers, 2 * lanes
        self._visual = False
        self.visual_mode = visual_mode
        self._run: Run | None = None
        self._recalled = self._held = False
        self._feeding, self._looking = threading.RLock(), threading.Lock()
        self._monitor = Monitor()
        self._end = weakref.finalize(self, self._dispatcher.close)  # at the latest when the program ends

    # Playing

    def execute_matches(self, specs: Sequence[MatchSpec]) -> list[MatchResult]:
        Entry().check(distinct(specs))
        found = {result.id: result for batch in self._play(specs, None) for result in batch}
        reason = "the run was stopped"
        return [found.get(spec.id) or unplayed(spec, EndingKind.CANCELLED, reason) for spec in specs]

    def batches(self, specs: Iterable[MatchSpec], stopping: Callable[[], bool] | None = None) -> Iterator[ResultBatch]:
        """Results as they come; every spec that is taken gives exactly one. `stopping` is asked several times a second:
        once it says yes, the run is broken off and gives no more."""
        return self._play(specs, Entry(), stopping)

    def run(self, specs: Iterable[MatchSpec], stopping: Callable[[], bool] | None = None) -> Iterator[MatchResult]:
        """The results of `batches`, one by one."""
        return one_by_one(self.batches(specs, stopping))

    def _play(
        self, specs: Iterable[MatchSpec], entry: Entry | None, stopping: Callable[[], bool] | None = None
    ) -> Iterator[ResultBatch]:
        """A run; what has not been checked is checked by `entry` as it is taken."""
        if self._run is not None:
            raise RingsideError("this executor is in the middle of another run: finish or close that one first")
        run = self._run = self._dispatcher.begin(len(specs) if isinstance(specs, Sized) else None)
        self._recalled = False
        coming = distinct(specs) if entry is not None else iter(specs)
        try:
            more = over = True
            while more or not over:
                short = more and not self._held and self._dispatcher.waiting(run) < self._ahead * self._workers
                if short:  # workers may take matches as fast as they come: results are looked for in between
                    more = self._feed(run, coming, entry)
                batches, over = self._dispatcher.take(run, 0.0 if short else PATIENCE)
                yield from batches
                if self._held and self._dispatcher.spent(run):
                    return
                if stopping is not None and stopping():
                    self._dispatcher.stop(now=True)
                    return
        finally:
            self._run = None
            self._dispatcher.end(run)

    def _feed(self, run: Run, coming: Iterator[MatchSpec], entry: Entry | None) -> bool:
        """Take some more from the plan; whether there may be any left."""
        with self._feeding:  # nothing is taken while it is being recalled
            if self._recalled or run.stopping:
                return False
            if self._held:
                return True
            batch = list(itertools.islice(coming, FEED))
            if entry is not None:
                entry.check(batch)
            self._dispatcher.submit(run, batch)
            return len(batch) == FEED

    # While it runs

    def recall(self) -> list[MatchSpec]:
        """Take back what was taken from the plan and is not being played; what is being played gives its results.

        What had not been taken from the plan yet is left there.
        """
        with self._feeding:
            self._recalled = True
            return self._dispatcher.recall()

    def hold(self, yes: bool) -> None:
        """Keep back what is not being played; let go, and it goes on at once.

        A run of which nothing is being played any more while the rest is held back ends, as if that had been recalled.
        """
        with self._feeding:
            self._held = yes
            self._dispatcher.hold(yes)

    @property
    def waiting(self) -> int:
        """Matches that were taken from the plan and are not being played."""
        run = self._run
        return run.waiting if run is not None else 0

    def stop(self, now: bool = False) -> None:
        """End the run when the matches that are being played are over, or now; the rest is recorded as cancelled."""
        self._dispatcher.stop(now)

    @property
    def workers(self) -> int:
        """How many worker processes there may be; it can be changed while they play."""
        return self._workers

    @workers.setter
    def workers(self, count: int) -> None:
        check_number("workers", count, 1, MOST_WORKERS)
        self._workers = count
        self._dispatcher.resize(count)

    @property
    def visual_mode(self) -> bool:
        return self._visual

    @visual_mode.setter
    def visual_mode(self, on: bool) -> None:
        self._visual = on
        self._dispatcher.one_by_one(on)

    def watch(self, spec: MatchSpec, pace: float = 0.0, skip: int = 0) -> LiveMatch:
        """Play one match live in a worker of its own, beside whatever else is played; `pace` is in steps a second, and
        the first `skip` steps are played at full speed. Only here can a person play."""
        Entry(people=True).check([spec])
        check_number("skip", skip, 0, 2**32 - 1)
        return self._dispatcher.watch_live(spec, check_pace(pace), skip)

    def status(self) -> Status:
        with self._looking:
            return self._monitor.sample(*self._dispatcher.view())

    def events(self, since: int = 0) -> tuple[int, list[Event]]:
        """How many events there have been, and those after the first so many."""
        return self._dispatcher.events(since)

    def close(self) -> None:
        """End all workers now, whatever they do."""
        self._end()


class Entry:
    """Checks that matches can be played, before they are dealt; within a run one id is one agent."""

    def __init__(self, people: bool = False) -> None:
        """`people`: whether the match is watched, so that a person can play."""
        self._people = people
        self._games: dict[GameSpec, Checked] = {}
        self._agents: dict[str, AgentSpec] = {}
        self._last: Checked | None = None  # comparing identities beats hashing

    def check(self, specs: Iterable[MatchSpec]) -> None:
        """Raise an error that names what is wrong, unless all of them can be played."""
        checked = self._last
        for spec in specs:
            if checked is None or not checked.covers(spec):
                checked = self._last = self._check(spec)

    def _check(self, spec: MatchSpec) -> Checked:
        if spec.game not in self._games:
            game = game_of(spec.game)
            self._games[spec.game] = Checked(spec.game, game, Crews(game, 0, self._people))
        checked = self._games[spec.game]
        check_match(spec, checked.rules)
        for player in spec.players:
            known = self._agents.setdefault(player.id, player)
            if known is not player and known != player:
                raise BadSpec(f"match {spec.id!r}: two different agents have the id {player.id!r}")
        checked.crews.check(spec)
        checked.players.update(id(player) for player in spec.players if self._agents[player.id] is player)
        if spec.start is None and spec.limits.clock is None:
            checked.limits = spec.limits
        return checked


@dataclass
class Checked:
    """What the matches of one game had in common that were found playable."""

    game: GameSpec
    rules: Game
    crews: Crews
    players: set[int] = field(default_factory=set)  # id() of agents that the entry keeps
    limits: Limits | None = None

    def covers(self, spec: MatchSpec) -> bool:
        """Whether a match differs from one of those only in its id, its seed and who of the same players sits where."""
        return (
            spec.game is self.game
            and spec.limits is self.limits
            and spec.start is None
            and type(spec.seed) is int
            and 0 <= spec.seed < SEED_LIMIT
            and len(spec.players) == self.rules.info.seats
            and self.players.issuperset(map(id, spec.players))
        )


class Stoppable(Protocol):
    def stop(self, now: bool = False) -> None: ...


@contextmanager
def stopping_on_signals(executor: Stoppable) -> Iterator[list[int]]:
    """Ctrl-C or SIGTERM lets the running matches finish and ends the run; a second one ends it now.

    For the main thread. The list that it gives fills with the signals that came.
    """
    came: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        came.append(number)
        executor.stop(now=len(came) > 1)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def default_workers() -> int:
    """One less than there are cores for us, so that the rest of the machine stays usable; at least one."""
    return max(cores() - 1, 1)


def check_number(name: str, value: object, low: float, high: float, whole: bool = True) -> None:
    number = isinstance(value, int) or (isinstance(value, float) and not whole)
    if isinstance(value, bool) or not number or not low <= value <= high:  # type: ignore[operator]
        raise BadValue(name, value, f"{'a whole number ' if whole else ''}from {low:,} to {high:,}")


def check_plugins(names: object) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise BadValue("plugins", names, "a list of names of modules")
    for name in (given := tuple(names)):
        try:
            found = isinstance(name, str) and importlib.util.find_spec(name) is not None
        except (ImportError, ValueError):
            found = False
        if not found:
            raise BadValue("plugins", name, "the name of a module that can be imported")
    return given
