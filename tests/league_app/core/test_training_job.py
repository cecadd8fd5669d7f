"""Sessions beside other jobs, trainers that fail, full disks, a league that is closed, and notifications."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import psutil
import pytest

from engine.errors import LeagueGone, NotNow, StorageFailed
from engine.league.records import RunState
from engine.league.storage.sessions import SessionStore
from league_app.core import training_job
from league_app.core.changes import Change, ChangeKind
from league_app.core.state import LeagueState
from league_app.core.training_job import TrainingJob
from tests.agents.training.session_helpers import GAME, PLUGINS, assert_gone
from tests.league_app.core.test_training_manager import (  # noqa: F401 - fixtures
    EASY,
    NEAT,
    SLOW,
    Patch,
    count,
    counting,
    curves,
    league_path,
    league_state,
    trainers,
)
from tests.waiting import until


def test_sessions_and_a_tournament_share_the_cores(state: LeagueState) -> None:
    state.budget.cores = 6
    first = count(state, **SLOW)
    until(lambda: first.latest.get("count/workers") == 6)
    second = state.training.start("neat", {**NEAT, "generations": 100_000}, game=EASY)  # until it is stopped
    until(lambda: first.latest["count/workers"] == 3)
    played = state.start_tournament(game=GAME, agents=("Lazy", "Tracker", "Evolved"), options={"rounds": 100_000})
    assert [job._lease.cores for job in (first, second)] == [2, 2]
    assert sorted(job.number for job in state.training.jobs) == [1, 2]
    until(lambda: played.progress().played and "fitness/best" in second.latest)
    for job in (played, second):
        job.stop()
        assert job.wait().state is RunState.STOPPED
    until(lambda: first.latest["count/workers"] == 6)
    first.stop()
    first.wait()
    assert state.training.resume(1, {"steps": int(first.latest["count/value"]) + 1}).wait().state is RunState.FINISHED
    generations = len(curves(state.league, 2)["fitness/best"]) + 1
    assert state.training.resume(2, {"generations": generations}).wait().state is RunState.FINISHED
    assert len(curves(state.league, 2)["fitness/best"]) == generations


def test_a_trainer_that_fails_or_dies_is_stopped_with_a_reason(state: LeagueState) -> None:
    other = count(state, **SLOW)
    for does, words in {
        "raise": "ZeroDivisionError: by design (counting.py, line ",
        "complain": "the board is too small for this: choose a larger one",
        "exit": "its process exited with status 3; it last printed: ",
        "segfault": "its process was killed by",
    }.items():
        job = count(state, does=does, at=2)
        ended = job.wait()
        assert (ended.state, ended.failed, ended.note[: len(words)]) == (RunState.STOPPED, True, words)
        assert ended.ending == f"failed: {ended.note}"
        assert curves(state.league, job.number) == {"count/value": [(1, 1.0)]}, "earlier metrics are kept"
    again = state.training.resume(2, {"does": ""})
    resumed = again.wait()
    assert (resumed.note, resumed.failed, again.logs[0].text[:7]) == ("at 5", False, "from 1 ")
    counting(other, other.latest["count/value"] + 1)
    assert state.start_tournament(game=GAME, agents=("Lazy", "Tracker")).wait().state is RunState.FINISHED


def fill(monkeypatch: Patch, method: str) -> list[int]:
    """Simulates a full disk, after something was written; clear the returned list to make room."""
    full, write = [1], getattr(SessionStore, method)

    def fails(*args: object, **more: object) -> object:
        written = write(*args, **more)
        if full:
            raise StorageFailed("cannot write one.league: the disk is full")
        return written

    monkeypatch.setattr(SessionStore, method, fails)
    monkeypatch.setattr(training_job, "RETRY", 0.02)
    return full


@pytest.mark.parametrize("method", ["record_many", "add_checkpoint", "update"])
def test_a_full_disk_is_waited_for_and_reported(state: LeagueState, method: str, monkeypatch: Patch) -> None:
    full, heard = fill(monkeypatch, method), list[Change]()
    state.notices.subscribe(heard.extend)
    job = count(state, steps=3)
    until(lambda: job.trouble)
    assert job.trouble == "cannot write one.league: the disk is full. Training is paused until it can be saved"
    heard.clear()
    until(lambda: Change(ChangeKind.TRAINING, 1) in heard)
    assert (job.wait(0), job.session.state) == (None, RunState.RUNNING)
    full.clear()
    assert (job.wait().state, job.trouble) == (RunState.FINISHED, "")
    assert curves(state.league, 1) == {"count/value": [(1, 1.0), (2, 2.0), (3, 3.0)]}
    assert [agent.name for agent in state.agents() if agent.kind == "dice"] == ["counting 1"]


def test_a_session_that_cannot_be_saved_stops_at_once_and_is_resumed(state: LeagueState, monkeypatch: Patch) -> None:
    job = count(state, steps=9_999_999, every=1, nap=0.01)
    until(lambda: state.training.sessions.checkpoints(1))
    full = fill(monkeypatch, "record_many")
    until(lambda: job.trouble)
    assert (job._live.paused, job.paused) == (True, False), "not by the user"
    last = state.training.sessions.checkpoints(1)[-1].step
    job.stop()
    text = rf"the disk is full\. When there is room, resume session 1 \(.*\) from its last checkpoint, .* {last}$"
    with pytest.raises(StorageFailed, match=text):
        job.wait()
    full.clear()
    assert state.training.resume(1, {"steps": last + 2}).wait().state is RunState.FINISHED
    assert [step for step, _ in curves(state.league, 1)["count/value"]] == [*range(1, last + 3)]


def test_a_pause_of_the_user_is_kept_after_a_full_disk(state: LeagueState, monkeypatch: Patch) -> None:
    job = count(state, **SLOW)
    full = fill(monkeypatch, "record_many")
    until(lambda: job.trouble)
    job.pause()
    full.clear()
    until(lambda: not job.trouble)
    assert (job.paused, job._live.paused) == (True, True)
    job.resume()
    assert (job.paused, job._live.paused) == (False, False)
    job.stop()
    job.wait()


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be deleted there")
def test_a_league_that_is_deleted_ends_the_session(state: LeagueState) -> None:
    job = count(state, **SLOW)
    until(lambda: job.latest)
    path, kept = state.league.path, state.league.path.with_suffix(".kept")
    os.link(path, kept)  # so that it can be put back
    path.unlink()
    with pytest.raises(LeagueGone, match=r"was deleted, moved or replaced .*, so nothing more is saved") as raised:
        job.wait()
    assert "Nothing that was saved is lost" not in str(raised.value)
    kept.rename(path)
    assert state.training.resume(1, {"steps": 3, "nap": 0.0}).wait().state is RunState.FINISHED


def test_closing_saves_a_checkpoint_and_leaves_no_process(path: Path, monkeypatch: Patch) -> None:
    with LeagueState.new(path, plugins=PLUGINS) as state:
        state.add_samples("pong", ("Lazy",))
        evolving = state.training.start("neat", {**NEAT, "generations": 9999, "checkpoint_every": 9999}, game=EASY)
        paused, hanging = count(state, **SLOW), count(state, does="hang", at=2)
        until(lambda: all(job.latest for job in (evolving, paused, hanging)))
        paused.pause()
        pids = [job._live.pid for job in (evolving, paused, hanging)]
        below = [process.pid for process in psutil.Process(pids[0]).children(recursive=True)]
        assert below, "its workers"
        wait_until = TrainingJob.wait_until

        def patient(job: TrainingJob, deadline: float) -> None:
            """No time limit for the first two; that of the third is over when they have ended."""
            for other in (evolving, paused):
                other.wait()
            wait_until(job, 0.0)

        monkeypatch.setattr(TrainingJob, "wait_until", patient)
    assert_gone(*pids, *below)
    with LeagueState(path, plugins=PLUGINS) as state:
        notes = [(session.state, session.note) for session in state.training.sessions.all()]
        (at, _), (counted, _) = (state.training.sessions.state(number) for number in (1, 2))
        assert at >= 1
        assert notes[:2] == [(RunState.STOPPED, f"stopped after {at} generations"), (RunState.STOPPED, f"at {counted}")]
        assert notes[2][0] is RunState.STOPPED, notes[2]
        assert state.training.resume(1, {"generations": at + 1}).wait().state is RunState.FINISHED
        assert [step for step, _ in curves(state.league, 1)["fitness/best"]] == list(range(1, at + 2))


def test_observers_are_notified_of_a_session(state: LeagueState) -> None:
    heard: list[Change] = []
    state.notices.subscribe(heard.extend)
    job = count(state, **SLOW)
    assert Change(ChangeKind.TRAINING, 1) in heard, "at once"
    for press in (lambda: counting(job), job.pause, job.resume, lambda: (job.stop(), job.wait())):
        heard.clear()
        press()
        until(lambda: Change(ChangeKind.TRAINING, 1) in heard)


def test_observers_are_notified_of_a_new_champion(state: LeagueState) -> None:
    heard: list[Change] = []
    state.notices.subscribe(heard.extend)
    count(state, steps=1).wait()
    assert Change(ChangeKind.AGENTS) in heard


def test_the_current_player_of_a_running_session_is_given_on_request(state: LeagueState) -> None:
    job = count(state, **SLOW)
    until(lambda: job.latest.get("count/value", 0) >= 2)
    assert job.current_spec() is None, "it was not requested"
    job.request_player()
    until(lambda: job.current_spec() is not None)
    first = job.current_spec()
    assert first is not None
    assert first.kind == "dice"
    assert first.payload == b"\x00%d" % job.current.step  # type: ignore[union-attr]
    assert first.id == f"{job.name}, step {job.current.step}"  # type: ignore[union-attr]
    job.request_player()
    until(lambda: (job.current_spec() or first).id != first.id)
    live = state.exhibit([job.current_spec() or first, "Lazy"], EASY)
    live.close()
    job.pause()
    with pytest.raises(NotNow, match="is paused: resume it to watch"):
        job.request_player()
    job.resume()
    job.stop()
    job.wait()
    silent = state.training.start("silent", SLOW, game=EASY)
    with pytest.raises(NotNow, match="silent cannot show its current player"):
        silent.request_player()
    silent.kill()
    silent.wait()
