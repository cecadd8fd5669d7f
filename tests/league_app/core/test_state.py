"""LeagueState with a real file and real workers: whatever is requested when, every match is played exactly once."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import BadValue, NotNow, RingsideError
from engine.league import played_matches
from engine.league.records import RunState
from engine.play.executors import SequentialMatchExecutor
from engine.play.replay import Playback
from league_app.core.changes import Change
from league_app.core.state import LeagueState
from league_app.core.validation import make_settings
from tests.faults.league import worker_pids
from tests.league_app.core.state_helpers import BOTS, LONG, MATCHES, PLAN, QUICK, same, shown
from tests.waiting import until


def test_a_tournament_runs_headless_on_workers_by_itself(state: LeagueState, expected: str) -> None:
    assert (state.show_visuals, state.use_concurrent) == (False, True)
    job = state.start_tournament(**PLAN)
    lease = state.budget.lease()
    assert (lease.cores, job.executor.workers) == (1, 1), "another job takes some of its cores"
    lease.release()
    assert job.executor.workers == 2, "and releases them"
    ended = job.wait()
    assert (ended.state, ended.played, ended.total, ended.note) == (RunState.FINISHED, MATCHES, MATCHES, "")
    assert -1 not in {match.result.worker for match in played_matches.every_match(state.league)}
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
    assert {match.result.worker for match in played_matches.every_match(state.league)} == {-1}
    same(state, job.number, expected)


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
    before = {(match.spec.id, match.result.digest()) for match in played_matches.every_match(state.league)}
    state.change_entrants(job.number, join=["Predictor", "Still"], leave=["Lazy"])
    assert state.resume_tournament().wait().state is RunState.FINISHED
    assert before <= {(match.spec.id, match.result.digest()) for match in played_matches.every_match(state.league)}, (
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
        assert sum(change.count for change in heard if change.tournament == number) == MATCHES, "each is notified once"

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
        for tournament in last.unfinished():
            last.resume_tournament(tournament.number).wait()
        same(last, left.number, expected)


# Notifications and texts


def test_the_text_beside_the_toggle_says_what_is_happening(state: LeagueState) -> None:
    assert state.toggle_text == "the next tournament runs on 2 workers"
    state.show_visuals = True
    assert state.toggle_text == "the next tournament will be shown"
    state.show_visuals, state.batch_size = False, 1
    job = state.start_tournament(game=LONG, agents=("Predictor", "Tracker"), games=5)
    until(lambda: state.status() and sum(worker.state == "playing" for worker in state.status().workers) == 2)
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
    kept = next(match for match in played_matches.every_match(state.league) if match.spec.id == live.spec.id)
    playback.seek(playback.steps)
    assert kept.spec == live.spec
    assert (playback.steps, playback.scores()) == (kept.result.steps, kept.result.scores)
    with SequentialMatchExecutor(1) as executor:
        assert executor.execute_match(live.spec).digest() == kept.result.digest()


def test_observers_are_notified_of_every_match_and_then_of_the_end(state: LeagueState) -> None:
    observed: list[Change] = []
    state.notices.subscribe(observed.extend)
    state.start_tournament(**PLAN | {"options": {"rounds": 60}}).wait()
    assert sum(change.count for change in observed if change.what == "matches") == 6 * MATCHES
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
