"""An executor as a plug-in: it plays on several local executors as if each were a machine of a cluster.

One file, and one line under `ringside.executors`:

    [project.entry-points."ringside.executors"]
    two-nodes = "tests.plugins.two_nodes:TwoNodes"
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from engine.errors import RingsideError
from engine.options import option
from engine.play.executors import Executor, MatchExecutor, new_executor
from engine.play.match import MatchSpec
from engine.play.match_executor import check_distinct
from engine.play.match_validator import MatchValidator
from engine.play.play_settings import MOST_WORKERS, PlaySettings, check_number
from engine.play.results import ResultBatch
from engine.telemetry import Event, RunView, Status, WorkerView

POLL = 0.1  # seconds between two calls of `stopping`


@dataclass(frozen=True)
class ClusterOptions:
    nodes: int = option(2, low=1, high=8, help="machines that are pretended")


class Feed:
    """The matches of a run, taken by several threads; an error of the specs ends it."""

    def __init__(self, specs: Iterable[MatchSpec]) -> None:
        self._coming, self._validator = check_distinct(specs), MatchValidator()
        self._lock = threading.Lock()
        self.open, self.error = True, None

    def take(self) -> Iterator[MatchSpec]:
        while (spec := self._next()) is not None:
            yield spec

    def _next(self) -> MatchSpec | None:
        with self._lock:
            try:
                spec = next(self._coming, None) if self.open else None
                self._validator.check([] if spec is None else [spec])
            except BaseException as error:  # raised again in the thread that takes the results
                self.error, spec = error, None
            self.open = spec is not None
            return spec


class TwoNodes(MatchExecutor):
    """Every node is a local executor with a thread, which takes matches from a common feed."""

    name = "two-nodes"
    about = "two local executors that pretend to be machines"
    Options = ClusterOptions

    def __init__(self, settings: PlaySettings, options: ClusterOptions) -> None:
        super().__init__(settings.plugins)
        self._workers = settings.workers or 2
        self._nodes: dict[str, Executor] = {
            f"node-{n + 1}": new_executor("local", settings, workers=self._share(n, options.nodes))
            for n in range(options.nodes)
        }
        self._feed: Feed | None = None
        self._total: int | None = None
        self._closed = False

    @classmethod
    def create(cls, settings: PlaySettings, options: ClusterOptions) -> TwoNodes:
        return cls(settings, options)

    def _share(self, node: int, nodes: int) -> int:
        return max((self._workers + nodes - 1 - node) // nodes, 1)

    # Playing

    def batches(self, specs: Iterable[MatchSpec], stopping: Callable[[], bool] | None = None) -> Iterator[ResultBatch]:
        if self._closed:
            raise RingsideError("this executor is closed")
        if self._feed is not None:
            raise RingsideError("this executor already has a run: finish or close it first")
        feed = self._feed = Feed(specs)
        self._total = len(specs) if isinstance(specs, Sequence) else None
        results: queue.Queue[ResultBatch | BaseException | None] = queue.Queue()
        ended = threading.Event()
        threads = [
            threading.Thread(target=self._play, args=(node, feed, results, ended), daemon=True)
            for node in self._nodes.values()
        ]
        for thread in threads:
            thread.start()
        try:
            yield from self._take(len(threads), results, stopping)
            if feed.error is not None:
                raise feed.error
        finally:
            ended.set()
            feed.open = False
            for thread in threads:
                thread.join()
            self._feed = None

    @staticmethod
    def _play(node: Executor, feed: Feed, results: queue.Queue, ended: threading.Event) -> None:
        """The thread of a node: plays until the feed is empty or the run has ended."""
        try:
            for batch in node.batches(feed.take(), ended.is_set):
                results.put(batch)
            results.put(None)
        except BaseException as error:  # raised again in the thread that takes the results
            feed.open = False
            results.put(error)

    def _take(self, nodes: int, results: queue.Queue, stopping: Callable[[], bool] | None) -> Iterator[ResultBatch]:
        while nodes:
            try:
                batch = results.get(timeout=POLL)
            except queue.Empty:
                batch = ()
            if isinstance(batch, BaseException):
                raise batch
            if batch is None:
                nodes -= 1
            elif len(batch):
                yield batch
            if stopping is not None and stopping():
                return

    # From any thread

    def recall(self) -> list[MatchSpec]:
        if self._feed is not None:
            self._feed.open = False
        return [spec for node in self._nodes.values() for spec in node.recall()]

    def hold(self, yes: bool) -> None:
        for node in self._nodes.values():
            node.hold(yes)

    def stop(self, now: bool = False) -> None:
        if self._feed is not None:
            self._feed.open = False
        for node in self._nodes.values():
            node.stop(now)

    @property
    def waiting(self) -> int:
        return sum(node.waiting for node in self._nodes.values())

    @property
    def workers(self) -> int:
        return self._workers

    @workers.setter
    def workers(self, count: int) -> None:
        check_number("workers", count, 1, MOST_WORKERS)
        self._workers = count
        for n, node in enumerate(self._nodes.values()):
            node.workers = self._share(n, len(self._nodes))

    # Status: each node reports its own workers

    def view(self) -> tuple[list[WorkerView], RunView]:
        found = {name: node.status() for name, node in self._nodes.items()}
        workers = [replace(worker, node=name) for name, status in found.items() for worker in status.workers]
        runs = [status.run for status in found.values()]
        names = ("done", "failures", "playing", "waiting", "suspects")
        sums = {name: sum(getattr(run, name) for run in runs) for name in names}
        quarantined = tuple(sorted({agent for run in runs for agent in run.quarantined}))
        return [*workers, *self.live_workers()], RunView(self._total, **sums, quarantined=quarantined)

    def status(self) -> Status:
        own, nodes = super().status(), []
        for name, node in self._nodes.items():
            there = node.status()
            nodes.append(replace(there.machine, name=name, rate=there.rate, waiting=there.run.waiting))
        return replace(own, nodes=tuple(nodes))

    def events(self, since: int = 0) -> tuple[int, list[Event]]:
        found = [event._replace(node=name) for name, node in self._nodes.items() for event in node.events()[1]]
        found.sort()
        return len(found), found[since:]

    def close(self) -> None:
        self._closed = True
        for node in self._nodes.values():
            node.close()
        self.close_live()
