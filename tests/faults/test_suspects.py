"""Who is to blame when a shared process ends: how often matches start until the failing agent is known."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import pytest

from engine.play.failures import unplayed_result
from engine.play.match import AgentSpec, EndingKind, MatchSpec
from engine.play.workers.handle import IsolatedBatch, Job
from engine.play.workers.run import Run
from tests.faults.league import GAME, WELL

MATCHES = 1000


class Trial:
    """A run whose processes are simulated: one that plays a match of a culprit dies."""

    def __init__(self, culprits: dict[str, int], chance: random.Random | None = None) -> None:
        """`culprits`: agents that kill their process, and how many of the matches they play in. `chance`: processes
        are also killed from outside, and matches are also interrupted that were not in the failing call."""
        self.run, self.chance = Run(itertools.count(1), 3), chance
        self.culprits = set(culprits)
        guilty = [name for name, count in culprits.items() for _ in range(count)]
        players = [(AgentSpec(name, "fault"), WELL[0]) for name in guilty]
        players += [(WELL[0], WELL[1])] * (MATCHES - len(players))
        random.Random(1).shuffle(players)
        self.specs = [MatchSpec(f"m{n}", GAME.spec, pair, n) for n, pair in enumerate(players)]
        self.deaths = self.fresh = 0  # processes that ended, and those that were started for one match
        self.starts: Counter[str] = Counter()  # by match, except in batches of suspects
        self.sizes: dict[str, list[int]] = {}  # by match, of these batches since it started with others or alone
        self.run.add(self.specs)
        while self.run.done != self.run.submitted:
            self._play_next()

    @property
    def endings(self) -> dict[str, EndingKind]:
        singles = [result for result in self.run.take_results() if isinstance(result, tuple)]
        assert len(singles) == MATCHES, "each match has one result"
        return {spec.id: result.ending.kind for spec, result in singles}

    def _play_next(self) -> None:
        run = self.run
        if batch := run.next_isolated():
            run.take_isolated()
            if batch.alone:
                self._play_alone(batch.jobs[0])
            else:
                self._play_together(batch.jobs, batch)
        else:
            self._play_together(run.next_shared(300, ()), None)

    def _count(self, job: Job, batch: IsolatedBatch | None) -> None:
        match = job.spec.id
        if batch is None:
            self.starts[match] += 1
            self.sizes[match] = []
        else:
            before = self.sizes[match][-1:]
            assert not before or 2 * len(batch.jobs) <= before[0] + 1, "at most half as large, rounded up"
            self.sizes[match].append(len(batch.jobs))

    def _killed_from_outside(self) -> bool:
        return self.chance is not None and self.chance.random() < 0.2

    def _fails(self, job: Job) -> bool:
        return not self.culprits.isdisjoint(player.id for player in job.spec.players)

    def _play_alone(self, job: Job) -> None:
        self.fresh += 1
        self._count(job, None)
        if self._killed_from_outside() and job.starts < 2:
            self.run.requeue_interrupted([job])
            return
        kind, seats = (EndingKind.CRASH, (0,)) if self._fails(job) else (EndingKind.FINISHED, ())
        self.run.finish_isolated(job, unplayed_result(job.spec, kind, "", seats))

    def _play_together(self, jobs: list[Job], batch: IsolatedBatch | None) -> None:
        for job in jobs:
            self._count(job, batch)
        if self._killed_from_outside():
            self._die([], jobs, batch)
        elif any(map(self._fails, jobs)):
            inside = jobs if self.chance is None else self.chance.sample(jobs, self.chance.randint(0, len(jobs)))
            self._die(inside, [job for job in jobs if job not in inside], batch)
        else:
            for job in jobs:
                self.run.finish(job, unplayed_result(job.spec, EndingKind.FINISHED, ""))

    def _die(self, inside: list[Job], others: list[Job], batch: IsolatedBatch | None) -> None:
        self.deaths += 1
        if batch is None:
            self.run.requeue_interrupted(others)
        else:
            self.run.add_suspects(others, divided=True)
        self.run.add_suspects(inside, divided=batch is not None)


def test_one_culprit_among_many_matches_ends_few_processes() -> None:
    trial = Trial({"culprit": 1})
    assert trial.deaths <= 6
    assert trial.fresh <= 4, "the culprit, and what is left of the last batch"
    assert Counter(trial.endings.values()) == {EndingKind.CRASH: 1, EndingKind.FINISHED: MATCHES - 1}


def test_a_culprit_of_many_matches_is_found_by_three_of_them() -> None:
    trial = Trial({"culprit": 200})
    assert trial.deaths <= 12
    assert trial.fresh <= 12
    endings = Counter(trial.endings.values())
    assert endings == {EndingKind.CRASH: 3, EndingKind.QUARANTINED: 197, EndingKind.FINISHED: MATCHES - 200}


def test_each_of_several_culprits_is_found() -> None:
    trial = Trial({"one": 20, "two": 20, "three": 20})
    assert trial.deaths <= 40
    endings = Counter(trial.endings.values())
    assert endings == {EndingKind.CRASH: 9, EndingKind.QUARANTINED: 51, EndingKind.FINISHED: MATCHES - 60}


@pytest.mark.parametrize("seed", range(20))
def test_no_match_starts_more_than_three_times_but_in_smaller_and_smaller_batches(seed: int) -> None:
    """Also when processes are killed from outside again and again, and innocent matches are in the failing calls."""
    trial = Trial({"one": 5, "two": 1, "three": 40}, random.Random(seed))
    assert max(trial.starts.values()) <= 3
    by_id = {spec.id: spec for spec in trial.specs}
    for match, kind in trial.endings.items():
        guilty = not trial.culprits.isdisjoint(player.id for player in by_id[match].players)
        assert kind in ((EndingKind.CRASH, EndingKind.QUARANTINED) if guilty else (EndingKind.FINISHED,))
