"""The sequential executor: plays matches in this process, on one core."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from engine.errors import RingsideError
from engine.play.arena import DEFAULT_LANES, Arena
from engine.play.failures import STRIKES, FailureTracker
from engine.play.lane_group import MARCHED_TOGETHER
from engine.play.march import Marching
from engine.play.match import MatchResult, MatchSpec
from engine.play.match_executor import MatchExecutor, check_distinct, one_by_one
from engine.play.results import ResultBatch

SLICE = 0.002  # seconds of play between two checks for ended matches


class SequentialMatchExecutor(MatchExecutor):
    """Plays matches in this process. It is the reference: all other executors give the same results."""

    def __init__(
        self,
        lanes: int = DEFAULT_LANES,
        *,
        record: bool = True,
        quarantine_after: int | None = STRIKES,
        marching: Marching = Marching.WHEN_READY,
    ) -> None:
        self._arena = Arena(lanes, record=record, marching=marching)
        self._ahead = max(lanes, 2 * MARCHED_TOGETHER)  # queued matches, so that results are batched
        self._record, self._quarantine_after = record, quarantine_after
        self._suspects: deque[MatchSpec] = deque()
        self._failures = FailureTracker(quarantine_after)
        self._retried: set[str] = set()  # former suspects that share the arena again
        self._recalled = False
        self._open = False

    def execute_matches(self, specs: Sequence[MatchSpec]) -> list[MatchResult]:
        self._arena.new_run()
        for spec in check_distinct(specs):
            self._arena.check(spec)
        found = {result.id: result for batch in self._batches(iter(specs), checked=True) for result in batch}
        return [found[spec.id] for spec in specs]

    def run(self, specs: Iterable[MatchSpec]) -> Iterator[MatchResult]:
        return one_by_one(self.batches(specs))

    def batches(self, specs: Iterable[MatchSpec]) -> Iterator[ResultBatch]:
        return self._batches(check_distinct(specs), checked=False)

    def _batches(self, coming: Iterator[MatchSpec], checked: bool) -> Iterator[ResultBatch]:
        if self._open:
            raise RingsideError("this executor already has a run: finish or close it first")
        self._open, self._recalled = True, False
        self._failures = FailureTracker(self._quarantine_after)
        self._retried.clear()
        if not checked:
            self._arena.new_run()
        try:
            while True:
                if not self._recalled:
                    for spec in itertools.islice(coming, max(self._ahead - self._arena.queued, 0)):
                        self._queue(spec, checked)
                if self._arena.idle and not self._suspects:
                    return
                self._arena.advance(SLICE)
                yield from self._arena.take_batches()
                self._suspects += self._arena.take_suspects()
                if self._suspects:
                    yield self._play_alone(self._suspects.popleft())
        finally:
            self._open = False
            self._arena.drop()
            self._suspects.clear()

    def recall(self) -> list[MatchSpec]:
        """Remove and return the taken matches that have not started; call it between two results."""
        self._recalled = True
        back = [*self._arena.recall(), *self._suspects]
        self._suspects.clear()
        return back

    def close(self) -> None:
        self._arena.close()

    def _queue(self, spec: MatchSpec, checked: bool = False) -> None:
        """Queue a match in the arena, or to be played alone if it is timed or a player has failed before."""
        if not checked:
            self._arena.check(spec)
        if self._failures.is_timed(spec) or (self._failures.any_failed and self._failures.has_failed_player(spec)):
            self._suspects.append(spec)
        else:
            self._arena.queue(spec)

    def _play_alone(self, spec: MatchSpec) -> ResultBatch:
        quarantined = self._failures.quarantine_result(spec)
        if quarantined is not None:
            return ResultBatch.of([spec], [quarantined])
        with Arena(lanes=1, alone=True, record=self._record) as arena:
            arena.add(spec)
            while not arena.idle:
                arena.advance(SLICE)
            [batch] = arena.take_batches()
        if self._failures.record(spec, batch[0]):
            self._requeue_unrelated()
        return batch

    def _requeue_unrelated(self) -> None:
        """A failing agent has been found: suspects without it share the arena again, once; its matches play alone."""
        suspects, waiting = list(self._suspects), self._arena.recall()
        self._suspects.clear()
        for spec in suspects:
            if spec.id in self._retried:
                self._suspects.append(spec)
            else:
                self._retried.add(spec.id)
                self._queue(spec)
        for spec in waiting:
            self._queue(spec)
