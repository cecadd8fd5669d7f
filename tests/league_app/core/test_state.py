"""LeagueState with a real file and real workers: whatever is requested when, every match is played exactly once."""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import (
    BadValue,
    BrokenPlugin,
    GameFailed,
    LeagueError,
    NotNow,
    RingsideError,
    StorageFailed,
    UnknownName,
)
from engine.league import played_matches
from engine.league.records import RunState
from engine.league.storage.tournaments import TournamentStore
from engine.play.executors import SequentialMatchExecutor
from engine.play.live import LiveMatch
from engine.play.match import EndingKind, MatchSpec, run_digest
from engine.play.play_settings import PlaySettings
from engine.play.replay import Playback
from engine.play.results import ResultBatch
from engine.registry import EXECUTORS, GAMES, KINDS, new_game
from engine.telemetry import Status
from league_app.core import tournament_job
from league_app.core.changes import Change
from league_app.core.cpu_budget import CpuBudget
from league_app.core.state import LeagueState
from league_app.core.validation import make_settings
from tests.faults.league import within, worker_pids
from tests.plugins.two_nodes import TwoNodes

SITE = str(Path(__file__).parents[2] / "faults" / "site")
QUICK = new_game("pong", points=1, step_limit=300).spec
LONG = new_game("pong", step_limit=2_000_000_000, paddle_height=300.0, top_speed=7.0).spec
BOTS = ("Lazy", "Tracker", "Shaky", "Predictor")
PLAN = {"game": QUICK, "agents": BOTS, "options": {"rounds": 10}}
MATCHES = 120
Patch = pytest.MonkeyPatch


def opened(folder: Path) -> LeagueState:
    """Small batches on two workers, so that requests arrive between them."""
    state = LeagueState.new(folder / "one.league", lanes=4)
    state.add_samples("pong", (*BOTS, "Still"))
    state.budget.cores, state.batch_size = 2, 2
    state.speed = 0.0
    return state


@pytest.fixture
def state(tmp_path: Path) -> Iterator[LeagueState]:
    with within(60):
        with opened(tmp_path) as one:
            yield one
        assert not worker_pids(), "no worker process is left"


@pytest.fixture
def faults() -> Iterator[None]:
    sys.path.append(SITE)
    GAMES.rescan(), KINDS.rescan()
    yield
    sys.path.remove(SITE)
    GAMES.remove("broken-rules"), KINDS.remove("fault"), KINDS.remove("shared-fault")
    GAMES.rescan(), KINDS.rescan()


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The digest of the whole tournament, played at once by the reference executor."""
    with opened(tmp_path_factory.mktemp("expected")) as one, SequentialMatchExecutor(16) as executor:
        specs = [planned.spec for planned in TournamentStore(one.league, one.plan_tournament(**PLAN).number).missing()]
        assert len(specs) == MATCHES
        return run_digest(executor.execute_matches(specs))


def until(true: Callable[[], object]) -> None:
    """Waits for a condition; the alarm of the fixture ends the test if it never holds."""
    while not true():
        time.sleep(0.002)


def shown(state: LeagueState) -> LiveMatch:
    seen: list[LiveMatch | None] = [None]
    until(lambda: seen.append(state.live) or seen[-1])
    assert seen[-1] is not None
    return seen[-1]


def same(state: LeagueState, number: int, expected: str) -> None:
    assert played_matches.digest(state.league, number) == (expected, 0)
    found = list(played_matches.every_match(state.league, number))
    assert [one.place for one in found] == list(range(1, MATCHES + 1)), "every match exactly once"
    assert sum(row.total.played for row in state.standings(tournament=number).rows) == 2 * MATCHES


def test_a_tournament_runs_headless_on_workers_by_itself(state: LeagueState, expected: str) -> None:
    assert (state.show_visuals, state.use_concurrent) == (False, True)
    job = state.start_tournament(**PLAN)
    lease = state.budget.lease()
    assert (lease.cores, job.executor.workers) == (1, 1), "another job takes some of its cores"
    lease.release()
    assert job.executor.workers == 2, "and releases them"
    ended = job.wait()
    assert (ended.state, ended.played, ended.total, ended.note) == (RunState.FINISHED, MATCHES, MATCHES, "")
    assert -1 not in {one.result.worker for one in played_matches.every_match(state.league)}
    same(state, job.number, expected)
    with pytest.raises(NotNow, match="finished"):
        state.resume_tournament(job.number)
    again = state.start_tournament().wait()
    assert (again.settings.seed, again.entrants) == (ended.settings.seed + 1, ended.entrants), "the last one, repeated"


def test_without_workers_the_results_are_the_same(state: LeagueState, expected: str) -> None:
    state.use_concurrent = False
    assert state.toggle_text == "the next tournament runs in this process"
    job = state.start_tournament(**PLAN)
    job.wait()
    assert {one.result.worker for one in played_matches.every_match(state.league)} == {-1}
    same(state, job.number, expected)


@pytest.fixture
def two_nodes() -> Iterator[None]:
    EXECUTORS.add("two-nodes", TwoNodes)
    yield
    EXECUTORS.remove("two-nodes")


def test_an_executor_of_a_plug_in_gives_the_same_results_and_is_remembered(
    state: LeagueState, two_nodes: None, expected: str
) -> None:
    with pytest.raises(UnknownName, match="did you mean 'two-nodes'"):
        state.executor = "two-node"
    state.executor = "two-nodes:nodes=2"
    assert state.toggle_text == "the next tournament runs on 2 workers of two-nodes:nodes=2"
    state.show_visuals = True
    job = state.start_tournament(**PLAN)
    until(lambda: job.run.watched)
    state.show_visuals = False
    job.wait()
    same(state, job.number, expected)
    long = state.start_tournament(**PLAN | {"options": {"rounds": 6000}})
    until(lambda: long.progress().played > 2)
    status = state.status()
    assert [node.name for node in status.nodes] == ["node-1", "node-2"]
    assert {worker.node for worker in status.workers} <= {"node-1", "node-2"}
    assert status.workers
    long.pause()
    until(lambda: long.progress().state is RunState.PAUSED)
    long.stop()
    long.wait()
    with LeagueState(state.league.path, read_only=True) as again:
        assert again.executor == "two-nodes:nodes=2"
        assert again.use_concurrent
    with LeagueState(state.league.path, read_only=True, on="sequential") as again:
        assert (again.executor, again.use_concurrent) == ("sequential", False)


class Unreliable(SequentialMatchExecutor):
    """Breaks a promise: which one is its option."""

    name, about = "unreliable", "an executor with a fault"

    @dataclass(frozen=True)
    class Options:
        fault: str = "none"

    def __init__(self, fault: str) -> None:
        super().__init__()
        self.fault = fault

    @classmethod
    def create(cls, settings: PlaySettings, options: Unreliable.Options) -> Unreliable:
        if options.fault == "start":
            raise ConnectionError("no cluster at this address")
        return cls(options.fault)

    def batches(self, specs: Iterable[MatchSpec], stopping: Callable[[], bool] | None = None) -> Iterator[ResultBatch]:
        for n, batch in enumerate(super().batches(specs, stopping)):
            if self.fault == "others":
                yield ResultBatch.of([replace(spec, id=f"other {spec.id}") for spec in batch.specs], list(batch))
            elif n or self.fault != "lost":  # a run loses its first results
                yield batch

    def status(self) -> Status:
        if self.fault == "status":
            raise ConnectionError("no answer")
        return super().status()


@pytest.fixture
def unreliable() -> Iterator[None]:
    EXECUTORS.add("unreliable", Unreliable)
    yield
    EXECUTORS.remove("unreliable")


def test_an_executor_that_cannot_be_started_says_why(state: LeagueState, unreliable: None) -> None:
    state.use_executor("unreliable:start")
    with pytest.raises(BrokenPlugin, match="'unreliable:start' cannot be started: ConnectionError: no cluster"):
        state.start_tournament(**PLAN)
    state.use_executor("sequential")
    assert state.start_tournament().wait().state is RunState.FINISHED


def test_an_executor_without_status_is_reported_once(
    state: LeagueState, unreliable: None, caplog: pytest.LogCaptureFixture
) -> None:
    state.use_executor("unreliable:status")
    state.start_tournament(**PLAN).wait()
    assert [state.status() for _ in range(3)] == [None] * 3
    assert [one.message for one in caplog.records] == [
        "executor 'unreliable:status' reports no status: ConnectionError: no answer"
    ]


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("others", "'unreliable' gave a result for 'other .*', which it was"),
        ("lost", r"gave no result for \d+ matches: choose another"),
    ],
)
def test_results_that_an_executor_invents_or_loses_end_the_run(
    state: LeagueState, unreliable: None, expected: str, fault: str, sentence: str
) -> None:
    state.use_executor(f"unreliable:{fault}")
    job = state.start_tournament(**PLAN)
    with pytest.raises(BrokenPlugin, match=sentence):
        job.wait()
    ended = state.league.tournament(job.number)
    assert ended.state is RunState.STOPPED
    assert re.search(sentence, ended.note)
    state.use_executor("sequential")
    state.resume_tournament(job.number).wait()
    same(state, job.number, expected)


def test_a_league_whose_executor_is_not_installed_opens_and_says_so_when_it_plays(state: LeagueState) -> None:
    state.league.save_setting("play", {"executor": "two-nodes"})
    path = state.league.path
    state.close()
    with LeagueState(path) as again:
        assert again.executor == "two-nodes"
        with pytest.raises(UnknownName, match="unknown executor 'two-nodes'"):
            again.start_tournament(**PLAN)
        again.use_executor("sequential")
        assert again.start_tournament().wait().state is RunState.FINISHED
    with LeagueState(path, read_only=True) as again:
        assert again.executor == "two-nodes", "another one was used, but not saved"


@pytest.mark.parametrize(("saved", "executor"), [({"use_concurrent": False}, "sequential"), ({}, "local")])
def test_the_choice_of_an_older_version_is_kept(state: LeagueState, saved: dict, executor: str) -> None:
    state.league.save_setting("play", saved)
    path = state.league.path
    state.close()
    with LeagueState(path) as again:
        assert again.executor == executor


def test_only_one_tournament_runs_at_a_time_and_its_settings_are_locked(state: LeagueState) -> None:
    for size in (0, -1, 10_001, True, 2.0, "3", None):
        with pytest.raises(BadValue, match="batch_size"):
            state.batch_size = size
    job = state.start_tournament(game=LONG, agents=BOTS)
    for refused in (
        lambda: state.start_tournament(**PLAN),
        lambda: state.resume_tournament(job.number),
        lambda: state.change_entrants(job.number, leave=["Lazy"]),
        *(lambda name=name: setattr(state, name, 3) for name in ("batch_size", "use_concurrent")),
        lambda: setattr(state, "executor", "sequential"),
    ):
        with pytest.raises(NotNow):
            refused()
    assert len(state.league.tournaments()) == 1
    job.stop(cancel=True)
    assert job.wait().state is RunState.CANCELLED
    with pytest.raises(NotNow, match="no tournament"):
        state.resume_tournament()


def test_entrants_of_a_stopped_tournament_change_with_the_next_round(state: LeagueState) -> None:
    state.show_visuals = True  # one match at a time, so that there is time to stop it
    job = state.start_tournament(**PLAN | {"agents": BOTS[:3]})
    until(lambda: job.progress().played > 3)
    job.finish()
    assert job.wait().state is RunState.STOPPED
    state.show_visuals = False
    before = {(one.spec.id, one.result.digest()) for one in played_matches.every_match(state.league)}
    state.change_entrants(job.number, join=["Predictor", "Still"], leave=["Lazy"])
    assert state.resume_tournament().wait().state is RunState.FINISHED
    assert before <= {(one.spec.id, one.result.digest()) for one in played_matches.every_match(state.league)}, (
        "that stays"
    )
    rows = {row.agent: row for row in state.standings(tournament=job.number).rows}
    present = ("Tracker", "Shaky", "Predictor", "Still")
    assert {rows[a].against[b].played for a in present for b in present if a != b} == {20}
    assert rows["Lazy"].total.played < 40


def test_a_read_only_league_refuses_changes(state: LeagueState) -> None:
    number = state.start_tournament(**PLAN).wait().number
    with LeagueState(state.league.path, read_only=True) as looking:
        assert looking.standings(tournament=number).matches == MATCHES
        for refused in (looking.start_tournament, looking.plan_tournament, lambda: looking.archive("Still")):
            with pytest.raises(RingsideError, match="read-only"):
                refused()


# Requests at any time

PRESSES = ("pause", "resume", "on", "off", "twenty", "finish", "stop", "resume_tournament")


def press(state: LeagueState, number: int, what: str) -> None:
    job = state.job
    if what in ("on", "off", "twenty"):
        for n in range(20 if what == "twenty" else 1):
            state.show_visuals = what == "on" or bool(n % 2)
    elif what == "resume_tournament":
        with suppress(NotNow):  # it is running or finished
            state.resume_tournament(number)
    elif job is not None:
        getattr(job, what)()


def test_no_match_is_lost_or_played_twice(state: LeagueState, expected: str) -> None:
    heard: list[Change] = []
    state.notices.subscribe(heard.extend)
    chosen = make_settings(QUICK, "round-robin", PLAN["options"])

    @settings(max_examples=8, report_multiple_bugs=False)
    @given(st.lists(st.tuples(st.sampled_from(PRESSES), st.integers(0, 12)), min_size=3, max_size=25), st.booleans())
    def pressed(presses: list[tuple[str, int]], visual: bool) -> None:
        heard.clear()
        state.show_visuals = visual
        number = state.league.add_tournament("again", chosen, BOTS).number  # LeagueState refuses the same matches
        state.start_tournament(number)
        for what, wait in presses:
            press(state, number, what)
            time.sleep(wait / 1000)
        state.show_visuals = False
        while state.league.tournament(number).state is not RunState.FINISHED:
            press(state, number, "resume_tournament")
            press(state, number, "resume")
            time.sleep(0.005)
        until(lambda: not state.running)
        same(state, number, expected)
        assert sum(one.count for one in heard if one.tournament == number) == MATCHES, "each is notified once"

    pressed()


def test_a_match_that_is_shown_is_played_once(state: LeagueState, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    executor = state.playing_on(2)
    watch = executor.watch
    monkeypatch.setattr(executor, "watch", lambda spec, *pace: (shown.append(spec.id), watch(spec, *pace))[1])
    state.show_visuals = True
    job = state.start_tournament(**PLAN | {"options": {"rounds": 2}})
    assert job.wait().state is RunState.FINISHED
    assert len(shown) == len(set(shown)) == job.progress().played


def test_a_league_closed_in_mid_run_is_resumed(state: LeagueState, expected: str) -> None:
    state.show_visuals = True
    job = state.start_tournament(**PLAN)
    until(lambda: job.progress().played > 2)
    state.close()
    with LeagueState(state.league.path, lanes=4) as again:
        [left] = again.unfinished()
        assert (left.state, 2 < left.played < MATCHES) == (RunState.STOPPED, True)
        again.show_visuals = False
        job = again.resume_tournament()
        until(lambda: job.run._running or not again.running)
    assert not worker_pids(), "no process is left"
    with LeagueState(state.league.path) as last:
        for one in last.unfinished():
            last.resume_tournament(one.number).wait()
        same(last, left.number, expected)


# Notifications and texts


def test_the_text_beside_the_toggle_says_what_is_happening(state: LeagueState) -> None:
    assert state.toggle_text == "the next tournament runs on 2 workers"
    state.show_visuals = True
    assert state.toggle_text == "the next tournament will be shown"
    state.show_visuals, state.batch_size = False, 1
    job = state.start_tournament(game=LONG, agents=("Predictor", "Tracker"), games=5)
    until(lambda: state.status() and sum(one.state == "playing" for one in state.status().workers) == 2)
    assert state.toggle_text == "playing"
    state.show_visuals = True
    playing = state.toggle_text
    assert playing.endswith(" finishing, then live")
    assert 0 < int(playing.split()[0]) < 10, "only running matches"
    state.show_visuals = False
    assert state.toggle_text == "playing", "flipping back cancels it"
    job.pause()
    assert state.toggle_text.endswith(" finishing, then paused")
    job.resume()
    job.finish()
    assert state.toggle_text.endswith(" finishing, then stopped")
    job.stop()
    assert job.wait().state is RunState.STOPPED


def test_toggling_a_paused_match_leaves_it_paused_and_applies_on_resume(state: LeagueState) -> None:
    state.show_visuals, state.speed = True, 1.0
    job = state.start_tournament(game=LONG, agents=("Predictor", "Tracker"))
    live = shown(state)
    assert state.toggle_text == "live"
    job.pause()
    for on in (False, True, False):
        state.show_visuals = on
        assert (state.toggle_text, live.paused, job.progress().state) == ("paused", True, RunState.PAUSED)
    job.resume()
    assert not live.paused
    assert state.toggle_text == "finishing the live match, then batches"
    playback = Playback(live.spec)
    half_a_minute = 2000  # steps, at normal pace
    until(lambda: playback.feed(live.actions_since(playback.received)) is not None and playback.steps > half_a_minute)
    assert state.live is live, "the same match continues"


def test_a_live_match_streams_its_actions_and_has_the_same_record(state: LeagueState) -> None:
    state.show_visuals, state.speed = True, 20.0
    job = state.start_tournament(game=QUICK, agents=BOTS[:2])
    live = shown(state)
    playback = Playback(live.spec)
    for actions in live:
        playback.feed(actions)
    job.wait()
    kept = next(one for one in played_matches.every_match(state.league) if one.spec.id == live.spec.id)
    playback.seek(playback.steps)
    assert kept.spec == live.spec
    assert (playback.steps, playback.scores()) == (kept.result.steps, kept.result.scores)
    with SequentialMatchExecutor(1) as one:
        assert one.execute_match(live.spec).digest() == kept.result.digest()


def test_observers_are_notified_of_every_match_and_then_of_the_end(state: LeagueState) -> None:
    observed: list[Change] = []
    state.notices.subscribe(observed.extend)
    state.start_tournament(**PLAN | {"options": {"rounds": 60}}).wait()
    assert sum(one.count for one in observed if one.what == "matches") == 6 * MATCHES
    assert observed[-1].what == "tournaments"


def test_observers_are_notified_of_a_pause(state: LeagueState) -> None:
    """The last notification of a state must not wait for another change, which may never come."""
    texts: list[str] = []
    state.notices.subscribe(lambda changes: texts.append(state.toggle_text))
    job = state.start_tournament(**PLAN | {"options": {"rounds": 100}})
    for _ in range(4):
        job.pause()
        until(lambda: job.run._paused)
        until(lambda: texts and texts[-1] == "paused")  # or the alarm ends the test
        job.resume()
        until(lambda: not job.run._paused)


# Failures


def test_failing_rules_stop_the_tournament_with_a_note(state: LeagueState, faults: None) -> None:
    _ = [state.add_agent(name, "broken-rules", "fault", b"") for name in "ab"]
    job = state.start_tournament(game=new_game("broken-rules", fault="raise").spec)
    with pytest.raises(GameFailed, match="broken-rules"):
        job.wait()
    [left] = state.unfinished()
    assert (left.state, left.played) == (RunState.STOPPED, 0)
    assert "broken-rules" in left.note
    assert state.start_tournament(**PLAN).wait().state is RunState.FINISHED, "other tournaments can be played"


def test_an_agent_that_crashes_forfeits_and_the_rest_continues(state: LeagueState, faults: None) -> None:
    state.add_agent("sick", "pong", "fault", b"exit3")
    job = state.start_tournament(game=QUICK, agents=("sick", *BOTS[:2]), options={"rounds": 3})
    assert job.wait().state is RunState.FINISHED
    [sick] = [row for row in state.standings(tournament=job.number).rows if row.agent == "sick"]
    assert sick.forfeits[EndingKind.CRASH.value] == sick.total.losses >= 3
    unplayed = sick.forfeits[EndingKind.QUARANTINED.value]
    assert unplayed + sick.total.losses == 12
    again = state.resume_tournament(job.number, lift_quarantine=True)
    assert again.run.store.played == 18 - unplayed
    assert again.wait().played == 18


@pytest.mark.parametrize("when", [RunState.RUNNING, RunState.STOPPED])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_failing_disk_is_reported_and_the_file_is_closed(tmp_path: Path, when: RunState, monkeypatch: Patch) -> None:
    def full(
        book: TournamentStore, state: RunState, note: str = "", settle: Callable[..., None] = TournamentStore.settle
    ) -> None:
        if state is when:
            raise StorageFailed("the disk is full")
        settle(book, state, note)

    state = opened(tmp_path)
    monkeypatch.setattr(TournamentStore, "settle", full)
    job = state.start_tournament(game=LONG, agents=BOTS)
    with suppress(LeagueError):
        state.close()
    with pytest.raises(StorageFailed):
        job.wait()
    assert not worker_pids()
    LeagueState(tmp_path / "one.league").close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_closing_at_the_very_end_of_a_run_is_safe(state: LeagueState, monkeypatch: Patch) -> None:
    """A job that has left `state.job` may still have something to write."""
    reached, go_on, remember = threading.Event(), threading.Event(), state.league.save_setting
    slowly = [lambda *_: reached.set(), lambda *_: go_on.wait(), remember]
    monkeypatch.setattr(tournament_job, "ENOUGH", 1)
    monkeypatch.setattr(state.league, "save_setting", lambda *args: [step(*args) for step in slowly])
    job = state.start_tournament(**PLAN)
    reached.wait()
    threading.Thread(target=lambda: until(lambda: state._closed) or go_on.set()).start()
    state.close()
    assert job.wait() is not None, "`wait` returns"


def test_properties_are_consistent_while_a_job_ends(state: LeagueState, monkeypatch: Patch) -> None:
    job = state.start_tournament(**PLAN)
    for look in (lambda: state.live, lambda: state.toggle_text):
        answers = iter([job, None, None])  # it ends between two reads of one property
        with monkeypatch.context() as patched:
            patched.setattr(LeagueState, "_job", property(lambda state, answers=answers: next(answers)), raising=False)
            look()
    job.wait()


@given(st.tuples(*[st.integers(1, 64)] * 2), st.lists(st.integers(1, 70) | st.none(), min_size=1, max_size=6))
def test_cores_are_shared_evenly_and_none_is_left_over(cores: tuple[int, int], wishes: list[int | None]) -> None:
    budget, received = CpuBudget(cores[0]), dict[int, int]()
    leases = [budget.lease(most, lambda n, at=at: received.update({at: n})) for at, most in enumerate(wishes)]
    for count in cores:
        budget.cores = count
        shares = [lease.cores for lease in leases]
        assert received == dict(enumerate(shares))
        assert all(1 <= lease.cores <= (lease.most or 64) for lease in leases)
        hungry = [lease.cores for lease in leases if lease.most is None or lease.cores < lease.most]
        assert not hungry or sum(shares) == max(count, len(leases)), "all of them are in use"
        assert not hungry or max(shares) - min(hungry) <= 1, "no lease that could use more has fewer than others"
    for lease in leases[1:]:
        lease.release()
        lease.release()
    assert leases[0].cores == min(cores[1], wishes[0] or 64), "the last one gets all it can use"
