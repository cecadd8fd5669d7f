"""Random faults of all kinds over thousands of matches, while workers are killed and their number changes."""

from __future__ import annotations

import os
import random
import signal
import threading
from contextlib import suppress

import pytest

from engine.play.executors import SequentialMatchExecutor
from engine.play.match import EndingKind, MatchSpec
from tests.faults.league import SHORT_WATCHDOG, make_executor, sick, sick_matches, well_matches, within, worker_pids
from tests.faults.test_broken_players import BREAKS, SHARED


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "killing"), [(0, False), (1, True)])
def test_every_match_gets_the_right_result_under_random_faults(seed: int, killing: bool) -> None:
    """Agents of each fault and kind, 2,000 matches of healthy players, a changing number of workers, and kills."""
    chosen = random.Random(seed)
    well = well_matches(2000)
    with SequentialMatchExecutor(64) as here:
        expected = {result.id: result.digest() for result in here.execute_matches(well)}
    right: dict[str, tuple[tuple[int, ...], EndingKind]] = {}
    ill: list[MatchSpec] = []
    for kind, faults in (("fault", BREAKS), ("shared-fault", SHARED)):
        for fault, ending in faults.items():
            for n in range(1 if ending is EndingKind.TIMEOUT else 2):  # each failure takes as long as the watchdog
                agent = sick(fault, kind, f"{kind} {fault} {n}")
                for place, spec in enumerate(sick_matches(agent, chosen.randrange(1, 6))):
                    right[spec.id] = ((place % 2,), ending)
                    ill.append(spec)
    specs = [*well, *ill]
    chosen.shuffle(specs)
    done, kills = threading.Event(), []

    with within(600), make_executor(2, watchdog=SHORT_WATCHDOG) as executor:

        def disturb() -> None:
            while not done.wait(chosen.uniform(0.5, 2.0)):
                executor.workers = chosen.choice([1, 2, 3])
                pids = worker_pids(patience=0)
                if killing and pids and chosen.random() < 0.5:
                    with suppress(ProcessLookupError):
                        os.kill(chosen.choice(pids), signal.SIGKILL)
                        kills.append(pids)

        manager = threading.Thread(target=disturb)
        manager.start()
        try:
            played = list(executor.run(specs))
        finally:
            done.set()
            manager.join()
    assert sorted(result.id for result in played) == sorted(spec.id for spec in specs), "one result for each match"
    results = {result.id: result for result in played}
    assert not worker_pids()
    wrong = [results[id_] for id_, digest in expected.items() if results[id_].digest() != digest]
    for id_, (seats, kind) in right.items():
        ending = results[id_].ending
        if ending.kind is not EndingKind.QUARANTINED and (ending.seats, ending.kind) != (seats, kind):
            wrong.append(results[id_])
    # A process that is killed from outside while it plays a match alone looks like one that kills itself.
    assert len(wrong) <= len(kills), wrong
    assert {result.ending.kind for result in wrong} <= {EndingKind.CRASH, EndingKind.CANNOT_START, EndingKind.VOID}
