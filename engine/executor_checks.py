"""The conformance checks of executors: see `engine.checks.check_executor`."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from engine.errors import BadSpec, RingsideError, UnknownName
from engine.play.executors import Executor, SequentialMatchExecutor
from engine.play.match import AgentSpec, EndingKind, Limits, MatchResult, MatchSpec, run_digest
from engine.play.play_settings import PlaySettings
from engine.registry import new_game

PLUGIN = "engine.play.check_agents"
TIME_LIMIT = 300.0  # seconds for one check: an executor that hangs fails it
MANY = 4_000  # matches: more than any executor has running at once with few lanes
STEPS = 12  # of a match
FEW_LANES = 4


class Factory(Protocol):
    def __call__(self, *, settings: PlaySettings) -> Executor: ...


def check_executor(factory: Factory) -> None:
    """Check an executor: `check_executor(partial(new_executor, "local"))`.

    It must give the same results as the sequential one, also if an agent raises, and must follow `recall`, `hold`,
    `stop`, `workers` and `close`. If it is `isolated`, agents that crash and hang are results as well.
    """
    from engine.play import check_agents  # registers a kind of agents, which is not to be listed otherwise

    with check_agents.registered():
        with factory(settings=_settings()) as executor:
            isolated = executor.isolated
        for check in [*CHECKS, *(FAULTS if isolated else ())]:
            _within_time(check, factory)


def _within_time(check: Callable[[Factory], None], factory: Factory) -> None:
    """Run a check in a thread, so that an executor that never answers fails it."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            check(factory)
        except BaseException as error:  # raised again below
            errors.append(error)

    thread = threading.Thread(target=run, name=check.__name__, daemon=True)
    thread.start()
    thread.join(TIME_LIMIT)
    what = check.__name__.removeprefix("_check_").replace("_", " ")
    assert not thread.is_alive(), f"{what}: not done after {TIME_LIMIT:.0f} s"
    if errors:
        raise errors[0]


def _settings(workers: int = 2, lanes: int = FEW_LANES, watchdog: float = 10.0) -> PlaySettings:
    return PlaySettings(workers, lanes=lanes, watchdog=watchdog, quarantine_after=None, plugins=(PLUGIN,))


def _players(*behaviours: str) -> tuple[AgentSpec, ...]:
    from engine.play.check_agents import check_agent

    return tuple(check_agent(behaviour, f"{behaviour} {seat}") for seat, behaviour in enumerate(behaviours))


def _matches(count: int, *behaviours: str, name: str = "m", first: int = 0) -> list[MatchSpec]:
    game, players = new_game("pong").spec, _players(*(behaviours or ("plays", "plays")))
    limits = Limits(STEPS)
    return [MatchSpec(f"{name}{n}", game, players, n, None, limits) for n in range(first, first + count)]


def _endless(count: int) -> list[MatchSpec]:
    """Matches that are over only when they are stopped."""
    return _matches(count, "waits", "plays", name="endless")


def _expected(specs: Sequence[MatchSpec]) -> str:
    with SequentialMatchExecutor(FEW_LANES, quarantine_after=None) as executor:
        return run_digest(executor.execute_matches(specs))


def _assert_same(results: Sequence[MatchResult], specs: Sequence[MatchSpec], when: str) -> None:
    ids = sorted(result.id for result in results)
    assert ids == sorted(spec.id for spec in specs), f"{when}: {len(ids)} results of {len(specs)} matches"
    assert run_digest(results) == _expected(specs), f"{when}: other results than those of the sequential executor"


def _wait_until(condition: Callable[[], object], what: str) -> None:
    until = time.monotonic() + TIME_LIMIT
    while not condition():
        assert time.monotonic() < until, f"{what}: not after {TIME_LIMIT:.0f} s"
        time.sleep(0.01)


class _Background:
    """Takes the results of a run in another thread."""

    def __init__(self, executor: Executor, specs: Sequence[MatchSpec]) -> None:
        self.results: list[MatchResult] = []
        self.error: BaseException | None = None
        self._stream, self._executor = executor.run(specs), executor
        self._thread = threading.Thread(target=self._take, daemon=True)
        self._thread.start()

    def _take(self) -> None:
        try:
            self.results.extend(self._stream)
        except BaseException as error:  # for the thread that checks
            self.error = error

    def wait_for_start(self) -> None:
        _wait_until(lambda: self._executor.status().run.playing, "status().run.playing is above 0 during a run")

    def join(self, what: str) -> None:
        self._thread.join(TIME_LIMIT)
        assert not self._thread.is_alive(), f"{what}: the run does not end"


# What every executor does


def _check_results(factory: Factory) -> None:
    specs = _matches(60)
    for workers, lanes in ((1, FEW_LANES), (2, 1), (3, 32)):
        with factory(settings=_settings(workers, lanes)) as executor:
            results = executor.execute_matches(specs)
            assert [result.id for result in results] == [spec.id for spec in specs], (
                "execute_matches: not in the order of the specs"
            )
            _assert_same(results, specs, f"{workers} workers and {lanes} lanes")
            _assert_same(list(executor.run(iter(specs))), specs, "run with an iterator")
            shuffled = [result for batch in executor.batches(specs[::-1]) for result in batch]
            _assert_same(shuffled, specs, "matches in another order")
            assert not list(executor.run([])), "a run without matches has results"


def _check_an_agent_that_raises(factory: Factory) -> None:
    _check_fault(factory, "raises", EndingKind.EXCEPTION)


def _check_fault(factory: Factory, behaviour: str, kind: EndingKind, watchdog: float = 10.0) -> None:
    good, bad = _matches(20), _matches(2, "plays", behaviour, name="bad")
    mixed = [*good[:10], bad[0], *good[10:], bad[1]]
    with factory(settings=_settings(watchdog=watchdog)) as executor:
        found = {result.id: result for result in executor.run(mixed)}
    for spec in bad:
        ending = found[spec.id].ending
        assert ending.kind is kind, f"an agent that {behaviour}: the match ends as {ending.kind}, not {kind}"
        assert ending.seats == (1,), f"an agent that {behaviour}: the seats {ending.seats} are blamed, not (1,)"
    _assert_same([found[spec.id] for spec in good], good, f"matches beside an agent that {behaviour}")


def _check_recall(factory: Factory) -> None:
    specs = _matches(MANY)
    with factory(settings=_settings()) as executor:
        stream = executor.run(specs)
        results = [next(stream)]
        back = executor.recall()
        results += stream
        taken = len(results) + len(back)
        assert back, "recall() returns no match, although many wait"
        assert {result.id for result in results} | {spec.id for spec in back} == {spec.id for spec in specs[:taken]}, (
            "after recall(), a match is both played and recalled, or neither"
        )
        again = [*back, *specs[taken : taken + 10]]
        _assert_same([*results, *executor.run(again)], specs[: taken + 10], "recalled matches that are played later")


def _check_hold(factory: Factory) -> None:
    specs = _matches(MANY)
    with factory(settings=_settings()) as executor:
        stream = executor.run(specs)
        results = [next(stream)]
        executor.hold(True)
        results += stream
        assert len(results) < MANY, "a run on hold starts more matches"
        assert not list(executor.run(specs[:5])), "an executor on hold starts matches of a new run"
        executor.hold(False)
        played = {result.id for result in results}
        rest = [spec for spec in specs if spec.id not in played][:200]
        results += executor.run(rest)
        same = [spec for spec in specs if spec.id in played or spec in rest]
        _assert_same(results, same, "matches that were on hold and are played later")


def _check_stop(factory: Factory) -> None:
    specs = _matches(MANY)
    with factory(settings=_settings()) as executor:
        stream = executor.run(specs)
        results = [next(stream)]
        executor.stop()
        results += stream
        cancelled = [result for result in results if result.ending.kind is EndingKind.CANCELLED]
        assert cancelled, "stop(): no match is cancelled, although many wait"
        ids = {result.id for result in results}
        assert len(ids) == len(results) and ids == {spec.id for spec in specs[: len(ids)]}, (  # noqa: PT018
            "stop(): a taken match has no result, or two"
        )
        over = [result for result in results if result.ending.kind is not EndingKind.CANCELLED]
        played = {result.id for result in over}
        _assert_same(over, [spec for spec in specs if spec.id in played], "matches that ended before stop()")
        running = _Background(executor, _endless(10))
        running.wait_for_start()
        executor.stop(now=True)
        running.join("stop(now=True)")
        assert running.error is None, f"stop(now=True): {running.error!r}"
        kinds = {result.ending.kind for result in running.results}
        assert kinds == {EndingKind.CANCELLED}, f"stop(now=True): running matches end as {kinds}"
        assert len(running.results) == 10, f"stop(now=True): {len(running.results)} results of 10 matches"
        executor.stop()
        _assert_same(executor.execute_matches(specs[:10]), specs[:10], "a run after stop()")


def _check_a_condition_to_stop(factory: Factory) -> None:
    with factory(settings=_settings()) as executor:
        asked = itertools.count()
        results = list(executor.run(_endless(10), lambda: next(asked) >= 3))
        assert all(result.ending.kind is EndingKind.CANCELLED for result in results), "an endless match has ended"


def _check_workers(factory: Factory) -> None:
    specs = _matches(400)
    with factory(settings=_settings(workers=1)) as executor:
        stream = executor.run(specs)
        results = [next(stream)]
        for count in (3, 1, 2):
            executor.workers = count
            found = executor.workers
            assert found == min(count, executor.most_workers), f"workers = {count}, and then it is {found}"
            results += itertools.islice(stream, 50)
        results += stream
        _assert_same(results, specs, "a run in which the number of workers changes")


def _check_an_iterator_that_is_closed(factory: Factory) -> None:
    specs = _matches(MANY)
    with factory(settings=_settings()) as executor:
        stream = executor.run(specs)
        next(stream)
        try:
            next(executor.run(specs[:1]))
        except RingsideError:
            pass
        else:
            raise AssertionError("a second run is accepted while the first one is not over")
        stream.close()  # type: ignore[attr-defined]
        _assert_same(executor.execute_matches(specs[:40]), specs[:40], "a run after one that was closed early")


def _check_specs_that_raise(factory: Factory) -> None:
    class OutOfMatches(Exception):  # noqa: N818
        pass

    def broken() -> Iterator[MatchSpec]:
        yield from _matches(10)
        raise OutOfMatches

    with factory(settings=_settings()) as executor:
        try:
            list(executor.run(broken()))
        except OutOfMatches:
            pass
        else:
            raise AssertionError("an exception of the iterator of specs is lost")
        specs = _matches(10)
        _assert_same(executor.execute_matches(specs), specs, "a run after one whose specs raised")


def _check_impossible_matches(factory: Factory) -> None:
    specs = _matches(5)
    unknown = MatchSpec("unknown", specs[0].game, (AgentSpec("x", "no-such-kind"), specs[0].players[1]), 1)
    seats = MatchSpec("seats", specs[0].game, specs[0].players[:1], 1)
    wrong: list[tuple[MatchSpec, type[RingsideError]]] = [
        (specs[0], BadSpec),
        (unknown, UnknownName),
        (seats, BadSpec),
    ]
    with factory(settings=_settings()) as executor:
        for last, kind in wrong:
            given = [*specs, last]
            for play in (executor.execute_matches, lambda given: list(executor.run(given))):
                try:
                    play(given)
                except kind:
                    continue
                raise AssertionError(f"the match {last.id!r}, which is impossible or used twice, is accepted")
        _assert_same(executor.execute_matches(specs), specs, "a run after one that was refused")


def _check_status(factory: Factory) -> None:
    specs = _matches(50)
    with factory(settings=_settings()) as executor:
        assert executor.status().run.done == 0, "status(): matches are done before the first run"
        executor.execute_matches(specs)
        status = executor.status()
        run, keys = status.run, [(worker.node, worker.id) for worker in status.workers]
        assert (run.done, run.total) == (50, 50), f"status(): {run.done} of {run.total} matches are done, not 50 of 50"
        assert keys, "status(): no worker"
        assert len(set(keys)) == len(keys), f"status(): two workers have the same node and id: {keys}"
        assert all(node for node, _ in keys), "status(): a worker has no node"
        count, events = executor.events()
        assert len(executor.events(count)[1]) <= executor.events()[0] - count, "events(): old events are repeated"
        assert len(events) <= count, "events(): more events than it counts"
        assert executor.waiting == 0, f"waiting = {executor.waiting} after a run"


def _check_live_match(factory: Factory) -> None:
    spec = _matches(1)[0]
    with factory(settings=_settings()) as executor:
        with executor.watch(spec) as live:
            actions = [action for some in live for action in some]
            result = live.wait()
        assert result is not None, "a live match has no result"
        _assert_same([result], [spec], "a live match")
        assert actions, "no actions of a live match arrive"
        with executor.watch(_endless(1)[0]) as live:
            live.close()
            cancelled = live.wait()
        assert cancelled is not None, "a live match that was closed has no result"
        assert cancelled.ending.kind is EndingKind.CANCELLED, f"a closed live match ends as {cancelled.ending.kind}"


def _check_close(factory: Factory) -> None:
    executor = factory(settings=_settings())
    running = _Background(executor, _endless(5))
    running.wait_for_start()
    executor.close()
    running.join("close()")
    assert isinstance(running.error, RingsideError), f"close() during a run raises {running.error!r} in its thread"
    executor.close()  # twice
    spec = _matches(1)[0]
    for method in ("execute_match", "watch"):
        try:
            getattr(executor, method)(spec)
        except RingsideError:
            continue
        raise AssertionError(f"a closed executor plays: {method}()")


# What isolated executors do


def _check_an_agent_that_crashes(factory: Factory) -> None:
    _check_fault(factory, "exits", EndingKind.CRASH)


def _check_an_agent_that_hangs(factory: Factory) -> None:
    _check_fault(factory, "hangs", EndingKind.TIMEOUT, watchdog=1.0)


CHECKS = (
    _check_results,
    _check_an_agent_that_raises,
    _check_recall,
    _check_hold,
    _check_stop,
    _check_a_condition_to_stop,
    _check_workers,
    _check_an_iterator_that_is_closed,
    _check_specs_that_raise,
    _check_impossible_matches,
    _check_status,
    _check_live_match,
    _check_close,
)
FAULTS = (_check_an_agent_that_crashes, _check_an_agent_that_hangs)
